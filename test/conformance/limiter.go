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

// concurrentCalls checks that 200 concurrent calls do not exceed the maximum.
func (suite limiterSuite) concurrentCalls(t *testing.T) {
	limiter, _, _ := suite.start(t)
	var admitted, failed atomic.Int64

	var group sync.WaitGroup
	for range 200 {
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
	require.Zero(t, failed.Load())
	require.EqualValues(t, 10, admitted.Load())
}

// remainingCalls checks that ten calls are allowed, and that the eleventh has to wait until the
// first one is 15 minutes old.
func (suite limiterSuite) remainingCalls(t *testing.T) {
	_, _, take := suite.start(t)
	for remaining := 9; remaining >= 0; remaining-- {
		require.Equal(t, limit.Decision{Allowed: true, Remaining: remaining}, take(tenPerQuarterHour, "k"))
	}

	require.Equal(t, limit.Decision{RetryAfter: 15 * time.Minute}, take(tenPerQuarterHour, "k"))
}

// windowAcrossAFixedBoundary checks that the window slides: calls just before a multiple of 15
// minutes still count just after it.
func (suite limiterSuite) windowAcrossAFixedBoundary(t *testing.T) {
	_, clk, take := suite.start(t)
	clk.Advance(14 * time.Minute)

	for range 10 {
		require.True(t, take(tenPerQuarterHour, "k").Allowed)
	}

	clk.Advance(2 * time.Minute) // a limiter with fixed windows of 15 minutes would start a new one here

	for range 10 {
		require.False(t, take(tenPerQuarterHour, "k").Allowed)
	}
}

// callsThatLeaveTheWindow checks that a call counts for exactly 15 minutes, and that RetryAfter
// is the time until the oldest one stops counting.
func (suite limiterSuite) callsThatLeaveTheWindow(t *testing.T) {
	_, clk, take := suite.start(t)
	for range 10 {
		require.True(t, take(tenPerQuarterHour, "k").Allowed)
		clk.Advance(time.Minute)
	}

	// The first call was 10 minutes ago.
	require.Equal(t, 5*time.Minute, take(tenPerQuarterHour, "k").RetryAfter)
	clk.Advance(5*time.Minute - time.Microsecond)
	require.Equal(t, time.Microsecond, take(tenPerQuarterHour, "k").RetryAfter)
	clk.Advance(time.Microsecond)
	require.True(t, take(tenPerQuarterHour, "k").Allowed, "RetryAfter is the time to wait")
	require.Equal(t, time.Minute, take(tenPerQuarterHour, "k").RetryAfter,
		"one call has left the window, so that only one more is allowed")
}

// refusedCallsAreNotRecorded checks that a client that keeps trying is not blocked for longer.
func (suite limiterSuite) refusedCallsAreNotRecorded(t *testing.T) {
	_, clk, take := suite.start(t)
	for range 10 {
		require.True(t, take(tenPerQuarterHour, "k").Allowed)
	}

	for range 14 {
		clk.Advance(time.Minute)
		require.False(t, take(tenPerQuarterHour, "k").Allowed)
	}

	clk.Advance(time.Minute)
	require.Equal(t, limit.Decision{Allowed: true, Remaining: 9}, take(tenPerQuarterHour, "k"))
}

// otherKeysAndRules checks that each rule counts each key separately, whatever its characters.
func (suite limiterSuite) otherKeysAndRules(t *testing.T) {
	_, _, take := suite.start(t)
	one := limit.Rule{Name: "one", Max: 1, Per: time.Hour}
	two := limit.Rule{Name: "two", Max: 1, Per: time.Hour}

	require.True(t, take(one, "k").Allowed)
	require.False(t, take(one, "k").Allowed)
	require.True(t, take(two, "k").Allowed)
	require.True(t, take(one, "K").Allowed)
	require.True(t, take(one, "").Allowed)
	require.True(t, take(one, "k\x00{}\n\xff").Allowed, "a key is any string")
}

// peek checks that Peek returns the decision without recording a call.
func (suite limiterSuite) peek(t *testing.T) {
	limiter, clk, take := suite.start(t)
	peek := func() limit.Decision {
		decision, err := limiter.Peek(context.Background(), tenPerQuarterHour, "k")
		require.NoError(t, err)
		return decision
	}

	for range 20 {
		require.Equal(t, limit.Decision{Allowed: true, Remaining: 10}, peek())
	}

	for range 10 {
		require.True(t, take(tenPerQuarterHour, "k").Allowed)
	}

	clk.Advance(time.Minute)
	require.Equal(t, limit.Decision{RetryAfter: 14 * time.Minute}, peek())
}

// clear checks that Clear deletes the calls of one key only.
func (suite limiterSuite) clear(t *testing.T) {
	limiter, _, take := suite.start(t)
	for range 11 {
		take(tenPerQuarterHour, "k")
		take(tenPerQuarterHour, "other")
	}

	require.NoError(t, limiter.Clear(context.Background(), tenPerQuarterHour, "k"))
	require.NoError(t, limiter.Clear(context.Background(), tenPerQuarterHour, "never seen"))
	require.Equal(t, limit.Decision{Allowed: true, Remaining: 9}, take(tenPerQuarterHour, "k"))
	require.False(t, take(tenPerQuarterHour, "other").Allowed)
}

// clockSetBack checks that calls whose time is in the future do not block a key for longer than
// the window.
func (suite limiterSuite) clockSetBack(t *testing.T) {
	_, clk, take := suite.start(t)
	for range 10 {
		take(tenPerQuarterHour, "k")
	}

	clk.Advance(-time.Hour) // a clock may be set back

	decision := take(tenPerQuarterHour, "k")
	require.LessOrEqual(t, decision.RetryAfter, tenPerQuarterHour.Per)
	clk.Advance(tenPerQuarterHour.Per)
	require.True(t, take(tenPerQuarterHour, "k").Allowed)
}

// loweredMaximum checks that RetryAfter is right if more calls were recorded than a new maximum
// permits, and that the maximum 0 refuses every call.
func (suite limiterSuite) loweredMaximum(t *testing.T) {
	_, clk, take := suite.start(t)
	for range 10 {
		take(tenPerQuarterHour, "k")
		clk.Advance(time.Second)
	}

	three := tenPerQuarterHour
	three.Max = 3
	decision := take(three, "k")
	require.False(t, decision.Allowed)
	clk.Advance(decision.RetryAfter)
	require.True(t, take(three, "k").Allowed)

	none := tenPerQuarterHour
	none.Max = 0
	require.False(t, take(none, "fresh").Allowed)
}

// duringOutage checks that while the backend is unavailable the limiter still limits: it
// permits at least one call and at most the maximum, answers in time and reports that it is
// degraded.
func (suite limiterSuite) duringOutage(t *testing.T, limiter limit.Limiter, begin, end func()) {
	take := func() bool {
		start := time.Now()
		decision, err := limiter.Take(context.Background(), tenPerQuarterHour, "k")
		require.NoError(t, err)
		require.Less(t, time.Since(start), 5*time.Second, "requests wait for the limiter")

		return decision.Allowed
	}

	isDegraded := func() bool {
		degrader, canDegrade := limiter.(adapters.Degrader)
		return canDegrade && degrader.Degraded()
	}

	require.True(t, take())
	begin()

	allowed := 0
	for range 40 {
		if take() {
			allowed++
		}
	}

	require.GreaterOrEqual(t, allowed, 1)
	require.LessOrEqual(t, allowed, tenPerQuarterHour.Max)
	SpendAtOnce(t, limiter, limit.Quota{PerMinute: 5, PerDay: 100}, "k", 50, 5)
	require.True(t, isDegraded())
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
