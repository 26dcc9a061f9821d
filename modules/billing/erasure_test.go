package billing_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/tx"
	"github.com/locumhq/locum/modules/billing"
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

// The transactions of Create. The provider is called between the second one and the third one.
const (
	claimAttempt = 2 // claims the charge, which the first one has stored, for an attempt
	storeResult  = 3 // stores the result of the provider
)

// beforeTransaction calls the function before the nth transaction from now. For Create, nth is one of the
// constants above.
func (e *testEnv) beforeTransaction(nth int, do func()) {
	e.Tx = &beforeNth{Runner: e.store.Billing.Tx, nth: nth, do: do}
}

// TestSubscribe_AccountDeletedMeanwhile_NotCharged checks that an account that is deleted
// between the storage of a charge and the call of the provider is never charged.
func TestSubscribe_AccountDeletedMeanwhile_NotCharged(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		env.beforeTransaction(claimAttempt, func() { // the provider has not been called
			env.deletedUsers[me.UserID] = true
			require.NoError(t, env.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: me.UserID}))
		})

		sub, err := env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_card_visa"})
		require.NoError(t, err)
		require.Equal(t, "basic", sub.Plan)

		// Retries do not charge the account, either.
		for range 3 {
			env.advance(anyRetry)
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
		me := newSeeker()
		env.beforeTransaction(storeResult, func() { // the provider has been called
			env.deletedUsers[me.UserID] = true
			require.NoError(t, env.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: me.UserID}))
		})

		_, err := env.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_card_visa"})
		require.NoError(t, err)
		env.advance(anyRetry) // requires that the charge is stored without an owner

		owner := billing.Owner{Kind: billing.User, ID: me.UserID}
		err = env.store.Billing.Subscriptions.Update(t.Context(), billing.NewSubscription(owner))
		require.Error(t, err, "there is no stored subscription to update")
	})
}
