package billing

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/fault"
)

// The faults of this module.
var (
	ErrDeclined = fault.New(fault.Invalid, "payment_declined", "The payment was declined; please try another payment method")
	// ErrUnderWay reports that another payment of the owner has no result yet.
	ErrUnderWay = fault.New(fault.Conflict, "payment_under_way", "Another payment is under way, please try again in a moment")
)

// Payments is a payment provider. Calls may be repeated, for instance after a
// crash, and take effect once.
type Payments interface {
	// Attach allows charges of the owner to the payment method, whose id (pm_…) is
	// the provider's. An unknown id fails with ErrUnknownMethod, a refused method with
	// ErrDeclined.
	Attach(ctx context.Context, o Owner, methodID string) (Method, error)
	// Forget deletes what the provider stores of the owner: the payment methods and
	// their association with the owner. Charges remain. An unknown owner is not an
	// error.
	Forget(ctx context.Context, o Owner) error
	// Charge collects the amount once for each key and returns the provider's id of
	// the payment; the result for a key does not change. ErrDeclined is final. After
	// any other error the outcome is unknown, and the call has to be repeated with the
	// same key.
	Charge(ctx context.Context, b Bill) (receipt string, err error)
}

// ErrUnknownMethod reports an id that no payment method has.
var ErrUnknownMethod = fault.InvalidField("paymentMethodId", "is not the id of a payment method")

// Bill is one payment to collect.
type Bill struct {
	Key      string // idempotency key, a UUID
	Owner    Owner
	MethodID string
	Amount   Money
	// Unattended is true if the payer is not present to confirm the payment.
	Unattended bool
	// Description appears on the payer's statement.
	Description string
}

// Subscriptions stores subscriptions. An owner without a stored one has that of
// NewSubscription.
type Subscriptions interface {
	// Get returns the owner's subscription.
	Get(ctx context.Context, o Owner) (Subscription, error)
	// Lock returns the owner's subscription and locks it until the end of the
	// transaction, also if none was stored. Concurrent transactions that lock the same
	// subscription wait.
	Lock(ctx context.Context, o Owner) (Subscription, error)
	// Update stores a subscription that the transaction has locked, and increments its
	// version. It fails with tx.ErrStale if the stored subscription has another version
	// or does not exist.
	Update(ctx context.Context, s Subscription) error
	// ListDue returns the owners of at most n subscriptions whose NextAt is not after
	// now, the earliest NextAt first.
	ListDue(ctx context.Context, now time.Time, n int) ([]Owner, error)
	// Erase deletes the owner's subscription, and changes the owner of their charges
	// to anonymous, which names no account. Brand, number and expiry of the charges'
	// payment methods are cleared, and their ids as well unless the charge is pending.
	// An owner without data is not an error.
	Erase(ctx context.Context, o, anonymous Owner) error
}

// Charges stores charges. An owner has at most one pending charge, and at most one
// for a period that is pending or paid.
type Charges interface {
	// Create stores a pending charge. The transaction has locked the owner's
	// subscription. A second pending charge of the owner, or a second one for the
	// period that is not declined, is an error.
	Create(ctx context.Context, c Charge) error
	// Update stores the progress of the owner's pending charge and reports whether it
	// did. While c is pending, it stores Attempts and NextAt, provided that the stored
	// charge has one attempt less: of concurrent callers one succeeds. Otherwise it
	// stores Status, Receipt and Method, whatever the number of attempts. A charge that
	// is not pending, does not exist, or belongs to another owner is left unchanged.
	Update(ctx context.Context, c Charge) (bool, error)
	// List returns at most n charges: with DueBy the earliest NextAt first, otherwise
	// the newest first.
	List(ctx context.Context, f ChargeFilter, n int) ([]Charge, error)
}

// ChargeFilter selects charges. One that names neither an owner nor a due time
// selects none.
type ChargeFilter struct {
	// Owner selects the charges of one owner. It may be empty together with DueBy.
	Owner Owner
	// Status selects charges with the status, if it is not empty.
	Status ChargeStatus
	// DueBy selects pending charges whose NextAt is not after the time, if it is not
	// zero.
	DueBy time.Time
}

// People returns the recipients of mails.
type People interface {
	// Payers maps owners to the accounts that pay for them: the user, or the user
	// whom the application belongs to. Unknown owners are left out.
	Payers(ctx context.Context, owners []Owner) (map[Owner]Person, error)
}

// Person is the recipient of a mail.
type Person struct{ Name, Email string }
