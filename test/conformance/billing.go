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

// openBilling returns an empty storage and the time of its clock, in a parallel test. It adds a fraction of a
// second to the time, in microseconds: the smallest unit that all databases store.
func openBilling(t *testing.T, open BillingOpener) (adapters.BillingStorage, time.Time) {
	t.Helper()
	t.Parallel()

	clk := newFakeClock()
	storage := open(t, clk)
	requirePorts(t, storage)

	const fraction = 234_567 * time.Microsecond

	return storage, clk.Now().Add(fraction)
}

// deletedOwner returns a new owner with which an erasure replaces a deleted user.
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

	// change locks the subscription of the owner, changes it with fn and returns it as stored. The
	// subscription of a new owner is the default one, billing.NewSubscription.
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

	// Get and Lock return the default subscription for an owner who has none. Lock does not change it.
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

	// Update stores every field and increases the version. Times can be set and cleared.
	t.Run("update", func(t *testing.T) {
		storage, now := start(t)
		owner := payer()

		// All fields are set.
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

		// The fields are those of the default subscription again, which has zero times.
		got = change(t, storage, owner, func(sub *billing.Subscription) {
			version := sub.Version
			*sub = billing.NewSubscription(owner)
			sub.Version = version
		})

		require.Zero(t, got.ExpiresAt)
		require.Zero(t, got.NextAt)
		require.Zero(t, got.AnchorAt)
	})

	// No concurrent change is lost: Lock makes transactions wait for each other. Each of them counts a failure.
	t.Run("concurrent changes", func(t *testing.T) {
		storage, _ := start(t)
		owner := payer()
		const changes = 20
		runConcurrently(t, changes, func(int) error {
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
		require.Equal(t, changes, got.Failures)
	})

	// ListDue returns the owners whose subscriptions are due, the earliest first. It omits
	// subscriptions without a due time, and those of erased owners.
	t.Run("due", func(t *testing.T) {
		storage, now := start(t)

		withDueTime := func(dueAt time.Time) billing.Owner {
			owner := payer()
			change(t, storage, owner, func(sub *billing.Subscription) { sub.NextAt = dueAt })

			return owner
		}
		dueNow := withDueTime(now)
		dueAnHourAgo := withDueTime(now.Add(-time.Hour))
		dueTwoHoursAgo := withDueTime(now.Add(-2 * time.Hour))
		dueThreeHoursAgo := withDueTime(now.Add(-3 * time.Hour))

		withoutDueTime := payer()
		change(t, storage, withoutDueTime, func(*billing.Subscription) {})

		// A subscription whose due time is the given time is due. The earliest ones are returned up to the limit.
		due, err := storage.Subscriptions.ListDue(ctx, now.Add(-time.Hour), wholeList)
		require.NoError(t, err)
		require.Equal(t, []billing.Owner{dueThreeHoursAgo, dueTwoHoursAgo, dueAnHourAgo}, due)

		due, err = storage.Subscriptions.ListDue(ctx, now, 2)
		require.NoError(t, err)
		require.Equal(t, []billing.Owner{dueThreeHoursAgo, dueTwoHoursAgo}, due)

		due, err = storage.Subscriptions.ListDue(ctx, now, wholeList)
		require.NoError(t, err)
		require.Contains(t, due, dueNow)

		// After the erasure of the earliest owner, the next one is the earliest.
		require.NoError(t, storage.Subscriptions.Erase(ctx, dueThreeHoursAgo, deletedOwner()))

		due, err = storage.Subscriptions.ListDue(ctx, now, 1)
		require.NoError(t, err)
		require.Equal(t, []billing.Owner{dueTwoHoursAgo}, due)
	})
}

// newCharge returns a pending charge for a period of an hour, which begins at the given time. It is due at the same
// time.
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
	suite := chargeSuite{open: open}
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

// start returns an empty storage of charges, and the time of its clock.
func (suite chargeSuite) start(t *testing.T) (billing.Charges, time.Time) {
	t.Helper()

	storage, now := openBilling(t, suite.open)

	return storage.Charges, now
}

// chargesOf returns the charges that match the filter, at most five.
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

// recordResult stores the result of a charge, Paid or Declined.
func (suite chargeSuite) recordResult(
	t *testing.T,
	charges billing.Charges,
	charge billing.Charge,
	result billing.ChargeStatus,
) {
	t.Helper()

	charge.Status = result
	isStored, err := charges.Update(context.Background(), charge)
	require.NoError(t, err)
	require.True(t, isStored)
}

// createAndUpdate checks that the attempts and the result of a charge are stored, and that the result is final. A later
// attempt or another result does not change it, because the card may have been charged. Update reports whether it has
// stored the charge.
func (suite chargeSuite) createAndUpdate(t *testing.T) {
	charges, now := suite.start(t)
	charge := newCharge(payer(), now)
	charge.Renewal = true
	require.Empty(t, suite.pending(t, charges, charge.Owner))
	require.NoError(t, charges.Create(context.Background(), charge))
	require.Equal(t, []billing.Charge{charge}, suite.pending(t, charges, charge.Owner))

	// The first attempt begins.
	charge.Attempts, charge.NextAt = 1, now.Add(time.Minute)
	isStored, err := charges.Update(context.Background(), charge)
	require.NoError(t, err)
	require.True(t, isStored)
	require.Equal(t, []billing.Charge{charge}, suite.pending(t, charges, charge.Owner))

	// The second attempt requires an action of the payer.
	charge.Attempts, charge.ActionAt = 2, now.Add(time.Second)
	isStored, err = charges.Update(context.Background(), charge)
	require.NoError(t, err)
	require.True(t, isStored)
	require.Equal(t, []billing.Charge{charge}, suite.pending(t, charges, charge.Owner), "with the time of the action")

	// The first attempt was successful after all. Its result is stored, although it is an update of the charge as
	// it was before that attempt, with no attempts. A paid charge needs no payment method.
	paid := charge
	paid.Status = billing.Paid
	paid.Receipt = "ch_1"
	paid.Method = billing.Method{}
	outdated := paid
	outdated.Attempts = 0
	isStored, err = charges.Update(context.Background(), outdated)
	require.NoError(t, err)
	require.True(t, isStored, "a result is stored whatever the number of attempts")
	require.Equal(t, []billing.Charge{paid}, suite.chargesOf(t, charges, billing.ChargeFilter{Owner: charge.Owner}))

	// Neither another result nor another attempt changes the result.
	declined := paid
	declined.Status = billing.Declined
	thirdAttempt := billing.Charge{ID: charge.ID, Owner: charge.Owner, Status: billing.Pending, Attempts: 3, NextAt: now}

	for _, late := range []billing.Charge{declined, thirdAttempt} {
		isStored, err = charges.Update(context.Background(), late)
		require.NoError(t, err)
		require.False(t, isStored, "status %s", late.Status)
	}

	require.Empty(t, suite.pending(t, charges, charge.Owner))
}

// onePendingChargeAndOneOfAPeriod checks that an owner has at most one pending charge, and at
// most one paid charge for the same period. A declined charge prevents no other one.
func (suite chargeSuite) onePendingChargeAndOneOfAPeriod(t *testing.T) {
	charges, now := suite.start(t)
	first := newCharge(payer(), now)
	require.NoError(t, charges.Create(context.Background(), first))

	nextPeriod := now.Add(time.Hour)
	require.Error(t, charges.Create(context.Background(), newCharge(first.Owner, nextPeriod)), "the first charge is pending")
	require.NoError(t, charges.Create(context.Background(), newCharge(payer(), now)), "another owner")

	// The first charge is declined. A second charge for the same period is possible.
	suite.recordResult(t, charges, first, billing.Declined)

	second := newCharge(first.Owner, now)
	require.NoError(t, charges.Create(context.Background(), second))

	// The second charge is paid. A third one is possible for the next period only.
	suite.recordResult(t, charges, second, billing.Paid)
	require.Error(t, charges.Create(context.Background(), newCharge(first.Owner, now)), "the period is paid")
	require.NoError(t, charges.Create(context.Background(), newCharge(first.Owner, nextPeriod)))
}

// concurrentCreation checks that an owner cannot have two pending charges: one of twenty
// concurrent creations succeeds.
func (suite chargeSuite) concurrentCreation(t *testing.T) {
	charges, now := suite.start(t)
	owner := payer()
	created := countConcurrent(t, 20, func(int) (isCreated bool, err error) {
		err = charges.Create(context.Background(), newCharge(owner, now))
		return err == nil, nil
	})
	require.Equal(t, 1, created)
}

// concurrentAttempts checks that of ten workers that store the same attempt at the same time, one
// succeeds. Only this worker then calls the payment provider.
func (suite chargeSuite) concurrentAttempts(t *testing.T) {
	charges, now := suite.start(t)
	charge := newCharge(payer(), now)
	require.NoError(t, charges.Create(context.Background(), charge))

	charge.NextAt = now.Add(time.Minute)
	for attempt := range 3 {
		charge.Attempts = attempt + 1
		stored := countConcurrent(t, 10, func(int) (isStored bool, err error) {
			return charges.Update(context.Background(), charge)
		})
		require.Equal(t, 1, stored, "attempt %d", charge.Attempts)
	}

	require.Equal(t, []billing.Charge{charge}, suite.pending(t, charges, charge.Owner))
}

// otherOwner checks that an update with another owner stores neither a result nor an attempt.
func (suite chargeSuite) otherOwner(t *testing.T) {
	charges, now := suite.start(t)
	charge := newCharge(payer(), now)
	require.NoError(t, charges.Create(context.Background(), charge))

	foreign := charge
	foreign.Owner = payer()

	for _, status := range []billing.ChargeStatus{billing.Paid, billing.Pending} {
		foreign.Status, foreign.Attempts = status, 1
		isStored, err := charges.Update(context.Background(), foreign)
		require.NoError(t, err)
		require.False(t, isStored)
	}

	require.Empty(t, suite.chargesOf(t, charges, billing.ChargeFilter{Owner: foreign.Owner}))
	require.Equal(t, []billing.Charge{charge}, suite.pending(t, charges, charge.Owner))
}

// list checks the filters and the order of List. If the filter has an owner, the newest charge is the first one. If it
// has a due time only, the charge that is due first is the first one. A filter without an owner and a due time matches
// nothing, so that no caller reads all charges by mistake.
func (suite chargeSuite) list(t *testing.T) {
	charges, now := suite.start(t)
	owner := payer()

	// The owner has three declined charges, an hour apart.
	addDeclined := func(at time.Time) billing.Charge {
		charge := newCharge(owner, at)
		require.NoError(t, charges.Create(context.Background(), charge))
		suite.recordResult(t, charges, charge, billing.Declined)

		charge.Status = billing.Declined

		return charge
	}
	oldest, middle := addDeclined(now), addDeclined(now.Add(time.Hour))
	newest := addDeclined(now.Add(2 * time.Hour))

	newestTwo, err := charges.List(context.Background(), billing.ChargeFilter{Owner: owner}, 2)
	require.NoError(t, err)
	require.Equal(t, []billing.Charge{newest, middle}, newestTwo)

	// Two charges are pending: one of the owner that is due now, and one of another owner that was due earlier.
	late, early := newCharge(owner, now), newCharge(payer(), now.Add(-time.Hour))
	require.NoError(t, charges.Create(context.Background(), late))
	require.NoError(t, charges.Create(context.Background(), early))

	for condition, test := range map[string]struct {
		filter billing.ChargeFilter
		want   []billing.Charge
	}{
		"owner and pending": {
			filter: billing.ChargeFilter{Owner: owner, Status: billing.Pending},
			want:   []billing.Charge{late},
		},
		"owner and declined": {
			filter: billing.ChargeFilter{Owner: owner, Status: billing.Declined},
			want:   []billing.Charge{newest, middle, oldest},
		},
		"due now": {
			filter: billing.ChargeFilter{DueBy: now},
			want:   []billing.Charge{early, late},
		},
		"owner and due now": {
			filter: billing.ChargeFilter{Owner: owner, DueBy: now},
			want:   []billing.Charge{late},
		},
		"due before now": {
			filter: billing.ChargeFilter{DueBy: now.Add(-time.Microsecond)},
			want:   []billing.Charge{early},
		},
	} {
		require.Equal(t, test.want, suite.chargesOf(t, charges, test.filter), condition)
	}

	for _, filter := range []billing.ChargeFilter{{}, {Status: billing.Pending}} {
		require.Empty(t, suite.chargesOf(t, charges, filter), "a filter without an owner and a due time")
	}
}

// erasedOwner checks that an erasure moves the charges of a user to an anonymous owner. The amounts remain, for the
// accounting. The payment methods are removed. A pending charge keeps the id of its method, with which the call of the
// payment provider is repeated. A repeated erasure changes nothing, and the charges of other owners stay.
func (suite chargeSuite) erasedOwner(t *testing.T) {
	storage, now := openBilling(t, suite.open)
	charges := storage.Charges
	owner := payer()
	anonymous := deletedOwner()
	paid := newCharge(owner, now)
	pending := newCharge(owner, now.Add(time.Hour))
	other := newCharge(payer(), now)

	require.NoError(t, charges.Create(context.Background(), paid))
	suite.recordResult(t, charges, paid, billing.Paid)
	require.NoError(t, charges.Create(context.Background(), pending))
	require.NoError(t, charges.Create(context.Background(), other))

	for range 2 {
		require.NoError(t, storage.Subscriptions.Erase(context.Background(), owner, anonymous))
	}

	require.Empty(t, suite.chargesOf(t, charges, billing.ChargeFilter{Owner: owner}))

	kept := suite.chargesOf(t, charges, billing.ChargeFilter{Owner: anonymous})
	require.Len(t, kept, 2)

	keptPending, keptPaid := kept[0], kept[1] // the newest first
	require.Equal(t, billing.Method{ID: someMethod.ID}, keptPending.Method)
	require.Equal(t, billing.Method{}, keptPaid.Method)
	require.Equal(t, paid.Amount, keptPaid.Amount)
	require.Equal(t, []billing.Charge{other}, suite.chargesOf(t, charges, billing.ChargeFilter{Owner: other.Owner}))
}
