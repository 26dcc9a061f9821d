package jobseeker

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/tx"
)

const (
	// closesSoon is the time before the deadline at which users are reminded.
	closesSoon = 3 * 24 * time.Hour
	// remindedAtOnce is the maximum number of reminders per transaction.
	remindedAtOnce = 500
)

// remindOfDeadlines notifies users that a listing that they have saved closes soon.
// A user is reminded of each listing once, even if it is renewed, or removed from the
// saved jobs and saved again.
func (s *Service) remindOfDeadlines(ctx context.Context) error {
	now := s.Clock.Now()
	from := Closing{At: now}
	for {
		closing, err := s.Listings.ClosingBetween(ctx, from, now.Add(closesSoon), listingsAtOnce)
		if err != nil || len(closing) == 0 {
			return err
		}
		err = tx.DoBatches(ctx, s.Tx, remindedAtOnce, func(ctx context.Context) (int, error) { return s.remindSome(ctx, closing) })
		if err != nil {
			return err
		}
		if len(closing) < listingsAtOnce {
			return nil
		}
		from = closing[len(closing)-1]
	}
}

// remindSome notifies at most remindedAtOnce users and returns their number.
func (s *Service) remindSome(ctx context.Context, closing []Closing) (int, error) {
	byID := list.ToMap(closing, func(c Closing) (string, Closing) { return c.ID, c })
	bs, err := s.Bookmarks.ClaimReminders(ctx, slices.Collect(maps.Keys(byID)), remindedAtOnce)
	if err != nil || len(bs) == 0 {
		return 0, err
	}
	return len(bs), s.Notifications.Create(ctx, list.Map(bs, func(b Bookmark) Notification {
		c := byID[b.ListingID]
		message := oneLine(c.Title) + ", which you saved, closes on " + c.At.UTC().Format("Monday 2 January 2006, 15:04 MST")
		return s.notice("deadline/"+b.ListingID, b.UserID, AboutDeadline, message)
	})...)
}
