package integrations

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
)

// The faults of this module.
var (
	ErrAppNotFound = fault.New(fault.NotFound, "app_not_found", "Application not found")
	ErrKeyNotFound = fault.New(fault.NotFound, "key_not_found", "API key not found")
	ErrTooManyApps = fault.New(fault.Conflict, "too_many_apps", "An account has at most 50 applications; delete one that is not used")
	ErrTooManyKeys = fault.New(fault.Conflict, "too_many_keys", "An application has at most 20 API keys; delete one that is not used")
	// ErrSeveralApps is for who names none of several.
	ErrSeveralApps = fault.New(fault.Conflict, "several_apps", "There are several applications")
	ErrPublicApp   = fault.New(fault.Conflict, "public_app", "A public application has no secret")
)

// Apps keeps applications and their keys. Whoever names an owner gets and
// changes that owner's only: anybody else's are as absent as those that never
// were.
type Apps interface {
	// Add stores a new application.
	Add(ctx context.Context, a App) error
	// Find returns the owner's application, or ErrAppNotFound. Inside a
	// transaction it is locked until its end.
	Find(ctx context.Context, ownerID, id string) (App, error)
	// Page lists the owner's applications, the newest first.
	Page(ctx context.Context, ownerID string, r page.Request) (page.Result[App], error)
	// Count is how many applications the owner has. Inside a transaction nobody
	// else counts them until its end.
	Count(ctx context.Context, ownerID string) (int, error)
	// Save stores what Find has returned in the same transaction.
	Save(ctx context.Context, a App) error
	// Delete removes the owner's application with all that belongs to it, or is
	// ErrAppNotFound.
	Delete(ctx context.Context, ownerID, id string) error
	// ByID is an application whosesoever it is, for what the service does by
	// itself: who asks is judged elsewhere. ErrAppNotFound.
	ByID(ctx context.Context, id string) (App, error)
	// First are the oldest n applications, whosesoever they are.
	First(ctx context.Context, n int) ([]App, error)
	// Owners maps those of the applications that exist to whose they are.
	Owners(ctx context.Context, ids []string) (map[string]string, error)

	// AddKey stores a new key of the owner's application.
	AddKey(ctx context.Context, ownerID string, k Key) error
	// Keys are the keys of the owner's application, the newest first, at most
	// 20 (which is all).
	Keys(ctx context.Context, ownerID, appID string) ([]Key, error)
	// DeleteKey removes a key, or is ErrKeyNotFound.
	DeleteKey(ctx context.Context, ownerID, appID, keyID string) error
	// DeleteKeys removes the keys of all applications of the owner.
	DeleteKeys(ctx context.Context, ownerID string) error
	// ByKey returns the key with the hash and its application, in one query, or
	// ErrKeyNotFound, as for one whose owner is no more.
	ByKey(ctx context.Context, hash string) (App, Key, error)
	// Used notes when keys were used last. One that is gone is passed over.
	Used(ctx context.Context, at map[string]time.Time) error
}

// Usage counts calls by application and day.
type Usage interface {
	// Add adds to what was counted. An application that is gone is passed over.
	Add(ctx context.Context, spent []Spent) error
	// Of are the days of the application from one to the other, both included
	// (in UTC, 2006-01-02), in their order. A day without calls is not there.
	Of(ctx context.Context, appID, from, to string) ([]Spent, error)
	// Forget removes at most n days that are before the day.
	Forget(ctx context.Context, day string, n int) (int, error)
}

// Spent is what an application called on a day.
type Spent struct {
	AppID    string
	Day      string // in UTC, 2006-01-02
	Requests int
	Errors   int // of them those that were answered with 400 or more
}

// People knows the accounts that applications belong to.
type People interface {
	// HoldSession fails with fault.ErrUnauthorized if the actor's session or
	// account has ended. Until the end of the transaction neither ends: what the
	// transaction creates is committed before a concurrent password reset, which
	// then revokes it.
	HoldSession(ctx context.Context, by auth.Actor) error
	// Sight is what the account may see of applications for jobs at this moment:
	// nothing if it is gone.
	Sight(ctx context.Context, userID string) (Sight, error)
	// Maker is the name of the account's organization, or its own without one.
	Maker(ctx context.Context, userID string) (string, error)
}

// Payments takes the money for plans.
type Payments interface {
	// Choose puts the application on a plan, with what the first payment for it
	// takes, or takes none any more in favour of the free one. An empty payment
	// method is the one on file.
	Choose(ctx context.Context, appID, plan, paymentMethodID string) error
	// Paid is the plan that is paid for now and goes on, the free one without one.
	Paid(ctx context.Context, appID string) (string, error)
}
