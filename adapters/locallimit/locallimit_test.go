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

// TestLimiter_ExpiredKeys_AreRemoved checks that calls remove keys whose counts have expired. The
// test uses new keys in each of five hours, with a limit per minute. Expired keys are not removed
// at once: those of up to three hours may remain.
func TestLimiter_ExpiredKeys_AreRemoved(t *testing.T) {
	t.Parallel()

	clk := kit.NewClock()
	limiter := New(clk)

	rule := limit.Rule{Name: "r", Max: 10, Per: time.Minute}
	const hours, maxRemainingHours, keysPerHour = 5, 3, 100_000

	for hour := range hours {
		for i := range keysPerHour {
			_, _ = limiter.Take(context.Background(), rule, strconv.Itoa(hour)+"/"+strconv.Itoa(i))
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

	rule := limit.Rule{Name: "r", Max: 10, Per: time.Minute}
	for i := range manyKeys {
		_, _ = limiter.Take(context.Background(), rule, strconv.Itoa(i))
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
	daily := limit.Quota{PerMinute: 10, PerDay: 10}

	// Keys without a daily limit evict each other, but not the day of the application.
	_, _ = limiter.Spend(context.Background(), daily, "app")
	for i := range manyKeys {
		_, _ = limiter.Spend(context.Background(), limit.Quota{PerMinute: 10}, strconv.Itoa(i))
	}

	require.LessOrEqual(t, limiter.countKeys(), maxKeys)

	status, _ := limiter.Status(context.Background(), daily, "app")
	require.Equal(t, daily.PerDay-1, status.Day.Remaining, "the call at the beginning still counts")

	// The number of daily counts is bounded.
	for i := range manyKeys {
		_, _ = limiter.Spend(context.Background(), daily, strconv.Itoa(i))
	}

	countDays := func() (n int) {
		for i := range limiter.shards {
			n += len(limiter.shards[i].days)
		}

		return n
	}

	require.LessOrEqual(t, countDays(), maxKeys)

	// After the day, calls remove the expired counts.
	clk.Advance(24 * time.Hour)

	for i := range 2 * maxKeys {
		_, _ = limiter.Status(context.Background(), daily, strconv.Itoa(i))
	}

	require.Zero(t, countDays())
}

// BenchmarkSpend measures Spend with the keys of 100 applications.
func BenchmarkSpend(b *testing.B) {
	limiter := New(clock.System{})

	b.ReportAllocs()

	for i := 0; b.Loop(); i++ {
		_, _ = limiter.Spend(context.Background(), limit.Quota{PerMinute: 1000, PerDay: 50_000}, strconv.Itoa(i%100))
	}
}

// BenchmarkTake measures Take with the keys of 100,000 clients.
func BenchmarkTake(b *testing.B) {
	limiter := New(clock.System{})
	rule := limit.Rule{Name: "r", Max: 10, Per: time.Minute}

	b.ReportAllocs()

	for i := 0; b.Loop(); i++ {
		_, _ = limiter.Take(context.Background(), rule, strconv.Itoa(i%100_000))
	}
}
