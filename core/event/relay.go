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

// Relay relays recorded events. It claims events in an outbox, the table of recorded events. In one
// transaction it adds a task for each subscription to their type, and marks the events as sent.
// Several processes may relay the events of one outbox.
type Relay struct {
	RelayDeps
	subscriptionsByType map[string][]Subscription
	// claimLocks serializes the claims of this process, by source. Simultaneous claims
	// could break the order of the events of a subject (see Outbox.Claim).
	claimLocks []sync.Mutex
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
	Table   []Subscription // all subscriptions
	Log     *slog.Logger
}

const (
	// relayBatch is the maximum number of events that one transaction relays.
	relayBatch = 1000
	// relayLease is the time for which claimed events belong to a relay. If its process is
	// killed, another relay claims them when the lease ends.
	relayLease = 30 * time.Second
	// relayPoll is the polling interval. A relay is notified of commits, but has to poll
	// for lost notifications and for events that other programs record.
	relayPoll = 1500 * time.Millisecond
)

// NewRelay returns a relay for the subscriptions in the table.
func NewRelay(d RelayDeps) *Relay {
	r := &Relay{RelayDeps: d, subscriptionsByType: map[string][]Subscription{}, claimLocks: make([]sync.Mutex, len(d.Sources))}
	for _, s := range d.Table {
		r.subscriptionsByType[s.Type] = append(r.subscriptionsByType[s.Type], s)
	}

	return r
}

// Handlers returns the task handlers of the subscriptions in the table.
func Handlers(table []Subscription) []task.Handler {
	return list.Map(table, func(s Subscription) task.Handler { return task.Handle(s.Name, s.Queue, s.React) })
}

// Run relays events and enqueues due tasks until ctx is done. Each outbox and the tasks
// have their own goroutine, so that many events do not delay tasks.
func (r *Relay) Run(ctx context.Context) {
	// A sweep enqueues the due tasks. A notification of an outbox may also be about a new task, so
	// the goroutines of the outboxes request sweeps.
	sweepRequests := make(chan struct{}, 1)

	var running sync.WaitGroup
	defer running.Wait()

	running.Go(func() {
		for r.wait(ctx, sweepRequests) {
			if err := r.Runner.Sweep(ctx); err != nil && ctx.Err() == nil {
				r.Log.Warn("failed to enqueue due tasks; will retry", "error", err)
			}
		}
	})

	for i := range r.Sources {
		running.Go(func() {
			notifications := r.Sources[i].Outbox.Notifications(ctx)
			for {
				select {
				case sweepRequests <- struct{}{}:
				default: // a sweep is already requested
				}

				r.drain(ctx, i)

				if !r.wait(ctx, notifications) {
					return
				}
			}
		})
	}
}

// wait waits for a notification, or for the next poll. It returns false when ctx is done.
func (r *Relay) wait(ctx context.Context, notifications <-chan struct{}) bool {
	select {
	case <-ctx.Done():
	case <-notifications:
	case <-time.After(relayPoll):
	}

	return ctx.Err() == nil
}

// drain relays all events of a source, batch by batch. Two goroutines take turns: one claims a batch
// while the other writes the tasks of its batch.
func (r *Relay) drain(ctx context.Context, source int) {
	var draining sync.WaitGroup

	const drainers = 2
	for range drainers {
		draining.Go(func() {
			for ctx.Err() == nil {
				relayed, err := r.drainBatch(ctx, source)
				if err != nil && ctx.Err() == nil {
					r.Log.Warn("outbox relay failed; will retry", "error", err)
				}

				isLastBatch := relayed < relayBatch
				if err != nil || isLastBatch {
					return
				}
			}
		})
	}

	draining.Wait()
}

// Drain relays one batch of each source and returns the number of relayed events. It
// returns an error also if events were relayed and only the queue was unavailable.
func (r *Relay) Drain(ctx context.Context) (total int, err error) {
	for i := range r.Sources {
		relayed, batchErr := r.drainBatch(ctx, i)
		total, err = total+relayed, errors.Join(err, batchErr)
	}

	return total, err
}

// drainBatch relays one batch of the source with the index i, and enqueues the added tasks.
func (r *Relay) drainBatch(ctx context.Context, i int) (relayed int, err error) {
	// The timeout ends before the lease of the batch does, so that no other relay has the events.
	ctx, cancel := context.WithTimeout(ctx, relayLease/2)
	defer cancel()

	source := r.Sources[i]
	r.claimLocks[i].Lock()
	batch, err := source.Outbox.Claim(ctx, relayBatch, relayLease)
	r.claimLocks[i].Unlock()

	if err != nil || len(batch) == 0 {
		return 0, err
	}

	tasks, err := r.newTasks(batch)
	if err != nil {
		return 0, err
	}

	var refs []task.Reference // to the added tasks

	err = source.Tx.Do(ctx, func(ctx context.Context) (err error) {
		if refs, err = source.Tasks.AddAndReserve(ctx, tasks...); err != nil {
			return err
		}

		ids := list.Map(batch, func(e Envelope) string { return e.ID })

		return source.Outbox.MarkSent(ctx, ids...)
	})
	if err != nil {
		return 0, err
	}

	return len(batch), r.Runner.Enqueue(ctx, refs)
}

// newTasks returns a task for each subscription to one of the events. The key of a task prevents that it
// is added twice, if the event is relayed again.
func (r *Relay) newTasks(batch []Envelope) (tasks []task.Task, err error) {
	for _, e := range batch {
		payload, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}

		for _, s := range r.subscriptionsByType[e.Type] {
			tasks = append(tasks, task.Task{Kind: s.Name, Queue: s.Queue, Key: e.ID + "/" + s.Name, Payload: payload, Trace: e.Trace})
		}
	}

	return tasks, nil
}
