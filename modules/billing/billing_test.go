package billing_test

import (
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

// nineOClock returns 9:00 on the day, in UTC.
func nineOClock(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 9, 0, 0, 0, time.UTC)
}

// TestSubscribe_OnLastDayOfMonth_RenewsWithoutGaps follows a plan that begins on 31 January. Its periods
// end on the last days of the following months, the shorter ones too. Each period is charged once, when
// the one before ends.
func TestSubscribe_OnLastDayOfMonth_RenewsWithoutGaps(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		bought := nineOClock(2027, time.January, 31)
		env.advanceTo(bought)

		sub := env.subscribe(me, "premium", "pm_card_visa")
		require.Equal(t, "premium", sub.Plan)
		require.True(t, sub.AutoRenew)
		require.Equal(t, "4242", sub.Method.Last4)
		require.Equal(t, nineOClock(2027, time.February, 28), sub.ExpiresAt)
		require.Equal(t, []string{"started"}, env.takeChanges())

		env.advanceTo(sub.ExpiresAt.Add(-time.Microsecond))
		require.Len(t, env.overview(me).History, 1, "nothing is charged before the period ends")

		// Renew the plan three times.
		for _, end := range []time.Time{
			nineOClock(2027, time.March, 31),
			nineOClock(2027, time.April, 30),
			nineOClock(2027, time.May, 31),
		} {
			env.advanceTo(env.overview(me).Subscription.ExpiresAt)
			require.NoError(t, env.Renew(t.Context()), "a repeated renewal charges nothing")
			require.Equal(t, end, env.overview(me).Subscription.ExpiresAt)
			require.Equal(t, []string{"renewed"}, env.takeChanges(), end)
		}

		const months = 4 // the first month and three renewals
		sum, charges := env.provider.total()
		require.Equal(t, months, charges)
		require.EqualValues(t, months*premiumPrice, sum)

		// The history has the newest period first.
		history := env.overview(me).History
		require.Len(t, history, months)
		require.Equal(t, bought, history[months-1].PeriodStart)

		for i := range months - 1 {
			later, earlier := history[i], history[i+1]
			require.Equal(t, earlier.PeriodEnd, later.PeriodStart, "the periods follow each other exactly")
		}
	})
}

// TestCancel_PaidPlan_StaysUntilPeriodEnds checks that a cancelled plan stays until the end of the period
// that is paid, and that no later period is charged. A second cancellation changes nothing.
func TestCancel_PaidPlan_StaysUntilPeriodEnds(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		env.subscribe(me, "premium", "pm_card_visa")
		env.takeChanges()

		// Cancel the plan twice.
		sub, err := env.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, "premium", sub.Plan)
		require.Equal(t, billing.Active, sub.Status)
		require.False(t, sub.AutoRenew)

		again, err := env.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, sub.ExpiresAt, again.ExpiresAt)
		require.Equal(t, []string{"cancelled"}, env.takeChanges())

		// The plan ends with the paid period, even before Renew has run.
		env.clock.Advance(sub.ExpiresAt.Sub(env.clock.Now()) - time.Microsecond)
		require.Equal(t, "premium", env.overview(me).Subscription.Plan)
		env.clock.Advance(time.Microsecond)
		require.Equal(t, "basic", env.overview(me).Subscription.Plan)

		// Renew records the end, and charges no later period.
		require.NoError(t, env.Renew(t.Context()))
		require.Equal(t, []string{"ended"}, env.takeChanges())

		const moreThanAYear = 400 * day
		env.advance(moreThanAYear)
		require.Equal(t, "basic", env.overview(me).Subscription.Plan)
		require.Empty(t, env.takeChanges())

		_, charges := env.provider.total()
		require.Equal(t, 1, charges)
	})
}

// TestMails_OfSubscription_SameIDForRepeatedEvents checks the e-mails about a plan that is bought, renewed
// twice and cancelled. The first one names the end of the first period. The two subscriptions of testEnv
// stand for an event that is delivered twice: both e-mails have the same message id, which mail servers
// and clients can recognize as a duplicate.
func TestMails_OfSubscription_SameIDForRepeatedEvents(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()

		env.advanceTo(nineOClock(2027, time.January, 31))
		env.subscribe(me, "premium", "pm_card_visa")
		require.Equal(t, []string{"started"}, env.takeChanges())
		require.Contains(t, env.sent[0].Text, "28 February 2027")

		for range 2 {
			env.advanceTo(env.overview(me).Subscription.ExpiresAt)
			require.Equal(t, []string{"renewed"}, env.takeChanges())
		}

		sub, err := env.Cancel(t.Context(), me)
		require.NoError(t, err)
		env.advanceTo(sub.ExpiresAt)
		require.Equal(t, []string{"cancelled", "ended"}, env.takeChanges())

		copies := map[string]int{} // by message id
		for _, message := range env.sent {
			copies[message.ID]++
		}

		require.Len(t, copies, 5, "started, 2 × renewed, cancelled and ended")

		for id, count := range copies {
			require.Equal(t, 2, count, "mail %s", id)
		}
	})
}

// TestSubscribe_SamePlan_ChangesMethodOnly checks that choosing the current plan again changes the payment
// method, and that the paid period stays. An upgrade to the current plan is no error and changes nothing.
func TestSubscribe_SamePlan_ChangesMethodOnly(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		first := env.subscribe(me, "premium", "pm_one")
		second := env.subscribe(me, "premium", "pm_two")
		require.Equal(t, first.ExpiresAt, second.ExpiresAt)
		require.Equal(t, "pm_two", env.overview(me).Subscription.Method.ID)
		require.Equal(t, []string{"started", "payment-method-changed"}, env.takeChanges())

		same, err := env.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "premium"})
		require.NoError(t, err)
		require.True(t, same.AutoRenew)
		require.Empty(t, env.takeChanges())

		_, charges := env.provider.total()
		require.Equal(t, 1, charges)
	})
}

// TestSubscribe_CancelledPlan_ResumesRenewal checks that choosing a plan that was cancelled resumes its
// renewal. The paid period stays, and nothing is charged before it ends.
func TestSubscribe_CancelledPlan_ResumesRenewal(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		first := env.subscribe(me, "premium", "pm_one")
		_, err := env.Cancel(t.Context(), me)
		require.NoError(t, err)
		env.takeChanges()
		env.clock.Advance(10 * day) // the period has not ended

		resumed := env.subscribe(me, "premium", "pm_two")
		require.True(t, resumed.AutoRenew)
		require.Equal(t, first.ExpiresAt, resumed.ExpiresAt)
		require.Equal(t, []string{"payment-method-changed", "resumed"}, env.takeChanges())

		_, charges := env.provider.total()
		require.Equal(t, 1, charges)
		env.advanceTo(first.ExpiresAt)
		require.Equal(t, []string{"renewed"}, env.takeChanges())
	})
}

// TestSubscribe_FreePlan_EndsPaidPlan checks that choosing the free plan ends the renewal of the paid
// plan, which stays until the end of its period.
func TestSubscribe_FreePlan_EndsPaidPlan(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		env.subscribe(me, "premium", "pm_one")

		sub := env.subscribe(me, "basic", storedMethod)
		require.Equal(t, "premium", sub.Plan)
		require.False(t, sub.AutoRenew)
		require.Equal(t, []string{"started", "cancelled"}, env.takeChanges())
	})
}

// TestSubscribe_FreePlanAgain_StoresMethod checks that a user of the free plan can choose it again with a
// payment method, which is stored, and without one, which keeps the stored one. A card that is declined
// is not stored.
func TestSubscribe_FreePlanAgain_StoresMethod(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		require.Equal(t, "basic", env.subscribe(me, "basic", storedMethod).Plan, "there is none yet")

		withMethod := env.subscribe(me, "basic", "pm_one")
		require.Equal(t, "basic", withMethod.Plan)
		require.Equal(t, "pm_one", withMethod.Method.ID)
		require.Equal(t, "pm_one", env.subscribe(me, "basic", storedMethod).Method.ID)
		require.Equal(t, []string{"payment-method-changed"}, env.takeChanges())

		declinedCard := billing.ChooseInput{PlanID: "basic", PaymentMethodID: "pm_card_declined"}
		_, err := env.Create(t.Context(), newSeeker(), declinedCard)
		require.ErrorIs(t, err, billing.ErrDeclined)
	})
}

// TestUpgrade_MethodOnFileFromFreePlan_Charged checks that the payment method that a user of the free plan
// has stored pays an upgrade.
func TestUpgrade_MethodOnFileFromFreePlan_Charged(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		env.subscribe(me, "basic", "pm_one")

		sub, err := env.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "premium"})
		require.NoError(t, err)
		require.Equal(t, "premium", sub.Plan)
		require.Equal(t, "pm_one", sub.Method.ID)

		_, charges := env.provider.total()
		require.Equal(t, 1, charges)
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
	// On these days, months of different lengths follow each other.
	for _, begun := range []time.Time{
		nineOClock(2027, time.January, 28),
		nineOClock(2027, time.January, 31),
		nineOClock(2028, time.February, 29),
		nineOClock(2027, time.August, 28),
		nineOClock(2027, time.December, 31),
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
		halfMonth := sub.ExpiresAt.Sub(env.clock.Now()) / 2
		env.clock.Advance(halfMonth)

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

		// The renewal charges the whole price.
		env.advanceTo(up.ExpiresAt)
		require.EqualValues(t, goldPrice, env.overview(me).History[0].Amount.Minor)
	})
}

// TestSubscribe_DeclinedWhenAttached_ChangesNothing checks a payment method that is declined when it is
// attached to the account. It neither begins a plan nor is it stored.
func TestSubscribe_DeclinedWhenAttached_ChangesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		_, err := env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: sandboxpay.CardDeclined})
		require.ErrorIs(t, err, billing.ErrDeclined)

		_, err = env.UseMethod(t.Context(), me, sandboxpay.CardDeclined)
		require.ErrorIs(t, err, billing.ErrDeclined)

		unchanged := billing.NewSubscription(billing.Owner{Kind: billing.User, ID: me.UserID})
		require.Equal(t, unchanged, env.overview(me).Subscription)
		require.Empty(t, env.takeChanges())
	})
}

// TestSubscribe_DeclinedWhenCharged_ChangesNothing checks a payment method that is declined when it is
// charged, as a card without money is. It is not stored, and another card can be used.
func TestSubscribe_DeclinedWhenCharged_ChangesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		env.provider.errBefore = billing.ErrDeclined
		_, err := env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_empty"})
		require.ErrorIs(t, err, billing.ErrDeclined)

		env.provider.errBefore = nil
		overview := env.overview(me)
		require.Equal(t, "basic", overview.Subscription.Plan)
		require.Empty(t, overview.Subscription.Method.ID)
		require.Equal(t, billing.Declined, overview.History[0].Status)
		require.Empty(t, env.takeChanges())

		env.subscribe(me, "premium", "pm_full") // requires success
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
				sub, err := env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
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
		env.clock.Advance(anyRetry) // the second attempt is due

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
		env.advance(anyRetry)
		require.Equal(t, 2, env.provider.calls)
		require.Equal(t, "premium", env.overview(me).Subscription.Plan)
	})
}

// TestSubscribe_DeclinedLater_NotifiesUser checks a purchase whose result the payer did not see, because
// the provider did not answer. Renew repeats the charge. If it is then declined, the payer is notified by
// e-mail.
func TestSubscribe_DeclinedLater_NotifiesUser(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		env.provider.errBefore = errNoAnswer
		_, err := env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Error(t, err)

		env.provider.errBefore = billing.ErrDeclined
		env.advance(firstRetry)
		require.Equal(t, []string{"payment-refused"}, env.takeChanges())
		require.Contains(t, env.sent[0].Text, "The payment for the Premium plan was declined, so nothing has changed")
		require.Equal(t, "basic", env.overview(me).Subscription.Plan)
	})
}

// TestUpgrade_DeclinedLater_KeepsPlan checks an upgrade whose result the payer did not see, and whose
// charge is then declined. The plan before the upgrade stays as it was, and the payer is notified.
func TestUpgrade_DeclinedLater_KeepsPlan(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		env.subscribe(me, "premium", "pm_one")

		before := env.overview(me).Subscription
		env.takeChanges()
		env.clock.Advance(day)

		env.provider.errBefore = errNoAnswer
		_, err := env.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "gold"})
		require.Error(t, err)

		env.provider.errBefore = billing.ErrDeclined
		env.advance(firstRetry)
		require.Equal(t, []string{"payment-refused"}, env.takeChanges())
		require.Contains(t, env.sent[len(env.sent)-1].Text, "Gold plan")
		require.Equal(t, before, env.overview(me).Subscription)
	})
}

// TestCharge_ResponseLost_ChargedOnce checks a purchase that the provider has charged, and whose result
// was lost. The charge is repeated with the same idempotency key, so that the payer is charged once.
// Until the result is known, the plan has not begun and other purchases are refused.
func TestCharge_ResponseLost_ChargedOnce(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		purchase := billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"}

		env.provider.errAfter = errNoAnswer
		_, err := env.Create(t.Context(), me, purchase)
		require.Equal(t, fault.Unavailable, fault.KindOf(err))
		require.Equal(t, "basic", env.overview(me).Subscription.Plan)
		require.Equal(t, billing.Pending, env.overview(me).History[0].Status)

		// Purchases with another method, or of another plan, are refused.
		for _, other := range []billing.ChooseInput{
			{PlanID: "premium", PaymentMethodID: "pm_two"},
			{PlanID: "gold", PaymentMethodID: "pm_one"},
		} {
			_, err = env.Create(t.Context(), me, other)
			require.ErrorIs(t, err, billing.ErrUnderWay, "%+v", other)
		}

		// The same purchase continues the pending charge. The provider is still unavailable.
		_, err = env.Create(t.Context(), me, purchase)
		require.Equal(t, fault.Unavailable, fault.KindOf(err))

		require.NoError(t, env.Renew(t.Context()), "the retry is not due yet")
		env.clock.Advance(firstRetry)
		require.Error(t, env.Renew(t.Context()), "the retry fails too")

		// The provider answers again.
		env.provider.errAfter = nil
		env.advance(anyRetry)
		require.Equal(t, "premium", env.overview(me).Subscription.Plan)
		require.Equal(t, []string{"started"}, env.takeChanges())

		_, charges := env.provider.total()
		require.Equal(t, 1, charges)
	})
}

// TestCancel_ResponseOfRenewalLost_EndsAfterPaidPeriod checks a payer who cancels while the result of the
// renewal is lost. As the period has ended, the plan ends at once. When the retry finds that the renewal
// was paid, the plan becomes active again, until the end of that period.
func TestCancel_ResponseOfRenewalLost_EndsAfterPaidPeriod(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		env.subscribe(me, "premium", "pm_one")
		env.takeChanges()

		// The provider charges the renewal, and its result is lost.
		env.provider.errAfter = errNoAnswer
		env.clock.Advance(env.overview(me).Subscription.ExpiresAt.Sub(env.clock.Now()))
		require.Error(t, env.Renew(t.Context()))

		sub, err := env.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, "basic", sub.Plan)

		// The retry finds that the renewal was paid.
		env.provider.errAfter = nil
		env.advance(anyRetry)

		sub = env.overview(me).Subscription
		require.Equal(t, "premium", sub.Plan)
		require.False(t, sub.AutoRenew)
		env.advance(afterAMonth)
		require.Equal(t, "basic", env.overview(me).Subscription.Plan)
		require.Equal(t, []string{"ended", "renewed", "ended"}, env.takeChanges())

		_, charges := env.provider.total()
		require.Equal(t, 2, charges, "the purchase and the renewal")
	})
}

// TestCancel_ChargePending_IsRefused checks that nothing changes the subscription while a
// purchase has no result, because the result would overwrite the change.
func TestCancel_ChargePending_IsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()

		// A charge stays pending while the provider does not answer.
		silenceProvider := func() { env.provider.errBefore = errNoAnswer }

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
		env.advance(firstRetry)
		require.Equal(t, "premium", env.overview(me).Subscription.Plan)

		// While an upgrade is pending.
		silenceProvider()

		_, err = env.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "gold"})
		require.Error(t, err)
		requireChangesRefused()

		env.provider.errBefore = nil
		env.advance(firstRetry)
		require.Equal(t, "gold", env.overview(me).Subscription.Plan)

		// Without a pending purchase, such changes are accepted.
		_, err = env.UseMethod(t.Context(), me, "pm_two")
		require.NoError(t, err)

		sub, err := env.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.False(t, sub.AutoRenew)
		require.Equal(t, "pm_two", sub.Method.ID)
		require.Equal(t, []string{"started", "upgraded", "payment-method-changed", "cancelled"}, env.takeChanges())
		env.advance(anyRetry)
		require.False(t, env.overview(me).Subscription.AutoRenew, "no retry overwrites the cancellation")
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
		name         string
		plan, method string
		wantField    string // the field that the error names
	}{
		{name: "no plan", plan: "", method: "pm_one", wantField: "planId"},
		{name: "unknown plan", plan: "platinum", method: "pm_one", wantField: "planId"},
		{name: "no method", plan: "premium", method: "", wantField: "paymentMethodId"},
		{name: "without pm_", plan: "premium", method: "card", wantField: "paymentMethodId"},
		{name: "with a space", plan: "premium", method: "pm_a b", wantField: "paymentMethodId"},
		{name: "too long", plan: "premium", method: "pm_" + strings.Repeat("x", 300), wantField: "paymentMethodId"},
		{name: "unknown method", plan: "premium", method: sandboxpay.MethodMissing, wantField: "paymentMethodId"},
		{name: "card number", plan: "premium", method: "pm_4242424242424242", wantField: "paymentMethodId"},
	} {
		input := billing.ChooseInput{PlanID: test.plan, PaymentMethodID: test.method}
		_, err := env.Create(t.Context(), newSeeker(), input)
		require.Equal(t, fault.Invalid, fault.KindOf(err), test.name)
		require.Equal(t, test.wantField, fault.Of(err).Fields[0].Name, test.name)
	}

	_, charges := env.provider.total()
	require.Zero(t, charges)
}

// TestUpgrade_FreePlan_IsRefused checks that the free plan is no upgrade.
func TestUpgrade_FreePlan_IsRefused(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	_, err := env.Upgrade(t.Context(), newSeeker(), billing.ChooseInput{PlanID: "basic"})
	require.Equal(t, "planId", fault.Of(err).Fields[0].Name)
}

// TestUseMethod_NoMethod_IsRefused checks that a change of the payment method needs one.
func TestUseMethod_NoMethod_IsRefused(t *testing.T) {
	t.Parallel()

	const noMethod = ""

	env := newTestEnv(t, stores.SQLite)
	_, err := env.UseMethod(t.Context(), newSeeker(), noMethod)
	require.Equal(t, "paymentMethodId", fault.Of(err).Fields[0].Name)
}
