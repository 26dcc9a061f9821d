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

// keys returns the number of keys in memory.
func (l *Limiter) keys() (n int) {
	for i := range l.shards {
		n += len(l.shards[i].logs)
	}

	return n
}

// TestLimiter_ExpiredKeys_AreRemoved checks that keys whose counts have expired are removed by
// later calls: of 500,000 keys in five hours, those of at most three remain.
func TestLimiter_ExpiredKeys_AreRemoved(t *testing.T) {
	t.Parallel()

	clk := kit.NewClock()
	limiter := New(clk)

	rule := limit.Rule{Name: "r", Max: 10, Per: time.Minute}
	for round := range 5 {
		for i := range 100_000 {
			_, _ = limiter.Take(context.Background(), rule, strconv.Itoa(round)+"/"+strconv.Itoa(i))
		}

		clk.Advance(time.Hour)
	}

	require.LessOrEqual(t, limiter.keys(), 300_000)
}

// TestLimiter_ManyKeys_BoundMemory checks that an attacker with many addresses cannot use up
// memory.
func TestLimiter_ManyKeys_BoundMemory(t *testing.T) {
	t.Parallel()

	limiter := New(kit.NewClock())

	rule := limit.Rule{Name: "r", Max: 10, Per: time.Minute}
	for i := range maxKeys + 100_000 {
		_, _ = limiter.Take(context.Background(), rule, strconv.Itoa(i))
	}

	require.LessOrEqual(t, limiter.keys(), maxKeys)
}

// TestQuota_ManyKeys_BoundMemoryAndKeepDays checks that many keys do not remove the daily count
// of an application, which would give it a new quota, and that daily counts are bounded and
// expire, too.
func TestQuota_ManyKeys_BoundMemoryAndKeepDays(t *testing.T) {
	t.Parallel()

	clk := kit.NewClock()
	limiter := New(clk)
	daily := limit.Quota{PerMinute: 10, PerDay: 10}

	// Keys without a daily limit evict each other, but not the day of the application.
	_, _ = limiter.Spend(context.Background(), daily, "app")
	for i := range maxKeys + 100_000 {
		_, _ = limiter.Spend(context.Background(), limit.Quota{PerMinute: 10}, strconv.Itoa(i))
	}

	require.LessOrEqual(t, limiter.keys(), maxKeys)

	status, _ := limiter.Status(context.Background(), daily, "app")
	require.Equal(t, daily.PerDay-1, status.Day.Remaining)

	// The number of days is bounded, and they are removed after their day.
	for i := range maxKeys + 100_000 {
		_, _ = limiter.Spend(context.Background(), daily, strconv.Itoa(i))
	}

	days := func() (n int) {
		for i := range limiter.shards {
			n += len(limiter.shards[i].days)
		}

		return n
	}

	require.LessOrEqual(t, days(), maxKeys)
	clk.Advance(24 * time.Hour)

	for i := range 2 * maxKeys {
		_, _ = limiter.Status(context.Background(), daily, strconv.Itoa(i))
	}

	require.Zero(t, days(), "expired entries are removed by later calls")
}

func BenchmarkSpend(b *testing.B) {
	l := New(clock.System{})

	b.ReportAllocs()

	for i := 0; b.Loop(); i++ {
		_, _ = l.Spend(context.Background(), limit.Quota{PerMinute: 1000, PerDay: 50_000}, strconv.Itoa(i%100))
	}
}

func BenchmarkTake(b *testing.B) {
	l := New(clock.System{})
	rule := limit.Rule{Name: "r", Max: 10, Per: time.Minute}

	b.ReportAllocs()

	for i := 0; b.Loop(); i++ {
		_, _ = l.Take(context.Background(), rule, strconv.Itoa(i%100_000))
	}
}
