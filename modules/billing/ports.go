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
	// ErrNoCollector reports that the payment provider is not a MethodCollector.
	ErrNoCollector = fault.New(fault.NotFound, "no_payment_setup", "The payment provider of this server does not collect payment methods")
)

// Action contains the values with which a client lets the payer complete a step at the
// provider. Fields that the provider does not use are empty.
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

// ActionRequiredError reports that the payer has to confirm a payment before it is collected.
// It wraps ErrActionRequired, for transports without support for actions.
type ActionRequiredError struct{ Action }

// Error implements error.
func (*ActionRequiredError) Error() string { return ErrActionRequired.Message }

// Unwrap returns the fault.
func (*ActionRequiredError) Unwrap() error { return ErrActionRequired }

// Payments is a payment provider. Calls may be repeated, for example after a crash, and take
// effect once. A provider may also implement MethodCollector and NoticeParser.
type Payments interface {
	// Attach permits charges of the owner to the payment method. The provider has assigned
	// the id (pm_…) of the method. Attach fails with ErrUnknownMethod for an unknown id, and
	// with ErrDeclined for a method that the provider refuses.
	Attach(ctx context.Context, o Owner, methodID string) (Method, error)
	// Forget deletes the owner's payment methods, and the owner, at the provider. Charges
	// remain. An unknown owner is not an error.
	Forget(ctx context.Context, o Owner) error
	// Charge collects the amount once for each key, and returns the provider's id of the
	// payment. Success and ErrDeclined are final: every call with the same key returns the
	// same result. An *ActionRequiredError reports that the payment awaits the payer, and
	// ErrUnderWay that it awaits the provider. After any other error the outcome is unknown.
	// In these cases, another call with the same key returns the current state.
	Charge(ctx context.Context, b Bill) (receipt string, err error)
}

// ErrUnknownMethod is returned for an id without a payment method.
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
	// CreatedAt is earlier than the first call with the key.
	CreatedAt time.Time
	// Abandon ends a payment for which an earlier call returned an *ActionRequiredError. If
	// the payment still awaits the payer, it is declined and cannot be confirmed any more.
	Abandon bool
}

// MethodCollector is implemented by providers whose client library collects payment methods.
// The payer authenticates then, so that renewals need no confirmation.
type MethodCollector interface {
	// SetUp begins the collection of a payment method. The collected method can be attached
	// to the owner.
	SetUp(ctx context.Context, o Owner) (Action, error)
}

// NoticeParser is implemented by providers that send webhooks to the service.
type NoticeParser interface {
	// ParseNotice verifies and parses a webhook. The function header returns the value of a
	// request header. ParseNotice fails with ErrBadNotice if the provider did not send the
	// webhook.
	ParseNotice(header func(name string) string, body []byte) (Notice, error)
}

// Notice reports that a payment may have changed. Notices may be lost, repeated and reordered,
// so the service reads the result with Payments.Charge.
type Notice struct {
	// Key is the key of the Bill. It is empty for a notice that is not about a payment.
	Key   string
	Owner Owner
}

// Subscriptions stores subscriptions. For an owner without a stored subscription, its methods
// return NewSubscription.
type Subscriptions interface {
	// Get returns the owner's subscription.
	Get(ctx context.Context, o Owner) (Subscription, error)
	// Lock returns the owner's subscription and locks it until the transaction ends.
	// Concurrent transactions that lock the same subscription wait, even if none is stored.
	Lock(ctx context.Context, o Owner) (Subscription, error)
	// Update stores a subscription that the transaction has locked, and increments its
	// version. It fails with tx.ErrStale if the stored version differs or no subscription is
	// stored.
	Update(ctx context.Context, s Subscription) error
	// ListDue returns the owners of at most n subscriptions whose NextAt is now or earlier,
	// the earliest first.
	ListDue(ctx context.Context, now time.Time, n int) ([]Owner, error)
	// Erase deletes the owner's subscription, and assigns the owner's charges to anonymous,
	// an owner without an account. In these charges it clears the brand, number and expiry of
	// the payment method. It also clears the id of the method, unless the charge is pending
	// and the id is still needed. An owner without data is not an error.
	Erase(ctx context.Context, o, anonymous Owner) error
}

// Charges stores charges. An owner has at most one pending charge. A period of an owner has
// at most one charge that is pending or paid.
type Charges interface {
	// Create stores a pending charge. The transaction has locked the owner's subscription.
	// Create returns an error for a second pending charge of the owner, and for a second
	// charge of a period unless the first is declined.
	Create(ctx context.Context, c Charge) error
	// Update stores the progress of the owner's pending charge and reports whether it did. It
	// changes no charge that is not pending, does not exist, or belongs to another owner.
	//
	// If c is pending, Update stores Attempts, NextAt and ActionAt, and succeeds only if the
	// stored charge has one attempt less. Of several concurrent callers with the same
	// attempt, only one succeeds. If c is not pending, Update stores Status, Receipt and
	// Method, whatever the number of attempts.
	Update(ctx context.Context, c Charge) (bool, error)
	// List returns at most n charges. With DueBy, the charge with the earliest NextAt is the
	// first; otherwise the newest charge is.
	List(ctx context.Context, f ChargeFilter, n int) ([]Charge, error)
}

// ChargeFilter selects charges that match all of its fields. Owner or DueBy must be set;
// otherwise no charge is selected.
type ChargeFilter struct {
	Owner Owner
	// Status matches charges with the status, unless it is empty.
	Status ChargeStatus
	// DueBy matches pending charges whose NextAt is at this time or earlier, unless it is
	// zero.
	DueBy time.Time
}

// People provides the recipients of e-mails.
type People interface {
	// Payers returns the user who pays for each owner: the user itself, or the user to whom
	// the application belongs. It omits unknown owners.
	Payers(ctx context.Context, owners []Owner) (map[Owner]Person, error)
}

// Person is the recipient of an e-mail.
type Person struct{ Name, Email string }
