package locallimit

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/test/conformance"
	"github.com/locumhq/locum/test/kit"
)

// A limiter counts the calls for each key, such as the address of a client. To count per minute or per day, it keeps the
// keys in memory. The tests of this file check which keys it keeps.

// TestLimiter runs the suite for limiters.
func TestLimiter(t *testing.T) {
	t.Parallel()
	conformance.Limiter(t, func(_ testing.TB, clk clock.Clock) limit.Limiter { return New(clk) })
}

// countKeys returns the number of keys in memory.
func (l *Limiter) countKeys() (n int) {
	for i := range l.shards {
		n += len(l.shards[i].logs)
	}

	return n
}

// tenPerMinute is the rule of these tests. They do not reach its limit: they check only which keys are in memory.
var tenPerMinute = limit.Rule{Name: "r", Max: 10, Per: time.Minute}

// take counts one call for the key. The result does not matter to the tests.
func take(l *Limiter, key string) { _, _ = l.Take(context.Background(), tenPerMinute, key) }

// spend counts one call of the application for its quota. The result does not matter to the tests.
func spend(l *Limiter, quota limit.Quota, app string) {
	_, _ = l.Spend(context.Background(), quota, app)
}

// TestLimiter_ExpiredKeys_AreRemoved checks that calls remove keys whose counts have expired. The
// test uses new keys in each of five hours, with a limit per minute. Expired keys are not removed
// at once: those of up to three hours may remain.
func TestLimiter_ExpiredKeys_AreRemoved(t *testing.T) {
	t.Parallel()

	clk := kit.NewClock()
	limiter := New(clk)

	const hours, maxRemainingHours, keysPerHour = 5, 3, 100_000

	for hour := range hours {
		for i := range keysPerHour {
			take(limiter, strconv.Itoa(hour)+"/"+strconv.Itoa(i))
		}

		clk.Advance(time.Hour)
	}

	require.LessOrEqual(t, limiter.countKeys(), maxRemainingHours*keysPerHour)
}

// manyKeys is more than the number of keys that a limiter keeps, maxKeys.
const manyKeys = maxKeys + 100_000

// TestLimiter_ManyKeys_BoundMemory checks that the limiter keeps at most maxKeys keys, so that an
// attacker with many addresses, each of which is a key, cannot use up memory.
func TestLimiter_ManyKeys_BoundMemory(t *testing.T) {
	t.Parallel()

	limiter := New(kit.NewClock())

	for i := range manyKeys {
		take(limiter, strconv.Itoa(i))
	}

	require.LessOrEqual(t, limiter.countKeys(), maxKeys)
}

// TestQuota_ManyKeys_BoundMemoryAndKeepDays checks that many keys do not remove the daily count
// of an application; otherwise the application would have its whole quota again. The number of
// daily counts is bounded as well, and they expire.
func TestQuota_ManyKeys_BoundMemoryAndKeepDays(t *testing.T) {
	t.Parallel()

	clk := kit.NewClock()
	limiter := New(clk)
	withDailyLimit := limit.Quota{PerMinute: 10, PerDay: 10}
	withoutDailyLimit := limit.Quota{PerMinute: 10}

	// Keys without a daily limit evict each other, but not the day of the application.
	spend(limiter, withDailyLimit, "app")

	for i := range manyKeys {
		spend(limiter, withoutDailyLimit, strconv.Itoa(i))
	}

	require.LessOrEqual(t, limiter.countKeys(), maxKeys)

	status, err := limiter.Status(context.Background(), withDailyLimit, "app")
	require.NoError(t, err)
	require.Equal(t, withDailyLimit.PerDay-1, status.Day.Remaining, "the call at the beginning still counts")

	// The number of daily counts is bounded.
	for i := range manyKeys {
		spend(limiter, withDailyLimit, strconv.Itoa(i))
	}

	countDays := func() (n int) {
		for i := range limiter.shards {
			n += len(limiter.shards[i].days)
		}

		return n
	}

	require.LessOrEqual(t, countDays(), maxKeys)

	// After the day, the expired counts are removed by a sweep. One of about as many calls as there are keys sweeps.
	clk.Advance(24 * time.Hour)

	for i := range 2 * maxKeys {
		_, _ = limiter.Status(context.Background(), withDailyLimit, strconv.Itoa(i))
	}

	require.Zero(t, countDays())
}

// BenchmarkSpend measures Spend with the keys of 100 applications.
func BenchmarkSpend(b *testing.B) {
	const apps = 100

	limiter := New(clock.System{})
	quota := limit.Quota{PerMinute: 1000, PerDay: 50_000}

	b.ReportAllocs()

	for i := 0; b.Loop(); i++ {
		spend(limiter, quota, strconv.Itoa(i%apps))
	}
}

// BenchmarkTake measures Take with the keys of 100,000 clients.
func BenchmarkTake(b *testing.B) {
	const clients = 100_000

	limiter := New(clock.System{})

	b.ReportAllocs()

	for i := 0; b.Loop(); i++ {
		take(limiter, strconv.Itoa(i%clients))
	}
}
