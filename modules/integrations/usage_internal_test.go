package integrations

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestUsageCounter_Full_KeepsKnownKeys checks that a counter with the maximum number of keys ignores new
// keys, and still updates the keys that it has.
func TestUsageCounter_Full_KeepsKnownKeys(t *testing.T) {
	t.Parallel()

	first := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	later := first.Add(time.Minute)

	counter := newUsageCounter()
	for i := range maxCounters {
		counter.noteKeyUse("key "+strconv.Itoa(i), first)
	}

	counter.noteKeyUse("new key", later)
	require.NotContains(t, counter.keyLastUsed, "new key")

	counter.noteKeyUse("key 7", later)
	require.Equal(t, later, counter.keyLastUsed["key 7"])

	// The use of a key that is noted late does not replace a later one.
	counter.noteKeyUse("key 7", first)
	require.Equal(t, later, counter.keyLastUsed["key 7"])
	require.Len(t, counter.keyLastUsed, maxCounters)
}
