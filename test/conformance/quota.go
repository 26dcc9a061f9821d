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
	// spend calls Spend, which counts a call, and look calls Status, which counts none. Both use the key and
	// require no error.
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

// sixtyPerMinute is the quota of most tests.
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

// concurrentCalls checks that 200 concurrent calls exceed neither the minute nor the day.
func (suite quotaSuite) concurrentCalls(t *testing.T) {
	limiter := suite.start(t)
	SpendAtOnce(t, limiter, sixtyPerMinute, limiter.key, 200, 60)

	// 60 of the 90 calls of the day have been used above.
	SpendAtOnce(t, limiter, limit.Quota{PerMinute: 1_000, PerDay: 90}, limiter.key, 200, 30)
}

// remainingCalls checks the status of a new key, and that after each of two calls, 20 seconds apart. The
// window of the minute is reset when the first call is a minute old, and that of the day at midnight in UTC.
// Status counts no call.
func (suite quotaSuite) remainingCalls(t *testing.T) {
	limiter := suite.start(t)
	fresh := limiter.look(sixtyPerMinute)
	require.Equal(
		t,
		limit.QuotaStatus{
			Allowed: true,
			Minute:  limit.Window{Limit: 60, Remaining: 60},
			Day:     limit.Window{Limit: 10_000, Remaining: 10_000},
		},
		fresh,
	)
	require.Equal(
		t,
		limit.QuotaStatus{
			Allowed: true,
			Minute:  limit.Window{Limit: 60, Remaining: 59, Reset: time.Minute},
			Day:     limit.Window{Limit: 10_000, Remaining: 9_999, Reset: untilMidnight},
		},
		limiter.spend(sixtyPerMinute),
	)
	limiter.Advance(20 * time.Second)

	second := limit.QuotaStatus{
		Allowed: true,
		Minute:  limit.Window{Limit: 60, Remaining: 58, Reset: 40 * time.Second},
		Day:     limit.Window{Limit: 10_000, Remaining: 9_998, Reset: untilMidnight - 20*time.Second},
	}
	require.Equal(t, second, limiter.spend(sixtyPerMinute))

	for range 3 {
		require.Equal(t, second, limiter.look(sixtyPerMinute), "looking costs nothing")
	}
}

// windowAcrossAMinute checks that the minute is a sliding window: calls of the previous minute
// still count.
func (suite quotaSuite) windowAcrossAMinute(t *testing.T) {
	limiter := suite.start(t)
	limiter.Advance(59 * time.Second)

	for range 60 {
		require.True(t, limiter.spend(sixtyPerMinute).Allowed)
	}

	limiter.Advance(2 * time.Second) // a limiter with fixed minutes would start a new one here

	for range 60 {
		status := limiter.spend(sixtyPerMinute)
		require.False(t, status.Allowed)
		require.Equal(t, []string{limit.MinuteWindow}, status.Violated)
		require.Equal(t, 58*time.Second, status.RetryAfter)
	}

	limiter.Advance(58 * time.Second)
	require.True(t, limiter.spend(sixtyPerMinute).Allowed, "RetryAfter is the time to wait")
}

// midnightInUTC checks that the day ends at midnight in UTC, and that a call that one window
// refuses is not recorded in the other.
func (suite quotaSuite) midnightInUTC(t *testing.T) {
	limiter := suite.start(t)
	quota := limit.Quota{PerMinute: 8, PerDay: 5}

	// Half a minute before midnight, the day is used up after five calls.
	limiter.Advance(untilMidnight - 30*time.Second)

	for range 5 {
		require.True(t, limiter.spend(quota).Allowed)
	}

	status := limiter.spend(quota)
	require.False(t, status.Allowed)
	require.Equal(t, []string{limit.DayWindow}, status.Violated)
	require.Equal(t, 30*time.Second, status.RetryAfter)
	require.Equal(t, limit.Window{Limit: 5, Reset: 30 * time.Second}, status.Day)
	require.Equal(t, 3, status.Minute.Remaining, "what is refused by the day costs the minute nothing")

	// At midnight the day begins, but the minute has three calls left.
	limiter.Advance(30 * time.Second)

	for remaining := 4; remaining >= 2; remaining-- {
		status = limiter.spend(quota)
		require.True(t, status.Allowed)
		require.Equal(t, remaining, status.Day.Remaining)
	}

	status = limiter.spend(quota)
	require.Equal(t, []string{limit.MinuteWindow}, status.Violated)
	require.Equal(t, 2, status.Day.Remaining, "what is refused by the minute costs the day nothing")
	limiter.Advance(24 * time.Hour)
	require.Equal(t, 4, limiter.spend(quota).Day.Remaining)
}

// refusedCallsAreNotRecorded checks that a client that keeps calling gets its quota back after
// a minute.
func (suite quotaSuite) refusedCallsAreNotRecorded(t *testing.T) {
	limiter := suite.start(t)
	for range 60 {
		limiter.spend(sixtyPerMinute)
	}

	for range 59 {
		limiter.Advance(time.Second)
		require.False(t, limiter.spend(sixtyPerMinute).Allowed)
	}

	limiter.Advance(time.Second)

	s := limiter.spend(sixtyPerMinute)
	require.True(t, s.Allowed)
	require.Equal(t, 59, s.Minute.Remaining)
	require.Equal(t, 10_000-61, s.Day.Remaining)
}

// bothWindowsAreUsedUp checks that both windows are named, and that RetryAfter is the longer
// wait.
func (suite quotaSuite) bothWindowsAreUsedUp(t *testing.T) {
	limiter := suite.start(t)
	one := limit.Quota{PerMinute: 1, PerDay: 1}
	require.True(t, limiter.spend(one).Allowed)

	s := limiter.spend(one)
	require.Equal(t, []string{limit.MinuteWindow, limit.DayWindow}, s.Violated)
	require.Equal(t, untilMidnight, s.RetryAfter)
}

// leastWaitIsASecond checks that RetryAfter is at least a second, because the header has whole
// seconds.
func (suite quotaSuite) leastWaitIsASecond(t *testing.T) {
	limiter := suite.start(t)
	one := limit.Quota{PerMinute: 1}
	require.True(t, limiter.spend(one).Allowed)
	limiter.Advance(time.Minute - time.Microsecond)

	s := limiter.spend(one)
	require.Equal(t, time.Second, s.RetryAfter)
	require.Equal(t, time.Microsecond, s.Minute.Reset)
}

// changedQuota checks that recorded calls count in a larger and in a smaller quota. PerDay 0
// means no limit of the day.
func (suite quotaSuite) changedQuota(t *testing.T) {
	limiter := suite.start(t)
	for range 60 {
		limiter.spend(sixtyPerMinute)
		limiter.Advance(100 * time.Millisecond)
	}

	require.False(t, limiter.spend(sixtyPerMinute).Allowed)

	larger := limiter.spend(limit.Quota{PerMinute: 300, PerDay: 50_000})
	require.True(t, larger.Allowed)
	require.Equal(t, 300-61, larger.Minute.Remaining)
	require.Equal(t, 50_000-61, larger.Day.Remaining)

	withoutDay := limiter.spend(limit.Quota{PerMinute: 1_000})
	require.True(t, withoutDay.Allowed)
	require.Zero(t, withoutDay.Day)

	smaller := limiter.spend(limit.Quota{PerMinute: 10, PerDay: 10})
	require.False(t, smaller.Allowed)
	require.Equal(t, []string{limit.MinuteWindow, limit.DayWindow}, smaller.Violated)
	require.Zero(t, smaller.Minute.Remaining)
	limiter.Advance(smaller.Minute.Reset)
	require.True(t, limiter.spend(limit.Quota{PerMinute: 10}).Allowed,
		"the wait is until there is room in the lower quota")
	require.False(t, limiter.spend(limit.Quota{}).Allowed, "a quota of nothing")
}

// otherKeysAndRules checks that keys are distinguished by case and bytes, and that a rule does
// not share its count with a quota.
func (suite quotaSuite) otherKeysAndRules(t *testing.T) {
	limiter := suite.start(t)
	one := limit.Quota{PerMinute: 1, PerDay: 1}
	require.True(t, limiter.spend(one).Allowed)

	for _, key := range []string{strings.ToLower(limiter.key), limiter.key + " ", limiter.key + "\x00{}\n\xff"} {
		s, err := limiter.Spend(context.Background(), one, key)
		require.NoError(t, err)
		require.True(t, s.Allowed, key)
	}

	d, err := limiter.Take(context.Background(), limit.Rule{Name: "one", Max: 1, Per: time.Minute}, limiter.key)
	require.NoError(t, err)
	require.True(t, d.Allowed)
}

// SpendAtOnce spends from the key's quota in concurrent goroutines, one for each call. Exactly
// the given number of calls must be allowed.
func SpendAtOnce(t testing.TB, limiter limit.Limiter, q limit.Quota, key string, calls, allowed int) {
	t.Helper()
	var admitted, failed atomic.Int64

	var group sync.WaitGroup
	for range calls {
		group.Go(func() {
			s, err := limiter.Spend(context.Background(), q, key)
			if err != nil {
				failed.Add(1)
			} else if s.Allowed {
				admitted.Add(1)
			}
		})
	}

	group.Wait()
	require.Zero(t, failed.Load())
	require.EqualValues(t, allowed, admitted.Load())
}
