package listings

import (
	"context"
	"errors"

	"github.com/locumhq/locum/core/event"
)

// OnOrganizationClosed closes what the organization had posted: nobody is left
// to read the applications.
func (s *Service) OnOrganizationClosed(ctx context.Context, e event.OrganizationClosed) error {
	return s.CloseOrganization(ctx, e.OrganizationID)
}

// OnOrganizationRenamed writes the new name on everything that the organization
// has posted, in whatever state, a batch at a time. The world is told of what is
// public.
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
			ls, err := s.Listings.NotOf(ctx, e.OrganizationID, company, last, MaxBatch)
			if err != nil || len(ls) == 0 {
				return err
			}
			now := s.Clock.Now()
			var events []event.Event
			for i := range ls {
				before := ls[i]
				ls[i].Company = company
				events = append(events, ls[i].settle(&before, now)...)
			}
			if err := s.Listings.Save(ctx, e.OrganizationID, ls); err != nil {
				return err
			}
			// Renamed once more meanwhile: whoever carries that event waits for
			// the locks of this one, so that the newest name comes last.
			if newest, err := s.Organizations.CompanyName(ctx, e.OrganizationID); err != nil || newest != company {
				return errors.Join(err, errRenamed)
			}
			n, next = len(ls), &ls[len(ls)-1]
			return s.record(ctx, events)
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

// errRenamed undoes a batch whose name is not the newest.
var errRenamed = errors.New("the organization was renamed meanwhile")
