package billing_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/sandboxpay"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/billing"
)

// afterAMonth is a time after which a monthly subscription is due for renewal.
const afterAMonth = 40 * day

// TestRenewal_Declined_RetriedForAWeek checks that a declined renewal is repeated 1, 3 and 7
// days after the end of the period. The plan stays during this week, and ends when the last
// retry is declined. The test pays with sandboxpay.CardExpired, which works for a purchase and
// is declined for renewals.
func TestRenewal_Declined_RetriedForAWeek(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		sub := env.subscribe(me, "premium", sandboxpay.CardExpired)
		env.takeChanges()
		env.advanceTo(sub.ExpiresAt)

		delays := []time.Duration{day, 2 * day, 4 * day} // between the attempts
		for retries, delay := range delays {
			attempts := 2 + retries // the purchase, the renewal and its retries
			overview := env.overview(me)
			require.Equal(t, billing.PastDue, overview.Subscription.Status)
			require.Equal(t, "premium", overview.Subscription.Plan)
			require.Len(t, overview.History, attempts)
			require.Equal(t, []string{"payment-failed"}, env.takeChanges(), "after %d retries", retries)

			env.advance(delay - time.Microsecond)
			require.Empty(t, env.takeChanges(), "no retry before the delay has passed")
			env.advance(time.Microsecond)
		}

		// The last retry was declined: the plan has ended.
		overview := env.overview(me)
		require.Equal(t, "basic", overview.Subscription.Plan)
		require.Equal(t, billing.Active, overview.Subscription.Status)
		require.Equal(t, []string{"lapsed"}, env.takeChanges())
		require.Len(t, overview.History, 5, "the purchase and four declined renewals")

		_, charges := env.provider.total()
		require.Equal(t, 1, charges, "only the purchase was paid")
	})
}

// TestRenewal_PastDue_NewMethodIsCharged checks a change of the payment method while a renewal
// is past due, here because sandboxpay.CardExpired is declined for renewals. The new method is
// charged at once. It is not stored if it is declined.
func TestRenewal_PastDue_NewMethodIsCharged(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		env.advanceTo(env.subscribe(me, "premium", sandboxpay.CardExpired).ExpiresAt)
		require.Equal(t, []string{"started", "payment-failed"}, env.takeChanges())
		env.clock.Advance(time.Hour) // the first retry, after a day, is not due yet

		_, err := env.UseMethod(t.Context(), me, sandboxpay.CardDeclined)
		require.ErrorIs(t, err, billing.ErrDeclined)
		require.Equal(t, sandboxpay.CardExpired, env.overview(me).Subscription.Method.ID)

		sub, err := env.UseMethod(t.Context(), me, "pm_card_mastercard")
		require.NoError(t, err)
		require.Equal(t, billing.Active, sub.Status)
		require.Equal(t, "mastercard", sub.Method.Brand)
		require.Equal(t, env.clock.Now().AddDate(0, 1, 0), sub.ExpiresAt)
		require.Equal(t, []string{"renewed"}, env.takeChanges())
		env.advance(2 * day)
		require.Empty(t, env.takeChanges(), "no retry is scheduled")
	})
}

// TestCancel_PastDue_BasicAtOnce checks that a cancelled plan whose period is not paid ends at
// once.
func TestCancel_PastDue_BasicAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		env.advanceTo(env.subscribe(me, "premium", sandboxpay.CardExpired).ExpiresAt)

		sub, err := env.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, "basic", sub.Plan)
		require.Equal(t, []string{"started", "payment-failed", "ended"}, env.takeChanges())
		env.advance(10 * day)
		require.Empty(t, env.takeChanges(), "no retry is made")
	})
}

// TestRenewal_WithoutMethod_RetriedWithoutBlocking checks a subscription that cannot be renewed
// because it has no payment method. Each attempt reports an error and postpones the next one,
// so that this subscription does not take the place of others in each run.
func TestRenewal_WithoutMethod_RetriedWithoutBlocking(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		env.subscribe(me, "premium", "pm_one")

		// Remove the payment method from the stored subscription.
		owner := billing.Owner{Kind: billing.User, ID: me.UserID}
		require.NoError(t, env.store.Billing.Tx.Do(t.Context(), func(ctx context.Context) error {
			sub, err := env.store.Billing.Subscriptions.Lock(ctx, owner)
			if err != nil {
				return err
			}

			sub.Method = billing.Method{}

			return env.store.Billing.Subscriptions.Update(ctx, sub)
		}))

		// The renewal cannot be charged, and is postponed.
		env.clock.Advance(afterAMonth)
		require.ErrorContains(t, env.Renew(t.Context()), "no way to charge")

		due, err := env.store.Billing.Subscriptions.ListDue(t.Context(), env.clock.Now(), 10)
		require.NoError(t, err)
		require.Empty(t, due, "the retry is not due yet")
		env.clock.Advance(time.Hour)
		require.ErrorContains(t, env.Renew(t.Context()), "no way to charge", "the retry reports the error again")
	})
}

// TestRenewal_ManyWorkers_OneCharge checks that eight workers at the same time renew each of
// three subscriptions once.
func TestRenewal_ManyWorkers_OneCharge(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		const subscriptions = 3
		for range subscriptions {
			env.subscribe(newSeeker(), "premium", "pm_one")
		}

		env.takeChanges()
		env.clock.Advance(afterAMonth)

		var workers sync.WaitGroup
		for range 8 {
			workers.Go(func() {
				if err := env.Renew(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}

		workers.Wait()
		env.advance(time.Hour) // a later run finds nothing to renew

		_, charges := env.provider.total()
		require.Equal(t, subscriptions*2, charges, "a purchase and a renewal of each subscription")
		require.Equal(t, []string{"renewed", "renewed", "renewed"}, env.takeChanges())
	})
}

// TestRenewal_ProviderUnavailable_RenewsAllLater checks that an outage of the provider ends no
// plan, and that all subscriptions are renewed when the provider is available again.
func TestRenewal_ProviderUnavailable_RenewsAllLater(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		const others = 5
		for range others {
			env.subscribe(newSeeker(), "premium", "pm_one")
		}

		me := newSeeker()
		env.subscribe(me, "premium", "pm_one")
		env.takeChanges()

		env.provider.errBefore = fault.ErrUnavailable
		env.clock.Advance(afterAMonth)
		require.Error(t, env.Renew(t.Context()))
		require.Equal(t, "premium", env.overview(me).Subscription.Plan)
		require.Equal(t, billing.Active, env.overview(me).Subscription.Status)

		// The provider is available again.
		env.provider.errBefore = nil
		env.advance(anyRetry)
		require.Len(t, env.takeChanges(), others+1, "each subscription was renewed")
	})
}

// TestRenewal_AccountDeleted_NotCharged checks that a subscription whose owner does not exist
// any more is deleted instead of renewed, even if the event of the deletion was not handled.
func TestRenewal_AccountDeleted_NotCharged(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		env.subscribe(me, "premium", "pm_one")
		env.takeChanges()

		env.deletedUsers[me.UserID] = true
		env.advance(afterAMonth)

		_, charges := env.provider.total()
		require.Equal(t, 1, charges, "only the purchase")
		require.Equal(t, "basic", env.overview(me).Subscription.Plan)
		require.Empty(t, env.takeChanges())
	})
}

// TestOnAccountDeleted_Payments_KeptAnonymously checks the payments of a deleted account. The owner is
// deleted at the payment provider (Forget). The charges stay without an owner, so that neither they nor
// the plan are found by the id of the user. Another user is not affected.
func TestOnAccountDeleted_Payments_KeptAnonymously(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me, other := newSeeker(), newSeeker()
		env.subscribe(me, "premium", "pm_one")
		env.subscribe(other, "premium", "pm_one")

		// The event may be delivered twice.
		owner := billing.Owner{Kind: billing.User, ID: me.UserID}
		for range 2 {
			require.NoError(t, env.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: me.UserID}))
		}

		require.Equal(t, []billing.Owner{owner, owner}, env.provider.forgotten)

		overview := env.overview(me)
		require.Equal(t, "basic", overview.Subscription.Plan)
		require.Empty(t, overview.History)
		require.Len(t, env.overview(other).History, 1)
	})
}

// TestOnAccountDeleted_ResultUnknown_PaymentIsCompleted checks an account that is deleted while the result
// of its payment is unknown. The payment is completed, but begins no plan, and is not charged again.
func TestOnAccountDeleted_ResultUnknown_PaymentIsCompleted(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		env.provider.errAfter = errNoAnswer
		_, err := env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Error(t, err)
		require.NoError(t, env.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: me.UserID}))

		// The provider answers again.
		env.provider.errAfter = nil
		env.deletedUsers[me.UserID] = true
		env.advance(anyRetry)
		require.Equal(t, "basic", env.overview(me).Subscription.Plan)

		dueAtAnyTime := billing.ChargeFilter{DueBy: env.clock.Now().Add(1000 * day)}
		waiting, err := env.store.Billing.Charges.List(t.Context(), dueAtAnyTime, 10)
		require.NoError(t, err)
		require.Empty(t, waiting, "a charge with a result is not due again")
		env.advance(20 * day)

		_, charges := env.provider.total()
		require.Equal(t, 1, charges, "the purchase")
	})
}
