package asynqtasks

import (
	"log/slog"
	"testing"

	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/test/conformance"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// open opens a queue, which is closed after the test.
func open(t testing.TB, url string) *Queue {
	t.Helper()

	q, err := Open(url, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { _ = q.Close() })

	return q
}

// TestQueue_Conformance runs the suite for queues, with outages of Redis.
func TestQueue_Conformance(t *testing.T) {
	t.Parallel()
	conformance.Queue(
		t,
		func(t testing.TB) task.Queue { return open(t, kit.RedisURL(t)) },
		func(t testing.TB) (task.Queue, func(), func()) {
			redis := kit.OwnRedis(t)
			return open(t, redis.URL), redis.Kill, func() { require.NoError(t, redis.Start()) }
		},
	)
}

// TestQueue_Work_Conformance runs the suite for queues together with a store of tasks.
func TestQueue_Work_Conformance(t *testing.T) {
	t.Parallel()
	conformance.Work(t, func(t testing.TB) (adapters.Database, task.Queue) {
		return stores.Postgres(t, clock.System{}).Identity.Database, open(t, kit.RedisURL(t))
	})
}

// TestEnqueue_SameReferenceTwice_IsStoredOnce checks that a reference that is enqueued again,
// after an error whose outcome was unknown, does not fill Redis.
func TestEnqueue_SameReferenceTwice_IsStoredOnce(t *testing.T) {
	t.Parallel()

	q := open(t, kit.RedisURL(t))
	ref := task.Reference{Queue: task.Events, Kind: "greet", ID: "a", Enqueues: 1}
	require.NoError(t, q.Enqueue(t.Context(), ref, ref))
	require.NoError(t, q.Enqueue(t.Context(), ref))

	pending, err := asynq.NewInspectorFromRedisClient(q.redis).ListPendingTasks("locum-events")
	require.NoError(t, err)
	require.Len(t, pending, 1)
	require.Equal(t, "greet", pending[0].Type)
}

// TestQueue_SharedRedis_PrefixSeparates checks that two installations can use one Redis. A
// prefix must not contain braces and colons, which have a meaning in keys.
func TestQueue_SharedRedis_PrefixSeparates(t *testing.T) {
	t.Parallel()

	url := kit.RedisURL(t)
	one, two := open(t, url+"?prefix=north"), open(t, url+"?prefix=south")
	require.NoError(t, one.Enqueue(t.Context(), task.Reference{Queue: task.Mail, Kind: "greet", ID: "a"}))

	n, err := two.redis.LLen(t.Context(), "asynq:{north-mail}:pending").Result()
	require.NoError(t, err)
	require.EqualValues(t, 1, n)

	for _, bad := range []string{"?prefix=", "?prefix=a{b}", "?prefix=a:b"} {
		_, err := Open(url+bad, slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, "prefix")
	}
}
