package conformance

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/task"
)

// recordingT records the failures of a test instead of reporting them.
type recordingT struct {
	testing.TB
	failure string
}

// The methods of testing.TB that the suite calls.
func (r *recordingT) Helper()                      {}
func (r *recordingT) Errorf(f string, args ...any) { r.failure += fmt.Sprintf(f, args...) }
func (r *recordingT) FailNow()                     { runtime.Goexit() }

// TestRequirePorts_MissingPort_IsNamed checks that the suite names a port that an adapter does
// not provide, instead of a nil pointer dereference in the middle of a test.
func TestRequirePorts_MissingPort_IsNamed(t *testing.T) {
	t.Parallel()

	for missing, checkPorts := range map[string]func(t testing.TB){
		"Subscriptions": func(t testing.TB) { requirePorts(t, adapters.BillingStorage{}) },
		"Outbox":        func(t testing.TB) { requirePorts(t, adapters.Database{}) },
		"task.Queue":    func(t testing.TB) { requirePort[task.Queue](t, "task.Queue", nil) },
	} {
		requireFailure(t, missing, checkPorts)
	}
}

// requireFailure runs the check in a goroutine of its own, which FailNow ends, and requires that
// the check fails with a message that contains the text.
func requireFailure(t *testing.T, text string, check func(t testing.TB)) {
	t.Helper()

	r := &recordingT{TB: t}

	ended := make(chan struct{})
	go func() {
		defer close(ended)

		check(r)
	}()

	<-ended
	require.Contains(t, r.failure, text)
}
