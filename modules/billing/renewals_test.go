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

func TestRenewal_Declined_RetriedForAWeek(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		sub := d.buy(me, "premium", sandboxpay.CardExpired)
		d.heard()
		d.until(sub.ExpiresAt)
		for i, wait := range []time.Duration{day, 2 * day, 4 * day} {
			o := d.now(me)
			require.Equal(t, billing.PastDue, o.Subscription.Status)
			require.Equal(t, "premium", o.Subscription.Plan)
			require.Len(t, o.History, 2+i)
			require.Equal(t, []string{"payment-failed"}, d.heard())
			d.pass(wait - time.Microsecond)
			require.Empty(t, d.heard())
			d.pass(time.Microsecond)
		}
		o := d.now(me)
		require.Equal(t, "basic", o.Subscription.Plan)
		require.Equal(t, billing.Active, o.Subscription.Status)
		require.Equal(t, []string{"lapsed"}, d.heard())
		require.Len(t, o.History, 5)
		_, n := d.pay.total()
		require.Equal(t, 1, n)
	})
}

func TestRenewal_PastDue_NewMethodIsCharged(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		d.until(d.buy(me, "premium", sandboxpay.CardExpired).ExpiresAt)
		require.Equal(t, []string{"started", "payment-failed"}, d.heard())
		d.clock.Advance(time.Hour)
		_, err := d.UseMethod(t.Context(), me, sandboxpay.CardDeclined)
		require.ErrorIs(t, err, billing.ErrDeclined)
		require.Equal(t, sandboxpay.CardExpired, d.now(me).Subscription.Method.ID)
		sub, err := d.UseMethod(t.Context(), me, "pm_card_mastercard")
		require.NoError(t, err)
		require.Equal(t, billing.Active, sub.Status)
		require.Equal(t, "mastercard", sub.Method.Brand)
		require.Equal(t, d.clock.Now().AddDate(0, 1, 0), sub.ExpiresAt)
		require.Equal(t, []string{"renewed"}, d.heard())
		d.pass(2 * day)
		require.Empty(t, d.heard(), "the retry is off")
	})
}

func TestCancel_PastDue_BasicAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		d.until(d.buy(me, "premium", sandboxpay.CardExpired).ExpiresAt)
		sub, err := d.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, "basic", sub.Plan)
		require.Equal(t, []string{"started", "payment-failed", "ended"}, d.heard())
		d.pass(10 * day)
		require.Empty(t, d.heard())
	})
}

func TestRenewal_ProviderFails_RetriedWithoutBlocking(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		d.buy(me, "premium", "pm_one")
		owner := billing.Owner{Kind: billing.User, ID: me.UserID}
		require.NoError(t, d.store.Billing.Tx.Do(t.Context(), func(ctx context.Context) error {
			sub, err := d.store.Billing.Subscriptions.Lock(ctx, owner)
			if err != nil {
				return err
			}
			sub.Method = billing.Method{}
			return d.store.Billing.Subscriptions.Update(ctx, sub)
		}))
		d.clock.Advance(40 * day)
		require.ErrorContains(t, d.Renew(t.Context()), "no way to charge")
		due, err := d.store.Billing.Subscriptions.ListDue(t.Context(), d.clock.Now(), 10)
		require.NoError(t, err)
		require.Empty(t, due, "others are due before it is again")
		d.clock.Advance(time.Hour)
		require.ErrorContains(t, d.Renew(t.Context()), "no way to charge", "until somebody has seen to it")
	})
}

func TestRenewal_ManyWorkers_OneCharge(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		var people []auth.Actor
		for range 3 {
			people = append(people, seeker())
			d.buy(people[len(people)-1], "premium", "pm_one")
		}
		d.heard()
		d.clock.Advance(40 * day)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := d.Renew(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		d.pass(time.Hour)
		_, n := d.pay.total()
		require.Equal(t, 6, n)
		require.Equal(t, []string{"renewed", "renewed", "renewed"}, d.heard())
	})
}

func TestRenewal_OneFails_OthersContinue(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		for range 5 {
			d.buy(seeker(), "premium", "pm_one")
		}
		me := seeker()
		d.buy(me, "premium", "pm_one")
		d.heard()
		d.pay.silent = fault.ErrUnavailable
		d.clock.Advance(40 * day)
		require.Error(t, d.Renew(t.Context()))
		require.Equal(t, "premium", d.now(me).Subscription.Plan, "an outage of the provider is not the payer's fault")
		require.Equal(t, billing.Active, d.now(me).Subscription.Status)
		d.pay.silent = nil
		d.pass(2 * time.Hour)
		require.Len(t, d.heard(), 6)
	})
}

func TestRenewal_AccountDeleted_NotCharged(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		d.buy(me, "premium", "pm_one")
		d.heard()
		d.gone[me.UserID] = true
		d.pass(40 * day)
		_, n := d.pay.total()
		require.Equal(t, 1, n)
		require.Equal(t, "basic", d.now(me).Subscription.Plan)
		require.Empty(t, d.heard())
	})
}

func TestOnAccountDeleted_Payments_KeptAnonymously(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me, other := seeker(), seeker()
		d.buy(me, "premium", "pm_one")
		d.buy(other, "premium", "pm_one")
		owner := billing.Owner{Kind: billing.User, ID: me.UserID}
		for range 2 {
			require.NoError(t, d.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: me.UserID}))
		}
		require.Equal(t, []billing.Owner{owner, owner}, d.pay.forgot)
		o := d.now(me)
		require.Equal(t, "basic", o.Subscription.Plan)
		require.Empty(t, o.History)
		require.Len(t, d.now(other).History, 1)

		// With a payment on its way, whose answer comes later.
		late := seeker()
		d.pay.crash = errors.New("the line went dead")
		_, err := d.Create(t.Context(), late, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Error(t, err)
		require.NoError(t, d.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: late.UserID}))
		d.pay.crash = nil
		d.gone[late.UserID] = true
		d.pass(time.Hour)
		require.Equal(t, "basic", d.now(late).Subscription.Plan)
		waiting, err := d.store.Billing.Charges.List(t.Context(), billing.ChargeFilter{DueBy: d.clock.Now().Add(1000 * day)}, 10)
		require.NoError(t, err)
		require.Empty(t, waiting, "it has its answer")
		d.pass(20 * day)
		_, n := d.pay.total()
		require.Equal(t, 3, n)
	})
}
