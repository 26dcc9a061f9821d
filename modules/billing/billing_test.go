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
		overview := env.overview(newSeeker())
		require.Equal(t, "basic", overview.Subscription.Plan)
		require.Equal(t, billing.Active, overview.Subscription.Status)
		require.False(t, overview.Subscription.AutoRenew)
		require.True(t, overview.Subscription.ExpiresAt.IsZero())
		require.Empty(t, overview.History)
		require.Equal(t, plans, overview.Plans)
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

		const months = 4 // the first month and three renewals
		sum, charges := env.provider.total()
		require.Equal(t, months, charges)
		require.EqualValues(t, months*premiumPrice, sum)

		// The plan is cancelled. A second cancellation changes nothing.
		sub, err := env.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, "premium", sub.Plan)
		require.Equal(t, billing.Active, sub.Status)
		require.False(t, sub.AutoRenew)

		again, err := env.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, sub.ExpiresAt, again.ExpiresAt)
		require.Equal(t, []string{"cancelled"}, env.takeChanges())

		// The plan stays until the end of the paid period, and no later period is charged.
		env.clock.Advance(sub.ExpiresAt.Sub(env.clock.Now()) - time.Microsecond)
		require.Equal(t, "premium", env.overview(me).Subscription.Plan)
		env.clock.Advance(time.Microsecond)
		require.Equal(t, "basic", env.overview(me).Subscription.Plan, "before the renewal has run")

		const justRenew, moreThanAYear = 0, 400 * day

		env.advance(justRenew)
		require.Equal(t, []string{"ended"}, env.takeChanges())
		env.advance(moreThanAYear)
		require.Equal(t, "basic", env.overview(me).Subscription.Plan)
		require.Empty(t, env.takeChanges())

		_, charges = env.provider.total()
		require.Equal(t, months, charges)

		// The history has the newest period first.
		history := env.overview(me).History
		require.Len(t, history, months)
		require.Equal(t, bought, history[months-1].PeriodStart)

		newestFirst := func(a, b billing.Charge) int { return b.PeriodStart.Compare(a.PeriodStart) }
		require.True(t, slices.IsSortedFunc(history, newestFirst))

		for i := range months - 1 {
			require.Equal(t, history[i+1].PeriodEnd, history[i].PeriodStart, "the periods follow each other exactly")
		}

		require.Contains(t, env.sent[0].Text, "28 February 2027", "the first mail has the end of the first period")

		// Two subscriptions have sent each mail, with the same message id.
		copies := map[string]int{} // by message id
		for _, message := range env.sent {
			copies[message.ID]++
		}

		require.Len(t, copies, 6, "started, 3 × renewed, cancelled and ended")

		for id, count := range copies {
			require.Equal(t, 2, count, "mail %s", id)
		}
	})
}

// TestSubscribe_SamePlan_NotCharged checks that choosing the current plan again only changes
// the payment method and revokes a cancellation.
func TestSubscribe_SamePlan_NotCharged(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()

		// The second choice of the plan changes the payment method only: the paid period stays.
		first := env.subscribe(me, "premium", "pm_one")
		second := env.subscribe(me, "premium", "pm_two")
		require.Equal(t, first.ExpiresAt, second.ExpiresAt)
		require.Equal(t, "pm_two", env.overview(me).Subscription.Method.ID)
		require.Equal(t, []string{"started", "payment-method-changed"}, env.takeChanges())

		// An upgrade to the current plan is no error and changes nothing.
		same, err := env.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "premium"})
		require.NoError(t, err)
		require.True(t, same.AutoRenew)

		_, err = env.Cancel(t.Context(), me)
		require.NoError(t, err)
		env.clock.Advance(10 * day)

		// After a cancellation, the choice of the plan resumes its renewal without a new charge.
		resumed := env.subscribe(me, "premium", "pm_three")
		require.True(t, resumed.AutoRenew)
		require.Equal(t, first.ExpiresAt, resumed.ExpiresAt)
		require.Equal(t, []string{"cancelled", "payment-method-changed", "resumed"}, env.takeChanges())

		_, charges := env.provider.total()
		require.Equal(t, 1, charges)
		env.advanceTo(first.ExpiresAt)
		require.Equal(t, []string{"renewed"}, env.takeChanges())
	})
}

// TestSubscribe_FreePlan_EndsPaidPlan checks that choosing the free plan cancels the paid plan,
// which stays until the end of its period. Choosing the free plan instead of itself only stores
// the payment method, if there is one.
func TestSubscribe_FreePlan_EndsPaidPlan(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()

		// The free plan can be chosen with and without a payment method.
		require.Equal(t, "basic", env.subscribe(me, "basic", storedMethod).Plan)
		require.Equal(t, "basic", env.subscribe(me, "basic", "pm_one").Plan)
		env.subscribe(me, "premium", "pm_one")

		// Chosen instead of a paid plan, the free plan ends the renewal. The paid plan stays until its period ends.
		sub := env.subscribe(me, "basic", storedMethod)
		require.Equal(t, "premium", sub.Plan)
		require.False(t, sub.AutoRenew)
		require.Equal(t, []string{"payment-method-changed", "started", "cancelled"}, env.takeChanges())
	})
}

// TestUpgrade_MethodOnFileFromFreePlan_Charged checks that a user of the free plan can store a
// payment method, which pays a later upgrade. A card that is declined is not stored.
func TestUpgrade_MethodOnFileFromFreePlan_Charged(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		// The user of the free plan stores a payment method, which the next request keeps.
		require.Equal(t, "pm_one", env.subscribe(me, "basic", "pm_one").Method.ID)
		require.Equal(t, "pm_one", env.subscribe(me, "basic", storedMethod).Method.ID)

		sub, err := env.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "premium"})
		require.NoError(t, err)
		require.Equal(t, "premium", sub.Plan)
		require.Equal(t, "pm_one", sub.Method.ID)

		_, err = env.Create(t.Context(), newSeeker(), billing.ChooseInput{PlanID: "basic", PaymentMethodID: "pm_card_declined"})
		require.ErrorIs(t, err, billing.ErrDeclined)
	})
}

// TestSubscribe_CheaperPlan_UsesCredit checks a change from an expensive plan to a cheaper one.
// The rest of the paid period is worth a longer period of the cheaper plan: half a month for
// 29.99 is about one and a half months for 9.99.
func TestSubscribe_CheaperPlan_UsesCredit(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		// Half of the month has passed, and the same time is left.
		sub := env.subscribe(me, "gold", "pm_one")
		left := sub.ExpiresAt.Sub(env.clock.Now()) / 2
		env.clock.Advance(left)

		down := env.subscribe(me, "premium", storedMethod)
		require.Equal(t, "premium", down.Plan)

		// The credit is rounded to pence; a penny is about 45 minutes of the cheaper plan.
		longer := left * goldPrice / premiumPrice
		require.WithinDuration(t, env.clock.Now().Add(longer), down.ExpiresAt, time.Hour)
		require.Len(t, env.overview(me).History, 1, "nothing is charged")

		env.advanceTo(down.ExpiresAt)
		require.EqualValues(t, premiumPrice, env.overview(me).History[0].Amount.Minor, "the plan renews at the end of the period")
		require.Equal(t, []string{"started", "downgraded", "renewed"}, env.takeChanges())
	})
}

// TestSubscribe_PlanChangedRepeatedly_GainsNothing checks that a user who switches between two
// plans again and again gains no paid time. Amounts are rounded to pence, and months have
// different lengths; neither may add up to the user's advantage.
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
					env.subscribe(me, "premium", storedMethod)

					back := env.subscribe(me, "gold", storedMethod)
					require.False(t, back.ExpiresAt.After(bought.ExpiresAt), "the user has gained paid time")
					require.WithinDuration(t, bought.ExpiresAt, back.ExpiresAt, 12*time.Hour, "rounding costs at most pennies")
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

		// Half of the paid month is left: 15.5 days of the 31 that began on 17 March. The month
		// that begins now, on 1 or 2 April, has 30 days, and a half of 31 days is worth more than
		// half the price of 30 days: 999 × 15.5 / 30 = 516 pence.
		const credit = 516
		require.EqualValues(t, goldPrice-credit, env.overview(me).History[0].Amount.Minor)
		require.Equal(t, []string{"started", "upgraded"}, env.takeChanges())

		_, err = env.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "premium"})
		require.Equal(t, "planId", fault.Of(err).Fields[0].Name)
		env.advanceTo(up.ExpiresAt)
		require.EqualValues(t, goldPrice, env.overview(me).History[0].Amount.Minor)
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
		overview := env.overview(me)
		require.Equal(t, "basic", overview.Subscription.Plan)
		require.Empty(t, overview.Subscription.Method.ID)
		require.Equal(t, billing.Declined, overview.History[0].Status)
		require.Empty(t, env.takeChanges())

		// Another card is not affected.
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
					t.Errorf("request %d: got plan %q and error %v, want premium", i, sub.Plan, err)
				}
			})
		}

		requests.Wait()

		_, charges := env.provider.total()
		require.Equal(t, 1, charges)
		require.Equal(t, 1, env.provider.calls, "concurrent requests share the result of one charge")
		require.Len(t, env.overview(me).History, 1)
		require.Equal(t, []string{"started"}, env.takeChanges())
	})
}

// TestCharge_Concurrent_FirstWins checks two workers that have read the same pending charge.
// A worker claims the charge: it stores that it begins an attempt. Only the worker that claims
// the charge first calls the provider.
func TestCharge_Concurrent_FirstWins(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		env.provider.errBefore = fault.ErrUnavailable
		_, err := env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Error(t, err)
		env.clock.Advance(time.Hour) // the second attempt is due

		// Renew reads the pending charge and claims it in a transaction. Just before, another
		// worker claims it.
		const firstTransaction, oneCharge = 1, 1

		env.beforeTransaction(firstTransaction, func() {
			owner := billing.Owner{Kind: billing.User, ID: me.UserID}
			pending, err := env.Charges.List(t.Context(), billing.ChargeFilter{Owner: owner, Status: billing.Pending}, oneCharge)
			require.NoError(t, err)

			claimed := pending[0]
			claimed.Attempts++
			claimed.NextAt = env.clock.Now().Add(time.Minute)
			isClaimed, err := env.Charges.Update(t.Context(), claimed)
			require.NoError(t, err)
			require.True(t, isClaimed)
		})
		require.NoError(t, env.Renew(t.Context()))
		require.Equal(t, 1, env.provider.calls, "the call of the purchase; the renewal has made none")

		// The other worker does not continue, and Renew makes the next attempt.
		env.provider.errBefore = nil
		env.advance(time.Hour)
		require.Equal(t, 2, env.provider.calls)
		require.Equal(t, "premium", env.overview(me).Subscription.Plan)
	})
}

// TestSubscribe_DeclinedLater_NotifiesUser checks a payment whose result the payer did not see,
// because the provider did not answer. It is repeated later. If it is then declined, the payer
// is notified by e-mail.
func TestSubscribe_DeclinedLater_NotifiesUser(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		env.provider.errBefore = errors.New("no answer")
		_, err := env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Error(t, err)

		env.provider.errBefore = billing.ErrDeclined
		env.advance(2 * time.Minute)
		require.Equal(t, []string{"payment-refused"}, env.takeChanges())
		require.Contains(t, env.sent[0].Text, "The payment for the Premium plan was declined, so nothing has changed")
		require.Equal(t, "basic", env.overview(me).Subscription.Plan)

		// The same for an upgrade. The plan before the upgrade stays as it was.
		env.provider.errBefore = nil
		env.subscribe(me, "premium", "pm_one")

		before := env.overview(me).Subscription
		require.Equal(t, []string{"started"}, env.takeChanges())
		env.clock.Advance(day)

		env.provider.errBefore = errors.New("no answer")
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
// with the same idempotency key, so that the payer is charged once. Until the result is known,
// other purchases are refused. The test loses the result of a purchase, and then that of a
// renewal during which the payer cancels.
func TestCharge_ResponseLost_ChargedOnce(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		env.provider.errAfter = errors.New("no answer")
		_, err := env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Equal(t, fault.Unavailable, fault.KindOf(err))
		require.Equal(t, "basic", env.overview(me).Subscription.Plan)
		require.Equal(t, billing.Pending, env.overview(me).History[0].Status)

		_, err = env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_two"})
		require.ErrorIs(t, err, billing.ErrUnderWay)

		_, err = env.Create(t.Context(), me, billing.ChooseInput{PlanID: "gold", PaymentMethodID: "pm_one"})
		require.ErrorIs(t, err, billing.ErrUnderWay)

		// The same purchase continues the pending charge. The provider is still unavailable.
		_, err = env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Equal(t, fault.Unavailable, fault.KindOf(err))

		require.NoError(t, env.Renew(t.Context()), "the retry is not due yet")
		env.clock.Advance(2 * time.Minute)
		require.Error(t, env.Renew(t.Context()), "the retry fails too")

		env.provider.errAfter = nil
		env.advance(time.Hour)
		require.Equal(t, "premium", env.overview(me).Subscription.Plan)
		require.Equal(t, []string{"started"}, env.takeChanges())

		_, charges := env.provider.total()
		require.Equal(t, 1, charges)

		// The result of the renewal is lost, and the payer cancels. As the period has ended, the
		// plan ends at once.
		env.provider.errAfter = errors.New("no answer")
		env.clock.Advance(env.overview(me).Subscription.ExpiresAt.Sub(env.clock.Now()))
		require.Error(t, env.Renew(t.Context()))

		sub, err := env.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, "basic", sub.Plan)

		// The retry finds that the period was paid: the plan becomes active again, until the end
		// of the period.
		env.provider.errAfter = nil
		env.advance(2 * time.Hour)

		sub = env.overview(me).Subscription
		require.Equal(t, "premium", sub.Plan)
		require.False(t, sub.AutoRenew)
		env.advance(40 * day)
		require.Equal(t, "basic", env.overview(me).Subscription.Plan)
		require.Equal(t, []string{"ended", "renewed", "ended"}, env.takeChanges())

		_, charges = env.provider.total()
		require.Equal(t, 2, charges, "the purchase and the renewal")
	})
}

// TestCancel_ChargePending_IsRefused checks that nothing changes the subscription while a
// purchase has no result, because the result would overwrite the change.
func TestCancel_ChargePending_IsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()

		// A charge stays pending while the provider does not answer.
		silenceProvider := func() { env.provider.errBefore = errors.New("no answer") }

		// requireChangesRefused checks each method that changes a subscription.
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
		withoutAccount := auth.Actor{}
		admin := auth.Actor{
			UserID:         stores.NewID(),
			Role:           auth.Employer,
			OrganizationID: stores.NewID(),
			Permissions:    []auth.Permission{auth.Manage},
		}
		premium := billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"}

		for _, by := range []auth.Actor{withoutAccount, admin} {
			_, err := env.MyBilling(t.Context(), by)
			require.ErrorIs(t, err, kit.Refusal(by), "MyBilling")

			_, err = env.Create(t.Context(), by, premium)
			require.ErrorIs(t, err, kit.Refusal(by), "Create")

			_, err = env.Upgrade(t.Context(), by, premium)
			require.ErrorIs(t, err, kit.Refusal(by), "Upgrade")

			_, err = env.UseMethod(t.Context(), by, "pm_one")
			require.ErrorIs(t, err, kit.Refusal(by), "UseMethod")

			_, err = env.Cancel(t.Context(), by)
			require.ErrorIs(t, err, kit.Refusal(by), "Cancel")
		}
	})
}

// TestSubscribe_InvalidInput_EachFieldIsNamed checks that the error for an invalid plan or
// payment method names its field, and that nothing is charged. The number of a card is not
// accepted as the id of a payment method.
func TestSubscribe_InvalidInput_EachFieldIsNamed(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	for _, test := range []struct {
		plan, method string
		field        string // the field that the error names
	}{
		{plan: "", method: "pm_one", field: "planId"},
		{plan: "platinum", method: "pm_one", field: "planId"},
		{plan: "premium", method: "", field: "paymentMethodId"},
		{plan: "premium", method: "card", field: "paymentMethodId"},
		{plan: "premium", method: "pm_a b", field: "paymentMethodId"},
		{plan: "premium", method: "pm_" + strings.Repeat("x", 300), field: "paymentMethodId"},
		{plan: "premium", method: sandboxpay.MethodMissing, field: "paymentMethodId"},
		{plan: "premium", method: "pm_4242424242424242", field: "paymentMethodId"},
	} {
		_, err := env.Create(t.Context(), newSeeker(), billing.ChooseInput{PlanID: test.plan, PaymentMethodID: test.method})
		require.Equal(t, fault.Invalid, fault.KindOf(err), "%+v", test)
		require.Equal(t, test.field, fault.Of(err).Fields[0].Name, "%+v", test)
	}

	// The free plan is no upgrade.
	_, err := env.Upgrade(t.Context(), newSeeker(), billing.ChooseInput{PlanID: "basic"})
	require.Equal(t, "planId", fault.Of(err).Fields[0].Name)

	// A change of the payment method needs one.
	const noMethod = ""

	_, err = env.UseMethod(t.Context(), newSeeker(), noMethod)
	require.Equal(t, "paymentMethodId", fault.Of(err).Fields[0].Name)

	_, charges := env.provider.total()
	require.Zero(t, charges)
}
