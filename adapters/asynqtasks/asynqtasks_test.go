package asynqtasks

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/test/conformance"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

func open(t *testing.T, url string) *Queue {
	t.Helper()
	q, err := Open(url, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { _ = q.Close() })
	return q
}

func TestAsynqjobsIsAQueue(t *testing.T) {
	t.Parallel()
	conformance.Queue(t, func(t *testing.T) task.Queue { return open(t, kit.RedisURL(t)) })
}

func TestAsynqjobsCarriesWork(t *testing.T) {
	t.Parallel()
	conformance.Work(t, func(t *testing.T) (adapters.Storage, task.Queue) {
		return stores.Postgres(t, clock.System{}), open(t, kit.RedisURL(t))
	})
}

func TestATicketStandsInRedisOnce(t *testing.T) {
	t.Parallel()
	q := open(t, kit.RedisURL(t))
	ticket := task.Ticket{Class: task.Events, ID: "a", Turn: 1}
	require.NoError(t, q.Enqueue(t.Context(), ticket, ticket))
	require.NoError(t, q.Enqueue(t.Context(), ticket))
	n, err := q.redis.LLen(t.Context(), "asynq:{locum-events}:pending").Result()
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
}

func TestWithoutRedisEnqueuingFailsInTimeAndWorksAgainWhenItIsBack(t *testing.T) {
	t.Parallel()
	redis := kit.OwnRedis(t)
	q := open(t, redis.URL)
	came := make(chan task.Ticket, 10)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- q.Work(ctx, func(_ context.Context, got task.Ticket) { came <- got }) }()
	many := make([]task.Ticket, 200)
	for i := range many {
		many[i] = task.Ticket{Class: task.Events, ID: fmt.Sprint(i), Turn: 1}
	}
	redis.Kill()
	begun := time.Now()
	require.Error(t, q.Enqueue(t.Context(), many...))
	require.Less(t, time.Since(begun), 5*time.Second)
	require.NoError(t, redis.Start())
	again := task.Ticket{Class: task.Events, ID: "again", Turn: 1}
	require.Eventually(t, func() bool { return q.Enqueue(t.Context(), again) == nil }, 20*time.Second, 50*time.Millisecond)
	select {
	case <-came:
	case <-time.After(30 * time.Second):
		require.Fail(t, "the worker does not find back")
	}
	stop()
	require.NoError(t, <-done)
}

func TestAddressesOfSeveralHostsAreUnderstood(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a:1":                         "a:1",
		"u:p@a:1/2":                   "u:p@a:1/2",
		"a:1,b:2,c:3":                 "a:1?addr=b:2&addr=c:3",
		"a:1,b:2/0?master_name=m":     "a:1/0?master_name=m&addr=b:2",
		"u:p@a:1,b:2?read_timeout=1s": "u:p@a:1?read_timeout=1s&addr=b:2",
	} {
		require.Equal(t, want, moreHosts(in))
	}
	for _, odd := range []string{"redis://:s3c/ret@h:6379/0", "redis://u:s3c ret@h:6379", "redis-cluster://u:s3c/ret@h:1,i:2", "redis-sentinel://u:s3c/ret@h:1?master_name=m"} {
		_, err := Open(odd, slog.New(slog.DiscardHandler))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "s3c")
	}
	_, err := Open("redis-sentinel://a:1", slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "master_name")
}

func TestServicesThatShareARedisAreKeptApartByTheirPrefix(t *testing.T) {
	t.Parallel()
	url := kit.RedisURL(t)
	one, two := open(t, url+"?prefix=north"), open(t, url+"?prefix=south")
	require.NoError(t, one.Enqueue(t.Context(), task.Ticket{Class: task.Mail, ID: "a"}))
	n, err := two.redis.LLen(t.Context(), "asynq:{north-mail}:pending").Result()
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	for _, bad := range []string{"?prefix=", "?prefix=a{b}", "?prefix=a:b"} {
		_, err := Open(url+bad, slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, "prefix")
	}
}
