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

// createHeldCase stores the case of a listing if it is held, in the transaction of ctx. If a
// moderator has to decide about the organization, the case is in the queue.
func (s *Service) createHeldCase(ctx context.Context, l *Listing, isHeld, awaitsReview bool) error {
	if !isHeld {
		return nil
	}

	c, err := s.caseOf(ctx, l.OrganizationID, l.ID)
	if err != nil {
		return err
	}

	// Unless the organization awaits a review, no moderator has to decide about the listing.
	if awaitsReview {
		c.open(s.NewID(), s.Clock.Now())
	}

	c.Held = true

	return s.Cases.Upsert(ctx, c)
}

// OnOrganizationModerated hides the listings of an organization whose jobs must not be
// public. For other organizations it shows the listings that were held.
func (s *Service) OnOrganizationModerated(ctx context.Context, e event.OrganizationModerated) error {
	isHeld, awaitsReview, err := s.Organizations.HoldsJobs(ctx, e.OrganizationID)
	if err != nil {
		return err
	}

	if isHeld {
		return s.hideAll(ctx, e.OrganizationID, awaitsReview)
	}

	return s.unhideAll(ctx, e.OrganizationID)
}

// hideAll hides all listings of an organization, in one transaction per batch, the newest first.
func (s *Service) hideAll(ctx context.Context, organizationID string, awaitsReview bool) error {
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
				// A listing may be hidden by an earlier call, or by a decision about it, which
				// remains when the organization is released.
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

			const isHeld = true

			for i := range changed {
				if err := s.createHeldCase(ctx, &changed[i], isHeld, awaitsReview); err != nil {
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
		// Each round ends the hold of these cases, so that the next one lists others.
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

					// A case with another reason stays open, because a moderator has still to decide about it.
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
