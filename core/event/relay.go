package event

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/tx"
)

// Relay relays recorded events: it claims them, adds a task for each subscription to
// their type, and marks them sent in the same transaction. Several relays may read one
// outbox.
type Relay struct {
	RelayDeps
	byType map[string][]Subscription
	// claiming serializes the claims of this process, by source, so that each sees
	// the leases of the others.
	claiming []sync.Mutex
}

// Source is an outbox, with the transaction runner and tasks of its database.
type Source struct {
	Tx     tx.Runner
	Outbox Outbox
	Tasks  task.Executor
}

// RelayDeps are the dependencies of a Relay.
type RelayDeps struct {
	Sources []Source
	Runner  *task.Runner
	Table   []Subscription
	Log     *slog.Logger
}

// A relay is notified of commits. It also polls, for lost notifications and for events
// that other programs record.
const (
	relayBatch = 1000
	relayLease = 30 * time.Second
	relayPoll  = 1500 * time.Millisecond
)

// NewRelay returns a relay for the subscriptions in the table.
func NewRelay(d RelayDeps) *Relay {
	r := &Relay{RelayDeps: d, byType: map[string][]Subscription{}, claiming: make([]sync.Mutex, len(d.Sources))}
	for _, s := range d.Table {
		r.byType[s.Type] = append(r.byType[s.Type], s)
	}
	return r
}

// Handlers returns the handlers of the tasks that a relay adds for the table.
func Handlers(table []Subscription) []task.Handler {
	return list.Map(table, func(s Subscription) task.Handler { return task.Handle(s.Name, s.Queue, s.React) })
}

// Run relays events and enqueues due tasks until ctx is done. Outboxes and tasks are
// served concurrently, so that many events do not delay tasks.
func (r *Relay) Run(ctx context.Context) {
	due := make(chan struct{}, 1)
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		for r.wait(ctx, due) {
			if err := r.Runner.Sweep(ctx); err != nil && ctx.Err() == nil {
				r.Log.Warn("failed to enqueue due tasks; will retry", "error", err)
			}
		}
	})
	for i := range r.Sources {
		running.Go(func() {
			notified := r.Sources[i].Outbox.Notifications(ctx)
			for {
				select {
				case due <- struct{}{}:
				default: // a sweep is due already
				}
				r.drain(ctx, i)
				if !r.wait(ctx, notified) {
					return
				}
			}
		})
	}
}

// wait waits for a notification or the next poll. It returns false when ctx is
// done.
func (r *Relay) wait(ctx context.Context, notified <-chan struct{}) bool {
	select {
	case <-ctx.Done():
	case <-notified:
	case <-time.After(relayPoll):
	}
	return ctx.Err() == nil
}

// drain relays all events of a source. It claims a batch while the previous one is
// relayed.
func (r *Relay) drain(ctx context.Context, source int) {
	var draining sync.WaitGroup
	for range 2 {
		draining.Go(func() {
			for ctx.Err() == nil {
				n, err := r.drainBatch(ctx, source)
				if err != nil && ctx.Err() == nil {
					r.Log.Warn("outbox relay failed; will retry", "error", err)
				}
				if err != nil || n < relayBatch {
					return
				}
			}
		})
	}
	draining.Wait()
}

// Drain relays one batch of each source and returns the number of events. If only the
// queue fails, the events are relayed although Drain returns an error.
func (r *Relay) Drain(ctx context.Context) (total int, err error) {
	for i := range r.Sources {
		n, failed := r.drainBatch(ctx, i)
		total, err = total+n, errors.Join(err, failed)
	}
	return total, err
}

func (r *Relay) drainBatch(ctx context.Context, source int) (int, error) {
	// An unreachable server must not block the relay.
	ctx, cancel := context.WithTimeout(ctx, relayLease/2)
	defer cancel()
	from := r.Sources[source]
	r.claiming[source].Lock()
	batch, err := from.Outbox.Claim(ctx, relayBatch, relayLease)
	r.claiming[source].Unlock()
	if err != nil || len(batch) == 0 {
		return 0, err
	}
	var tasks []task.Task
	ids := make([]string, len(batch))
	for i, e := range batch {
		ids[i] = e.ID
		payload, err := json.Marshal(e)
		if err != nil {
			return 0, err
		}
		for _, s := range r.byType[e.Type] {
			tasks = append(tasks, task.Task{Kind: s.Name, Queue: s.Queue, Key: e.ID + "/" + s.Name, Payload: payload, Trace: e.Trace})
		}
	}
	var refs []task.Reference
	err = from.Tx.Do(ctx, func(ctx context.Context) (err error) {
		if refs, err = from.Tasks.AddAndReserve(ctx, tasks...); err != nil {
			return err
		}
		return from.Outbox.MarkSent(ctx, ids...)
	})
	if err != nil {
		return 0, err
	}
	return len(batch), r.Runner.Enqueue(ctx, refs)
}
