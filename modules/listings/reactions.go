package listings

import (
	"context"
	"errors"

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

// errRenamed rolls back a batch with a name that is not the newest.
var errRenamed = errors.New("the organization was renamed meanwhile")
