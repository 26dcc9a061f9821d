package integrations

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/retention"
)

// Errors of applications and API keys.
var (
	ErrAppNotFound = fault.New(fault.NotFound, "app_not_found", "Application not found")
	ErrKeyNotFound = fault.New(fault.NotFound, "key_not_found", "API key not found")
	ErrTooManyApps = fault.New(fault.Conflict, "too_many_apps", "An account has at most 50 applications; delete one that is not used")
	ErrTooManyKeys = fault.New(fault.Conflict, "too_many_keys", "An application has at most 20 API keys; delete one that is not used")
	// ErrSeveralApps is returned to a command without an application id if the service has
	// several applications.
	ErrSeveralApps = fault.New(fault.Conflict, "several_apps", "There are several applications")
	ErrPublicApp   = fault.New(fault.Conflict, "public_app", "A public application has no secret")
)

// AnyOwner is an owner id with which methods of the storage ports select the rows of all
// owners. The service passes it for its own work, never on behalf of a caller. An empty owner
// id selects no rows.
const AnyOwner = "*"

// Apps stores applications.
type Apps interface {
	// Create stores a new application. It fails with ErrTooManyApps if the owner has limit
	// applications already. Concurrent calls do not exceed the limit.
	Create(ctx context.Context, a App, limit int) error
	// Get returns the owner's application, or ErrAppNotFound. Inside a transaction, the row
	// is locked until the transaction ends.
	Get(ctx context.Context, ownerID, id string) (App, error)
	// List returns a page of applications, the newest first. It does not lock rows.
	List(ctx context.Context, f AppFilter, r page.Request) (page.Result[App], error)
	// Update stores an application that Get has returned in the same transaction, and
	// increments its version. It fails with tx.ErrStale if the stored version differs.
	Update(ctx context.Context, a App) error
	// Delete deletes the owner's application with its keys, consents, authorizations,
	// webhooks and usage, or fails with ErrAppNotFound.
	Delete(ctx context.Context, ownerID, id string) error
}

// AppFilter selects applications.
type AppFilter struct {
	// OwnerID is the id of the owner, or AnyOwner.
	OwnerID string
	// IDs selects applications by id, if it is not empty.
	IDs []string
}

// Keys stores API keys.
type Keys interface {
	// Create stores a new key of the owner's application, or fails with
	// ErrAppNotFound.
	Create(ctx context.Context, ownerID string, k Key) error
	// GetByHash returns the key with the hash together with its application, or
	// ErrKeyNotFound. It takes one query.
	GetByHash(ctx context.Context, hash string) (Key, App, error)
	// List returns all keys of the owner's application, at most 20, the newest first. It
	// returns no keys for an application of another owner.
	List(ctx context.Context, ownerID, appID string) ([]Key, error)
	// Delete deletes the owner's keys that match the filter, and returns their number.
	Delete(ctx context.Context, ownerID string, f KeyFilter) (int, error)
}

// KeyFilter selects keys of an owner. A zero field matches all keys.
type KeyFilter struct {
	AppID         string
	ID            string
	CreatedBefore time.Time
}

// Usage counts API requests by application and day.
type Usage interface {
	// Add adds requests to the counters, and updates the times at which keys were last
	// used, by key id. It ignores keys that do not exist, and times that are earlier than
	// the stored ones. It may store counters of deleted applications.
	Add(ctx context.Context, days []DayUsage, keyLastUsed map[string]time.Time) error
	// List returns the days from from to to, both included, on which the application had
	// requests, the earliest first. Days are in UTC and have the form 2006-01-02.
	List(ctx context.Context, appID, from, to string) ([]DayUsage, error)
}

// DayUsage is the number of requests of an application on one day.
type DayUsage struct {
	AppID    string
	Day      string // in UTC, 2006-01-02
	Requests int    // all requests
	Errors   int    // requests with a status of 400 or more
}

// UsageKind is the retention kind of request counters; their time is their day.
const UsageKind retention.Kind = "integrations.usage"

// Accounts provides data of the accounts that applications act for.
type Accounts interface {
	// HoldSession fails with fault.ErrUnauthorized if the actor's session or account has
	// ended. If accounts are stored in the database of the transaction, HoldSession locks
	// them until the transaction ends: a concurrent password reset waits, and then revokes
	// what the transaction has created.
	HoldSession(ctx context.Context, by auth.Actor) error
	// IsActive reports whether all of the accounts exist, are active and are not locked. It
	// is called for every request with a key or token, and must be as fast as a look-up by
	// primary key.
	IsActive(ctx context.Context, userIDs ...string) (bool, error)
	// ListMembers returns the user ids of the organization's active members, at most
	// 10,000.
	ListMembers(ctx context.Context, organizationID string) ([]string, error)
	// Visibility returns the job applications that the account may see. An account that is
	// not active sees none.
	Visibility(ctx context.Context, userID string) (Visibility, error)
	// OrganizationID returns the id of the account's organization. It is empty if the
	// account has no organization or is not active.
	OrganizationID(ctx context.Context, userID string) (string, error)
	// OwnerName returns the name of the account's organization or, without an organization,
	// the name of the user.
	OwnerName(ctx context.Context, userID string) (string, error)
	// ListByIDs returns the recipients of e-mails, by user id. Unknown ids are omitted.
	ListByIDs(ctx context.Context, ids []string) (map[string]Person, error)
}

// Person is the recipient of an e-mail.
type Person struct{ Name, Email string }

// Payments charges for plans.
type Payments interface {
	// Choose puts the application on a plan and collects the first payment. The free plan
	// ends renewals. If the payment method is empty, the stored method is charged.
	Choose(ctx context.Context, appID, plan, paymentMethodID string) error
	// Paid returns the plan that is paid for and will be renewed, or the free plan.
	Paid(ctx context.Context, appID string) (string, error)
	// SetUp begins the collection of a payment method of the application.
	SetUp(ctx context.Context, appID string) (PaymentSetup, error)
}

// PaymentSetup contains the values that a client needs to collect a payment method at the
// payment provider. Fields that the provider does not use are empty.
type PaymentSetup struct {
	// ClientSecret authorizes the provider's client library to collect the method.
	ClientSecret string
	// PublishableKey identifies the account of the service to the client library.
	PublishableKey string
	// RedirectURL is a page of the provider on which the payer enters the method.
	RedirectURL string
}
