package listings

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/locumhq/locum/core/event"
)

// OnOrganizationClosed closes the listings of an organization without members, who
// would read the applications.
func (s *Service) OnOrganizationClosed(ctx context.Context, e event.OrganizationClosed) error {
	return s.CloseOrganization(ctx, e.OrganizationID)
}

// OnOrganizationRenamed stores the new name in all listings of the organization, in
// batches. It records events for the public ones.
func (s *Service) OnOrganizationRenamed(ctx context.Context, e event.OrganizationRenamed) error {
	for last := (*Listing)(nil); ; {
		var n int
		var next *Listing
		err := s.Tx.Do(ctx, func(ctx context.Context) error {
			n, next = 0, nil
			company, err := s.Organizations.CompanyName(ctx, e.OrganizationID)
			if err != nil {
				return err
			}
			ls, err := s.Listings.ListBySelection(ctx, e.OrganizationID, Selection{NotCompany: company, Before: last}, MaxBatch)
			if err != nil || len(ls) == 0 {
				return err
			}
			now := s.Clock.Now()
			var events []event.Event
			for i := range ls {
				before := ls[i]
				ls[i].Company = company
				events = append(events, ls[i].finishChange(&before, now)...)
			}
			if err := s.Listings.Update(ctx, e.OrganizationID, ls); err != nil {
				return err
			}
			// The organization has been renamed again. The handler of that event
			// waits for the locks of this one, so that the newest name is last.
			if newest, err := s.Organizations.CompanyName(ctx, e.OrganizationID); err != nil || newest != company {
				return errors.Join(err, errRenamed)
			}
			n, next = len(ls), &ls[len(ls)-1]
			return s.Events.Record(ctx, events...)
		})
		if errors.Is(err, errRenamed) {
			continue
		}
		if err != nil || n < MaxBatch {
			return err
		}
		last = next
	}
}

// errRenamed rolls back a batch with a name that is not the newest.
var errRenamed = errors.New("the organization was renamed meanwhile")

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
			return s.Events.Record(ctx, events...)
		})
		total += n
		if err != nil || n < sweepBatch {
			return total, err
		}
	}
}
