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
	// Replay makes a delivery pending and due at the moment, unless it is being
	// attempted, and returns it, or is ErrDeliveryNotFound.
	Replay(ctx context.Context, ownerID, endpointID, id string, at time.Time) (Delivery, error)
	// ReplayFailed is Replay for at most n deliveries that failed and were made at
	// the moment since or later, the oldest first. It says how many there were.
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
	// that are not there, by message and endpoint, for endpoints that still are. It
	// returns the endpoints that somebody has to look at. The others have a claim
	// that lasts beyond the moment attended, or something else that became due from
	// since to now, and whoever comes for that finds this as well: until the end of
	// the transaction nobody else can Lock these endpoints.
	Queue(ctx context.Context, ms []Message, ds []Delivery, now, since, attended time.Time) (alone []string, err error)
	// Listening has the endpoint of a listener last until the moment, or is
	// ErrWebhookNotFound, and EndListeners removes those that lasted until then.
	Listening(ctx context.Context, id string, until time.Time) error
	EndListeners(ctx context.Context, now time.Time) error
	// Lock is the endpoint, locked until the end of the transaction, or
	// ErrWebhookNotFound.
	Lock(ctx context.Context, id string) (Endpoint, error)
	// InFlight counts the claims of the endpoint that last beyond the moment.
	InFlight(ctx context.Context, endpointID string, now time.Time) (int, error)
	// Claim takes at most n of the endpoint's deliveries that are due, those that
	// have been for longest, numbers the attempt and keeps them from others until
	// the moment. It returns them with their messages.
	Claim(ctx context.Context, endpointID string, n int, now, until time.Time) ([]Claimed, error)
	// Settle stores what became of claimed deliveries of the endpoint, and returns
	// the ids of those whose claim was the newest. The others stay as they are.
	Settle(ctx context.Context, endpointID string, ds []Delivery) ([]string, error)
	// Due reports whether something is due for the endpoint.
	Due(ctx context.Context, endpointID string, now time.Time) (bool, error)
	// Release gives claimed deliveries back that were not attempted: they are due
	// at the moment, and the attempt does not count. What others have claimed since,
	// and claims that have ended by then, stay as they are.
	Release(ctx context.Context, endpointID string, ds []Delivery, now time.Time) error
	// Abandon fails what is pending for the endpoint and not being attempted.
	Abandon(ctx context.Context, endpointID string, now time.Time) error
	// Overdue are at most n endpoints, in the order of their ids, after the one
	// given, with something that should have been attempted before the moment. The
	// endpoints of listeners are not among them.
	Overdue(ctx context.Context, before time.Time, after string, n int) ([]string, error)
	// Forget removes at most n messages that were made before the moment, with
	// their deliveries, and ForgetApplicant those about somebody's applications.
	Forget(ctx context.Context, before time.Time, n int) (int, error)
	ForgetApplicant(ctx context.Context, userID string) error
}

// Claimed is a delivery that is to be attempted now.
type Claimed struct {
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
