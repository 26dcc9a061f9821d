package sandboxpay

import (
	"testing"

	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/test/conformance"
	"github.com/locumhq/locum/test/kit"
)

func TestTheSandboxTakesPayments(t *testing.T) {
	t.Parallel()
	clk := kit.NewClock()
	for _, good := range []string{"pm_card_visa", "pm_anything"} {
		conformance.Payments(t, conformance.PaymentMethods{Good: good, Refused: CardDeclined, Expiring: CardExpired, Unknown: MethodMissing},
			func(testing.TB) billing.Payments { return New(clk) })
	}
}
