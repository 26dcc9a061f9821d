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
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/tx"
)

// Needs is what the module is plugged into.
type Needs struct {
	Tx            tx.Runner
	Events        event.Recorder
	Audit         audit.Recorder
	Clock         clock.Clock
	NewID         id.Source
	Applications  Applications
	Appointments  Appointments
	Letters       Letters
	Listings      Listings
	People        People
	Organizations Organizations
	Wishes        Wishes
	Tasks         task.Adder
	Mailer        mail.Mailer
	Limiter       limit.Limiter
	Sealer        auth.Sealer
	Files         files.Store
	Exports       Exports
	// Tables are what can be exported beside applications, by name.
	Tables map[string]Table
	// PublicURL is where people find the service.
	PublicURL string
}

// Service holds the module's use cases.
type Service struct {
	Needs
	streams streams
}

// New makes the service.
func New(n Needs) *Service { return &Service{Needs: n} }

// View is an application together with what other modules know of it.
type View struct {
	Application
	JobTitle string
	// Applicant and Interview are filled for employers only. An application
	// without an interview has none.
	Applicant Person
	Interview *Appointment
}

// Detail is a View with the timeline, the submission first.
type Detail struct {
	View
	Timeline []Change
	// Introduction is for employers, nil if the applicant shows none or has
	// withdrawn.
	Introduction *Introduction
}

// maxTimeline is how much of a timeline a detail shows: enough for any hiring,
// and a bound for who sets statuses back and forth by machine.
const maxTimeline = 200

func (s *Service) detail(ctx context.Context, v View) (Detail, error) {
	changes, err := s.Applications.Timeline(ctx, v.OrganizationID, v.ID, maxTimeline)
	return Detail{View: v, Timeline: append([]Change{v.submission()}, changes...)}, err
}

// titled looks the titles of a page of applications up in one go.
func (s *Service) titled(ctx context.Context, as []Application) ([]View, error) {
	views := make([]View, len(as))
	if len(as) == 0 {
		return views, nil
	}
	titles, err := s.Listings.Titles(ctx, distinct(as, func(a Application) string { return a.ListingID }))
	if err != nil {
		return nil, err
	}
	for i, a := range as {
		views[i] = View{Application: a, JobTitle: titles[a.ListingID]}
	}
	return views, nil
}

func (s *Service) named(ctx context.Context, as []Application) ([]View, error) {
	views, err := s.titled(ctx, as)
	if err != nil || len(as) == 0 {
		return views, err
	}
	people, err := s.People.ByIDs(ctx, distinct(as, func(a Application) string { return a.ApplicantID }))
	if err != nil {
		return nil, err
	}
	for i := range views {
		person, there := people[views[i].ApplicantID]
		if !there {
			person.Name = DeletedName
		}
		views[i].Applicant = person
	}
	return views, nil
}

// change makes the timeline entry of a move that has just happened.
func (s *Service) change(a *Application, kind ActorKind, by auth.Actor, from Status) Change {
	return Change{ID: s.NewID(), ApplicationID: a.ID, Actor: kind, ActorID: by.UserID, From: from, To: a.Status, At: a.ChangedAt}
}

func distinct(as []Application, of func(Application) string) []string {
	seen := make(map[string]bool, len(as))
	var out []string
	for _, a := range as {
		if v := of(a); !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

// canonical is the one spelling under which ids are kept; absent is the answer
// to what is not an id.
func canonical(s string, absent error) (string, error) {
	if s, ok := id.Canonical(s); ok {
		return s, nil
	}
	return "", absent
}

func withItems[A, B any](r page.Result[A], items []B) page.Result[B] {
	return page.Result[B]{Items: items, Total: r.Total, TotalIsEstimate: r.TotalIsEstimate, NextCursor: r.NextCursor}
}
