package integrations

import (
	"slices"
	"time"

	"github.com/locumhq/locum/core/event"
)

// Announced is a kind of event that endpoints can subscribe to.
type Announced struct {
	Type string
	When string // what has happened, for people
	Body any    // an empty one of what receivers get, for the documentation
}

// Catalogue is all that endpoints can subscribe to.
func Catalogue() []Announced {
	return []Announced{
		{event.JobCreated{}.Type(), "A job becomes public for the first time", EventBody[JobData]{}},
		{event.JobUpdated{}.Type(), "A public job changes, or becomes public again", EventBody[JobData]{}},
		{event.JobClosed{}.Type(), "A job stops being public: closed, deleted, or past its deadline", EventBody[JobData]{}},
		{event.ApplicationSubmitted{}.Type(), "Somebody applies", EventBody[SubmittedData]{}},
		{event.ApplicationStatusChanged{}.Type(), "An application moves on, or back", EventBody[StatusChangedData]{}},
	}
}

// EventTypes are what endpoints can subscribe to, by name.
func EventTypes() (out []string) {
	for _, a := range Catalogue() {
		out = append(out, a.Type)
	}
	return slices.Clip(out)
}

// EventBody is what receivers get. What Data is follows from Type.
type EventBody[D any] struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp" sample:"2026-11-20T09:30:00Z" description:"When it happened. The order of deliveries is not promised: of two events about one thing, the later is true."`
	Data      D         `json:"data"`
}

// JobData tells of a listing.
type JobData struct {
	ID   string   `json:"id" sample:"01935d3c-9c1e-7c1a-8f6e-2b7addd42fdc" description:"The job's."`
	Job  *JobView `json:"job" description:"As the interface shows it; null where it is not to be shown any more, and where the body would be longer than 20 KB. Then whoever wants it reads it by its id."`
	Test bool     `json:"test,omitempty" const:"true" description:"There in test events alone, which tell of nothing that has happened."`
}

// SubmittedData tells of an application that was handed in.
type SubmittedData struct {
	ApplicationID string    `json:"application_id"`
	JobID         string    `json:"job_id"`
	CandidateID   string    `json:"candidate_id"`
	Status        string    `json:"status" sample:"pending"`
	SubmittedAt   time.Time `json:"submitted_at" sample:"2026-11-20T09:30:00Z"`
	Test          bool      `json:"test,omitempty" const:"true" description:"There in test events alone, which tell of nothing that has happened."`
}

// StatusChangedData tells of an application's new status.
type StatusChangedData struct {
	ApplicationID  string    `json:"application_id"`
	JobID          string    `json:"job_id"`
	Status         string    `json:"status" sample:"review"`
	PreviousStatus string    `json:"previous_status" sample:"pending"`
	ChangedAt      time.Time `json:"changed_at" sample:"2026-11-20T09:30:00Z"`
	Test           bool      `json:"test,omitempty" const:"true" description:"There in test events alone, which tell of nothing that has happened."`
}

// EventHeaders are what receivers get beside the body (Standard Webhooks), and the
// number of the attempt.
type EventHeaders struct {
	ID        string `header:"webhook-id" required:"true" validate:"uuid" description:"Names the event, and is the same at every attempt and replay: drop what comes twice."`
	Timestamp int64  `header:"webhook-timestamp" required:"true" description:"The moment of the attempt, in seconds since 1970. Refuse what is older than 5 minutes."`
	Signature string `header:"webhook-signature" required:"true" description:"'v1,' and the base64 of the HMAC-SHA256 of 'id.timestamp.body', by the secret; two of them, with a space between, while a secret changes."`
	Attempt   int    `header:"webhook-attempt" required:"true" validate:"min=1" description:"Counts the attempts. It is not signed."`
}

// AnswerWithin is how long a receiver may take to answer.
const AnswerWithin = 15 * time.Second
