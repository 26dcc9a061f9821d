package listings

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/page"
)

// hold stores the case of a new listing that is hidden because of its organization, in the
// transaction of ctx. A listing that waits for a decision about its organization is in the
// queue.
func (s *Service) hold(ctx context.Context, l *Listing, holds, waits bool) error {
	if !holds {
		return nil
	}
	c, err := s.caseOf(ctx, l.OrganizationID, l.ID)
	if err != nil {
		return err
	}
	if waits {
		c.open(s.NewID(), s.Clock.Now())
	}
	c.Held = true
	return s.Cases.Upsert(ctx, c)
}

// OnOrganizationModerated hides the listings of an organization that holds its jobs, and
// shows those of another one that were held.
func (s *Service) OnOrganizationModerated(ctx context.Context, e event.OrganizationModerated) error {
	holds, waits, err := s.Organizations.HoldsJobs(ctx, e.OrganizationID)
	if err != nil {
		return err
	}
	if holds {
		return s.holdAll(ctx, e.OrganizationID, waits)
	}
	return s.releaseAll(ctx, e.OrganizationID)
}

// holdAll hides the listings of an organization in batches.
func (s *Service) holdAll(ctx context.Context, organizationID string, waits bool) error {
	for last := (*Listing)(nil); ; {
		var next *Listing
		err := s.Tx.Do(ctx, func(ctx context.Context) error {
			next = nil
			ls, err := s.Listings.ListBySelection(ctx, organizationID, Selection{Before: last}, MaxBatch)
			if err != nil || len(ls) == 0 {
				return err
			}
			if len(ls) == MaxBatch {
				next = &ls[len(ls)-1]
			}
			now := s.Clock.Now()
			var events []event.Event
			var changed []Listing
			for _, before := range ls {
				if before.HiddenAt != nil {
					continue
				}
				l := before.clone()
				l.Hide(now)
				events = append(events, l.finishChange(&before, now)...)
				changed = append(changed, l)
			}
			if len(changed) == 0 {
				return nil
			}
			if err := s.Listings.Update(ctx, organizationID, changed); err != nil {
				return err
			}
			for i := range changed {
				if err := s.hold(ctx, &changed[i], true, waits); err != nil {
					return err
				}
			}
			return s.Events.Record(ctx, events...)
		})
		if last = next; err != nil || last == nil {
			return err
		}
	}
}

// releaseAll shows the held listings of an organization. Those that were reported, or are
// suspicious, stay in the queue.
func (s *Service) releaseAll(ctx context.Context, organizationID string) error {
	for {
		held, err := s.Cases.List(ctx, CaseFilter{OrganizationID: organizationID, Held: true}, page.After("", MaxBatch))
		if err != nil || len(held.Items) == 0 {
			return err
		}
		for _, c := range held.Items {
			err := s.Tx.Do(ctx, func(ctx context.Context) error {
				_, err := s.changeOf(ctx, organizationID, c.ListingID, func(l *Listing, _ time.Time) error { l.Unhide(); return nil })
				if err != nil {
					return err
				}
				return s.changeCase(ctx, organizationID, c.ListingID, func(c *Case) {
					if c.Held = false; c.State == CaseOpen && c.Reports == 0 && c.Score < suspicious {
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
