package listings

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/locumhq/locum/core/event"
)

// OnOrganizationClosed closes the listings of an organization that has no members any more,
// because applications to it would remain unread.
func (s *Service) OnOrganizationClosed(ctx context.Context, e event.OrganizationClosed) error {
	return s.CloseOrganization(ctx, e.OrganizationID)
}

// OnOrganizationRenamed stores the new name in all listings of the organization, in batches,
// and records events for the public listings.
func (s *Service) OnOrganizationRenamed(ctx context.Context, e event.OrganizationRenamed) error {
	var before *Listing // the oldest listing of the previous batch; nil for the first batch
	for {
		var oldest *Listing // of this batch, nil if no batch follows

		err := s.Tx.Do(ctx, func(ctx context.Context) error {
			oldest = nil // the transaction may run repeatedly

			company, err := s.Organizations.CompanyName(ctx, e.OrganizationID)
			if err != nil {
				return err
			}

			ls, err := s.Listings.ListBySelection(ctx, e.OrganizationID, Selection{NotCompany: company, Before: before}, MaxBatch)
			if err != nil || len(ls) == 0 {
				return err
			}

			now := s.Clock.Now()

			var events []event.Event
			for i := range ls {
				stored := ls[i]
				ls[i].Company = company
				events = append(events, ls[i].finishChange(&stored, now)...)
			}

			if err := s.Listings.Update(ctx, e.OrganizationID, ls); err != nil {
				return err
			}

			// If the organization has been renamed again, this batch is repeated with
			// the newest name. The handler of the second event waits for the locks of
			// this transaction, so that it cannot be overtaken by an older name.
			if newest, err := s.Organizations.CompanyName(ctx, e.OrganizationID); err != nil || newest != company {
				return errors.Join(err, errRenamed)
			}

			mayHaveOlder := len(ls) == MaxBatch
			if mayHaveOlder {
				oldest = &ls[len(ls)-1]
			}

			return s.Events.Record(ctx, events...)
		})
		if errors.Is(err, errRenamed) {
			continue
		}

		if err != nil || oldest == nil {
			return err
		}

		before = oldest
	}
}

// errRenamed rolls back a batch with a name that is not the newest.
var errRenamed = errors.New("the organization was renamed meanwhile")

// sweepBatchSize is the maximum number of listings that one transaction closes.
const sweepBatchSize = 200

// CloseExpired closes the listings whose deadline has passed since the last call, records
// events for them, and returns their number. Several processes may call it concurrently.
func (s *Service) CloseExpired(ctx context.Context) (int, error) {
	nextBatch := func(ctx context.Context, now time.Time) ([]Listing, error) {
		return s.Listings.ClaimExpired(ctx, now, sweepBatchSize)
	}
	keepStatus := func(*Listing) {} // finishChange clears Open because of the deadline

	return s.closeInBatches(ctx, nextBatch, keepStatus)
}

// CloseOrganization closes every public listing of an organization. It is for organizations without
// members.
func (s *Service) CloseOrganization(ctx context.Context, organizationID string) error {
	nextBatch := func(ctx context.Context, _ time.Time) ([]Listing, error) {
		return s.Listings.ListBySelection(ctx, organizationID, Selection{Open: true}, sweepBatchSize)
	}
	setClosed := func(l *Listing) { l.Status = Closed }

	_, err := s.closeInBatches(ctx, nextBatch, setClosed)

	return err
}

// closeInBatches calls closeListing for the listings that nextBatch returns, stores them and
// records events, with one transaction per batch. It returns the number of listings.
func (s *Service) closeInBatches(
	ctx context.Context,
	nextBatch func(context.Context, time.Time) ([]Listing, error),
	closeListing func(*Listing),
) (int, error) {
	for total := 0; ; {
		var n int
		err := s.Tx.Do(ctx, func(ctx context.Context) error {
			now := s.Clock.Now()
			ls, err := nextBatch(ctx, now)

			n = len(ls)
			if err != nil || n == 0 {
				return err
			}

			var events []event.Event

			listingsByOrganization := map[string][]Listing{}
			for i := range ls {
				before := ls[i]
				closeListing(&ls[i])

				events = append(events, ls[i].finishChange(&before, now)...)
				listingsByOrganization[ls[i].OrganizationID] = append(listingsByOrganization[ls[i].OrganizationID], ls[i])
			}

			for organizationID, own := range listingsByOrganization {
				for batch := range slices.Chunk(own, MaxBatch) {
					if err := s.Listings.Update(ctx, organizationID, batch); err != nil {
						return err
					}
				}
			}

			return s.Events.Record(ctx, events...)
		})

		total += n
		if err != nil || n < sweepBatchSize {
			return total, err
		}
	}
}
