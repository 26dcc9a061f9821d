// Package sandboxpay is a payment provider for tests and demos. It moves no money and stores
// nothing: the result of a payment depends only on the request and the time, so that every
// process returns the same result.
package sandboxpay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/billing"
)

// The ids of payment methods that fail. Every other pm_… succeeds.
const (
	// CardDeclined is always declined.
	CardDeclined = "pm_card_declined"
	// CardExpired succeeds while the payer is present and is declined at renewals.
	CardExpired = "pm_card_expired"
	// MethodMissing does not exist.
	MethodMissing = "pm_missing"
	// AuthenticationRequired is the id of a method whose payments the payer has to
	// confirm. The sandbox confirms them itself, ConfirmedAfter their creation.
	AuthenticationRequired = "pm_card_authentication_required"
)

// ConfirmedAfter is the time after which a payment is confirmed.
const ConfirmedAfter = time.Minute

// Payments implements billing.Payments and billing.MethodCollector.
type Payments struct{ clock clock.Clock }

// New returns the sandbox.
func New(c clock.Clock) Payments { return Payments{c} }

// cardsByMethod maps ids of payment methods to the cards that they imitate.
var cardsByMethod = map[string]struct{ brand, last4 string }{
	"pm_card_visa":       {"visa", "4242"},
	"pm_card_mastercard": {"mastercard", "4444"},
	"pm_card_amex":       {"amex", "8431"},
}

// Attach implements billing.Payments.
func (p Payments) Attach(ctx context.Context, _ billing.Owner, methodID string) (billing.Method, error) {
	switch {
	case ctx.Err() != nil:
		return billing.Method{}, canceled(ctx)
	case methodID == CardDeclined:
		return billing.Method{}, billing.ErrDeclined
	case methodID == MethodMissing, !strings.HasPrefix(methodID, "pm_"):
		return billing.Method{}, billing.ErrUnknownMethod
	}

	m := billing.Method{ID: methodID, Brand: "sandbox", Last4: "0000", ExpiryMonth: 12, ExpiryYear: p.clock.Now().Year() + 3}
	if looks, ok := cardsByMethod[methodID]; ok {
		m.Brand, m.Last4 = looks.brand, looks.last4
	}

	return m, nil
}

// Forget implements billing.Payments.
func (Payments) Forget(ctx context.Context, _ billing.Owner) error {
	return canceled(ctx)
}

// SetUp implements billing.MethodCollector. No client library accepts the secret: the
// payer enters no method, and any pm_… can be attached.
func (Payments) SetUp(ctx context.Context, o billing.Owner) (billing.Action, error) {
	return billing.Action{Type: billing.CollectMethod, ClientSecret: "seti_sandbox_" + digest(o.ID) + "_secret"}, canceled(ctx)
}

// Charge implements billing.Payments.
func (p Payments) Charge(ctx context.Context, bill billing.Bill) (string, error) {
	switch {
	case ctx.Err() != nil:
		return "", canceled(ctx)
	case bill.MethodID == CardDeclined, bill.MethodID == CardExpired && bill.Unattended:
		return "", billing.ErrDeclined
	case bill.MethodID == AuthenticationRequired && p.clock.Now().Before(bill.CreatedAt.Add(ConfirmedAfter)):
		if bill.Abandon {
			return "", billing.ErrDeclined
		}

		return "", &billing.ActionRequiredError{
			Action: billing.Action{Type: billing.ConfirmPayment, ClientSecret: "pi_sandbox_" + digest(bill.Key) + "_secret"},
		}
	}

	return "ch_sandbox_" + digest(bill.Key), nil
}

// canceled returns the fault of a context that has ended.
func canceled(ctx context.Context) error {
	if ctx.Err() != nil {
		return fault.ErrUnavailable.WithCause(ctx.Err())
	}

	return nil
}

// digest returns a short text that depends on the key and does not reveal it.
func digest(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:12])
}
