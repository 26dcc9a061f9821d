package billing_test

import (
	"context"
	"errors"
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
// refuses them. Its webhooks have the body "USER KEY".
type confirmingProvider struct {
	billing.Payments
	mu    sync.Mutex
	state map[string]string // by key: waits, processing, paid, declined
	bills []billing.Bill
}

func (b *confirmingProvider) Charge(_ context.Context, bill billing.Bill) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bills = append(b.bills, bill)
	switch {
	case b.state[bill.Key] == "":
		b.state[bill.Key] = "waits"
	case b.state[bill.Key] == "waits" && bill.Abandon:
		b.state[bill.Key] = "declined"
	}
	switch b.state[bill.Key] {
	case "paid":
		return "ch_" + bill.Key, nil
	case "processing":
		return "", billing.ErrUnderWay
	case "declined":
		return "", billing.ErrDeclined
	}
	return "", &billing.ActionRequiredError{Action: billing.Action{Type: billing.ConfirmPayment, ClientSecret: "secret of " + bill.Key}}
}

func (b *confirmingProvider) ParseNotice(header func(string) string, body []byte) (billing.Notice, error) {
	if header("Signature") != "valid" {
		return billing.Notice{}, billing.ErrBadNotice
	}
	userID, key := string(body[:36]), string(body[37:])
	return billing.Notice{Key: key, Owner: billing.Owner{Kind: billing.User, ID: userID}}, nil
}

// setState sets the state of the owner's newest payment and returns its key.
func (b *confirmingProvider) setState(state string) (key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key = b.bills[len(b.bills)-1].Key
	b.state[key] = state
	return key
}

// onEachWithConfirmations runs the test with a provider that requires confirmations.
func onEachWithConfirmations(t *testing.T, test func(t *testing.T, d *testEnv, b *confirmingProvider)) {
	t.Helper()
	onEach(t, func(t *testing.T, d *testEnv) {
		b := &confirmingProvider{Payments: d.provider, state: map[string]string{}}
		d.Payments = b
		test(t, d, b)
	})
}

func (d *testEnv) receiveWebhook(by auth.Actor, key string) error {
	return d.ReceiveNotice(d.t.Context(), func(string) string { return "valid" }, []byte(by.UserID+" "+key))
}

// beginPayment chooses the plan and returns the action that the payer has to complete.
func (d *testEnv) beginPayment(by auth.Actor, plan, method string) billing.Action {
	d.t.Helper()
	_, err := d.Create(d.t.Context(), by, billing.ChooseInput{PlanID: plan, PaymentMethodID: method})
	var action *billing.ActionRequiredError
	require.ErrorAs(d.t, err, &action)
	require.Equal(d.t, fault.Conflict, fault.KindOf(err))
	return action.Action
}

func TestConfirm_Notice_ActivatesThePlanOnce(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, d *testEnv, b *confirmingProvider) {
		me := seeker()
		action := d.beginPayment(me, "premium", "pm_one")
		require.Equal(t, action, d.beginPayment(me, "premium", "pm_one"), "a repeated request continues the payment")
		require.Equal(t, action, d.beginPayment(me, "premium", ""))
		o := d.overview(me)
		require.Equal(t, "basic", o.Subscription.Plan)
		require.Len(t, o.History, 1)
		require.Equal(t, billing.Pending, o.History[0].Status)
		require.Equal(t, d.clock.Now(), o.History[0].ActionAt)
		require.Empty(t, d.takeChanges())

		key := b.setState("waits")
		require.NoError(t, d.receiveWebhook(me, key), "a pending payment")
		b.setState("processing")
		require.NoError(t, d.receiveWebhook(me, key))
		require.Equal(t, "basic", d.overview(me).Subscription.Plan)
		_, err := d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium"})
		require.ErrorIs(t, err, billing.ErrUnderWay)
		b.setState("paid")
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if err := d.receiveWebhook(me, key); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		require.NoError(t, d.receiveWebhook(me, key))
		require.Equal(t, "premium", d.overview(me).Subscription.Plan)
		require.Equal(t, []string{"started"}, d.takeChanges())
		require.Len(t, d.overview(me).History, 1)
	})
}

func TestConfirm_RepeatedRequest_ReturnsTheResult(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, d *testEnv, b *confirmingProvider) {
		me := seeker()
		d.beginPayment(me, "premium", "pm_one")
		b.setState("paid")
		require.Equal(t, "premium", d.subscribe(me, "premium", "pm_one").Plan)
		require.Equal(t, []string{"started"}, d.takeChanges())

		other := seeker()
		d.beginPayment(other, "premium", "pm_one")
		b.setState("declined")
		_, err := d.Create(t.Context(), other, billing.ChooseInput{PlanID: "premium"})
		require.ErrorIs(t, err, billing.ErrDeclined)
		require.Empty(t, d.takeChanges(), "no event is recorded for a result that the payer has seen")
	})
}

func TestConfirm_ConcurrentRequests_AllReturnTheAction(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, d *testEnv, b *confirmingProvider) {
		me := seeker()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				_, err := d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
				if !errors.Is(err, billing.ErrActionRequired) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		require.Len(t, b.state, 1)
	})
}

func TestConfirm_LostNotice_IsReadPeriodically(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, d *testEnv, b *confirmingProvider) {
		paid, declined := seeker(), seeker()
		d.beginPayment(paid, "premium", "pm_one")
		b.setState("paid")
		d.beginPayment(declined, "premium", "pm_one")
		b.setState("declined")
		d.advance(10 * time.Minute)
		require.Equal(t, "premium", d.overview(paid).Subscription.Plan)
		require.Equal(t, "basic", d.overview(declined).Subscription.Plan)
		require.ElementsMatch(t, []string{"started", "payment-refused"}, d.takeChanges())
	})
}

func TestConfirm_Unconfirmed_IsDeclinedAfterADay(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, d *testEnv, b *confirmingProvider) {
		me := seeker()
		d.beginPayment(me, "premium", "pm_one")
		for range 23 {
			d.advance(time.Hour)
		}
		require.Equal(t, billing.Pending, d.overview(me).History[0].Status)
		require.Empty(t, d.takeChanges())
		d.advance(2 * time.Hour)
		require.Equal(t, billing.Declined, d.overview(me).History[0].Status)
		require.Equal(t, []string{"payment-refused"}, d.takeChanges())
		calls := len(b.bills)
		require.Less(t, calls, 40)
		d.advance(day)
		require.Len(t, b.bills, calls)
	})
}

func TestConfirm_AnotherChoice_AbandonsThePayment(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, d *testEnv, b *confirmingProvider) {
		me := seeker()
		d.beginPayment(me, "premium", "pm_one")
		first := b.setState("waits")
		d.beginPayment(me, "premium", "pm_two")
		require.Equal(t, "declined", b.state[first])
		second := b.setState("waits")
		d.beginPayment(me, "gold", "pm_two")
		require.Equal(t, "declined", b.state[second])
		third := b.setState("waits")
		sub, err := d.UseMethod(t.Context(), me, "pm_three")
		require.NoError(t, err)
		require.Equal(t, "pm_three", sub.Method.ID)
		require.Equal(t, "declined", b.state[third])
		d.beginPayment(me, "gold", "")
		fourth := b.setState("waits")
		_, err = d.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, "declined", b.state[fourth])
		require.Equal(t, []string{"payment-method-changed"}, d.takeChanges())

		// A payment that was confirmed in the meantime counts.
		d.beginPayment(me, "premium", "")
		b.setState("paid")
		d.clock.Advance(time.Minute)
		d.beginPayment(me, "gold", "pm_one")
		require.Equal(t, "premium", d.overview(me).Subscription.Plan)
		require.Equal(t, []string{"started"}, d.takeChanges())
	})
}

func TestConfirm_Renewal_IsPastDueUntilConfirmed(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, d *testEnv, b *confirmingProvider) {
		me := seeker()
		d.beginPayment(me, "premium", "pm_one")
		b.setState("paid")
		sub := d.subscribe(me, "premium", "")
		d.takeChanges()
		d.advanceTo(sub.ExpiresAt)
		require.True(t, b.bills[len(b.bills)-1].Unattended)
		o := d.overview(me)
		require.Equal(t, billing.PastDue, o.Subscription.Status)
		require.Equal(t, "premium", o.Subscription.Plan)
		d.advance(time.Hour)
		require.Equal(t, []string{"payment-unconfirmed"}, d.takeChanges())
		require.Contains(t, d.sent[len(d.sent)-1].Text, "confirm the payment for the Premium plan")

		d.beginPayment(me, "premium", "")
		require.False(t, b.bills[len(b.bills)-1].Unattended, "the payer is present")
		require.NoError(t, d.receiveWebhook(me, b.setState("paid")))
		o = d.overview(me)
		require.Equal(t, billing.Active, o.Subscription.Status)
		require.True(t, o.Subscription.ExpiresAt.After(sub.ExpiresAt))
		require.Equal(t, []string{"renewed"}, d.takeChanges())

		// Unconfirmed, it counts as declined, and a later one is charged.
		d.advanceTo(o.Subscription.ExpiresAt)
		for range 25 {
			d.advance(time.Hour)
		}
		require.Equal(t, []string{"payment-unconfirmed", "payment-failed"}, d.takeChanges())
		d.advance(day)
		require.Equal(t, []string{"payment-unconfirmed"}, d.takeChanges())
		require.NoError(t, d.receiveWebhook(me, b.setState("paid")))
		require.Equal(t, []string{"renewed"}, d.takeChanges())
	})
}

func TestConfirm_PastDueWithAnotherMethod_ReplacesTheRenewal(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, d *testEnv, b *confirmingProvider) {
		me := seeker()
		d.beginPayment(me, "premium", "pm_one")
		b.setState("paid")
		d.advanceTo(d.subscribe(me, "premium", "").ExpiresAt)
		d.takeChanges()
		renewal := b.setState("waits")
		_, err := d.UseMethod(t.Context(), me, "pm_two")
		require.ErrorIs(t, err, billing.ErrActionRequired)
		require.Equal(t, "declined", b.state[renewal])
		require.Equal(t, billing.PastDue, d.overview(me).Subscription.Status)
		require.NoError(t, d.receiveWebhook(me, b.setState("paid")))
		o := d.overview(me)
		require.Equal(t, billing.Active, o.Subscription.Status)
		require.Equal(t, "pm_two", o.Subscription.Method.ID)
		require.Equal(t, []string{"renewed"}, d.takeChanges())
	})
}

func TestConfirm_PaymentsThatAreNeverConfirmed_DoNotExtendThePlan(t *testing.T) {
	for name, evade := range map[string]func(d *testEnv, me auth.Actor, method string){
		"purchases": func(d *testEnv, me auth.Actor, method string) {
			_, _ = d.Create(d.t.Context(), me, billing.ChooseInput{PlanID: "gold", PaymentMethodID: method})
		},
		"renewals with another method": func(d *testEnv, me auth.Actor, method string) {
			_, _ = d.UseMethod(d.t.Context(), me, method)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEachWithConfirmations(t, func(t *testing.T, d *testEnv, b *confirmingProvider) {
				me := seeker()
				d.beginPayment(me, "premium", "pm_one")
				b.setState("paid")
				d.advanceTo(d.subscribe(me, "premium", "").ExpiresAt.Add(-time.Hour))
				for i := range 60 {
					evade(d, me, []string{"pm_two", "pm_three"}[i%2])
					d.advance(12 * time.Hour)
				}
				require.Equal(t, "basic", d.overview(me).Subscription.Plan)
			})
		})
	}
}

func TestConfirm_DeletedAccount_AbandonsThePayment(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, d *testEnv, b *confirmingProvider) {
		me := seeker()
		d.beginPayment(me, "premium", "pm_one")
		key := b.setState("waits")
		require.NoError(t, d.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: me.UserID}))
		require.NoError(t, d.receiveWebhook(me, key), "a payment of a deleted owner")
		d.advance(time.Hour)
		require.Equal(t, "declined", b.state[key])
		calls := len(b.bills)
		d.advance(2 * day)
		require.Len(t, b.bills, calls)
	})
}

func TestReceiveNotice_Refused(t *testing.T) {
	onEachWithConfirmations(t, func(t *testing.T, d *testEnv, b *confirmingProvider) {
		me := seeker()
		d.beginPayment(me, "premium", "pm_one")
		key := b.setState("paid")
		unsigned := func(string) string { return "" }
		require.ErrorIs(t, d.ReceiveNotice(t.Context(), unsigned, []byte(me.UserID+" "+key)), billing.ErrBadNotice)
		calls := len(b.bills)
		require.NoError(t, d.receiveWebhook(seeker(), key), "of another owner")
		require.NoError(t, d.receiveWebhook(me, "another key"))
		require.NoError(t, d.ReceiveNotice(t.Context(), func(string) string { return "valid" }, []byte("the id of an owner that is none here "+key)))
		require.Len(t, b.bills, calls)
		d.Payments = b.Payments
		require.ErrorIs(t, d.receiveWebhook(me, key), billing.ErrNoNotices)
		_, err := d.SetUpMethod(t.Context(), me)
		require.ErrorIs(t, err, billing.ErrNoCollector)
		_, err = d.SetUpMethod(t.Context(), auth.Actor{UserID: me.UserID})
		require.ErrorIs(t, err, fault.ErrForbidden)
	})
}

func TestConfirm_Sandbox_IsConfirmedByItself(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me := seeker()
		require.NotEmpty(t, d.beginPayment(me, "premium", sandboxpay.AuthenticationRequired).ClientSecret)
		d.advance(10 * time.Minute)
		require.Equal(t, "premium", d.overview(me).Subscription.Plan)
		require.Equal(t, []string{"started"}, d.takeChanges())
		_, err := sandboxpay.New(d.clock).SetUp(t.Context(), billing.Owner{Kind: billing.User, ID: me.UserID})
		require.NoError(t, err)
	})
}
