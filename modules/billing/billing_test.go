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

// TestSubscription_NewAccount_IsBasic checks the free plan, which needs no stored row and never
// ends.
func TestSubscription_NewAccount_IsBasic(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		o := env.overview(newSeeker())
		require.Equal(t, "basic", o.Subscription.Plan)
		require.Equal(t, billing.Active, o.Subscription.Status)
		require.False(t, o.Subscription.AutoRenew)
		require.True(t, o.Subscription.ExpiresAt.IsZero())
		require.Empty(t, o.History)
		require.Equal(t, plans, o.Plans)
	})
}

// TestSubscribe_RenewsMonthlyUntilCancelled follows a plan that begins on 31 January: the
// periods end on the last days of shorter months, without gaps. A cancelled plan stays until
// its paid period ends.
func TestSubscribe_RenewsMonthlyUntilCancelled(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()

		env.advanceTo(time.Date(2027, 1, 31, 9, 0, 0, 0, time.UTC))

		bought := env.clock.Now()
		sub := env.subscribe(me, "premium", "pm_card_visa")
		require.Equal(t, "premium", sub.Plan)
		require.True(t, sub.AutoRenew)
		require.Equal(t, "4242", sub.Method.Last4)
		require.Equal(t, time.Date(2027, 2, 28, 9, 0, 0, 0, time.UTC), sub.ExpiresAt)
		require.Equal(t, []string{"started"}, env.takeChanges())

		env.advanceTo(sub.ExpiresAt.Add(-time.Microsecond))
		require.Len(t, env.overview(me).History, 1, "nothing is charged before the period ends")

		for _, end := range []time.Time{
			time.Date(2027, 3, 31, 9, 0, 0, 0, time.UTC),
			time.Date(2027, 4, 30, 9, 0, 0, 0, time.UTC),
			time.Date(2027, 5, 31, 9, 0, 0, 0, time.UTC),
		} {
			env.advanceTo(env.overview(me).Subscription.ExpiresAt)
			require.NoError(t, env.Renew(t.Context()), "a repeated renewal charges nothing")
			require.Equal(t, end, env.overview(me).Subscription.ExpiresAt)
			require.Equal(t, []string{"renewed"}, env.takeChanges())
		}

		sum, n := env.provider.total()
		require.Equal(t, 4, n)
		require.EqualValues(t, 4*999, sum)

		sub, err := env.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, "premium", sub.Plan)
		require.Equal(t, billing.Active, sub.Status)
		require.False(t, sub.AutoRenew)

		again, err := env.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, sub.ExpiresAt, again.ExpiresAt)
		require.Equal(t, []string{"cancelled"}, env.takeChanges())
		env.clock.Advance(sub.ExpiresAt.Sub(env.clock.Now()) - time.Microsecond)
		require.Equal(t, "premium", env.overview(me).Subscription.Plan)
		env.clock.Advance(time.Microsecond)
		require.Equal(t, "basic", env.overview(me).Subscription.Plan, "before the renewal has run")
		env.advance(0)
		require.Equal(t, []string{"ended"}, env.takeChanges())
		env.advance(400 * day)
		require.Equal(t, "basic", env.overview(me).Subscription.Plan)
		require.Empty(t, env.takeChanges())

		_, n = env.provider.total()
		require.Equal(t, 4, n)

		history := env.overview(me).History
		require.Len(t, history, 4)
		require.Equal(t, bought, history[3].PeriodStart)
		require.True(t, slices.IsSortedFunc(history, func(a, b billing.Charge) int { return b.PeriodStart.Compare(a.PeriodStart) }))

		for i := range 3 {
			require.Equal(t, history[i+1].PeriodEnd, history[i].PeriodStart, "the periods follow each other exactly")
		}

		require.Contains(t, env.sent[0].Text, "28 February 2027")

		mails := map[string]int{}
		for _, m := range env.sent {
			mails[m.ID]++
		}

		require.Len(t, mails, 6) // started, 3 × renewed, cancelled and ended

		for _, n := range mails {
			require.Equal(t, 2, n, "repeated handlers send the same message id")
		}
	})
}

// TestSubscribe_SamePlan_NotCharged checks that choosing the current plan again only changes
// the payment method and revokes a cancellation.
func TestSubscribe_SamePlan_NotCharged(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		first := env.subscribe(me, "premium", "pm_one")
		require.Equal(t, first.ExpiresAt, env.subscribe(me, "premium", "pm_two").ExpiresAt)
		require.Equal(t, "pm_two", env.overview(me).Subscription.Method.ID)
		require.Equal(t, []string{"started", "payment-method-changed"}, env.takeChanges())

		same, err := env.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "premium"})
		require.NoError(t, err)
		require.True(t, same.AutoRenew)

		_, err = env.Cancel(t.Context(), me)
		require.NoError(t, err)
		env.clock.Advance(10 * day)

		resumed := env.subscribe(me, "premium", "pm_three")
		require.True(t, resumed.AutoRenew)
		require.Equal(t, first.ExpiresAt, resumed.ExpiresAt)
		require.Equal(t, []string{"cancelled", "payment-method-changed", "resumed"}, env.takeChanges())

		_, n := env.provider.total()
		require.Equal(t, 1, n)
		env.advanceTo(first.ExpiresAt)
		require.Equal(t, []string{"renewed"}, env.takeChanges())
	})
}

// TestSubscribe_FreePlan_EndsPaidPlan checks that choosing the free plan cancels the paid plan
// at the end of its period.
func TestSubscribe_FreePlan_EndsPaidPlan(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		require.Equal(t, "basic", env.subscribe(me, "basic", "").Plan)
		require.Equal(t, "basic", env.subscribe(me, "basic", "pm_one").Plan)
		env.subscribe(me, "premium", "pm_one")

		sub := env.subscribe(me, "basic", "")
		require.Equal(t, "premium", sub.Plan)
		require.False(t, sub.AutoRenew)
		require.Equal(t, []string{"payment-method-changed", "started", "cancelled"}, env.takeChanges())
	})
}

// TestUpgrade_MethodOnFileFromFreePlan_Charged checks that a payment method can be stored on
// the free plan and is used by a later upgrade.
func TestUpgrade_MethodOnFileFromFreePlan_Charged(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		require.Equal(t, "pm_one", env.subscribe(me, "basic", "pm_one").Method.ID)
		require.Equal(t, "pm_one", env.subscribe(me, "basic", "").Method.ID, "kept")

		sub, err := env.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "premium"})
		require.NoError(t, err)
		require.Equal(t, "premium", sub.Plan)
		require.Equal(t, "pm_one", sub.Method.ID)

		_, err = env.Create(t.Context(), newSeeker(), billing.ChooseInput{PlanID: "basic", PaymentMethodID: "pm_card_declined"})
		require.ErrorIs(t, err, billing.ErrDeclined)
	})
}

// TestSubscribe_CheaperPlan_UsesCredit checks that the rest of a period of an expensive plan
// pays for a longer period of a cheaper one: half a month for 29.99 is about one and a half
// months for 9.99.
func TestSubscribe_CheaperPlan_UsesCredit(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		sub := env.subscribe(me, "gold", "pm_one")
		left := sub.ExpiresAt.Sub(env.clock.Now()) / 2
		env.clock.Advance(left)

		down := env.subscribe(me, "premium", "")
		require.Equal(t, "premium", down.Plan)
		require.WithinDuration(t, env.clock.Now().Add(left*2999/999), down.ExpiresAt, time.Hour)
		require.Len(t, env.overview(me).History, 1, "nothing is charged")
		env.advanceTo(down.ExpiresAt)
		require.EqualValues(t, 999, env.overview(me).History[0].Amount.Minor, "the plan renews at the end of the period")
		require.Equal(t, []string{"started", "downgraded", "renewed"}, env.takeChanges())
	})
}

// TestSubscribe_PlanChangedRepeatedly_GainsNothing checks that switching between two plans does
// not extend the paid time by the rounding of amounts and the different lengths of months.
func TestSubscribe_PlanChangedRepeatedly_GainsNothing(t *testing.T) {
	for _, begun := range []time.Time{
		time.Date(2027, 1, 28, 9, 0, 0, 0, time.UTC),
		time.Date(2027, 1, 31, 9, 0, 0, 0, time.UTC),
		time.Date(2028, 2, 29, 9, 0, 0, 0, time.UTC),
		time.Date(2027, 8, 28, 9, 0, 0, 0, time.UTC),
		time.Date(2027, 12, 31, 9, 0, 0, 0, time.UTC),
	} {
		t.Run(begun.Format("2 January 2006"), func(t *testing.T) {
			onEach(t, func(t *testing.T, env *testEnv) {
				env.clock.Advance(begun.Sub(env.clock.Now()))

				me := newSeeker()

				bought := env.subscribe(me, "gold", "pm_one")
				for range 20 {
					env.clock.Advance(time.Millisecond)
					env.subscribe(me, "premium", "")

					back := env.subscribe(me, "gold", "")
					require.False(t, back.ExpiresAt.After(bought.ExpiresAt))
					require.WithinDuration(t, bought.ExpiresAt, back.ExpiresAt, 12*time.Hour, "at most pennies are lost")
				}

				require.Len(t, env.overview(me).History, 1, "amounts of pennies are not charged")
			})
		})
	}
}

// TestSubscribe_Upgrade_CreditsRemainingMonth checks that an upgrade charges the new price less
// the value of the rest of the period, and begins a new month. A cheaper plan is no upgrade.
func TestSubscribe_Upgrade_CreditsRemainingMonth(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		sub := env.subscribe(me, "premium", "pm_one")
		env.clock.Advance(sub.ExpiresAt.Sub(env.clock.Now()) / 2)

		up, err := env.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "gold"})
		require.NoError(t, err)
		require.Equal(t, "gold", up.Plan)
		require.Equal(t, env.clock.Now().AddDate(0, 1, 0), up.ExpiresAt)

		// Half of the paid month is left. It is worth 516 of 999 pence, because creditFor compares
		// it with the month that begins now.
		require.EqualValues(t, 2999-516, env.overview(me).History[0].Amount.Minor)
		require.Equal(t, []string{"started", "upgraded"}, env.takeChanges())

		_, err = env.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "premium"})
		require.Equal(t, "planId", fault.Of(err).Fields[0].Name)
		env.advanceTo(up.ExpiresAt)
		require.EqualValues(t, 2999, env.overview(me).History[0].Amount.Minor)
	})
}

// TestSubscribe_Declined_ChangesNothing checks a payment method that is declined when it is
// attached, and one that is declined when it is charged. Neither is stored.
func TestSubscribe_Declined_ChangesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		_, err := env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: sandboxpay.CardDeclined})
		require.ErrorIs(t, err, billing.ErrDeclined)

		_, err = env.UseMethod(t.Context(), me, sandboxpay.CardDeclined)
		require.ErrorIs(t, err, billing.ErrDeclined)
		require.Equal(t, billing.NewSubscription(billing.Owner{Kind: billing.User, ID: me.UserID}), env.overview(me).Subscription)
		require.Empty(t, env.takeChanges())

		// Declined when it is charged, as a card without money is.
		env.provider.errBefore = billing.ErrDeclined
		_, err = env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_empty"})
		require.ErrorIs(t, err, billing.ErrDeclined)

		env.provider.errBefore = nil
		o := env.overview(me)
		require.Equal(t, "basic", o.Subscription.Plan)
		require.Empty(t, o.Subscription.Method.ID)
		require.Equal(t, billing.Declined, o.History[0].Status)
		require.Empty(t, env.takeChanges())
		env.subscribe(me, "premium", "pm_full")
	})
}

// TestSubscribe_Concurrent_OneCharge checks that twenty concurrent requests, such as repeated
// clicks, charge the payer once and all return the new plan.
func TestSubscribe_Concurrent_OneCharge(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()

		var requests sync.WaitGroup
		for i := range 20 {
			requests.Go(func() {
				sub, err := env.Create(context.Background(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
				if err != nil || sub.Plan != "premium" {
					t.Error(i, sub, err)
				}
			})
		}

		requests.Wait()

		_, n := env.provider.total()
		require.Equal(t, 1, n)
		require.Equal(t, 1, env.provider.calls, "concurrent requests share the result of one charge")
		require.Len(t, env.overview(me).History, 1)
		require.Equal(t, []string{"started"}, env.takeChanges())
	})
}

// TestCharge_Concurrent_FirstWins checks that of two workers that have read the same pending
// charge only the one that stores its attempt calls the provider.
func TestCharge_Concurrent_FirstWins(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		env.provider.errBefore = fault.ErrUnavailable
		_, err := env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Error(t, err)
		env.clock.Advance(time.Hour)

		env.beforeTransaction(1, func() { // another worker claims the charge first
			pending, err := env.Charges.List(t.Context(),
				billing.ChargeFilter{Owner: billing.Owner{Kind: billing.User, ID: me.UserID}, Status: billing.Pending},
				1)
			require.NoError(t, err)

			c := pending[0]
			c.Attempts, c.NextAt = c.Attempts+1, env.clock.Now().Add(time.Minute)
			isClaimed, err := env.Charges.Update(t.Context(), c)
			require.NoError(t, err)
			require.True(t, isClaimed)
		})
		require.NoError(t, env.Renew(t.Context()))
		require.Equal(t, 1, env.provider.calls)

		env.provider.errBefore = nil
		env.advance(time.Hour)
		require.Equal(t, 2, env.provider.calls)
		require.Equal(t, "premium", env.overview(me).Subscription.Plan)
	})
}

// TestSubscribe_DeclinedLater_NotifiesUser checks that a payer who did not see the result,
// because the provider did not answer in time, is notified by e-mail if the payment is declined
// later.
func TestSubscribe_DeclinedLater_NotifiesUser(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		env.provider.errBefore = errors.New("the line went dead")
		_, err := env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Error(t, err)

		env.provider.errBefore = billing.ErrDeclined
		env.advance(2 * time.Minute)
		require.Equal(t, []string{"payment-refused"}, env.takeChanges())
		require.Contains(t, env.sent[0].Text, "The payment for the Premium plan was declined, so nothing has changed")
		require.Equal(t, "basic", env.overview(me).Subscription.Plan)

		// Also at an upgrade, which leaves the plan before it as it was.
		env.provider.errBefore = nil
		env.subscribe(me, "premium", "pm_one")

		before := env.overview(me).Subscription
		require.Equal(t, []string{"started"}, env.takeChanges())
		env.clock.Advance(day)

		env.provider.errBefore = errors.New("the line went dead")
		_, err = env.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "gold"})
		require.Error(t, err)

		env.provider.errBefore = billing.ErrDeclined
		env.advance(2 * time.Minute)
		require.Equal(t, []string{"payment-refused"}, env.takeChanges())
		require.Contains(t, env.sent[len(env.sent)-1].Text, "Gold plan")
		require.Equal(t, before, env.overview(me).Subscription)
	})
}

// TestCharge_ResponseLost_ChargedOnce checks that a charge whose result was lost is repeated
// with the same key, so that the payer is charged once. Until the result is known, other
// purchases are refused.
func TestCharge_ResponseLost_ChargedOnce(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		env.provider.errAfter = errors.New("the line went dead")
		_, err := env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Equal(t, fault.Unavailable, fault.KindOf(err))
		require.Equal(t, "basic", env.overview(me).Subscription.Plan)
		require.Equal(t, billing.Pending, env.overview(me).History[0].Status)

		_, err = env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_two"})
		require.ErrorIs(t, err, billing.ErrUnderWay)

		_, err = env.Create(t.Context(), me, billing.ChooseInput{PlanID: "gold", PaymentMethodID: "pm_one"})
		require.ErrorIs(t, err, billing.ErrUnderWay)

		_, err = env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Equal(t, fault.Unavailable, fault.KindOf(err), "pending charges are retried while the provider is unavailable")

		require.NoError(t, env.Renew(t.Context()), "the retry is not due yet")
		env.clock.Advance(2 * time.Minute)
		require.Error(t, env.Renew(t.Context()), "the retry fails too")

		env.provider.errAfter = nil
		env.advance(time.Hour)
		require.Equal(t, "premium", env.overview(me).Subscription.Plan)
		require.Equal(t, []string{"started"}, env.takeChanges())

		_, n := env.provider.total()
		require.Equal(t, 1, n)

		// And at a renewal, during which its owner cancels.
		env.provider.errAfter = errors.New("the line went dead")
		env.clock.Advance(env.overview(me).Subscription.ExpiresAt.Sub(env.clock.Now()))
		require.Error(t, env.Renew(t.Context()))

		sub, err := env.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, "basic", sub.Plan)

		env.provider.errAfter = nil
		env.advance(2 * time.Hour)

		sub = env.overview(me).Subscription
		require.Equal(t, "premium", sub.Plan, "a paid plan becomes active")
		require.False(t, sub.AutoRenew)
		env.advance(40 * day)
		require.Equal(t, "basic", env.overview(me).Subscription.Plan)
		require.Equal(t, []string{"ended", "renewed", "ended"}, env.takeChanges())

		_, n = env.provider.total()
		require.Equal(t, 2, n)
	})
}

// TestCancel_ChargePending_IsRefused checks that nothing changes the subscription while a
// purchase has no result, because the result would overwrite the change.
func TestCancel_ChargePending_IsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		silenceProvider := func() { env.provider.errBefore = errors.New("the line went dead") }

		requireChangesRefused := func() {
			t.Helper()

			_, err := env.Cancel(t.Context(), me)
			require.ErrorIs(t, err, billing.ErrUnderWay)

			_, err = env.Create(t.Context(), me, billing.ChooseInput{PlanID: "basic"})
			require.ErrorIs(t, err, billing.ErrUnderWay)

			_, err = env.UseMethod(t.Context(), me, "pm_two")
			require.ErrorIs(t, err, billing.ErrUnderWay)
		}

		// While a first purchase is pending.
		silenceProvider()

		_, err := env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Error(t, err)
		requireChangesRefused()

		env.provider.errBefore = nil
		env.advance(2 * time.Minute)
		require.Equal(t, "premium", env.overview(me).Subscription.Plan)

		// While an upgrade is pending.
		silenceProvider()

		_, err = env.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "gold"})
		require.Error(t, err)
		requireChangesRefused()

		env.provider.errBefore = nil
		env.advance(2 * time.Minute)
		require.Equal(t, "gold", env.overview(me).Subscription.Plan)

		// Without a pending purchase, the same changes are accepted.
		_, err = env.UseMethod(t.Context(), me, "pm_two")
		require.NoError(t, err)

		sub, err := env.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.False(t, sub.AutoRenew)
		require.Equal(t, "pm_two", sub.Method.ID)
		require.Equal(t, []string{"started", "upgraded", "payment-method-changed", "cancelled"}, env.takeChanges())
		env.advance(2 * time.Hour)
		require.False(t, env.overview(me).Subscription.AutoRenew)
	})
}

// TestBilling_Employer_Forbidden checks that only jobseekers have plans: a caller without an
// account is refused, and so is an admin of an employer.
func TestBilling_Employer_Forbidden(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		for _, by := range []auth.Actor{
			{},
			{UserID: stores.NewID(), Role: auth.Employer, OrganizationID: stores.NewID(), Permissions: []auth.Permission{auth.Manage}},
		} {
			_, err := env.Mine(t.Context(), by)
			require.ErrorIs(t, err, kit.Refusal(by))

			for _, try := range []func() (billing.Subscription, error){
				func() (billing.Subscription, error) {
					return env.Create(t.Context(), by, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
				},
				func() (billing.Subscription, error) {
					return env.Upgrade(t.Context(), by, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
				},
				func() (billing.Subscription, error) { return env.UseMethod(t.Context(), by, "pm_one") },
				func() (billing.Subscription, error) { return env.Cancel(t.Context(), by) },
			} {
				_, err := try()
				require.ErrorIs(t, err, kit.Refusal(by))
			}
		}
	})
}

// TestSubscribe_InvalidInput_EachFieldIsNamed checks that the number of a card is refused as
// the id of a payment method, and that no invalid input charges anything.
func TestSubscribe_InvalidInput_EachFieldIsNamed(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	for _, c := range []struct{ plan, method, field string }{
		{plan: "", method: "pm_one", field: "planId"},
		{plan: "platinum", method: "pm_one", field: "planId"},
		{plan: "premium", method: "", field: "paymentMethodId"},
		{plan: "premium", method: "card", field: "paymentMethodId"},
		{plan: "premium", method: "pm_a b", field: "paymentMethodId"},
		{plan: "premium", method: "pm_" + strings.Repeat("x", 300), field: "paymentMethodId"},
		{plan: "premium", method: sandboxpay.MethodMissing, field: "paymentMethodId"},
		{plan: "premium", method: "pm_4242424242424242", field: "paymentMethodId"},
	} {
		_, err := env.Create(t.Context(), newSeeker(), billing.ChooseInput{PlanID: c.plan, PaymentMethodID: c.method})
		require.Equal(t, fault.Invalid, fault.KindOf(err), "%+v", c)
		require.Equal(t, c.field, fault.Of(err).Fields[0].Name, "%+v", c)
	}

	_, err := env.Upgrade(t.Context(), newSeeker(), billing.ChooseInput{PlanID: "basic"})
	require.Equal(t, "planId", fault.Of(err).Fields[0].Name)

	_, err = env.UseMethod(t.Context(), newSeeker(), "")
	require.Equal(t, "paymentMethodId", fault.Of(err).Fields[0].Name)

	_, n := env.provider.total()
	require.Zero(t, n)
}
