package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// Billing checks the ports of modules/billing. open makes an empty store.
func Billing(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	t.Run("subscriptions", func(t *testing.T) { subscriptions(t, open) })
	t.Run("charges", func(t *testing.T) { charges(t, open) })
}

func payer() billing.Owner { return billing.Owner{Kind: billing.User, ID: stores.NewID()} }

var someMethod = billing.Method{ID: "pm_é%1", Brand: "visa", Last4: "4242", ExpiryMonth: 12, ExpiryYear: 2031}

func subscriptions(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	ctx := context.Background()
	start := func(t *testing.T) (adapters.Storage, time.Time) {
		t.Parallel()
		clk := kit.NewClock()
		return open(t, clk), clk.Now().Add(1234567 * time.Microsecond)
	}
	change := func(t *testing.T, s adapters.Storage, o billing.Owner, fn func(sub *billing.Subscription)) billing.Subscription {
		t.Helper()
		require.NoError(t, s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
			sub, err := s.Billing.Subscriptions.Lock(ctx, o)
			if err != nil {
				return err
			}
			fn(&sub)
			return s.Billing.Subscriptions.Save(ctx, sub)
		}))
		sub, err := s.Billing.Subscriptions.Find(ctx, o)
		require.NoError(t, err)
		return sub
	}

	t.Run("puts who never chose on the basic plan", func(t *testing.T) {
		s, _ := start(t)
		o := payer()
		found, err := s.Billing.Subscriptions.Find(ctx, o)
		require.NoError(t, err)
		require.Equal(t, billing.NewSubscription(o), found)
		require.NoError(t, s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
			locked, err := s.Billing.Subscriptions.Lock(ctx, o)
			require.Equal(t, found, locked)
			return err
		}))
		found, err = s.Billing.Subscriptions.Find(ctx, o)
		require.NoError(t, err)
		require.Equal(t, billing.NewSubscription(o), found)
	})

	t.Run("gives back what was saved", func(t *testing.T) {
		s, now := start(t)
		o := payer()
		var want billing.Subscription
		got := change(t, s, o, func(sub *billing.Subscription) {
			sub.Plan, sub.Status, sub.AutoRenew, sub.Failures, sub.Method = "premium", billing.PastDue, true, 2, someMethod
			sub.AnchorAt, sub.ExpiresAt, sub.NextAt = now, now.Add(time.Hour), now.Add(2*time.Hour)
			want = *sub
		})
		require.Equal(t, want.Version+1, got.Version)
		want.Version = got.Version
		require.Equal(t, want, got)
		got = change(t, s, o, func(sub *billing.Subscription) { v := sub.Version; *sub = billing.NewSubscription(o); sub.Version = v })
		require.True(t, got.ExpiresAt.IsZero() && got.NextAt.IsZero() && got.AnchorAt.IsZero())
	})

	t.Run("lets one change after the other", func(t *testing.T) {
		s, _ := start(t)
		o := payer()
		together(t, 20, func(int) error {
			return s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
				sub, err := s.Billing.Subscriptions.Lock(ctx, o)
				if err != nil {
					return err
				}
				sub.Failures++
				return s.Billing.Subscriptions.Save(ctx, sub)
			})
		})
		got, err := s.Billing.Subscriptions.Find(ctx, o)
		require.NoError(t, err)
		require.Equal(t, 20, got.Failures)
	})

	t.Run("knows who is due, the longest waiting first", func(t *testing.T) {
		s, now := start(t)
		var owners []billing.Owner
		for i := range 4 {
			o := payer()
			change(t, s, o, func(sub *billing.Subscription) { sub.NextAt = now.Add(-time.Duration(i) * time.Hour) })
			owners = append([]billing.Owner{o}, owners...)
		}
		change(t, s, payer(), func(*billing.Subscription) {})
		due, err := s.Billing.Subscriptions.Due(ctx, now.Add(-time.Hour), 10)
		require.NoError(t, err)
		require.Equal(t, owners[:3], due)
		due, err = s.Billing.Subscriptions.Due(ctx, now, 2)
		require.NoError(t, err)
		require.Equal(t, owners[:2], due)
		require.NoError(t, s.Billing.Subscriptions.Delete(ctx, owners[0]))
		due, err = s.Billing.Subscriptions.Due(ctx, now, 1)
		require.NoError(t, err)
		require.Equal(t, owners[1:2], due)
	})
}

func newCharge(o billing.Owner, at time.Time) billing.Charge {
	return billing.Charge{ID: stores.NewID(), Owner: o, Plan: "premium", Amount: billing.Money{Minor: 999, Currency: "GBP"}, Method: someMethod,
		PeriodStart: at, PeriodEnd: at.Add(time.Hour), Status: billing.Pending, CreatedAt: at, NextAt: at}
}

func charges(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	ctx := context.Background()
	start := func(t *testing.T) (billing.Charges, time.Time) {
		t.Parallel()
		clk := kit.NewClock()
		return open(t, clk).Billing.Charges, clk.Now().Add(1234567 * time.Microsecond)
	}
	settle := func(t *testing.T, cs billing.Charges, c billing.Charge, status billing.ChargeStatus) {
		t.Helper()
		c.Status = status
		ok, err := cs.Settle(ctx, c)
		require.NoError(t, err)
		require.True(t, ok)
	}

	t.Run("gives back what was opened and settled", func(t *testing.T) {
		cs, now := start(t)
		c := newCharge(payer(), now)
		c.Renewal = true
		none, err := cs.Pending(ctx, c.Owner)
		require.NoError(t, err)
		require.Nil(t, none)
		require.NoError(t, cs.Open(ctx, c))
		pending, err := cs.Pending(ctx, c.Owner)
		require.NoError(t, err)
		require.Equal(t, &c, pending)
		claimed, err := cs.Claim(ctx, c, now.Add(time.Minute))
		require.NoError(t, err)
		require.True(t, claimed)
		c.Attempts, c.NextAt, c.Status, c.Receipt, c.Method = 1, now.Add(time.Minute), billing.Paid, "ch_1", billing.Method{}
		settled, err := cs.Settle(ctx, c)
		require.NoError(t, err)
		require.True(t, settled)
		history, err := cs.Of(ctx, c.Owner, 5)
		require.NoError(t, err)
		require.Equal(t, []billing.Charge{c}, history)
		again, err := cs.Settle(ctx, c)
		require.NoError(t, err)
		require.False(t, again, "what is settled stays")
		claimed, err = cs.Claim(ctx, c, now)
		require.NoError(t, err)
		require.False(t, claimed)
		none, err = cs.Pending(ctx, c.Owner)
		require.NoError(t, err)
		require.Nil(t, none)
	})

	t.Run("has one pending charge of an owner, and one of a period that is not declined", func(t *testing.T) {
		cs, now := start(t)
		first := newCharge(payer(), now)
		require.NoError(t, cs.Open(ctx, first))
		require.Error(t, cs.Open(ctx, newCharge(first.Owner, now.Add(time.Hour))))
		require.NoError(t, cs.Open(ctx, newCharge(payer(), now)))
		settle(t, cs, first, billing.Declined)
		second := newCharge(first.Owner, now)
		require.NoError(t, cs.Open(ctx, second))
		settle(t, cs, second, billing.Paid)
		require.Error(t, cs.Open(ctx, newCharge(first.Owner, now)))
		require.NoError(t, cs.Open(ctx, newCharge(first.Owner, now.Add(time.Hour))))
	})

	t.Run("opens one of many at once", func(t *testing.T) {
		cs, now := start(t)
		o := payer()
		require.Equal(t, 1, atOnce(t, 20, func(int) (bool, error) { return cs.Open(ctx, newCharge(o, now)) == nil, nil }))
	})

	t.Run("lets one of many at once ask the provider, once for each attempt", func(t *testing.T) {
		cs, now := start(t)
		c := newCharge(payer(), now)
		require.NoError(t, cs.Open(ctx, c))
		for attempts := range 3 {
			c.Attempts = attempts
			require.Equal(t, 1, atOnce(t, 10, func(int) (bool, error) { return cs.Claim(ctx, c, now.Add(time.Minute)) }))
		}
		pending, err := cs.Pending(ctx, c.Owner)
		require.NoError(t, err)
		require.Equal(t, 3, pending.Attempts)
	})

	t.Run("is nobody else's", func(t *testing.T) {
		cs, now := start(t)
		c := newCharge(payer(), now)
		require.NoError(t, cs.Open(ctx, c))
		stranger := c
		stranger.Owner, stranger.Status = payer(), billing.Paid
		ok, err := cs.Settle(ctx, stranger)
		require.NoError(t, err)
		require.False(t, ok)
		ok, err = cs.Claim(ctx, stranger, now)
		require.NoError(t, err)
		require.False(t, ok)
		none, err := cs.Of(ctx, stranger.Owner, 5)
		require.NoError(t, err)
		require.Empty(t, none)
		pending, err := cs.Pending(ctx, c.Owner)
		require.NoError(t, err)
		require.Equal(t, &c, pending)
	})

	t.Run("knows who waits, and lists the newest first", func(t *testing.T) {
		cs, now := start(t)
		o := payer()
		var want []billing.Charge
		for i := range 3 {
			c := newCharge(o, now.Add(time.Duration(i)*time.Hour))
			require.NoError(t, cs.Open(ctx, c))
			settle(t, cs, c, billing.Declined)
			c.Status = billing.Declined
			want = append([]billing.Charge{c}, want...)
		}
		got, err := cs.Of(ctx, o, 2)
		require.NoError(t, err)
		require.Equal(t, want[:2], got)
		late, early := newCharge(o, now), newCharge(payer(), now.Add(-time.Hour))
		require.NoError(t, cs.Open(ctx, late))
		require.NoError(t, cs.Open(ctx, early))
		got, err = cs.Waiting(ctx, now, 5)
		require.NoError(t, err)
		require.Equal(t, []billing.Charge{early, late}, got)
		got, err = cs.Waiting(ctx, now.Add(-time.Microsecond), 5)
		require.NoError(t, err)
		require.Equal(t, []billing.Charge{early}, got)
	})

	t.Run("becomes nobody's", func(t *testing.T) {
		cs, now := start(t)
		o, nobody := payer(), billing.Owner{Kind: billing.Nobody, ID: stores.NewID()}
		paid, pending, other := newCharge(o, now), newCharge(o, now.Add(time.Hour)), newCharge(payer(), now)
		require.NoError(t, cs.Open(ctx, paid))
		settle(t, cs, paid, billing.Paid)
		require.NoError(t, cs.Open(ctx, pending))
		require.NoError(t, cs.Open(ctx, other))
		require.NoError(t, cs.Disown(ctx, o, nobody))
		left, err := cs.Of(ctx, o, 5)
		require.NoError(t, err)
		require.Empty(t, left)
		kept, err := cs.Of(ctx, nobody, 5)
		require.NoError(t, err)
		require.Len(t, kept, 2)
		require.Equal(t, billing.Method{ID: someMethod.ID}, kept[0].Method, "with which it is asked for")
		require.Equal(t, billing.Method{}, kept[1].Method)
		require.Equal(t, paid.Amount, kept[1].Amount)
		left, err = cs.Of(ctx, other.Owner, 5)
		require.NoError(t, err)
		require.Equal(t, []billing.Charge{other}, left)
	})
}
