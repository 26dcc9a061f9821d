package bootstrap

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"go.uber.org/fx"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/idempotency"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/trace"
	"github.com/locumhq/locum/modules/listings"
)

// newRunner returns the runner of all tasks: event handlers, and the background and
// periodic work of the modules.
func newRunner(
	cfg *config.Config,
	store *storage,
	queue task.Queue,
	deps adapters.Deps,
	subscriptions []event.Subscription,
	handlers handlers,
	periodic periodicTasks,
	metrics *taskMetrics,
	tracer trace.Tracer,
) (*task.Runner, error) {
	return task.NewRunner(task.Deps{
		Store:    store.tasks(),
		Queue:    queue,
		Clock:    deps.Clock,
		Log:      deps.Log,
		Handlers: slices.Concat(event.Handlers(subscriptions), handlers),
		Periodic: append(periodic, deleteExpired(cfg, store, deps)),
		Report:   metrics.report,
		Trace:    tracer,
	})
}

// newRelay returns the relay. A module records its events in the outbox, a table of its database. The
// relay reads the outboxes and creates a task for each subscription to an event. The tasks are stored
// in the database of the event, or with module identity if that database stores no tasks.
func newRelay(store *storage, runner *task.Runner, subscriptions []event.Subscription, log *slog.Logger) *event.Relay {
	sources := make([]event.Source, len(store.databases))
	for i, db := range store.databases {
		sources[i] = event.Source{Tx: db.Tx, Outbox: db.Outbox, Tasks: db.Tasks}
		if db.Tasks == nil {
			sources[i].Tasks = store.Identity.Tasks
		}
	}

	return event.NewRelay(event.RelayDeps{Sources: sources, Runner: runner, Table: subscriptions, Log: log})
}

const (
	// deletedAtOnce is the maximum number of rows that one statement deletes.
	deletedAtOnce = 5_000
	// keepFeedChanges is how long changes of listings, from which search indexes are
	// updated, are stored. A search index that was not updated for longer is rebuilt.
	keepFeedChanges = 7 * 24 * time.Hour
	// keepDeadTasks is how much longer dead tasks, of which all attempts have failed, are
	// stored than those that are done: an operator may retry them.
	keepDeadTasks = 90 * 24 * time.Hour
)

// deleteExpired returns the periodic task that deletes expired rows in every database that stores them.
func deleteExpired(cfg *config.Config, store *storage, deps adapters.Deps) task.Periodic {
	// How old rows of each kind become.
	maxAges := map[retention.Kind]time.Duration{
		event.Sent:           cfg.Retention.Events,
		task.DoneTasks:       cfg.Retention.Tasks,
		task.DeadTasks:       cfg.Retention.Tasks + keepDeadTasks,
		idempotency.Keys:     0, // a key is stored with the time at which it expires
		audit.Entries:        audit.Keep,
		listings.FeedChanges: keepFeedChanges,
		listings.Visits:      listings.KeepVisits,
	}

	return task.Periodic{
		Kind:    "storage.forget",
		Every:   10 * time.Minute,
		Timeout: 5 * time.Minute,
		Do: func(ctx context.Context) error {
			var errs []error // nil for each deletion that succeeded
			for kind, maxAge := range maxAges {
				for _, db := range store.databases {
					if db.Retention != nil && db.stores(kind) {
						errs = append(errs, deleteAllBefore(ctx, db.Retention, kind, deps.Clock.Now().Add(-maxAge)))
					}
				}
			}

			return errors.Join(errs...)
		},
	}
}

// deleteAllBefore deletes the rows of the kind that are older than the time. It deletes in batches, so
// that no transaction locks many rows.
func deleteAllBefore(ctx context.Context, rows retention.Store, kind retention.Kind, before time.Time) error {
	for {
		deleted, err := rows.DeleteBefore(ctx, kind, before, deletedAtOnce)
		if wasLast := deleted < deletedAtOnce; err != nil || wasLast {
			return err
		}
	}
}

// queueRetryDelay is the pause before a failed queue is used again.
const queueRetryDelay = 2 * time.Second

// work is the context of background work. The relay and the runner end when it is done.
type work struct {
	ctx context.Context //nolint:containedctx // lives as long as the process, not as long as a call
	end context.CancelFunc
}

// newWork returns work whose context lasts until endWork ends it.
func newWork() *work {
	ctx, end := context.WithCancel(context.Background())
	return &work{ctx, end}
}

// endWork ends the work at the stop of the process. newApp invokes it last. The process stops in the
// reverse order, so the work ends first, and no new work begins while the last requests complete.
func endWork(lc fx.Lifecycle, w *work) {
	lc.Append(fx.StopHook(w.end))
}

// The start waits for a short time until the work that is due is done, such as sending the mails of the demo data. Then
// the log lines of this work come first, and the address of the server is printed at the end of the output.
const (
	idleTimeout = 3 * time.Second
	idlePoll    = 100 * time.Millisecond
)

// waitIdle waits, for idleTimeout at most, until no event is unsent and no task is due.
func waitIdle(ctx context.Context, store *storage) {
	ctx, cancel := context.WithTimeout(ctx, idleTimeout)
	defer cancel()

	runEvery(ctx, idlePoll, func() {
		unsent, _, err := store.lag(ctx)
		backlog, backlogErr := store.tasks().Backlog(ctx)
		now := time.Now()

		isDue := func(b task.Backlog) bool { return b.State == task.Running || !b.Oldest.After(now) }
		isIdle := unsent == 0 && !slices.ContainsFunc(backlog, isDue)

		// After an error, the start does not wait either.
		if err != nil || backlogErr != nil || isIdle {
			cancel() // ends runEvery
		}
	})
}

// assignWork determines whether the process executes tasks. An embedded queue is in the memory of the process that
// serves, so that this process executes the tasks, and a worker has nothing to execute. Other queues are shared
// with workers, which execute the tasks. assignWork is the first function that newApp invokes, so that a worker
// without tasks fails before it opens a database.
func assignWork(a *app, cfg *config.Config, r role, queue task.Queue) error {
	isWorker := !r.serves
	if isWorker && queue.Embedded() {
		return cfg.Err(
			"queue.url",
			"`locum serve` executes the tasks of this embedded queue; `locum worker` needs redis://… or another queue that processes share",
		)
	}

	a.works = isWorker || queue.Embedded()

	return nil
}

// runWork runs the relay and the runner until endWork ends their context.
func runWork(lc fx.Lifecycle, a *app, w *work, store *storage, relay *event.Relay, runner *task.Runner, log *slog.Logger) {
	a.storage = store
	if !a.works {
		return
	}

	// run runs fn with the context of the work, which endWork ends. If the start of the process has failed, endWork is
	// not called. Then the end of the background context ends the work.
	run := func(fn func(ctx context.Context)) {
		runInBackground(lc, func(ctx context.Context) {
			stopWaiting := context.AfterFunc(ctx, w.end)
			defer stopWaiting()

			fn(w.ctx)
		})
	}

	run(relay.Run)

	run(func(ctx context.Context) {
		runEvery(ctx, queueRetryDelay, func() {
			if err := runner.Work(ctx); err != nil {
				log.Error("queue failed; will retry", "error", err)
			}
		})
	})
}
