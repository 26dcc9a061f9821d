package billing

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/fault"
)

// The faults of this module.
var (
	ErrDeclined = fault.New(fault.Invalid, "payment_declined", "The payment was declined; please try another payment method")
	// ErrUnderWay is for who wants to pay for something while a payment for
	// something else has not been answered yet.
	ErrUnderWay = fault.New(fault.Conflict, "payment_under_way", "Another payment is under way, please try again in a moment")
)

// Payments is who takes the money. What it is asked to do may be asked for
// again, after a crash for instance, and is done once.
type Payments interface {
	// Attach makes the method, named by the provider's id (pm_…), one that the
	// owner's charges can be made to. An id that the provider does not know is
	// ErrUnknownMethod, a method that it refuses ErrDeclined.
	Attach(ctx context.Context, o Owner, methodID string) (Method, error)
	// Forget removes what the provider keeps of the owner: the methods, and whose
	// they are. Charges stay. An owner that it does not know is no error.
	Forget(ctx context.Context, o Owner) error
	// Charge takes the amount, once for each key, and returns the provider's id
	// of it: a key that was answered has the same answer again. It is
	// ErrDeclined for good when the key was answered so. Any other error says
	// that nobody knows, and that the same key has to be asked again.
	Charge(ctx context.Context, b Bill) (receipt string, err error)
}

// ErrUnknownMethod is an id that no payment method has.
var ErrUnknownMethod = fault.InvalidField("paymentMethodId", "is not the id of a payment method")

// Bill is what a provider is asked to take.
type Bill struct {
	Key      string // idempotency key, a UUID
	Owner    Owner
	MethodID string
	Amount   Money
	// Unattended says that the payer is not there to confirm it.
	Unattended bool
	// Description is for the payer's statement.
	Description string
}

// Subscriptions keeps what owners are subscribed to. One without a row is on the
// basic plan.
type Subscriptions interface {
	// Find returns the owner's.
	Find(ctx context.Context, o Owner) (Subscription, error)
	// Lock is Find, and keeps other transactions from the owner's subscription
	// and from opening charges until this one ends.
	Lock(ctx context.Context, o Owner) (Subscription, error)
	// Save stores a subscription that the transaction has locked.
	Save(ctx context.Context, s Subscription) error
	// Due are at most n owners for whom NextAt has come, the longest waiting
	// first.
	Due(ctx context.Context, now time.Time, n int) ([]Owner, error)
	// Delete removes the owner's.
	Delete(ctx context.Context, o Owner) error
}

// Charges keeps what was asked of owners.
type Charges interface {
	// Open stores a pending charge. The transaction has locked the owner's
	// subscription and found none pending; were there one, or one for the same
	// period that is not declined, it is an error.
	Open(ctx context.Context, c Charge) error
	// Pending is the owner's pending charge, nil without one.
	Pending(ctx context.Context, o Owner) (*Charge, error)
	// Claim notes another attempt at the pending charge and when one may follow.
	// It is for one alone of those who have read the same number of attempts:
	// false if another was quicker, and if the charge is not pending any more or
	// not its owner's.
	Claim(ctx context.Context, c Charge, next time.Time) (bool, error)
	// Settle stores the status, receipt and method of a pending charge; false if
	// it is not pending any more, or not its owner's.
	Settle(ctx context.Context, c Charge) (bool, error)
	// Waiting are at most n pending charges whose NextAt has come, whoever's,
	// the longest waiting first.
	Waiting(ctx context.Context, now time.Time, n int) ([]Charge, error)
	// Of are the owner's charges, the newest first, at most n.
	Of(ctx context.Context, o Owner, n int) ([]Charge, error)
	// Disown makes the owner's charges somebody's of whom nothing is known, and
	// takes out what describes their payment methods; pending ones keep the id of
	// theirs until they are settled.
	Disown(ctx context.Context, o, to Owner) error
}

// People tells whom a mail goes to.
type People interface {
	// Payers maps those of the owners that exist to the account that each is, or
	// belongs to.
	Payers(ctx context.Context, owners []Owner) (map[Owner]Person, error)
}

// Person is who a mail goes to.
type Person struct{ Name, Email string }
