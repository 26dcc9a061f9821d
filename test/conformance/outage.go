package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Outage opens an adapter for tests of an unavailable backend. begin makes the backend
// unavailable. end makes it available again, with all data that it had stored durably.
type Outage[Port any] func(t testing.TB) (port Port, begin, end func())

const (
	// maxOutageLatency is how long a call may take while the backend is unavailable.
	maxOutageLatency = time.Minute
	// recovery is how long an adapter may take to use the backend again after an outage.
	recovery = time.Minute
)

// withOutage runs the test for each outage. Callers of a suite pass one outage, or none if they cannot make the backend
// unavailable. The name is that of the port.
func withOutage[Port any](
	t *testing.T, name string, outages []Outage[Port], test func(t *testing.T, p Port, begin, end func()),
) {
	t.Helper()

	for _, outage := range outages {
		t.Run("unavailable backend", func(t *testing.T) {
			t.Parallel()

			port, begin, end := outage(t)
			test(t, requirePort(t, name, port), begin, end)
		})
	}
}

// waitForRecovery waits until a call succeeds after an outage.
func waitForRecovery(t *testing.T, call func() error) {
	t.Helper()
	var err error
	require.Eventually(t, func() bool { err = call(); return err == nil }, recovery, 50*time.Millisecond,
		"the adapter does not use the backend again: %v", &err)
}

// requireTimelyError makes a call, which must fail within maxOutageLatency, and returns its error.
func requireTimelyError(t *testing.T, call func() error) error {
	t.Helper()

	start := time.Now()
	err := call()
	require.Error(t, err)
	require.Less(t, time.Since(start), maxOutageLatency)

	return err
}
