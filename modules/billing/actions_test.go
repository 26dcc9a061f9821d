package billing_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/sandboxpay"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/billing"
)

// confirmingProvider is a payment provider whose payments wait until the payer confirms or
// refuses them at the bank. Module billing chooses the key of a payment, and repeats the key to
// continue the same payment. The provider's webhooks, which billing calls notices, report that a
// payment has a new state. Their body is the id of the user, a space and the key.
//
// The test plays the payer and the bank: setState changes the state of the newest payment. The
// module learns of it from a webhook (receiveWebhook), from a repeated request of the payer, or
// from Renew.
type confirmingProvider struct {
	billing.Payments
	mu    sync.Mutex
	state map[string]string // waits, processing, paid or declined, by the key of the payment
	bills []billing.Bill    // the arguments of all calls of Charge, the oldest first
}

// Charge creates the payment with the bill's key, or continues it, and returns the result that
// belongs to its state. A bill with Abandon declines the payment if it still waits.
func (p *confirmingProvider) Charge(_ context.Context, bill billing.Bill) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.bills = append(p.bills, bill)
	switch {
	case p.state[bill.Key] == "":
		p.state[bill.Key] = "waits"
	case p.state[bill.Key] == "waits" && bill.Abandon:
		p.state[bill.Key] = "declined"
	}

	switch p.state[bill.Key] {
	case "paid":
		return "ch_" + bill.Key, nil
	case "processing":
		return "", billing.ErrUnderWay
	case "declined":
		return "", billing.ErrDeclined
	}

	action := billing.Action{Type: billing.ConfirmPayment, ClientSecret: "secret of " + bill.Key}

	return "", &billing.ActionRequiredError{Action: action}
}

// ParseNotice returns the owner and the key in the body of a webhook.
func (p *confirmingProvider) ParseNotice(header func(string) string, body []byte) (billing.Notice, error) {
	if header("Signature") != "valid" {
		return billing.Notice{}, billing.ErrBadNotice
	}

	userID, key, _ := strings.Cut(string(body), " ")

	return billing.Notice{Key: key, Owner: billing.Owner{Kind: billing.User, ID: userID}}, nil
}

// newestKey returns the key of the newest payment.
func (p *confirmingProvider) newestKey() string {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.bills[len(p.bills)-1].Key
}

// setState sets the state of the newest payment and returns its key.
func (p *confirmingProvider) setState(state string) (key string) {
	key = p.newestKey()

	p.mu.Lock()
	defer p.mu.Unlock()

	p.state[key] = state

	return key
}

// onEachWithConfirmations runs the test with a provider that requires confirmations.
func onEachWithConfirmations(t *testing.T, test func(t *testing.T, env *testEnv, provider *confirmingProvider)) {
	t.Helper()
	onEach(t, func(t *testing.T, env *testEnv) {
		provider := &confirmingProvider{Payments: env.provider, state: map[string]string{}}
		env.Payments = provider
		test(t, env, provider)
	})
}

// receiveWebhook receives a webhook with a valid signature about the payment of the owner.
func (e *testEnv) receiveWebhook(owner auth.Actor, key string) error {
	return e.receiveBody(owner.UserID + " " + key)
}

// receiveBody receives a webhook with a valid signature and the body.
func (e *testEnv) receiveBody(body string) error {
	return e.ReceiveNotice(e.t.Context(), func(string) string { return "valid" }, []byte(body))
}

// beginPayment chooses the plan and returns the action that the payer has to complete.
func (e *testEnv) beginPayment(by auth.Actor, plan, method string) billing.Action {
	e.t.Helper()

	_, err := e.Create(e.t.Context(), by, billing.ChooseInput{PlanID: plan, PaymentMethodID: method})
	var action *billing.ActionRequiredError
	require.ErrorAs(e.t, err, &action)
	require.Equal(e.t, fault.Conflict, fault.KindOf(err))

	return action.Action
}

// TestConfirm_Notice_ActivatesThePlanOnce checks that a plan begins when a webhook reports the
// confirmation, once for ten concurrent webhooks, and not before the payment is complete.
func TestConfirm_Notice_ActivatesThePlanOnce(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, env *testEnv, provider *confirmingProvider) {
		me := newSeeker()
		action := env.beginPayment(me, "premium", "pm_one")
		require.Equal(t, action, env.beginPayment(me, "premium", "pm_one"), "a repeated request continues the payment")
		require.Equal(t, action, env.beginPayment(me, "premium", ""), "without a method as well")

		// The payment is pending, and the plan has not begun.
		overview := env.overview(me)
		require.Equal(t, "basic", overview.Subscription.Plan)
		require.Len(t, overview.History, 1)
		require.Equal(t, billing.Pending, overview.History[0].Status)
		require.Equal(t, env.clock.Now(), overview.History[0].ActionAt)
		require.Empty(t, env.takeChanges())

		// Webhooks about an incomplete payment change nothing.
		key := provider.newestKey()
		require.NoError(t, env.receiveWebhook(me, key), "the payment waits for the payer")
		provider.setState("processing")
		require.NoError(t, env.receiveWebhook(me, key))
		require.Equal(t, "basic", env.overview(me).Subscription.Plan)

		_, err := env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium"})
		require.ErrorIs(t, err, billing.ErrUnderWay)

		// Concurrent and late webhooks about the complete payment begin the plan once.
		provider.setState("paid")

		var webhooks sync.WaitGroup
		for range 10 {
			webhooks.Go(func() {
				if err := env.receiveWebhook(me, key); err != nil {
					t.Error(err)
				}
			})
		}

		webhooks.Wait()
		require.NoError(t, env.receiveWebhook(me, key), "a late webhook")
		require.Equal(t, "premium", env.overview(me).Subscription.Plan)
		require.Equal(t, []string{"started"}, env.takeChanges())
		require.Len(t, env.overview(me).History, 1)
	})
}

// TestConfirm_RepeatedRequest_ReturnsTheResult checks that a payer who has confirmed or refused
// the payment gets the result by repeating the request, before a webhook has reported it.
func TestConfirm_RepeatedRequest_ReturnsTheResult(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, env *testEnv, provider *confirmingProvider) {
		me := newSeeker()
		env.beginPayment(me, "premium", "pm_one")
		provider.setState("paid")
		require.Equal(t, "premium", env.subscribe(me, "premium", "pm_one").Plan)
		require.Equal(t, []string{"started"}, env.takeChanges())

		// Another payer has refused the payment.
		other := newSeeker()
		env.beginPayment(other, "premium", "pm_one")
		provider.setState("declined")

		_, err := env.Create(t.Context(), other, billing.ChooseInput{PlanID: "premium"})
		require.ErrorIs(t, err, billing.ErrDeclined)
		require.Empty(t, env.takeChanges(), "no event is recorded for a result that the payer has seen")
	})
}

// TestConfirm_ConcurrentRequests_AllReturnTheAction checks that ten concurrent requests create
// one payment, and that each returns the action of the payer.
func TestConfirm_ConcurrentRequests_AllReturnTheAction(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, env *testEnv, provider *confirmingProvider) {
		me := newSeeker()

		var requests sync.WaitGroup
		for range 10 {
			requests.Go(func() {
				_, err := env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
				if !errors.Is(err, billing.ErrActionRequired) {
					t.Errorf("got error %v, want %v", err, billing.ErrActionRequired)
				}
			})
		}

		requests.Wait()
		require.Len(t, provider.state, 1, "the number of payments")
	})
}

// TestConfirm_LostNotice_IsReadPeriodically checks that Renew reads the results of payments
// whose webhooks were lost, and notifies the payer of a declined one.
func TestConfirm_LostNotice_IsReadPeriodically(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, env *testEnv, provider *confirmingProvider) {
		paid, declined := newSeeker(), newSeeker()
		env.beginPayment(paid, "premium", "pm_one")
		provider.setState("paid")
		env.beginPayment(declined, "premium", "pm_one")
		provider.setState("declined")
		env.advance(10 * time.Minute)
		require.Equal(t, "premium", env.overview(paid).Subscription.Plan)
		require.Equal(t, "basic", env.overview(declined).Subscription.Plan)
		require.ElementsMatch(t, []string{"started", "payment-refused"}, env.takeChanges())
	})
}

// TestConfirm_Unconfirmed_IsDeclinedAfterADay checks that an unconfirmed payment is abandoned
// after 24 hours, with few calls to the provider until then and none afterwards.
func TestConfirm_Unconfirmed_IsDeclinedAfterADay(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, env *testEnv, provider *confirmingProvider) {
		me := newSeeker()
		env.beginPayment(me, "premium", "pm_one")

		// Until the payment is a day old, it stays pending.
		for range 23 {
			env.advance(time.Hour)
		}

		require.Equal(t, billing.Pending, env.overview(me).History[0].Status)
		require.Empty(t, env.takeChanges())

		// Abandon the payment when it is 25 hours old.
		env.advance(2 * time.Hour)
		require.Equal(t, billing.Declined, env.overview(me).History[0].Status)
		require.Equal(t, []string{"payment-refused"}, env.takeChanges())

		const fewCalls = 40 // less than two an hour
		calls := len(provider.bills)
		require.Less(t, calls, fewCalls, "calls in 25 hours")
		env.advance(day)
		require.Len(t, provider.bills, calls, "no calls after the payment was abandoned")
	})
}

// TestConfirm_AnotherChoice_AbandonsThePayment checks a payment that waits for the payer's
// confirmation. Another method, another plan and a cancellation each abandon such a payment, so
// that it cannot be confirmed later. A payment that the payer has already confirmed counts.
func TestConfirm_AnotherChoice_AbandonsThePayment(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, env *testEnv, provider *confirmingProvider) {
		me := newSeeker()
		env.beginPayment(me, "premium", "pm_one")

		first := provider.newestKey()

		// A purchase with another method.
		env.beginPayment(me, "premium", "pm_two")
		require.Equal(t, "declined", provider.state[first])

		second := provider.newestKey()

		// A purchase of another plan.
		env.beginPayment(me, "gold", "pm_two")
		require.Equal(t, "declined", provider.state[second])

		third := provider.newestKey()

		// A change of the method.
		sub, err := env.UseMethod(t.Context(), me, "pm_three")
		require.NoError(t, err)
		require.Equal(t, "pm_three", sub.Method.ID)
		require.Equal(t, "declined", provider.state[third])

		// A cancellation.
		env.beginPayment(me, "gold", "")

		fourth := provider.newestKey()
		_, err = env.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, "declined", provider.state[fourth])
		require.Equal(t, []string{"payment-method-changed"}, env.takeChanges())

		// The payer confirms a payment and then begins another purchase, before a webhook has
		// reported the confirmation.
		env.beginPayment(me, "premium", "")
		provider.setState("paid")
		env.clock.Advance(time.Minute)
		env.beginPayment(me, "gold", "pm_one")
		require.Equal(t, "premium", env.overview(me).Subscription.Plan)
		require.Equal(t, []string{"started"}, env.takeChanges())
	})
}

// TestConfirm_Renewal_IsPastDueUntilConfirmed checks a renewal that the bank wants to be
// confirmed. The plan stays, and an e-mail requests the confirmation within 24 hours. Without a
// confirmation, the renewal counts as declined and is tried again.
func TestConfirm_Renewal_IsPastDueUntilConfirmed(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, env *testEnv, provider *confirmingProvider) {
		// Pay for the first month.
		me := newSeeker()
		env.beginPayment(me, "premium", "pm_one")
		provider.setState("paid")

		sub := env.subscribe(me, "premium", "")
		env.takeChanges()

		// The renewal has to be confirmed.
		env.advanceTo(sub.ExpiresAt)
		require.True(t, provider.bills[len(provider.bills)-1].Unattended, "the payer is absent")

		overview := env.overview(me)
		require.Equal(t, billing.PastDue, overview.Subscription.Status)
		require.Equal(t, "premium", overview.Subscription.Plan)
		env.advance(time.Hour)
		require.Equal(t, []string{"payment-unconfirmed"}, env.takeChanges())
		require.Contains(t, env.sent[len(env.sent)-1].Text, "confirm the payment for the Premium plan")

		// The payer continues the payment and confirms it.
		env.beginPayment(me, "premium", "")
		require.False(t, provider.bills[len(provider.bills)-1].Unattended, "the payer is present")
		require.NoError(t, env.receiveWebhook(me, provider.setState("paid")))

		overview = env.overview(me)
		require.Equal(t, billing.Active, overview.Subscription.Status)
		require.True(t, overview.Subscription.ExpiresAt.After(sub.ExpiresAt))
		require.Equal(t, []string{"renewed"}, env.takeChanges())

		// The payer does not confirm the next renewal, which counts as declined after a day. The
		// day after, it is tried again with a new payment, which the payer confirms.
		env.advanceTo(overview.Subscription.ExpiresAt)

		for range 25 {
			env.advance(time.Hour)
		}

		require.Equal(t, []string{"payment-unconfirmed", "payment-failed"}, env.takeChanges())
		env.advance(day)
		require.Equal(t, []string{"payment-unconfirmed"}, env.takeChanges())
		require.NoError(t, env.receiveWebhook(me, provider.setState("paid")))
		require.Equal(t, []string{"renewed"}, env.takeChanges())
	})
}

// TestConfirm_PastDueWithAnotherMethod_ReplacesTheRenewal checks that another payment method
// abandons an unconfirmed renewal and is charged instead.
func TestConfirm_PastDueWithAnotherMethod_ReplacesTheRenewal(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, env *testEnv, provider *confirmingProvider) {
		// The first month is paid, and the renewal has to be confirmed.
		me := newSeeker()
		env.beginPayment(me, "premium", "pm_one")
		provider.setState("paid")
		env.advanceTo(env.subscribe(me, "premium", "").ExpiresAt)
		env.takeChanges()

		// The other method abandons the renewal, and begins a payment that the payer has to confirm, too.
		renewal := provider.newestKey()
		_, err := env.UseMethod(t.Context(), me, "pm_two")
		require.ErrorIs(t, err, billing.ErrActionRequired)
		require.Equal(t, "declined", provider.state[renewal])
		require.Equal(t, billing.PastDue, env.overview(me).Subscription.Status)
		require.NoError(t, env.receiveWebhook(me, provider.setState("paid")))

		overview := env.overview(me)
		require.Equal(t, billing.Active, overview.Subscription.Status)
		require.Equal(t, "pm_two", overview.Subscription.Method.ID)
		require.Equal(t, []string{"renewed"}, env.takeChanges())
	})
}

// TestConfirm_PaymentsThatAreNeverConfirmed_DoNotExtendThePlan checks that a user who keeps
// beginning payments without confirming them does not keep the plan: each abandoned renewal
// counts as declined.
func TestConfirm_PaymentsThatAreNeverConfirmed_DoNotExtendThePlan(t *testing.T) {
	for name, begin := range map[string]func(env *testEnv, me auth.Actor, method string){
		"purchases": func(env *testEnv, me auth.Actor, method string) {
			_, _ = env.Create(env.t.Context(), me, billing.ChooseInput{PlanID: "gold", PaymentMethodID: method})
		},
		"renewals with another method": func(env *testEnv, me auth.Actor, method string) {
			_, _ = env.UseMethod(env.t.Context(), me, method)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEachWithConfirmations(t, func(t *testing.T, env *testEnv, provider *confirmingProvider) {
				me := newSeeker()
				env.beginPayment(me, "premium", "pm_one")
				provider.setState("paid")

				paidUntil := env.subscribe(me, "premium", "").ExpiresAt
				env.advanceTo(paidUntil.Add(-time.Hour))

				const days = 30 // longer than the retries of a renewal
				for range days {
					begin(env, me, "pm_two")
					env.advance(12 * time.Hour)
					begin(env, me, "pm_three")
					env.advance(12 * time.Hour)
				}

				require.Equal(t, "basic", env.overview(me).Subscription.Plan)
			})
		})
	}
}

// TestConfirm_DeletedAccount_AbandonsThePayment deletes an account while one of its payments
// waits for a confirmation. It checks that Renew abandons the payment, and does not call the
// provider about it again.
func TestConfirm_DeletedAccount_AbandonsThePayment(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, env *testEnv, provider *confirmingProvider) {
		me := newSeeker()
		env.beginPayment(me, "premium", "pm_one")

		key := provider.newestKey()

		require.NoError(t, env.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: me.UserID}))
		require.NoError(t, env.receiveWebhook(me, key), "a webhook about a deleted owner is ignored")
		env.advance(time.Hour)
		require.Equal(t, "declined", provider.state[key])

		calls := len(provider.bills)

		env.advance(2 * day)
		require.Len(t, provider.bills, calls, "no calls after the payment was abandoned")
	})
}

// TestReceiveNotice_Refused checks webhooks that have no effect. Without a valid signature they
// are refused. Those about unknown owners and payments are ignored. With a provider that sends
// no webhooks or does not collect payment methods, the methods for these return an error.
func TestReceiveNotice_Refused(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, env *testEnv, provider *confirmingProvider) {
		me := newSeeker()
		env.beginPayment(me, "premium", "pm_one")

		// A webhook about a paid payment would begin the plan, if its signature were valid.
		key := provider.setState("paid")
		unsigned := func(string) string { return "" }
		require.ErrorIs(t, env.ReceiveNotice(t.Context(), unsigned, []byte(me.UserID+" "+key)), billing.ErrBadNotice)

		calls := len(provider.bills)

		require.NoError(t, env.receiveWebhook(newSeeker(), key), "a payment of another owner")
		require.NoError(t, env.receiveWebhook(me, "unknown-key"))
		require.NoError(t, env.receiveBody("malformed-owner "+key))
		require.Len(t, provider.bills, calls, "none of these webhooks causes a call to the provider")

		// The provider of testEnv sends no webhooks, and it does not collect payment methods.
		env.Payments = provider.Payments
		require.ErrorIs(t, env.receiveWebhook(me, key), billing.ErrNoNotices)

		_, err := env.SetUpMethod(t.Context(), me)
		require.ErrorIs(t, err, billing.ErrNoCollector)

		hasNoRole := auth.Actor{UserID: me.UserID}
		_, err = env.SetUpMethod(t.Context(), hasNoRole)
		require.ErrorIs(t, err, fault.ErrForbidden)
	})
}

// TestConfirm_Sandbox_IsConfirmedByItself checks that a payment of the sandbox that needs a
// confirmation is confirmed after a while, so that developers can try it without a bank. It also
// checks that the sandbox itself accepts the collection of a payment method.
func TestConfirm_Sandbox_IsConfirmedByItself(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		require.NotEmpty(t, env.beginPayment(me, "premium", sandboxpay.AuthenticationRequired).ClientSecret)
		env.advance(10 * time.Minute)
		require.Equal(t, "premium", env.overview(me).Subscription.Plan)
		require.Equal(t, []string{"started"}, env.takeChanges())

		_, err := sandboxpay.New(env.clock).SetUp(t.Context(), billing.Owner{Kind: billing.User, ID: me.UserID})
		require.NoError(t, err)
	})
}
