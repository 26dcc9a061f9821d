package hiring

import (
	"context"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/tx"
)

// Shared are the collaborators of both Service and ExportService.
type Shared struct {
	Tx            tx.Runner
	Events        event.Recorder
	Clock         clock.Clock
	NewID         id.Source
	Tasks         task.Adder
	People        People
	Organizations Organizations
	Mailer        mail.Mailer
	// PublicURL is the base of links.
	PublicURL string
}

// Service implements the use cases of the module.
type Service struct {
	*Shared
	*ExportService
	Applications Applications
	Appointments Appointments
	Messages     Messages
	Notes        Notes
	Ratings      Ratings
	Documents    Documents
	// ApplicantDocuments are the originals of Documents.
	ApplicantDocuments ApplicantDocuments
	Listings           Listings
	Preferences        Preferences
	PersonalData       PersonalData
	Limiter            limit.Limiter
}

// View is an application with properties from other modules.
type View struct {
	Application
	JobTitle, Company string
	// Applicant is only set for employers.
	Applicant Person
	// Interview is nil if there is none. In lists it is only set for employers. For
	// applicants it has no Notes and no Outcome.
	Interview *Appointment
}

// Detail is a View with the timeline, which starts with the submission.
type Detail struct {
	View
	Timeline  []Change
	Documents []Document
	// Introduction is only set for employers. It is nil if the applicant shows none or
	// has withdrawn.
	Introduction *Introduction
}

// maxTimeline is the maximum number of changes in a Detail.
const maxTimeline = 200

func (s *Service) detail(ctx context.Context, v View) (Detail, error) {
	changes, err := s.Applications.ListChanges(ctx, v.OrganizationID, v.ID, maxTimeline)
	if err != nil {
		return Detail{}, err
	}
	documents, err := s.Documents.List(ctx, Visibility{OrganizationID: v.OrganizationID}, v.ID)
	return Detail{View: v, Timeline: append([]Change{v.submission()}, changes...), Documents: documents}, err
}

// titled adds the titles and companies of the listings.
func (s *Service) titled(ctx context.Context, as []Application) ([]View, error) {
	briefs, err := s.Listings.Briefs(ctx, list.Distinct(as, func(a Application) string { return a.ListingID }))
	if err != nil {
		return nil, err
	}
	return list.Map(as, func(a Application) View {
		brief := briefs[a.ListingID]
		return View{Application: a, JobTitle: brief.Title, Company: brief.Company}
	}), nil
}

// named adds the titles and companies of the listings and the names of the applicants.
func (s *Service) named(ctx context.Context, as []Application) ([]View, error) {
	views, err := s.titled(ctx, as)
	if err != nil || len(as) == 0 {
		return views, err
	}
	people, err := s.People.ByIDs(ctx, list.Distinct(as, func(a Application) string { return a.ApplicantID }))
	if err != nil {
		return nil, err
	}
	for i := range views {
		person, exists := people[views[i].ApplicantID]
		if !exists {
			person.Name = DeletedName
		}
		views[i].Applicant = person
	}
	return views, nil
}

// change returns the timeline entry for a change of status.
func (s *Service) change(a *Application, kind ActorKind, by auth.Actor, from Status) Change {
	return Change{ID: s.NewID(), ApplicationID: a.ID, Actor: kind, ActorID: by.UserID, From: from, To: a.Status, At: a.ChangedAt}
}

// canonical returns the id as it is stored, or the error notFound if it is not an id.
func canonical(s string, notFound error) (string, error) {
	if s, ok := id.Canonical(s); ok {
		return s, nil
	}
	return "", notFound
}

// VisibleTo returns which applications the actor may see: those to their organization,
// their own, or both.
func VisibleTo(by auth.Actor) (v Visibility) {
	if by.May(auth.ApplicationsView) {
		v.OrganizationID = by.OrganizationID
	}
	if by.Seeker {
		v.ApplicantID = by.UserID
	}
	return v
}

// ListVisible lists the applications that the actor may see with their details, newest
// first. Filters that are not ids select nothing.
func (s *Service) ListVisible(ctx context.Context, by auth.Actor, f ApplicationFilter, r page.Request) (page.Result[Application], error) {
	nothing := page.Result[Application]{Items: []Application{}}
	if err := by.RequireUser(auth.ScopeApplicationsRead); err != nil {
		return nothing, err
	}
	v := VisibleTo(by)
	if err := r.CheckID(); err != nil {
		return nothing, err
	}
	for i, listingID := range f.ListingIDs {
		var ok bool
		if f.ListingIDs[i], ok = id.Canonical(listingID); !ok {
			return nothing, nil
		}
	}
	if f.ApplicantID != "" {
		var ok bool
		if f.ApplicantID, ok = id.Canonical(f.ApplicantID); !ok {
			return nothing, nil
		}
	}
	if v == (Visibility{}) {
		return nothing, nil
	}
	f.Details = true
	return s.Applications.List(ctx, v, f, r)
}

// GetVisible returns an application that the actor may see with its details.
func (s *Service) GetVisible(ctx context.Context, by auth.Actor, applicationID string) (Application, error) {
	if err := by.RequireUser(auth.ScopeApplicationsRead); err != nil {
		return Application{}, err
	}
	v := VisibleTo(by)
	applicationID, err := canonical(applicationID, ErrNotFound)
	if err != nil || v == (Visibility{}) {
		return Application{}, ErrNotFound
	}
	return s.Applications.Get(ctx, v, applicationID)
}
