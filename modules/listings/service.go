package listings

import (
	"cmp"
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/patch"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/core/text"
	"github.com/locumhq/locum/core/tx"
	"github.com/locumhq/locum/core/valid"
	"github.com/locumhq/locum/modules/listings/search"
)

// Deps are the collaborators and settings of a Service.
type Deps struct {
	Tx       tx.Runner
	Events   event.Recorder
	Audit    audit.Recorder
	Clock    clock.Clock
	NewID    id.Source
	Listings Repository
	Public   PublicRepository
	Cases    Cases
	// Retention may be nil; then nothing expires.
	Retention retention.Store
	Engine    *Engine
	// NewBatch returns a matcher that evaluates searches on the documents in memory.
	NewBatch      func(docs []*search.Document) (search.Matcher, error)
	Views         Views
	Applications  Applications
	Gazetteer     Gazetteer
	Organizations Organizations
	Seekers       Seekers
	// SearchTimeout is the maximum duration of a search, zero for DefaultSearchTimeout.
	SearchTimeout time.Duration
	// SearchCPU is the total time that searches from one network may take within 10
	// seconds (costWindow), zero for no limit.
	SearchCPU time.Duration
}

// Service contains the use cases of the module.
type Service struct {
	Deps
	visits    visitBuffer
	searches  *bulkhead
	summaries summaries
	plans     atomic.Pointer[plans] // the query plans of saved searches
}

// New returns a Service.
func New(d Deps) *Service { return &Service{Deps: d, searches: newBulkhead(d)} }

// MaxBatch is the maximum number of items of a batch.
const MaxBatch = 100

// Create creates a listing of the actor's organization.
func (s *Service) Create(ctx context.Context, by auth.Actor, in CreateInput) (Listing, error) {
	done, err := s.CreateBatch(ctx, by, []BatchItem[CreateInput]{{Input: in}})
	if err != nil {
		return Listing{}, err
	}

	return done[0].Listing, done[0].Err
}

// BatchItem is an item of a batch.
type BatchItem[T any] struct {
	ID    string // the listing to update
	Input T
	Err   error // why the item is invalid, nil if Input is valid
}

// BatchResult is the result of an item.
type BatchResult struct {
	Listing Listing
	Err     error
}

// CreateBatch creates the valid listings and returns the result of every item, in
// the order of the items.
func (s *Service) CreateBatch(ctx context.Context, by auth.Actor, items []BatchItem[CreateInput]) ([]BatchResult, error) {
	if err := by.Require(auth.JobsCreate); err != nil {
		return nil, err
	}

	company, err := s.Organizations.CompanyName(ctx, by.OrganizationID)
	if err != nil {
		return nil, err
	}

	// Listings of an organization that must not have public ones are created hidden.
	isHeld, awaitsReview, err := s.Organizations.HoldsJobs(ctx, by.OrganizationID)
	if err != nil {
		return nil, err
	}

	now := s.Clock.Now()
	out := make([]BatchResult, len(items))
	var created []Listing

	var events []event.Event
	for i, item := range items {
		l, err := s.newListing(item.Input, now)

		out[i].Err = cmp.Or(item.Err, err)
		if out[i].Err != nil {
			continue
		}

		l.OrganizationID, l.Company = by.OrganizationID, company
		if isHeld {
			l.Hide(now)
		}

		before := &Listing{} // none is stored
		events = append(events, l.finishChange(before, now)...)
		created = append(created, l)
		out[i].Listing = l
	}

	if len(created) == 0 {
		return out, nil
	}

	return out, s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.Listings.Create(ctx, created); err != nil {
			return err
		}

		// A listing that is suspicious or held gets a case, the record of its moderation.
		for i := range created {
			if err := s.screenForFraud(ctx, &Listing{}, &created[i]); err != nil {
				return err
			}

			if err := s.createHeldCase(ctx, &created[i], isHeld, awaitsReview); err != nil {
				return err
			}
		}

		return s.Events.Record(ctx, events...)
	})
}

// Preview returns the listing that Create would create. It stores nothing.
func (s *Service) Preview(ctx context.Context, by auth.Actor, in CreateInput) (Listing, error) {
	if err := by.Require(auth.AnyPermission); err != nil {
		return Listing{}, err
	}

	l, err := s.newListing(in, s.Clock.Now())
	if err != nil {
		return Listing{}, err
	}

	l.OrganizationID = by.OrganizationID
	l.Company, err = s.Organizations.CompanyName(ctx, by.OrganizationID)

	return l, err
}

// newListing returns a new listing with the content of the input, or a fault if the input is
// invalid.
func (s *Service) newListing(in CreateInput, now time.Time) (Listing, error) {
	l := Listing{ID: s.NewID(), Version: 1, Status: Active, CreatedAt: now}
	if err := valid.Check("", in); err != nil {
		return l, err
	}

	if in.Status != nil && Status(*in.Status) == Draft {
		l.Status = Draft
	}

	l.Title, l.Description = text.Name(in.Title), strings.TrimSpace(in.Description)
	in.apply(&l.Content, s.NewID)

	l.Place = s.findPlace(l.Location)

	return l, in.checkDeadline(&l, now)
}

// findPlace returns the place of a listing's location, or nil if the gazetteer does not know
// it. A location may contain more than a town ("Ward 7, St James's Hospital, Leeds LS9 7TF,
// UK"). findPlace first looks up the whole location and then drops parts from the left. If
// that finds nothing, it looks up single parts from the right, without the postcodes at
// their ends.
func (s *Service) findPlace(location string) *Place {
	parts := strings.FieldsFunc(location, func(r rune) bool {
		return r == ',' || r == ';' || r == '(' || r == ')' || r == '\n' || r == '/' || r == '|'
	})
	for i := range parts {
		if p, ok := s.Gazetteer.Resolve(strings.Join(parts[i:], ",")); ok {
			return &p
		}
	}

	for i := len(parts) - 1; i >= 0; i-- {
		words := strings.Fields(parts[i])
		for n := len(words); n > 0; n-- {
			place, found := s.Gazetteer.Resolve(strings.Join(words[:n], " "))
			isTooLarge := place.Kind == Country && len(parts) > 1

			if found && !isTooLarge {
				return &place
			}

			// Only a postcode, which contains a digit, may be dropped.
			hasDroppedName := n < len(words) && !strings.ContainsAny(words[n], "0123456789")
			if hasDroppedName {
				break
			}
		}
	}

	return nil
}

// Get returns the organization's listing in any state.
func (s *Service) Get(ctx context.Context, by auth.Actor, listingID string) (Listing, error) {
	if err := by.Require(auth.AnyPermission); err != nil {
		return Listing{}, err
	}

	return s.get(ctx, by.OrganizationID, listingID)
}

// List returns a page of the organization's listings with the status, the newest first. An
// empty status selects all listings.
func (s *Service) List(ctx context.Context, by auth.Actor, status Status, r page.Request) (page.Result[Listing], error) {
	if err := by.Require(auth.AnyPermission); err != nil {
		return page.Result[Listing]{}, err
	}

	return s.Listings.List(ctx, by.OrganizationID, status, r)
}

// Update updates the organization's listing.
func (s *Service) Update(ctx context.Context, by auth.Actor, listingID string, in UpdateInput) (Listing, error) {
	return s.change(ctx, by, auth.JobsUpdate, listingID, func(l *Listing, _ time.Time) error { return s.update(l, in) })
}

// update applies the input to the listing.
func (s *Service) update(listing *Listing, in UpdateInput) error {
	if err := valid.Check("", in); err != nil {
		return err
	}

	oldLocation := listing.Location
	if in.Title != nil {
		listing.Title = text.Name(*in.Title)
	}

	patch.SetText(&listing.Description, in.Description)
	in.apply(&listing.Content, s.NewID)

	if in.Status != nil {
		if err := listing.SetStatus(Status(*in.Status)); err != nil {
			return err
		}
	}

	if listing.Location != oldLocation {
		listing.Place = s.findPlace(listing.Location)
	}

	return in.checkDeadline(listing, s.Clock.Now())
}

// change requires the permission, and changes a listing of the actor's organization with fn.
// It stores the listing and records the event in one transaction.
func (s *Service) change(
	ctx context.Context,
	by auth.Actor,
	p auth.Permission,
	listingID string,
	fn func(l *Listing, now time.Time) error,
) (Listing, error) {
	if err := by.Require(p); err != nil {
		return Listing{}, err
	}

	return s.changeListingOf(ctx, by.OrganizationID, listingID, fn)
}

// changeListingOf changes a listing of the organization with fn. It does not authorize the
// caller.
func (s *Service) changeListingOf(
	ctx context.Context,
	organizationID, listingID string,
	fn func(l *Listing, now time.Time) error,
) (Listing, error) {
	var out Listing
	err := s.Tx.Do(ctx, func(ctx context.Context) error {
		before, err := s.get(ctx, organizationID, listingID)
		if err != nil {
			return err
		}

		l, now := before.clone(), s.Clock.Now()
		if err := fn(&l, now); err != nil {
			return err
		}

		events := l.finishChange(&before, now)
		if err := s.Listings.Update(ctx, organizationID, []Listing{l}); err != nil {
			return err
		}

		if err := s.screenForFraud(ctx, &before, &l); err != nil {
			return err
		}

		out = l

		return s.Events.Record(ctx, events...)
	})

	return out, err
}

// changeBatch applies the items of a batch in their order and stores all changed listings in
// one transaction. Several items may name the same listing, which is stored once. An item
// that fails does not change its listing, but the changes of earlier items remain.
func changeBatch[T any](
	ctx context.Context,
	s *Service,
	by auth.Actor,
	items []BatchItem[T],
	fn func(l *Listing, in T) error,
) ([]BatchResult, error) {
	if err := by.Require(auth.JobsUpdate); err != nil {
		return nil, err
	}

	organizationID := by.OrganizationID
	var out []BatchResult
	err := s.Tx.Do(ctx, func(ctx context.Context) error {
		out = make([]BatchResult, len(items))

		ids := []string{}
		for _, item := range items {
			if listingID, ok := id.Canonical(item.ID); ok {
				ids = append(ids, listingID)
			}
		}

		found, err := s.Listings.ListBySelection(ctx, organizationID, Selection{IDs: ids}, MaxBatch)
		if err != nil {
			return err
		}

		// listingsByID has each listing as the items so far have changed it; found has the stored ones.
		listingsByID := list.ToMap(found, func(l Listing) (string, Listing) { return l.ID, l })

		isChanged := map[string]bool{}
		for i, item := range items {
			l, exists := listingsByID[strings.ToLower(item.ID)] // an invalid id is unknown
			switch {
			case !exists:
				out[i].Err = ErrJobNotFound
			case item.Err != nil:
				out[i].Err = item.Err
			default:
				l = l.clone() // an item that fails must not change the listing in part

				out[i].Err = fn(&l, item.Input)
				if out[i].Err == nil {
					listingsByID[l.ID] = l
					isChanged[l.ID] = true
					out[i].Listing = l
				}
			}
		}

		now := s.Clock.Now()
		var changed []Listing

		var events []event.Event
		for _, before := range found {
			if l := listingsByID[before.ID]; isChanged[l.ID] {
				events = append(events, l.finishChange(&before, now)...)
				changed = append(changed, l)
			}
		}

		if len(changed) == 0 {
			return nil
		}

		if err := s.Listings.Update(ctx, organizationID, changed); err != nil {
			return err
		}

		for i := range found {
			if l := listingsByID[found[i].ID]; isChanged[l.ID] {
				if err := s.screenForFraud(ctx, &found[i], &l); err != nil {
					return err
				}
			}
		}

		return s.Events.Record(ctx, events...)
	})

	return out, err
}

// UpdateBatch updates several of the organization's listings and returns the result
// of every item.
func (s *Service) UpdateBatch(ctx context.Context, by auth.Actor, items []BatchItem[UpdateInput]) ([]BatchResult, error) {
	return changeBatch(ctx, s, by, items, s.update)
}

// Delete deletes the listing. Restore makes a deleted listing available again.
func (s *Service) Delete(ctx context.Context, by auth.Actor, listingID string) error {
	_, err := s.change(ctx, by, auth.JobsDelete, listingID, func(l *Listing, now time.Time) error { l.Delete(now); return nil })
	return err
}

// Archive archives the listing.
func (s *Service) Archive(ctx context.Context, by auth.Actor, listingID string) error {
	_, err := s.change(ctx, by, auth.JobsUpdate, listingID, func(l *Listing, now time.Time) error { l.Archive(now); return nil })
	return asPublicError(err)
}

// Restore restores a deleted listing. It returns ErrNotDeleted if the listing is unknown or
// not deleted.
func (s *Service) Restore(ctx context.Context, by auth.Actor, listingID string) error {
	_, err := s.change(ctx, by, auth.JobsUpdate, listingID, func(l *Listing, _ time.Time) error { return l.Restore() })
	if fault.KindOf(err) == fault.NotFound {
		return ErrNotDeleted
	}

	return err
}

// asPublicError replaces ErrJobNotFound by ErrNotFound, which the public API returns for an
// unknown listing.
func asPublicError(err error) error {
	if err != nil && fault.Of(err).Code == ErrJobNotFound.Code {
		return ErrNotFound
	}

	return err
}

// Renew makes the listing active for a number of days.
func (s *Service) Renew(ctx context.Context, by auth.Actor, listingID string, days int) (Listing, error) {
	return s.change(ctx, by, auth.JobsUpdate, listingID, func(l *Listing, now time.Time) error { return l.Renew(now, days) })
}

// Duplicate creates a copy of the listing, which is active.
func (s *Service) Duplicate(ctx context.Context, by auth.Actor, listingID string) (Listing, error) {
	return s.duplicate(ctx, by, listingID, Active)
}

// DuplicateAsDraft creates a copy of the listing, which is a draft.
func (s *Service) DuplicateAsDraft(ctx context.Context, by auth.Actor, listingID string) (Listing, error) {
	return s.duplicate(ctx, by, listingID, Draft)
}

// duplicate creates a copy of the listing with the status.
func (s *Service) duplicate(ctx context.Context, by auth.Actor, listingID string, status Status) (Listing, error) {
	if err := by.Require(auth.JobsCreate); err != nil {
		return Listing{}, err
	}

	var duplicate Listing
	err := s.Tx.Do(ctx, func(ctx context.Context) error {
		source, err := s.get(ctx, by.OrganizationID, listingID)
		if err != nil {
			return err
		}

		isHeld, awaitsReview, err := s.Organizations.HoldsJobs(ctx, by.OrganizationID)
		if err != nil {
			return err
		}

		now := s.Clock.Now()
		duplicate = source.Copy(s.NewID(), now)
		duplicate.Status = status
		duplicate.Version = 1

		if isHeld {
			duplicate.Hide(now)
		}

		events := duplicate.finishChange(&Listing{}, now)
		if err := s.Listings.Create(ctx, []Listing{duplicate}); err != nil {
			return err
		}

		if err := s.screenForFraud(ctx, &Listing{}, &duplicate); err != nil {
			return err
		}

		if err := s.createHeldCase(ctx, &duplicate, isHeld, awaitsReview); err != nil {
			return err
		}

		return s.Events.Record(ctx, events...)
	})

	return duplicate, err
}
