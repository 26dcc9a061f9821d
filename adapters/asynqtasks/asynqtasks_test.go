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

// open opens a queue in the Redis with the URL and closes it after the test.
func open(t testing.TB, url string) *Queue {
	t.Helper()

	q, err := Open(url, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { _ = q.Close() })

	return q
}

// A queue of this package keeps references to tasks in Redis, in the lists of the library Asynq. A store keeps the tasks
// themselves.

// TestQueue_Conformance runs the suite for queues, with outages of Redis.
func TestQueue_Conformance(t *testing.T) {
	t.Parallel()

	openQueue := func(t testing.TB) task.Queue { return open(t, kit.RedisURL(t)) }

	// The queue with outages has a Redis of its own, since other tests use the shared one.
	openWithOutages := func(t testing.TB) (queue task.Queue, beginOutage, endOutage func()) {
		redis := kit.OwnRedis(t)
		return open(t, redis.URL), redis.Kill, func() { require.NoError(t, redis.Start()) }
	}

	conformance.Queue(t, openQueue, openWithOutages)
}

// TestQueue_Work_Conformance runs the suite for a queue together with a store of tasks. The queue has only references
// to tasks, and the store, here PostgreSQL, has the tasks themselves.
func TestQueue_Work_Conformance(t *testing.T) {
	t.Parallel()
	conformance.Work(t, func(t testing.TB) (adapters.Database, task.Queue) {
		return stores.Postgres(t, clock.System{}).Identity.Database, open(t, kit.RedisURL(t))
	})
}

// TestEnqueue_SameReferenceTwice_IsStoredOnce checks that Redis stores a reference to a task once, even if it is
// enqueued several times. A caller enqueues a reference again after an error that leaves open whether it was stored.
func TestEnqueue_SameReferenceTwice_IsStoredOnce(t *testing.T) {
	t.Parallel()

	// Enqueue the reference twice in one call, and again in another call.
	queue := open(t, kit.RedisURL(t))
	reference := task.Reference{Queue: task.Events, Kind: "greet", ID: "a", Enqueues: 1}
	require.NoError(t, queue.Enqueue(t.Context(), reference, reference))
	require.NoError(t, queue.Enqueue(t.Context(), reference))

	// In Asynq, the queue has the name of task.Events after the default prefix locum.
	pending, err := asynq.NewInspectorFromRedisClient(queue.redis).ListPendingTasks("locum-events")
	require.NoError(t, err)
	require.Len(t, pending, 1)
	require.Equal(t, "greet", pending[0].Type)
}

// TestQueue_SharedRedis_PrefixSeparates checks that two installations can use one Redis with different prefixes. A
// prefix is a part of the keys in Redis. It must not be empty, and it must not contain braces and colons, which have a
// meaning in keys.
func TestQueue_SharedRedis_PrefixSeparates(t *testing.T) {
	t.Parallel()

	url := kit.RedisURL(t)
	north, south := open(t, url+"?prefix=north"), open(t, url+"?prefix=south")
	require.NoError(t, north.Enqueue(t.Context(), task.Reference{Queue: task.Mail, Kind: "greet", ID: "a"}))

	// The key of the list of tasks has the prefix of the installation north. The client of the other one can read any
	// key of the same Redis.
	waiting, err := south.redis.LLen(t.Context(), "asynq:{north-mail}:pending").Result()
	require.NoError(t, err)
	require.EqualValues(t, 1, waiting)

	// Invalid prefixes.
	for _, invalid := range []string{"?prefix=", "?prefix=a{b}", "?prefix=a:b"} {
		_, err := Open(url+invalid, slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, "prefix", invalid)
	}
}
