package event

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/locumhq/locum/core/job"
)

// Subscription is one line of the table that says who hears of what.
type Subscription struct {
	// Type is the event's type and Name the subscriber's; together they name
	// the reaction in logs.
	Type, Name string
	// React handles the event. Delivery is at least once, so a reaction leaves
	// the same state behind however often it runs.
	React func(ctx context.Context, e Envelope) error
}

// On makes a subscription to the events of type T.
func On[T Event](name string, react func(context.Context, T) error) Subscription {
	var zero T
	return Subscription{Type: zero.Type(), Name: name, React: func(ctx context.Context, e Envelope) error {
		v, err := Decode[T](e)
		if err != nil {
			return err
		}
		return react(ctx, v)
	}}
}

// Relay carries recorded events to their subscribers: it claims them, makes a
// job of each and does the jobs that come back. Any number may run over one
// outbox. An event is done when all of its reactions are; until then it is
// claimed again whenever its lease ends, whatever became of the job.
type Relay struct {
	outbox Outbox
	queue  job.Queue
	byType map[string][]Subscription
	log    *slog.Logger
}

// The relay's rhythm. A lease outlasts the longest job that begins at once.
const (
	relayBatch = 100
	relayLease = job.Longest + 10*time.Second
	relayPoll  = time.Second
	relayKind  = "event"
)

// NewRelay makes a relay for the table.
func NewRelay(outbox Outbox, queue job.Queue, table []Subscription, log *slog.Logger) *Relay {
	r := &Relay{outbox: outbox, queue: queue, byType: map[string][]Subscription{}, log: log}
	for _, s := range table {
		r.byType[s.Type] = append(r.byType[s.Type], s)
	}
	return r
}

// Run claims events until ctx ends.
func (r *Relay) Run(ctx context.Context) {
	tick := time.NewTicker(relayPoll)
	defer tick.Stop()
	for {
		for {
			n, err := r.Drain(ctx)
			if err != nil && ctx.Err() == nil {
				r.log.Warn("relay: passing events on failed, trying again", "error", err)
			}
			if err != nil || n < relayBatch {
				break
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-r.outbox.Wake():
		case <-tick.C:
		}
	}
}

// Drain claims one batch, enqueues it and says how many events it held.
func (r *Relay) Drain(ctx context.Context) (int, error) {
	batch, err := r.outbox.Claim(ctx, relayBatch, relayLease)
	if err != nil || len(batch) == 0 {
		return 0, err
	}
	jobs := make([]job.Job, len(batch))
	for i, e := range batch {
		payload, err := json.Marshal(e)
		if err != nil {
			return 0, err
		}
		// A later attempt is another job: the earlier one may still be held by a
		// queue that will never deliver it.
		jobs[i] = job.Job{Kind: relayKind, Key: fmt.Sprintf("%s:%d", e.ID, e.Attempt), Payload: payload}
	}
	return len(batch), r.queue.Enqueue(ctx, jobs...)
}

// Work does the relay's jobs until ctx ends.
func (r *Relay) Work(ctx context.Context) error { return r.queue.Work(ctx, r.do) }

// do delivers an event to its subscribers and marks it when all have reacted.
func (r *Relay) do(ctx context.Context, j job.Job) error {
	var e Envelope
	if err := json.Unmarshal(j.Payload, &e); err != nil {
		return err
	}
	var failed []error
	for _, s := range r.byType[e.Type] {
		if err := react(ctx, s, e); err != nil {
			failed = append(failed, fmt.Errorf("%s of %s (attempt %d): %w", s.Name, e.Type, e.Attempt, err))
		}
	}
	if len(failed) > 0 {
		return errors.Join(failed...)
	}
	return r.outbox.MarkSent(ctx, e.ID)
}

// react keeps a panic of one subscriber from the others.
func react(ctx context.Context, s Subscription, e Envelope) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return s.React(ctx, e)
}
