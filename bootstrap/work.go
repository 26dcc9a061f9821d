package bootstrap

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"go.uber.org/fx"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/trace"
)

// newRunner does the tasks of the house: the reactions to events, and what the
// modules do in the background and periodically.
func newRunner(c *config.Config, s adapters.Storage, q task.Queue, d adapters.Deps, table []event.Subscription, h handlers, p periods, n *taskMetrics, t trace.Tracer) (*task.Runner, error) {
	return task.NewRunner(task.Needs{
		Store: s.Identity.Tasks, Queue: q, Clock: d.Clock, Log: d.Log,
		Handlers: slices.Concat(event.Handlers(table), h), Periodic: append(p, retention(c, s, d)),
		Report: n.report, Trace: t,
	})
}

func newRelay(s adapters.Storage, r *task.Runner, table []event.Subscription, log *slog.Logger) *event.Relay {
	return event.NewRelay(event.RelayNeeds{Tx: s.Identity.Tx, Outbox: s.Identity.Outbox, Tasks: s.Identity.Tasks, Runner: r, Table: table, Log: log})
}

// forgetAtOnce is how many rows one transaction deletes.
const forgetAtOnce = 5_000

// feedRetention is how long changes of listings are kept. A search index that was
// not updated for longer is rebuilt.
const feedRetention = 7 * 24 * time.Hour

// retention deletes the rows of finished work.
func retention(c *config.Config, s adapters.Storage, d adapters.Deps) task.Periodic {
	return task.Periodic{Kind: "storage.forget", Every: 10 * time.Minute, Longest: 5 * time.Minute, Do: func(ctx context.Context) error {
		var failed []error
		for _, forget := range []func() (int, error){
			func() (int, error) {
				return s.Identity.Outbox.Forget(ctx, d.Clock.Now().Add(-c.Retention.Events), forgetAtOnce)
			},
			func() (int, error) {
				return s.Identity.Tasks.Forget(ctx, d.Clock.Now().Add(-c.Retention.Tasks), forgetAtOnce)
			},
			func() (int, error) { return s.Identity.Idempotency.DeleteExpired(ctx, forgetAtOnce) },
			func() (int, error) {
				return s.Listings.Feed.DeleteChangesBefore(ctx, d.Clock.Now().Add(-feedRetention), forgetAtOnce)
			},
			func() (int, error) {
				return s.Identity.AuditLog.DeleteBefore(ctx, d.Clock.Now().Add(-audit.Keep), forgetAtOnce)
			},
		} {
			for {
				n, err := forget()
				if err != nil {
					failed = append(failed, err)
				}
				if err != nil || n < forgetAtOnce {
					break
				}
			}
		}
		return errors.Join(failed...)
	}}
}

// queueAgain is the pause before a queue that would not work is asked again.
const queueAgain = 2 * time.Second

// work is what goes on in the background while the context lives.
type work struct {
	ctx context.Context //nolint:containedctx // the work lives as long as the process, not as long as a call
	end context.CancelFunc
}

func newWork() *work {
	ctx, end := context.WithCancel(context.Background())
	return &work{ctx, end}
}

// endWork is the last in the list, so that it is the first to stop: nothing new
// is begun while the last requests are answered.
func endWork(lc fx.Lifecycle, w *work) {
	lc.Append(fx.Hook{OnStop: func(context.Context) error { w.end(); return nil }})
}

// What was left to do when the process started is mostly done at once, the mails
// of the demo data for one: it is waited for that long, and looked at so often,
// before the address is printed, which what it logs would push out of sight.
const (
	settleWithin = 3 * time.Second
	settleGlance = 100 * time.Millisecond
)

// settle waits until nothing is left to do, but not for long.
func settle(ctx context.Context, s adapters.Storage) {
	ctx, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	for {
		unsent, _, err := s.Identity.Outbox.Lag(ctx)
		open, wrong := s.Identity.Tasks.Backlog(ctx)
		now := time.Now()
		due := slices.ContainsFunc(open, func(b task.Backlog) bool { return b.State == task.Running || !b.Oldest.After(now) })
		if err != nil || wrong != nil || unsent == 0 && !due {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(settleGlance):
		}
	}
}

// runWork does what happens without a request.
func runWork(lc fx.Lifecycle, a *app, r role, w *work, s adapters.Storage, relay *event.Relay, runner *task.Runner, log *slog.Logger) {
	a.storage = s
	if !r.works {
		return
	}
	ctx := w.ctx
	var running sync.WaitGroup
	lc.Append(fx.Hook{
		OnStart: func(context.Context) error {
			running.Go(func() { relay.Run(ctx) })
			running.Go(func() {
				for ctx.Err() == nil {
					if err := runner.Work(ctx); err != nil {
						log.Error("the queue stopped, asking it again", "error", err)
						select {
						case <-ctx.Done():
						case <-time.After(queueAgain):
						}
					}
				}
			})
			return nil
		},
		OnStop: func(context.Context) error {
			w.end()
			running.Wait()
			return nil
		},
	})
}
