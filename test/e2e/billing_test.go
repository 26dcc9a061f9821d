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

// TestBilling checks the subscriptions of jobseekers with the sandbox provider:
// pm_card_declined fails, pm_card_authentication_required needs a confirmation, and every other
// pm_… succeeds. The service accepts ids of payment methods and never card numbers.
func TestBilling(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("GET /api/jobseekers/billing", func(t *testing.T) {
			resp := server.seeker(t).get(billingPath).ok(200)
			require.Equal(t, object{"tier": "basic", "status": "active", "expiresAt": nil, "autoRenew": false},
				resp.at("data.billing.subscription"))
			require.Equal(t, []any{
				object{"id": "basic", "name": "Basic", "price": 0.0, "currency": "GBP", "interval": "month"},
				object{"id": "premium", "name": "Premium", "price": 9.99, "currency": "GBP", "interval": "month"},
			}, resp.at("data.billing.plans"))
			require.Empty(t, resp.list("data.billing.billingHistory"))
			require.Empty(t, resp.list("data.billing.paymentMethods"))
			server.guest(t).get(billingPath).fails(401, "Unauthorized")
			server.employer(t).get(billingPath).fails(403, "Forbidden")
		})

		t.Run("POST /api/jobseekers/billing create-subscription", func(t *testing.T) {
			seeker := server.seeker(t)
			resp := seeker.post(billingPath, object{
				"intent":          "create-subscription",
				"planId":          "premium",
				"paymentMethodId": "pm_card_visa",
			}).
				ok(200)
			require.NotEmpty(t, resp.text("message"))
			require.Equal(t, "create-subscription", resp.text("data.intent"))

			ended := server.seeker(t).post(billingPath, object{"intent": "create-subscription", "planId": "basic"}).ok(200)
			require.Equal(t, "Subscription cancelled successfully", ended.text("message"))
			require.Equal(t, "premium", resp.text("data.subscription.tier"))
			require.Equal(t, "active", resp.text("data.subscription.status"))
			require.Equal(t, true, resp.at("data.subscription.autoRenew"))

			expires, err := time.Parse(time.RFC3339, resp.text("data.subscription.expiresAt"))
			require.NoError(t, err)
			require.WithinDuration(t, time.Now().AddDate(0, 0, 30), expires, 3*24*time.Hour) // a calendar month

			b := seeker.get(billingPath).ok(200)
			require.Equal(t, resp.at("data.subscription"), b.at("data.billing.subscription"))
			require.Len(t, b.list("data.billing.billingHistory"), 1)
			require.InDelta(t, 9.99, b.number("data.billing.billingHistory.0.amount"), 0)
			require.Equal(t, "GBP", b.text("data.billing.billingHistory.0.currency"))
			require.Equal(t, "paid", b.text("data.billing.billingHistory.0.status"))
			require.Equal(t, "premium", b.text("data.billing.billingHistory.0.plan"))
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
				b.at("data.billing.paymentMethods.0"),
			)

			require.Equal(t, "Your plan has begun", seeker.waitForNotifications(1)[0].message)
			require.Equal(t, "billing", seeker.waitForNotifications(1)[0].kind)
			require.Contains(t, server.waitForMail(t, seeker.email, "Your Premium plan has begun"), "Premium plan")
			require.Equal(t, "active", seeker.get("/api/auth/me").ok(200).text("data.subscriptionStatus"))
			require.Equal(
				t,
				"active",
				server.guest(t).
					post("/api/auth/login", object{"email": seeker.email, "password": password}).
					ok(200).
					text("data.user.subscriptionStatus"),
			)
		})

		t.Run("POST /api/jobseekers/billing upgrade-plan, update-payment-method, cancel-subscription", func(t *testing.T) {
			seeker := server.seeker(t)
			seeker.post(billingPath, object{"intent": "upgrade-plan", "planId": "premium"}).invalid("paymentMethodId")

			resp := seeker.post(billingPath, object{"intent": "update-payment-method", "paymentMethodId": "pm_1"}).ok(200)
			require.Equal(t, "update-payment-method", resp.text("data.intent"))
			require.Equal(t, "basic", resp.text("data.subscription.tier"))

			// With the method that was set before.
			resp = seeker.post(billingPath, object{"intent": "upgrade-plan", "planId": "premium"}).ok(200)
			require.Equal(t, "upgrade-plan", resp.text("data.intent"))
			require.Equal(t, "premium", resp.text("data.subscription.tier"))

			resp = seeker.post(billingPath, object{"intent": "update-payment-method", "paymentMethodId": "pm_2"}).ok(200)
			require.Equal(t, "premium", resp.text("data.subscription.tier"))
			require.Equal(t, "pm_2", seeker.get(billingPath).ok(200).text("data.billing.paymentMethods.0.id"))

			resp = seeker.post(billingPath, object{"intent": "cancel-subscription"}).ok(200)
			require.Equal(t, "cancel-subscription", resp.text("data.intent"))
			require.Equal(t, "premium", resp.text("data.subscription.tier"))
			require.Equal(t, "active", resp.text("data.subscription.status"))
			require.Equal(t, false, resp.at("data.subscription.autoRenew"))
			require.NotEmpty(t, resp.text("data.subscription.expiresAt"))

			// A cancelled plan stays until the end of the period that is paid for, and nothing
			// is refunded.
			require.Len(t, seeker.get(billingPath).ok(200).list("data.billing.billingHistory"), 1)
		})

		t.Run("POST /api/jobseekers/billing upgrades with the method of a free plan", func(t *testing.T) {
			seeker := server.seeker(t)
			free := object{"intent": "create-subscription", "planId": "basic", "paymentMethodId": "pm_card_visa"}
			require.Equal(t, "basic", seeker.post(billingPath, free).ok(200).text("data.subscription.tier"))
			require.Equal(t, "pm_card_visa", seeker.get(billingPath).ok(200).text("data.billing.paymentMethods.0.id"))
			require.Equal(t, "premium",
				seeker.post(billingPath, object{"intent": "upgrade-plan", "planId": "premium"}).ok(200).text("data.subscription.tier"))

			free["paymentMethodId"] = "pm_card_declined"
			seeker.post(billingPath, free).fails(400, "The payment was declined; please try another payment method")
		})

		t.Run("POST /api/jobseekers/billing refuses invalid intents", func(t *testing.T) {
			seeker := server.seeker(t)
			send := func(body any) *response { return seeker.fromNewAddress().post(billingPath, body) }
			send(object{}).fails(400, "Intent is required")
			send(object{"planId": "premium"}).fails(400, "Intent is required")
			send(object{"intent": ""}).fails(400, "Intent is required")
			send(object{"intent": "refund"}).invalid("intent")
			send(object{"intent": 7}).invalid("intent")
			send(object{"intent": "create-subscription", "paymentMethodId": "pm_1"}).invalid("planId")
			send(object{"intent": "create-subscription", "planId": "platinum", "paymentMethodId": "pm_1"}).invalid("planId")
			send(object{"intent": "create-subscription", "planId": "premium"}).invalid("paymentMethodId")
			send(object{"intent": "create-subscription", "planId": "premium", "paymentMethodId": "visa"}).invalid("paymentMethodId")
			send(object{"intent": "update-payment-method"}).invalid("paymentMethodId")

			all := send(
				// Errors come in the order of the members in the body.
				json.RawMessage(`{"paymentMethodId":"visa","intent":"upgrade-plan","planId":"platinum"}`),
			).invalid("paymentMethodId")
			require.Len(t, all.list("errors"), 2)
			require.Equal(t, "planId", all.text("errors.1.field"))

			for _, intent := range []string{"create-subscription", "upgrade-plan", "update-payment-method"} {
				send(
					object{"intent": intent, "planId": "premium", "paymentMethodId": "pm_card_declined"},
				).fails(400, "The payment was declined; please try another payment method")
			}

			require.Equal(t, "basic", seeker.get(billingPath).ok(200).text("data.billing.subscription.tier"))
			server.guest(t).post(billingPath, object{"intent": "cancel-subscription"}).fails(401, "Unauthorized")
			server.employer(t).post(billingPath, object{"intent": "cancel-subscription"}).fails(403, "Forbidden")
		})

		t.Run("POST /api/jobseekers/billing refuses card numbers and does not log them", func(t *testing.T) {
			seeker := server.seeker(t)
			for _, number := range []string{"5555555555554444", "5555 5555 5555 4444", "5555-5555-5555-4444"} {
				for _, body := range []object{
					{"intent": "create-subscription", "planId": "premium", "paymentMethodId": number},
					{"intent": "update-payment-method", "paymentMethodId": "pm_1", "card": object{"number": number}},
				} {
					seeker.fromNewAddress().post(billingPath, body).fails(400, "Bad Request - Invalid parameters")
				}

				require.NotContains(t, server.log.String(), number)
			}

			require.Empty(t, seeker.get(billingPath).ok(200).list("data.billing.billingHistory"))
		})

		t.Run("POST /api/jobseekers/billing is limited by address", func(t *testing.T) {
			seeker := server.seeker(t)
			for range 10 {
				seeker.post(billingPath, object{}).fails(400, "Intent is required")
			}

			require.NotEmpty(
				t,
				seeker.post(billingPath, object{"intent": "cancel-subscription"}).
					fails(429, "Rate limit exceeded").
					header.Get("Retry-After"),
			)
		})

		t.Run("POST /api/jobseekers/billing concurrent requests are one charge", func(t *testing.T) {
			seeker := server.seeker(t)

			var all sync.WaitGroup
			for range 20 {
				s := seeker.fromNewAddress()
				all.Go(func() {
					a := s.try("POST", billingPath, object{"intent": "create-subscription", "planId": "premium", "paymentMethodId": "pm_1"})

					// Each request reports the same subscription, whether it was the one that
					// charged or not.
					if a.status != 200 || !strings.Contains(string(a.raw), `"tier":"premium"`) {
						t.Errorf("%d %s", a.status, a.raw)
					}
				})
			}

			all.Wait()
			require.Len(t, seeker.get(billingPath).ok(200).list("data.billing.billingHistory"), 1)
		})

		t.Run("POST /api/jobseekers/billing with a payment to confirm", func(t *testing.T) {
			seeker := server.seeker(t)
			begin := object{"intent": "create-subscription", "planId": "premium", "paymentMethodId": "pm_card_authentication_required"}
			a := seeker.post(billingPath, begin).ok(202)
			require.Equal(t, "Your bank asks you to confirm this payment", a.text("message"))
			require.Equal(t, "basic", a.text("data.subscription.tier"))
			require.Equal(t, "confirm_payment", a.text("data.action.type"))
			require.Equal(t, a.at("data.action"), seeker.post(billingPath, begin).ok(202).at("data.action"))

			history := seeker.get(billingPath).ok(200).list("data.billing.billingHistory")
			require.Len(t, history, 1)
			require.Equal(t, true, history[0].(object)["actionRequired"])
			require.Equal(t, "pending", history[0].(object)["status"])
			require.Equal(
				t,
				"premium",
				seeker.post(billingPath, object{"intent": "create-subscription", "planId": "premium", "paymentMethodId": "pm_card_visa"}).
					ok(200).
					text("data.subscription.tier"),
				"another payment method replaces it",
			)

			b := seeker.get(billingPath).ok(200)
			require.Equal(t, "paid", b.text("data.billing.billingHistory.0.status"))
			require.Equal(t, "failed", b.text("data.billing.billingHistory.1.status"))
			require.NotContains(t, string(b.raw), "actionRequired")
		})

		t.Run("POST /api/billing/setup-intents", func(t *testing.T) {
			const path = "/api/billing/setup-intents"
			seeker := server.seeker(t)
			resp := seeker.post(path, nil).ok(200)
			require.Equal(t, "collect_payment_method", resp.text("data.action.type"))
			require.NotEmpty(t, resp.text("data.action.clientSecret"))

			app := seeker.fromNewAddress().post("/api/developers/apps", object{"name": "Ward Finder"}).ok(201).text("data.app.id")
			require.NotEqual(t, resp.text("data.action.clientSecret"),
				seeker.post(path, object{"appId": app}).ok(200).text("data.action.clientSecret"))
			server.seeker(t).post(path, object{"appId": app}).fails(404, "Application not found")
			server.employer(t).post(path, nil).fails(403, "Forbidden")
			server.guest(t).post(path, nil).fails(401, "Unauthorized")
		})

		t.Run("POST /api/payments/webhooks without a provider with webhooks", func(t *testing.T) {
			server.guest(t).
				post("/api/payments/webhooks", object{"type": "payment_intent.succeeded"}).
				fails(404, "The payment provider of this server sends no webhooks")
		})

		t.Run("resources of other users", func(t *testing.T) {
			one, other := server.seeker(t), server.seeker(t)
			one.post(billingPath, object{"intent": "create-subscription", "planId": "premium", "paymentMethodId": "pm_secret"}).ok(200)

			a := other.get(billingPath).ok(200)
			require.Equal(t, "basic", a.text("data.billing.subscription.tier"))
			require.NotContains(t, string(a.raw), "pm_secret")
		})
	})
}
