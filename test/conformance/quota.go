package conformance

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/limit"
)

// quotaLimiter is a limiter with a key of its own. A quota limits the calls of a key in any minute, and on each day
// in UTC.
type quotaLimiter struct {
	limit.Limiter
	*fakeClock
	key string
	// spend calls Spend with the key, which records a call if the quota permits it. look calls Status with the key,
	// which records none. Both require no error, and return the status of the quota.
	spend func(limit.Quota) limit.QuotaStatus
	look  func(limit.Quota) limit.QuotaStatus
}

// quotas checks the quotas of a limiter.
func quotas(t *testing.T, open func(t testing.TB, clk clock.Clock) limit.Limiter) {
	suite := quotaSuite{open}
	t.Run("concurrent calls", suite.concurrentCalls)
	t.Run("remaining calls", suite.remainingCalls)
	t.Run("window across a minute", suite.windowAcrossAMinute)
	t.Run("midnight in UTC", suite.midnightInUTC)
	t.Run("refused calls are not recorded", suite.refusedCallsAreNotRecorded)
	t.Run("both windows are used up", suite.bothWindowsAreUsedUp)
	t.Run("least wait is a second", suite.leastWaitIsASecond)
	t.Run("changed quota", suite.changedQuota)
	t.Run("other keys and rules", suite.otherKeysAndRules)
}

// sixtyPerMinute is the quota of most tests. Its limit of the day is so high that none of them reaches it.
var sixtyPerMinute = limit.Quota{PerMinute: 60, PerDay: 10_000}

// untilMidnight is the time from the start of the clock, 10:30 in UTC, to the next day.
const untilMidnight = 13*time.Hour + 30*time.Minute

// quotaSuite has the subtests of quotas.
type quotaSuite struct {
	open func(t testing.TB, clk clock.Clock) limit.Limiter
}

// start returns an empty limiter with a random key.
func (suite quotaSuite) start(t *testing.T) quotaLimiter {
	t.Parallel()

	clk := newFakeClock() // 10:30 in UTC
	limiter := requirePort(t, "limit.Limiter", suite.open(t, clk))
	key := rand.Text()

	return quotaLimiter{
		Limiter:   limiter,
		fakeClock: clk,
		key:       key,
		spend: func(quota limit.Quota) limit.QuotaStatus {
			t.Helper()

			status, err := limiter.Spend(context.Background(), quota, key)
			require.NoError(t, err)

			return status
		},
		look: func(quota limit.Quota) limit.QuotaStatus {
			t.Helper()

			status, err := limiter.Status(context.Background(), quota, key)
			require.NoError(t, err)

			return status
		},
	}
}

// concurrentCalls checks that of many concurrent calls exactly as many are allowed as the quota of the minute, and then
// that of the day, permit.
func (suite quotaSuite) concurrentCalls(t *testing.T) {
	const (
		calls     = 200
		perMinute = 60 // of sixtyPerMinute
		perDay    = 90
	)

	// The quota of the minute is reached first.
	limiter := suite.start(t)
	SpendAtOnce(t, limiter, sixtyPerMinute, limiter.key, calls, perMinute)

	// With a quota that permits more calls in the minute than are made, the rest of the day is reached.
	largeMinute := limit.Quota{PerMinute: 1_000, PerDay: perDay}
	SpendAtOnce(t, limiter, largeMinute, limiter.key, calls, perDay-perMinute)
}

// remainingCalls checks the status of a new key, after a first call, and after a second one 20 seconds later. The
// window of the minute is reset when the first call is a minute old, and the window of the day at midnight in UTC.
func (suite quotaSuite) remainingCalls(t *testing.T) {
	limiter := suite.start(t)
	unused := limit.QuotaStatus{
		Allowed: true,
		Minute:  limit.Window{Limit: 60, Remaining: 60},
		Day:     limit.Window{Limit: 10_000, Remaining: 10_000},
	}
	require.Equal(t, unused, limiter.look(sixtyPerMinute))

	afterFirst := limit.QuotaStatus{
		Allowed: true,
		Minute:  limit.Window{Limit: 60, Remaining: 59, Reset: time.Minute},
		Day:     limit.Window{Limit: 10_000, Remaining: 9_999, Reset: untilMidnight},
	}
	require.Equal(t, afterFirst, limiter.spend(sixtyPerMinute))
	limiter.Advance(20 * time.Second)

	afterSecond := limit.QuotaStatus{
		Allowed: true,
		Minute:  limit.Window{Limit: 60, Remaining: 58, Reset: 40 * time.Second},
		Day:     limit.Window{Limit: 10_000, Remaining: 9_998, Reset: untilMidnight - 20*time.Second},
	}
	require.Equal(t, afterSecond, limiter.spend(sixtyPerMinute))

	for range 3 {
		require.Equal(t, afterSecond, limiter.look(sixtyPerMinute), "Status records no call")
	}
}

// windowAcrossAMinute checks that the minute is a sliding window: calls of the last 60 seconds count, although a new
// minute of the clock has begun since.
func (suite quotaSuite) windowAcrossAMinute(t *testing.T) {
	// The quota is used up a second before the next minute of the clock.
	limiter := suite.start(t)
	limiter.Advance(59 * time.Second)

	for call := range sixtyPerMinute.PerMinute {
		require.True(t, limiter.spend(sixtyPerMinute).Allowed, "call %d", call)
	}

	// Two seconds later, a limiter with fixed minutes would allow calls again.
	limiter.Advance(2 * time.Second)

	for call := range sixtyPerMinute.PerMinute {
		status := limiter.spend(sixtyPerMinute)
		require.False(t, status.Allowed, "call %d", call)
		require.Equal(t, []string{limit.MinuteWindow}, status.Violated)
		require.Equal(t, 58*time.Second, status.RetryAfter)
	}

	limiter.Advance(58 * time.Second)
	require.True(t, limiter.spend(sixtyPerMinute).Allowed, "RetryAfter is the time to wait")
}

// midnightInUTC checks that the quota of the day is renewed at midnight in UTC. A call that is refused because of the day
// does not count in the minute, and the other way round.
func (suite quotaSuite) midnightInUTC(t *testing.T) {
	limiter := suite.start(t)
	quota := limit.Quota{PerMinute: 8, PerDay: 5}

	// Half a minute before midnight, the day is used up after five calls.
	limiter.Advance(untilMidnight - 30*time.Second)

	for call := range quota.PerDay {
		require.True(t, limiter.spend(quota).Allowed, "call %d", call)
	}

	status := limiter.spend(quota)
	require.False(t, status.Allowed, "the day is used up")
	require.Equal(t, []string{limit.DayWindow}, status.Violated)
	require.Equal(t, 30*time.Second, status.RetryAfter)
	require.Equal(t, limit.Window{Limit: 5, Reset: 30 * time.Second}, status.Day)
	require.Equal(t, quota.PerMinute-quota.PerDay, status.Minute.Remaining,
		"a call that the day refuses does not count in the minute")

	// At midnight the day begins, but the minute has three calls left. They leave 4, 3 and 2 calls of the day.
	limiter.Advance(30 * time.Second)

	for remaining := 4; remaining >= 2; remaining-- {
		status = limiter.spend(quota)
		require.True(t, status.Allowed, "with %d remaining", remaining)
		require.Equal(t, remaining, status.Day.Remaining)
	}

	status = limiter.spend(quota)
	require.Equal(t, []string{limit.MinuteWindow}, status.Violated)
	require.Equal(t, 2, status.Day.Remaining, "a call that the minute refuses does not count in the day")

	// The first call of the next day.
	limiter.Advance(24 * time.Hour)
	require.Equal(t, quota.PerDay-1, limiter.spend(quota).Day.Remaining)
}

// refusedCallsAreNotRecorded checks that refused calls count in no window: a client that calls every second after its
// quota is used up has the quota again after a minute.
func (suite quotaSuite) refusedCallsAreNotRecorded(t *testing.T) {
	limiter := suite.start(t)
	for range sixtyPerMinute.PerMinute {
		limiter.spend(sixtyPerMinute)
	}

	for second := range 59 {
		limiter.Advance(time.Second)
		require.False(t, limiter.spend(sixtyPerMinute).Allowed, "after %d seconds", second+1)
	}

	limiter.Advance(time.Second)

	const allowedCalls = 60 + 1 // those of the first minute, and the next

	status := limiter.spend(sixtyPerMinute)
	require.True(t, status.Allowed, "after a minute")
	require.Equal(t, 59, status.Minute.Remaining)
	require.Equal(t, sixtyPerMinute.PerDay-allowedCalls, status.Day.Remaining)
}

// bothWindowsAreUsedUp checks that the status names both windows, and that RetryAfter is the longer
// wait, that of the day.
func (suite quotaSuite) bothWindowsAreUsedUp(t *testing.T) {
	limiter := suite.start(t)
	one := limit.Quota{PerMinute: 1, PerDay: 1}
	require.True(t, limiter.spend(one).Allowed, "the first call")

	status := limiter.spend(one)
	require.Equal(t, []string{limit.MinuteWindow, limit.DayWindow}, status.Violated)
	require.Equal(t, untilMidnight, status.RetryAfter)
}

// leastWaitIsASecond checks that RetryAfter is at least a second, because the header of that name has whole seconds. The
// reset of the window is exact.
func (suite quotaSuite) leastWaitIsASecond(t *testing.T) {
	limiter := suite.start(t)
	one := limit.Quota{PerMinute: 1}
	require.True(t, limiter.spend(one).Allowed, "the first call")

	const untilReset = time.Microsecond

	limiter.Advance(time.Minute - untilReset)

	status := limiter.spend(one)
	require.Equal(t, time.Second, status.RetryAfter)
	require.Equal(t, untilReset, status.Minute.Reset)
}

// changedQuota checks that recorded calls count in another quota, which the key may get later. 60 calls are recorded
// within six seconds.
func (suite quotaSuite) changedQuota(t *testing.T) {
	const recorded = 60

	limiter := suite.start(t)
	for range recorded {
		limiter.spend(sixtyPerMinute)
		limiter.Advance(100 * time.Millisecond)
	}

	require.False(t, limiter.spend(sixtyPerMinute).Allowed, "the quota is used up")

	// A larger quota permits calls again.
	larger := limiter.spend(limit.Quota{PerMinute: 300, PerDay: 50_000})
	require.True(t, larger.Allowed, "a larger quota")
	require.Equal(t, 300-recorded-1, larger.Minute.Remaining)
	require.Equal(t, 50_000-recorded-1, larger.Day.Remaining)

	// PerDay 0 is no limit of the day.
	withoutDay := limiter.spend(limit.Quota{PerMinute: 1_000})
	require.True(t, withoutDay.Allowed, "a quota without a limit of the day")
	require.Zero(t, withoutDay.Day)

	// A smaller quota is exceeded. Minute.Reset is the time until enough calls have left the window that the smaller
	// quota permits one.
	smaller := limiter.spend(limit.Quota{PerMinute: 10, PerDay: 10})
	require.False(t, smaller.Allowed, "a smaller quota")
	require.Equal(t, []string{limit.MinuteWindow, limit.DayWindow}, smaller.Violated)
	require.Zero(t, smaller.Minute.Remaining)
	limiter.Advance(smaller.Minute.Reset)
	require.True(t, limiter.spend(limit.Quota{PerMinute: 10}).Allowed, "the smaller quota after its reset")
	require.False(t, limiter.spend(limit.Quota{}).Allowed, "a quota without calls")
}

// otherKeysAndRules checks that a quota of one key does not count calls of another key, which may differ in the case of
// letters or in any byte. A rule does not count the calls of a quota.
func (suite quotaSuite) otherKeysAndRules(t *testing.T) {
	limiter := suite.start(t)
	one := limit.Quota{PerMinute: 1, PerDay: 1}
	require.True(t, limiter.spend(one).Allowed, "the first call")

	for _, key := range []string{strings.ToLower(limiter.key), limiter.key + " ", limiter.key + "\x00{}\n\xff"} {
		status, err := limiter.Spend(context.Background(), one, key)
		require.NoError(t, err)
		require.True(t, status.Allowed, "another key: %q", key)
	}

	decision, err := limiter.Take(context.Background(), limit.Rule{Name: "one", Max: 1, Per: time.Minute}, limiter.key)
	require.NoError(t, err)
	require.True(t, decision.Allowed, "a rule with the same key")
}

// SpendAtOnce spends from the key's quota in concurrent goroutines, one for each call. Exactly
// the given number of calls must be allowed.
func SpendAtOnce(t testing.TB, limiter limit.Limiter, quota limit.Quota, key string, calls, allowed int) {
	t.Helper()
	var admitted, failed atomic.Int64

	var group sync.WaitGroup
	for range calls {
		group.Go(func() {
			status, err := limiter.Spend(context.Background(), quota, key)
			if err != nil {
				failed.Add(1)
			} else if status.Allowed {
				admitted.Add(1)
			}
		})
	}

	group.Wait()
	require.Zero(t, failed.Load(), "calls with an error")
	require.EqualValues(t, allowed, admitted.Load(), "allowed calls")
}
