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
	onEach(t, func(t *testing.T, d *till) {
		o := d.now(seeker())
		require.Equal(t, "basic", o.Subscription.Plan)
		require.Equal(t, billing.Active, o.Subscription.Status)
		require.False(t, o.Subscription.AutoRenew)
		require.True(t, o.Subscription.ExpiresAt.IsZero())
		require.Empty(t, o.History)
		require.Equal(t, plans, o.Plans)
	})
}

func TestSubscribe_RenewsMonthlyUntilCancelled(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		d.until(time.Date(2027, 1, 31, 9, 0, 0, 0, time.UTC))
		bought := d.clock.Now()
		sub := d.buy(me, "premium", "pm_card_visa")
		require.Equal(t, "premium", sub.Plan)
		require.True(t, sub.AutoRenew)
		require.Equal(t, "4242", sub.Method.Last4)
		require.Equal(t, time.Date(2027, 2, 28, 9, 0, 0, 0, time.UTC), sub.ExpiresAt)
		require.Equal(t, []string{"started"}, d.heard())

		d.until(sub.ExpiresAt.Add(-time.Microsecond))
		require.Len(t, d.now(me).History, 1, "not a moment too early")
		for _, end := range []time.Time{time.Date(2027, 3, 31, 9, 0, 0, 0, time.UTC), time.Date(2027, 4, 30, 9, 0, 0, 0, time.UTC), time.Date(2027, 5, 31, 9, 0, 0, 0, time.UTC)} {
			d.until(d.now(me).Subscription.ExpiresAt)
			require.NoError(t, d.Renew(t.Context()), "a second time changes nothing")
			require.Equal(t, end, d.now(me).Subscription.ExpiresAt)
			require.Equal(t, []string{"renewed"}, d.heard())
		}
		sum, n := d.pay.total()
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
		require.Equal(t, []string{"cancelled"}, d.heard())
		d.clock.Advance(sub.ExpiresAt.Sub(d.clock.Now()) - time.Microsecond)
		require.Equal(t, "premium", d.now(me).Subscription.Plan)
		d.clock.Advance(time.Microsecond)
		require.Equal(t, "basic", d.now(me).Subscription.Plan, "before anybody has come by")
		d.pass(0)
		require.Equal(t, []string{"ended"}, d.heard())
		d.pass(400 * day)
		require.Equal(t, "basic", d.now(me).Subscription.Plan)
		require.Empty(t, d.heard())
		_, n = d.pay.total()
		require.Equal(t, 4, n)

		history := d.now(me).History
		require.Len(t, history, 4)
		require.Equal(t, bought, history[3].PeriodStart)
		require.True(t, slices.IsSortedFunc(history, func(a, b billing.Charge) int { return b.PeriodStart.Compare(a.PeriodStart) }))
		for i := range 3 {
			require.Equal(t, history[i+1].PeriodEnd, history[i].PeriodStart, "no gap and no overlap")
		}
		require.Contains(t, d.sent[0].Text, "28 February 2027")
		letters := map[string]int{}
		for _, m := range d.sent {
			letters[m.ID]++
		}
		require.Len(t, letters, 6)
		for _, n := range letters {
			require.Equal(t, 2, n, "whoever sends it again sends the same")
		}
	})
}

func TestSubscribe_SamePlan_NotCharged(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		first := d.buy(me, "premium", "pm_one")
		require.Equal(t, first.ExpiresAt, d.buy(me, "premium", "pm_two").ExpiresAt)
		require.Equal(t, "pm_two", d.now(me).Subscription.Method.ID)
		require.Equal(t, []string{"started", "payment-method-changed"}, d.heard())
		up, err := d.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "premium"})
		require.NoError(t, err)
		require.True(t, up.AutoRenew)
		_, err = d.Cancel(t.Context(), me)
		require.NoError(t, err)
		d.clock.Advance(10 * day)
		resumed := d.buy(me, "premium", "pm_three")
		require.True(t, resumed.AutoRenew)
		require.Equal(t, first.ExpiresAt, resumed.ExpiresAt)
		require.Equal(t, []string{"cancelled", "payment-method-changed", "resumed"}, d.heard())
		_, n := d.pay.total()
		require.Equal(t, 1, n)
		d.until(first.ExpiresAt)
		require.Equal(t, []string{"renewed"}, d.heard())
	})
}

func TestSubscribe_FreePlan_EndsPaidPlan(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		require.Equal(t, "basic", d.buy(me, "basic", "").Plan)
		require.Equal(t, "basic", d.buy(me, "basic", "pm_one").Plan)
		d.buy(me, "premium", "pm_one")
		sub := d.buy(me, "basic", "")
		require.Equal(t, "premium", sub.Plan)
		require.False(t, sub.AutoRenew)
		require.Equal(t, []string{"payment-method-changed", "started", "cancelled"}, d.heard())
	})
}

func TestUpgrade_MethodOnFileFromFreePlan_Charged(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		require.Equal(t, "pm_one", d.buy(me, "basic", "pm_one").Method.ID)
		require.Equal(t, "pm_one", d.buy(me, "basic", "").Method.ID, "kept")
		sub, err := d.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "premium"})
		require.NoError(t, err)
		require.Equal(t, "premium", sub.Plan)
		require.Equal(t, "pm_one", sub.Method.ID)
		_, err = d.Create(t.Context(), seeker(), billing.ChooseInput{PlanID: "basic", PaymentMethodID: "pm_card_declined"})
		require.ErrorIs(t, err, billing.ErrDeclined)
	})
}

func TestSubscribe_CheaperPlan_UsesCredit(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		sub := d.buy(me, "gold", "pm_one")
		left := sub.ExpiresAt.Sub(d.clock.Now()) / 2
		d.clock.Advance(left)
		down := d.buy(me, "premium", "")
		require.Equal(t, "premium", down.Plan)
		require.WithinDuration(t, d.clock.Now().Add(left*2999/999), down.ExpiresAt, time.Hour)
		require.Len(t, d.now(me).History, 1, "nothing is charged")
		d.until(down.ExpiresAt)
		require.EqualValues(t, 999, d.now(me).History[0].Amount.Minor, "then it renews")
		require.Equal(t, []string{"started", "downgraded", "renewed"}, d.heard())
	})
}

func TestSubscribe_PlanChangedRepeatedly_GainsNothing(t *testing.T) {
	for _, begun := range []time.Time{time.Date(2027, 1, 28, 9, 0, 0, 0, time.UTC), time.Date(2027, 1, 31, 9, 0, 0, 0, time.UTC), time.Date(2028, 2, 29, 9, 0, 0, 0, time.UTC),
		time.Date(2027, 8, 28, 9, 0, 0, 0, time.UTC), time.Date(2027, 12, 31, 9, 0, 0, 0, time.UTC)} {
		t.Run(begun.Format("2 January 2006"), func(t *testing.T) {
			onEach(t, func(t *testing.T, d *till) {
				d.clock.Advance(begun.Sub(d.clock.Now()))
				me := seeker()
				bought := d.buy(me, "gold", "pm_one")
				for range 20 {
					d.clock.Advance(time.Millisecond)
					d.buy(me, "premium", "")
					back := d.buy(me, "gold", "")
					require.False(t, back.ExpiresAt.After(bought.ExpiresAt))
					require.WithinDuration(t, bought.ExpiresAt, back.ExpiresAt, 12*time.Hour, "nor are more than pennies lost")
				}
				require.Len(t, d.now(me).History, 1, "and nobody is charged for pennies")
			})
		})
	}
}

func TestSubscribe_Upgrade_CreditsRemainingMonth(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		sub := d.buy(me, "premium", "pm_one")
		d.clock.Advance(sub.ExpiresAt.Sub(d.clock.Now()) / 2)
		up, err := d.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "gold"})
		require.NoError(t, err)
		require.Equal(t, "gold", up.Plan)
		require.Equal(t, d.clock.Now().AddDate(0, 1, 0), up.ExpiresAt)
		require.EqualValues(t, 2999-516, d.now(me).History[0].Amount.Minor)
		require.Equal(t, []string{"started", "upgraded"}, d.heard())
		_, err = d.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "premium"})
		require.Equal(t, "planId", fault.Of(err).Fields[0].Name)
		d.until(up.ExpiresAt)
		require.EqualValues(t, 2999, d.now(me).History[0].Amount.Minor)
	})
}

func TestSubscribe_Declined_ChangesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		_, err := d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: sandboxpay.CardDeclined})
		require.ErrorIs(t, err, billing.ErrDeclined)
		_, err = d.UseMethod(t.Context(), me, sandboxpay.CardDeclined)
		require.ErrorIs(t, err, billing.ErrDeclined)
		require.Equal(t, billing.NewSubscription(billing.Owner{Kind: billing.User, ID: me.UserID}), d.now(me).Subscription)
		require.Empty(t, d.heard())

		// Declined when it is charged, as a card without money is.
		d.pay.silent = billing.ErrDeclined
		_, err = d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_empty"})
		require.ErrorIs(t, err, billing.ErrDeclined)
		d.pay.silent = nil
		o := d.now(me)
		require.Equal(t, "basic", o.Subscription.Plan)
		require.Empty(t, o.Subscription.Method.ID)
		require.Equal(t, billing.Declined, o.History[0].Status)
		require.Empty(t, d.heard())
		d.buy(me, "premium", "pm_full")
	})
}

func TestSubscribe_Concurrent_OneCharge(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
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
		_, n := d.pay.total()
		require.Equal(t, 1, n)
		require.Equal(t, 1, d.pay.asked, "the others wait for what one is told")
		require.Len(t, d.now(me).History, 1)
		require.Equal(t, []string{"started"}, d.heard())
	})
}

func TestCharge_Concurrent_FirstWins(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		d.pay.silent = fault.ErrUnavailable
		_, err := d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Error(t, err)
		d.clock.Advance(time.Hour)
		d.before(1, func() { // another worker has read the same
			pending, err := d.Charges.List(t.Context(), billing.ChargeFilter{Owner: billing.Owner{Kind: billing.User, ID: me.UserID}, Status: billing.Pending}, 1)
			require.NoError(t, err)
			c := pending[0]
			c.Attempts, c.NextAt = c.Attempts+1, d.clock.Now().Add(time.Minute)
			ours, err := d.Charges.Update(t.Context(), c)
			require.NoError(t, err)
			require.True(t, ours)
		})
		require.NoError(t, d.Renew(t.Context()))
		require.Equal(t, 1, d.pay.asked)
		d.pay.silent = nil
		d.pass(time.Hour)
		require.Equal(t, 2, d.pay.asked)
		require.Equal(t, "premium", d.now(me).Subscription.Plan)
	})
}

func TestSubscribe_DeclinedLater_NotifiesUser(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		d.pay.silent = errors.New("the line went dead")
		_, err := d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Error(t, err)
		d.pay.silent = billing.ErrDeclined
		d.pass(2 * time.Minute)
		require.Equal(t, []string{"payment-refused"}, d.heard())
		require.Contains(t, d.sent[0].Text, "The payment for the Premium plan was declined, so nothing has changed")
		require.Equal(t, "basic", d.now(me).Subscription.Plan)

		// Also at an upgrade, which leaves the plan before it as it was.
		d.pay.silent = nil
		d.buy(me, "premium", "pm_one")
		before := d.now(me).Subscription
		require.Equal(t, []string{"started"}, d.heard())
		d.clock.Advance(day)
		d.pay.silent = errors.New("the line went dead")
		_, err = d.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "gold"})
		require.Error(t, err)
		d.pay.silent = billing.ErrDeclined
		d.pass(2 * time.Minute)
		require.Equal(t, []string{"payment-refused"}, d.heard())
		require.Contains(t, d.sent[len(d.sent)-1].Text, "Gold plan")
		require.Equal(t, before, d.now(me).Subscription)
	})
}

func TestCharge_ResponseLost_ChargedOnce(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		d.pay.crash = errors.New("the line went dead")
		_, err := d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Equal(t, fault.Unavailable, fault.KindOf(err))
		require.Equal(t, "basic", d.now(me).Subscription.Plan)
		require.Equal(t, billing.Pending, d.now(me).History[0].Status)

		_, err = d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_two"})
		require.ErrorIs(t, err, billing.ErrUnderWay)
		_, err = d.Create(t.Context(), me, billing.ChooseInput{PlanID: "gold", PaymentMethodID: "pm_one"})
		require.ErrorIs(t, err, billing.ErrUnderWay)
		_, err = d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Equal(t, fault.Unavailable, fault.KindOf(err), "asked again for whoever waits, and silent still")

		require.NoError(t, d.Renew(t.Context()), "its moment has not come")
		d.clock.Advance(2 * time.Minute)
		require.Error(t, d.Renew(t.Context()), "asked again, and silent still")
		d.pay.crash = nil
		d.pass(time.Hour)
		require.Equal(t, "premium", d.now(me).Subscription.Plan)
		require.Equal(t, []string{"started"}, d.heard())
		_, n := d.pay.total()
		require.Equal(t, 1, n)

		// And at a renewal, during which its owner cancels.
		d.pay.crash = errors.New("the line went dead")
		d.clock.Advance(d.now(me).Subscription.ExpiresAt.Sub(d.clock.Now()))
		require.Error(t, d.Renew(t.Context()))
		sub, err := d.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, "basic", sub.Plan)
		d.pay.crash = nil
		d.pass(2 * time.Hour)
		sub = d.now(me).Subscription
		require.Equal(t, "premium", sub.Plan, "it was paid for")
		require.False(t, sub.AutoRenew)
		d.pass(40 * day)
		require.Equal(t, "basic", d.now(me).Subscription.Plan)
		require.Equal(t, []string{"ended", "renewed", "ended"}, d.heard())
		_, n = d.pay.total()
		require.Equal(t, 2, n)
	})
}

func TestCancel_ChargePending_IsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		silent := func() {
			t.Helper()
			d.pay.silent = errors.New("the line went dead")
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
		d.pay.silent = nil
		d.pass(2 * time.Minute)
		require.Equal(t, "premium", d.now(me).Subscription.Plan)

		silent()
		_, err = d.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "gold"})
		require.Error(t, err)
		refused()
		d.pay.silent = nil
		d.pass(2 * time.Minute)
		require.Equal(t, "gold", d.now(me).Subscription.Plan)
		_, err = d.UseMethod(t.Context(), me, "pm_two")
		require.NoError(t, err)
		sub, err := d.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.False(t, sub.AutoRenew)
		require.Equal(t, "pm_two", sub.Method.ID)
		require.Equal(t, []string{"started", "upgraded", "payment-method-changed", "cancelled"}, d.heard())
		d.pass(2 * time.Hour)
		require.False(t, d.now(me).Subscription.AutoRenew)
	})
}

func TestBilling_Employer_Forbidden(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
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
	d := open(t, stores.SQLite)
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
	_, n := d.pay.total()
	require.Zero(t, n)
}
