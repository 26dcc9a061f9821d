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
	// ErrSeveralApps is the result of a command that names no application while there
	// are several.
	ErrSeveralApps = fault.New(fault.Conflict, "several_apps", "There are several applications")
	ErrPublicApp   = fault.New(fault.Conflict, "public_app", "A public application has no secret")
)

// AnyOwner selects the rows of all owners where a method of a storage port takes
// the id of an owner. The service passes it for its own work, never on behalf of a
// caller. An empty owner id selects nothing.
const AnyOwner = "*"

// Apps stores applications.
type Apps interface {
	// Create stores a new application of an owner who has fewer than limit
	// applications; otherwise it fails with ErrTooManyApps. Concurrent calls do not
	// exceed the limit.
	Create(ctx context.Context, a App, limit int) error
	// Get returns the owner's application, or ErrAppNotFound. Inside a transaction the
	// row is locked until its end.
	Get(ctx context.Context, ownerID, id string) (App, error)
	// List returns a page of applications, the newest first. It does not lock rows.
	List(ctx context.Context, f AppFilter, r page.Request) (page.Result[App], error)
	// Update stores an application that Get has returned in the same transaction, and
	// increments its version. If the stored version is another one, it fails with
	// tx.ErrStale.
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
	// GetByHash returns the key with the hash and its application, in one query, or
	// ErrKeyNotFound.
	GetByHash(ctx context.Context, hash string) (Key, App, error)
	// List returns the keys of the owner's application, the newest first, at most 20,
	// which is all. Keys of other owners' applications are not listed.
	List(ctx context.Context, ownerID, appID string) ([]Key, error)
	// Delete deletes the owner's keys that the filter selects, and returns their
	// number.
	Delete(ctx context.Context, ownerID string, f KeyFilter) (int, error)
}

// KeyFilter selects keys of an owner; an empty filter selects all of them.
type KeyFilter struct {
	// AppID and ID select the keys of an application, and one key, if they are not
	// empty.
	AppID, ID string
	// CreatedBefore selects keys created before the time, if it is not zero.
	CreatedBefore time.Time
}

// Usage counts API requests by application and day.
type Usage interface {
	// Add adds requests to the counters and updates when keys were last used. An
	// earlier time than the stored one is ignored, as are keys that do not exist.
	// Counters of deleted applications may be stored.
	Add(ctx context.Context, days []DayUsage, lastUsed map[string]time.Time) error
	// List returns the days of an application with requests, from the one day to the
	// other, both included, in their order. Days are in UTC, 2006-01-02.
	List(ctx context.Context, appID, from, to string) ([]DayUsage, error)
}

// DayUsage is the number of requests of an application on one day.
type DayUsage struct {
	AppID    string
	Day      string // in UTC, 2006-01-02
	Requests int
	Errors   int // those with a status of 400 or more
}

// UsageKind is the retention of request counters, by their day.
const UsageKind retention.Kind = "integrations.usage"

// Accounts answers questions about the accounts that applications act for.
type Accounts interface {
	// HoldSession fails with fault.ErrUnauthorized if the actor's session or account
	// has ended. If accounts are stored in the database of the transaction, neither
	// ends before it does: what the transaction creates is committed before a
	// concurrent password reset, which then revokes it.
	HoldSession(ctx context.Context, by auth.Actor) error
	// IsActive reports whether the accounts exist, are active and are not locked. It runs
	// for every request with a key or a token and costs one look-up by primary key.
	IsActive(ctx context.Context, userIDs ...string) (bool, error)
	// ListMembers returns the user ids of the organization's active members, at most
	// 10,000.
	ListMembers(ctx context.Context, organizationID string) ([]string, error)
	// Visibility returns which job applications the account may see: none if the
	// account is not active.
	Visibility(ctx context.Context, userID string) (Visibility, error)
	// OrganizationID returns the id of the account's organization, empty if there is
	// none or the account is not active.
	OrganizationID(ctx context.Context, userID string) (string, error)
	// OwnerName returns the name of the account's organization, or of the user if there
	// is none.
	OwnerName(ctx context.Context, userID string) (string, error)
	// ListByIDs returns the recipients of mails by user id; unknown ids are left out.
	ListByIDs(ctx context.Context, ids []string) (map[string]Person, error)
}

// Person is the recipient of a mail.
type Person struct{ Name, Email string }

// Payments charges for plans.
type Payments interface {
	// Choose puts the application on a plan and collects the first payment; the free
	// plan ends renewals. An empty payment method is the one on file.
	Choose(ctx context.Context, appID, plan, paymentMethodID string) error
	// Paid returns the plan that is paid for and renews, or the free one.
	Paid(ctx context.Context, appID string) (string, error)
	// SetUp begins the collection of a payment method of the application.
	SetUp(ctx context.Context, appID string) (PaymentSetup, error)
}

// PaymentSetup contains what a client needs to collect a payment method at the payment
// provider. Fields that are not needed are empty.
type PaymentSetup struct {
	// ClientSecret authorizes the provider's client library to collect the method.
	ClientSecret string
	// PublishableKey identifies the account of the service to the client library.
	PublishableKey string
	// RedirectURL is a page of the provider on which the payer enters the method.
	RedirectURL string
}
