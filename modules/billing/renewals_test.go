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
	onEach(t, func(t *testing.T, d *testEnv) {
		me := seeker()
		sub := d.subscribe(me, "premium", sandboxpay.CardExpired)
		d.takeChanges()
		d.advanceTo(sub.ExpiresAt)
		for i, wait := range []time.Duration{day, 2 * day, 4 * day} {
			o := d.overview(me)
			require.Equal(t, billing.PastDue, o.Subscription.Status)
			require.Equal(t, "premium", o.Subscription.Plan)
			require.Len(t, o.History, 2+i)
			require.Equal(t, []string{"payment-failed"}, d.takeChanges())
			d.advance(wait - time.Microsecond)
			require.Empty(t, d.takeChanges())
			d.advance(time.Microsecond)
		}
		o := d.overview(me)
		require.Equal(t, "basic", o.Subscription.Plan)
		require.Equal(t, billing.Active, o.Subscription.Status)
		require.Equal(t, []string{"lapsed"}, d.takeChanges())
		require.Len(t, o.History, 5)
		_, n := d.provider.total()
		require.Equal(t, 1, n)
	})
}

func TestRenewal_PastDue_NewMethodIsCharged(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me := seeker()
		d.advanceTo(d.subscribe(me, "premium", sandboxpay.CardExpired).ExpiresAt)
		require.Equal(t, []string{"started", "payment-failed"}, d.takeChanges())
		d.clock.Advance(time.Hour)
		_, err := d.UseMethod(t.Context(), me, sandboxpay.CardDeclined)
		require.ErrorIs(t, err, billing.ErrDeclined)
		require.Equal(t, sandboxpay.CardExpired, d.overview(me).Subscription.Method.ID)
		sub, err := d.UseMethod(t.Context(), me, "pm_card_mastercard")
		require.NoError(t, err)
		require.Equal(t, billing.Active, sub.Status)
		require.Equal(t, "mastercard", sub.Method.Brand)
		require.Equal(t, d.clock.Now().AddDate(0, 1, 0), sub.ExpiresAt)
		require.Equal(t, []string{"renewed"}, d.takeChanges())
		d.advance(2 * day)
		require.Empty(t, d.takeChanges(), "no retry is scheduled")
	})
}

func TestCancel_PastDue_BasicAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me := seeker()
		d.advanceTo(d.subscribe(me, "premium", sandboxpay.CardExpired).ExpiresAt)
		sub, err := d.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, "basic", sub.Plan)
		require.Equal(t, []string{"started", "payment-failed", "ended"}, d.takeChanges())
		d.advance(10 * day)
		require.Empty(t, d.takeChanges())
	})
}

func TestRenewal_ProviderFails_RetriedWithoutBlocking(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me := seeker()
		d.subscribe(me, "premium", "pm_one")
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
		require.Empty(t, due, "other renewals are due before the retry")
		d.clock.Advance(time.Hour)
		require.ErrorContains(t, d.Renew(t.Context()), "no way to charge", "the error is reported until it is resolved")
	})
}

func TestRenewal_ManyWorkers_OneCharge(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		var people []auth.Actor
		for range 3 {
			people = append(people, seeker())
			d.subscribe(people[len(people)-1], "premium", "pm_one")
		}
		d.takeChanges()
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
		d.advance(time.Hour)
		_, n := d.provider.total()
		require.Equal(t, 6, n)
		require.Equal(t, []string{"renewed", "renewed", "renewed"}, d.takeChanges())
	})
}

func TestRenewal_OneFails_OthersContinue(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		for range 5 {
			d.subscribe(seeker(), "premium", "pm_one")
		}
		me := seeker()
		d.subscribe(me, "premium", "pm_one")
		d.takeChanges()
		d.provider.errBefore = fault.ErrUnavailable
		d.clock.Advance(40 * day)
		require.Error(t, d.Renew(t.Context()))
		require.Equal(t, "premium", d.overview(me).Subscription.Plan, "an outage of the provider does not end the plan")
		require.Equal(t, billing.Active, d.overview(me).Subscription.Status)
		d.provider.errBefore = nil
		d.advance(2 * time.Hour)
		require.Len(t, d.takeChanges(), 6)
	})
}

func TestRenewal_AccountDeleted_NotCharged(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me := seeker()
		d.subscribe(me, "premium", "pm_one")
		d.takeChanges()
		d.deletedUsers[me.UserID] = true
		d.advance(40 * day)
		_, n := d.provider.total()
		require.Equal(t, 1, n)
		require.Equal(t, "basic", d.overview(me).Subscription.Plan)
		require.Empty(t, d.takeChanges())
	})
}

func TestOnAccountDeleted_Payments_KeptAnonymously(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me, other := seeker(), seeker()
		d.subscribe(me, "premium", "pm_one")
		d.subscribe(other, "premium", "pm_one")
		owner := billing.Owner{Kind: billing.User, ID: me.UserID}
		for range 2 {
			require.NoError(t, d.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: me.UserID}))
		}
		require.Equal(t, []billing.Owner{owner, owner}, d.provider.forgotten)
		o := d.overview(me)
		require.Equal(t, "basic", o.Subscription.Plan)
		require.Empty(t, o.History)
		require.Len(t, d.overview(other).History, 1)

		// With a payment on its way, whose answer comes later.
		late := seeker()
		d.provider.errAfter = errors.New("the line went dead")
		_, err := d.Create(t.Context(), late, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Error(t, err)
		require.NoError(t, d.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: late.UserID}))
		d.provider.errAfter = nil
		d.deletedUsers[late.UserID] = true
		d.advance(time.Hour)
		require.Equal(t, "basic", d.overview(late).Subscription.Plan)
		waiting, err := d.store.Billing.Charges.List(t.Context(), billing.ChargeFilter{DueBy: d.clock.Now().Add(1000 * day)}, 10)
		require.NoError(t, err)
		require.Empty(t, waiting, "a settled charge is not due again")
		d.advance(20 * day)
		_, n := d.provider.total()
		require.Equal(t, 3, n)
	})
}
