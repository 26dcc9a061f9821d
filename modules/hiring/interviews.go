package hiring

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/patch"
	"github.com/locumhq/locum/core/tx"
	"github.com/locumhq/locum/core/valid"
)

// InterviewStatus is the status of an interview.
type InterviewStatus string

// The statuses of interviews.
const (
	Scheduled InterviewStatus = "scheduled"
	Completed InterviewStatus = "completed"
	Cancelled InterviewStatus = "cancelled"
)

// InterviewStatuses are all statuses of interviews.
var InterviewStatuses = []InterviewStatus{Scheduled, Completed, Cancelled}

// Outcome is the result of an interview.
type Outcome string

// The outcomes.
const (
	Pass      Outcome = "pass"
	Fail      Outcome = "fail"
	Undecided Outcome = "pending"
)

// interviewDuration is the duration of an interview in calendar invitations. Employers enter only the
// time at which it begins.
const interviewDuration = time.Hour

// Appointment is the interview of an application. An application has at most one.
type Appointment struct {
	ID             string
	ApplicationID  string
	OrganizationID string
	ScheduledAt    time.Time
	Location       string
	Interviewer    string
	Notes          string // private notes of the employer
	Status         InterviewStatus
	Outcome        Outcome
	// Sequence is the number of the latest notice that the applicant was sent, from 0. Calendars
	// need it to recognize the newest version of the interview (RFC 5545 §3.8.7.4).
	Sequence  int
	CreatedAt time.Time
	ChangedAt time.Time
}

// AppointmentInput changes an interview. A nil field leaves its value unchanged.
type AppointmentInput struct {
	ScheduledAt *string          `json:"scheduledAt"`
	Location    *string          `json:"location" validate:"omitempty,notblank,max=500"`
	Interviewer *string          `json:"interviewer" validate:"omitempty,notblank,max=200"`
	Notes       *string          `json:"notes" validate:"omitempty,max=5000"`
	Status      *InterviewStatus `json:"status" validate:"omitempty,oneof=scheduled completed cancelled"`
	Outcome     *Outcome         `json:"outcome" validate:"omitempty,oneof=pass fail pending"`
	// RequireFuture refuses a new ScheduledAt in the past. Forms of the site set it, the API does not.
	RequireFuture bool `json:"-"`
}

// checkFuture returns a fault of the field scheduledAt if RequireFuture is set and the parsed time
// scheduledAt is not after now. The stored interview is nil if there is none.
//
// A form contains the time of the stored interview in full minutes, even if the user changes only
// other fields. So checkFuture accepts this time in the past, unless the status changes.
func (in AppointmentInput) checkFuture(scheduledAt time.Time, stored *Appointment, now time.Time) error {
	if !in.RequireFuture || in.ScheduledAt == nil || scheduledAt.After(now) {
		return nil
	}

	if stored != nil {
		keepsStatus := in.Status == nil || *in.Status == stored.Status
		keepsTime := scheduledAt.Equal(stored.ScheduledAt.Truncate(time.Minute))

		if keepsStatus && keepsTime {
			return nil
		}
	}

	return fault.InvalidField("scheduledAt", "must not be in the past")
}

// The years that ScheduledAt may have. Other years are typing errors.
const (
	minInterviewYear = 1900
	maxInterviewYear = 9000
)

// parseScheduledAt parses ScheduledAt. It returns the zero time if ScheduledAt is nil.
func (in AppointmentInput) parseScheduledAt() (time.Time, error) {
	if in.ScheduledAt == nil {
		return time.Time{}, nil
	}

	at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(*in.ScheduledAt))
	if err != nil || at.Year() < minInterviewYear || at.Year() > maxInterviewYear {
		return time.Time{}, fault.InvalidField(
			"scheduledAt",
			"must be an RFC 3339 date-time with offset (2027-03-28T09:30:00Z or 2027-03-28T10:30:00+01:00)",
		)
	}

	return at.UTC().Truncate(time.Microsecond), nil
}

// Problems reports an invalid ScheduledAt.
func (in AppointmentInput) Problems() []fault.Field {
	if _, err := in.parseScheduledAt(); err != nil {
		return fault.Of(err).Fields
	}

	return nil
}

// changeSince compares the interview with before, which is its earlier state, or nil for a new
// interview. It returns the kind of change that the applicant is notified of (for example
// event.InterviewMoved), or "" if nothing has changed for the applicant.
func (a *Appointment) changeSince(before *Appointment) string {
	wasScheduled := before != nil && before.Status == Scheduled
	switch {
	case a.Status == Scheduled && !wasScheduled:
		return event.InterviewScheduled
	case a.Status == Scheduled && !a.isSameMeeting(before):
		return event.InterviewMoved
	case a.Status == Cancelled && wasScheduled:
		return event.InterviewCancelled
	}

	return ""
}

// isSameMeeting reports whether both interviews have the same time, location and interviewer, which the
// applicant sees.
func (a *Appointment) isSameMeeting(other *Appointment) bool {
	return a.ScheduledAt.Equal(other.ScheduledAt) && a.Location == other.Location && a.Interviewer == other.Interviewer
}

// cancel sets the status to Cancelled and increments Sequence for the notice to the applicant.
func (a *Appointment) cancel(now time.Time) {
	a.Status, a.ChangedAt = Cancelled, now
	a.Sequence++
}

// event returns the event about a change of the application's interview by the actor. The actorID
// is empty if the interview was cancelled because the organization was closed.
func (a *Appointment) event(application *Application, change, actorID string) event.InterviewChanged {
	return event.InterviewChanged{
		InterviewID:    a.ID,
		ApplicationID:  application.ID,
		JobID:          application.ListingID,
		OrganizationID: application.OrganizationID,
		CandidateID:    application.ApplicantID,
		Change:         change,
		Sequence:       a.Sequence,
		ScheduledAt:    a.ScheduledAt,
		Location:       a.Location,
		Interviewer:    a.Interviewer,
		ChangedAt:      a.ChangedAt,
		ActorID:        actorID,
	}
}

// Schedule creates the interview of an application. If the application has an interview, it
// is scheduled again with the new time and place.
func (s *Service) Schedule(ctx context.Context, by auth.Actor, applicationID string, in AppointmentInput) (Appointment, error) {
	// A new interview needs all fields that the applicant sees.
	required := struct {
		ScheduledAt *string `json:"scheduledAt" validate:"required,notblank"`
		Location    *string `json:"location" validate:"required,notblank"`
		Interviewer *string `json:"interviewer" validate:"required,notblank"`
	}{ScheduledAt: in.ScheduledAt, Location: in.Location, Interviewer: in.Interviewer}
	if err := cmp.Or(by.Require(auth.ApplicationsUpdate), valid.Check("", required)); err != nil {
		return Appointment{}, err
	}

	scheduled, undecided := Scheduled, Undecided
	in.Status, in.Outcome = &scheduled, &undecided

	const mayCreate = true

	return s.saveInterview(ctx, by, applicationID, in, mayCreate)
}

// Reschedule changes the given fields of the application's interview. It returns
// ErrInterviewNotFound if the application has no interview.
func (s *Service) Reschedule(ctx context.Context, by auth.Actor, applicationID string, in AppointmentInput) (Appointment, error) {
	const mayCreate = false

	return s.saveInterview(ctx, by, applicationID, in, mayCreate)
}

// saveInterview applies the input to the interview of an application, and records an event if
// the applicant has to be notified. If the application has no interview, saveInterview creates
// one, or fails with ErrInterviewNotFound if mayCreate is false. After 20 notices of scheduled or
// moved interviews in a day, it fails with fault.ErrRateLimit.
func (s *Service) saveInterview(
	ctx context.Context,
	by auth.Actor,
	applicationID string,
	in AppointmentInput,
	mayCreate bool,
) (Appointment, error) {
	if err := cmp.Or(by.Require(auth.ApplicationsUpdate), valid.Check("", in)); err != nil {
		return Appointment{}, err
	}

	scheduledAt, err := in.parseScheduledAt()
	if err != nil {
		return Appointment{}, err
	}

	var interview Appointment
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		// Lock the application, which also serializes the changes of its interview.
		application, err := s.getReceived(ctx, by, applicationID)
		if err != nil {
			return err
		}

		stored, err := s.getInterview(ctx, by.OrganizationID, application.ID)
		if err != nil {
			return err
		}

		now := s.Clock.Now()
		if err := in.checkFuture(scheduledAt, stored, now); err != nil {
			return err
		}

		// Apply the input to the stored interview or to a new one.
		switch {
		case stored != nil:
			interview = *stored
		case mayCreate:
			interview = s.newInterview(&application, now)
		default:
			return ErrInterviewNotFound
		}

		in.apply(&interview, scheduledAt)

		isUnchanged := stored != nil && interview == *stored
		if isUnchanged {
			return nil
		}

		interview.ChangedAt = now
		change := interview.changeSince(stored)

		return s.storeInterview(ctx, by, &application, &interview, change)
	})

	return interview, err
}

// storeInterview stores a new or changed interview. The argument change is a result of changeSince.
// If it is not empty, storeInterview also records an event, so that the applicant is notified.
func (s *Service) storeInterview(
	ctx context.Context,
	by auth.Actor,
	application *Application,
	interview *Appointment,
	change string,
) error {
	if change == "" {
		return s.Appointments.Upsert(ctx, *interview)
	}

	// Check that the applicant may be sent an invitation. A cancellation is always permitted.
	if change != event.InterviewCancelled {
		if err := s.checkInvitation(ctx, application); err != nil {
			return err
		}
	}

	interview.Sequence++
	if err := s.Appointments.Upsert(ctx, *interview); err != nil {
		return err
	}

	return s.Events.Record(ctx, interview.event(application, change, by.UserID))
}

// newInterview returns an interview of the application without a time and a place. Its Sequence is
// -1, because the first notice increments the number to 0.
func (s *Service) newInterview(application *Application, now time.Time) Appointment {
	return Appointment{
		ID:             s.NewID(),
		ApplicationID:  application.ID,
		OrganizationID: application.OrganizationID,
		Sequence:       -1,
		CreatedAt:      now,
	}
}

// checkInvitation counts an invitation or a changed invitation to the applicant. It returns an error if
// the applicant has withdrawn the application, or was sent too many invitations today.
func (s *Service) checkInvitation(ctx context.Context, application *Application) error {
	if application.WithdrawnAt != nil {
		return ErrWithdrawn
	}

	return limit.Take(ctx, s.Limiter, interviewNoticesPerDay, application.ID)
}

// getReceived returns an application to the caller's organization. Inside a transaction, the
// application is locked.
func (s *Service) getReceived(ctx context.Context, by auth.Actor, applicationID string) (Application, error) {
	applicationID, err := canonical(applicationID, ErrNotFound)
	if err != nil {
		return Application{}, err
	}

	return s.Applications.Get(ctx, Visibility{OrganizationID: by.OrganizationID}, applicationID)
}

// listReceived returns the applications with the ids, at most 1,000, in any order and without their
// details (cover letter, URL of the CV, answers). It omits applications to other organizations.
// Inside a transaction, the applications are locked.
func (s *Service) listReceived(ctx context.Context, organizationID string, ids []string) ([]Application, error) {
	if len(ids) == 0 {
		return nil, nil
	}

	found, err := s.Applications.List(ctx, Visibility{OrganizationID: organizationID},
		ApplicationFilter{IDs: ids}, page.After("", len(ids)))

	return found.Items, err
}

// getInterview returns the interview of an application, or nil.
func (s *Service) getInterview(ctx context.Context, organizationID, applicationID string) (*Appointment, error) {
	f := AppointmentFilter{ApplicationIDs: []string{applicationID}}

	found, err := s.Appointments.List(ctx, organizationID, f, page.After("", 1))
	if err != nil || len(found.Items) == 0 {
		return nil, err
	}

	return &found.Items[0], nil
}

// apply sets the fields of the interview for which the input has a value. The time scheduledAt is
// the result of parseScheduledAt.
func (in AppointmentInput) apply(interview *Appointment, scheduledAt time.Time) {
	patch.SetText(&interview.Location, in.Location)
	patch.SetName(&interview.Interviewer, in.Interviewer)
	patch.SetText(&interview.Notes, in.Notes)

	if in.ScheduledAt != nil {
		interview.ScheduledAt = scheduledAt
	}

	patch.Set(&interview.Status, in.Status)
	patch.Set(&interview.Outcome, in.Outcome)
}

// checkInterviewStatus returns a fault for a status that is neither empty nor one of
// InterviewStatuses.
func checkInterviewStatus(status InterviewStatus) error {
	return valid.Value("status", string(status), "oneof='' scheduled completed cancelled")
}

// Interviews lists the organization's interviews, newest first. If the status is not empty,
// it lists only interviews with that status.
func (s *Service) Interviews(
	ctx context.Context,
	by auth.Actor,
	status InterviewStatus,
	r page.Request,
) (page.Result[View], error) {
	var none page.Result[View]

	if err := cmp.Or(by.Require(auth.ApplicationsView), r.CheckID(), checkInterviewStatus(status)); err != nil {
		return none, err
	}

	found, err := s.Appointments.List(ctx, by.OrganizationID, AppointmentFilter{Status: status}, r)
	if err != nil {
		return none, err
	}

	views, err := s.interviewViews(ctx, by.OrganizationID, found.Items)

	return page.WithItems(found, views), err
}

// interviewViews returns a view of the application of each interview, in the order of the
// interviews.
func (s *Service) interviewViews(ctx context.Context, organizationID string, interviews []Appointment) ([]View, error) {
	if len(interviews) == 0 {
		return []View{}, nil
	}

	applications, err := s.listReceived(ctx, organizationID, list.Map(interviews, interviewApplicationID))
	if err != nil {
		return nil, err
	}

	views, err := s.withApplicants(ctx, applications)
	if err != nil {
		return nil, err
	}

	viewsByID := list.ToMap(views, func(v View) (string, View) { return v.ID, v })

	return list.Map(interviews, func(interview Appointment) View {
		view := viewsByID[interview.ApplicationID]
		view.Interview = &interview

		return view
	}), nil
}

// maxSorted is the maximum number of interviews that NextInterviews and InterviewsByDate read and sort
// by date. The storage sorts by id, in the order in which the interviews were created.
const maxSorted = 1_000

// NextInterviews returns the organization's next n scheduled interviews, the earliest first.
// If the organization has more than 1,000, it considers only the 1,000 newest.
func (s *Service) NextInterviews(ctx context.Context, by auth.Actor, n int) ([]View, error) {
	if err := by.Require(auth.ApplicationsView); err != nil {
		return nil, err
	}

	upcoming := AppointmentFilter{Status: Scheduled, ScheduledAfter: s.Clock.Now()}

	found, err := s.Appointments.List(ctx, by.OrganizationID, upcoming, page.After("", maxSorted))
	if err != nil {
		return nil, err
	}

	slices.SortFunc(found.Items, func(a, b Appointment) int { return a.ScheduledAt.Compare(b.ScheduledAt) })

	return s.interviewViews(ctx, by.OrganizationID, found.Items[:min(n, len(found.Items))])
}

// InterviewsByDate lists the organization's interviews for its calendar. The list begins with the
// scheduled interviews that will take place, the next one first. All others follow, the latest date
// first. If the status is not empty, it lists only interviews with that status.
//
// Only the newest 1,000 interviews are sorted by date, and have pages with numbers. The last of these
// pages has a cursor. A request with this cursor continues with the older interviews, in the order of
// Interviews.
func (s *Service) InterviewsByDate(
	ctx context.Context,
	by auth.Actor,
	status InterviewStatus,
	r page.Request,
) (page.Result[View], error) {
	var none page.Result[View]

	if r.Cursor != "" {
		return s.Interviews(ctx, by, status, r)
	}

	if err := cmp.Or(by.Require(auth.ApplicationsView), checkInterviewStatus(status)); err != nil {
		return none, err
	}

	found, err := s.Appointments.List(ctx, by.OrganizationID, AppointmentFilter{Status: status}, page.After("", maxSorted))
	if err != nil {
		return none, err
	}

	now := s.Clock.Now()
	slices.SortStableFunc(found.Items, func(a, b Appointment) int { return compareByDate(a, b, now) })

	// Cut the page from the sorted interviews.
	start := min(r.Offset(), len(found.Items))
	end := min(start+r.Size, len(found.Items))
	isLastPage := end == len(found.Items)

	result := page.Result[View]{Total: len(found.Items)}
	if isLastPage {
		result.NextCursor = found.NextCursor
	}

	result.Items, err = s.interviewViews(ctx, by.OrganizationID, found.Items[start:end])

	return result, err
}

// compareByDate compares interviews for the order of InterviewsByDate. Interviews that will take place
// come before all others, with the earliest date first. The others follow, with the latest date first.
func compareByDate(a, b Appointment, now time.Time) int {
	isUpcoming := func(i Appointment) bool { return i.Status == Scheduled && i.ScheduledAt.After(now) }
	switch {
	case isUpcoming(a) && isUpcoming(b):
		return a.ScheduledAt.Compare(b.ScheduledAt)
	case isUpcoming(a):
		return -1
	case isUpcoming(b):
		return 1
	}

	return b.ScheduledAt.Compare(a.ScheduledAt)
}

// interviewApplicationID returns the id of the interview's application.
func interviewApplicationID(interview Appointment) string { return interview.ApplicationID }

// receivedViews returns the applications as an employer sees them, with the names of the
// applicants and the interviews.
func (s *Service) receivedViews(ctx context.Context, organizationID string, applications []Application) ([]View, error) {
	views, err := s.withApplicants(ctx, applications)
	if err != nil || len(views) == 0 {
		return views, err
	}

	ids := list.Map(applications, func(a Application) string { return a.ID })

	found, err := s.Appointments.List(ctx, organizationID, AppointmentFilter{ApplicationIDs: ids}, page.After("", len(ids)))
	if err != nil {
		return nil, err
	}

	interviews := list.ToMap(found.Items, func(a Appointment) (string, *Appointment) { return a.ApplicationID, &a })
	for i := range views {
		views[i].Interview = interviews[views[i].ID] // nil without an interview
	}

	return views, nil
}

// ScheduleAndMove schedules the interview of an application as Schedule does, and sets the status
// of the application to Interviewing, in one transaction.
func (s *Service) ScheduleAndMove(ctx context.Context, by auth.Actor, applicationID string, in AppointmentInput) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if _, err := s.Schedule(ctx, by, applicationID, in); err != nil {
			return err
		}

		return s.Decide(ctx, by, Decision{ID: applicationID, Status: string(Interviewing)})
	})
}

// cancelBatch is the maximum number of interviews that one transaction cancels.
const cancelBatch = 20

// OnOrganizationClosed cancels the upcoming interviews of the organization and notifies
// the applicants.
func (s *Service) OnOrganizationClosed(ctx context.Context, e event.OrganizationClosed) error {
	return tx.DoBatches(ctx, s.Tx, cancelBatch, func(ctx context.Context) (int, error) {
		return s.cancelUpcoming(ctx, e.OrganizationID)
	})
}

// cancelUpcoming cancels at most cancelBatch upcoming interviews of a closed organization and
// returns their number.
func (s *Service) cancelUpcoming(ctx context.Context, organizationID string) (int, error) {
	now := s.Clock.Now()
	upcomingOnly := AppointmentFilter{Status: Scheduled, ScheduledAfter: now}

	upcoming, err := s.Appointments.List(ctx, organizationID, upcomingOnly, page.After("", cancelBatch))
	if err != nil || len(upcoming.Items) == 0 {
		return 0, err
	}

	interviews := list.ToMap(upcoming.Items, func(a Appointment) (string, Appointment) { return a.ApplicationID, a })

	// Each scheduled interview has an application that is not withdrawn, because a withdrawal cancels
	// the interview. So every interview of the batch is cancelled below.
	applications, err := s.listReceived(ctx, organizationID, list.Map(upcoming.Items, interviewApplicationID))
	if err != nil {
		return 0, err
	}

	const noActor = "" // no member cancels these interviews

	var events []event.Event
	for _, application := range applications {
		interview := interviews[application.ID]
		interview.cancel(now)

		if err := s.Appointments.Upsert(ctx, interview); err != nil {
			return 0, err
		}

		events = append(events, interview.event(&application, event.InterviewCancelled, noActor))
	}

	return len(upcoming.Items), s.Events.Record(ctx, events...)
}
