package jobseeker

import (
	"context"
	"time"
)

const (
	// closesSoon is how long before its end a listing is told of.
	closesSoon = 3 * 24 * time.Hour
	// toldAtOnce is how many are told of in one transaction.
	toldAtOnce = 500
)

// tellDeadlines tells everybody who keeps a listing that it closes soon, once:
// a listing that is renewed and closes again is told of no more, nor one that
// was removed and kept again.
func (s *Service) tellDeadlines(ctx context.Context) error {
	now := s.Clock.Now()
	from := Closing{At: now}
	for {
		closing, err := s.Listings.ClosingBetween(ctx, from, now.Add(closesSoon), listingsAtOnce)
		if err != nil || len(closing) == 0 {
			return err
		}
		for told := toldAtOnce; told == toldAtOnce; {
			if told, err = s.tellClosing(ctx, closing); err != nil {
				return err
			}
		}
		if len(closing) < listingsAtOnce {
			return nil
		}
		from = closing[len(closing)-1]
	}
}

// tellClosing tells some of those who keep the listings and have not been told.
func (s *Service) tellClosing(ctx context.Context, closing []Closing) (told int, err error) {
	ids, byID := make([]string, len(closing)), make(map[string]Closing, len(closing))
	for i, c := range closing {
		ids[i], byID[c.ID] = c.ID, c
	}
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		bs, err := s.Bookmarks.Untold(ctx, ids, toldAtOnce)
		if told = len(bs); err != nil || told == 0 {
			return err
		}
		notices, done := make([]Notification, len(bs)), make([]string, len(bs))
		for i, b := range bs {
			c := byID[b.ListingID]
			message := oneLine(c.Title) + ", which you saved, closes on " + c.At.UTC().Format("Monday 2 January 2006, 15:04 MST")
			notices[i], done[i] = s.notice("deadline/"+b.ListingID, b.UserID, AboutDeadline, message), b.ID
		}
		if err := s.Notifications.Add(ctx, notices...); err != nil {
			return err
		}
		return s.Bookmarks.Told(ctx, done)
	})
	return told, err
}
