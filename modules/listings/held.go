package listings

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/page"
)

// A listing is held if it is hidden because of the state of its organization, for example
// while a moderator has still to decide about a new organization. Its case, the record of its
// moderation, says so in the field Held. A case that is open is in the queue of moderators.

// hold says whether the listings of an organization are held.
type hold struct {
	// isHeld is true if the organization must not have public listings.
	isHeld bool
	// awaitsReview is true if a moderator has still to decide about the organization.
	awaitsReview bool
}

// holdOf returns whether the listings of the organization are held.
func (s *Service) holdOf(ctx context.Context, organizationID string) (h hold, err error) {
	h.isHeld, h.awaitsReview, err = s.Organizations.HoldsJobs(ctx, organizationID)
	return h, err
}

// createHeldCase stores the case of a listing if it is held, in the transaction of ctx. If a
// moderator has to decide about the organization, the case is in the queue.
func (s *Service) createHeldCase(ctx context.Context, l *Listing, h hold) error {
	if !h.isHeld {
		return nil
	}

	c, err := s.caseOf(ctx, l.OrganizationID, l.ID)
	if err != nil {
		return err
	}

	// Unless the organization awaits a review, no moderator has to decide about the listing.
	if h.awaitsReview {
		c.open(s.NewID(), s.Clock.Now())
	}

	c.Held = true

	return s.Cases.Upsert(ctx, c)
}

// OnOrganizationModerated hides the listings of an organization whose jobs must not be
// public. For other organizations it shows the listings that were held.
func (s *Service) OnOrganizationModerated(ctx context.Context, e event.OrganizationModerated) error {
	h, err := s.holdOf(ctx, e.OrganizationID)
	if err != nil {
		return err
	}

	if h.isHeld {
		return s.hideAll(ctx, e.OrganizationID, h)
	}

	return s.unhideAll(ctx, e.OrganizationID)
}

// hideAll hides all listings of an organization, in one transaction per batch, the newest
// first, and stores their cases.
func (s *Service) hideAll(ctx context.Context, organizationID string, h hold) error {
	var before *Listing // the oldest listing of the previous batch; nil for the first batch
	for {
		var oldest *Listing // of this batch, nil if no batch follows
		err := s.Tx.Do(ctx, func(ctx context.Context) error {
			oldest = nil // the transaction may run repeatedly

			ls, err := s.Listings.ListBySelection(ctx, organizationID, Selection{Before: before}, MaxBatch)
			if err != nil || len(ls) == 0 {
				return err
			}

			mayHaveOlder := len(ls) == MaxBatch
			if mayHaveOlder {
				oldest = &ls[len(ls)-1]
			}

			now := s.Clock.Now()
			var events []event.Event

			var changed []Listing
			for _, stored := range ls {
				// Skip a listing that is hidden already. An earlier call has hidden it, or a
				// decision about the listing itself. Such a decision remains when the organization
				// is released.
				if stored.HiddenAt != nil {
					continue
				}

				l := stored.clone()
				l.Hide(now)

				events = append(events, l.finishChange(&stored, now)...)
				changed = append(changed, l)
			}

			if len(changed) == 0 {
				return nil
			}

			if err := s.Listings.Update(ctx, organizationID, changed); err != nil {
				return err
			}

			for i := range changed {
				if err := s.createHeldCase(ctx, &changed[i], h); err != nil {
					return err
				}
			}

			return s.Events.Record(ctx, events...)
		})

		if err != nil || oldest == nil {
			return err
		}

		before = oldest
	}
}

// unhideAll shows the held listings of an organization. Cases of listings that were
// reported, or that are suspicious, remain in the queue.
func (s *Service) unhideAll(ctx context.Context, organizationID string) error {
	for {
		// Each round shows these listings, and their cases are not held any more. The next round
		// therefore lists others.
		held, err := s.Cases.List(ctx, CaseFilter{OrganizationID: organizationID, Held: true}, page.After("", MaxBatch))
		if err != nil || len(held.Items) == 0 {
			return err
		}

		for _, c := range held.Items {
			err := s.Tx.Do(ctx, func(ctx context.Context) error {
				_, err := s.changeListingOf(ctx, organizationID, c.ListingID,
					func(l *Listing, _ time.Time) error { l.Unhide(); return nil })
				if err != nil {
					return err
				}

				return s.changeCase(ctx, organizationID, c.ListingID, func(c *Case) {
					c.Held = false

					// A case with another reason stays open, because a moderator has still to
					// decide about it.
					hasOtherReason := c.Reports > 0 || c.Score >= suspicionThreshold
					if c.State == CaseOpen && !hasOtherReason {
						c.State = CaseKept
					}
				})
			})
			if err != nil {
				return err
			}
		}
	}
}
