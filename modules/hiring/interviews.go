package hiring

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/page"
)

// The bounds of what an employer writes about interviews and to applicants, in
// characters.
const (
	maxLocation    = 500
	maxInterviewer = 200
	maxNotes       = 5_000
	maxSubject     = 200
	maxLetter      = 10_000
)

// lettersADay bounds what one organization writes: an account that was taken
// over is not to become a mail gun.
var lettersADay = limit.Rule{Name: "hiring-contact", Max: 50, Per: 24 * time.Hour}

// AppointmentView is an interview with the application that it belongs to.
type AppointmentView struct {
	View
	Interview Appointment
}

// Schedule makes the application's interview, or makes it anew: one that is
// there already gets the new time and place and stands again.
func (s *Service) Schedule(ctx context.Context, by auth.Actor, applicationID string, in AppointmentInput) (Appointment, error) {
	var missing []fault.Field
	for _, required := range []struct {
		name  string
		value *string
	}{{"scheduledAt", in.ScheduledAt}, {"location", in.Location}, {"interviewer", in.Interviewer}} {
		if required.value == nil || strings.TrimSpace(*required.value) == "" {
			missing = append(missing, fault.Field{Name: required.name, Message: "is required"})
		}
	}
	if len(missing) > 0 && by.May(auth.ApplicationsUpdate) {
		return Appointment{}, fault.ErrInvalid.WithFields(missing...)
	}
	scheduled, undecided := Scheduled, Undecided
	in.Status, in.Outcome = &scheduled, &undecided
	return s.appoint(ctx, by, applicationID, in, true)
}

// Reschedule changes what is given of the application's interview.
func (s *Service) Reschedule(ctx context.Context, by auth.Actor, applicationID string, in AppointmentInput) (Appointment, error) {
	return s.appoint(ctx, by, applicationID, in, false)
}

func (s *Service) appoint(ctx context.Context, by auth.Actor, applicationID string, in AppointmentInput, create bool) (Appointment, error) {
	if !by.May(auth.ApplicationsUpdate) {
		return Appointment{}, fault.ErrForbidden
	}
	at, err := in.check()
	if err != nil {
		return Appointment{}, err
	}
	var next Appointment
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		a, err := s.received(ctx, by, applicationID)
		if err != nil {
			return err
		}
		found, err := s.Appointments.ForApplications(ctx, by.OrganizationID, []string{a.ID})
		if err != nil {
			return err
		}
		now := s.Clock.Now()
		var before *Appointment
		switch {
		case len(found) > 0:
			before, next = &found[0], found[0]
		case !create:
			return ErrInterviewNotFound
		default:
			next = Appointment{ID: s.NewID(), ApplicationID: a.ID, OrganizationID: a.OrganizationID, Sequence: -1, CreatedAt: now}
		}
		in.apply(&next, at)
		if !next.known() {
			return fault.ErrInvalid
		}
		change := next.news(before)
		if change == event.InterviewScheduled || change == event.InterviewMoved {
			if a.WithdrawnAt != nil {
				return ErrWithdrawn
			}
		}
		if before != nil && next == *before {
			return nil
		}
		next.ChangedAt = now
		if change == "" {
			return s.Appointments.Save(ctx, next)
		}
		next.Sequence++
		if err := s.Appointments.Save(ctx, next); err != nil {
			return err
		}
		return s.Events.Record(ctx, next.event(&a, change, by.UserID))
	})
	return next, err
}

// received is one application to the organization, locked in a transaction.
func (s *Service) received(ctx context.Context, by auth.Actor, applicationID string) (Application, error) {
	applicationID, err := canonical(applicationID, ErrNotFound)
	if err != nil {
		return Application{}, err
	}
	found, err := s.Applications.ForOrganization(ctx, by.OrganizationID, []string{applicationID})
	if err != nil {
		return Application{}, err
	}
	if len(found) == 0 {
		return Application{}, ErrNotFound
	}
	return found[0], nil
}

// check reads the moment and finds what is too long.
func (in AppointmentInput) check() (at time.Time, err error) {
	var bad []fault.Field
	if in.ScheduledAt != nil {
		if at, err = time.Parse(time.RFC3339Nano, strings.TrimSpace(*in.ScheduledAt)); err != nil || at.Year() < 1900 || at.Year() > 9000 {
			bad = append(bad, fault.Field{Name: "scheduledAt", Message: "must be a moment with its offset (2027-03-28T09:30:00Z or 2027-03-28T10:30:00+01:00)"})
		}
		at = at.UTC().Truncate(time.Microsecond)
	}
	for _, text := range []struct {
		name  string
		value *string
		max   int
		empty bool
	}{{"location", in.Location, maxLocation, false}, {"interviewer", in.Interviewer, maxInterviewer, false}, {"notes", in.Notes, maxNotes, true}} {
		switch {
		case text.value == nil:
		case !text.empty && strings.TrimSpace(*text.value) == "":
			bad = append(bad, fault.Field{Name: text.name, Message: "must not be empty"})
		case utf8.RuneCountInString(*text.value) > text.max:
			bad = append(bad, fault.Field{Name: text.name, Message: fmt.Sprintf("must have at most %d characters", text.max)})
		}
	}
	if len(bad) > 0 {
		return at, fault.ErrInvalid.WithFields(bad...)
	}
	return at, nil
}

func (in AppointmentInput) apply(a *Appointment, at time.Time) {
	set(&a.Location, in.Location)
	set(&a.Interviewer, in.Interviewer)
	set(&a.Notes, in.Notes)
	if in.ScheduledAt != nil {
		a.ScheduledAt = at
	}
	if in.Status != nil {
		a.Status = *in.Status
	}
	if in.Outcome != nil {
		a.Outcome = *in.Outcome
	}
}

func set(to *string, from *string) {
	if from != nil {
		*to = strings.TrimSpace(*from)
	}
}

// Interviews lists the organization's interviews, the newest first, all of them
// or those of one status.
func (s *Service) Interviews(ctx context.Context, by auth.Actor, status InterviewStatus, r page.Request) (page.Result[AppointmentView], error) {
	var none page.Result[AppointmentView]
	if !by.May(auth.ApplicationsView) {
		return none, fault.ErrForbidden
	}
	if err := r.CheckID(); err != nil {
		return none, err
	}
	if status != "" && !slices.Contains(InterviewStatuses, status) {
		return none, fault.InvalidField("status", "must be one of: scheduled, completed, cancelled")
	}
	found, err := s.Appointments.Page(ctx, by.OrganizationID, status, r)
	if err != nil || len(found.Items) == 0 {
		return withItems(found, []AppointmentView{}), err
	}
	ids := make([]string, len(found.Items))
	for i, a := range found.Items {
		ids[i] = a.ApplicationID
	}
	applications, err := s.Applications.ForOrganization(ctx, by.OrganizationID, ids)
	if err != nil {
		return none, err
	}
	views, err := s.named(ctx, applications)
	if err != nil {
		return none, err
	}
	byID := make(map[string]View, len(views))
	for _, v := range views {
		byID[v.ID] = v
	}
	out := make([]AppointmentView, len(found.Items))
	for i, a := range found.Items {
		out[i] = AppointmentView{View: byID[a.ApplicationID], Interview: a}
	}
	return withItems(found, out), nil
}

// withInterviews adds their interviews to what an employer sees.
func (s *Service) withInterviews(ctx context.Context, organizationID string, views []View) error {
	if len(views) == 0 {
		return nil
	}
	ids, at := make([]string, len(views)), make(map[string]int, len(views))
	for i, v := range views {
		ids[i], at[v.ID] = v.ID, i
	}
	found, err := s.Appointments.ForApplications(ctx, organizationID, ids)
	if err != nil {
		return err
	}
	for _, a := range found {
		views[at[a.ApplicationID]].Interview = &a
	}
	return nil
}

// ContactInput is a message to an applicant.
type ContactInput struct {
	Subject string `json:"subject" validate:"required,max=200"`
	Message string `json:"message" validate:"required,max=10000"`
}

// Contact writes to an applicant and returns their address. The mail follows.
func (s *Service) Contact(ctx context.Context, by auth.Actor, applicationID string, in ContactInput) (to string, err error) {
	if !by.May(auth.ApplicationsUpdate) {
		return "", fault.ErrForbidden
	}
	in.Subject, in.Message = strings.TrimSpace(in.Subject), strings.TrimSpace(in.Message)
	for _, text := range []struct {
		name, value string
		max         int
	}{{"subject", in.Subject, maxSubject}, {"message", in.Message, maxLetter}} {
		if text.value == "" {
			return "", fault.InvalidField(text.name, "is required")
		}
		if utf8.RuneCountInString(text.value) > text.max {
			return "", fault.InvalidField(text.name, fmt.Sprintf("must have at most %d characters", text.max))
		}
	}
	a, err := s.received(ctx, by, applicationID)
	if err != nil {
		return "", err
	}
	people, err := s.People.ByIDs(ctx, []string{a.ApplicantID})
	if err != nil {
		return "", err
	}
	to = people[a.ApplicantID].Email
	if to == "" {
		return "", ErrNotFound // the applicant is gone
	}
	spent, err := s.Limiter.Take(ctx, lettersADay, by.OrganizationID)
	if err != nil {
		return "", err
	}
	if !spent.Allowed {
		return "", fault.ErrRateLimit.WithRetryAfter(spent.RetryAfter)
	}
	return to, s.Tx.Do(ctx, func(ctx context.Context) error {
		letter := Letter{ID: s.NewID(), ApplicationID: a.ID, OrganizationID: a.OrganizationID, SenderID: by.UserID,
			Subject: in.Subject, Text: in.Message, SentAt: s.Clock.Now()}
		if err := s.Letters.Add(ctx, letter); err != nil {
			return err
		}
		return s.Events.Record(ctx, event.ApplicantContacted{
			MessageID: letter.ID, ApplicationID: a.ID, JobID: a.ListingID, OrganizationID: a.OrganizationID, CandidateID: a.ApplicantID, SentAt: letter.SentAt,
		})
	})
}

// calledOffAtOnce is how many interviews one transaction calls off.
const calledOffAtOnce = 20

// OnOrganizationClosed calls off the interviews that are still to come, which
// nobody would be there for, and lets the applicants know.
func (s *Service) OnOrganizationClosed(ctx context.Context, e event.OrganizationClosed) error {
	for {
		n, err := s.callOffSome(ctx, e.OrganizationID)
		if err != nil || n < calledOffAtOnce {
			return err
		}
	}
}

func (s *Service) callOffSome(ctx context.Context, organizationID string) (n int, err error) {
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		now := s.Clock.Now()
		ahead, err := s.Appointments.Ahead(ctx, organizationID, now, calledOffAtOnce)
		if n = len(ahead); err != nil || n == 0 {
			return err
		}
		ids := make([]string, n)
		for i, a := range ahead {
			ids[i] = a.ApplicationID
		}
		applications, err := s.Applications.ForOrganization(ctx, organizationID, ids)
		if err != nil {
			return err
		}
		var events []event.Event
		for _, a := range applications {
			i := ahead[slices.Index(ids, a.ID)]
			i.cancel(now)
			if err := s.Appointments.Save(ctx, i); err != nil {
				return err
			}
			events = append(events, i.event(&a, event.InterviewCancelled, ""))
		}
		return s.Events.Record(ctx, events...)
	})
	return n, err
}
