package billing_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/sandboxpay"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

func TestSubscription_NewAccount_IsBasic(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		o := d.overview(seeker())
		require.Equal(t, "basic", o.Subscription.Plan)
		require.Equal(t, billing.Active, o.Subscription.Status)
		require.False(t, o.Subscription.AutoRenew)
		require.True(t, o.Subscription.ExpiresAt.IsZero())
		require.Empty(t, o.History)
		require.Equal(t, plans, o.Plans)
	})
}

func TestSubscribe_RenewsMonthlyUntilCancelled(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me := seeker()
		d.advanceTo(time.Date(2027, 1, 31, 9, 0, 0, 0, time.UTC))
		bought := d.clock.Now()
		sub := d.subscribe(me, "premium", "pm_card_visa")
		require.Equal(t, "premium", sub.Plan)
		require.True(t, sub.AutoRenew)
		require.Equal(t, "4242", sub.Method.Last4)
		require.Equal(t, time.Date(2027, 2, 28, 9, 0, 0, 0, time.UTC), sub.ExpiresAt)
		require.Equal(t, []string{"started"}, d.takeChanges())

		d.advanceTo(sub.ExpiresAt.Add(-time.Microsecond))
		require.Len(t, d.overview(me).History, 1, "nothing is charged before the period ends")
		for _, end := range []time.Time{time.Date(2027, 3, 31, 9, 0, 0, 0, time.UTC), time.Date(2027, 4, 30, 9, 0, 0, 0, time.UTC), time.Date(2027, 5, 31, 9, 0, 0, 0, time.UTC)} {
			d.advanceTo(d.overview(me).Subscription.ExpiresAt)
			require.NoError(t, d.Renew(t.Context()), "a repeated renewal charges nothing")
			require.Equal(t, end, d.overview(me).Subscription.ExpiresAt)
			require.Equal(t, []string{"renewed"}, d.takeChanges())
		}
		sum, n := d.provider.total()
		require.Equal(t, 4, n)
		require.EqualValues(t, 4*999, sum)

		sub, err := d.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, "premium", sub.Plan)
		require.Equal(t, billing.Active, sub.Status)
		require.False(t, sub.AutoRenew)
		again, err := d.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, sub.ExpiresAt, again.ExpiresAt)
		require.Equal(t, []string{"cancelled"}, d.takeChanges())
		d.clock.Advance(sub.ExpiresAt.Sub(d.clock.Now()) - time.Microsecond)
		require.Equal(t, "premium", d.overview(me).Subscription.Plan)
		d.clock.Advance(time.Microsecond)
		require.Equal(t, "basic", d.overview(me).Subscription.Plan, "before the renewal has run")
		d.advance(0)
		require.Equal(t, []string{"ended"}, d.takeChanges())
		d.advance(400 * day)
		require.Equal(t, "basic", d.overview(me).Subscription.Plan)
		require.Empty(t, d.takeChanges())
		_, n = d.provider.total()
		require.Equal(t, 4, n)

		history := d.overview(me).History
		require.Len(t, history, 4)
		require.Equal(t, bought, history[3].PeriodStart)
		require.True(t, slices.IsSortedFunc(history, func(a, b billing.Charge) int { return b.PeriodStart.Compare(a.PeriodStart) }))
		for i := range 3 {
			require.Equal(t, history[i+1].PeriodEnd, history[i].PeriodStart, "the periods follow each other exactly")
		}
		require.Contains(t, d.sent[0].Text, "28 February 2027")
		mails := map[string]int{}
		for _, m := range d.sent {
			mails[m.ID]++
		}
		require.Len(t, mails, 6)
		for _, n := range mails {
			require.Equal(t, 2, n, "repeated handlers send the same message id")
		}
	})
}

func TestSubscribe_SamePlan_NotCharged(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me := seeker()
		first := d.subscribe(me, "premium", "pm_one")
		require.Equal(t, first.ExpiresAt, d.subscribe(me, "premium", "pm_two").ExpiresAt)
		require.Equal(t, "pm_two", d.overview(me).Subscription.Method.ID)
		require.Equal(t, []string{"started", "payment-method-changed"}, d.takeChanges())
		up, err := d.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "premium"})
		require.NoError(t, err)
		require.True(t, up.AutoRenew)
		_, err = d.Cancel(t.Context(), me)
		require.NoError(t, err)
		d.clock.Advance(10 * day)
		resumed := d.subscribe(me, "premium", "pm_three")
		require.True(t, resumed.AutoRenew)
		require.Equal(t, first.ExpiresAt, resumed.ExpiresAt)
		require.Equal(t, []string{"cancelled", "payment-method-changed", "resumed"}, d.takeChanges())
		_, n := d.provider.total()
		require.Equal(t, 1, n)
		d.advanceTo(first.ExpiresAt)
		require.Equal(t, []string{"renewed"}, d.takeChanges())
	})
}

func TestSubscribe_FreePlan_EndsPaidPlan(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me := seeker()
		require.Equal(t, "basic", d.subscribe(me, "basic", "").Plan)
		require.Equal(t, "basic", d.subscribe(me, "basic", "pm_one").Plan)
		d.subscribe(me, "premium", "pm_one")
		sub := d.subscribe(me, "basic", "")
		require.Equal(t, "premium", sub.Plan)
		require.False(t, sub.AutoRenew)
		require.Equal(t, []string{"payment-method-changed", "started", "cancelled"}, d.takeChanges())
	})
}

func TestUpgrade_MethodOnFileFromFreePlan_Charged(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me := seeker()
		require.Equal(t, "pm_one", d.subscribe(me, "basic", "pm_one").Method.ID)
		require.Equal(t, "pm_one", d.subscribe(me, "basic", "").Method.ID, "kept")
		sub, err := d.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "premium"})
		require.NoError(t, err)
		require.Equal(t, "premium", sub.Plan)
		require.Equal(t, "pm_one", sub.Method.ID)
		_, err = d.Create(t.Context(), seeker(), billing.ChooseInput{PlanID: "basic", PaymentMethodID: "pm_card_declined"})
		require.ErrorIs(t, err, billing.ErrDeclined)
	})
}

func TestSubscribe_CheaperPlan_UsesCredit(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me := seeker()
		sub := d.subscribe(me, "gold", "pm_one")
		left := sub.ExpiresAt.Sub(d.clock.Now()) / 2
		d.clock.Advance(left)
		down := d.subscribe(me, "premium", "")
		require.Equal(t, "premium", down.Plan)
		require.WithinDuration(t, d.clock.Now().Add(left*2999/999), down.ExpiresAt, time.Hour)
		require.Len(t, d.overview(me).History, 1, "nothing is charged")
		d.advanceTo(down.ExpiresAt)
		require.EqualValues(t, 999, d.overview(me).History[0].Amount.Minor, "the plan renews at the end of the period")
		require.Equal(t, []string{"started", "downgraded", "renewed"}, d.takeChanges())
	})
}

func TestSubscribe_PlanChangedRepeatedly_GainsNothing(t *testing.T) {
	for _, begun := range []time.Time{time.Date(2027, 1, 28, 9, 0, 0, 0, time.UTC), time.Date(2027, 1, 31, 9, 0, 0, 0, time.UTC), time.Date(2028, 2, 29, 9, 0, 0, 0, time.UTC),
		time.Date(2027, 8, 28, 9, 0, 0, 0, time.UTC), time.Date(2027, 12, 31, 9, 0, 0, 0, time.UTC)} {
		t.Run(begun.Format("2 January 2006"), func(t *testing.T) {
			onEach(t, func(t *testing.T, d *testEnv) {
				d.clock.Advance(begun.Sub(d.clock.Now()))
				me := seeker()
				bought := d.subscribe(me, "gold", "pm_one")
				for range 20 {
					d.clock.Advance(time.Millisecond)
					d.subscribe(me, "premium", "")
					back := d.subscribe(me, "gold", "")
					require.False(t, back.ExpiresAt.After(bought.ExpiresAt))
					require.WithinDuration(t, bought.ExpiresAt, back.ExpiresAt, 12*time.Hour, "at most pennies are lost")
				}
				require.Len(t, d.overview(me).History, 1, "amounts of pennies are not charged")
			})
		})
	}
}

func TestSubscribe_Upgrade_CreditsRemainingMonth(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me := seeker()
		sub := d.subscribe(me, "premium", "pm_one")
		d.clock.Advance(sub.ExpiresAt.Sub(d.clock.Now()) / 2)
		up, err := d.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "gold"})
		require.NoError(t, err)
		require.Equal(t, "gold", up.Plan)
		require.Equal(t, d.clock.Now().AddDate(0, 1, 0), up.ExpiresAt)
		require.EqualValues(t, 2999-516, d.overview(me).History[0].Amount.Minor)
		require.Equal(t, []string{"started", "upgraded"}, d.takeChanges())
		_, err = d.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "premium"})
		require.Equal(t, "planId", fault.Of(err).Fields[0].Name)
		d.advanceTo(up.ExpiresAt)
		require.EqualValues(t, 2999, d.overview(me).History[0].Amount.Minor)
	})
}

func TestSubscribe_Declined_ChangesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me := seeker()
		_, err := d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: sandboxpay.CardDeclined})
		require.ErrorIs(t, err, billing.ErrDeclined)
		_, err = d.UseMethod(t.Context(), me, sandboxpay.CardDeclined)
		require.ErrorIs(t, err, billing.ErrDeclined)
		require.Equal(t, billing.NewSubscription(billing.Owner{Kind: billing.User, ID: me.UserID}), d.overview(me).Subscription)
		require.Empty(t, d.takeChanges())

		// Declined when it is charged, as a card without money is.
		d.provider.errBefore = billing.ErrDeclined
		_, err = d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_empty"})
		require.ErrorIs(t, err, billing.ErrDeclined)
		d.provider.errBefore = nil
		o := d.overview(me)
		require.Equal(t, "basic", o.Subscription.Plan)
		require.Empty(t, o.Subscription.Method.ID)
		require.Equal(t, billing.Declined, o.History[0].Status)
		require.Empty(t, d.takeChanges())
		d.subscribe(me, "premium", "pm_full")
	})
}

func TestSubscribe_Concurrent_OneCharge(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me := seeker()
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				sub, err := d.Create(context.Background(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
				if err != nil || sub.Plan != "premium" {
					t.Error(i, sub, err)
				}
			})
		}
		all.Wait()
		_, n := d.provider.total()
		require.Equal(t, 1, n)
		require.Equal(t, 1, d.provider.calls, "concurrent requests share the result of one charge")
		require.Len(t, d.overview(me).History, 1)
		require.Equal(t, []string{"started"}, d.takeChanges())
	})
}

func TestCharge_Concurrent_FirstWins(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me := seeker()
		d.provider.errBefore = fault.ErrUnavailable
		_, err := d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Error(t, err)
		d.clock.Advance(time.Hour)
		d.beforeTransaction(1, func() { // another worker has read the same
			pending, err := d.Charges.List(t.Context(), billing.ChargeFilter{Owner: billing.Owner{Kind: billing.User, ID: me.UserID}, Status: billing.Pending}, 1)
			require.NoError(t, err)
			c := pending[0]
			c.Attempts, c.NextAt = c.Attempts+1, d.clock.Now().Add(time.Minute)
			ours, err := d.Charges.Update(t.Context(), c)
			require.NoError(t, err)
			require.True(t, ours)
		})
		require.NoError(t, d.Renew(t.Context()))
		require.Equal(t, 1, d.provider.calls)
		d.provider.errBefore = nil
		d.advance(time.Hour)
		require.Equal(t, 2, d.provider.calls)
		require.Equal(t, "premium", d.overview(me).Subscription.Plan)
	})
}

func TestSubscribe_DeclinedLater_NotifiesUser(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me := seeker()
		d.provider.errBefore = errors.New("the line went dead")
		_, err := d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Error(t, err)
		d.provider.errBefore = billing.ErrDeclined
		d.advance(2 * time.Minute)
		require.Equal(t, []string{"payment-refused"}, d.takeChanges())
		require.Contains(t, d.sent[0].Text, "The payment for the Premium plan was declined, so nothing has changed")
		require.Equal(t, "basic", d.overview(me).Subscription.Plan)

		// Also at an upgrade, which leaves the plan before it as it was.
		d.provider.errBefore = nil
		d.subscribe(me, "premium", "pm_one")
		before := d.overview(me).Subscription
		require.Equal(t, []string{"started"}, d.takeChanges())
		d.clock.Advance(day)
		d.provider.errBefore = errors.New("the line went dead")
		_, err = d.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "gold"})
		require.Error(t, err)
		d.provider.errBefore = billing.ErrDeclined
		d.advance(2 * time.Minute)
		require.Equal(t, []string{"payment-refused"}, d.takeChanges())
		require.Contains(t, d.sent[len(d.sent)-1].Text, "Gold plan")
		require.Equal(t, before, d.overview(me).Subscription)
	})
}

func TestCharge_ResponseLost_ChargedOnce(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me := seeker()
		d.provider.errAfter = errors.New("the line went dead")
		_, err := d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Equal(t, fault.Unavailable, fault.KindOf(err))
		require.Equal(t, "basic", d.overview(me).Subscription.Plan)
		require.Equal(t, billing.Pending, d.overview(me).History[0].Status)

		_, err = d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_two"})
		require.ErrorIs(t, err, billing.ErrUnderWay)
		_, err = d.Create(t.Context(), me, billing.ChooseInput{PlanID: "gold", PaymentMethodID: "pm_one"})
		require.ErrorIs(t, err, billing.ErrUnderWay)
		_, err = d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Equal(t, fault.Unavailable, fault.KindOf(err), "pending charges are retried while the provider is unavailable")

		require.NoError(t, d.Renew(t.Context()), "the retry is not due yet")
		d.clock.Advance(2 * time.Minute)
		require.Error(t, d.Renew(t.Context()), "the retry fails too")
		d.provider.errAfter = nil
		d.advance(time.Hour)
		require.Equal(t, "premium", d.overview(me).Subscription.Plan)
		require.Equal(t, []string{"started"}, d.takeChanges())
		_, n := d.provider.total()
		require.Equal(t, 1, n)

		// And at a renewal, during which its owner cancels.
		d.provider.errAfter = errors.New("the line went dead")
		d.clock.Advance(d.overview(me).Subscription.ExpiresAt.Sub(d.clock.Now()))
		require.Error(t, d.Renew(t.Context()))
		sub, err := d.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, "basic", sub.Plan)
		d.provider.errAfter = nil
		d.advance(2 * time.Hour)
		sub = d.overview(me).Subscription
		require.Equal(t, "premium", sub.Plan, "a paid plan becomes active")
		require.False(t, sub.AutoRenew)
		d.advance(40 * day)
		require.Equal(t, "basic", d.overview(me).Subscription.Plan)
		require.Equal(t, []string{"ended", "renewed", "ended"}, d.takeChanges())
		_, n = d.provider.total()
		require.Equal(t, 2, n)
	})
}

func TestCancel_ChargePending_IsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me := seeker()
		silent := func() {
			t.Helper()
			d.provider.errBefore = errors.New("the line went dead")
		}
		refused := func() {
			t.Helper()
			_, err := d.Cancel(t.Context(), me)
			require.ErrorIs(t, err, billing.ErrUnderWay)
			_, err = d.Create(t.Context(), me, billing.ChooseInput{PlanID: "basic"})
			require.ErrorIs(t, err, billing.ErrUnderWay)
			_, err = d.UseMethod(t.Context(), me, "pm_two")
			require.ErrorIs(t, err, billing.ErrUnderWay)
		}
		silent()
		_, err := d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Error(t, err)
		refused()
		d.provider.errBefore = nil
		d.advance(2 * time.Minute)
		require.Equal(t, "premium", d.overview(me).Subscription.Plan)

		silent()
		_, err = d.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "gold"})
		require.Error(t, err)
		refused()
		d.provider.errBefore = nil
		d.advance(2 * time.Minute)
		require.Equal(t, "gold", d.overview(me).Subscription.Plan)
		_, err = d.UseMethod(t.Context(), me, "pm_two")
		require.NoError(t, err)
		sub, err := d.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.False(t, sub.AutoRenew)
		require.Equal(t, "pm_two", sub.Method.ID)
		require.Equal(t, []string{"started", "upgraded", "payment-method-changed", "cancelled"}, d.takeChanges())
		d.advance(2 * time.Hour)
		require.False(t, d.overview(me).Subscription.AutoRenew)
	})
}

func TestBilling_Employer_Forbidden(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		for _, by := range []auth.Actor{{}, {UserID: stores.NewID(), Role: auth.Employer, OrganizationID: stores.NewID(), Permissions: []auth.Permission{auth.Manage}}} {
			_, err := d.Mine(t.Context(), by)
			require.ErrorIs(t, err, kit.Refusal(by))
			for _, try := range []func() (billing.Subscription, error){
				func() (billing.Subscription, error) {
					return d.Create(t.Context(), by, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
				},
				func() (billing.Subscription, error) {
					return d.Upgrade(t.Context(), by, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
				},
				func() (billing.Subscription, error) { return d.UseMethod(t.Context(), by, "pm_one") },
				func() (billing.Subscription, error) { return d.Cancel(t.Context(), by) },
			} {
				_, err := try()
				require.ErrorIs(t, err, kit.Refusal(by))
			}
		}
	})
}

func TestSubscribe_InvalidInput_EachFieldIsNamed(t *testing.T) {
	t.Parallel()
	d := newTestEnv(t, stores.SQLite)
	for _, c := range []struct{ plan, method, field string }{
		{"", "pm_one", "planId"}, {"platinum", "pm_one", "planId"}, {"premium", "", "paymentMethodId"}, {"premium", "card", "paymentMethodId"},
		{"premium", "pm_a b", "paymentMethodId"}, {"premium", "pm_" + strings.Repeat("x", 300), "paymentMethodId"}, {"premium", sandboxpay.MethodMissing, "paymentMethodId"},
		{"premium", "pm_4242424242424242", "paymentMethodId"},
	} {
		_, err := d.Create(t.Context(), seeker(), billing.ChooseInput{PlanID: c.plan, PaymentMethodID: c.method})
		require.Equal(t, fault.Invalid, fault.KindOf(err), "%+v", c)
		require.Equal(t, c.field, fault.Of(err).Fields[0].Name, "%+v", c)
	}
	_, err := d.Upgrade(t.Context(), seeker(), billing.ChooseInput{PlanID: "basic"})
	require.Equal(t, "planId", fault.Of(err).Fields[0].Name)
	_, err = d.UseMethod(t.Context(), seeker(), "")
	require.Equal(t, "paymentMethodId", fault.Of(err).Fields[0].Name)
	_, n := d.provider.total()
	require.Zero(t, n)
}
