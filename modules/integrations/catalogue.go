package integrations

import (
	"time"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/list"
)

// EventDescription documents an event type that endpoints can subscribe to.
type EventDescription struct {
	Type string
	When string // when the event is sent
	Body any    // an EventBody without values, for its structure
}

// Catalogue returns the event types that endpoints can subscribe to.
func Catalogue() []EventDescription {
	return []EventDescription{
		{event.JobCreated{}.Type(), "A job becomes public for the first time", EventBody[JobData]{}},
		{event.JobUpdated{}.Type(), "A public job changes, or becomes public again", EventBody[JobData]{}},
		{event.JobClosed{}.Type(), "A job stops being public: closed, deleted, or past its deadline", EventBody[JobData]{}},
		{event.ApplicationSubmitted{}.Type(), "Somebody applies", EventBody[SubmittedData]{}},
		{event.ApplicationStatusChanged{}.Type(), "An application moves on, or back", EventBody[StatusChangedData]{}},
	}
}

// EventTypes returns the names of the event types.
func EventTypes() []string {
	return list.Map(Catalogue(), func(d EventDescription) string { return d.Type })
}

// EventBody is the body of a webhook request. Type determines the type of Data.
type EventBody[D any] struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp" sample:"2026-11-20T09:30:00Z"`
	Data      D         `json:"data"`
}

// JobData describes a listing. Job is null if the listing is too large for a webhook.
type JobData struct {
	ID   string   `json:"id" sample:"01935d3c-9c1e-7c1a-8f6e-2b7addd42fdc"`
	Job  *JobView `json:"job"`
	Test bool     `json:"test,omitempty" const:"true"`
}

// SubmittedData describes a job application that was submitted.
type SubmittedData struct {
	ApplicationID string    `json:"application_id"`
	JobID         string    `json:"job_id"`
	CandidateID   string    `json:"candidate_id"`
	Status        string    `json:"status" sample:"pending"`
	SubmittedAt   time.Time `json:"submitted_at" sample:"2026-11-20T09:30:00Z"`
	Test          bool      `json:"test,omitempty" const:"true"`
}

// StatusChangedData describes the new status of a job application.
type StatusChangedData struct {
	ApplicationID  string    `json:"application_id"`
	JobID          string    `json:"job_id"`
	Status         string    `json:"status" sample:"review"`
	PreviousStatus string    `json:"previous_status" sample:"pending"`
	ChangedAt      time.Time `json:"changed_at" sample:"2026-11-20T09:30:00Z"`
	Test           bool      `json:"test,omitempty" const:"true"`
}

// EventHeaders are the headers of a webhook request: the headers of Standard Webhooks, and the
// number of the attempt.
type EventHeaders struct {
	ID        string `header:"webhook-id" required:"true" validate:"uuid"`
	Timestamp int64  `header:"webhook-timestamp" required:"true"`
	Signature string `header:"webhook-signature" required:"true"`
	Attempt   int    `header:"webhook-attempt" required:"true" validate:"min=1"`
}

// AnswerWithin is the time limit for responses of receivers.
const AnswerWithin = 15 * time.Second
