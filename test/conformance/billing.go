package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/modules/billing"
)

// BillingOpener returns an empty storage with the current schema, whose time is that of
// the clock.
type BillingOpener = func(t testing.TB, clk clock.Clock) adapters.BillingStorage

// Billing checks the storage of modules/billing.
func Billing(t *testing.T, open BillingOpener) {
	t.Run("subscriptions", func(t *testing.T) { Subscriptions(t, open) })
	t.Run("charges", func(t *testing.T) { Charges(t, open) })
}

// openBilling returns an empty storage and a time with microseconds, which all databases store.
func openBilling(t *testing.T, open BillingOpener) (adapters.BillingStorage, time.Time) {
	t.Helper()
	t.Parallel()

	clk := newFakeClock()
	storage := open(t, clk)
	requirePorts(t, storage)

	return storage, clk.Now().Add(1234567 * time.Microsecond)
}

// A new owner that replaces a deleted one.
func deletedOwner() billing.Owner { return billing.Owner{Kind: billing.DeletedOwner, ID: newID()} }

// payer returns a new user who pays.
func payer() billing.Owner { return billing.Owner{Kind: billing.User, ID: newID()} }

// someMethod is a payment method whose id needs escaping.
var someMethod = billing.Method{ID: "pm_é%1", Brand: "visa", Last4: "4242", ExpiryMonth: 12, ExpiryYear: 2031}

// Subscriptions checks the port billing.Subscriptions.
func Subscriptions(t *testing.T, open BillingOpener) {
	ctx := context.Background()
	start := func(t *testing.T) (adapters.BillingStorage, time.Time) {
		t.Helper()
		return openBilling(t, open)
	}

	// change locks and changes a subscription and returns it as stored.
	change := func(t *testing.T, storage adapters.BillingStorage, owner billing.Owner,
		fn func(sub *billing.Subscription)) billing.Subscription {
		t.Helper()
		require.NoError(t, storage.Tx.Do(ctx, func(ctx context.Context) error {
			sub, err := storage.Subscriptions.Lock(ctx, owner)
			if err != nil {
				return err
			}

			fn(&sub)

			return storage.Subscriptions.Update(ctx, sub)
		}))

		sub, err := storage.Subscriptions.Get(ctx, owner)
		require.NoError(t, err)

		return sub
	}

	// An owner without a subscription has the default one, also after it has been locked.
	t.Run("no subscription", func(t *testing.T) {
		storage, _ := start(t)
		owner := payer()
		found, err := storage.Subscriptions.Get(ctx, owner)
		require.NoError(t, err)
		require.Equal(t, billing.NewSubscription(owner), found)
		require.NoError(t, storage.Tx.Do(ctx, func(ctx context.Context) error {
			locked, err := storage.Subscriptions.Lock(ctx, owner)
			require.Equal(t, found, locked)
			return err
		}))

		found, err = storage.Subscriptions.Get(ctx, owner)
		require.NoError(t, err)
		require.Equal(t, billing.NewSubscription(owner), found)
	})

	// Every field is stored, and zero times can be stored again.
	t.Run("update", func(t *testing.T) {
		storage, now := start(t)
		owner := payer()
		var want billing.Subscription
		got := change(t, storage, owner, func(sub *billing.Subscription) {
			sub.Plan = "premium"
			sub.Status = billing.PastDue
			sub.AutoRenew = true
			sub.Failures = 2
			sub.Method = someMethod
			sub.AnchorAt = now
			sub.ExpiresAt = now.Add(time.Hour)
			sub.NextAt = now.Add(2 * time.Hour)
			want = *sub
		})

		require.Equal(t, want.Version+1, got.Version)

		want.Version = got.Version
		require.Equal(t, want, got)

		got = change(t, storage, owner, func(sub *billing.Subscription) {
			v := sub.Version
			*sub = billing.NewSubscription(owner)
			sub.Version = v
		})

		require.True(t, got.ExpiresAt.IsZero() && got.NextAt.IsZero() && got.AnchorAt.IsZero())
	})

	// Lock makes transactions wait for each other, so that each of twenty changes is counted.
	t.Run("concurrent changes", func(t *testing.T) {
		storage, _ := start(t)
		owner := payer()
		runConcurrently(t, 20, func(int) error {
			return storage.Tx.Do(ctx, func(ctx context.Context) error {
				sub, err := storage.Subscriptions.Lock(ctx, owner)
				if err != nil {
					return err
				}

				sub.Failures++

				return storage.Subscriptions.Update(ctx, sub)
			})
		})

		got, err := storage.Subscriptions.Get(ctx, owner)
		require.NoError(t, err)
		require.Equal(t, 20, got.Failures)
	})

	// Subscription i is due i hours before now; the one that was due first is listed first. A
	// deleted owner has no due subscription.
	t.Run("due", func(t *testing.T) {
		storage, now := start(t)

		var owners []billing.Owner
		for i := range 4 {
			owner := payer()
			change(t, storage, owner,
				func(sub *billing.Subscription) { sub.NextAt = now.Add(-time.Duration(i) * time.Hour) })

			owners = append([]billing.Owner{owner}, owners...)
		}

		change(t, storage, payer(), func(*billing.Subscription) {})

		due, err := storage.Subscriptions.ListDue(ctx, now.Add(-time.Hour), 10)
		require.NoError(t, err)
		require.Equal(t, owners[:3], due)

		due, err = storage.Subscriptions.ListDue(ctx, now, 2)
		require.NoError(t, err)
		require.Equal(t, owners[:2], due)
		require.NoError(t, storage.Subscriptions.Erase(ctx, owners[0], deletedOwner()))

		due, err = storage.Subscriptions.ListDue(ctx, now, 1)
		require.NoError(t, err)
		require.Equal(t, owners[1:2], due)
	})
}

// newCharge returns a pending charge for the hour from at on.
func newCharge(owner billing.Owner, at time.Time) billing.Charge {
	return billing.Charge{
		ID:          newID(),
		Owner:       owner,
		Plan:        "premium",
		Amount:      billing.Money{Minor: 999, Currency: "GBP"},
		Method:      someMethod,
		PeriodStart: at,
		PeriodEnd:   at.Add(time.Hour),
		Status:      billing.Pending,
		CreatedAt:   at,
		NextAt:      at,
	}
}

// Charges checks the port billing.Charges.
func Charges(t *testing.T, open BillingOpener) {
	suite := chargeSuite{open}
	t.Run("create and update", suite.createAndUpdate)
	t.Run("one pending charge and one of a period", suite.onePendingChargeAndOneOfAPeriod)
	t.Run("concurrent creation", suite.concurrentCreation)
	t.Run("concurrent attempts", suite.concurrentAttempts)
	t.Run("other owner", suite.otherOwner)
	t.Run("list", suite.list)
	t.Run("erased owner", suite.erasedOwner)
}

// chargeSuite has the subtests of Charges.
type chargeSuite struct {
	open BillingOpener
}

// start returns an empty storage of charges.
func (suite chargeSuite) start(t *testing.T) (billing.Charges, time.Time) {
	t.Helper()

	storage, now := openBilling(t, suite.open)

	return storage.Charges, now
}

// chargesOf returns the charges that match the filter.
func (suite chargeSuite) chargesOf(t *testing.T, charges billing.Charges, filter billing.ChargeFilter) []billing.Charge {
	t.Helper()

	found, err := charges.List(context.Background(), filter, 5)
	require.NoError(t, err)

	return found
}

// pending returns the pending charges of the owner.
func (suite chargeSuite) pending(t *testing.T, charges billing.Charges, owner billing.Owner) []billing.Charge {
	t.Helper()
	return suite.chargesOf(t, charges, billing.ChargeFilter{Owner: owner, Status: billing.Pending})
}

// settle stores the result of a charge.
func (suite chargeSuite) settle(t *testing.T, cs billing.Charges, c billing.Charge, status billing.ChargeStatus) {
	t.Helper()

	c.Status = status
	ok, err := cs.Update(context.Background(), c)
	require.NoError(t, err)
	require.True(t, ok)
}

// createAndUpdate checks that an attempt and a result are stored, and that a result is final: a
// late attempt or another result does not change it, because the card may have been charged.
func (suite chargeSuite) createAndUpdate(t *testing.T) {
	charges, now := suite.start(t)
	charge := newCharge(payer(), now)
	charge.Renewal = true
	require.Empty(t, suite.pending(t, charges, charge.Owner))
	require.NoError(t, charges.Create(context.Background(), charge))
	require.Equal(t, []billing.Charge{charge}, suite.pending(t, charges, charge.Owner))

	charge.Attempts, charge.NextAt = 1, now.Add(time.Minute)
	claimed, err := charges.Update(context.Background(), charge)
	require.NoError(t, err)
	require.True(t, claimed)
	require.Equal(t, []billing.Charge{charge}, suite.pending(t, charges, charge.Owner))

	charge.Attempts, charge.ActionAt = 2, now.Add(time.Second)
	waits, err := charges.Update(context.Background(), charge)
	require.NoError(t, err)
	require.True(t, waits)
	require.Equal(t, []billing.Charge{charge}, suite.pending(t, charges, charge.Owner), "with the time of the action")

	paid := charge
	paid.Status = billing.Paid
	paid.Receipt = "ch_1"
	paid.Method = billing.Method{}
	outdated := paid
	outdated.Attempts = 0
	updated, err := charges.Update(context.Background(), outdated)
	require.NoError(t, err)
	require.True(t, updated, "a result is stored whatever the number of attempts")
	require.Equal(t, []billing.Charge{paid}, suite.chargesOf(t, charges, billing.ChargeFilter{Owner: charge.Owner}))

	paid.Status = billing.Declined
	for _, repeated := range []billing.Charge{paid, {ID: charge.ID, Owner: charge.Owner, Status: billing.Pending, Attempts: 3, NextAt: now}} {
		updated, err = charges.Update(context.Background(), repeated)
		require.NoError(t, err)
		require.False(t, updated, "a result does not change")
	}

	require.Empty(t, suite.pending(t, charges, charge.Owner))
}

// onePendingChargeAndOneOfAPeriod checks that an owner has at most one pending charge, and at
// most one paid charge for the same period. A declined charge does not count.
func (suite chargeSuite) onePendingChargeAndOneOfAPeriod(t *testing.T) {
	charges, now := suite.start(t)
	first := newCharge(payer(), now)
	require.NoError(t, charges.Create(context.Background(), first))
	require.Error(t, charges.Create(context.Background(), newCharge(first.Owner, now.Add(time.Hour))))
	require.NoError(t, charges.Create(context.Background(), newCharge(payer(), now)))
	suite.settle(t, charges, first, billing.Declined)

	second := newCharge(first.Owner, now)
	require.NoError(t, charges.Create(context.Background(), second))
	suite.settle(t, charges, second, billing.Paid)
	require.Error(t, charges.Create(context.Background(), newCharge(first.Owner, now)))
	require.NoError(t, charges.Create(context.Background(), newCharge(first.Owner, now.Add(time.Hour))))
}

// concurrentCreation checks that an owner cannot have two pending charges: one of twenty
// concurrent creations succeeds.
func (suite chargeSuite) concurrentCreation(t *testing.T) {
	charges, now := suite.start(t)
	owner := payer()
	require.Equal(t, 1,
		countConcurrent(t, 20,
			func(int) (bool, error) {
				return charges.Create(context.Background(), newCharge(owner, now)) == nil, nil
			}))
}

// concurrentAttempts checks that one of ten callers stores each attempt, so that one calls the
// payment provider.
func (suite chargeSuite) concurrentAttempts(t *testing.T) {
	charges, now := suite.start(t)
	charge := newCharge(payer(), now)
	require.NoError(t, charges.Create(context.Background(), charge))

	charge.NextAt = now.Add(time.Minute)
	for attempt := range 3 {
		charge.Attempts = attempt + 1
		require.Equal(t, 1,
			countConcurrent(t, 10, func(int) (bool, error) { return charges.Update(context.Background(), charge) }))
	}

	require.Equal(t, []billing.Charge{charge}, suite.pending(t, charges, charge.Owner))
}

// otherOwner checks that an update with another owner changes nothing.
func (suite chargeSuite) otherOwner(t *testing.T) {
	charges, now := suite.start(t)
	charge := newCharge(payer(), now)
	require.NoError(t, charges.Create(context.Background(), charge))

	foreign := charge

	foreign.Owner = payer()
	for _, status := range []billing.ChargeStatus{billing.Paid, billing.Pending} {
		foreign.Status, foreign.Attempts = status, 1
		ok, err := charges.Update(context.Background(), foreign)
		require.NoError(t, err)
		require.False(t, ok)
	}

	require.Empty(t, suite.chargesOf(t, charges, billing.ChargeFilter{Owner: foreign.Owner}))
	require.Equal(t, []billing.Charge{charge}, suite.pending(t, charges, charge.Owner))
}

// list checks the filters, and that a filter needs an owner or a due time, so that no caller
// reads all charges by mistake.
func (suite chargeSuite) list(t *testing.T) {
	charges, now := suite.start(t)
	owner := payer()

	var want []billing.Charge
	for i := range 3 {
		charge := newCharge(owner, now.Add(time.Duration(i)*time.Hour))
		require.NoError(t, charges.Create(context.Background(), charge))
		suite.settle(t, charges, charge, billing.Declined)

		charge.Status = billing.Declined
		want = append([]billing.Charge{charge}, want...)
	}

	got, err := charges.List(context.Background(), billing.ChargeFilter{Owner: owner}, 2)
	require.NoError(t, err)
	require.Equal(t, want[:2], got)

	late, early := newCharge(owner, now), newCharge(payer(), now.Add(-time.Hour))
	require.NoError(t, charges.Create(context.Background(), late))
	require.NoError(t, charges.Create(context.Background(), early))
	require.Equal(t, []billing.Charge{late}, suite.pending(t, charges, owner))
	require.Equal(t, want, suite.chargesOf(t, charges, billing.ChargeFilter{Owner: owner, Status: billing.Declined}))
	require.Equal(t, []billing.Charge{early, late}, suite.chargesOf(t, charges, billing.ChargeFilter{DueBy: now}))
	require.Equal(t, []billing.Charge{late}, suite.chargesOf(t, charges, billing.ChargeFilter{Owner: owner, DueBy: now}))
	require.Equal(t, []billing.Charge{early},
		suite.chargesOf(t, charges, billing.ChargeFilter{DueBy: now.Add(-time.Microsecond)}))

	for _, filter := range []billing.ChargeFilter{{}, {Status: billing.Pending}} {
		require.Empty(t, suite.chargesOf(t, charges, filter), "neither an owner nor a due time")
	}
}

// erasedOwner checks that an erasure moves the charges to an anonymous owner, whose accounting
// remains, without the payment method. Only a pending charge keeps the id of the method.
func (suite chargeSuite) erasedOwner(t *testing.T) {
	storage, now := openBilling(t, suite.open)
	charges := storage.Charges
	owner := payer()
	anonymous := deletedOwner()
	paid := newCharge(owner, now)
	pending := newCharge(owner, now.Add(time.Hour))
	other := newCharge(payer(), now)

	require.NoError(t, charges.Create(context.Background(), paid))
	suite.settle(t, charges, paid, billing.Paid)
	require.NoError(t, charges.Create(context.Background(), pending))
	require.NoError(t, charges.Create(context.Background(), other))

	for range 2 {
		require.NoError(t, storage.Subscriptions.Erase(context.Background(), owner, anonymous))
	}

	require.Empty(t, suite.chargesOf(t, charges, billing.ChargeFilter{Owner: owner}))

	kept := suite.chargesOf(t, charges, billing.ChargeFilter{Owner: anonymous})
	require.Len(t, kept, 2)
	require.Equal(t, billing.Method{ID: someMethod.ID}, kept[0].Method, "needed to repeat the call")
	require.Equal(t, billing.Method{}, kept[1].Method)
	require.Equal(t, paid.Amount, kept[1].Amount)
	require.Equal(t, []billing.Charge{other}, suite.chargesOf(t, charges, billing.ChargeFilter{Owner: other.Owner}))
}
