package conformance

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/limit"
)

// Limiter checks the rules and the quotas of the port limit.Limiter. A rule permits a number of calls with a key in
// any period of a length. open returns an empty limiter whose time is that of clk.
func Limiter(t *testing.T, open func(t testing.TB, clk clock.Clock) limit.Limiter, outage ...Outage[limit.Limiter]) {
	suite := limiterSuite{open, outage}
	t.Run("quotas", suite.quotas)
	t.Run("concurrent calls", suite.concurrentCalls)
	t.Run("remaining calls", suite.remainingCalls)
	t.Run("window across a fixed boundary", suite.windowAcrossAFixedBoundary)
	t.Run("calls that leave the window", suite.callsThatLeaveTheWindow)
	t.Run("refused calls are not recorded", suite.refusedCallsAreNotRecorded)
	t.Run("other keys and rules", suite.otherKeysAndRules)
	t.Run("peek", suite.peek)
	t.Run("clear", suite.clear)
	t.Run("clock set back", suite.clockSetBack)
	t.Run("lowered maximum", suite.loweredMaximum)
	withOutage(t, "limit.Limiter", suite.outage, suite.duringOutage)
}

// tenPerQuarterHour permits ten calls in any 15 minutes.
var tenPerQuarterHour = limit.Rule{Name: "ten", Max: 10, Per: 15 * time.Minute}

// limiterSuite has the subtests of Limiter.
type limiterSuite struct {
	open   func(t testing.TB, clk clock.Clock) limit.Limiter
	outage []Outage[limit.Limiter]
}

// quotas runs the tests of limit.Quota.
func (suite limiterSuite) quotas(t *testing.T) { t.Parallel(); quotas(t, suite.open) }

// start returns an empty limiter, its clock, and a function that calls Take, which records a call if it is allowed,
// and requires no error.
func (suite limiterSuite) start(t *testing.T) (
	limiter limit.Limiter, clk *fakeClock, take func(rule limit.Rule, key string) limit.Decision,
) {
	t.Parallel()

	clk = newFakeClock()
	limiter = requirePort(t, "limit.Limiter", suite.open(t, clk))
	take = func(rule limit.Rule, key string) limit.Decision {
		t.Helper()

		decision, err := limiter.Take(context.Background(), rule, key)
		require.NoError(t, err)

		return decision
	}

	return limiter, clk, take
}

// concurrentCalls checks that of many concurrent calls exactly as many are allowed as the rule permits.
func (suite limiterSuite) concurrentCalls(t *testing.T) {
	const calls = 200

	limiter, _, _ := suite.start(t)
	var admitted, failed atomic.Int64

	var group sync.WaitGroup
	for range calls {
		group.Go(func() {
			decision, err := limiter.Take(context.Background(), tenPerQuarterHour, "k")
			if err != nil {
				failed.Add(1)
			} else if decision.Allowed {
				admitted.Add(1)
			}
		})
	}

	group.Wait()
	require.Zero(t, failed.Load(), "calls with an error")
	require.EqualValues(t, tenPerQuarterHour.Max, admitted.Load(), "allowed calls")
}

// remainingCalls checks that ten calls are allowed, each with the number of calls that remain. The eleventh call has to
// wait until the first one is 15 minutes old.
func (suite limiterSuite) remainingCalls(t *testing.T) {
	_, _, take := suite.start(t)
	for remaining := tenPerQuarterHour.Max - 1; remaining >= 0; remaining-- {
		require.Equal(t, limit.Decision{Allowed: true, Remaining: remaining}, take(tenPerQuarterHour, "k"))
	}

	require.Equal(t, limit.Decision{RetryAfter: tenPerQuarterHour.Per}, take(tenPerQuarterHour, "k"))
}

// windowAcrossAFixedBoundary checks that the window slides: calls count for 15 minutes, also if a new quarter of the hour
// has begun since.
func (suite limiterSuite) windowAcrossAFixedBoundary(t *testing.T) {
	// All calls that the rule permits are made at 10:44, a minute before a quarter of the hour. The clock begins at 10:30.
	_, clk, take := suite.start(t)
	clk.Advance(14 * time.Minute)

	for call := range tenPerQuarterHour.Max {
		require.True(t, take(tenPerQuarterHour, "k").Allowed, "call %d", call)
	}

	// At 10:46, a limiter with fixed windows of 15 minutes would allow calls again.
	clk.Advance(2 * time.Minute)

	for call := range tenPerQuarterHour.Max {
		require.False(t, take(tenPerQuarterHour, "k").Allowed, "call %d", call)
	}
}

// callsThatLeaveTheWindow checks that a call counts for exactly 15 minutes, and that RetryAfter
// is the time until the oldest one stops counting.
func (suite limiterSuite) callsThatLeaveTheWindow(t *testing.T) {
	_, clk, take := suite.start(t)
	for call := range tenPerQuarterHour.Max {
		require.True(t, take(tenPerQuarterHour, "k").Allowed, "call %d", call)
		clk.Advance(time.Minute)
	}

	// The first call was 10 minutes ago.
	require.Equal(t, 5*time.Minute, take(tenPerQuarterHour, "k").RetryAfter)
	clk.Advance(5*time.Minute - time.Microsecond)
	require.Equal(t, time.Microsecond, take(tenPerQuarterHour, "k").RetryAfter)
	clk.Advance(time.Microsecond)
	require.True(t, take(tenPerQuarterHour, "k").Allowed, "RetryAfter is the time to wait")

	// One call has left the window, so that only one more was allowed. The second call leaves it a minute later.
	require.Equal(t, time.Minute, take(tenPerQuarterHour, "k").RetryAfter)
}

// refusedCallsAreNotRecorded checks that refused calls do not count: a client that tries every minute after its calls are
// used up has all of them again after 15 minutes.
func (suite limiterSuite) refusedCallsAreNotRecorded(t *testing.T) {
	_, clk, take := suite.start(t)
	for call := range tenPerQuarterHour.Max {
		require.True(t, take(tenPerQuarterHour, "k").Allowed, "call %d", call)
	}

	for minute := range 14 {
		clk.Advance(time.Minute)
		require.False(t, take(tenPerQuarterHour, "k").Allowed, "after %d minutes", minute+1)
	}

	clk.Advance(time.Minute)
	require.Equal(t, limit.Decision{Allowed: true, Remaining: tenPerQuarterHour.Max - 1}, take(tenPerQuarterHour, "k"))
}

// otherKeysAndRules checks that the calls of one rule and key do not count for another rule or another key. Keys may have
// any bytes, and differ in the case of letters.
func (suite limiterSuite) otherKeysAndRules(t *testing.T) {
	_, _, take := suite.start(t)
	one := limit.Rule{Name: "one", Max: 1, Per: time.Hour}
	two := limit.Rule{Name: "two", Max: 1, Per: time.Hour}

	require.True(t, take(one, "k").Allowed, "the first call")
	require.False(t, take(one, "k").Allowed, "the second call")
	require.True(t, take(two, "k").Allowed, "another rule")

	for _, key := range []string{"K", "", "k\x00{}\n\xff"} {
		require.True(t, take(one, key).Allowed, "another key: %q", key)
	}
}

// peek checks that Peek returns the decision about a call without recording it.
func (suite limiterSuite) peek(t *testing.T) {
	limiter, clk, take := suite.start(t)
	peek := func() limit.Decision {
		decision, err := limiter.Peek(context.Background(), tenPerQuarterHour, "k")
		require.NoError(t, err)
		return decision
	}

	// More calls of Peek than the rule permits.
	for range 2 * tenPerQuarterHour.Max {
		require.Equal(t, limit.Decision{Allowed: true, Remaining: tenPerQuarterHour.Max}, peek())
	}

	// Peek refuses a call after ten calls of Take.
	for call := range tenPerQuarterHour.Max {
		require.True(t, take(tenPerQuarterHour, "k").Allowed, "call %d", call)
	}

	clk.Advance(time.Minute)
	require.Equal(t, limit.Decision{RetryAfter: 14 * time.Minute}, peek())
}

// clear checks that Clear deletes the calls of one key only. A key without calls is no error.
func (suite limiterSuite) clear(t *testing.T) {
	limiter, _, take := suite.start(t)
	for range tenPerQuarterHour.Max + 1 {
		take(tenPerQuarterHour, "k")
		take(tenPerQuarterHour, "other")
	}

	require.NoError(t, limiter.Clear(context.Background(), tenPerQuarterHour, "k"))
	require.NoError(t, limiter.Clear(context.Background(), tenPerQuarterHour, "never seen"))
	require.Equal(t, limit.Decision{Allowed: true, Remaining: tenPerQuarterHour.Max - 1}, take(tenPerQuarterHour, "k"))
	require.False(t, take(tenPerQuarterHour, "other").Allowed, "a key that was not cleared")
}

// clockSetBack checks that a key is not blocked for longer than the window after the clock was set back, although its
// recorded calls then have times in the future.
func (suite limiterSuite) clockSetBack(t *testing.T) {
	_, clk, take := suite.start(t)
	for range tenPerQuarterHour.Max {
		take(tenPerQuarterHour, "k")
	}

	clk.Advance(-time.Hour)

	decision := take(tenPerQuarterHour, "k")
	require.LessOrEqual(t, decision.RetryAfter, tenPerQuarterHour.Per)
	clk.Advance(tenPerQuarterHour.Per)
	require.True(t, take(tenPerQuarterHour, "k").Allowed, "after the length of the window")
}

// loweredMaximum checks a rule whose maximum is lowered when more calls were recorded than it then permits. A call is
// allowed after RetryAfter. The maximum 0 refuses every call.
func (suite limiterSuite) loweredMaximum(t *testing.T) {
	_, clk, take := suite.start(t)
	for range tenPerQuarterHour.Max {
		take(tenPerQuarterHour, "k")
		clk.Advance(time.Second)
	}

	three := tenPerQuarterHour
	three.Max = 3
	decision := take(three, "k")
	require.False(t, decision.Allowed, "ten calls are recorded")
	clk.Advance(decision.RetryAfter)
	require.True(t, take(three, "k").Allowed, "after RetryAfter")

	none := tenPerQuarterHour
	none.Max = 0
	require.False(t, take(none, "fresh").Allowed, "the maximum 0")
}

// duringOutage checks that the limiter still limits calls while the backend is unavailable. It permits at least one call
// and at most the maximum of a rule, and exactly the calls of a quota. It answers in time, and reports that it is
// degraded.
func (suite limiterSuite) duringOutage(t *testing.T, limiter limit.Limiter, begin, end func()) {
	const maxLatency = 5 * time.Second // every request waits for the limiter

	// take reports whether a call is allowed.
	take := func() bool {
		start := time.Now()
		decision, err := limiter.Take(context.Background(), tenPerQuarterHour, "k")
		require.NoError(t, err)
		require.Less(t, time.Since(start), maxLatency)

		return decision.Allowed
	}

	isDegraded := func() bool {
		degrader, canDegrade := limiter.(adapters.Degrader)
		return canDegrade && degrader.Degraded()
	}

	require.True(t, take(), "the first call, before the outage")
	begin()

	allowed := 0
	for range 4 * tenPerQuarterHour.Max {
		if take() {
			allowed++
		}
	}

	require.GreaterOrEqual(t, allowed, 1)
	require.LessOrEqual(t, allowed, tenPerQuarterHour.Max)

	const calls = 50
	fivePerMinute := limit.Quota{PerMinute: 5, PerDay: 100}
	SpendAtOnce(t, limiter, fivePerMinute, "k", calls, fivePerMinute.PerMinute)
	require.True(t, isDegraded(), "the limiter does not report the outage")
	end()

	// A limiter may notice the end of the outage only at the next call.
	waitForRecovery(t, func() error {
		take()

		if isDegraded() {
			return errors.New("the limiter is degraded")
		}

		return nil
	})
}
