package sandboxpay

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/test/conformance"
	"github.com/locumhq/locum/test/kit"
)

// TestPayments runs the conformance suite for payment providers on the sandbox. The sandbox knows some ids of payment
// methods that fail in one way, such as CardDeclined. Every other id that begins with pm_ works. So the suite runs
// twice: with the id of a card that the sandbox knows, and with any other id.
func TestPayments(t *testing.T) {
	t.Parallel()

	for _, good := range []string{"pm_card_visa", "pm_anything"} {
		t.Run(good, func(t *testing.T) {
			t.Parallel()
			conformance.Payments(t, func(testing.TB) conformance.PaymentProvider {
				clk := kit.NewClock()

				// The sandbox confirms a payment by itself when ConfirmedAfter has passed. So the clock takes the
				// place of the payer, who confirms payments of other providers.
				return conformance.PaymentProvider{
					Connect:     func() billing.Payments { return New(clk) },
					Clock:       clk,
					Good:        conformance.Always(good),
					Refused:     conformance.Always(CardDeclined),
					Expiring:    conformance.Always(CardExpired),
					Unknown:     conformance.Always(MethodMissing),
					Confirmable: conformance.Always(AuthenticationRequired),
					Confirm:     func(billing.Bill) { clk.Advance(ConfirmedAfter) },
				}
			}, func(testing.TB) (billing.Payments, func(), func()) {
				// The suite also checks outages. It gets a provider, and functions that begin and end an outage.
				p := &outageProvider{Payments: New(kit.NewClock())}
				return p, func() { p.down.Store(true) }, func() { p.down.Store(false) }
			})
		})
	}
}

// outageProvider is a sandbox that can be unavailable, as real providers are. While down is set, each method that
// would call a real provider returns fault.ErrUnavailable.
type outageProvider struct {
	Payments

	down atomic.Bool
}

func (p *outageProvider) err() error {
	if p.down.Load() {
		return fault.ErrUnavailable
	}

	return nil
}

func (p *outageProvider) Attach(ctx context.Context, o billing.Owner, methodID string) (billing.Method, error) {
	if err := p.err(); err != nil {
		return billing.Method{}, err
	}

	return p.Payments.Attach(ctx, o, methodID)
}

func (p *outageProvider) Forget(ctx context.Context, o billing.Owner) error {
	if err := p.err(); err != nil {
		return err
	}

	return p.Payments.Forget(ctx, o)
}

func (p *outageProvider) Charge(ctx context.Context, b billing.Bill) (string, error) {
	if err := p.err(); err != nil {
		return "", err
	}

	return p.Payments.Charge(ctx, b)
}
