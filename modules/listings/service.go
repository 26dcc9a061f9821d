package listings

import (
	"cmp"
	"context"
	"slices"
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

	// Listings of an organization that must not have public ones are held: they are created
	// hidden.
	h, err := s.holdOf(ctx, by.OrganizationID)
	if err != nil {
		return nil, err
	}

	now := s.Clock.Now()
	results := make([]BatchResult, len(items))
	var created []Listing

	var events []event.Event
	for i, item := range items {
		l, err := s.newListing(item.Input, now)

		results[i].Err = cmp.Or(item.Err, err)
		if results[i].Err != nil {
			continue
		}

		l.OrganizationID, l.Company = by.OrganizationID, company
		if h.isHeld {
			l.Hide(now)
		}

		events = append(events, l.finishChange(notStored, now)...)
		created = append(created, l)
		results[i].Listing = l
	}

	if len(created) == 0 {
		return results, nil
	}

	return results, s.Tx.Do(ctx, func(ctx context.Context) error { return s.storeNew(ctx, created, events, h) })
}

// notStored is the state of a new listing before its creation.
var notStored = &Listing{}

// storeNew stores new listings of one organization and records their events, in the transaction
// of ctx. A listing that is suspicious or held also gets a case, the record of its moderation.
func (s *Service) storeNew(ctx context.Context, created []Listing, events []event.Event, h hold) error {
	if err := s.Listings.Create(ctx, created); err != nil {
		return err
	}

	for i := range created {
		if err := s.screenForFraud(ctx, notStored, &created[i]); err != nil {
			return err
		}

		if err := s.createHeldCase(ctx, &created[i], h); err != nil {
			return err
		}
	}

	return s.Events.Record(ctx, events...)
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
	isSeparator := func(r rune) bool { return strings.ContainsRune(",;()\n/|", r) }
	parts := strings.FieldsFunc(location, isSeparator)

	for i := range parts {
		place, found := s.Gazetteer.Resolve(strings.Join(parts[i:], ","))
		if found {
			return &place
		}
	}

	// Look up each part alone, as a whole and then without its last words. A country is too
	// large a place if the location has other parts.
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

// change requires the permission, and changes a listing of the actor's organization with fn
// (changeListingOf).
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

// changeListingOf changes a listing of the organization with fn. One transaction stores the
// listing, opens a case if the change is suspicious, and records the events. changeListingOf
// does not authorize the caller.
func (s *Service) changeListingOf(
	ctx context.Context,
	organizationID, listingID string,
	fn func(l *Listing, now time.Time) error,
) (Listing, error) {
	var changed Listing
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

		changed = l

		return s.Events.Record(ctx, events...)
	})

	return changed, err
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
	var results []BatchResult
	err := s.Tx.Do(ctx, func(ctx context.Context) error {
		results = make([]BatchResult, len(items))

		// Read the listings of all items.
		ids := []string{}
		for _, item := range items {
			if listingID, isID := id.Canonical(item.ID); isID {
				ids = append(ids, listingID)
			}
		}

		stored, err := s.Listings.ListBySelection(ctx, organizationID, Selection{IDs: ids}, MaxBatch)
		if err != nil {
			return err
		}

		// Apply the items. listingsByID has each listing as the items so far have changed it.
		listingsByID := list.ToMap(stored, func(l Listing) (string, Listing) { return l.ID, l })

		isChanged := map[string]bool{}
		for i, item := range items {
			l, exists := listingsByID[strings.ToLower(item.ID)] // an invalid id is unknown
			switch {
			case !exists:
				results[i].Err = ErrJobNotFound
			case item.Err != nil:
				results[i].Err = item.Err
			default:
				l = l.clone() // an item that fails must not change the listing in part

				results[i].Err = fn(&l, item.Input)
				if results[i].Err == nil {
					listingsByID[l.ID] = l
					isChanged[l.ID] = true
					results[i].Listing = l
				}
			}
		}

		// Store the changed listings, and record their events.
		isUnchanged := func(before Listing) bool { return !isChanged[before.ID] }
		before := slices.DeleteFunc(stored, isUnchanged)

		if len(before) == 0 {
			return nil
		}

		now := s.Clock.Now()
		after := make([]Listing, len(before))

		var events []event.Event
		for i := range before {
			after[i] = listingsByID[before[i].ID]
			events = append(events, after[i].finishChange(&before[i], now)...)
		}

		if err := s.Listings.Update(ctx, organizationID, after); err != nil {
			return err
		}

		for i := range before {
			if err := s.screenForFraud(ctx, &before[i], &after[i]); err != nil {
				return err
			}
		}

		return s.Events.Record(ctx, events...)
	})

	return results, err
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

// asPublicError replaces ErrJobNotFound, which the API for employers returns for an unknown
// listing, by ErrNotFound, which the public API returns.
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

		h, err := s.holdOf(ctx, by.OrganizationID)
		if err != nil {
			return err
		}

		now := s.Clock.Now()
		duplicate = source.Copy(s.NewID(), now)
		duplicate.Status = status
		duplicate.Version = 1

		if h.isHeld {
			duplicate.Hide(now)
		}

		events := duplicate.finishChange(notStored, now)

		return s.storeNew(ctx, []Listing{duplicate}, events, h)
	})

	return duplicate, err
}
