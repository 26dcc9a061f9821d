package heavy

import (
	"crypto/rand"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/asynqtasks"
	"github.com/locumhq/locum/adapters/locallimit"
	"github.com/locumhq/locum/adapters/redislimit"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/test/conformance"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// TestRedisCluster_Queue_Conformance runs the suites for queues on a Redis cluster, where the
// keys of a command must be in one slot.
func TestRedisCluster_Queue_Conformance(t *testing.T) {
	skipUnlessHeavy(t)

	url := kit.RedisCluster(t)

	// A cluster has no numbered databases; each test has its own prefix.
	open := func(t testing.TB) task.Queue {
		t.Helper()

		q, err := asynqtasks.Open(url+"?prefix="+rand.Text(), slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		t.Cleanup(func() { _ = q.Close() })

		return q
	}

	t.Run("queue", func(t *testing.T) { conformance.Queue(t, open) })

	t.Run("work", func(t *testing.T) {
		conformance.Work(t, func(t testing.TB) (adapters.Database, task.Queue) {
			return stores.Postgres(t, clock.System{}).Identity.Database, open(t)
		})
	})
}

// TestRedisCluster_Limiter_IsExact runs the suite for limiters on a Redis cluster. With the
// default time limit of a Redis call, a busy machine could switch to the local limiter.
func TestRedisCluster_Limiter_IsExact(t *testing.T) {
	skipUnlessHeavy(t)

	url := kit.RedisCluster(t)
	conformance.Limiter(t, func(t testing.TB, clk clock.Clock) limit.Limiter {
		l, err := redislimit.Open(
			url+"?prefix="+rand.Text(),
			locallimit.New(clk),
			slog.New(slog.DiscardHandler),
			redislimit.WithClock(clk),
			redislimit.WithBound(time.Minute),
		)
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })

		return l
	})
}
