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

var rule = limit.Rule{Name: "ten", Max: 10, Per: 15 * time.Minute}

// open opens a limiter with a local limiter to fall back to.
func open(t testing.TB, url string, log *slog.Logger, options ...Option) *Limiter {
	t.Helper()

	l, err := Open(url, locallimit.New(clock.System{}), log, options...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })

	return l
}

func TestLimiter(t *testing.T) {
	t.Parallel()
	conformance.Limiter(t, func(t testing.TB, clk clock.Clock) limit.Limiter {
		// The suite counts exactly, so calls must not fall back on a busy machine.
		return open(t, kit.RedisURL(t), slog.New(slog.DiscardHandler), WithClock(clk), WithBound(time.Minute))
	}, func(t testing.TB) (limit.Limiter, func(), func()) {
		server := kit.OwnRedis(t)
		return open(t, server.URL, slog.New(slog.DiscardHandler)), server.Kill, func() { require.NoError(t, server.Start()) }
	})
}

// TestQuota_Processes_ShareAndExpire checks that four processes share a quota of 3, and that its
// two keys contain no personal data and expire.
func TestQuota_Processes_ShareAndExpire(t *testing.T) {
	t.Parallel()

	ctx := context.Background()
	url := kit.RedisURL(t)

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
		limiterOfProcess := open(t, url, slog.New(slog.DiscardHandler), WithBound(time.Minute))
		status, err := limiterOfProcess.Spend(ctx, quota, "Ann@example.org")
		require.NoError(t, err)
		require.Equal(t, want.isAllowed, status.Allowed)
		require.Equal(t, want.remaining, status.Minute.Remaining)
	}

	opt, err := goredis.ParseURL(url)
	require.NoError(t, err)

	client := goredis.NewClient(opt)
	defer func() { _ = client.Close() }()

	keys, err := client.Keys(ctx, "*").Result()
	require.NoError(t, err)
	require.Len(t, keys, 2)

	for _, k := range keys {
		require.Regexp(t, `^locum:limit:\{quota:[0-9a-f]{32}\}(:day)?$`, k)

		ttl, err := client.PTTL(ctx, k).Result()
		require.NoError(t, err)
		require.Greater(t, ttl, time.Duration(0))
		require.LessOrEqual(t, ttl, 25*time.Hour)
	}
}

// TestQuota_RedisUnavailable_EachProcessHasItsShare checks that a quota is counted in the
// process while Redis is unavailable: 60 of 200 concurrent calls are allowed.
func TestQuota_RedisUnavailable_EachProcessHasItsShare(t *testing.T) {
	t.Parallel()

	l := open(t, "redis://127.0.0.1:1/0", slog.New(slog.DiscardHandler))
	conformance.SpendAtOnce(t, l, limit.Quota{PerMinute: 60, PerDay: 10_000}, "k", 200, 60)

	s, err := l.Status(context.Background(), limit.Quota{PerMinute: 60}, "other")
	require.NoError(t, err)
	require.True(t, s.Allowed)
	require.Zero(t, s.Day, "a limit of zero means no limit")
}

// TestLimiter_UsesRedisTime_LogExpires checks that without WithClock the time is that of Redis,
// which all processes share, and that the list of calls expires with the period of the rule.
func TestLimiter_UsesRedisTime_LogExpires(t *testing.T) {
	t.Parallel()

	ctx := context.Background()
	url := kit.RedisURL(t)

	l := open(t, url, slog.New(slog.DiscardHandler), WithBound(time.Minute))
	for range 10 {
		d, err := l.Take(ctx, rule, "Ann@example.org")
		require.NoError(t, err)
		require.True(t, d.Allowed)
	}

	d, err := l.Take(ctx, rule, "Ann@example.org")
	require.NoError(t, err)
	require.False(t, d.Allowed)
	require.InDelta(t, float64(rule.Per), float64(d.RetryAfter), float64(time.Minute))

	opt, err := goredis.ParseURL(url)
	require.NoError(t, err)

	client := goredis.NewClient(opt)
	defer func() { _ = client.Close() }()

	keys, err := client.Keys(ctx, "*").Result()
	require.NoError(t, err)
	require.Len(t, keys, 1)
	require.NotContains(t, strings.ToLower(keys[0]), "ann", "keys hold personal data")
	require.Regexp(t, `^locum:limit:\{ten:[0-9a-f]{32}\}$`, keys[0])

	ttl, err := client.PTTL(ctx, keys[0]).Result()
	require.NoError(t, err)
	require.InDelta(t, float64(rule.Per), float64(ttl), float64(time.Minute))

	n, err := client.LLen(ctx, keys[0]).Result()
	require.NoError(t, err)
	require.EqualValues(t, 10, n)
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

// TestLimiter_RedisUnavailable_CountsInProcess checks that limits apply, and requests are not
// delayed, while Redis is stopped or hangs, that Redis is used again afterwards, and that the
// log has one line for both outages.
func TestLimiter_RedisUnavailable_CountsInProcess(t *testing.T) {
	t.Parallel()

	ctx := context.Background()
	server := kit.OwnRedis(t)
	var log lockedBuffer
	patient := open(t, server.URL, slog.New(slog.DiscardHandler), WithBound(time.Minute))
	d, err := patient.Take(ctx, rule, "k")
	require.NoError(t, err)
	require.Equal(t, limit.Decision{Allowed: true, Remaining: 9}, d)
	require.False(t, patient.Degraded())

	l := open(t, server.URL, slog.New(slog.NewTextHandler(&log, nil)))

	requireLimitsInOutage := func(beginOutage func()) {
		t.Helper()
		beginOutage()

		admitted := 0
		for range 40 {
			begun := time.Now()
			d, err := l.Take(ctx, rule, "k")
			require.NoError(t, err)
			require.Less(t, time.Since(begun), time.Second, "the bound is 200 ms; the machine may be busy")

			if d.Allowed {
				admitted++
			}
		}

		require.Equal(t, 10, admitted, "the process counts in memory")
		require.True(t, l.Degraded())

		begun := time.Now()

		for range 1000 {
			_, _ = l.Peek(ctx, rule, "k")
		}

		require.Less(t, time.Since(begun), time.Second, "an open circuit costs nothing")
	}

	waitUntilRecovered := func() {
		t.Helper()
		require.Eventually(t, func() bool {
			_, err := l.Peek(ctx, rule, "k")
			return err == nil && !l.Degraded()
		}, 20*time.Second, 20*time.Millisecond)
		require.NoError(t, l.Clear(ctx, rule, "k"))
	}

	waitUntilRecovered() // there was no outage yet, but a busy machine may have been too slow
	requireLimitsInOutage(server.Kill)
	require.NoError(t, server.Start())
	waitUntilRecovered()
	requireLimitsInOutage(server.Pause) // accepts connections and does not respond
	server.Resume()
	waitUntilRecovered()
	require.Equal(t, 1, strings.Count(log.String(), "redis is unavailable"), log.String())
}

// TestOpen_RedisUnavailable_Succeeds checks that a process can start without Redis.
func TestOpen_RedisUnavailable_Succeeds(t *testing.T) {
	t.Parallel()

	l := open(t, "redis://127.0.0.1:1/0", slog.New(slog.DiscardHandler))
	d, err := l.Take(context.Background(), rule, "k")
	require.NoError(t, err)
	require.True(t, d.Allowed)
	require.True(t, l.Degraded())
}

// TestDegraded_NoCallsAfterOutage_Ends checks that the limiter notices the end of an outage
// without calls, so that readiness does not depend on traffic.
func TestDegraded_NoCallsAfterOutage_Ends(t *testing.T) {
	t.Parallel()

	server := kit.OwnRedis(t)
	l := open(t, server.URL, slog.New(slog.DiscardHandler))
	server.Kill()

	_, err := l.Take(t.Context(), rule, "k")
	require.NoError(t, err)
	require.True(t, l.Degraded())
	require.NoError(t, server.Start())
	require.Eventually(t, func() bool { return !l.Degraded() }, 20*time.Second, 20*time.Millisecond)
	require.Eventually(t, func() bool { return l.Ping(t.Context()) == nil }, 20*time.Second, 20*time.Millisecond)
}

// TestLimiter_ContextCancelled_IsNotAnOutage checks that clients that disconnect do not make the
// limiter fall back to counting in the process.
func TestLimiter_ContextCancelled_IsNotAnOutage(t *testing.T) {
	t.Parallel()

	l := open(t, kit.RedisURL(t), slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()

	for range 2 * maxFailures {
		_, err := l.Take(ctx, rule, "k")
		require.ErrorIs(t, err, context.Canceled)
	}

	require.False(t, l.Degraded())
}

// TestOpen_Prefix_SeparatesServices checks that two installations can use one Redis without
// counting together. The default prefix is locum.
func TestOpen_Prefix_SeparatesServices(t *testing.T) {
	t.Parallel()

	url := kit.RedisURL(t)

	oneCall := limit.Rule{Name: "one", Max: 1, Per: time.Hour}
	for _, prefix := range []string{"?prefix=north", "?prefix=south", ""} {
		l := open(t, url+prefix, slog.New(slog.DiscardHandler), WithBound(time.Minute))
		d, err := l.Take(t.Context(), oneCall, "k")
		require.NoError(t, err)
		require.True(t, d.Allowed, prefix)
	}

	for _, prefix := range []string{"?prefix=north", "?prefix=locum"} {
		d, err := open(t, url+prefix, slog.New(slog.DiscardHandler), WithBound(time.Minute)).Take(t.Context(), oneCall, "k")
		require.NoError(t, err)
		require.False(t, d.Allowed, prefix)
	}
}

func BenchmarkTake(b *testing.B) {
	l, err := Open(kit.RedisURL(b), locallimit.New(clock.System{}), slog.New(slog.DiscardHandler))
	require.NoError(b, err)

	defer func() { _ = l.Close() }()

	for b.Loop() {
		_, _ = l.Take(context.Background(), rule, "k")
	}
}
