package hiring

import (
	"slices"
	"time"

	"github.com/locumhq/locum/core/event"
)

// Status is where an application stands, for both sides.
type Status string

// The statuses.
const (
	Pending   Status = "pending"
	Review    Status = "review"
	Interview Status = "interview"
	Accepted  Status = "accepted"
	Rejected  Status = "rejected"
	Withdrawn Status = "withdrawn"
)

// Statuses are all of them.
var Statuses = []Status{Pending, Review, Interview, Accepted, Rejected, Withdrawn}

// TrackerStatuses are what an applicant may note for themselves.
var TrackerStatuses = []Status{Pending, "in-progress", "completed", Rejected}

// Application is one person's application to one listing.
type Application struct {
	ID             string
	ListingID      string
	OrganizationID string // of the listing
	ApplicantID    string
	Status         Status
	// Tracker is the applicant's own note, empty when they made none since
	// Status last changed. TrackerColor is how they wish to see it (CSS classes).
	Tracker      Status
	TrackerColor string
	CoverLetter  string
	// ResumeURL is where the applicant says that their CV is, or empty. It is
	// shown and never fetched.
	ResumeURL   string
	Answers     []Answer
	AppliedAt   time.Time
	ChangedAt   time.Time  // of Status
	WithdrawnAt *time.Time // by the applicant, nil otherwise
}

// Answer answers one of the listing's questions.
type Answer struct {
	QuestionID string `json:"question_id"`
	Answer     string `json:"answer"`
}

// ActorKind is the side that somebody acted for.
type ActorKind string

// The sides.
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

// Shown is the status that the applicant sees.
func (a *Application) Shown() Status {
	if a.Tracker != "" {
		return a.Tracker
	}
	return a.Status
}

// submission is the timeline's first entry, which the row itself tells.
func (a *Application) submission() Change {
	return Change{ID: a.ID, ApplicationID: a.ID, Actor: ByApplicant, ActorID: a.ApplicantID, To: Pending, At: a.AppliedAt}
}

// Decide sets the status on the employer's behalf. False if it is that already.
func (a *Application) Decide(to Status, now time.Time) (bool, error) {
	if !slices.Contains(Statuses, to) {
		return false, ErrInvalidStatus
	}
	if a.WithdrawnAt != nil {
		return false, errWithdrawnByApplicant
	}
	if a.Status == to {
		return false, nil
	}
	a.move(to, now)
	return true, nil
}

// Withdraw takes the application back on the applicant's behalf, for good.
// False if the employer had set it to withdrawn: then nothing changes in the
// status that both see.
func (a *Application) Withdraw(now time.Time) bool {
	a.WithdrawnAt = &now
	if a.Status == Withdrawn {
		return false
	}
	a.move(Withdrawn, now)
	return true
}

// Abandon is Withdraw for an applicant whose account is no more: what the
// employer has decided stays decided, and can be changed no more either. True if
// the status that both sides know has changed.
func (a *Application) Abandon(now time.Time) bool {
	if a.Status == Accepted || a.Status == Rejected {
		a.WithdrawnAt, a.Tracker = &now, ""
		return false
	}
	return a.Withdraw(now)
}

// move makes the employer's status the one that changed last.
func (a *Application) move(to Status, now time.Time) {
	a.Status, a.ChangedAt, a.Tracker = to, now, ""
}

// Track notes the applicant's own status.
func (a *Application) Track(status Status) error {
	if !slices.Contains(TrackerStatuses, status) {
		return errTracker
	}
	a.Tracker = status
	return nil
}

func (c Change) event(a *Application) event.ApplicationStatusChanged {
	return event.ApplicationStatusChanged{
		ApplicationID: a.ID, JobID: a.ListingID, OrganizationID: a.OrganizationID, CandidateID: a.ApplicantID,
		Status: string(c.To), PreviousStatus: string(c.From), ChangedAt: c.At, ActorID: c.ActorID,
	}
}
