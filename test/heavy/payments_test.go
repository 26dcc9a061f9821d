package heavy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/stripepay"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/test/conformance"
	"github.com/locumhq/locum/test/kit"
)

// TestStripe_Requests_AreValid checks every request of the suite for payments against Stripe's
// published API: its mock server validates them. The mock server has no state, so that the
// responses are those of the scripted server of the kit.
func TestStripe_Requests_AreValid(t *testing.T) {
	skipUnlessHeavy(t)

	mock := kit.StripeMock(t)
	conformance.Payments(t, func(t testing.TB) conformance.PaymentProvider {
		clk := kit.NewClock()
		server := kit.NewStripe(t, clk.Now)
		server.MirrorURL = mock
		connect := func() *stripepay.Payments {
			p, err := stripepay.Open(
				"stripe:?api_base="+server.URL,
				stripepay.Options{SecretKey: "sk_test_hidden", ReturnURL: "https://jobs.example.org", Clock: clk},
			)
			require.NoError(t, err)

			return p
		}
		require.NoError(t, connect().Ping(t.Context()))

		card := func(kind string) func() string { return func() string { return server.NewMethod(kind) } }

		return conformance.PaymentProvider{
			Connect:     func() billing.Payments { return connect() },
			Clock:       clk,
			Good:        card(kit.CardGood),
			Refused:     card(kit.CardRefused),
			Expiring:    card(kit.CardExpiring),
			Unknown:     conformance.Always("pm_unknown"),
			Confirmable: card(kit.CardSecure),
			Confirm:     func(b billing.Bill) { server.FinishAuthentication(b.Key, "succeeded") },
		}
	})
}
