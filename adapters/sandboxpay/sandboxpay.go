// Package sandboxpay takes payments that move no money. What becomes of one
// follows from the payment method and the key alone, so that the answer to a
// key is the same from every process and after every crash, and nothing has to
// be kept.
package sandboxpay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/billing"
)

// The methods that stand for what can go wrong. Every other pm_… works.
const (
	// CardDeclined is refused whenever it is used.
	CardDeclined = "pm_card_declined"
	// CardExpired pays while its owner is there, and is declined at renewals.
	CardExpired = "pm_card_expired"
	// MethodMissing is the id of no method.
	MethodMissing = "pm_missing"
)

// Payments implements billing.Payments.
type Payments struct{ clock clock.Clock }

// New makes the sandbox.
func New(c clock.Clock) Payments { return Payments{c} }

// known are methods that look like certain cards.
var known = map[string]struct{ brand, last4 string }{
	"pm_card_visa":       {"visa", "4242"},
	"pm_card_mastercard": {"mastercard", "4444"},
	"pm_card_amex":       {"amex", "8431"},
}

// Attach implements billing.Payments.
func (p Payments) Attach(ctx context.Context, _ billing.Owner, methodID string) (billing.Method, error) {
	switch {
	case ctx.Err() != nil:
		return billing.Method{}, fault.ErrUnavailable.WithCause(ctx.Err())
	case methodID == CardDeclined:
		return billing.Method{}, billing.ErrDeclined
	case methodID == MethodMissing, !strings.HasPrefix(methodID, "pm_"):
		return billing.Method{}, billing.ErrUnknownMethod
	}
	m := billing.Method{ID: methodID, Brand: "sandbox", Last4: "0000", ExpiryMonth: 12, ExpiryYear: p.clock.Now().Year() + 3}
	if looks, ok := known[methodID]; ok {
		m.Brand, m.Last4 = looks.brand, looks.last4
	}
	return m, nil
}

// Forget implements billing.Payments.
func (Payments) Forget(ctx context.Context, _ billing.Owner) error {
	if ctx.Err() != nil {
		return fault.ErrUnavailable.WithCause(ctx.Err())
	}
	return nil
}

// Charge implements billing.Payments.
func (Payments) Charge(ctx context.Context, b billing.Bill) (string, error) {
	switch {
	case ctx.Err() != nil:
		return "", fault.ErrUnavailable.WithCause(ctx.Err())
	case b.MethodID == CardDeclined, b.MethodID == CardExpired && b.Unattended:
		return "", billing.ErrDeclined
	}
	sum := sha256.Sum256([]byte(b.Key))
	return "ch_sandbox_" + hex.EncodeToString(sum[:12]), nil
}
