package conformance

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/billing"
)

// PaymentProvider is a provider in its test mode. The functions for payment methods
// return ids that can be attached to any owner, in a provider that allows it the same
// one at each call.
type PaymentProvider struct {
	// Connect returns another connection to the provider at each call.
	Connect func() billing.Payments
	// Clock is the clock of the adapter.
	Clock clock.Clock
	// Good works.
	Good func() string
	// Refused is declined when it is attached.
	Refused func() string
	// Expiring attaches, works for a payer who is present, and is declined at a renewal.
	Expiring func() string
	// Unknown is not the id of a payment method.
	Unknown func() string
	// Confirmable attaches, and the payer has to confirm its payments. It is nil for
	// providers without confirmations.
	Confirmable func() string
	// Confirm confirms the payment that waits, as the payer does at the provider.
	Confirm func(b billing.Bill)
}

// Payments checks the port billing.Payments, and billing.MethodCollector of providers
// that implement it. open returns a provider of its own at each call.
func Payments(t *testing.T, open func(t testing.TB) PaymentProvider, outage ...Outage[billing.Payments]) {
	ctx, id := context.Background(), newID
	start := func(t *testing.T) (PaymentProvider, billing.Payments) {
		t.Helper()
		t.Parallel()
		p := open(t)
		return p, requirePort(t, "billing.Payments", p.Connect())
	}
	owner := func() billing.Owner { return billing.Owner{Kind: billing.User, ID: id()} }
	attached := func(t *testing.T, p PaymentProvider, method func() string) billing.Bill {
		t.Helper()
		o, methodID := owner(), method()
		m, err := p.Connect().Attach(ctx, o, methodID)
		require.NoError(t, err)
		require.Equal(t, methodID, m.ID)
		return billing.Bill{Key: id(), Owner: o, MethodID: m.ID, Amount: billing.Money{Minor: 999, Currency: "GBP"}, Description: "Premium", CreatedAt: p.Clock.Now()}
	}
	requireAction := func(t *testing.T, err error) billing.Action {
		t.Helper()
		var action *billing.ActionRequiredError
		require.ErrorAs(t, err, &action)
		require.Equal(t, billing.ConfirmPayment, action.Type)
		return action.Action
	}

	t.Run("attach twice", func(t *testing.T) {
		provider, p := start(t)
		o, methodID := owner(), provider.Good()
		first, err := p.Attach(ctx, o, methodID)
		require.NoError(t, err)
		require.NotEmpty(t, first.Brand)
		require.Len(t, first.Last4, 4)
		require.True(t, first.ExpiryMonth >= 1 && first.ExpiryMonth <= 12 && first.ExpiryYear > 2000)
		again, err := provider.Connect().Attach(ctx, o, methodID)
		require.NoError(t, err)
		require.Equal(t, first, again)
	})

	t.Run("declined and unknown methods", func(t *testing.T) {
		provider, p := start(t)
		_, err := p.Attach(ctx, owner(), provider.Refused())
		require.ErrorIs(t, err, billing.ErrDeclined)
		_, err = p.Attach(ctx, owner(), provider.Unknown())
		require.Equal(t, fault.Invalid, fault.KindOf(err))
		require.Equal(t, billing.ErrUnknownMethod.Fields, fault.Of(err).Fields)
	})

	t.Run("concurrent charges with one key", func(t *testing.T) {
		provider, p := start(t)
		bill := attached(t, provider, provider.Good)
		receipts := map[string]bool{}
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				receipt, err := provider.Connect().Charge(ctx, bill)
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
		receipt, err := p.Charge(ctx, other)
		require.NoError(t, err)
		require.NotContains(t, receipts, receipt)
	})

	t.Run("declined renewal", func(t *testing.T) {
		provider, p := start(t)
		bill := attached(t, provider, provider.Expiring)
		_, err := p.Charge(ctx, bill)
		require.NoError(t, err)
		bill.Key, bill.Unattended = id(), true
		for range 2 {
			_, err = provider.Connect().Charge(ctx, bill)
			require.ErrorIs(t, err, billing.ErrDeclined)
		}
	})

	t.Run("interrupted calls", func(t *testing.T) {
		provider, p := start(t)
		bill := attached(t, provider, provider.Good)
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		_, err := p.Charge(cancelled, bill)
		require.Error(t, err)
		require.NotErrorIs(t, err, billing.ErrDeclined)
		_, err = p.Charge(ctx, bill)
		require.NoError(t, err)
		_, err = p.Attach(cancelled, owner(), provider.Good())
		require.Error(t, err)
		require.Error(t, p.Forget(cancelled, bill.Owner))
	})

	withOutage(t, "billing.Payments", outage, func(t *testing.T, p billing.Payments, begin, end func()) {
		provider := open(t)
		o := owner()
		method, err := p.Attach(ctx, o, provider.Good())
		require.NoError(t, err)
		bill := billing.Bill{Key: id(), Owner: o, MethodID: method.ID, Amount: billing.Money{Minor: 999, Currency: "GBP"}, Description: "Premium", CreatedAt: provider.Clock.Now()}
		begin()
		charge := func() error { _, err := p.Charge(ctx, bill); return err }
		require.NotErrorIs(t, failsInTime(t, charge), billing.ErrDeclined, "the charge has to be repeated")
		failsInTime(t, func() error { return p.Forget(ctx, owner()) })
		attach := func() error { _, err := p.Attach(ctx, owner(), provider.Good()); return err }
		err = failsInTime(t, attach)
		require.NotErrorIs(t, err, billing.ErrDeclined)
		require.NotErrorIs(t, err, billing.ErrUnknownMethod)
		end()
		recovers(t, charge)
		require.NoError(t, attach())
	})

	t.Run("forget an owner", func(t *testing.T) {
		provider, p := start(t)
		bill := attached(t, provider, provider.Good)
		receipt, err := p.Charge(ctx, bill)
		require.NoError(t, err)
		for range 2 {
			require.NoError(t, p.Forget(ctx, bill.Owner))
		}
		again, err := p.Charge(ctx, bill)
		require.NoError(t, err, "a charge with a result keeps it")
		require.Equal(t, receipt, again)
	})

	t.Run("set up a method", func(t *testing.T) {
		_, p := start(t)
		collector, ok := p.(billing.MethodCollector)
		if !ok {
			t.Skip("the provider does not collect payment methods")
		}
		action, err := collector.SetUp(ctx, owner())
		require.NoError(t, err)
		require.Equal(t, billing.CollectMethod, action.Type)
		require.NotEmpty(t, action.ClientSecret+action.RedirectURL)
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		_, err = collector.SetUp(cancelled, owner())
		require.Error(t, err)
	})

	confirmable := func(t *testing.T, test func(t *testing.T, provider PaymentProvider, bill billing.Bill)) {
		t.Helper()
		provider, _ := start(t)
		if provider.Confirmable == nil {
			t.Skip("the provider asks for no confirmations")
		}
		test(t, provider, attached(t, provider, provider.Confirmable))
	}

	t.Run("confirmed payment", func(t *testing.T) {
		confirmable(t, func(t *testing.T, provider PaymentProvider, bill billing.Bill) {
			_, err := provider.Connect().Charge(ctx, bill)
			first := requireAction(t, err)
			_, err = provider.Connect().Charge(ctx, bill)
			require.Equal(t, first, requireAction(t, err), "a repeated call returns the same action")
			provider.Confirm(bill)
			receipt, err := provider.Connect().Charge(ctx, bill)
			require.NoError(t, err)
			require.NotEmpty(t, receipt)
			bill.Abandon = true
			again, err := provider.Connect().Charge(ctx, bill)
			require.NoError(t, err, "a paid charge is not abandoned")
			require.Equal(t, receipt, again)
		})
	})

	t.Run("confirmed renewal", func(t *testing.T) {
		confirmable(t, func(t *testing.T, provider PaymentProvider, bill billing.Bill) {
			bill.Unattended = true
			for range 2 {
				_, err := provider.Connect().Charge(ctx, bill)
				requireAction(t, err)
			}
			bill.Unattended = false
			_, err := provider.Connect().Charge(ctx, bill)
			requireAction(t, err)
			provider.Confirm(bill)
			bill.Unattended = true
			_, err = provider.Connect().Charge(ctx, bill)
			require.NoError(t, err)
		})
	})

	t.Run("abandoned payment", func(t *testing.T) {
		confirmable(t, func(t *testing.T, provider PaymentProvider, bill billing.Bill) {
			_, err := provider.Connect().Charge(ctx, bill)
			requireAction(t, err)
			bill.Abandon = true
			for range 2 {
				_, err = provider.Connect().Charge(ctx, bill)
				require.ErrorIs(t, err, billing.ErrDeclined)
			}
		})
	})

	t.Run("abandoned after the owner is forgotten", func(t *testing.T) {
		confirmable(t, func(t *testing.T, provider PaymentProvider, bill billing.Bill) {
			_, err := provider.Connect().Charge(ctx, bill)
			requireAction(t, err)
			require.NoError(t, provider.Connect().Forget(ctx, bill.Owner))
			bill.Owner, bill.Abandon = billing.Owner{Kind: billing.DeletedOwner, ID: id()}, true
			_, err = provider.Connect().Charge(ctx, bill)
			require.ErrorIs(t, err, billing.ErrDeclined)
		})
	})
}

// Always returns a function for a PaymentProvider that returns the id.
func Always(id string) func() string { return func() string { return id } }
