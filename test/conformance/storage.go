// Package conformance has a test suite for each port. The tests of our adapters run it, and
// those of other teams' adapters can do the same. It depends on none of our adapters.
package conformance

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/retention"
)

// DatabaseOpener returns an empty database with the current schema, whose time is that
// of the clock.
type DatabaseOpener = func(t testing.TB, clk clock.Clock) adapters.Database

// Storage checks a storage of all modules. open returns an empty one with the current
// schema, whose time is that of the clock.
func Storage(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	Database(t, func(t testing.TB, clk clock.Clock) adapters.Database { return open(t, clk).Identity.Database })
	t.Run("idempotency", func(t *testing.T) {
		Idempotency(t, func(t testing.TB, clk clock.Clock) adapters.IdentityStorage { return open(t, clk).Identity })
	})
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
		Integrations(t, func(t testing.TB,
			clk clock.Clock) adapters.IntegrationsStorage {
			return open(t, clk).Integrations
		})
	})

	t.Run("listings", func(t *testing.T) {
		Listings(t, func(t testing.TB, clk clock.Clock) adapters.ListingsStorage { return open(t, clk).Listings })
	})
}

// Database checks the parts of a storage that all modules have in addition to their
// repositories: transactions, events, tasks and retention.
func Database(t *testing.T, open DatabaseOpener) {
	t.Run("schema", func(t *testing.T) { Schema(t, open) })
	t.Run("events", func(t *testing.T) { Events(t, open) })
	t.Run("tasks", func(t *testing.T) { Tasks(t, open) })
}

// requirePorts fails the test with the names of the required ports that are nil.
func requirePorts(t testing.TB, storage any) {
	t.Helper()
	require.Empty(t, adapters.Missing(storage), "missing ports")
}

// requirePort fails the test with the name of the port if it is nil.
func requirePort[P any](t testing.TB, name string, port P) P {
	t.Helper()
	require.NotNil(t, port, "missing port: %s", name)
	return port
}

// withPort returns open for tests of an optional port, which are skipped if it is nil.
func withPort[S any](
	open func(testing.TB, clock.Clock) S, name string, port func(S) any,
) func(testing.TB, clock.Clock) S {
	return func(t testing.TB, clk clock.Clock) S {
		t.Helper()

		s := open(t, clk)
		if port(s) == nil {
			t.Skipf("the storage does not provide %s", name)
		}

		return s
	}
}

// retentionOf returns the store, and skips the test of a storage without retention.
func retentionOf(t testing.TB, s retention.Store) retention.Store {
	t.Helper()

	if s == nil {
		t.Skip("the storage has no retention")
	}

	return s
}

// countConcurrent calls do n times concurrently, with the numbers from 0 on, and returns how many
// calls returned true. No call may fail.
func countConcurrent(t testing.TB, n int, do func(i int) (bool, error)) (count int) {
	t.Helper()
	var calls sync.WaitGroup
	results := make([]bool, n)

	errs := make([]error, n)
	for i := range n {
		calls.Go(func() { results[i], errs[i] = do(i) })
	}

	calls.Wait()

	for i, result := range results {
		require.NoError(t, errs[i])

		if result {
			count++
		}
	}

	return count
}

// runConcurrently calls do n times concurrently, with the numbers from 0 on. No call may fail.
func runConcurrently(t testing.TB, n int, do func(i int) error) {
	t.Helper()
	countConcurrent(t, n, func(i int) (bool, error) { return true, do(i) })
}
