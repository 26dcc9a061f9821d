package listings

import (
	"context"
	"slices"
	"time"

	"github.com/locumhq/locum/core/event"
)

// sweepBatch is how many listings one transaction closes.
const sweepBatch = 200

// CloseExpired closes the listings whose deadline has passed since the last call,
// records events for them and returns their number. It is safe for concurrent use
// by several processes.
func (s *Service) CloseExpired(ctx context.Context) (int, error) {
	return s.sweep(ctx, func(ctx context.Context, now time.Time) ([]Listing, error) {
		return s.Listings.ClaimExpired(ctx, now, sweepBatch)
	}, func(*Listing) {})
}

// CloseOrganization closes every public listing of an organization without
// members.
func (s *Service) CloseOrganization(ctx context.Context, organizationID string) error {
	_, err := s.sweep(ctx, func(ctx context.Context, _ time.Time) ([]Listing, error) {
		return s.Listings.ListBySelection(ctx, organizationID, Selection{Open: true}, sweepBatch)
	}, func(l *Listing) { l.Status = Closed })
	return err
}

// sweep applies end to the listings that next returns, in one transaction after another,
// records the events and returns the number of listings.
func (s *Service) sweep(ctx context.Context, next func(context.Context, time.Time) ([]Listing, error), end func(*Listing)) (int, error) {
	for total := 0; ; {
		var n int
		err := s.Tx.Do(ctx, func(ctx context.Context) error {
			now := s.Clock.Now()
			ls, err := next(ctx, now)
			if n = len(ls); err != nil || n == 0 {
				return err
			}
			var events []event.Event
			byOwner := map[string][]Listing{}
			for i := range ls {
				before := ls[i]
				end(&ls[i])
				events = append(events, ls[i].finishChange(&before, now)...)
				byOwner[ls[i].OrganizationID] = append(byOwner[ls[i].OrganizationID], ls[i])
			}
			for owner, own := range byOwner {
				for batch := range slices.Chunk(own, MaxBatch) {
					if err := s.Listings.Update(ctx, owner, batch); err != nil {
						return err
					}
				}
			}
			return s.record(ctx, events)
		})
		total += n
		if err != nil || n < sweepBatch {
			return total, err
		}
	}
}
