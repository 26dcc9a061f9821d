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
	// ErrActionRequired is the fault of an ActionRequiredError.
	ErrActionRequired = fault.New(fault.Conflict, "payment_action_required", "Your bank asks you to confirm this payment")
	// ErrBadNotice reports a webhook without a valid signature.
	ErrBadNotice = fault.New(fault.Invalid, "invalid_signature", "The signature of the webhook is missing, invalid or too old")
	// ErrNoNotices reports that the payment provider sends no webhooks.
	ErrNoNotices = fault.New(fault.NotFound, "no_payment_webhooks", "The payment provider of this server sends no webhooks")
	// ErrNoCollector reports that the payment provider is no MethodCollector.
	ErrNoCollector = fault.New(fault.NotFound, "no_payment_setup", "The payment provider of this server does not collect payment methods")
)

// Action contains what a client needs so that the payer can act at the provider. Fields
// that are not needed are empty.
type Action struct {
	Type ActionType
	// ClientSecret authorizes the provider's client library to complete this action.
	ClientSecret string
	// PublishableKey identifies the account of the service to the client library.
	PublishableKey string
	// RedirectURL is a page of the provider on which the payer completes the action.
	RedirectURL string
}

// ActionType is the type of an Action.
type ActionType string

// The types of action.
const (
	// ConfirmPayment is the confirmation of a payment, with 3-D Secure for example.
	ConfirmPayment ActionType = "confirm_payment"
	// CollectMethod is the entry of a payment method.
	CollectMethod ActionType = "collect_payment_method"
)

// ActionRequiredError reports that a payment is collected after the payer has confirmed it.
// To transports without support for actions it is ErrActionRequired.
type ActionRequiredError struct{ Action }

// Error implements error.
func (*ActionRequiredError) Error() string { return ErrActionRequired.Message }

// Unwrap returns the fault.
func (*ActionRequiredError) Unwrap() error { return ErrActionRequired }

// Payments is a payment provider. Calls may be repeated, for instance after a
// crash, and take effect once. A provider may also be a MethodCollector and a
// NoticeParser.
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
	// the payment; the result for a key does not change. ErrDeclined is final. An
	// *ActionRequiredError reports that the payment waits for the payer, and ErrUnderWay
	// that it waits for the provider. After any other error the outcome is unknown. In
	// these cases a repeated call with the same key returns the present state.
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
	// CreatedAt is a time before the first call with the key.
	CreatedAt time.Time
	// Abandon ends a payment for which an earlier call returned an *ActionRequiredError: if
	// it still waits for the payer it is declined, and can't be confirmed later.
	Abandon bool
}

// MethodCollector is implemented by providers whose client library collects payment
// methods, so that the payer authenticates once and renewals need no confirmation.
type MethodCollector interface {
	// SetUp begins the collection of a payment method of the owner. The method that it
	// results in can be attached to the owner.
	SetUp(ctx context.Context, o Owner) (Action, error)
}

// NoticeParser is implemented by providers that send webhooks to the service.
type NoticeParser interface {
	// ParseNotice verifies a webhook. header returns the value of a request header. It
	// fails with ErrBadNotice if the provider did not send the webhook.
	ParseNotice(header func(name string) string, body []byte) (Notice, error)
}

// Notice reports that a payment may have changed. It holds no result, which the
// service reads with Charge: notices may be lost, repeated and reordered.
type Notice struct {
	// Key and Owner are those of the Bill. Key is empty for a notice about something
	// else.
	Key   string
	Owner Owner
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
	// did. While c is pending, it stores Attempts, NextAt and ActionAt, provided that the
	// stored charge has one attempt less: of concurrent callers one succeeds. Otherwise it
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
