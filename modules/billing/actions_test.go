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

// bank is a provider whose payments wait for the payer until confirm or refuse. It
// sends webhooks whose body is "USER KEY".
type bank struct {
	billing.Payments
	mu    sync.Mutex
	state map[string]string // by key: waits, processing, paid, declined
	bills []billing.Bill
}

func (b *bank) Charge(_ context.Context, bill billing.Bill) (string, error) {
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

func (b *bank) ParseNotice(header func(string) string, body []byte) (billing.Notice, error) {
	if header("Signature") != "valid" {
		return billing.Notice{}, billing.ErrBadNotice
	}
	userID, key := string(body[:36]), string(body[37:])
	return billing.Notice{Key: key, Owner: billing.Owner{Kind: billing.User, ID: userID}}, nil
}

// change sets the state of the owner's newest payment and returns its key.
func (b *bank) change(state string) (key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key = b.bills[len(b.bills)-1].Key
	b.state[key] = state
	return key
}

// onEachWithBank runs the test with a provider that asks for confirmations.
func onEachWithBank(t *testing.T, test func(t *testing.T, d *till, b *bank)) {
	t.Helper()
	onEach(t, func(t *testing.T, d *till) {
		b := &bank{Payments: d.pay, state: map[string]string{}}
		d.Payments = b
		test(t, d, b)
	})
}

func (d *till) notice(by auth.Actor, key string) error {
	return d.ReceiveNotice(d.t.Context(), func(string) string { return "valid" }, []byte(by.UserID+" "+key))
}

// begin chooses the plan and returns the action that the payer has to complete.
func (d *till) begin(by auth.Actor, plan, method string) billing.Action {
	d.t.Helper()
	_, err := d.Create(d.t.Context(), by, billing.ChooseInput{PlanID: plan, PaymentMethodID: method})
	var action *billing.ActionRequiredError
	require.ErrorAs(d.t, err, &action)
	require.Equal(d.t, fault.Conflict, fault.KindOf(err))
	return action.Action
}

func TestConfirm_Notice_ActivatesThePlanOnce(t *testing.T) {
	onEachWithBank(t, func(t *testing.T, d *till, b *bank) {
		me := seeker()
		action := d.begin(me, "premium", "pm_one")
		require.Equal(t, action, d.begin(me, "premium", "pm_one"), "a repeated request continues the payment")
		require.Equal(t, action, d.begin(me, "premium", ""))
		o := d.now(me)
		require.Equal(t, "basic", o.Subscription.Plan)
		require.Len(t, o.History, 1)
		require.Equal(t, billing.Pending, o.History[0].Status)
		require.Equal(t, d.clock.Now(), o.History[0].ActionAt)
		require.Empty(t, d.heard())

		key := b.change("waits")
		require.NoError(t, d.notice(me, key), "of a payment that waits")
		b.change("processing")
		require.NoError(t, d.notice(me, key))
		require.Equal(t, "basic", d.now(me).Subscription.Plan)
		_, err := d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium"})
		require.ErrorIs(t, err, billing.ErrUnderWay)
		b.change("paid")
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if err := d.notice(me, key); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		require.NoError(t, d.notice(me, key))
		require.Equal(t, "premium", d.now(me).Subscription.Plan)
		require.Equal(t, []string{"started"}, d.heard())
		require.Len(t, d.now(me).History, 1)
	})
}

func TestConfirm_RepeatedRequest_ReturnsTheResult(t *testing.T) {
	onEachWithBank(t, func(t *testing.T, d *till, b *bank) {
		me := seeker()
		d.begin(me, "premium", "pm_one")
		b.change("paid")
		require.Equal(t, "premium", d.buy(me, "premium", "pm_one").Plan)
		require.Equal(t, []string{"started"}, d.heard())

		other := seeker()
		d.begin(other, "premium", "pm_one")
		b.change("declined")
		_, err := d.Create(t.Context(), other, billing.ChooseInput{PlanID: "premium"})
		require.ErrorIs(t, err, billing.ErrDeclined)
		require.Empty(t, d.heard(), "the payer has seen the result")
	})
}

func TestConfirm_ConcurrentRequests_AllReturnTheAction(t *testing.T) {
	onEachWithBank(t, func(t *testing.T, d *till, b *bank) {
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
	onEachWithBank(t, func(t *testing.T, d *till, b *bank) {
		paid, declined := seeker(), seeker()
		d.begin(paid, "premium", "pm_one")
		b.change("paid")
		d.begin(declined, "premium", "pm_one")
		b.change("declined")
		d.pass(10 * time.Minute)
		require.Equal(t, "premium", d.now(paid).Subscription.Plan)
		require.Equal(t, "basic", d.now(declined).Subscription.Plan)
		require.ElementsMatch(t, []string{"started", "payment-refused"}, d.heard())
	})
}

func TestConfirm_Unconfirmed_IsDeclinedAfterADay(t *testing.T) {
	onEachWithBank(t, func(t *testing.T, d *till, b *bank) {
		me := seeker()
		d.begin(me, "premium", "pm_one")
		for range 23 {
			d.pass(time.Hour)
		}
		require.Equal(t, billing.Pending, d.now(me).History[0].Status)
		require.Empty(t, d.heard())
		d.pass(2 * time.Hour)
		require.Equal(t, billing.Declined, d.now(me).History[0].Status)
		require.Equal(t, []string{"payment-refused"}, d.heard())
		calls := len(b.bills)
		require.Less(t, calls, 40)
		d.pass(day)
		require.Len(t, b.bills, calls)
	})
}

func TestConfirm_AnotherChoice_AbandonsThePayment(t *testing.T) {
	onEachWithBank(t, func(t *testing.T, d *till, b *bank) {
		me := seeker()
		d.begin(me, "premium", "pm_one")
		first := b.change("waits")
		d.begin(me, "premium", "pm_two")
		require.Equal(t, "declined", b.state[first])
		second := b.change("waits")
		d.begin(me, "gold", "pm_two")
		require.Equal(t, "declined", b.state[second])
		third := b.change("waits")
		sub, err := d.UseMethod(t.Context(), me, "pm_three")
		require.NoError(t, err)
		require.Equal(t, "pm_three", sub.Method.ID)
		require.Equal(t, "declined", b.state[third])
		d.begin(me, "gold", "")
		fourth := b.change("waits")
		_, err = d.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, "declined", b.state[fourth])
		require.Equal(t, []string{"payment-method-changed"}, d.heard())

		// A payment that was confirmed in the meantime counts.
		d.begin(me, "premium", "")
		b.change("paid")
		d.clock.Advance(time.Minute)
		d.begin(me, "gold", "pm_one")
		require.Equal(t, "premium", d.now(me).Subscription.Plan)
		require.Equal(t, []string{"started"}, d.heard())
	})
}

func TestConfirm_Renewal_IsPastDueUntilConfirmed(t *testing.T) {
	onEachWithBank(t, func(t *testing.T, d *till, b *bank) {
		me := seeker()
		d.begin(me, "premium", "pm_one")
		b.change("paid")
		sub := d.buy(me, "premium", "")
		d.heard()
		d.until(sub.ExpiresAt)
		require.True(t, b.bills[len(b.bills)-1].Unattended)
		o := d.now(me)
		require.Equal(t, billing.PastDue, o.Subscription.Status)
		require.Equal(t, "premium", o.Subscription.Plan)
		d.pass(time.Hour)
		require.Equal(t, []string{"payment-unconfirmed"}, d.heard())
		require.Contains(t, d.sent[len(d.sent)-1].Text, "confirm the payment for the Premium plan")

		d.begin(me, "premium", "")
		require.False(t, b.bills[len(b.bills)-1].Unattended, "the payer is present")
		require.NoError(t, d.notice(me, b.change("paid")))
		o = d.now(me)
		require.Equal(t, billing.Active, o.Subscription.Status)
		require.True(t, o.Subscription.ExpiresAt.After(sub.ExpiresAt))
		require.Equal(t, []string{"renewed"}, d.heard())

		// Unconfirmed, it counts as declined, and a later one is charged.
		d.until(o.Subscription.ExpiresAt)
		for range 25 {
			d.pass(time.Hour)
		}
		require.Equal(t, []string{"payment-unconfirmed", "payment-failed"}, d.heard())
		d.pass(day)
		require.Equal(t, []string{"payment-unconfirmed"}, d.heard())
		require.NoError(t, d.notice(me, b.change("paid")))
		require.Equal(t, []string{"renewed"}, d.heard())
	})
}

func TestConfirm_PastDueWithAnotherMethod_ReplacesTheRenewal(t *testing.T) {
	onEachWithBank(t, func(t *testing.T, d *till, b *bank) {
		me := seeker()
		d.begin(me, "premium", "pm_one")
		b.change("paid")
		d.until(d.buy(me, "premium", "").ExpiresAt)
		d.heard()
		renewal := b.change("waits")
		_, err := d.UseMethod(t.Context(), me, "pm_two")
		require.ErrorIs(t, err, billing.ErrActionRequired)
		require.Equal(t, "declined", b.state[renewal])
		require.Equal(t, billing.PastDue, d.now(me).Subscription.Status)
		require.NoError(t, d.notice(me, b.change("paid")))
		o := d.now(me)
		require.Equal(t, billing.Active, o.Subscription.Status)
		require.Equal(t, "pm_two", o.Subscription.Method.ID)
		require.Equal(t, []string{"renewed"}, d.heard())
	})
}

func TestConfirm_PaymentsThatAreNeverConfirmed_DoNotExtendThePlan(t *testing.T) {
	for name, evade := range map[string]func(d *till, me auth.Actor, method string){
		"purchases": func(d *till, me auth.Actor, method string) {
			_, _ = d.Create(d.t.Context(), me, billing.ChooseInput{PlanID: "gold", PaymentMethodID: method})
		},
		"renewals with another method": func(d *till, me auth.Actor, method string) {
			_, _ = d.UseMethod(d.t.Context(), me, method)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEachWithBank(t, func(t *testing.T, d *till, b *bank) {
				me := seeker()
				d.begin(me, "premium", "pm_one")
				b.change("paid")
				d.until(d.buy(me, "premium", "").ExpiresAt.Add(-time.Hour))
				for i := range 60 {
					evade(d, me, []string{"pm_two", "pm_three"}[i%2])
					d.pass(12 * time.Hour)
				}
				require.Equal(t, "basic", d.now(me).Subscription.Plan)
			})
		})
	}
}

func TestConfirm_DeletedAccount_AbandonsThePayment(t *testing.T) {
	onEachWithBank(t, func(t *testing.T, d *till, b *bank) {
		me := seeker()
		d.begin(me, "premium", "pm_one")
		key := b.change("waits")
		require.NoError(t, d.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: me.UserID}))
		require.NoError(t, d.notice(me, key), "of a payment that is not theirs any more")
		d.pass(time.Hour)
		require.Equal(t, "declined", b.state[key])
		calls := len(b.bills)
		d.pass(2 * day)
		require.Len(t, b.bills, calls)
	})
}

func TestReceiveNotice_Refused(t *testing.T) {
	onEachWithBank(t, func(t *testing.T, d *till, b *bank) {
		me := seeker()
		d.begin(me, "premium", "pm_one")
		key := b.change("paid")
		unsigned := func(string) string { return "" }
		require.ErrorIs(t, d.ReceiveNotice(t.Context(), unsigned, []byte(me.UserID+" "+key)), billing.ErrBadNotice)
		calls := len(b.bills)
		require.NoError(t, d.notice(seeker(), key), "of another owner")
		require.NoError(t, d.notice(me, "another key"))
		require.NoError(t, d.ReceiveNotice(t.Context(), func(string) string { return "valid" }, []byte("the id of an owner that is none here "+key)))
		require.Len(t, b.bills, calls)
		d.Payments = b.Payments
		require.ErrorIs(t, d.notice(me, key), billing.ErrNoNotices)
		_, err := d.SetUpMethod(t.Context(), me)
		require.ErrorIs(t, err, billing.ErrNoCollector)
		_, err = d.SetUpMethod(t.Context(), auth.Actor{UserID: me.UserID})
		require.ErrorIs(t, err, fault.ErrForbidden)
	})
}

func TestConfirm_Sandbox_IsConfirmedByItself(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		require.NotEmpty(t, d.begin(me, "premium", sandboxpay.AuthenticationRequired).ClientSecret)
		d.pass(10 * time.Minute)
		require.Equal(t, "premium", d.now(me).Subscription.Plan)
		require.Equal(t, []string{"started"}, d.heard())
		_, err := sandboxpay.New(d.clock).SetUp(t.Context(), billing.Owner{Kind: billing.User, ID: me.UserID})
		require.NoError(t, err)
	})
}
