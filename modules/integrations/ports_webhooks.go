package integrations

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
)

// The faults of webhooks.
var (
	ErrWebhookNotFound  = fault.New(fault.NotFound, "webhook_not_found", "Webhook not found")
	ErrDeliveryNotFound = fault.New(fault.NotFound, "delivery_not_found", "Delivery not found")
	ErrTooManyWebhooks  = fault.New(fault.Conflict, "too_many_webhooks", "An application has at most 20 webhooks; delete one that is not used")
	ErrWebhookInactive  = fault.New(fault.Conflict, "webhook_inactive", "The webhook is not active")
)

// Webhooks keeps endpoints and what is sent to them. Whoever names an owner gets
// and changes that owner's only.
type Webhooks interface {
	// Add stores a new endpoint.
	Add(ctx context.Context, e Endpoint) error
	// Find returns the endpoint, or ErrWebhookNotFound. Inside a transaction it
	// is locked until its end.
	Find(ctx context.Context, ownerID, appID, id string) (Endpoint, error)
	// List is the application's endpoints, the newest first, at most 20 (which is
	// all).
	List(ctx context.Context, ownerID, appID string) ([]Endpoint, error)
	// Save stores what Find or Lock has returned in the same transaction.
	Save(ctx context.Context, e Endpoint) error
	// Delete removes an endpoint with its deliveries, or is ErrWebhookNotFound.
	Delete(ctx context.Context, ownerID, appID, id string) error
	// Log lists deliveries to the endpoint, the newest first, those with the
	// status alone unless it is empty. Their bodies are left out.
	Log(ctx context.Context, ownerID, endpointID string, status DeliveryStatus, r page.Request) (page.Result[Delivery], error)
	// Sent is a delivery with its message, or ErrDeliveryNotFound.
	Sent(ctx context.Context, ownerID, endpointID, id string) (Outgoing, error)
	// Replay makes a delivery pending and due at the moment, as if it had not been
	// tried, and returns it, or is ErrDeliveryNotFound.
	Replay(ctx context.Context, ownerID, endpointID, id string, at time.Time) (Delivery, error)
	// ReplayFailed is Replay for at most n deliveries that failed at the moment since
	// or later, those first that did first. It says how many there were.
	ReplayFailed(ctx context.Context, ownerID, endpointID string, since, at time.Time, n int) (int, error)

	// What follows is for what the service does by itself, whosesoever it is.

	// Subscribed are at most n active endpoints that want events of the type, in
	// the order of their ids, which are after the one given.
	Subscribed(ctx context.Context, eventType, after string, n int) ([]Endpoint, error)
	// SubscribedNear is Subscribed for those alone that may have to do with
	// applications to the organization by the applicant: who owns them, or
	// consented to their application, is the applicant or works there. Who of
	// these may see what is judged elsewhere.
	SubscribedNear(ctx context.Context, eventType, organizationID, applicantID, after string, n int) ([]Endpoint, error)
	// Queue stores messages, unless they are there, and those of their deliveries
	// that are not there, by message and endpoint. It returns the endpoints that
	// somebody has to look at. The others have somebody who looks after them, or
	// something else that became due after the moment since, and whoever comes for
	// that finds this as well: until the end of the transaction nobody else can
	// Lock these endpoints, and so nobody can leave without having seen it.
	Queue(ctx context.Context, ms []Message, ds []Delivery, now, since time.Time) (alone []string, err error)
	// Listening has the endpoint of a listener last until the moment, or is
	// ErrWebhookNotFound, and EndListeners removes those that lasted until then.
	Listening(ctx context.Context, id string, until time.Time) error
	EndListeners(ctx context.Context, now time.Time) error
	// ByID is the endpoint, or ErrWebhookNotFound, and Lock is ByID, locked until the
	// end of the transaction.
	ByID(ctx context.Context, id string) (Endpoint, error)
	Lock(ctx context.Context, id string) (Endpoint, error)
	// Lease has somebody look after the endpoint alone until the moment, or, with
	// an empty name, nobody.
	Lease(ctx context.Context, id, holder string, until time.Time) error
	// Due are at most n of the endpoint's deliveries that are due, with their
	// messages: those that have been for longest, after the one given if there is
	// one. What is being forgotten at this moment is left out.
	Due(ctx context.Context, endpointID string, now time.Time, after *Delivery, n int) ([]Outgoing, error)
	// NextAt is when the first of what is pending for the endpoint is or was due,
	// nil if nothing is.
	NextAt(ctx context.Context, endpointID string) (*time.Time, error)
	// Settle stores what became of deliveries of the endpoint, with the number of
	// the attempt counted up by one, and returns the ids of those that had not been
	// settled since they were read. The others stay as they are. Of what was replayed
	// meanwhile and has not arrived, the attempt alone is noted.
	Settle(ctx context.Context, endpointID string, ds []Delivery) ([]string, error)
	// Abandon fails what is pending for the endpoint.
	Abandon(ctx context.Context, endpointID string, now time.Time) error
	// Overdue are at most n endpoints, in the order of their ids, after the one
	// given, with something that should have been attempted before the moment, and
	// which nobody looks after now. The endpoints of listeners are not among them.
	Overdue(ctx context.Context, now, before time.Time, after string, n int) ([]string, error)
	// Forget removes at most n messages that were made before the moment, with
	// their deliveries, and ForgetApplicant those about somebody's applications.
	Forget(ctx context.Context, before time.Time, n int) (int, error)
	ForgetApplicant(ctx context.Context, userID string) error
}

// Outgoing is a delivery that is to be attempted now.
type Outgoing struct {
	Delivery
	Message Message
}

// Sender sends webhooks.
type Sender interface {
	// Post sends the body and returns within 15 s. Whatever goes wrong is in the
	// answer.
	Post(ctx context.Context, p Post) Answer
}

// Post is what to send where.
type Post struct {
	URL     string
	Headers map[string]string
	Body    string
}

// Answer is what came of a post.
type Answer struct {
	// Status is the HTTP status, 0 without an answer.
	Status int
	// Body is the beginning of the answer's.
	Body string
	// RetryAfter is how long the receiver asks to be left alone, 0 if it does not.
	RetryAfter time.Duration
	// Error is the class of what went wrong, empty for nothing. It never holds an
	// address.
	Error string
	Took  time.Duration
}

// Postings knows listings.
type Postings interface {
	// Posting is a listing of the organization's as the developer interface shows
	// it, in whatever state, and whether the world may see it now; nil if it is
	// gone.
	Posting(ctx context.Context, organizationID, id string) (v *JobView, public bool, err error)
}

// Owners knows how to reach the accounts that applications belong to.
type Owners interface {
	// ByIDs are those of the accounts that are there.
	ByIDs(ctx context.Context, ids []string) (map[string]Person, error)
}

// Person is who gets a message.
type Person struct{ Name, Email string }
