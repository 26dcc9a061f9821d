// Package event is what happened in the service, told to whoever should hear
// of it: the catalogue of events, the port that records them in the
// transaction of the change, and the relay that carries them on.
package event

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/locumhq/locum/core/retention"
)

// Event is one entry of the catalogue: a flat struct of ids, values and
// moments. What needs more reads the row, which is the truth.
type Event interface {
	// Type is the name under which the event is stored and delivered.
	Type() string
	// Subject is the id of the aggregate that changed.
	Subject() string
}

// Recorder writes events into the outbox.
type Recorder interface {
	// Record stores the events in the transaction of ctx (tx.Runner.Do), so
	// that they exist exactly if the change that they tell of does. Without a
	// transaction in ctx it is an error and nothing is stored.
	Record(ctx context.Context, events ...Event) error
}

// Envelope is a stored event.
type Envelope struct {
	ID         string          `json:"id"` // UUIDv7; also the delivery id that receivers drop doubles by
	Type       string          `json:"type"`
	Subject    string          `json:"subject"`
	Payload    json.RawMessage `json:"payload"` // the event struct
	RecordedAt time.Time       `json:"recorded_at"`
	Attempt    int             `json:"attempt"` // 1 at the first claim
	Trace      string          `json:"trace"`   // W3C traceparent of the request that caused it, or empty
}

// Sent are events that have been passed on; their time is when that was.
const Sent retention.Kind = "events.sent"

// Outbox is the reading side of the recorder's table.
type Outbox interface {
	// Claim hands out at most n unsent events, oldest first, and keeps them
	// from every other claimer until the lease ends or they are marked sent.
	// Concurrent claimers get disjoint sets and do not wait for each other. An
	// event is not enqueued while an earlier one of its subject is under
	// somebody else's lease, so that each subject's events leave in the order in
	// which they were recorded; two claims in the same instant may break it.
	Claim(ctx context.Context, n int, lease time.Duration) ([]Envelope, error)
	// MarkSent ends the work on the events. Unknown ids are ignored.
	MarkSent(ctx context.Context, ids ...string) error
	// Notifications returns a channel that receives a value after commits that have
	// recorded events or added tasks, until ctx is done. A value may be lost, so that
	// readers also poll.
	Notifications(ctx context.Context) <-chan struct{}
	// Lag counts the unsent events, up to 100,000, and says when the oldest was
	// recorded (zero if there is none).
	Lag(ctx context.Context) (n int, oldest time.Time, err error)
}

// Decode reads the envelope's payload as T.
func Decode[T Event](e Envelope) (T, error) {
	var v T
	if err := json.Unmarshal(e.Payload, &v); err != nil {
		return v, fmt.Errorf("event %s (%s): %w", e.ID, e.Type, err)
	}
	return v, nil
}

// The catalogue.
type (
	// JobCreated tells that a listing became public for the first time.
	JobCreated struct {
		JobID          string `json:"job_id"`
		OrganizationID string `json:"organization_id"`
	}
	// JobUpdated tells that a public field of a public listing changed, or
	// that a listing became public again.
	JobUpdated struct {
		JobID          string `json:"job_id"`
		OrganizationID string `json:"organization_id"`
	}
	// JobClosed tells that a listing stopped being public.
	JobClosed struct {
		JobID          string `json:"job_id"`
		OrganizationID string `json:"organization_id"`
	}
	// ApplicationSubmitted tells that a candidate applied.
	ApplicationSubmitted struct {
		ApplicationID  string    `json:"application_id"`
		JobID          string    `json:"job_id"`
		OrganizationID string    `json:"organization_id"`
		CandidateID    string    `json:"candidate_id"`
		Status         string    `json:"status"`
		SubmittedAt    time.Time `json:"submitted_at"`
	}
	// ApplicationStatusChanged tells that the status that both sides see changed.
	ApplicationStatusChanged struct {
		ApplicationID  string    `json:"application_id"`
		JobID          string    `json:"job_id"`
		OrganizationID string    `json:"organization_id"`
		CandidateID    string    `json:"candidate_id"`
		Status         string    `json:"status"`
		PreviousStatus string    `json:"previous_status"`
		ChangedAt      time.Time `json:"changed_at"`
		ActorID        string    `json:"actor_id"`
	}
	// UserRegistered tells that an account was made whose address is not yet confirmed.
	UserRegistered struct {
		UserID string `json:"user_id"`
	}
	// PasswordResetRequested is recorded when the owner of an account is to get a
	// link that resets the password.
	PasswordResetRequested struct {
		UserID      string    `json:"user_id"`
		RequestedAt time.Time `json:"requested_at"`
	}
	// PasswordChanged tells that the account has a new password.
	PasswordChanged struct {
		UserID    string    `json:"user_id"`
		ChangedAt time.Time `json:"changed_at"`
		// Programs describes what was revoked or paused with it.
		Programs []string `json:"programs,omitempty"`
		// SignedOutPrograms is true if access by programs ended with it.
		SignedOutPrograms bool `json:"signed_out_programs,omitempty"`
	}
	// ProgramsSignedOut is recorded when an account whose address had never been
	// confirmed joins an organization: what programs could do for it has ended.
	ProgramsSignedOut struct {
		UserID      string    `json:"user_id"`
		Programs    []string  `json:"programs"`
		SignedOutAt time.Time `json:"signed_out_at"`
	}
	// SessionReuseDetected tells that a spent refresh token came back and its session was ended.
	SessionReuseDetected struct {
		UserID    string `json:"user_id"`
		SessionID string `json:"session_id"`
	}
	// MemberInvited tells that an organization invited a person.
	MemberInvited struct {
		OrganizationID string    `json:"organization_id"`
		UserID         string    `json:"user_id"`
		InvitedAt      time.Time `json:"invited_at"`
	}
	// EmailChanged is recorded when the address of an account was changed.
	EmailChanged struct {
		UserID    string    `json:"user_id"`
		ChangedAt time.Time `json:"changed_at"`
	}
	// EmailChangeRequested tells that the owner of an account wants another
	// address, which is still to be confirmed.
	EmailChangeRequested struct {
		UserID      string    `json:"user_id"`
		RequestedAt time.Time `json:"requested_at"`
	}
	// SecondFactorChanged reports that a user's second factor was enabled, disabled,
	// or reset by an operator.
	SecondFactorChanged struct {
		UserID    string    `json:"user_id"`
		Change    string    `json:"change"`
		ChangedAt time.Time `json:"changed_at"`
	}
	// AccountDeleted tells that an account is no more: whoever keeps something
	// of that person forgets it, or who it was about. It comes twice, a minute
	// apart, for what was still being written when it came first.
	AccountDeleted struct {
		UserID    string    `json:"user_id"`
		Kind      string    `json:"kind"` // jobseeker or employer
		DeletedAt time.Time `json:"deleted_at"`
	}
	// AppDeleted tells that a third party's application is no more.
	AppDeleted struct {
		AppID     string    `json:"app_id"`
		DeletedAt time.Time `json:"deleted_at"`
	}
	// OrganizationRenamed tells that an organization has another name.
	OrganizationRenamed struct {
		OrganizationID string    `json:"organization_id"`
		RenamedAt      time.Time `json:"renamed_at"`
	}
	// OrganizationClosed tells that an organization's last admin has left and
	// nobody works for it any more.
	OrganizationClosed struct {
		OrganizationID string    `json:"organization_id"`
		ClosedAt       time.Time `json:"closed_at"`
	}
	// InterviewChanged tells that an interview was scheduled, moved or
	// cancelled, as it stood after that.
	InterviewChanged struct {
		InterviewID    string    `json:"interview_id"`
		ApplicationID  string    `json:"application_id"`
		JobID          string    `json:"job_id"`
		OrganizationID string    `json:"organization_id"`
		CandidateID    string    `json:"candidate_id"`
		Change         string    `json:"change"` // one of the constants below
		Sequence       int       `json:"sequence"`
		ScheduledAt    time.Time `json:"scheduled_at"`
		Location       string    `json:"location"`
		Interviewer    string    `json:"interviewer"`
		ChangedAt      time.Time `json:"changed_at"`
		ActorID        string    `json:"actor_id"`
	}
	// ApplicantContacted tells that an employer wrote to an applicant.
	ApplicantContacted struct {
		MessageID      string    `json:"message_id"`
		ApplicationID  string    `json:"application_id"`
		JobID          string    `json:"job_id"`
		OrganizationID string    `json:"organization_id"`
		CandidateID    string    `json:"candidate_id"`
		SentAt         time.Time `json:"sent_at"`
	}
	// ExportFinished tells that an export can be downloaded.
	ExportFinished struct {
		ExportID       string    `json:"export_id"`
		OrganizationID string    `json:"organization_id"`
		UserID         string    `json:"user_id"`
		FinishedAt     time.Time `json:"finished_at"`
	}
	// SubscriptionChanged tells that a paid plan began, went on or ended, or that
	// its payment did not work, as it stood after that.
	SubscriptionChanged struct {
		OwnerKind string     `json:"owner_kind"` // user
		OwnerID   string     `json:"owner_id"`
		Change    string     `json:"change"` // one of the constants below
		Plan      string     `json:"plan"`
		Status    string     `json:"status"`
		ExpiresAt *time.Time `json:"expires_at"`
		// NextAt is when the next payment is tried or the plan ends.
		NextAt    *time.Time `json:"next_at"`
		ChangedAt time.Time  `json:"changed_at"`
	}
)

// What can happen to a subscription.
const (
	SubscriptionStarted       = "started"
	SubscriptionUpgraded      = "upgraded"
	SubscriptionDowngraded    = "downgraded" // to a plan that costs less, which what was paid goes towards
	SubscriptionRenewed       = "renewed"
	SubscriptionPaymentFailed = "payment-failed"
	SubscriptionCancelled     = "cancelled" // is not paid for again; see modules/billing
	SubscriptionResumed       = "resumed"   // was cancelled and goes on
	SubscriptionEnded         = "ended"
	SubscriptionLapsed        = "lapsed" // ended because it was not paid for
	SubscriptionMethodChanged = "payment-method-changed"
	SubscriptionRefused       = "payment-refused"     // of a plan that was to be bought, which is the one named
	SubscriptionUnconfirmed   = "payment-unconfirmed" // a renewal that the payer has to confirm
)

// What can happen to an interview.
const (
	InterviewScheduled = "scheduled"
	InterviewMoved     = "moved"
	InterviewCancelled = "cancelled"
)

// Type implements Event.
func (JobCreated) Type() string               { return "job.created" }
func (JobUpdated) Type() string               { return "job.updated" }
func (JobClosed) Type() string                { return "job.closed" }
func (ApplicationSubmitted) Type() string     { return "application.submitted" }
func (ApplicationStatusChanged) Type() string { return "application.status_changed" }
func (UserRegistered) Type() string           { return "user.registered" }
func (PasswordResetRequested) Type() string   { return "user.password_reset_requested" }
func (PasswordChanged) Type() string          { return "user.password_changed" }
func (ProgramsSignedOut) Type() string        { return "user.programs_signed_out" }
func (SessionReuseDetected) Type() string     { return "session.reuse_detected" }
func (MemberInvited) Type() string            { return "member.invited" }
func (EmailChanged) Type() string             { return "user.email_changed" }
func (EmailChangeRequested) Type() string     { return "user.email_change_requested" }
func (SecondFactorChanged) Type() string      { return "user.second_factor_changed" }
func (AccountDeleted) Type() string           { return "user.deleted" }
func (AppDeleted) Type() string               { return "app.deleted" }
func (OrganizationRenamed) Type() string      { return "organization.renamed" }
func (OrganizationClosed) Type() string       { return "organization.closed" }
func (InterviewChanged) Type() string         { return "interview.changed" }
func (ApplicantContacted) Type() string       { return "applicant.contacted" }
func (ExportFinished) Type() string           { return "export.finished" }
func (SubscriptionChanged) Type() string      { return "subscription.changed" }

// Subject implements Event.
func (e JobCreated) Subject() string               { return e.JobID }
func (e JobUpdated) Subject() string               { return e.JobID }
func (e JobClosed) Subject() string                { return e.JobID }
func (e ApplicationSubmitted) Subject() string     { return e.ApplicationID }
func (e ApplicationStatusChanged) Subject() string { return e.ApplicationID }
func (e UserRegistered) Subject() string           { return e.UserID }
func (e PasswordResetRequested) Subject() string   { return e.UserID }
func (e PasswordChanged) Subject() string          { return e.UserID }
func (e ProgramsSignedOut) Subject() string        { return e.UserID }
func (e SessionReuseDetected) Subject() string     { return e.SessionID }
func (e MemberInvited) Subject() string            { return e.UserID }
func (e EmailChanged) Subject() string             { return e.UserID }
func (e EmailChangeRequested) Subject() string     { return e.UserID }
func (e SecondFactorChanged) Subject() string      { return e.UserID }
func (e AccountDeleted) Subject() string           { return e.UserID }
func (e AppDeleted) Subject() string               { return e.AppID }
func (e OrganizationRenamed) Subject() string      { return e.OrganizationID }
func (e OrganizationClosed) Subject() string       { return e.OrganizationID }
func (e InterviewChanged) Subject() string         { return e.ApplicationID }
func (e ApplicantContacted) Subject() string       { return e.ApplicationID }
func (e ExportFinished) Subject() string           { return e.ExportID }
func (e SubscriptionChanged) Subject() string      { return e.OwnerID }
