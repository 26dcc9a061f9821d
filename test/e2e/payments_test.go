package e2e

import (
	"bytes"
	"html"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// nextStripeSecret is the webhook secret that replaces kit.StripeSecret in a rotation.
const nextStripeSecret = "whsec_next"

// withStripe runs the test with servers that collect payments with a fake Stripe, which the
// test scripts. Two webhook secrets are valid, as during a rotation.
func withStripe(t *testing.T, test func(t *testing.T, server *testServer, stripe *kit.Stripe)) {
	t.Helper()

	stripe := kit.NewStripe(t, time.Now)
	onEachSetup(t, func(t *testing.T, server *testServer) { test(t, server, stripe) },
		"LOCUM_PAYMENTS_URL=stripe:?api_base="+stripe.URL,
		"LOCUM_PAYMENTS_STRIPE_KEY=sk_test_hidden",
		"LOCUM_PAYMENTS_PUBLISHABLE_KEY=pk_test_shown",
		"LOCUM_PAYMENTS_WEBHOOK_SECRETS="+nextStripeSecret+","+kit.StripeSecret)
}

// deliver sends a webhook of Stripe and returns the status of the response. It may run in
// goroutines, so that it reports errors without ending the test.
func (s *testServer) deliver(t testing.TB, body []byte, signature string) int {
	request, err := http.NewRequest(http.MethodPost, s.url+"/api/payments/webhooks", bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0
	}

	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	request.Header.Set("Stripe-Signature", signature)

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Error(err)
		return 0
	}

	_ = response.Body.Close()

	return response.StatusCode
}

// beginPayment chooses the premium plan with a card that needs 3-D Secure, and returns the key of
// the payment, which is pending until the payer confirms it.
func (a *account) beginPayment(stripe *kit.Stripe) (key string) {
	a.t.Helper()

	pending := a.fromNewAddress().
		post(billingPath, object{
			"intent":          "create-subscription",
			"planId":          "premium",
			"paymentMethodId": stripe.NewMethod(kit.CardSecure),
		}).
		ok(202)
	require.Equal(a.t, "basic", pending.text("data.subscription.tier"))
	require.Equal(a.t, "pk_test_shown", pending.text("data.action.publishableKey"))
	require.Contains(a.t, pending.text("data.action.redirectUrl"), stripe.URL+"/3ds/")

	history := a.fromNewAddress().get(billingPath).ok(200)
	key = history.text("data.billing.billingHistory.0.id")
	require.Len(a.t, stripe.Intents(key), 1)

	return key
}

// tier returns the plan of the jobseeker.
func (a *account) tier() string {
	return a.fromNewAddress().get(billingPath).ok(200).text("data.billing.subscription.tier")
}

// requirePremium requires that the jobseeker has the premium plan, and that the payment was
// collected and reported once.
func (a *account) requirePremium(stripe *kit.Stripe, key string) {
	a.t.Helper()

	billing := a.fromNewAddress().get(billingPath).ok(200)
	require.Equal(a.t, "premium", billing.text("data.billing.subscription.tier"))
	require.Len(a.t, billing.list("data.billing.billingHistory"), 1)
	require.Equal(a.t, "paid", billing.text("data.billing.billingHistory.0.status"))
	require.Len(a.t, stripe.Intents(key), 1)
	require.Equal(a.t, "succeeded", stripe.Intents(key)[0]["status"])
	require.Equal(a.t, "Your plan has begun", a.waitForNotifications(1)[0].message)
	a.server.waitForMail(a.t, a.email, "Your Premium plan has begun")
	require.Len(a.t, a.server.messagesTo(a.t, a.email, "Your Premium plan has begun"), 1)
}

// confirmLink matches the link to the page of the bank.
var confirmLink = regexp.MustCompile(`<a href="([^"]+)">Confirm the payment</a>`)

// stripeWebhook is a webhook of Stripe with the status that the server must respond with.
type stripeWebhook struct {
	body       []byte
	signature  string
	wantStatus int
}

// webhooksOfPendingPayment delivers webhooks while the payment of the jobseeker is pending. It requires that
// they do not change the plan, whatever they report: a webhook only makes the server read the payment from
// Stripe. It returns them for later deliveries, and with them the same webhooks with a wrong and with no
// signature, which the server refuses.
func webhooksOfPendingPayment(t *testing.T, seeker *account, stripe *kit.Stripe, key string) []stripeWebhook {
	t.Helper()

	server := seeker.server
	stale, staleSignature := stripe.SignedEvent("payment_intent.requires_action", key, kit.StripeSecret)
	require.Equal(t, 200, server.deliver(t, stale, staleSignature))

	failed, failedSignature := stripe.SignedEvent("payment_intent.payment_failed", key, kit.StripeSecret)
	require.Equal(t, 200, server.deliver(t, failed, failedSignature), "the content of a webhook is not trusted")
	require.Equal(t, "basic", seeker.tier())

	stripe.FinishAuthentication(key, "processing")
	require.Equal(t, 200, server.deliver(t, stale, staleSignature))
	require.Equal(t, "basic", seeker.tier())

	forgedSignature := strings.Replace(staleSignature, "v1=", "v1=00", 1)

	return []stripeWebhook{
		{body: stale, signature: staleSignature, wantStatus: 200},
		{body: failed, signature: failedSignature, wantStatus: 200},
		{body: stale, signature: forgedSignature, wantStatus: 400},
		{body: stale, signature: "", wantStatus: 400},
	}
}

// webhooksOfPayment returns the webhooks of a payment that succeeds, signed with each of the two secrets.
func webhooksOfPayment(stripe *kit.Stripe, key string) (webhooks []stripeWebhook) {
	for _, kind := range []string{"created", "processing", "succeeded"} {
		for _, secret := range []string{kit.StripeSecret, nextStripeSecret} {
			body, signature := stripe.SignedEvent("payment_intent."+kind, key, secret)
			webhooks = append(webhooks, stripeWebhook{body: body, signature: signature, wantStatus: 200})
		}
	}

	return webhooks
}

// deliverShuffled delivers the webhooks in a random order, by four senders at the same time, and requires the
// status of each.
func (s *testServer) deliverShuffled(t *testing.T, webhooks []stripeWebhook) {
	t.Helper()

	rand.Shuffle(len(webhooks), func(i, j int) { webhooks[i], webhooks[j] = webhooks[j], webhooks[i] })

	queue := make(chan stripeWebhook, len(webhooks))
	for _, webhook := range webhooks {
		queue <- webhook
	}

	close(queue)

	const senders = 4

	var group sync.WaitGroup
	for range senders {
		group.Go(func() {
			for webhook := range queue {
				if status := s.deliver(t, webhook.body, webhook.signature); status != webhook.wantStatus {
					t.Errorf("%s: %d, not %d", webhook.body, status, webhook.wantStatus)
				}
			}
		})
	}

	group.Wait()
}

// TestStripe_RepeatedAndReorderedWebhooks_LoseNothing checks that a payment is collected and
// reported exactly once, whether its webhooks are repeated, reordered, forged or lost, and that
// one request creates one payment.
func TestStripe_RepeatedAndReorderedWebhooks_LoseNothing(t *testing.T) {
	withStripe(t, func(t *testing.T, server *testServer, stripe *kit.Stripe) {
		t.Run("any order, repeated and concurrent", func(t *testing.T) {
			t.Parallel()

			const randomOrders = 3
			for range randomOrders {
				seeker := server.seeker(t)
				key := seeker.beginPayment(stripe)

				webhooks := webhooksOfPendingPayment(t, seeker, stripe, key)
				stripe.FinishAuthentication(key, "succeeded")

				webhooks = append(webhooks, webhooksOfPayment(stripe, key)...)
				server.deliverShuffled(t, slices.Concat(webhooks, webhooks, webhooks)) // each three times
				seeker.requirePremium(stripe, key)
			}
		})

		t.Run("lost webhook", func(t *testing.T) {
			t.Parallel()

			seeker := server.seeker(t)
			key := seeker.beginPayment(stripe)
			stripe.FinishAuthentication(key, "succeeded")

			// The server finds the payment by itself, because it asks Stripe for pending payments from time to time.
			isPremium := func() bool { return seeker.tier() == "premium" }
			require.Eventually(t, isPremium, 5*time.Minute, time.Second, "pending payments are polled")
			seeker.requirePremium(stripe, key)
		})

		t.Run("payer who returns before the webhook", func(t *testing.T) {
			t.Parallel()

			seeker := server.seeker(t)
			key := seeker.beginPayment(stripe)
			stripe.FinishAuthentication(key, "succeeded")

			// The payer sends the same choice again, without a method. The server reads the payment and begins the plan. The
			// webhook that follows changes nothing.
			returned := seeker.fromNewAddress().
				post(billingPath, object{"intent": "create-subscription", "planId": "premium"}).
				ok(200)
			require.Equal(t, "premium", returned.text("data.subscription.tier"))

			body, signature := stripe.SignedEvent("payment_intent.succeeded", key, kit.StripeSecret)
			require.Equal(t, 200, server.deliver(t, body, signature))
			seeker.requirePremium(stripe, key)
		})

		t.Run("failed authentication", func(t *testing.T) {
			t.Parallel()

			seeker := server.seeker(t)
			key := seeker.beginPayment(stripe)
			stripe.FinishAuthentication(key, "requires_payment_method")

			for range 3 { // repeated webhooks send no second e-mail
				body, signature := stripe.SignedEvent("payment_intent.payment_failed", key, kit.StripeSecret)
				require.Equal(t, 200, server.deliver(t, body, signature))
			}

			require.Equal(t, "failed", seeker.fromNewAddress().get(billingPath).ok(200).text("data.billing.billingHistory.0.status"))
			require.Equal(t, "canceled", stripe.Intents(key)[0]["status"])
			server.waitForMail(t, seeker.email, "Your payment did not work")
			require.Len(t, server.messagesTo(t, seeker.email, "Your payment did not work"), 1)
		})

		t.Run("plan of an app", func(t *testing.T) {
			t.Parallel()

			boss := server.employer(t)
			app := boss.app()
			path := "/api/developers/apps/" + app
			res := boss.fromNewAddress().
				post(path+"/plan", object{"plan": "professional", "paymentMethodId": stripe.NewMethod(kit.CardSecure)}).
				ok(202)

			// Until the payment is confirmed, the app keeps its plan, and the audit log has no entry.
			require.Equal(t, "free", res.text("data.plan"))
			require.Empty(t, boss.auditEntries("&action=plan.changed"))

			// Stripe forms a client secret from the id of the payment: ID_secret_RANDOM.
			id, _, _ := strings.Cut(res.text("data.action.clientSecret"), "_secret")
			key := stripe.ChargeKey(id)
			stripe.FinishAuthentication(key, "succeeded")

			body, signature := stripe.SignedEvent("payment_intent.succeeded", key, kit.StripeSecret)
			for range 3 { // repeated webhooks make no second entry in the audit log
				require.Equal(t, 200, server.deliver(t, body, signature))
			}

			require.Eventually(t,
				func() bool { return boss.fromNewAddress().get(path).ok(200).text("data.app.plan") == "professional" },
				waitTimeout, 100*time.Millisecond)
			require.Equal(t,
				[]auditEntry{{action: "plan.changed", actorID: boss.id, object: app, detail: "professional"}},
				boss.auditEntries("&action=plan.changed"))
		})

		// The stored response is repeated even when the payment has succeeded meanwhile.
		t.Run("repeated request with an Idempotency-Key", func(t *testing.T) {
			t.Parallel()

			seeker := server.seeker(t)

			app := seeker.app()
			for owner, request := range map[string]struct {
				path string
				body object
			}{
				"user:" + seeker.id: {
					path: billingPath,
					body: object{
						"intent":          "create-subscription",
						"planId":          "premium",
						"paymentMethodId": stripe.NewMethod(kit.CardSecure),
					},
				},
				"application:" + app: {
					path: "/api/developers/apps/" + app + "/plan",
					body: object{"plan": "professional", "paymentMethodId": stripe.NewMethod(kit.CardSecure)},
				},
			} {
				send := func(idempotencyKey string) *response {
					client := seeker.fromNewAddress()
					client.key = idempotencyKey
					return client.post(request.path, request.body)
				}

				// One request begins one payment of the owner, "pi" in Stripe, however often it is repeated with its key.
				first := send("k1").ok(202)
				id, _, _ := strings.Cut(first.text("data.action.clientSecret"), "_secret")
				key := stripe.ChargeKey(id)

				requireRepeated := func() {
					t.Helper()

					again := send("k1").ok(202)
					require.Equal(t, string(first.raw), string(again.raw))
					require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
					require.Equal(t, 1, stripe.CountOwned("pi", owner))
				}

				requireRepeated()
				stripe.FinishAuthentication(key, "succeeded")

				webhook, signature := stripe.SignedEvent("payment_intent.succeeded", key, kit.StripeSecret)
				require.Equal(t, 200, server.deliver(t, webhook, signature))
				requireRepeated()
				require.NotContains(t, string(send("k2").ok(200).raw), "action", "another key reads the result")
				require.Equal(t, 1, stripe.CountOwned("pi", owner))
			}

			seeker.requirePremium(stripe, seeker.fromNewAddress().get(billingPath).ok(200).text("data.billing.billingHistory.0.id"))
			require.Equal(t, "professional", seeker.fromNewAddress().get("/api/developers/apps/"+app).ok(200).text("data.app.plan"))
		})

		t.Run("plan of an app on its page", func(t *testing.T) {
			t.Parallel()

			developer := server.seeker(t)
			app := developer.app()
			path := "/developers/apps/" + app
			browser := server.signedIn(t, developer)
			choosePlan := func(method string) pageView {
				return browser.open("POST", path+"/plan", url.Values{"plan": {"professional"}, "paymentMethodId": {method}})
			}
			method := stripe.NewMethod(kit.CardSecure)
			page := choosePlan(method)
			require.Equal(t, 200, page.status)
			require.Contains(t, page.text, "Your bank asks you to confirm this payment. Your plan changes once you have.")
			require.Contains(t, page.text, "60 of 60 are left")

			// The page links to the page of the bank, whose address ends with the id of the payment.
			link := confirmLink.FindStringSubmatch(page.text)
			require.NotNil(t, link, page.text)

			id, ok := strings.CutPrefix(html.UnescapeString(link[1]), stripe.URL+"/3ds/")
			require.True(t, ok, link[1])

			for _, method := range []string{method, ""} {
				require.Contains(t, choosePlan(method).text, link[0], "the same payment can be confirmed later")
			}

			// The page of the app itself has no such link.
			require.NotContains(t, browser.open("GET", path, nil).text, link[0])

			stripe.FinishAuthentication(stripe.ChargeKey(id), "succeeded")

			// After the confirmation, the choice begins the plan with 300 requests a minute, for one payment.
			require.Equal(t, 303, choosePlan("").status)

			done := browser.open("GET", path, nil).text
			require.Contains(t, done, "of 300 are left")
			require.NotContains(t, done, "Confirm the payment")
			require.Equal(t, 1, stripe.CountOwned("pi", "application:"+app))
		})

		t.Run("set-up, declined card and account deletion", func(t *testing.T) {
			t.Parallel()

			seeker := server.seeker(t)

			// A set-up collects a card without a payment: "seti_" is its prefix in Stripe.
			action := seeker.fromNewAddress().post("/api/billing/setup-intents", nil).ok(200)
			require.Contains(t, action.text("data.action.clientSecret"), "seti_")
			require.Equal(t, "pk_test_shown", action.text("data.action.publishableKey"))

			send := func(method string) *response {
				return seeker.fromNewAddress().
					post(billingPath, object{"intent": "create-subscription", "planId": "premium", "paymentMethodId": method})
			}

			// An unknown method and a declined card are refused. A good card begins the plan.
			send("pm_none").invalid("paymentMethodId")
			send(stripe.NewMethod(kit.CardRefused)).fails(400, "The payment was declined; please try another payment method")
			require.Equal(t, "premium", send(stripe.NewMethod(kit.CardGood)).ok(200).text("data.subscription.tier"))
			require.Equal(t, 1, stripe.CountOwned("cus", "user:"+seeker.id)) // one customer for all payments

			// Deleting the account also deletes its customer in Stripe.
			seeker.fromNewAddress().delete("/api/jobseekers/profile").ok(200)
			require.Eventually(t, func() bool { return stripe.CountOwned("cus", "user:"+seeker.id) == 0 },
				waitTimeout, 100*time.Millisecond)
		})
	})
}
