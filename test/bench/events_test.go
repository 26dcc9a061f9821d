package bench

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/asynqtasks"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// countingQueue is a queue that counts the tasks that it accepts.
type countingQueue struct{ n atomic.Int64 }

func (q *countingQueue) Enqueue(_ context.Context, tickets ...task.Reference) error {
	q.n.Add(int64(len(tickets)))
	return nil
}

func (q *countingQueue) Work(ctx context.Context, _ func(context.Context, task.Reference)) error {
	<-ctx.Done()
	return nil
}

func (*countingQueue) Embedded() bool { return true }

// asynqAlone returns the rate of Asynq with empty tasks, enqueued by sixteen clients and processed
// at the same time by the number of workers that event handlers have.
func asynqAlone(b *testing.B, tasks int) float64 {
	b.Helper()
	opt, err := goredis.ParseURL(kit.RedisURL(b))
	require.NoError(b, err)
	redis := goredis.NewClient(opt)
	defer func() { _ = redis.Close() }()
	client := asynq.NewClientFromRedisClient(redis)
	server := asynq.NewServerFromRedisClient(redis, asynq.Config{Concurrency: task.Workers[task.Events], LogLevel: asynq.FatalLevel})
	var done atomic.Int64
	rates := make(chan struct{})
	require.NoError(b, server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		if done.Add(1) == int64(tasks) {
			close(rates)
		}
		return nil
	})))
	defer server.Shutdown()
	begun := time.Now()
	var sending sync.WaitGroup
	var n atomic.Int64
	for range 16 {
		sending.Go(func() {
			for i := n.Add(1); i <= int64(tasks); i = n.Add(1) {
				if _, err := client.Enqueue(asynq.NewTask("job", []byte("x")), asynq.MaxRetry(0)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	sending.Wait()
	<-rates
	return float64(tasks) / time.Since(begun).Seconds()
}

func recordEvents(b *testing.B, storage adapters.Storage, n int) {
	b.Helper()
	for done := 0; done < n; done += 1000 {
		events := make([]event.Event, 1000)
		for i := range events {
			events[i] = event.JobCreated{JobID: stores.NewID(), OrganizationID: stores.NewID()}
		}
		require.NoError(
			b,
			storage.Identity.Tx.Do(b.Context(), func(ctx context.Context) error { return storage.Identity.Events.Record(ctx, events...) }),
		)
	}
}

// BenchmarkOutbox measures the events per second that the outbox relays: claimed, fanned out and
// marked as sent, first into a queue that only counts, then through Asynq until each reaction is
// recorded as done. The limit is Asynq alone.
func BenchmarkOutbox(b *testing.B) {
	const events, tasks = 20_000, 20_000
	log := slog.New(slog.DiscardHandler)
	var reacted atomic.Int64
	table := []event.Subscription{event.On("nothing", func(context.Context, event.JobCreated) error { reacted.Add(1); return nil })}
	relay := func(b *testing.B, storage adapters.Storage, q task.Queue) (*event.Relay, *task.Runner) {
		b.Helper()
		runner, err := task.NewRunner(
			task.Deps{Store: storage.Identity.Tasks, Queue: q, Clock: clock.System{}, Log: log, Handlers: event.Handlers(table)},
		)
		require.NoError(b, err)
		return event.NewRelay(
			event.RelayDeps{
				Sources: []event.Source{{Tx: storage.Identity.Tx, Outbox: storage.Identity.Outbox, Tasks: storage.Identity.Tasks}},
				Runner:  runner,
				Table:   table,
				Log:     log,
			},
		), runner
	}
	report := func(b *testing.B, ours, limit float64) {
		b.Helper()
		b.ReportMetric(ours, "events/s")
		b.ReportMetric(limit, "asynq-tasks/s")
		b.ReportMetric(ours/limit, "of-limit")
		b.ReportMetric(0, "ns/op")
	}
	b.Run("drained", func(b *testing.B) {
		storage := stores.Postgres(b, clock.System{})
		var ours, limit float64
		for range rounds {
			recordEvents(b, storage, events)
			var q countingQueue
			r, _ := relay(b, storage, &q)
			ctx, stop := context.WithCancel(context.Background())
			var working sync.WaitGroup
			begun := time.Now()
			working.Go(func() { r.Run(ctx) })
			require.Eventually(b, func() bool { return q.n.Load() == events }, time.Minute, time.Millisecond)
			ours += events / time.Since(begun).Seconds()
			stop()
			working.Wait()
			limit += asynqAlone(b, tasks)
		}
		report(b, ours/rounds, limit/rounds)
	})
	b.Run("through Asynq", func(b *testing.B) {
		storage := stores.Postgres(b, clock.System{})
		var ours, limit float64
		for round := range rounds {
			q, err := asynqtasks.Open(kit.RedisURL(b), log)
			require.NoError(b, err)
			r, runner := relay(b, storage, q)
			ctx, stop := context.WithCancel(context.Background())
			var working sync.WaitGroup
			recordEvents(b, storage, events)
			working.Go(func() { _ = runner.Work(ctx) })
			begun := time.Now()
			working.Go(func() { r.Run(ctx) })
			require.Eventually(b, func() bool { return reacted.Load() == int64((round+1)*events) }, time.Minute, time.Millisecond)
			require.Eventually(b, func() bool {
				left, err := storage.Identity.Tasks.Backlog(b.Context())
				return err == nil && len(left) == 0
			}, time.Minute, time.Millisecond)
			ours += events / time.Since(begun).Seconds()
			stop()
			working.Wait()
			_ = q.Close()
			limit += asynqAlone(b, tasks)
		}
		report(b, ours/rounds, limit/rounds)
	})
}
