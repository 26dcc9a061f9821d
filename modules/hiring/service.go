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

// Shared are the dependencies that Service and ExportService have in common.
type Shared struct {
	Tx            tx.Runner
	Events        event.Recorder
	Clock         clock.Clock
	NewID         id.Source
	Tasks         task.Adder
	People        People
	Organizations Organizations
	Mailer        mail.Mailer
	// PublicURL is the URL of the service. Links begin with it.
	PublicURL string
	// HasSite reports whether the site with pages for applicants and employers is served.
	// E-mails link to its pages.
	HasSite bool
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
	// ApplicantDocuments provides the original documents. Documents stores copies of them.
	ApplicantDocuments ApplicantDocuments
	Listings           Listings
	Preferences        Preferences
	PersonalData       PersonalData
	Limiter            limit.Limiter
}

// View is an application as the employer or the applicant sees it, with data of other modules.
type View struct {
	Application
	JobTitle, Company string // of the listing
	// Applicant is set for employers only.
	Applicant Person
	// Interview is nil if the application has no interview. Applicants get it only with a
	// single application, without Notes and Outcome.
	Interview *Appointment
}

// Detail is a View with its documents and its timeline: the submission of the application and the
// changes of its status, the oldest first.
type Detail struct {
	View
	Timeline  []Change
	Documents []Document
	// Introduction is set for employers only. It is nil if the applicant does not show one or has
	// withdrawn the application.
	Introduction *Introduction
}

// maxTimeline is the maximum number of changes in a Detail.
const maxTimeline = 200

// loadDetail adds the timeline and the documents to a view.
func (s *Service) loadDetail(ctx context.Context, v View) (Detail, error) {
	changes, err := s.Applications.ListChanges(ctx, v.OrganizationID, v.ID, maxTimeline)
	if err != nil {
		return Detail{}, err
	}

	timeline := append([]Change{v.submission()}, changes...)
	documents, err := s.Documents.List(ctx, Visibility{OrganizationID: v.OrganizationID}, v.ID)

	return Detail{View: v, Timeline: timeline, Documents: documents}, err
}

// withListings returns views with the titles and companies of the listings.
func (s *Service) withListings(ctx context.Context, applications []Application) ([]View, error) {
	listingIDs := list.Distinct(applications, func(a Application) string { return a.ListingID })

	briefs, err := s.Listings.ListBriefs(ctx, listingIDs)
	if err != nil {
		return nil, err
	}

	return list.Map(applications, func(a Application) View {
		brief := briefs[a.ListingID]
		return View{Application: a, JobTitle: brief.Title, Company: brief.Company}
	}), nil
}

// withApplicants returns views with the titles and companies of the listings and the names and
// addresses of the applicants.
func (s *Service) withApplicants(ctx context.Context, applications []Application) ([]View, error) {
	views, err := s.withListings(ctx, applications)
	if err != nil || len(views) == 0 {
		return views, err
	}

	applicantIDs := list.Distinct(applications, func(a Application) string { return a.ApplicantID })

	people, err := s.People.ByIDs(ctx, applicantIDs)
	if err != nil {
		return nil, err
	}

	for i := range views {
		person, exists := people[views[i].ApplicantID]
		if !exists { // the applicant has deleted their account
			person.Name = DeletedName
		}

		views[i].Applicant = person
	}

	return views, nil
}

// newChange returns the timeline entry for the change of the application's status from the
// previous status to the current one. The kind is the side, employer or applicant, of the actor by.
func (s *Service) newChange(a *Application, kind ActorKind, by auth.Actor, previous Status) Change {
	return Change{
		ID:            s.NewID(),
		ApplicationID: a.ID,
		Actor:         kind,
		ActorID:       by.UserID,
		From:          previous,
		To:            a.Status,
		At:            a.ChangedAt,
	}
}

// canonical returns the id in its stored form, or notFound if the text is not an id.
func canonical(text string, notFound error) (string, error) {
	canonicalID, isID := id.Canonical(text)
	if !isID {
		return "", notFound
	}

	return canonicalID, nil
}

// VisibleTo returns the applications that the actor may see: the applications to the
// actor's organization, the actor's own applications, or both.
func VisibleTo(by auth.Actor) (v Visibility) {
	if by.May(auth.ApplicationsView) {
		v.OrganizationID = by.OrganizationID
	}

	if by.Seeker {
		v.ApplicantID = by.UserID
	}

	return v
}

// ListVisible lists the applications that the actor may see, with their details (cover letter, URL of
// the CV, answers), the newest first. A filter with an invalid id matches no application.
func (s *Service) ListVisible(
	ctx context.Context,
	by auth.Actor,
	f ApplicationFilter,
	r page.Request,
) (page.Result[Application], error) {
	none := page.Result[Application]{Items: []Application{}}
	if err := by.RequireUser(auth.ScopeApplicationsRead); err != nil {
		return none, err
	}

	if err := r.CheckID(); err != nil {
		return none, err
	}

	// Applications are stored with ids in their canonical form.
	for i, listingID := range f.ListingIDs {
		canonicalID, isID := id.Canonical(listingID)
		if !isID {
			return none, nil
		}

		f.ListingIDs[i] = canonicalID
	}

	if f.ApplicantID != "" {
		canonicalID, isID := id.Canonical(f.ApplicantID)
		if !isID {
			return none, nil
		}

		f.ApplicantID = canonicalID
	}

	visible := VisibleTo(by)
	if visible == (Visibility{}) { // the actor may see no applications
		return none, nil
	}

	f.Details = true

	return s.Applications.List(ctx, visible, f, r)
}

// GetVisible returns an application that the actor may see, with its details.
func (s *Service) GetVisible(ctx context.Context, by auth.Actor, applicationID string) (Application, error) {
	if err := by.RequireUser(auth.ScopeApplicationsRead); err != nil {
		return Application{}, err
	}

	visible := VisibleTo(by)

	applicationID, err := canonical(applicationID, ErrNotFound)
	if err != nil || visible == (Visibility{}) {
		return Application{}, ErrNotFound
	}

	return s.Applications.Get(ctx, visible, applicationID)
}
