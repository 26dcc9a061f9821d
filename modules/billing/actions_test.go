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
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
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
	state map[string]paymentState // by the key of the payment
	bills []billing.Bill          // the arguments of all calls of Charge, the oldest first
}

// paymentState is the state of a payment at the provider. A payment that the provider has not created has
// none.
type paymentState string

const (
	waits      paymentState = "waits"      // for the payer's confirmation
	processing paymentState = "processing" // confirmed, and not yet paid
	paid       paymentState = "paid"
	declined   paymentState = "declined" // refused by the payer or the bank, or abandoned
)

// Charge creates the payment with the bill's key, or continues it, and returns the result that
// belongs to its state. A bill with Abandon declines the payment if it still waits.
func (p *confirmingProvider) Charge(_ context.Context, bill billing.Bill) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.bills = append(p.bills, bill)

	// Create the payment, or abandon it if the bill says so.
	state, exists := p.state[bill.Key]
	switch {
	case !exists:
		state = waits
	case state == waits && bill.Abandon:
		state = declined
	}

	p.state[bill.Key] = state

	// Return the receipt of a paid payment, and an error for any other.
	const noReceipt = ""

	switch state {
	case paid:
		return "ch_" + bill.Key, nil
	case processing:
		return noReceipt, billing.ErrUnderWay
	case declined:
		return noReceipt, billing.ErrDeclined
	}

	action := billing.Action{Type: billing.ConfirmPayment, ClientSecret: "secret of " + bill.Key}

	return noReceipt, &billing.ActionRequiredError{Action: action}
}

// validSignature is the value of the header Signature in the provider's own webhooks.
const validSignature = "valid"

// ParseNotice returns the owner and the key in the body of a webhook.
func (p *confirmingProvider) ParseNotice(header func(string) string, body []byte) (billing.Notice, error) {
	if header("Signature") != validSignature {
		return billing.Notice{}, billing.ErrBadNotice
	}

	userID, key, _ := strings.Cut(string(body), " ")

	return billing.Notice{Key: key, Owner: billing.Owner{Kind: billing.User, ID: userID}}, nil
}

// newestBill returns the argument of the last call of Charge.
func (p *confirmingProvider) newestBill() billing.Bill {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.bills[len(p.bills)-1]
}

// newestKey returns the key of the newest payment.
func (p *confirmingProvider) newestKey() string { return p.newestBill().Key }

// setState sets the state of the newest payment and returns its key.
func (p *confirmingProvider) setState(state paymentState) (key string) {
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
		provider := &confirmingProvider{Payments: env.provider, state: map[string]paymentState{}}
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
	header := func(string) string { return validSignature }
	return e.ReceiveNotice(e.t.Context(), header, []byte(body))
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

// TestConfirm_Unconfirmed_PlanHasNotBegun checks that a payment which waits for the payer is pending, and
// that its plan has not begun. A repeated request continues the payment, with or without its method.
func TestConfirm_Unconfirmed_PlanHasNotBegun(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, env *testEnv, _ *confirmingProvider) {
		me := newSeeker()
		action := env.beginPayment(me, "premium", "pm_one")
		require.Equal(t, action, env.beginPayment(me, "premium", "pm_one"))
		require.Equal(t, action, env.beginPayment(me, "premium", storedMethod))

		overview := env.overview(me)
		require.Equal(t, "basic", overview.Subscription.Plan)
		require.Len(t, overview.History, 1)
		require.Equal(t, billing.Pending, overview.History[0].Status)
		require.Equal(t, env.clock.Now(), overview.History[0].ActionAt)
		require.Empty(t, env.takeChanges())
	})
}

// TestConfirm_NoticeOfIncompletePayment_ChangesNothing checks webhooks about a payment that waits for
// the payer, and about one that the bank still processes. The payer cannot begin another payment while
// the bank processes the first one.
func TestConfirm_NoticeOfIncompletePayment_ChangesNothing(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, env *testEnv, provider *confirmingProvider) {
		me := newSeeker()
		env.beginPayment(me, "premium", "pm_one")
		require.NoError(t, env.receiveWebhook(me, provider.newestKey()))
		require.NoError(t, env.receiveWebhook(me, provider.setState(processing)))
		require.Equal(t, "basic", env.overview(me).Subscription.Plan)

		_, err := env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium"})
		require.ErrorIs(t, err, billing.ErrUnderWay)
		require.Empty(t, env.takeChanges())
	})
}

// TestConfirm_NoticesOfCompletePayment_BeginPlanOnce checks that a plan begins when a webhook reports
// that it is paid. Ten concurrent webhooks and a late one begin it once.
func TestConfirm_NoticesOfCompletePayment_BeginPlanOnce(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, env *testEnv, provider *confirmingProvider) {
		me := newSeeker()
		env.beginPayment(me, "premium", "pm_one")

		key := provider.setState(paid)

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

// TestConfirm_RequestAfterConfirmation_ReturnsPlan checks that a payer who has confirmed the payment
// gets the plan by repeating the request, before a webhook has reported the result.
func TestConfirm_RequestAfterConfirmation_ReturnsPlan(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, env *testEnv, provider *confirmingProvider) {
		me := newSeeker()
		env.beginPayment(me, "premium", "pm_one")
		provider.setState(paid)
		require.Equal(t, "premium", env.subscribe(me, "premium", "pm_one").Plan)
		require.Equal(t, []string{"started"}, env.takeChanges())
	})
}

// TestConfirm_RequestAfterRefusal_ReturnsDeclined checks that a payer who has refused the payment gets
// the error by repeating the request. No event is recorded, because the payer has seen the result.
func TestConfirm_RequestAfterRefusal_ReturnsDeclined(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, env *testEnv, provider *confirmingProvider) {
		me := newSeeker()
		env.beginPayment(me, "premium", "pm_one")
		provider.setState(declined)

		_, err := env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium"})
		require.ErrorIs(t, err, billing.ErrDeclined)
		require.Empty(t, env.takeChanges())
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
		confirming, refusing := newSeeker(), newSeeker()
		env.beginPayment(confirming, "premium", "pm_one")
		provider.setState(paid)
		env.beginPayment(refusing, "premium", "pm_one")
		provider.setState(declined)

		// No webhook is received.
		env.advance(10 * time.Minute)
		require.Equal(t, "premium", env.overview(confirming).Subscription.Plan)
		require.Equal(t, "basic", env.overview(refusing).Subscription.Plan)
		require.ElementsMatch(t, []string{"started", "payment-refused"}, env.takeChanges())
	})
}

// TestConfirm_Unconfirmed_IsDeclinedAfterADay checks that an unconfirmed payment is abandoned
// after 24 hours, with few calls to the provider until then and none afterwards.
func TestConfirm_Unconfirmed_IsDeclinedAfterADay(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, env *testEnv, provider *confirmingProvider) {
		me := newSeeker()
		env.beginPayment(me, "premium", "pm_one")

		// Until the payment is a day old, it stays pending. Renew runs every hour.
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

		// Afterwards, the provider is not called any more.
		env.advance(day)
		require.Len(t, provider.bills, calls, "no calls after the payment was abandoned")
	})
}

// TestConfirm_AnotherChoice_AbandonsThePayment checks that another choice of the payer abandons a
// payment that waits for a confirmation, so that it cannot be confirmed later.
func TestConfirm_AnotherChoice_AbandonsThePayment(t *testing.T) {
	// Each choice is made while a payment for the plan premium with the method pm_one waits.
	for name, test := range map[string]struct {
		choose      func(t *testing.T, env *testEnv, me auth.Actor)
		wantChanges []string
	}{
		"purchase with another method": {choose: func(_ *testing.T, env *testEnv, me auth.Actor) {
			env.beginPayment(me, "premium", "pm_two")
		}},
		"purchase of another plan": {choose: func(_ *testing.T, env *testEnv, me auth.Actor) {
			env.beginPayment(me, "gold", "pm_one")
		}},
		"change of the method": {
			choose: func(t *testing.T, env *testEnv, me auth.Actor) {
				sub, err := env.UseMethod(t.Context(), me, "pm_two")
				require.NoError(t, err)
				require.Equal(t, "pm_two", sub.Method.ID)
			},
			wantChanges: []string{"payment-method-changed"},
		},
		"cancellation": {choose: func(t *testing.T, env *testEnv, me auth.Actor) {
			_, err := env.Cancel(t.Context(), me)
			require.NoError(t, err)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			onEachWithConfirmations(t, func(t *testing.T, env *testEnv, provider *confirmingProvider) {
				me := newSeeker()
				env.beginPayment(me, "premium", "pm_one")

				waiting := provider.newestKey()

				test.choose(t, env, me)
				require.Equal(t, declined, provider.state[waiting])
				require.Equal(t, test.wantChanges, env.takeChanges())
			})
		})
	}
}

// TestConfirm_AnotherPurchaseAfterConfirmation_FirstCounts checks a payer who confirms a payment and
// begins another purchase before a webhook has reported the confirmation. The first plan begins.
func TestConfirm_AnotherPurchaseAfterConfirmation_FirstCounts(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, env *testEnv, provider *confirmingProvider) {
		me := newSeeker()
		env.beginPayment(me, "premium", "pm_one")
		provider.setState(paid)
		env.clock.Advance(time.Minute)
		env.beginPayment(me, "gold", "pm_two")
		require.Equal(t, "premium", env.overview(me).Subscription.Plan)
		require.Equal(t, []string{"started"}, env.takeChanges())
	})
}

// buyPremium pays for the first month of the plan premium with the method pm_one, and drops the events
// about it.
func (e *testEnv) buyPremium(by auth.Actor, provider *confirmingProvider) billing.Subscription {
	e.t.Helper()
	e.beginPayment(by, "premium", "pm_one")
	provider.setState(paid)

	sub := e.subscribe(by, "premium", storedMethod)
	e.takeChanges()

	return sub
}

// TestConfirm_Renewal_IsPastDueUntilConfirmed checks a renewal that the bank wants to be confirmed. The
// plan stays, and an e-mail requests the confirmation. The payer confirms the payment.
func TestConfirm_Renewal_IsPastDueUntilConfirmed(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, env *testEnv, provider *confirmingProvider) {
		me := newSeeker()
		sub := env.buyPremium(me, provider)

		// The renewal has to be confirmed.
		env.advanceTo(sub.ExpiresAt)
		require.True(t, provider.newestBill().Unattended, "the payer is absent")

		overview := env.overview(me)
		require.Equal(t, billing.PastDue, overview.Subscription.Status)
		require.Equal(t, "premium", overview.Subscription.Plan)
		env.advance(time.Hour)
		require.Equal(t, []string{"payment-unconfirmed"}, env.takeChanges())
		require.Contains(t, env.sent[len(env.sent)-1].Text, "confirm the payment for the Premium plan")

		// The payer continues the payment and confirms it.
		env.beginPayment(me, "premium", storedMethod)
		require.False(t, provider.newestBill().Unattended, "the payer is present")
		require.NoError(t, env.receiveWebhook(me, provider.setState(paid)))

		overview = env.overview(me)
		require.Equal(t, billing.Active, overview.Subscription.Status)
		require.True(t, overview.Subscription.ExpiresAt.After(sub.ExpiresAt))
		require.Equal(t, []string{"renewed"}, env.takeChanges())
	})
}

// TestConfirm_UnconfirmedRenewal_IsTriedAgain checks that a renewal which is not confirmed within 24
// hours counts as declined. The day after, it is tried again with a new payment.
func TestConfirm_UnconfirmedRenewal_IsTriedAgain(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, env *testEnv, provider *confirmingProvider) {
		me := newSeeker()
		env.advanceTo(env.buyPremium(me, provider).ExpiresAt)

		unconfirmed := provider.newestKey()

		// Renew runs every hour, until the payment is more than a day old.
		for range 25 {
			env.advance(time.Hour)
		}

		require.Equal(t, []string{"payment-unconfirmed", "payment-failed"}, env.takeChanges())

		// The payer confirms the new payment.
		env.advance(day)
		require.Equal(t, []string{"payment-unconfirmed"}, env.takeChanges())
		require.NotEqual(t, unconfirmed, provider.newestKey())
		require.NoError(t, env.receiveWebhook(me, provider.setState(paid)))
		require.Equal(t, []string{"renewed"}, env.takeChanges())
	})
}

// TestConfirm_PastDueWithAnotherMethod_ReplacesTheRenewal checks that another payment method
// abandons an unconfirmed renewal and is charged instead.
func TestConfirm_PastDueWithAnotherMethod_ReplacesTheRenewal(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, env *testEnv, provider *confirmingProvider) {
		// The first month is paid, and the renewal has to be confirmed.
		me := newSeeker()
		env.advanceTo(env.buyPremium(me, provider).ExpiresAt)
		env.takeChanges()

		// The other method abandons the renewal, and begins a payment that the payer has to confirm, too.
		renewal := provider.newestKey()
		_, err := env.UseMethod(t.Context(), me, "pm_two")
		require.ErrorIs(t, err, billing.ErrActionRequired)
		require.Equal(t, declined, provider.state[renewal])
		require.Equal(t, billing.PastDue, env.overview(me).Subscription.Status)
		require.NoError(t, env.receiveWebhook(me, provider.setState(paid)))

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
	// Each function begins a payment with the method. Its error, which requests the confirmation or refuses
	// the payment, does not matter.
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
				paidUntil := env.buyPremium(me, provider).ExpiresAt
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
		require.Equal(t, declined, provider.state[key])

		calls := len(provider.bills)

		env.advance(2 * day)
		require.Len(t, provider.bills, calls, "no calls after the payment was abandoned")
	})
}

// TestReceiveNotice_InvalidSignature_IsRefused checks a webhook about a paid payment. It would begin the
// plan if its signature were valid.
func TestReceiveNotice_InvalidSignature_IsRefused(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, env *testEnv, provider *confirmingProvider) {
		me := newSeeker()
		env.beginPayment(me, "premium", "pm_one")

		key := provider.setState(paid)
		withoutSignature := func(string) string { return "" }
		err := env.ReceiveNotice(t.Context(), withoutSignature, []byte(me.UserID+" "+key))
		require.ErrorIs(t, err, billing.ErrBadNotice)
		require.Equal(t, "basic", env.overview(me).Subscription.Plan)
	})
}

// TestReceiveNotice_UnknownPayment_IsIgnored checks that webhooks about unknown owners and payments are
// accepted, and that they do not cause a call to the provider.
func TestReceiveNotice_UnknownPayment_IsIgnored(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, env *testEnv, provider *confirmingProvider) {
		me := newSeeker()
		env.beginPayment(me, "premium", "pm_one")

		key := provider.setState(paid)
		calls := len(provider.bills)

		require.NoError(t, env.receiveWebhook(newSeeker(), key), "a payment of another owner")
		require.NoError(t, env.receiveWebhook(me, "unknown-key"))
		require.NoError(t, env.receiveBody("malformed-owner "+key))
		require.Len(t, provider.bills, calls)
	})
}

// TestPayments_SimpleProvider_HasNoWebhooksAndCollector checks the errors with the provider of testEnv,
// which sends no webhooks and does not collect payment methods. A caller without a role may not collect
// a method with any provider.
func TestPayments_SimpleProvider_HasNoWebhooksAndCollector(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		require.ErrorIs(t, env.receiveWebhook(me, "key"), billing.ErrNoNotices)

		_, err := env.SetUpMethod(t.Context(), me)
		require.ErrorIs(t, err, billing.ErrNoCollector)

		withoutRole := auth.Actor{UserID: me.UserID}
		_, err = env.SetUpMethod(t.Context(), withoutRole)
		require.ErrorIs(t, err, fault.ErrForbidden)
	})
}

// TestConfirm_Sandbox_IsConfirmedByItself checks that a payment of the sandbox that needs a confirmation
// is confirmed after a while, so that developers can try it without a bank.
func TestConfirm_Sandbox_IsConfirmedByItself(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		require.NotEmpty(t, env.beginPayment(me, "premium", sandboxpay.AuthenticationRequired).ClientSecret)
		env.advance(10 * time.Minute)
		require.Equal(t, "premium", env.overview(me).Subscription.Plan)
		require.Equal(t, []string{"started"}, env.takeChanges())
	})
}

// TestSetUp_Sandbox_CollectsMethod checks that the sandbox can be used to try the collection of a
// payment method.
func TestSetUp_Sandbox_CollectsMethod(t *testing.T) {
	t.Parallel()

	owner := billing.Owner{Kind: billing.User, ID: stores.NewID()}
	_, err := sandboxpay.New(kit.NewClock()).SetUp(t.Context(), owner)
	require.NoError(t, err)
}
