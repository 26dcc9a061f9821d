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

func open(t *testing.T, url string, log *slog.Logger, options ...Option) *Limiter {
	t.Helper()
	l, err := Open(url, locallimit.New(clock.System{}), log, options...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestLimiter(t *testing.T) {
	t.Parallel()
	conformance.Limiter(t, func(t *testing.T, clk clock.Clock) limit.Limiter {
		// The suite counts exactly, so a busy machine must not push a call over
		// to the fallback.
		return open(t, kit.RedisURL(t), slog.New(slog.DiscardHandler), WithClock(clk), WithBound(time.Minute))
	})
}

func TestQuotas(t *testing.T) {
	t.Parallel()
	conformance.Quotas(t, func(t *testing.T, clk clock.Clock) limit.Limiter {
		return open(t, kit.RedisURL(t), slog.New(slog.DiscardHandler), WithClock(clk), WithBound(time.Minute))
	})
}

func TestAQuotaIsSharedByProcessesAndForgotten(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := kit.RedisURL(t)
	q := limit.Quota{PerMinute: 3, PerDay: 100}
	left := []int{2, 1, 0, 0}
	for i := range 4 {
		l := open(t, url, slog.New(slog.DiscardHandler), WithBound(time.Minute))
		s, err := l.Spend(ctx, q, "Ann@example.org")
		require.NoError(t, err)
		require.Equal(t, i < 3, s.Allowed)
		require.Equal(t, left[i], s.Minute.Remaining)
	}
	opt, err := goredis.ParseURL(url)
	require.NoError(t, err)
	c := goredis.NewClient(opt)
	defer func() { _ = c.Close() }()
	keys, err := c.Keys(ctx, "*").Result()
	require.NoError(t, err)
	require.Len(t, keys, 2)
	for _, k := range keys {
		require.Regexp(t, `^locum:limit:\{quota:[0-9a-f]{32}\}(:day)?$`, k)
		ttl, err := c.PTTL(ctx, k).Result()
		require.NoError(t, err)
		require.Greater(t, ttl, time.Duration(0))
		require.LessOrEqual(t, ttl, 25*time.Hour)
	}
}

func TestWithoutRedisEachProcessGivesItsShareOfAQuota(t *testing.T) {
	t.Parallel()
	l := open(t, "redis://127.0.0.1:1/0", slog.New(slog.DiscardHandler), WithReplicas(2))
	conformance.SpendAtOnce(t, l, limit.Quota{PerMinute: 60, PerDay: 10_000}, "k", 200, 30)
	s, err := l.Standing(context.Background(), limit.Quota{PerMinute: 60}, "other")
	require.NoError(t, err)
	require.True(t, s.Allowed)
	require.Zero(t, s.Day, "no limit is none here too")
}

func TestRedisTellsTheTimeAndForgetsTheLog(t *testing.T) {
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
	c := goredis.NewClient(opt)
	defer func() { _ = c.Close() }()
	keys, err := c.Keys(ctx, "*").Result()
	require.NoError(t, err)
	require.Len(t, keys, 1)
	require.NotContains(t, strings.ToLower(keys[0]), "ann", "keys hold personal data")
	require.Regexp(t, `^locum:limit:\{ten:[0-9a-f]{32}\}$`, keys[0])
	ttl, err := c.PTTL(ctx, keys[0]).Result()
	require.NoError(t, err)
	require.InDelta(t, float64(rule.Per), float64(ttl), float64(time.Minute))
	n, err := c.LLen(ctx, keys[0]).Result()
	require.NoError(t, err)
	require.EqualValues(t, 10, n)
}

type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) { l.mu.Lock(); defer l.mu.Unlock(); return l.b.Write(p) }
func (l *lines) String() string              { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

func TestWithoutRedisEachProcessCountsForItself(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := kit.OwnRedis(t)
	var out lines
	patient := open(t, server.URL, slog.New(slog.DiscardHandler), WithReplicas(2), WithBound(time.Minute))
	d, err := patient.Take(ctx, rule, "k")
	require.NoError(t, err)
	require.Equal(t, limit.Decision{Allowed: true, Remaining: 9}, d)
	require.False(t, patient.Degraded())
	l := open(t, server.URL, slog.New(slog.NewTextHandler(&out, nil)), WithReplicas(2))

	outage := func(break_ func()) {
		t.Helper()
		break_()
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
		require.Equal(t, 5, admitted, "half of the limit, as there are two replicas")
		require.True(t, l.Degraded())
		begun := time.Now()
		for range 1000 {
			_, _ = l.Peek(ctx, rule, "k")
		}
		require.Less(t, time.Since(begun), time.Second, "an open circuit costs nothing")
	}
	recovers := func() {
		t.Helper()
		require.Eventually(t, func() bool {
			_, err := l.Peek(ctx, rule, "k")
			return err == nil && !l.Degraded()
		}, 20*time.Second, 20*time.Millisecond)
		require.NoError(t, l.Clear(ctx, rule, "k"))
	}

	recovers() // nothing was wrong, but a busy machine may take its time
	outage(server.Kill)
	require.NoError(t, server.Start())
	recovers()
	outage(server.Pause) // accepts connections and never answers
	server.Resume()
	recovers()
	require.Equal(t, 1, strings.Count(out.String(), "does not answer"), out.String())
}

func TestAnAbsentRedisIsNoErrorAtStart(t *testing.T) {
	t.Parallel()
	l := open(t, "redis://127.0.0.1:1/0", slog.New(slog.DiscardHandler))
	d, err := l.Take(context.Background(), rule, "k")
	require.NoError(t, err)
	require.True(t, d.Allowed)
	require.True(t, l.Degraded())
}

func TestACallerWhoLeftSaysNothingAboutRedis(t *testing.T) {
	t.Parallel()
	l := open(t, kit.RedisURL(t), slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 2 * patience {
		_, err := l.Take(ctx, rule, "k")
		require.ErrorIs(t, err, context.Canceled)
	}
	require.False(t, l.Degraded())
}

func TestURLsOfEveryTopology(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, mode, plain string }{
		{"redis://h/3", "", "redis://h:6379/3"},
		{"rediss://u:p@h:1", "", "rediss://u:p@h:1"},
		{"redis://a:1,b:2,c", "cluster", "redis://a:1?addr=b%3A2&addr=c%3A6379"},
		{"redis-cluster://a", "cluster", "redis://a:6379"},
		{"rediss-cluster://u:p@a,[::1]:7?pool_size=5", "cluster", "rediss://u:p@a:6379?pool_size=5&addr=%5B%3A%3A1%5D%3A7"},
		{"redis-sentinel://a,b:1/2?master_name=m", "sentinel", "redis://a:26379/2?master_name=m&addr=b%3A1"},
	} {
		mode, plain, err := normalize(c.in)
		require.NoError(t, err, c.in)
		require.Equal(t, c.mode, mode, c.in)
		require.Equal(t, c.plain, plain, c.in)
		client, err := connect(c.in)
		require.NoError(t, err, c.in)
		require.NoError(t, client.Close())
	}
	for _, bad := range []string{"", "h:1", "http://h", "redis-x://h", "redis://", "redis://a,,b", "redis://h/x",
		"redis-sentinel://a", "redis://h?nonsense=1"} {
		_, err := connect(bad)
		require.Error(t, err, bad)
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
