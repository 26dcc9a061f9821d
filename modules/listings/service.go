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
	// NewBatch returns a matcher for the documents.
	NewBatch      func(docs []*search.Document) (search.Matcher, error)
	Views         Views
	Applications  Applications
	Gazetteer     Gazetteer
	Organizations Organizations
	Seekers       Seekers
	// SearchTimeout is the time of a search, zero for DefaultSearchTimeout.
	SearchTimeout time.Duration
	// SearchCPU is the time that the searches of one network may use in 10 s, zero for
	// no limit.
	SearchCPU time.Duration
}

// Service contains the use cases of the module.
type Service struct {
	Deps
	visits    counter
	searches  *bulkhead
	summaries summaries
	plans     atomic.Pointer[plans] // of saved searches
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

// BatchItem is an item of a batch: an input, or the error of an invalid one.
type BatchItem[T any] struct {
	ID    string // of updates
	Input T
	Err   error
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
	holds, waits, err := s.Organizations.HoldsJobs(ctx, by.OrganizationID)
	if err != nil {
		return nil, err
	}
	now := s.Clock.Now()
	out := make([]BatchResult, len(items))
	var made []Listing
	var events []event.Event
	for i, item := range items {
		l, err := s.compose(item.Input, now)
		if out[i].Err = cmp.Or(item.Err, err); out[i].Err != nil {
			continue
		}
		l.OrganizationID, l.Company = by.OrganizationID, company
		if holds {
			l.Hide(now)
		}
		events = append(events, l.finishChange(&Listing{}, now)...)
		made = append(made, l)
		out[i].Listing = l
	}
	if len(made) == 0 {
		return out, nil
	}
	return out, s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.Listings.Create(ctx, made); err != nil {
			return err
		}
		for i := range made {
			if err := s.screen(ctx, &Listing{}, &made[i]); err != nil {
				return err
			}
			if err := s.hold(ctx, &made[i], holds, waits); err != nil {
				return err
			}
		}
		return s.Events.Record(ctx, events...)
	})
}

// Preview returns the listing that Create would create, without storing it.
func (s *Service) Preview(ctx context.Context, by auth.Actor, in CreateInput) (Listing, error) {
	if err := by.Require(auth.AnyPermission); err != nil {
		return Listing{}, err
	}
	l, err := s.compose(in, s.Clock.Now())
	if err != nil {
		return Listing{}, err
	}
	l.OrganizationID = by.OrganizationID
	l.Company, err = s.Organizations.CompanyName(ctx, by.OrganizationID)
	return l, err
}

// compose returns the new listing of the input, or what is wrong with the input.
func (s *Service) compose(in CreateInput, now time.Time) (Listing, error) {
	l := Listing{ID: s.NewID(), Version: 1, Status: Active, CreatedAt: now}
	if err := valid.Check("", in); err != nil {
		return l, err
	}
	if in.Status != nil && Status(*in.Status) == Draft {
		l.Status = Draft
	}
	l.Title, l.Description = text.Name(in.Title), strings.TrimSpace(in.Description)
	in.apply(&l.Content, s.NewID)
	l.Place = s.locate(l.Location)
	return l, nil
}

// locate returns the place of a listing's location, or nil. Locations contain more
// than towns ("Ward 7, St James's Hospital, Leeds LS9 7TF, UK"): their parts are
// tried from the left, the longest first.
func (s *Service) locate(location string) *Place {
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
			if p, ok := s.Gazetteer.Resolve(strings.Join(words[:n], " ")); ok && (p.Kind != Country || len(parts) == 1) {
				return &p
			}
			if n < len(words) && !strings.ContainsAny(words[n], "0123456789") {
				break // only postcodes are cut off
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

// List returns a page of the organization's listings, the newest first, with the
// status or, if it is empty, in every state.
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

func (s *Service) update(l *Listing, in UpdateInput) error {
	if err := valid.Check("", in); err != nil {
		return err
	}
	before := l.Location
	if in.Title != nil {
		l.Title = text.Name(*in.Title)
	}
	patch.SetText(&l.Description, in.Description)
	in.apply(&l.Content, s.NewID)
	if in.Status != nil {
		if err := l.SetStatus(Status(*in.Status)); err != nil {
			return err
		}
	}
	if l.Location != before {
		l.Place = s.locate(l.Location)
	}
	return nil
}

// change changes and stores a listing of the organization of an actor with the
// permission, and records the event, in one transaction.
func (s *Service) change(ctx context.Context, by auth.Actor, p auth.Permission, listingID string, fn func(l *Listing, now time.Time) error) (Listing, error) {
	if err := by.Require(p); err != nil {
		return Listing{}, err
	}
	return s.changeOf(ctx, by.OrganizationID, listingID, fn)
}

// changeOf is change without authorization.
func (s *Service) changeOf(ctx context.Context, organizationID, listingID string, fn func(l *Listing, now time.Time) error) (Listing, error) {
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
		if err := s.screen(ctx, &before, &l); err != nil {
			return err
		}
		out = l
		return s.Events.Record(ctx, events...)
	})
	return out, err
}

// changeBatch is change for the items of a batch, which are applied in their order. An id
// may repeat, and each listing is stored once. An item that fails leaves its listing as
// the items before it did.
func changeBatch[T any](ctx context.Context, s *Service, by auth.Actor, items []BatchItem[T], fn func(l *Listing, in T) error) ([]BatchResult, error) {
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
		listings := list.ToMap(found, func(l Listing) (string, Listing) { return l.ID, l })
		isChanged := map[string]bool{}
		for i, item := range items {
			l, exists := listings[strings.ToLower(item.ID)]
			switch {
			case !exists:
				out[i].Err = ErrJobNotFound
			case item.Err != nil:
				out[i].Err = item.Err
			default:
				l = l.clone()
				if out[i].Err = fn(&l, item.Input); out[i].Err == nil {
					listings[l.ID], isChanged[l.ID], out[i].Listing = l, true, l
				}
			}
		}
		now := s.Clock.Now()
		var save []Listing
		var events []event.Event
		for _, before := range found {
			if l := listings[before.ID]; isChanged[l.ID] {
				events = append(events, l.finishChange(&before, now)...)
				save = append(save, l)
			}
		}
		if len(save) == 0 {
			return nil
		}
		if err := s.Listings.Update(ctx, organizationID, save); err != nil {
			return err
		}
		for i := range found {
			if l := listings[found[i].ID]; isChanged[l.ID] {
				if err := s.screen(ctx, &found[i], &l); err != nil {
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

// Delete archives the listing so that it can be restored.
func (s *Service) Delete(ctx context.Context, by auth.Actor, listingID string) error {
	_, err := s.change(ctx, by, auth.JobsDelete, listingID, func(l *Listing, now time.Time) error { l.Delete(now); return nil })
	return err
}

// Archive archives the listing.
func (s *Service) Archive(ctx context.Context, by auth.Actor, listingID string) error {
	_, err := s.change(ctx, by, auth.JobsUpdate, listingID, func(l *Listing, now time.Time) error { l.Archive(now); return nil })
	return public(err)
}

// Restore restores a deleted listing. It returns ErrNotDeleted both for an unknown
// listing and for one that is not deleted.
func (s *Service) Restore(ctx context.Context, by auth.Actor, listingID string) error {
	_, err := s.change(ctx, by, auth.JobsUpdate, listingID, func(l *Listing, _ time.Time) error { return l.Restore() })
	if fault.KindOf(err) == fault.NotFound {
		return ErrNotDeleted
	}
	return err
}

// public replaces the fault of an unknown listing by that of the public routes.
func public(err error) error {
	if err != nil && fault.Of(err).Code == ErrJobNotFound.Code {
		return ErrNotFound
	}
	return err
}

// Renew makes the listing active for a number of days.
func (s *Service) Renew(ctx context.Context, by auth.Actor, listingID string, days int) (Listing, error) {
	return s.change(ctx, by, auth.JobsUpdate, listingID, func(l *Listing, now time.Time) error { return l.Renew(now, days) })
}

// Duplicate creates a copy of the listing.
func (s *Service) Duplicate(ctx context.Context, by auth.Actor, listingID string) (Listing, error) {
	if err := by.Require(auth.JobsCreate); err != nil {
		return Listing{}, err
	}
	var out Listing
	err := s.Tx.Do(ctx, func(ctx context.Context) error {
		source, err := s.get(ctx, by.OrganizationID, listingID)
		if err != nil {
			return err
		}
		now := s.Clock.Now()
		holds, waits, err := s.Organizations.HoldsJobs(ctx, by.OrganizationID)
		if err != nil {
			return err
		}
		out = source.Copy(s.NewID(), now)
		if holds {
			out.Hide(now)
		}
		out.Version = 1
		events := out.finishChange(&Listing{}, now)
		if err := s.Listings.Create(ctx, []Listing{out}); err != nil {
			return err
		}
		if err := s.hold(ctx, &out, holds, waits); err != nil {
			return err
		}
		return s.Events.Record(ctx, events...)
	})
	return out, err
}
