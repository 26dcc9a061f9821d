// Package conformance has a test suite for each port, which is an interface that adapters implement (of a
// database, a queue or a mail server, for example). The tests of each adapter run the suites of its ports;
// those of other teams' adapters can do the same. The package depends on no adapter.
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

// requirePorts requires that no required port of the storage is nil. The failure names those that are.
func requirePorts(t testing.TB, storage any) {
	t.Helper()
	require.Empty(t, adapters.Missing(storage), "missing ports")
}

// requirePort requires that the port with the name is not nil, and returns it.
func requirePort[P any](t testing.TB, name string, port P) P {
	t.Helper()
	require.NotNil(t, port, "missing port: %s", name)
	return port
}

// withPort wraps the opener of a storage S for the tests of an optional port. port returns the port of a
// storage, and the opener skips the test if that is nil.
func withPort[S any](
	open func(testing.TB, clock.Clock) S, name string, port func(S) any,
) func(testing.TB, clock.Clock) S {
	return func(t testing.TB, clk clock.Clock) S {
		t.Helper()

		storage := open(t, clk)
		if port(storage) == nil {
			t.Skipf("the storage does not provide %s", name)
		}

		return storage
	}
}

// retentionOf returns the store. If it is nil, it skips the rest of the test, because the port is optional.
func retentionOf(t testing.TB, store retention.Store) retention.Store {
	t.Helper()

	if store == nil {
		t.Skip("the storage has no retention")
	}

	return store
}

// countConcurrent calls do n times concurrently, with the numbers from 0 to n-1, and returns how many
// calls returned true. No call may return an error.
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

// runConcurrently calls do n times concurrently, with the numbers from 0 to n-1. No call may return an error.
func runConcurrently(t testing.TB, n int, do func(i int) error) {
	t.Helper()
	countConcurrent(t, n, func(i int) (bool, error) { return true, do(i) })
}

// requireEachOnce requires that concurrent callers claimed n items in total, and none of them twice. The
// keys identify the claimed items.
func requireEachOnce[K comparable](t testing.TB, n int, keys []K) {
	t.Helper()

	seen := map[K]bool{}
	for _, key := range keys {
		require.False(t, seen[key], "%v was claimed twice", key)

		seen[key] = true
	}

	require.Len(t, seen, n)
}
