package billing_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/tx"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/test/kit/stores"
)

// beforeNth runs transactions, and calls a function before the nth one.
type beforeNth struct {
	tx.Runner
	nth int // transactions until the function is called
	do  func()
}

// Do implements tx.Runner.
func (r *beforeNth) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	r.nth--
	if r.nth == 0 {
		r.do()
	}

	return r.Runner.Do(ctx, fn)
}

// beforeTransaction calls the function before the nth transaction from now. Create makes three:
// the first stores the charge, the second claims it for an attempt, after which the provider is
// called, and the third stores the result.
func (e *testEnv) beforeTransaction(nth int, do func()) {
	e.Tx = &beforeNth{Runner: e.store.Billing.Tx, nth: nth, do: do}
}

// TestSubscribe_AccountDeletedMeanwhile_NotCharged checks that an account that is deleted
// between the storage of a charge and the call of the provider is never charged.
func TestSubscribe_AccountDeletedMeanwhile_NotCharged(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := auth.Actor{UserID: stores.NewID(), Seeker: true, Role: auth.Jobseeker}
		env.beforeTransaction(2, func() { // the charge is stored, and the provider has not been called
			env.deletedUsers[me.UserID] = true
			require.NoError(t, env.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: me.UserID}))
		})

		sub, err := env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_card_visa"})
		require.NoError(t, err)
		require.Equal(t, "basic", sub.Plan)

		for range 3 { // renewals do not charge the account, either
			env.clock.Advance(2 * time.Hour)
			require.NoError(t, env.Renew(t.Context()))
		}

		sum, charges := env.provider.total()
		require.Zero(t, sum)
		require.Zero(t, charges)
	})
}

// TestOnAccountDeleted_ChargePending_LeavesNothing checks that an account that is deleted
// after the call of the provider, and before its result is stored, gets no subscription.
func TestOnAccountDeleted_ChargePending_LeavesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := auth.Actor{UserID: stores.NewID(), Seeker: true, Role: auth.Jobseeker}
		env.beforeTransaction(3, func() { // the provider has been called, and its answer is not stored
			env.deletedUsers[me.UserID] = true
			require.NoError(t, env.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: me.UserID}))
		})

		_, err := env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_card_visa"})
		require.NoError(t, err)
		env.clock.Advance(2 * time.Hour)
		require.NoError(t, env.Renew(t.Context()), "the charge is stored without an owner")

		owner := billing.Owner{Kind: billing.User, ID: me.UserID}
		err = env.store.Billing.Subscriptions.Update(t.Context(), billing.NewSubscription(owner))
		require.Error(t, err, "there is no stored subscription to update")
	})
}
