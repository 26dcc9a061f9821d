package hiring

import (
	"strings"
	"time"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
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

// Outcomes are all results of interviews.
var Outcomes = []Outcome{Pass, Fail, Undecided}

// interviewLasts is the duration in calendar invitations.
const interviewLasts = time.Hour

// Appointment is the interview of an application, which has at most one.
type Appointment struct {
	ID             string
	ApplicationID  string
	OrganizationID string
	ScheduledAt    time.Time
	Location       string
	Interviewer    string
	Notes          string // the employer's own
	Status         InterviewStatus
	Outcome        Outcome
	// Sequence is the revision that the applicant was notified of; 0 is the first
	// invitation (RFC 5545 §3.8.7.4).
	Sequence  int
	CreatedAt time.Time
	ChangedAt time.Time
}

// AppointmentInput changes an interview. Fields that are nil keep their value.
type AppointmentInput struct {
	ScheduledAt *string          `json:"scheduledAt"`
	Location    *string          `json:"location" validate:"omitempty,notblank,max=500"`
	Interviewer *string          `json:"interviewer" validate:"omitempty,notblank,max=200"`
	Notes       *string          `json:"notes" validate:"omitempty,max=5000"`
	Status      *InterviewStatus `json:"status" validate:"omitempty,oneof=scheduled completed cancelled"`
	Outcome     *Outcome         `json:"outcome" validate:"omitempty,oneof=pass fail pending"`
}

// time returns ScheduledAt, zero if it is nil.
func (in AppointmentInput) time() (time.Time, error) {
	if in.ScheduledAt == nil {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(*in.ScheduledAt))
	if err != nil || at.Year() < 1900 || at.Year() > 9000 {
		return time.Time{}, fault.InvalidField("scheduledAt", "must be an RFC 3339 date-time with offset (2027-03-28T09:30:00Z or 2027-03-28T10:30:00+01:00)")
	}
	return at.UTC().Truncate(time.Microsecond), nil
}

// Problems returns the error of ScheduledAt.
func (in AppointmentInput) Problems() []fault.Field {
	if _, err := in.time(); err != nil {
		return fault.Of(err).Fields
	}
	return nil
}

// notice returns the kind of change that the applicant is notified of, or "" if nothing
// has changed for the applicant.
func (a *Appointment) notice(before *Appointment) string {
	wasScheduled := before != nil && before.Status == Scheduled
	switch {
	case a.Status == Scheduled && !wasScheduled:
		return event.InterviewScheduled
	case a.Status == Scheduled && (!a.ScheduledAt.Equal(before.ScheduledAt) || a.Location != before.Location || a.Interviewer != before.Interviewer):
		return event.InterviewMoved
	case a.Status == Cancelled && wasScheduled:
		return event.InterviewCancelled
	}
	return ""
}

// cancel cancels the interview.
func (a *Appointment) cancel(now time.Time) {
	a.Status, a.ChangedAt = Cancelled, now
	a.Sequence++
}

func (a *Appointment) event(of *Application, change, actorID string) event.InterviewChanged {
	return event.InterviewChanged{
		InterviewID: a.ID, ApplicationID: of.ID, JobID: of.ListingID, OrganizationID: of.OrganizationID, CandidateID: of.ApplicantID,
		Change: change, Sequence: a.Sequence, ScheduledAt: a.ScheduledAt, Location: a.Location, Interviewer: a.Interviewer,
		ChangedAt: a.ChangedAt, ActorID: actorID,
	}
}

// Message is a message of an employer to an applicant.
type Message struct {
	ID             string
	ApplicationID  string
	OrganizationID string
	SenderID       string
	Subject        string
	Text           string
	SentAt         time.Time
}
