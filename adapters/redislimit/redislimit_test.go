package redislimit

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/locallimit"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/test/conformance"
	"github.com/locumhq/locum/test/kit"
)

// rule allows ten calls in a quarter of an hour for each key, such as the address of a client. Take counts a call, and
// Peek only returns what is left.
var rule = limit.Rule{Name: "ten", Max: 10, Per: 15 * time.Minute}

// unavailableURL is a URL at which no server listens.
const unavailableURL = "redis://127.0.0.1:1/0"

// noFallback is an option for tests that count exactly. A limiter waits for Redis for up to 200 ms, and then counts in the
// process. On a busy machine Redis may be slower, so that the option sets a time that no call takes.
var noFallback = WithBound(time.Minute)

// open opens a limiter in Redis. It falls back to a limiter in the process while Redis is unavailable.
func open(t testing.TB, url string, log *slog.Logger, options ...Option) *Limiter {
	t.Helper()

	limiter, err := Open(url, locallimit.New(clock.System{}), log, options...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = limiter.Close() })

	return limiter
}

// redisClient returns a client with which a test looks at the keys in Redis.
func redisClient(t *testing.T, url string) *goredis.Client {
	t.Helper()

	options, err := goredis.ParseURL(url)
	require.NoError(t, err)

	client := goredis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })

	return client
}

// TestLimiter runs the suite for limiters, with outages of Redis.
func TestLimiter(t *testing.T) {
	t.Parallel()

	openWithClock := func(t testing.TB, clk clock.Clock) limit.Limiter {
		return open(t, kit.RedisURL(t), discardLog, WithClock(clk), noFallback)
	}

	openWithOutages := func(t testing.TB) (limiter limit.Limiter, beginOutage, endOutage func()) {
		server := kit.OwnRedis(t)
		return open(t, server.URL, discardLog), server.Kill, func() { require.NoError(t, server.Start()) }
	}

	conformance.Limiter(t, openWithClock, openWithOutages)
}

// discardLog is a log for tests that do not check it.
var discardLog = slog.New(slog.DiscardHandler)

// TestQuota_Processes_ShareAndExpire checks that four processes share a quota of 3 calls per minute. The quota has two
// keys in Redis, for the minute and for the day. They contain no personal data, although the caller is identified by
// an email address, and they expire.
func TestQuota_Processes_ShareAndExpire(t *testing.T) {
	t.Parallel()

	ctx := context.Background()
	url := kit.RedisURL(t)

	// Each process makes one call.
	quota := limit.Quota{PerMinute: 3, PerDay: 100}
	for _, want := range []struct {
		isAllowed bool
		remaining int
	}{
		{isAllowed: true, remaining: 2},
		{isAllowed: true, remaining: 1},
		{isAllowed: true, remaining: 0},
		{isAllowed: false, remaining: 0},
	} {
		limiterOfProcess := open(t, url, discardLog, noFallback)
		status, err := limiterOfProcess.Spend(ctx, quota, "Ann@example.org")
		require.NoError(t, err)
		require.Equal(t, want.isAllowed, status.Allowed, "%+v", want)
		require.Equal(t, want.remaining, status.Minute.Remaining, "%+v", want)
	}

	// Look at the keys in Redis.
	client := redisClient(t, url)
	keys, err := client.Keys(ctx, "*").Result()
	require.NoError(t, err)
	require.Len(t, keys, 2, "for the minute and for the day")

	for _, key := range keys {
		require.Regexp(t, `^locum:limit:\{quota:[0-9a-f]{32}\}(:day)?$`, key, "a hash in place of the address")

		timeToLive, err := client.PTTL(ctx, key).Result()
		require.NoError(t, err)
		require.Greater(t, timeToLive, time.Duration(0))
		require.LessOrEqual(t, timeToLive, 25*time.Hour, "about a day")
	}
}

// TestQuota_RedisUnavailable_IsCountedInProcess checks that a process counts a quota itself while Redis is unavailable.
func TestQuota_RedisUnavailable_IsCountedInProcess(t *testing.T) {
	t.Parallel()

	const perMinute, calls = 60, 200

	// Of many concurrent calls, exactly as many are allowed as the limit per minute permits.
	limiter := open(t, unavailableURL, discardLog)
	wantAllowed := perMinute
	conformance.SpendAtOnce(t, limiter, limit.Quota{PerMinute: perMinute, PerDay: 10_000}, "k", calls, wantAllowed)

	// Another key has its own count.
	status, err := limiter.Status(context.Background(), limit.Quota{PerMinute: perMinute}, "other")
	require.NoError(t, err)
	require.True(t, status.Allowed)
	require.Zero(t, status.Day, "a limit of zero means no limit")
}

// TestLimiter_RedisTime_CountsAndExpires checks a limiter without the option WithClock. Its time is that of Redis, which
// all processes share. The times of the calls are a list in Redis, whose key contains no personal data, and which expires
// with the period of the rule.
func TestLimiter_RedisTime_CountsAndExpires(t *testing.T) {
	t.Parallel()

	ctx := context.Background()
	url := kit.RedisURL(t)

	// Make as many calls as the rule allows.
	limiter := open(t, url, discardLog, noFallback)
	for range rule.Max {
		decision, err := limiter.Take(ctx, rule, "Ann@example.org")
		require.NoError(t, err)
		require.True(t, decision.Allowed)
	}

	// The next call is refused until the first one is a quarter of an hour old.
	const testTime = float64(time.Minute) // the test takes at most this time

	decision, err := limiter.Take(ctx, rule, "Ann@example.org")
	require.NoError(t, err)
	require.False(t, decision.Allowed)
	require.InDelta(t, float64(rule.Per), float64(decision.RetryAfter), testTime)

	// The key in Redis has the name of the rule and a hash of the address.
	client := redisClient(t, url)
	keys, err := client.Keys(ctx, "*").Result()
	require.NoError(t, err)
	require.Len(t, keys, 1)
	require.NotContains(t, strings.ToLower(keys[0]), "ann", "the key contains personal data")
	require.Regexp(t, `^locum:limit:\{ten:[0-9a-f]{32}\}$`, keys[0])

	timeToLive, err := client.PTTL(ctx, keys[0]).Result()
	require.NoError(t, err)
	require.InDelta(t, float64(rule.Per), float64(timeToLive), testTime)

	storedCalls, err := client.LLen(ctx, keys[0]).Result()
	require.NoError(t, err)
	require.EqualValues(t, rule.Max, storedCalls, "the refused call is not stored")
}

// lockedBuffer is a buffer for a log that may be written to concurrently.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

// String returns what has been written to the buffer.
func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// TestLimiter_RedisAvailable_IsNotDegraded checks that calls are counted in Redis while it is available.
func TestLimiter_RedisAvailable_IsNotDegraded(t *testing.T) {
	t.Parallel()

	limiter := open(t, kit.RedisURL(t), discardLog, noFallback)
	decision, err := limiter.Take(t.Context(), rule, "k")
	require.NoError(t, err)
	require.Equal(t, limit.Decision{Allowed: true, Remaining: rule.Max - 1}, decision)
	require.False(t, limiter.Degraded())
}

// TestLimiter_RedisUnavailable_CountsInProcess checks two outages: Redis is stopped, and then Redis hangs. During an
// outage, limits apply and calls are not delayed. After it, Redis is used again. The log has one line for both outages,
// because a line is written at most once per minute.
func TestLimiter_RedisUnavailable_CountsInProcess(t *testing.T) {
	t.Parallel()

	ctx := context.Background()
	server := kit.OwnRedis(t)

	var log lockedBuffer
	limiter := open(t, server.URL, slog.New(slog.NewTextHandler(&log, nil)))

	requireLimitsInOutage := func(beginOutage func()) {
		t.Helper()
		beginOutage()

		// Of four times as many calls as the rule allows, exactly the allowed number is admitted.
		admitted := 0
		for range 4 * rule.Max {
			startedAt := time.Now()
			decision, err := limiter.Take(ctx, rule, "k")
			require.NoError(t, err)
			require.Less(t, time.Since(startedAt), time.Second, "the bound is 200 ms; the machine may be busy")

			if decision.Allowed {
				admitted++
			}
		}

		require.Equal(t, rule.Max, admitted, "the process counts in memory")
		require.True(t, limiter.Degraded())

		// After a few failures the limiter no longer waits for Redis at each call: waiting 1,000 times would take minutes.
		startedAt := time.Now()

		for range 1000 {
			_, _ = limiter.Peek(ctx, rule, "k")
		}

		require.Less(t, time.Since(startedAt), time.Second, "calls wait for Redis")
	}

	// waitUntilRecovered waits until the limiter uses Redis again, and then deletes the calls of the outage.
	waitUntilRecovered := func() {
		t.Helper()

		isRecovered := func() bool {
			_, err := limiter.Peek(ctx, rule, "k")
			return err == nil && !limiter.Degraded()
		}
		require.Eventually(t, isRecovered, 20*time.Second, 20*time.Millisecond)
		require.NoError(t, limiter.Clear(ctx, rule, "k"))
	}

	waitUntilRecovered() // before the first outage too, since a busy machine may have been too slow for Redis

	// Redis is stopped, and started again.
	requireLimitsInOutage(server.Kill)
	require.NoError(t, server.Start())
	waitUntilRecovered()

	// Redis hangs: it accepts connections and does not respond.
	requireLimitsInOutage(server.Pause)
	server.Resume()
	waitUntilRecovered()

	require.Equal(t, 1, strings.Count(log.String(), "redis is unavailable"), log.String())
}

// TestOpen_RedisUnavailable_Succeeds checks that a process can start without Redis.
func TestOpen_RedisUnavailable_Succeeds(t *testing.T) {
	t.Parallel()

	limiter := open(t, unavailableURL, discardLog)
	decision, err := limiter.Take(context.Background(), rule, "k")
	require.NoError(t, err)
	require.True(t, decision.Allowed)
	require.True(t, limiter.Degraded())
}

// TestDegraded_NoCallsAfterOutage_Ends checks that the limiter notices the end of an outage by itself. The readiness of
// the process, which depends on Degraded, thus recovers without calls of clients.
func TestDegraded_NoCallsAfterOutage_Ends(t *testing.T) {
	t.Parallel()

	server := kit.OwnRedis(t)
	limiter := open(t, server.URL, discardLog)

	// One call notices the outage. There is no call after it.
	server.Kill()

	_, err := limiter.Take(t.Context(), rule, "k")
	require.NoError(t, err)
	require.True(t, limiter.Degraded())

	// Redis is started again. Neither Degraded nor Ping counts a call.
	require.NoError(t, server.Start())

	hasEnded := func() bool { return !limiter.Degraded() }
	require.Eventually(t, hasEnded, 20*time.Second, 20*time.Millisecond)

	respondsToPing := func() bool { return limiter.Ping(t.Context()) == nil }
	require.Eventually(t, respondsToPing, 20*time.Second, 20*time.Millisecond)
}

// TestLimiter_ContextCancelled_IsNotAnOutage checks that calls whose clients disconnect do not count as failures of Redis.
// After maxFailures failures, the limiter would count in the process.
func TestLimiter_ContextCancelled_IsNotAnOutage(t *testing.T) {
	t.Parallel()

	limiter := open(t, kit.RedisURL(t), discardLog)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()

	for range 2 * maxFailures {
		_, err := limiter.Take(ctx, rule, "k")
		require.ErrorIs(t, err, context.Canceled)
	}

	require.False(t, limiter.Degraded())
}

// TestOpen_Prefix_SeparatesServices checks that several installations can use one Redis without counting together, if
// the parameter prefix of their URLs differs. Without the parameter, the prefix is locum.
func TestOpen_Prefix_SeparatesServices(t *testing.T) {
	t.Parallel()

	url := kit.RedisURL(t)

	oneCall := limit.Rule{Name: "one", Max: 1, Per: time.Hour}
	isAllowed := func(parameter string) bool {
		limiter := open(t, url+parameter, discardLog, noFallback)
		decision, err := limiter.Take(t.Context(), oneCall, "k")
		require.NoError(t, err)

		return decision.Allowed
	}

	// The first call with each prefix is allowed.
	const defaultPrefix = ""
	for _, parameter := range []string{"?prefix=north", "?prefix=south", defaultPrefix} {
		require.True(t, isAllowed(parameter), parameter)
	}

	// A second call with the same prefix, or with the name of the default prefix, is refused.
	for _, parameter := range []string{"?prefix=north", "?prefix=locum"} {
		require.False(t, isAllowed(parameter), parameter)
	}
}

// BenchmarkTake measures a call of Take for one key, which is soon over its limit.
func BenchmarkTake(b *testing.B) {
	limiter, err := Open(kit.RedisURL(b), locallimit.New(clock.System{}), discardLog)
	require.NoError(b, err)

	defer func() { _ = limiter.Close() }()

	for b.Loop() {
		_, _ = limiter.Take(context.Background(), rule, "k")
	}
}
