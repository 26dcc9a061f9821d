// Package event defines domain events and the transactional outbox. A service records an
// event in the same transaction as the change that the event describes. The relay reads
// recorded events from the outbox and creates a task for each subscriber.
package event

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/locumhq/locum/core/retention"
)

// Event is a domain event: a flat struct of ids, values and timestamps. Its subject is the object that
// has changed, such as a listing. A subscriber that needs more data, or the current state, reads the
// row of the subject.
type Event interface {
	// Type is the name under which the event is stored and delivered.
	Type() string
	// Subject is the id of the object that changed.
	Subject() string
}

// Recorder writes events into the outbox.
type Recorder interface {
	// Record stores the events in the transaction of ctx (tx.Runner.Do), so that they are
	// stored if and only if the change is. It returns an error, and stores nothing, if ctx
	// has no transaction.
	Record(ctx context.Context, events ...Event) error
}

// Envelope is a stored event.
type Envelope struct {
	ID         string          `json:"id"` // UUIDv7; also the delivery id by which receivers detect duplicates
	Type       string          `json:"type"`
	Subject    string          `json:"subject"`
	Payload    json.RawMessage `json:"payload"` // the event struct
	RecordedAt time.Time       `json:"recorded_at"`
	Attempt    int             `json:"attempt"` // 1 at the first claim
	Trace      string          `json:"trace"`   // W3C traceparent of the request that caused it, or empty
}

// Sent is the retention kind of relayed events; their time is the time of MarkSent.
const Sent retention.Kind = "events.sent"

// Outbox reads the table that a Recorder writes.
type Outbox interface {
	// Claim leases at most n unsent events to the caller, the oldest first. No other claim
	// returns a leased event until its lease has ended. Concurrent claims return different
	// events and do not wait for each other.
	//
	// Claim skips an event if another caller has leased an earlier event of the same
	// subject, so that the events of a subject are relayed in the order in which they were
	// recorded. Two simultaneous claims may still break this order.
	Claim(ctx context.Context, n int, lease time.Duration) ([]Envelope, error)
	// MarkSent marks the events as sent. Unknown ids are ignored.
	MarkSent(ctx context.Context, ids ...string) error
	// Notifications returns a channel that receives a value after each commit that has
	// recorded events or added tasks, until ctx is done. A value may be lost, so callers
	// also have to poll.
	Notifications(ctx context.Context) <-chan struct{}
	// Lag returns the number of unsent events, counted up to 100,000, and the time at
	// which the oldest was recorded (zero if there is none).
	Lag(ctx context.Context) (n int, oldest time.Time, err error)
}

// Decode decodes the envelope's payload as T.
func Decode[T Event](e Envelope) (T, error) {
	var event T
	if err := json.Unmarshal(e.Payload, &event); err != nil {
		return event, fmt.Errorf("event %s (%s): %w", e.ID, e.Type, err)
	}

	return event, nil
}

// The events.
type (
	// JobCreated is recorded when a listing becomes public for the first time. Listing is
	// the state after the change as module listings encodes it, without private fields and
	// the name of the organization; nil if it is too large for a webhook.
	JobCreated struct {
		JobID          string          `json:"job_id"`
		OrganizationID string          `json:"organization_id"`
		Listing        json.RawMessage `json:"listing,omitempty"`
	}
	// JobUpdated is recorded when a public field of a public listing changes, or a
	// listing becomes public again.
	JobUpdated JobCreated
	// JobClosed is recorded when a listing stops being public.
	JobClosed JobCreated
	// JobModerated is recorded when a moderator takes a listing down or shows it again.
	JobModerated struct {
		JobID          string `json:"job_id"`
		OrganizationID string `json:"organization_id"`
		Decision       string `json:"decision"` // taken-down or kept
		Message        string `json:"message"`  // for the employer
		// Reverses is true if the decision reverses an earlier one, of which applicants
		// were notified. Public is true if the job is public after it.
		Reverses  bool      `json:"reverses"`
		Public    bool      `json:"public"`
		DecidedAt time.Time `json:"decided_at"`
	}
	// ApplicationSubmitted is recorded when a candidate applies.
	ApplicationSubmitted struct {
		ApplicationID  string    `json:"application_id"`
		JobID          string    `json:"job_id"`
		OrganizationID string    `json:"organization_id"`
		CandidateID    string    `json:"candidate_id"`
		Status         string    `json:"status"`
		SubmittedAt    time.Time `json:"submitted_at"`
	}
	// ApplicationStatusChanged is recorded when the status of an application changes.
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
	// UserRegistered is recorded when an account is created whose e-mail address is not
	// yet confirmed.
	UserRegistered struct {
		UserID string `json:"user_id"`
	}
	// VerificationRequested is recorded when another link to confirm the e-mail address of an
	// account is requested.
	VerificationRequested struct {
		UserID      string    `json:"user_id"`
		RequestedAt time.Time `json:"requested_at"`
	}
	// PasswordResetRequested is recorded when a link to reset the password of an account
	// is requested.
	PasswordResetRequested struct {
		UserID      string    `json:"user_id"`
		RequestedAt time.Time `json:"requested_at"`
	}
	// PasswordChanged is recorded when the password of an account changes.
	PasswordChanged struct {
		UserID    string    `json:"user_id"`
		ChangedAt time.Time `json:"changed_at"`
		// Programs describes what was revoked or paused together with the change.
		Programs []string `json:"programs,omitempty"`
		// SignedOutPrograms is true if access by programs was revoked.
		SignedOutPrograms bool `json:"signed_out_programs,omitempty"`
	}
	// ProgramsSignedOut is recorded when the access of programs to an account is revoked
	// because the account joins an organization and its e-mail address was never confirmed
	// before.
	ProgramsSignedOut struct {
		UserID      string    `json:"user_id"`
		Programs    []string  `json:"programs"`
		SignedOutAt time.Time `json:"signed_out_at"`
	}
	// SessionReuseDetected is recorded when a refresh token is used twice, which ends its
	// session.
	SessionReuseDetected struct {
		UserID    string `json:"user_id"`
		SessionID string `json:"session_id"`
	}
	// MemberInvited is recorded when an organization invites a user.
	MemberInvited struct {
		OrganizationID string    `json:"organization_id"`
		UserID         string    `json:"user_id"`
		InvitedAt      time.Time `json:"invited_at"`
	}
	// EmailChanged is recorded when the e-mail address of an account changes.
	EmailChanged struct {
		UserID    string    `json:"user_id"`
		ChangedAt time.Time `json:"changed_at"`
	}
	// EmailChangeRequested is recorded when a user requests a new e-mail address, which is
	// not yet confirmed.
	EmailChangeRequested struct {
		UserID      string    `json:"user_id"`
		RequestedAt time.Time `json:"requested_at"`
	}
	// SecondFactorChanged is recorded when a user's second factor is enabled, disabled,
	// or reset by an operator.
	SecondFactorChanged struct {
		UserID    string    `json:"user_id"`
		Change    string    `json:"change"` // the action in the audit log, such as second_factor.enabled
		ChangedAt time.Time `json:"changed_at"`
	}
	// AccountDeleted is recorded when an account is deleted. Subscribers delete the
	// personal data of the user and all references to the user. The event is recorded
	// again a minute later, for data that concurrent requests stored after the first event.
	AccountDeleted struct {
		UserID    string    `json:"user_id"`
		Kind      string    `json:"kind"` // jobseeker or employer
		DeletedAt time.Time `json:"deleted_at"`
	}
	// AppDeleted is recorded when a third-party application is deleted.
	AppDeleted struct {
		AppID     string    `json:"app_id"`
		DeletedAt time.Time `json:"deleted_at"`
	}
	// OrganizationRenamed is recorded when the name of an organization changes.
	OrganizationRenamed struct {
		OrganizationID string    `json:"organization_id"`
		RenamedAt      time.Time `json:"renamed_at"`
	}
	// OrganizationModerated is recorded when a moderator changes the standing of an
	// organization. It is also recorded, with the action hold, when the new name of an
	// organization resembles the name of a verified organization.
	OrganizationModerated struct {
		OrganizationID string    `json:"organization_id"`
		Action         string    `json:"action"`  // verify, unverify, release, suspend, restore or hold
		Message        string    `json:"message"` // for the admins
		ModeratedAt    time.Time `json:"moderated_at"`
	}
	// AccountModerated is recorded when a moderator suspends or restores an account.
	AccountModerated struct {
		UserID      string    `json:"user_id"`
		Action      string    `json:"action"`  // suspend or restore
		Message     string    `json:"message"` // for the user
		ModeratedAt time.Time `json:"moderated_at"`
	}
	// OrganizationClosed is recorded when the last member of an organization, an admin,
	// leaves.
	OrganizationClosed struct {
		OrganizationID string    `json:"organization_id"`
		ClosedAt       time.Time `json:"closed_at"`
	}
	// InterviewChanged is recorded when an interview is scheduled, moved or cancelled.
	// Its fields have the values after the change.
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
	// ApplicantContacted is recorded when an employer sends a message to an applicant.
	ApplicantContacted struct {
		MessageID      string    `json:"message_id"`
		ApplicationID  string    `json:"application_id"`
		JobID          string    `json:"job_id"`
		OrganizationID string    `json:"organization_id"`
		CandidateID    string    `json:"candidate_id"`
		SentAt         time.Time `json:"sent_at"`
	}
	// ExportFinished is recorded when an export is ready for download.
	ExportFinished struct {
		ExportID       string    `json:"export_id"`
		OrganizationID string    `json:"organization_id"`
		UserID         string    `json:"user_id"`
		FinishedAt     time.Time `json:"finished_at"`
	}
	// SubscriptionChanged is recorded when a paid plan begins, continues or ends, or its
	// payment fails. Its fields have the values after the change.
	SubscriptionChanged struct {
		OwnerKind string     `json:"owner_kind"` // user or application
		OwnerID   string     `json:"owner_id"`
		Change    string     `json:"change"` // one of the constants below
		Plan      string     `json:"plan"`
		Status    string     `json:"status"`
		ExpiresAt *time.Time `json:"expires_at"`
		// NextAt is the time of the next attempt at a payment, or of the end of the plan.
		NextAt    *time.Time `json:"next_at"`
		ChangedAt time.Time  `json:"changed_at"`
	}
)

// Changes of a subscription.
const (
	SubscriptionStarted       = "started"
	SubscriptionUpgraded      = "upgraded"
	SubscriptionDowngraded    = "downgraded" // to a cheaper plan, with credit for the rest of the period
	SubscriptionRenewed       = "renewed"
	SubscriptionPaymentFailed = "payment-failed"
	SubscriptionCancelled     = "cancelled" // will not be renewed; see modules/billing
	SubscriptionResumed       = "resumed"   // the cancellation was revoked
	SubscriptionEnded         = "ended"
	SubscriptionLapsed        = "lapsed" // ended because the payment failed
	SubscriptionMethodChanged = "payment-method-changed"
	SubscriptionRefused       = "payment-refused"     // for the plan in Plan, which was not bought
	SubscriptionUnconfirmed   = "payment-unconfirmed" // a renewal needs a confirmation by the payer
)

// Changes of an interview.
const (
	InterviewScheduled = "scheduled"
	InterviewMoved     = "moved"
	InterviewCancelled = "cancelled"
)

// Type implements Event.
func (JobCreated) Type() string               { return "job.created" }
func (JobUpdated) Type() string               { return "job.updated" }
func (JobClosed) Type() string                { return "job.closed" }
func (JobModerated) Type() string             { return "job.moderated" }
func (ApplicationSubmitted) Type() string     { return "application.submitted" }
func (ApplicationStatusChanged) Type() string { return "application.status_changed" }
func (UserRegistered) Type() string           { return "user.registered" }
func (VerificationRequested) Type() string    { return "user.verification_requested" }
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
func (OrganizationModerated) Type() string    { return "organization.moderated" }
func (AccountModerated) Type() string         { return "user.moderated" }
func (OrganizationClosed) Type() string       { return "organization.closed" }
func (InterviewChanged) Type() string         { return "interview.changed" }
func (ApplicantContacted) Type() string       { return "applicant.contacted" }
func (ExportFinished) Type() string           { return "export.finished" }
func (SubscriptionChanged) Type() string      { return "subscription.changed" }

// Subject implements Event.
func (e JobCreated) Subject() string               { return e.JobID }
func (e JobUpdated) Subject() string               { return e.JobID }
func (e JobClosed) Subject() string                { return e.JobID }
func (e JobModerated) Subject() string             { return e.JobID }
func (e ApplicationSubmitted) Subject() string     { return e.ApplicationID }
func (e ApplicationStatusChanged) Subject() string { return e.ApplicationID }
func (e UserRegistered) Subject() string           { return e.UserID }
func (e VerificationRequested) Subject() string    { return e.UserID }
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
func (e OrganizationModerated) Subject() string    { return e.OrganizationID }
func (e AccountModerated) Subject() string         { return e.UserID }
func (e OrganizationClosed) Subject() string       { return e.OrganizationID }
func (e InterviewChanged) Subject() string         { return e.ApplicationID }
func (e ApplicantContacted) Subject() string       { return e.ApplicationID }
func (e ExportFinished) Subject() string           { return e.ExportID }
func (e SubscriptionChanged) Subject() string      { return e.OwnerID }
