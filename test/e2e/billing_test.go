package e2e

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// billingPath is the path of a jobseeker's subscription and payments.
const billingPath = "/api/jobseekers/billing"

// TestBilling checks the subscriptions of jobseekers. The servers of the tests use the sandbox
// provider, which moves no money and decides by the id of the payment method: pm_card_declined is
// declined, pm_card_authentication_required needs a confirmation by the user, and every other id that
// begins with pm_ succeeds. The service accepts ids of payment methods and never card numbers.
//
// Each request names an operation in its member intent: create-subscription, upgrade-plan,
// update-payment-method or cancel-subscription.
func TestBilling(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("GET /api/jobseekers/billing", func(t *testing.T) {
			// A new jobseeker has the free plan, and has paid nothing.
			billing := server.seeker(t).get(billingPath).ok(200)
			require.Equal(t, object{"tier": "basic", "status": "active", "expiresAt": nil, "autoRenew": false},
				billing.at("data.billing.subscription"))
			require.Equal(t, []any{
				object{"id": "basic", "name": "Basic", "price": 0.0, "currency": "GBP", "interval": "month"},
				object{"id": "premium", "name": "Premium", "price": 9.99, "currency": "GBP", "interval": "month"},
			}, billing.at("data.billing.plans"))
			require.Empty(t, billing.list("data.billing.billingHistory"))
			require.Empty(t, billing.list("data.billing.paymentMethods"))

			server.guest(t).get(billingPath).fails(401, "Unauthorized")
			server.employer(t).get(billingPath).fails(403, "Forbidden")
		})

		t.Run("POST /api/jobseekers/billing create-subscription", func(t *testing.T) {
			seeker := server.seeker(t)
			subscribed := seeker.post(billingPath, object{
				"intent":          "create-subscription",
				"planId":          "premium",
				"paymentMethodId": "pm_card_visa",
			}).
				ok(200)
			require.NotEmpty(t, subscribed.text("message"))
			require.Equal(t, "create-subscription", subscribed.text("data.intent"))

			require.Equal(t, "premium", subscribed.text("data.subscription.tier"))
			require.Equal(t, "active", subscribed.text("data.subscription.status"))
			require.Equal(t, true, subscribed.at("data.subscription.autoRenew"))

			// The subscription is for a calendar month of 28 to 31 days, which differs from 30 days by at
			// most two. The third day allows for changes of the clocks and the duration of the test.
			const (
				monthDays = 30
				tolerance = 3 * 24 * time.Hour
			)

			expiresAt, err := time.Parse(time.RFC3339, subscribed.text("data.subscription.expiresAt"))
			require.NoError(t, err)
			require.WithinDuration(t, time.Now().AddDate(0, 0, monthDays), expiresAt, tolerance)

			// The user sees the payment and the payment method. The sandbox describes pm_card_visa as a
			// Visa card that ends with 4242 and expires in December, three years from now.
			billing := seeker.get(billingPath).ok(200)
			require.Equal(t, subscribed.at("data.subscription"), billing.at("data.billing.subscription"))
			require.Len(t, billing.list("data.billing.billingHistory"), 1)
			require.InDelta(t, 9.99, billing.number("data.billing.billingHistory.0.amount"), 0)
			require.Equal(t, "GBP", billing.text("data.billing.billingHistory.0.currency"))
			require.Equal(t, "paid", billing.text("data.billing.billingHistory.0.status"))
			require.Equal(t, "premium", billing.text("data.billing.billingHistory.0.plan"))
			require.Equal(
				t,
				object{
					"id":          "pm_card_visa",
					"brand":       "visa",
					"last4":       "4242",
					"expiryMonth": 12.0,
					"expiryYear":  float64(time.Now().UTC().Year() + 3),
					"isDefault":   true,
				},
				billing.at("data.billing.paymentMethods.0"),
			)

			// The user is notified, on the site and by e-mail.
			notification := seeker.waitForNotifications(1)[0]
			require.Equal(t, "Your plan has begun", notification.message)
			require.Equal(t, "billing", notification.kind)
			require.Contains(t, server.waitForMail(t, seeker.email, "Your Premium plan has begun"), "Premium plan")

			// The user's account and the response to a sign-in contain the status of the subscription.
			require.Equal(t, "active", seeker.get("/api/auth/me").ok(200).text("data.subscriptionStatus"))

			signedIn := server.guest(t).post("/api/auth/login", object{"email": seeker.email, "password": password}).ok(200)
			require.Equal(t, "active", signedIn.text("data.user.subscriptionStatus"))
		})

		t.Run("POST /api/jobseekers/billing create-subscription to the free plan is a cancellation", func(t *testing.T) {
			cancelled := server.seeker(t).post(billingPath, object{"intent": "create-subscription", "planId": "basic"}).ok(200)
			require.Equal(t, "Subscription cancelled successfully", cancelled.text("message"))
		})

		t.Run("POST /api/jobseekers/billing upgrade-plan, update-payment-method, cancel-subscription", func(t *testing.T) {
			seeker := server.seeker(t)
			upgrade := object{"intent": "upgrade-plan", "planId": "premium"}
			seeker.post(billingPath, upgrade).invalid("paymentMethodId") // the user has no payment method

			withMethod := seeker.post(billingPath, object{"intent": "update-payment-method", "paymentMethodId": "pm_1"}).ok(200)
			require.Equal(t, "update-payment-method", withMethod.text("data.intent"))
			require.Equal(t, "basic", withMethod.text("data.subscription.tier"))

			// The upgrade has no paymentMethodId, and is paid by the method that was set before.
			upgraded := seeker.post(billingPath, upgrade).ok(200)
			require.Equal(t, "upgrade-plan", upgraded.text("data.intent"))
			require.Equal(t, "premium", upgraded.text("data.subscription.tier"))

			withOtherMethod := seeker.post(billingPath, object{"intent": "update-payment-method", "paymentMethodId": "pm_2"}).ok(200)
			require.Equal(t, "premium", withOtherMethod.text("data.subscription.tier"))
			require.Equal(t, "pm_2", seeker.get(billingPath).ok(200).text("data.billing.paymentMethods.0.id"))

			// A cancelled plan stays until the end of the period that is paid for, and nothing
			// is refunded.
			cancelled := seeker.post(billingPath, object{"intent": "cancel-subscription"}).ok(200)
			require.Equal(t, "cancel-subscription", cancelled.text("data.intent"))
			require.Equal(t, "premium", cancelled.text("data.subscription.tier"))
			require.Equal(t, "active", cancelled.text("data.subscription.status"))
			require.Equal(t, false, cancelled.at("data.subscription.autoRenew"))
			require.NotEmpty(t, cancelled.text("data.subscription.expiresAt"))
			require.Len(t, seeker.get(billingPath).ok(200).list("data.billing.billingHistory"), 1)
		})

		t.Run("POST /api/jobseekers/billing upgrades with the method of a free plan", func(t *testing.T) {
			seeker := server.seeker(t)
			freePlan := object{"intent": "create-subscription", "planId": "basic", "paymentMethodId": "pm_card_visa"}
			require.Equal(t, "basic", seeker.post(billingPath, freePlan).ok(200).text("data.subscription.tier"))
			require.Equal(t, "pm_card_visa", seeker.get(billingPath).ok(200).text("data.billing.paymentMethods.0.id"))

			upgraded := seeker.post(billingPath, object{"intent": "upgrade-plan", "planId": "premium"}).ok(200)
			require.Equal(t, "premium", upgraded.text("data.subscription.tier"))

			// The provider also verifies a method that is sent for the free plan.
			freePlan["paymentMethodId"] = "pm_card_declined"
			seeker.post(billingPath, freePlan).fails(400, "The payment was declined; please try another payment method")
		})

		t.Run("POST /api/jobseekers/billing refuses invalid intents", func(t *testing.T) {
			seeker := server.seeker(t)

			// Each request comes from a new address, because the route limits requests by address.
			send := func(body any) *response { return seeker.fromNewAddress().post(billingPath, body) }

			// The member intent is missing or invalid.
			send(object{}).fails(400, "Intent is required")
			send(object{"planId": "premium"}).fails(400, "Intent is required")
			send(object{"intent": ""}).fails(400, "Intent is required")
			send(object{"intent": "refund"}).invalid("intent")
			send(object{"intent": 7}).invalid("intent")

			server.guest(t).post(billingPath, object{"intent": "cancel-subscription"}).fails(401, "Unauthorized")
			server.employer(t).post(billingPath, object{"intent": "cancel-subscription"}).fails(403, "Forbidden")
		})

		t.Run("POST /api/jobseekers/billing refuses invalid plans and payment methods", func(t *testing.T) {
			seeker := server.seeker(t)
			send := func(body any) *response { return seeker.fromNewAddress().post(billingPath, body) }

			// A member that the intent requires is missing or invalid.
			send(object{"intent": "create-subscription", "paymentMethodId": "pm_1"}).invalid("planId")
			send(object{"intent": "create-subscription", "planId": "platinum", "paymentMethodId": "pm_1"}).invalid("planId")
			send(object{"intent": "create-subscription", "planId": "premium"}).invalid("paymentMethodId")
			send(object{"intent": "create-subscription", "planId": "premium", "paymentMethodId": "visa"}).invalid("paymentMethodId")
			send(object{"intent": "update-payment-method"}).invalid("paymentMethodId")

			// All invalid members are reported, in the order of the body.
			twoErrors := send(json.RawMessage(`{"paymentMethodId":"visa","intent":"upgrade-plan","planId":"platinum"}`)).
				invalid("paymentMethodId")
			require.Len(t, twoErrors.list("errors"), 2)
			require.Equal(t, "planId", twoErrors.text("errors.1.field"))

			// The provider declines the method, so that the plan does not change.
			for _, intent := range []string{"create-subscription", "upgrade-plan", "update-payment-method"} {
				send(object{"intent": intent, "planId": "premium", "paymentMethodId": "pm_card_declined"}).
					fails(400, "The payment was declined; please try another payment method")
			}

			require.Equal(t, "basic", seeker.get(billingPath).ok(200).text("data.billing.subscription.tier"))
		})

		t.Run("POST /api/jobseekers/billing refuses card numbers and does not log them", func(t *testing.T) {
			seeker := server.seeker(t)
			for _, number := range []string{"5555555555554444", "5555 5555 5555 4444", "5555-5555-5555-4444"} {
				for _, body := range []object{
					{"intent": "create-subscription", "planId": "premium", "paymentMethodId": number},
					{"intent": "update-payment-method", "paymentMethodId": "pm_1", "card": object{"number": number}},
				} {
					seeker.post(billingPath, body).fails(400, "Bad Request - Invalid parameters")
				}

				require.NotContains(t, server.log.String(), number)
			}

			require.Empty(t, seeker.get(billingPath).ok(200).list("data.billing.billingHistory"), "nothing was charged")
		})

		t.Run("POST /api/jobseekers/billing is limited by address", func(t *testing.T) {
			seeker := server.seeker(t)
			const maxRequests = 10 // from one address in 15 minutes, valid or not

			for range maxRequests {
				seeker.post(billingPath, object{}).fails(400, "Intent is required")
			}

			limited := seeker.post(billingPath, object{"intent": "cancel-subscription"}).fails(429, "Rate limit exceeded")
			require.NotEmpty(t, limited.header.Get("Retry-After"))
		})

		t.Run("POST /api/jobseekers/billing concurrent requests are one charge", func(t *testing.T) {
			seeker := server.seeker(t)
			subscription := object{"intent": "create-subscription", "planId": "premium", "paymentMethodId": "pm_1"}

			const concurrentRequests = 20

			var requests sync.WaitGroup
			for range concurrentRequests {
				client := seeker.fromNewAddress() // one address may send only ten requests

				requests.Go(func() {
					subscribed := client.try("POST", billingPath, subscription)

					// One request charges the user. The others report the subscription that it created.
					if subscribed.status != 200 || !strings.Contains(string(subscribed.raw), `"tier":"premium"`) {
						t.Errorf("the response has no subscription: status %d, body %s", subscribed.status, subscribed.raw)
					}
				})
			}

			requests.Wait()
			require.Len(t, seeker.get(billingPath).ok(200).list("data.billing.billingHistory"), 1)
		})

		t.Run("POST /api/jobseekers/billing with a payment to confirm", func(t *testing.T) {
			seeker := server.seeker(t)
			toConfirm := object{"intent": "create-subscription", "planId": "premium", "paymentMethodId": "pm_card_authentication_required"}

			// The plan does not change until the user confirms the payment.
			pending := seeker.post(billingPath, toConfirm).ok(202)
			require.Equal(t, "Your bank asks you to confirm this payment", pending.text("message"))
			require.Equal(t, "basic", pending.text("data.subscription.tier"))
			require.Equal(t, "confirm_payment", pending.text("data.action.type"))

			// A repeated request returns the same payment to confirm, and creates no second one.
			require.Equal(t, pending.at("data.action"), seeker.post(billingPath, toConfirm).ok(202).at("data.action"))

			history := seeker.get(billingPath).ok(200).list("data.billing.billingHistory")
			require.Len(t, history, 1)

			payment := history[0].(object)
			require.Equal(t, true, payment["actionRequired"])
			require.Equal(t, "pending", payment["status"])

			// A payment with another method succeeds, and the pending payment has failed.
			withoutConfirmation := object{"intent": "create-subscription", "planId": "premium", "paymentMethodId": "pm_card_visa"}
			paid := seeker.post(billingPath, withoutConfirmation).ok(200)
			require.Equal(t, "premium", paid.text("data.subscription.tier"))

			billing := seeker.get(billingPath).ok(200)
			require.Equal(t, "paid", billing.text("data.billing.billingHistory.0.status"))
			require.Equal(t, "failed", billing.text("data.billing.billingHistory.1.status"))
			require.NotContains(t, string(billing.raw), "actionRequired")
		})

		t.Run("POST /api/billing/setup-intents", func(t *testing.T) {
			const path = "/api/billing/setup-intents"

			// A setup intent is the provider's permission for a page to collect a payment method. Without
			// an appId in the request, the method is the user's own.
			seeker := server.seeker(t)
			ownIntent := seeker.post(path, nil).ok(200)
			require.Equal(t, "collect_payment_method", ownIntent.text("data.action.type"))
			require.NotEmpty(t, ownIntent.text("data.action.clientSecret"))

			// A developer's app has a payment method of its own. seeker.app() creates an app.
			app := seeker.app()
			intentOfApp := seeker.post(path, object{"appId": app}).ok(200)
			require.NotEqual(t, ownIntent.text("data.action.clientSecret"), intentOfApp.text("data.action.clientSecret"))

			// The route refuses an app of another user, and users who are not jobseekers.
			server.seeker(t).post(path, object{"appId": app}).fails(404, "Application not found")
			server.employer(t).post(path, nil).fails(403, "Forbidden")
			server.guest(t).post(path, nil).fails(401, "Unauthorized")
		})

		// The sandbox provider sends no webhooks.
		t.Run("POST /api/payments/webhooks without a provider with webhooks", func(t *testing.T) {
			server.guest(t).
				post("/api/payments/webhooks", object{"type": "payment_intent.succeeded"}).
				fails(404, "The payment provider of this server sends no webhooks")
		})

		t.Run("subscription and payment method are hidden from other users", func(t *testing.T) {
			payer, otherUser := server.seeker(t), server.seeker(t)
			payer.post(billingPath, object{"intent": "create-subscription", "planId": "premium", "paymentMethodId": "pm_secret"}).ok(200)

			seenByOther := otherUser.get(billingPath).ok(200)
			require.Equal(t, "basic", seenByOther.text("data.billing.subscription.tier"))
			require.NotContains(t, string(seenByOther.raw), "pm_secret")
		})
	})
}
