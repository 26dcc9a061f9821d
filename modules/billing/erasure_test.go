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

// beforeNth calls a function before the nth transaction.
type beforeNth struct {
	tx.Runner
	nth int
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

// beforeTransaction calls the function before the nth transaction from now.
func (e *testEnv) beforeTransaction(nth int, do func()) {
	e.Tx = &beforeNth{e.store.Billing.Tx, nth, do}
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

		sum, n := env.provider.total()
		require.Zero(t, sum)
		require.Zero(t, n)
	})
}

// TestOnAccountDeleted_ChargePending_LeavesNothing checks that an account that is deleted
// during the call of the provider gets no subscription from its result.
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
		require.Error(
			t,
			env.store.Billing.Subscriptions.Update(t.Context(), billing.NewSubscription(owner)),
			"there is no row to save",
		)
	})
}
