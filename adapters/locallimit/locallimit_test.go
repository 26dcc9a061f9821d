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

// A limiter counts the calls for each key, such as the address of a client or the id of an application. The suite in
// TestLimiter checks what it counts. The other tests of this file check which keys it keeps in memory:
//   - Take counts calls for a rule, such as ten per minute. Each key has a log of the times of its calls.
//   - Spend counts calls for a quota, with a limit per minute and one per day. A key has such a log for the minute, and
//     a count for the day.

// TestLimiter runs the suite for limiters.
func TestLimiter(t *testing.T) {
	t.Parallel()
	conformance.Limiter(t, func(_ testing.TB, clk clock.Clock) limit.Limiter { return New(clk) })
}

// countKeys returns the number of keys that have a log in memory.
func (l *Limiter) countKeys() (keys int) {
	for i := range l.shards {
		keys += len(l.shards[i].logs)
	}

	return keys
}

// countDays returns the number of daily counts in memory.
func (l *Limiter) countDays() (days int) {
	for i := range l.shards {
		days += len(l.shards[i].days)
	}

	return days
}

// tenPerMinute is the rule of these tests. They do not reach its limit: they check only which keys are in memory.
var tenPerMinute = limit.Rule{Name: "r", Max: 10, Per: time.Minute}

// take counts one call for the key. The result does not matter to the tests.
func take(l *Limiter, key string) { _, _ = l.Take(context.Background(), tenPerMinute, key) }

// spend counts one call of the application for its quota. The result does not matter to the tests.
func spend(l *Limiter, quota limit.Quota, app string) {
	_, _ = l.Spend(context.Background(), quota, app)
}

// TestLimiter_ExpiredKeys_AreRemoved checks that calls remove keys whose logs have expired. The test
// uses new keys in each of five hours, with a limit per minute, so that a key has expired in the next
// hour. Expired keys are not removed at once: after a call for each key of an hour, those of up to three
// hours may remain.
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

// manyKeys is a number of keys above maxKeys, the number that a limiter keeps.
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

// TestQuota_ManyKeys_BoundMemoryAndKeepDays checks the daily counts of quotas. Keys without a daily limit
// must not evict them, since an application would then have its whole quota again. Their number is bounded
// as well, and they expire. The subtests use one limiter, one after the other.
func TestQuota_ManyKeys_BoundMemoryAndKeepDays(t *testing.T) {
	t.Parallel()

	clk := kit.NewClock()
	limiter := New(clk)
	withDailyLimit := limit.Quota{PerMinute: 10, PerDay: 10}
	withoutDailyLimit := limit.Quota{PerMinute: 10}

	t.Run("keys without a daily limit evict each other and no daily count", func(t *testing.T) {
		spend(limiter, withDailyLimit, "app")

		for i := range manyKeys {
			spend(limiter, withoutDailyLimit, strconv.Itoa(i))
		}

		require.LessOrEqual(t, limiter.countKeys(), maxKeys)

		status, err := limiter.Status(context.Background(), withDailyLimit, "app")
		require.NoError(t, err)
		require.Equal(t, withDailyLimit.PerDay-1, status.Day.Remaining, "the call at the beginning still counts")
	})

	t.Run("number of daily counts is bounded", func(t *testing.T) {
		for i := range manyKeys {
			spend(limiter, withDailyLimit, strconv.Itoa(i))
		}

		require.LessOrEqual(t, limiter.countDays(), maxKeys)
	})

	// A sweep removes expired counts of a shard, a part of the keys. It takes place once in about as many calls as the shard
	// has keys, so that twice as many calls as keys include a sweep of each shard.
	t.Run("daily counts are removed after the day", func(t *testing.T) {
		clk.Advance(24 * time.Hour)

		for i := range 2 * maxKeys {
			_, _ = limiter.Status(context.Background(), withDailyLimit, strconv.Itoa(i))
		}

		require.Zero(t, limiter.countDays())
	})
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
