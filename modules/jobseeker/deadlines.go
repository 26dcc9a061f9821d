package jobseeker

import (
	"context"
	"time"
)

const (
	// closesSoon is the time before the deadline at which users are reminded.
	closesSoon = 3 * 24 * time.Hour
	// remindedAtOnce is the maximum number of reminders per transaction.
	remindedAtOnce = 500
)

// remindOfDeadlines notifies users that a listing closes soon that they have saved.
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
		for told := remindedAtOnce; told == remindedAtOnce; {
			if told, err = s.remindSome(ctx, closing); err != nil {
				return err
			}
		}
		if len(closing) < listingsAtOnce {
			return nil
		}
		from = closing[len(closing)-1]
	}
}

// remindSome notifies at most remindedAtOnce users and returns their number.
func (s *Service) remindSome(ctx context.Context, closing []Closing) (told int, err error) {
	ids, byID := make([]string, len(closing)), make(map[string]Closing, len(closing))
	for i, c := range closing {
		ids[i], byID[c.ID] = c.ID, c
	}
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		bs, err := s.Bookmarks.ClaimReminders(ctx, ids, remindedAtOnce)
		if told = len(bs); err != nil || told == 0 {
			return err
		}
		notices := make([]Notification, len(bs))
		for i, b := range bs {
			c := byID[b.ListingID]
			message := oneLine(c.Title) + ", which you saved, closes on " + c.At.UTC().Format("Monday 2 January 2006, 15:04 MST")
			notices[i] = s.notice("deadline/"+b.ListingID, b.UserID, AboutDeadline, message)
		}
		return s.Notifications.Create(ctx, notices...)
	})
	return told, err
}
