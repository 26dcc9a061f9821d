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

// countingQueue is a queue that counts the tasks that it accepts and executes none.
type countingQueue struct{ accepted atomic.Int64 }

// Enqueue implements task.Queue.
func (q *countingQueue) Enqueue(_ context.Context, refs ...task.Reference) error {
	q.accepted.Add(int64(len(refs)))
	return nil
}

// Work implements task.Queue.
func (q *countingQueue) Work(ctx context.Context, _ func(context.Context, task.Reference)) error {
	<-ctx.Done()
	return nil
}

// Embedded implements task.Queue.
func (*countingQueue) Embedded() bool { return true }

// asynqRate returns the number of tasks per second that Asynq processes without the product, which
// is the reference. Sixteen clients enqueue tasks that do nothing. Meanwhile, workers process them,
// as many as the product has for events.
func asynqRate(b *testing.B, tasks int64) float64 {
	b.Helper()

	options, err := goredis.ParseURL(kit.RedisURL(b))
	require.NoError(b, err)

	redis := goredis.NewClient(options)
	defer func() { _ = redis.Close() }()

	client := asynq.NewClientFromRedisClient(redis)
	server := asynq.NewServerFromRedisClient(redis, asynq.Config{
		Concurrency: task.Workers[task.Events],
		LogLevel:    asynq.FatalLevel,
	})
	var processed atomic.Int64
	allProcessed := make(chan struct{})

	require.NoError(b, server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		if processed.Add(1) == tasks {
			close(allProcessed)
		}

		return nil
	})))
	defer server.Shutdown()

	const enqueuers = 16
	var enqueuing sync.WaitGroup
	var enqueued atomic.Int64
	start := time.Now()

	for range enqueuers {
		enqueuing.Go(func() {
			for enqueued.Add(1) <= tasks {
				if _, err := client.Enqueue(asynq.NewTask("job", []byte("x")), asynq.MaxRetry(0)); err != nil {
					b.Error(err)
				}
			}
		})
	}

	enqueuing.Wait()
	<-allProcessed

	return float64(tasks) / time.Since(start).Seconds()
}

// recordEvents records n events in the outbox, in transactions of 1000.
func recordEvents(b *testing.B, storage adapters.Storage, n int) {
	b.Helper()

	const perTransaction = 1000
	for recorded := 0; recorded < n; recorded += perTransaction {
		events := make([]event.Event, perTransaction)
		for i := range events {
			events[i] = event.JobCreated{JobID: stores.NewID(), OrganizationID: stores.NewID()}
		}

		require.NoError(b, storage.Identity.Tx.Do(b.Context(), func(ctx context.Context) error {
			return storage.Identity.Events.Record(ctx, events...)
		}))
	}
}

// newRelay returns a relay, which enqueues a task for each event and subscription of the table, and
// the runner that executes the tasks of the queue.
func newRelay(
	b *testing.B, storage adapters.Storage, queue task.Queue, table []event.Subscription,
) (*event.Relay, *task.Runner) {
	b.Helper()

	log := slog.New(slog.DiscardHandler)
	runner, err := task.NewRunner(task.Deps{
		Store:    storage.Identity.Tasks,
		Queue:    queue,
		Clock:    clock.System{},
		Log:      log,
		Handlers: event.Handlers(table),
	})
	require.NoError(b, err)

	source := event.Source{Tx: storage.Identity.Tx, Outbox: storage.Identity.Outbox, Tasks: storage.Identity.Tasks}
	relay := event.NewRelay(event.RelayDeps{Sources: []event.Source{source}, Runner: runner, Table: table, Log: log})

	return relay, runner
}

// BenchmarkOutbox measures how many events per second the relay takes from the outbox, enqueues as
// tasks and marks as sent. The second benchmark also executes the tasks. The reference is Asynq
// without the product, with as many tasks.
func BenchmarkOutbox(b *testing.B) {
	const events = 20_000    // in each round
	var handled atomic.Int64 // over all rounds
	table := []event.Subscription{event.On("nothing", func(context.Context, event.JobCreated) error {
		handled.Add(1)
		return nil
	})}
	// report reports the rates of the product and of the reference, each summed over all rounds.
	report := func(b *testing.B, ourRates, referenceRates float64) {
		b.Helper()
		b.ReportMetric(ourRates/rounds, "events/s")
		b.ReportMetric(referenceRates/rounds, "asynq-tasks/s")
		b.ReportMetric(ourRates/referenceRates, "of-reference")
		b.ReportMetric(0, "ns/op") // removes the metric, which means nothing here
	}

	b.Run("into a queue that only counts", func(b *testing.B) {
		storage := stores.Postgres(b, clock.System{})

		var ourRates, referenceRates float64
		for range rounds {
			recordEvents(b, storage, events)
			var queue countingQueue
			relay, _ := newRelay(b, storage, &queue, table)
			ctx, stop := context.WithCancel(context.Background())
			var running sync.WaitGroup
			start := time.Now()

			running.Go(func() { relay.Run(ctx) })
			require.Eventually(b, func() bool { return queue.accepted.Load() == events }, time.Minute, time.Millisecond)

			ourRates += events / time.Since(start).Seconds()

			stop()
			running.Wait()

			referenceRates += asynqRate(b, events)
		}

		report(b, ourRates, referenceRates)
	})

	b.Run("through Asynq until handled", func(b *testing.B) {
		storage := stores.Postgres(b, clock.System{})

		var ourRates, referenceRates float64
		for round := range rounds {
			queue, err := asynqtasks.Open(kit.RedisURL(b), slog.New(slog.DiscardHandler))
			require.NoError(b, err)

			relay, runner := newRelay(b, storage, queue, table)
			ctx, stop := context.WithCancel(context.Background())
			var running sync.WaitGroup

			recordEvents(b, storage, events)
			running.Go(func() { _ = runner.Work(ctx) })

			start := time.Now()

			running.Go(func() { relay.Run(ctx) })

			wantHandled := int64((round + 1) * events)
			require.Eventually(b, func() bool { return handled.Load() == wantHandled }, time.Minute, time.Millisecond)
			require.Eventually(b, func() bool {
				backlog, err := storage.Identity.Tasks.Backlog(b.Context())
				return err == nil && len(backlog) == 0
			}, time.Minute, time.Millisecond, "the tasks are not recorded as done")

			ourRates += events / time.Since(start).Seconds()

			stop()
			running.Wait()

			_ = queue.Close()
			referenceRates += asynqRate(b, events)
		}

		report(b, ourRates, referenceRates)
	})
}
