package stripepay

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/test/conformance"
	"github.com/locumhq/locum/test/kit"
)

const (
	// ownerID is a customer, key the idempotency key of a bill.
	ownerID = "018f0000-0000-7000-8000-000000000001"
	key     = "018f0000-0000-7000-8000-000000000002"
)

var owner = billing.Owner{Kind: billing.User, ID: ownerID}

// options returns settings with an old and a current webhook secret, as during a rotation.
func options(clk *kit.Clock) Options {
	return Options{
		SecretKey:      "sk_test_hidden",
		PublishableKey: "pk_test_1",
		WebhookSecrets: []string{"whsec_old", kit.StripeSecret},
		ReturnURL:      "https://jobs.example.org",
		Clock:          clk,
	}
}

// start returns a connection to a scripted server.
func start(t testing.TB) (*Payments, *kit.Stripe, *kit.Clock) {
	t.Helper()

	clk := kit.NewClock()
	server := kit.NewStripe(t, clk.Now)
	p, err := Open("stripe:?api_base="+server.URL, options(clk))
	require.NoError(t, err)

	return p, server, clk
}

// attached returns a bill for a new card of the kind.
func attached(t *testing.T, payments *Payments, server *kit.Stripe, kind string) billing.Bill {
	t.Helper()

	m, err := payments.Attach(t.Context(), owner, server.NewMethod(kind))
	require.NoError(t, err)

	return billing.Bill{
		Key:         key,
		Owner:       owner,
		MethodID:    m.ID,
		Amount:      billing.Money{Minor: 999, Currency: "GBP"},
		Description: "Premium",
		CreatedAt:   payments.Clock.Now(),
	}
}

// TestPayments runs the suite for payments against a scripted server.
func TestPayments(t *testing.T) {
	t.Parallel()
	conformance.Payments(t, func(t testing.TB) conformance.PaymentProvider {
		_, server, clk := start(t)
		card := func(kind string) func() string { return func() string { return server.NewMethod(kind) } }

		return conformance.PaymentProvider{
			Connect: func() billing.Payments {
				p, err := Open("stripe:?api_base="+server.URL, options(clk))
				require.NoError(t, err)
				return p
			},
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

// TestCharge_LostAnswer_IsOnePayment checks that a customer is not charged twice if the response
// to a charge was lost, even after Stripe has deleted the idempotency key (24 hours): the
// payment is found by its metadata.
func TestCharge_LostAnswer_IsOnePayment(t *testing.T) {
	t.Parallel()

	payments, server, clk := start(t)
	bill := attached(t, payments, server, kit.CardGood)
	server.DropResponses("POST /v1/payment_intents", 100)

	_, err := payments.Charge(t.Context(), bill)
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
	require.NotContains(t, err.Error(), "hidden")
	server.DropResponses("POST /v1/payment_intents", 0)
	clk.Advance(48 * time.Hour) // Stripe has deleted the idempotency key
	server.DeleteIdempotencyKeys()

	receipt, err := payments.Charge(t.Context(), bill)
	require.NoError(t, err)
	require.Equal(t, 1, server.Count("pi"))
	require.Equal(t, server.Intents(key)[0]["id"], receipt)
}

// TestCharge_Action_HasWhatTheClientNeeds checks that a card that requires authentication (3-D
// Secure) returns what a client needs to show it, with or without Stripe's script.
func TestCharge_Action_HasWhatTheClientNeeds(t *testing.T) {
	t.Parallel()

	p, server, _ := start(t)
	_, err := p.Charge(t.Context(), attached(t, p, server, kit.CardSecure))
	var action *billing.ActionRequiredError
	require.ErrorAs(t, err, &action)

	id := server.Intents(key)[0]["id"].(string)
	require.Equal(
		t,
		billing.Action{
			Type:           billing.ConfirmPayment,
			ClientSecret:   id + "_secret_x",
			RedirectURL:    server.URL + "/3ds/" + id,
			PublishableKey: "pk_test_1",
		},
		action.Action,
	)
}

// TestCharge_FailedAuthentication_IsDeclinedForGood checks that a payment whose authentication
// failed is cancelled. Otherwise the client could still complete it after the bill counts as
// unpaid.
func TestCharge_FailedAuthentication_IsDeclinedForGood(t *testing.T) {
	t.Parallel()

	payments, server, _ := start(t)
	bill := attached(t, payments, server, kit.CardSecure)
	_, err := payments.Charge(t.Context(), bill)
	require.ErrorIs(t, err, billing.ErrActionRequired)
	// The payer fails to authenticate. Each repetition of the charge is declined.
	server.FinishAuthentication(key, "requires_payment_method")

	for range 2 {
		_, err = payments.Charge(t.Context(), bill)
		require.ErrorIs(t, err, billing.ErrDeclined)
	}

	require.Equal(t, "canceled", server.Intents(key)[0]["status"], "the client can't pay it with another card")
}

// TestCharge_Processing_IsUnderWay checks that a payment that the bank is processing is neither
// repeated nor cancelled, until its outcome is known.
func TestCharge_Processing_IsUnderWay(t *testing.T) {
	t.Parallel()

	payments, server, _ := start(t)
	bill := attached(t, payments, server, kit.CardSecure)
	_, err := payments.Charge(t.Context(), bill)
	require.ErrorIs(t, err, billing.ErrActionRequired)
	server.FinishAuthentication(key, "processing")

	_, err = payments.Charge(t.Context(), bill)
	require.ErrorIs(t, err, billing.ErrUnderWay)

	// Abandoning the payment does not cancel it either, because the bank may still complete it.
	bill.Abandon = true
	_, err = payments.Charge(t.Context(), bill)
	require.ErrorIs(t, err, billing.ErrUnderWay, "it can't be cancelled")
	server.FinishAuthentication(key, "succeeded")

	_, err = payments.Charge(t.Context(), bill)
	require.NoError(t, err)
}

// TestCharge_DetachedMethod_IsDeclinedOnceTheSearchIsCurrent checks that a charge with a deleted
// card is declined only after settleTime: Stripe's search may not yet contain an earlier payment
// of the bill.
func TestCharge_DetachedMethod_IsDeclinedOnceTheSearchIsCurrent(t *testing.T) {
	t.Parallel()

	payments, server, clk := start(t)
	bill := attached(t, payments, server, kit.CardGood)
	require.NoError(t, payments.Forget(t.Context(), owner))

	_, err := payments.Charge(t.Context(), bill)
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
	clk.Advance(settleTime)

	_, err = payments.Charge(t.Context(), bill)
	require.ErrorIs(t, err, billing.ErrDeclined)
	require.Zero(t, server.Count("pi"))
}

// TestAttach_AnotherCustomersMethod_IsUnknown checks that the card of another customer cannot be
// used, and that Forget deletes one customer only.
func TestAttach_AnotherCustomersMethod_IsUnknown(t *testing.T) {
	t.Parallel()

	payments, server, _ := start(t)
	bill := attached(t, payments, server, kit.CardGood)
	_, err := payments.Attach(t.Context(), billing.Owner{Kind: billing.Application, ID: ownerID}, bill.MethodID)
	require.Equal(t, billing.ErrUnknownMethod.Fields, fault.Of(err).Fields)
	// Each of the two owners is a customer. Forgetting one leaves the other, and an unknown owner is no error.
	require.Equal(t, 2, server.Count("cus"))
	require.NoError(t, payments.Forget(t.Context(), owner))
	require.Equal(t, 1, server.Count("cus"))
	require.NoError(t, payments.Forget(t.Context(), billing.Owner{Kind: billing.User, ID: key}), "an unknown owner")
	require.Equal(t, 1, server.Count("cus"))
}

// TestSetUp_ReturnsTheSecretForTheClient checks that a set-up creates a customer, and returns the secret and the
// publishable key with which a client collects a card.
func TestSetUp_ReturnsTheSecretForTheClient(t *testing.T) {
	t.Parallel()

	p, server, _ := start(t)
	action, err := p.SetUp(t.Context(), owner)
	require.NoError(t, err)
	require.Regexp(t, `^seti_\d+_secret_x$`, action.ClientSecret)
	require.Equal(t, "pk_test_1", action.PublishableKey)
	require.Equal(t, 1, server.Count("cus"))
}

// TestParseNotice checks the signature of Stripe's webhooks: both secrets are accepted during a
// rotation, a notice is valid for five minutes, and events about nothing that this service knows
// are ignored.
func TestParseNotice(t *testing.T) {
	t.Parallel()

	payments, server, clk := start(t)
	_, err := payments.Charge(t.Context(), attached(t, payments, server, kit.CardSecure))
	require.ErrorIs(t, err, billing.ErrActionRequired)

	parse := func(body []byte, signature string) (billing.Notice, error) {
		return payments.ParseNotice(func(name string) string {
			require.Equal(t, "Stripe-Signature", name)
			return signature
		}, body)
	}

	for _, secret := range []string{kit.StripeSecret, "whsec_old"} {
		body, signature := server.SignedEvent("payment_intent.succeeded", key, secret)
		n, err := parse(body, signature)
		require.NoError(t, err)
		require.Equal(t, billing.Notice{Key: key, Owner: owner}, n)

		for _, wrong := range []string{
			"",
			"t=1",
			"v1=00",
			strings.Replace(signature, "v1=", "v1=0", 1),
			strings.Replace(signature, "v1=", "v0=", 1),
			signature[:len(signature)-2] + "zz",
		} {
			_, err = parse(body, wrong)
			require.ErrorIs(t, err, billing.ErrBadNotice, wrong)
		}

		// The signature does not fit a changed body.
		_, err = parse(append(body, ' '), signature)
		require.ErrorIs(t, err, billing.ErrBadNotice)
		clk.Advance(6 * time.Minute)

		_, err = parse(body, signature)
		require.ErrorIs(t, err, billing.ErrBadNotice, "too old")

		_, err = parse(body, fmt.Sprintf("t=%d,%s", clk.Now().Unix(), signature))
		require.ErrorIs(t, err, billing.ErrBadNotice, "too old, with another timestamp")
		clk.Advance(-12 * time.Minute)

		_, err = parse(body, signature)
		require.ErrorIs(t, err, billing.ErrBadNotice, "from the future")
		clk.Advance(6 * time.Minute)
	}

	// An event that is not about a payment is accepted and contains nothing.
	n, err := parse(server.SignedEvent("balance.available", "none", kit.StripeSecret))
	require.NoError(t, err)
	require.Zero(t, n)

	payments.WebhookSecrets = nil
	_, err = parse(server.SignedEvent("payment_intent.succeeded", key, ""))
	require.ErrorIs(t, err, billing.ErrNoNotices, "an empty secret verifies nothing")
}

// TestPing checks that a refused key is reported without the key, and that health checks do not
// call Stripe each time.
func TestPing(t *testing.T) {
	t.Parallel()

	p, server, clk := start(t)
	require.NoError(t, p.Ping(t.Context()))
	require.NoError(t, p.Ping(t.Context()))
	require.Len(t, server.Requests, 1, "health checks share a result")

	o := options(clk)
	o.SecretKey = "rk_live_hidden"
	other, err := Open("stripe:?api_base="+server.URL, o)
	require.NoError(t, err)

	err = other.Ping(t.Context())
	require.ErrorContains(t, err, "status 401")
	require.NotContains(t, err.Error(), "hidden")
}

// TestOpen_BadSettings_AreRefused checks that a secret in the wrong setting is refused and not
// repeated in the error. "hidden" is each secret.
func TestOpen_BadSettings_AreRefused(t *testing.T) {
	t.Parallel()

	for _, address := range []string{
		"stripe://host", "stripe:sk_test_hidden", "stripe:?key=sk_test_hidden",
		"stripe:?api_base=host", "stripe:?api_base=ftp://host", "stripe:?api_base=%zz",
	} {
		_, err := Open(address, options(kit.NewClock()))
		require.ErrorContains(t, err, "want stripe:", address)
		require.NotContains(t, err.Error(), "hidden")
	}

	for _, secret := range []string{"", "pk_test_hidden"} {
		_, err := Open("stripe:", Options{SecretKey: secret})
		require.ErrorContains(t, err, "payments.stripe_key")
		require.NotContains(t, err.Error(), "hidden")
	}

	for _, secret := range []string{"", " whsec_a", "hidden"} {
		_, err := Open("stripe:", Options{SecretKey: "sk_test", WebhookSecrets: []string{"whsec_a", secret}})
		require.ErrorContains(t, err, "payments.webhook_secrets")
		require.NotContains(t, err.Error(), "hidden")
	}
}

// TestErrors_HoldNoSecrets checks that neither the log nor the response contains the secret key
// or the secrets of payments. An amount of 0 is refused by Stripe.
func TestErrors_HoldNoSecrets(t *testing.T) {
	t.Parallel()

	p, server, _ := start(t)
	bill := attached(t, p, server, kit.CardGood)
	bill.Amount.Minor = 0
	_, err := p.Charge(t.Context(), bill)
	require.ErrorContains(t, err, "parameter_invalid")

	text, failed := json.Marshal(fault.Of(err))
	require.NoError(t, failed)
	require.NotContains(t, err.Error()+string(text), "secret")
}
