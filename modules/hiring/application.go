package hiring

import (
	"slices"
	"time"

	"github.com/locumhq/locum/core/event"
)

// Status is the status of an application, which the applicant and the employer see.
type Status string

// The statuses.
const (
	Pending      Status = "pending"
	Review       Status = "review"
	Interviewing Status = "interview"
	Accepted     Status = "accepted"
	Rejected     Status = "rejected"
	Withdrawn    Status = "withdrawn"
)

// Statuses are all statuses.
var Statuses = []Status{Pending, Review, Interviewing, Accepted, Rejected, Withdrawn}

// TrackerStatuses are the values of Application.Tracker.
var TrackerStatuses = []Status{Pending, "in-progress", "completed", Rejected}

// Application is one person's application to one listing.
type Application struct {
	ID             string
	ListingID      string
	OrganizationID string // of the listing
	ApplicantID    string
	Status         Status
	// Tracker is a private status that the applicant has set, or empty. The employer does not see it.
	// It is cleared when Status changes.
	Tracker Status
	// TrackerColor contains CSS classes with which the applicant's client shows Tracker.
	TrackerColor string
	CoverLetter  string
	// ResumeURL is the URL of the applicant's CV, or empty. The service does not request it.
	ResumeURL string
	Answers   []Answer
	AppliedAt time.Time
	ChangedAt time.Time // when Status changed
	// WithdrawnAt is the time at which the applicant withdrew, or nil. An employer who sets
	// Status to Withdrawn does not set it.
	WithdrawnAt *time.Time
}

// Answer answers one of the listing's questions.
type Answer struct {
	QuestionID string `json:"question_id"`
	Answer     string `json:"answer"`
}

// ActorKind is the side that has made a change.
type ActorKind string

// The kinds of actors.
const (
	ByApplicant ActorKind = "jobseeker"
	ByEmployer  ActorKind = "employer"
)

// Change is one entry of an application's timeline.
type Change struct {
	ID            string
	ApplicationID string
	Actor         ActorKind
	ActorID       string
	From          Status // empty for the submission
	To            Status
	At            time.Time
}

// ApplicantStatus returns the status that the applicant sees: the tracker if there is one.
func (a *Application) ApplicantStatus() Status {
	if a.Tracker != "" {
		return a.Tracker
	}

	return a.Status
}

// submission returns the first entry of the timeline. It is not stored but derived from the
// application.
func (a *Application) submission() Change {
	return Change{ID: a.ID, ApplicationID: a.ID, Actor: ByApplicant, ActorID: a.ApplicantID, To: Pending, At: a.AppliedAt}
}

// Decide sets the status on behalf of the employer and reports whether it has changed. It returns
// ErrInvalidStatus if there is no such status, or if the applicant has withdrawn the application.
func (a *Application) Decide(to Status, now time.Time) (hasChanged bool, err error) {
	if !slices.Contains(Statuses, to) {
		return false, ErrInvalidStatus
	}

	if a.WithdrawnAt != nil {
		return false, errWithdrawnByApplicant
	}

	if a.Status == to {
		return false, nil
	}

	a.setStatus(to, now)

	return true, nil
}

// Withdraw withdraws the application for good on behalf of the applicant. It reports whether
// Status has changed: the employer may have set it to Withdrawn before.
func (a *Application) Withdraw(now time.Time) (hasChanged bool) {
	a.WithdrawnAt = &now
	if a.Status == Withdrawn {
		return false
	}

	a.setStatus(Withdrawn, now)

	return true
}

// Abandon withdraws the application of an applicant whose account was deleted. An accepted or
// rejected application keeps its status. Abandon reports whether Status has changed.
func (a *Application) Abandon(now time.Time) (hasChanged bool) {
	isDecided := a.Status == Accepted || a.Status == Rejected
	if isDecided {
		a.WithdrawnAt, a.Tracker = &now, ""
		return false
	}

	return a.Withdraw(now)
}

// setStatus sets Status and clears Tracker.
func (a *Application) setStatus(to Status, now time.Time) {
	a.Status = to
	a.ChangedAt = now
	a.Tracker = ""
}

// event returns the event about the change of the application.
func (c Change) event(a *Application) event.ApplicationStatusChanged {
	return event.ApplicationStatusChanged{
		ApplicationID:  a.ID,
		JobID:          a.ListingID,
		OrganizationID: a.OrganizationID,
		CandidateID:    a.ApplicantID,
		Status:         string(c.To),
		PreviousStatus: string(c.From),
		ChangedAt:      c.At,
		ActorID:        c.ActorID,
	}
}
