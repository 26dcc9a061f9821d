package integrations

import (
	"context"
	"encoding/json"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/retention"
)

// Errors of webhooks.
var (
	ErrWebhookNotFound  = fault.New(fault.NotFound, "webhook_not_found", "Webhook not found")
	ErrDeliveryNotFound = fault.New(fault.NotFound, "delivery_not_found", "Delivery not found")
	ErrTooManyWebhooks  = fault.New(fault.Conflict, "too_many_webhooks", "An application has at most 20 webhooks; delete one that is not used")
	ErrWebhookInactive  = fault.New(fault.Conflict, "webhook_inactive", "The webhook is not active")
)

// Webhooks stores endpoints.
type Webhooks interface {
	// Upsert stores a new endpoint, whose Version is 0, or one that Get has returned in
	// the same transaction, and increments the version. If the stored version is
	// another one, it fails with tx.ErrStale. AppID, OwnerID and CreatedAt do not
	// change. An endpoint that is not active has no pending deliveries: Upsert fails
	// them.
	Upsert(ctx context.Context, e Endpoint) error
	// Get returns the endpoint of the owner, or ErrWebhookNotFound. Inside a
	// transaction the row is locked until its end.
	Get(ctx context.Context, ownerID, id string) (Endpoint, error)
	// List returns at most n endpoints of the owner that the filter selects, in the
	// order of their ids, beginning after the id given. It does not lock rows.
	List(ctx context.Context, ownerID string, f EndpointFilter, after string, n int) ([]Endpoint, error)
	// Delete deletes an endpoint with its deliveries, or fails with
	// ErrWebhookNotFound.
	Delete(ctx context.Context, ownerID, appID, id string) error
}

// EndpointFilter selects endpoints; the conditions that are not empty apply
// together.
type EndpointFilter struct {
	// AppID selects the endpoints of an application.
	AppID string
	// Event selects active endpoints that subscribe to the event type.
	Event string
	// UserIDs selects endpoints owned by one of the users, or whose application has the
	// consent of one of them.
	UserIDs []string
	// DueBefore selects active endpoints without ListeningUntil that have a pending
	// delivery which was due before the time.
	DueBefore time.Time
}

// ListenersKind is the retention of the endpoints of listeners, by ListeningUntil.
const ListenersKind retention.Kind = "integrations.listeners"

// Deliveries stores messages and their deliveries.
type Deliveries interface {
	// Enqueue stores messages, and pending deliveries by message and endpoint; existing
	// ones do not change. Deliveries to endpoints that do not exist or are not active
	// are left out. The endpoints are locked until the end of the transaction, so that
	// a worker that finds no more deliveries has seen the new ones.
	Enqueue(ctx context.Context, ms []Message, ds []Delivery) error
	// List returns a page of the deliveries to the endpoint, the newest first, with the
	// status unless it is empty.
	List(ctx context.Context, ownerID, endpointID string, status DeliveryStatus, r page.Request) (page.Result[Delivery], error)
	// ListMessages returns at most n deliveries to the endpoint with their messages.
	// Deliveries whose message is being deleted are left out.
	ListMessages(ctx context.Context, ownerID, endpointID string, f MessageFilter, n int) ([]Outgoing, error)
	// NextDue returns the earliest time at which a pending delivery to the endpoint is
	// or was due, or nil if there is none.
	NextDue(ctx context.Context, endpointID string) (*time.Time, error)
	// Replay makes the selected deliveries to the endpoint pending and due at the time,
	// with no tries, and returns their number, at most n.
	Replay(ctx context.Context, ownerID, endpointID string, f ReplayFilter, at time.Time, n int) (int, error)
	// RecordResults stores the results of attempts: Attempt, which counts the recorded
	// one, Tries, Status, Attempts, NextAt and FailedAt. Deliveries whose stored Attempt
	// is not one less were recorded since they were read, and do not change. Of
	// deliveries that were replayed since, unless they succeeded, only Attempt and
	// Attempts change. It returns the ids of the deliveries that were changed.
	RecordResults(ctx context.Context, endpointID string, ds []Delivery) ([]string, error)
	// DeleteByApplicant deletes the messages about the applicant's job applications
	// with their deliveries.
	DeleteByApplicant(ctx context.Context, userID string) error
}

// MessagesKind is the retention of messages, with their deliveries, by the time at
// which they were created.
const MessagesKind retention.Kind = "integrations.messages"

// MessageFilter selects deliveries.
type MessageFilter struct {
	// ID selects one delivery, whatever its status. Without it pending deliveries are
	// selected, ordered by NextAt and id.
	ID string
	// DueBy selects deliveries that are due at or before the time, if it is not zero.
	DueBy time.Time
}

// ReplayFilter selects deliveries.
type ReplayFilter struct {
	// ID selects one delivery, whatever its status.
	ID string
	// FailedSince selects, without an ID, deliveries that failed at or after the time,
	// the earliest first.
	FailedSince time.Time
}

// Outgoing is a delivery with its message.
type Outgoing struct {
	Delivery
	Message Message
}

// Sender sends webhooks.
type Sender interface {
	// Post sends the body and returns within 15 s. Failures are part of the answer.
	Post(ctx context.Context, p Post) Answer
}

// Post is a request to a receiver.
type Post struct {
	URL     string
	Headers map[string]string
	Body    string
}

// Answer is the result of a request.
type Answer struct {
	// Status is the HTTP status, 0 without a response.
	Status int
	// Body is the beginning of the response body.
	Body string
	// RetryAfter is the delay that the receiver asks for, 0 without one.
	RetryAfter time.Duration
	// Error is the class of the failure, empty for none. It never contains an address.
	Error string
	Took  time.Duration
}

// Postings represents listings.
type Postings interface {
	// View returns the listing in an event (event.JobCreated) as the developer API
	// shows it.
	View(ctx context.Context, listing json.RawMessage) (JobView, error)
}
