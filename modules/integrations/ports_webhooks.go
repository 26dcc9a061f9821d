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
	ErrTooManyWebhooks  = fault.New(fault.Conflict, "too_many_webhooks",
		"An application has at most 20 webhooks; delete one that is not used")
	ErrWebhookInactive = fault.New(fault.Conflict, "webhook_inactive", "The webhook is not active")
)

// Webhooks stores endpoints.
type Webhooks interface {
	// Upsert stores an endpoint and increments its version. The endpoint is new, with
	// version 0, or Get has returned it in the same transaction. Upsert fails with
	// tx.ErrStale if the stored version differs. It does not change AppID, OwnerID and
	// CreatedAt of a stored endpoint. If the endpoint is not active, Upsert marks its pending
	// deliveries as failed.
	Upsert(ctx context.Context, e Endpoint) error
	// Get returns the endpoint of the owner, or ErrWebhookNotFound. Inside a transaction,
	// the row is locked until the transaction ends.
	Get(ctx context.Context, ownerID, id string) (Endpoint, error)
	// List returns at most n endpoints of the owner that match the filter, in the order of
	// their ids. It begins after the endpoint with the id after. It does not lock rows.
	List(ctx context.Context, ownerID string, f EndpointFilter, after string, n int) ([]Endpoint, error)
	// Delete deletes an endpoint with its deliveries, or fails with
	// ErrWebhookNotFound.
	Delete(ctx context.Context, ownerID, appID, id string) error
}

// EndpointFilter selects endpoints that match all of its fields. A zero field matches every
// endpoint.
type EndpointFilter struct {
	// AppID matches the endpoints of an application.
	AppID string
	// Event matches active endpoints that subscribe to the event type.
	Event string
	// UserIDs matches endpoints whose owner is one of the users, or whose application has
	// the consent of one of the users.
	UserIDs []string
	// DueBefore matches active endpoints with a pending delivery that was due before this
	// time. It does not match the endpoints of listeners.
	DueBefore time.Time
}

// ListenersKind is the retention kind of the endpoints of listeners; their time is
// ListeningUntil.
const ListenersKind retention.Kind = "integrations.listeners"

// Deliveries stores messages and their deliveries.
type Deliveries interface {
	// Enqueue stores messages and their pending deliveries. It ignores messages that exist,
	// a second delivery of a message to an endpoint, and deliveries to endpoints that do not
	// exist or are not active. The endpoints are locked until the transaction ends. A worker
	// that takes the same lock and finds no due delivery has therefore missed none.
	Enqueue(ctx context.Context, messages []Message, deliveries []Delivery) error
	// List returns a page of the deliveries to the endpoint, the newest first. If the status
	// is not empty, it returns only deliveries with that status.
	List(ctx context.Context, ownerID, endpointID string, status DeliveryStatus, r page.Request) (page.Result[Delivery], error)
	// ListMessages returns at most n deliveries to the endpoint with their messages. It omits
	// deliveries whose message is being deleted.
	ListMessages(ctx context.Context, ownerID, endpointID string, f MessageFilter, n int) ([]Outgoing, error)
	// NextDue returns the earliest NextAt of the pending deliveries to the endpoint, which
	// may be in the past. It returns nil if there is no pending delivery.
	NextDue(ctx context.Context, endpointID string) (*time.Time, error)
	// Replay makes at most n deliveries to the endpoint pending, due at the given time, and
	// without tries. It returns their number.
	Replay(ctx context.Context, ownerID, endpointID string, f ReplayFilter, at time.Time, n int) (int, error)
	// RecordResults stores the results of attempts: Attempt, Tries, Status, Attempts, NextAt
	// and FailedAt. It returns the ids of the deliveries that it has changed.
	//
	// Attempt of the given deliveries includes the attempt to record. If the stored Attempt
	// is not one less, another caller has recorded a result, and the delivery is not changed.
	// If a delivery was replayed during the attempt and the attempt has failed, only Attempt
	// and Attempts are stored, so that the delivery remains due.
	RecordResults(ctx context.Context, endpointID string, deliveries []Delivery) ([]string, error)
	// DeleteByApplicant deletes the messages about the applicant's job applications
	// with their deliveries.
	DeleteByApplicant(ctx context.Context, userID string) error
}

// MessagesKind is the retention kind of messages with their deliveries; their time is the
// creation of the message.
const MessagesKind retention.Kind = "integrations.messages"

// MessageFilter selects deliveries for ListMessages.
type MessageFilter struct {
	// ID selects one delivery, whatever its status. If it is empty, pending deliveries are
	// selected, ordered by NextAt and id.
	ID string
	// DueBy selects deliveries that are due at this time or earlier, unless it is zero.
	DueBy time.Time
}

// ReplayFilter selects deliveries for Replay.
type ReplayFilter struct {
	// ID selects one delivery, whatever its status.
	ID string
	// FailedSince is used if ID is empty. It selects deliveries that failed at this time or
	// later, the earliest first.
	FailedSince time.Time
}

// Outgoing is a delivery with its message.
type Outgoing struct {
	Delivery
	Message Message
}

// Sender sends webhooks.
type Sender interface {
	// Post sends the body and returns within 15 s. A failure is reported in the answer.
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
	// RetryAfter is the delay that the receiver requests with Retry-After, or 0.
	RetryAfter time.Duration
	// Error is the class of the failure, empty for none. It never contains an address.
	Error string
	Took  time.Duration // the duration of the request
}

// Postings renders listings for the developer API.
type Postings interface {
	// View returns the listing of an event (event.JobCreated) in the form of the developer
	// API.
	View(ctx context.Context, listing json.RawMessage) (JobView, error)
}
