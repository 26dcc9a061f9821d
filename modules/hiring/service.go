package hiring

import (
	"context"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/files"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/tx"
)

// Deps are the collaborators and settings of the Service.
type Deps struct {
	Tx            tx.Runner
	Events        event.Recorder
	Audit         audit.Recorder
	Clock         clock.Clock
	NewID         id.Source
	Applications  Applications
	Appointments  Appointments
	Messages      Messages
	Listings      Listings
	People        People
	Organizations Organizations
	Preferences   Preferences
	PersonalData  PersonalData
	Tasks         task.Adder
	Mailer        mail.Mailer
	Limiter       limit.Limiter
	Sealer        auth.Sealer
	Files         files.Store
	Exports       Exports
	// Tables are the tables that can be exported besides applications, by name.
	Tables map[string]Table
	// PublicURL is the base of links.
	PublicURL string
}

// Service implements the use cases of the module.
type Service struct {
	Deps
	streams streams
}

// New returns a Service.
func New(d Deps) *Service { return &Service{Deps: d} }

// View is an application with properties from other modules.
type View struct {
	Application
	JobTitle string
	// Applicant and Interview are only set for employers. Interview is nil if there
	// is none.
	Applicant Person
	Interview *Appointment
}

// Detail is a View with the timeline, which starts with the submission.
type Detail struct {
	View
	Timeline []Change
	// Introduction is only set for employers. It is nil if the applicant shows none or
	// has withdrawn.
	Introduction *Introduction
}

// maxTimeline is the maximum number of changes in a Detail.
const maxTimeline = 200

func (s *Service) detail(ctx context.Context, v View) (Detail, error) {
	changes, err := s.Applications.ListChanges(ctx, v.OrganizationID, v.ID, maxTimeline)
	return Detail{View: v, Timeline: append([]Change{v.submission()}, changes...)}, err
}

// titled adds the titles of the listings.
func (s *Service) titled(ctx context.Context, as []Application) ([]View, error) {
	if len(as) == 0 {
		return []View{}, nil
	}
	titles, err := s.Listings.Titles(ctx, list.Distinct(as, func(a Application) string { return a.ListingID }))
	if err != nil {
		return nil, err
	}
	return list.Map(as, func(a Application) View { return View{Application: a, JobTitle: titles[a.ListingID]} }), nil
}

// named adds the titles of the listings and the names of the applicants.
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
