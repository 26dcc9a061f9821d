package conformance

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/test/kit/stores"
)

// PaymentMethods are ids at a provider in its test mode.
type PaymentMethods struct {
	Good     string // works
	Refused  string // is declined when it is attached
	Expiring string // attaches, works for who is there, and is declined at a renewal
	Unknown  string // is the id of nothing
}

// Payments checks the port billing.Payments. open connects to the provider anew,
// as another process would; the methods are its own.
func Payments(t *testing.T, methods PaymentMethods, open func(t testing.TB) billing.Payments) {
	ctx, id := context.Background(), stores.NewID
	owner := func() billing.Owner { return billing.Owner{Kind: billing.User, ID: id()} }
	attached := func(t *testing.T, p billing.Payments, method string) billing.Bill {
		t.Helper()
		o := owner()
		m, err := p.Attach(ctx, o, method)
		require.NoError(t, err)
		require.Equal(t, method, m.ID)
		return billing.Bill{Key: id(), Owner: o, MethodID: m.ID, Amount: billing.Money{Minor: 999, Currency: "GBP"}, Description: "Premium"}
	}

	t.Run("attaches a method, and again", func(t *testing.T) {
		t.Parallel()
		p, o := open(t), owner()
		first, err := p.Attach(ctx, o, methods.Good)
		require.NoError(t, err)
		require.NotEmpty(t, first.Brand)
		require.Len(t, first.Last4, 4)
		require.True(t, first.ExpiryMonth >= 1 && first.ExpiryMonth <= 12 && first.ExpiryYear > 2000)
		again, err := open(t).Attach(ctx, o, methods.Good)
		require.NoError(t, err)
		require.Equal(t, first, again)
	})

	t.Run("refuses methods that are refused or unknown", func(t *testing.T) {
		t.Parallel()
		p := open(t)
		_, err := p.Attach(ctx, owner(), methods.Refused)
		require.ErrorIs(t, err, billing.ErrDeclined)
		_, err = p.Attach(ctx, owner(), methods.Unknown)
		require.Equal(t, fault.Invalid, fault.KindOf(err))
		require.Equal(t, billing.ErrUnknownMethod.Fields, fault.Of(err).Fields)
	})

	t.Run("takes a charge once for each key, whoever asks and however often", func(t *testing.T) {
		t.Parallel()
		bill := attached(t, open(t), methods.Good)
		receipts := map[string]bool{}
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				receipt, err := open(t).Charge(ctx, bill)
				if err != nil || receipt == "" {
					t.Error(receipt, err)
				}
				mu.Lock()
				defer mu.Unlock()
				receipts[receipt] = true
			})
		}
		all.Wait()
		require.Len(t, receipts, 1)
		other := bill
		other.Key = id()
		receipt, err := open(t).Charge(ctx, other)
		require.NoError(t, err)
		require.NotContains(t, receipts, receipt)
	})

	t.Run("declines a renewal for good", func(t *testing.T) {
		t.Parallel()
		p := open(t)
		bill := attached(t, p, methods.Expiring)
		_, err := p.Charge(ctx, bill)
		require.NoError(t, err)
		bill.Key, bill.Unattended = id(), true
		for range 2 {
			_, err = open(t).Charge(ctx, bill)
			require.ErrorIs(t, err, billing.ErrDeclined)
		}
	})

	t.Run("says that nobody knows when it was interrupted", func(t *testing.T) {
		t.Parallel()
		p := open(t)
		bill := attached(t, p, methods.Good)
		gone, cancel := context.WithCancel(ctx)
		cancel()
		_, err := p.Charge(gone, bill)
		require.Error(t, err)
		require.NotErrorIs(t, err, billing.ErrDeclined)
		_, err = p.Charge(ctx, bill)
		require.NoError(t, err)
		_, err = p.Attach(gone, owner(), methods.Good)
		require.Error(t, err)
		require.Error(t, p.Forget(gone, bill.Owner))
	})

	t.Run("forgets an owner, and one that it never knew", func(t *testing.T) {
		t.Parallel()
		p := open(t)
		bill := attached(t, p, methods.Good)
		receipt, err := p.Charge(ctx, bill)
		require.NoError(t, err)
		for range 2 {
			require.NoError(t, p.Forget(ctx, bill.Owner))
		}
		again, err := p.Charge(ctx, bill)
		require.NoError(t, err, "a charge that was answered keeps its answer")
		require.Equal(t, receipt, again)
	})
}
