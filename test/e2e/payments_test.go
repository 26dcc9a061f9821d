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

// keyOfPayment returns the key of the payment that the response asks the user to confirm. Stripe forms the client secret in
// the response from the id of the payment: ID_secret_RANDOM.
func keyOfPayment(stripe *kit.Stripe, pending *response) string {
	pending.t.Helper()

	id, _, _ := strings.Cut(pending.text("data.action.clientSecret"), "_secret")

	return stripe.ChargeKey(id)
}

// confirmLink matches the link to the page of the bank.
var confirmLink = regexp.MustCompile(`<a href="([^"]+)">Confirm the payment</a>`)

// stripeWebhook is a webhook of Stripe with the status that the server must respond with.
type stripeWebhook struct {
	body       []byte
	signature  string
	wantStatus int
}

// newWebhook returns a webhook about the payment, which the server accepts.
func newWebhook(stripe *kit.Stripe, event, key, secret string) stripeWebhook {
	body, signature := stripe.SignedEvent(event, key, secret)
	return stripeWebhook{body: body, signature: signature, wantStatus: 200}
}

// webhooksOfPendingPayment returns the webhooks that the server may receive while the payer confirms the payment: Stripe
// asks for the confirmation, and reports that a first attempt failed.
func webhooksOfPendingPayment(stripe *kit.Stripe, key string) []stripeWebhook {
	return []stripeWebhook{
		newWebhook(stripe, "payment_intent.requires_action", key, kit.StripeSecret),
		newWebhook(stripe, "payment_intent.payment_failed", key, kit.StripeSecret),
	}
}

// requirePlanIsUnchanged delivers the webhooks while the payment of the jobseeker is pending. It requires that they do not
// change the plan, whatever they report: the content of a webhook is not trusted, and only makes the server read the
// payment from Stripe.
func (a *account) requirePlanIsUnchanged(webhooks []stripeWebhook) {
	a.t.Helper()

	for _, webhook := range webhooks {
		require.Equal(a.t, webhook.wantStatus, a.server.deliver(a.t, webhook.body, webhook.signature), "%s", webhook.body)
		require.Equal(a.t, "basic", a.tier(), "%s", webhook.body)
	}
}

// withInvalidSignatures returns the webhook with a wrong and with no signature, which the server refuses.
func (w stripeWebhook) withInvalidSignatures() []stripeWebhook {
	forgedSignature := strings.Replace(w.signature, "v1=", "v1=00", 1)

	return []stripeWebhook{
		{body: w.body, signature: forgedSignature, wantStatus: 400},
		{body: w.body, signature: "", wantStatus: 400},
	}
}

// webhooksOfSucceededPayment returns the webhooks of a payment that succeeds, signed with each of the two secrets.
func webhooksOfSucceededPayment(stripe *kit.Stripe, key string) (webhooks []stripeWebhook) {
	for _, kind := range []string{"created", "processing", "succeeded"} {
		for _, secret := range []string{kit.StripeSecret, nextStripeSecret} {
			webhooks = append(webhooks, newWebhook(stripe, "payment_intent."+kind, key, secret))
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
// one request creates one payment. The key of a payment is the one with which the server creates it in Stripe.
func TestStripe_RepeatedAndReorderedWebhooks_LoseNothing(t *testing.T) {
	withStripe(t, func(t *testing.T, server *testServer, stripe *kit.Stripe) {
		t.Run("webhooks in any order, repeated, forged and concurrent begin the plan once", func(t *testing.T) {
			t.Parallel()

			const randomOrders = 3
			for range randomOrders {
				seeker := server.seeker(t)
				key := seeker.beginPayment(stripe)

				// Before the payment succeeds, webhooks change nothing, neither during the confirmation nor after it.
				ofPending := webhooksOfPendingPayment(stripe, key)
				seeker.requirePlanIsUnchanged(ofPending)
				stripe.FinishAuthentication(key, "processing")
				seeker.requirePlanIsUnchanged(ofPending[:1])

				// After the payment has succeeded, the earlier webhooks arrive again, among those of the success.
				stripe.FinishAuthentication(key, "succeeded")

				webhooks := slices.Concat(
					ofPending,
					ofPending[0].withInvalidSignatures(),
					webhooksOfSucceededPayment(stripe, key),
				)
				server.deliverShuffled(t, slices.Concat(webhooks, webhooks, webhooks)) // each three times
				seeker.requirePremium(stripe, key)
			}
		})

		t.Run("lost webhook: the server finds the payment", func(t *testing.T) {
			t.Parallel()

			seeker := server.seeker(t)
			key := seeker.beginPayment(stripe)
			stripe.FinishAuthentication(key, "succeeded")

			// The server finds the payment by itself, because it asks Stripe for pending payments from time to time.
			isPremium := func() bool { return seeker.tier() == "premium" }
			require.Eventually(t, isPremium, 5*time.Minute, time.Second, "pending payments are polled")
			seeker.requirePremium(stripe, key)
		})

		t.Run("payer who returns before the webhook begins the plan", func(t *testing.T) {
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

		t.Run("failed authentication cancels the payment and sends one e-mail", func(t *testing.T) {
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

		t.Run("plan of an app begins with its payment, and is one entry in the audit log", func(t *testing.T) {
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

			key := keyOfPayment(stripe, res)
			stripe.FinishAuthentication(key, "succeeded")

			body, signature := stripe.SignedEvent("payment_intent.succeeded", key, kit.StripeSecret)
			for range 3 { // repeated webhooks make no second entry in the audit log
				require.Equal(t, 200, server.deliver(t, body, signature))
			}

			isProfessional := func() bool { return boss.fromNewAddress().get(path).ok(200).text("data.app.plan") == "professional" }
			require.Eventually(t, isProfessional, waitTimeout, 100*time.Millisecond)
			require.Equal(t,
				[]auditEntry{{action: "plan.changed", actorID: boss.id, object: app, detail: "professional"}},
				boss.auditEntries("&action=plan.changed"))
		})

		// The stored response is repeated even when the payment has succeeded meanwhile.
		t.Run("repeated request with an Idempotency-Key gets the stored response, and creates no payment", func(t *testing.T) {
			t.Parallel()

			seeker := server.seeker(t)
			app := seeker.app()

			// A plan of the user, and a plan of an app. Each owner has payments of its own.
			for _, request := range []struct {
				owner string
				path  string
				body  object
			}{
				{
					owner: "user:" + seeker.id,
					path:  billingPath,
					body: object{
						"intent":          "create-subscription",
						"planId":          "premium",
						"paymentMethodId": stripe.NewMethod(kit.CardSecure),
					},
				},
				{
					owner: "application:" + app,
					path:  "/api/developers/apps/" + app + "/plan",
					body:  object{"plan": "professional", "paymentMethodId": stripe.NewMethod(kit.CardSecure)},
				},
			} {
				countPayments := func() int { return stripe.CountOwned("pi", request.owner) } // "pi" is their prefix in Stripe

				send := func(idempotencyKey string) *response {
					client := seeker.fromNewAddress()
					client.key = idempotencyKey
					return client.post(request.path, request.body)
				}

				// One request begins one payment of the owner, however often it is repeated with its idempotency key.
				const idempotencyKey, otherIdempotencyKey = "k1", "k2"

				first := send(idempotencyKey).ok(202)
				key := keyOfPayment(stripe, first)

				requireStoredResponse := func() {
					t.Helper()

					repeated := send(idempotencyKey).ok(202)
					require.Equal(t, string(first.raw), string(repeated.raw), request.owner)
					require.Equal(t, "true", repeated.header.Get("Idempotency-Replayed"), request.owner)
					require.Equal(t, 1, countPayments(), request.owner)
				}

				requireStoredResponse()

				// The payment succeeds. The stored response stays, and a request with another idempotency key reads the result.
				stripe.FinishAuthentication(key, "succeeded")

				webhook, signature := stripe.SignedEvent("payment_intent.succeeded", key, kit.StripeSecret)
				require.Equal(t, 200, server.deliver(t, webhook, signature))
				requireStoredResponse()
				require.NotContains(t, string(send(otherIdempotencyKey).ok(200).raw), "action", request.owner)
				require.Equal(t, 1, countPayments(), request.owner)
			}

			billing := seeker.fromNewAddress().get(billingPath).ok(200)
			seeker.requirePremium(stripe, billing.text("data.billing.billingHistory.0.id"))

			planOfApp := seeker.fromNewAddress().get("/api/developers/apps/" + app).ok(200).text("data.app.plan")
			require.Equal(t, "professional", planOfApp)
		})

		t.Run("page of an app asks for the confirmation, and then begins the plan", func(t *testing.T) {
			t.Parallel()

			developer := server.seeker(t)
			app := developer.app()
			path := "/developers/apps/" + app
			browser := server.signedIn(t, developer)
			choosePlan := func(method string) pageView {
				return browser.open("POST", path+"/plan", url.Values{"plan": {"professional"}, "paymentMethodId": {method}})
			}

			const sameMethod = "" // as in the choice before

			// The choice of a card that needs a confirmation does not change the plan, which permits 60 requests a minute.
			method := stripe.NewMethod(kit.CardSecure)
			page := choosePlan(method)
			require.Equal(t, 200, page.status)
			require.Contains(t, page.text, "Your bank asks you to confirm this payment. Your plan changes once you have.")
			require.Contains(t, page.text, "60 of 60 are left")

			// The page links to the page of the bank, whose address ends with the id of the payment.
			link := confirmLink.FindStringSubmatch(page.text)
			require.NotNil(t, link, page.text)

			id, isPageOfBank := strings.CutPrefix(html.UnescapeString(link[1]), stripe.URL+"/3ds/")
			require.True(t, isPageOfBank, link[1])
			require.Contains(t, choosePlan(method).text, link[0], "the same payment can be confirmed later")
			require.Contains(t, choosePlan(sameMethod).text, link[0], "the same payment can be confirmed later")

			// The page of the app itself has no such link.
			require.NotContains(t, browser.open("GET", path, nil).text, link[0])

			stripe.FinishAuthentication(stripe.ChargeKey(id), "succeeded")

			// After the confirmation, the choice begins the plan with 300 requests a minute, for one payment.
			require.Equal(t, 303, choosePlan(sameMethod).status)

			pageWithPlan := browser.open("GET", path, nil).text
			require.Contains(t, pageWithPlan, "of 300 are left")
			require.NotContains(t, pageWithPlan, "Confirm the payment")
			require.Equal(t, 1, stripe.CountOwned("pi", "application:"+app))
		})

		t.Run("set-up collects a card without a payment", func(t *testing.T) {
			t.Parallel()

			// "seti_" is the prefix of a set-up in Stripe.
			setUp := server.seeker(t).fromNewAddress().post("/api/billing/setup-intents", nil).ok(200)
			require.Contains(t, setUp.text("data.action.clientSecret"), "seti_")
			require.Equal(t, "pk_test_shown", setUp.text("data.action.publishableKey"))
		})

		// choosePremium sends the choice of the premium plan with the payment method.
		choosePremium := func(seeker *account, method string) *response {
			return seeker.fromNewAddress().
				post(billingPath, object{"intent": "create-subscription", "planId": "premium", "paymentMethodId": method})
		}

		t.Run("unknown method and declined card are refused", func(t *testing.T) {
			t.Parallel()

			seeker := server.seeker(t)
			choosePremium(seeker, "pm_none").invalid("paymentMethodId")
			choosePremium(seeker, stripe.NewMethod(kit.CardRefused)).
				fails(400, "The payment was declined; please try another payment method")

			// Afterwards, a good card begins the plan. All payments are those of one customer in Stripe.
			paid := choosePremium(seeker, stripe.NewMethod(kit.CardGood)).ok(200)
			require.Equal(t, "premium", paid.text("data.subscription.tier"))
			require.Equal(t, 1, stripe.CountOwned("cus", "user:"+seeker.id))
		})

		t.Run("deletion of the account deletes its customer in Stripe", func(t *testing.T) {
			t.Parallel()

			seeker := server.seeker(t)
			countCustomers := func() int { return stripe.CountOwned("cus", "user:"+seeker.id) }

			choosePremium(seeker, stripe.NewMethod(kit.CardGood)).ok(200)
			require.Equal(t, 1, countCustomers())

			seeker.fromNewAddress().delete("/api/jobseekers/profile").ok(200)
			require.Eventually(t, func() bool { return countCustomers() == 0 }, waitTimeout, 100*time.Millisecond)
		})
	})
}
