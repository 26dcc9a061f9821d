// Package conformance is what it takes to fill a port: one suite for each,
// which every adapter of the house passes and which is meant to be called from
// the tests of yours.
package conformance

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
)

// Storage is the suite of the storage socket. open gives an empty store with
// the newest schema that tells the time by the clock.
func Storage(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	t.Run("schema", func(t *testing.T) { Schema(t, open) })
	t.Run("events", func(t *testing.T) { Events(t, open) })
	t.Run("tasks", func(t *testing.T) { Tasks(t, open) })
	t.Run("idempotency", func(t *testing.T) { Idempotency(t, open) })
	t.Run("audit", func(t *testing.T) {
		Audit(t, func(t testing.TB, clk clock.Clock) adapters.IdentityStorage { return open(t, clk).Identity })
	})
	t.Run("identity", func(t *testing.T) {
		Identity(t, func(t testing.TB, clk clock.Clock) adapters.IdentityStorage { return open(t, clk).Identity })
	})
	t.Run("hiring", func(t *testing.T) {
		Hiring(t, func(t testing.TB, clk clock.Clock) adapters.HiringStorage { return open(t, clk).Hiring })
	})
	t.Run("jobseeker", func(t *testing.T) {
		Jobseeker(t, func(t testing.TB, clk clock.Clock) adapters.JobseekerStorage { return open(t, clk).Jobseeker })
	})
	t.Run("billing", func(t *testing.T) {
		Billing(t, func(t testing.TB, clk clock.Clock) adapters.BillingStorage { return open(t, clk).Billing })
	})
	t.Run("integrations", func(t *testing.T) {
		Integrations(t, func(t testing.TB, clk clock.Clock) adapters.IntegrationsStorage { return open(t, clk).Integrations })
	})
	t.Run("listings", func(t *testing.T) { Listings(t, open) })
}

// requirePorts fails the test with the names of the required ports that are nil.
func requirePorts(t testing.TB, storage any) {
	t.Helper()
	require.Empty(t, adapters.Missing(storage), "missing ports")
}

// atOnce does something n times at once, none of which fails, and counts those that
// are told yes.
func atOnce(t testing.TB, n int, do func(i int) (bool, error)) (yes int) {
	t.Helper()
	var all sync.WaitGroup
	oks, errs := make([]bool, n), make([]error, n)
	for i := range n {
		all.Go(func() { oks[i], errs[i] = do(i) })
	}
	all.Wait()
	for i, ok := range oks {
		require.NoError(t, errs[i])
		if ok {
			yes++
		}
	}
	return yes
}

// together does something n times at once, and none of them fails.
func together(t testing.TB, n int, do func(i int) error) {
	t.Helper()
	atOnce(t, n, func(i int) (bool, error) { return true, do(i) })
}
