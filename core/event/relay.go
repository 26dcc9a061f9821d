package event

import (
	"context"
	"fmt"
	"log/slog"
	"time"
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

// Relay carries recorded events to their subscribers. Any number may run over
// one outbox. An event of which a reaction failed stays claimed until its
// lease ends and is then delivered again, to all of its subscribers.
type Relay struct {
	outbox Outbox
	byType map[string][]Subscription
	log    *slog.Logger
}

// The relay's rhythm.
const (
	relayBatch = 100
	relayLease = 30 * time.Second
	relayPoll  = time.Second
)

// NewRelay makes a relay for the table.
func NewRelay(outbox Outbox, table []Subscription, log *slog.Logger) *Relay {
	r := &Relay{outbox: outbox, byType: map[string][]Subscription{}, log: log}
	for _, s := range table {
		r.byType[s.Type] = append(r.byType[s.Type], s)
	}
	return r
}

// Run works until ctx ends, then finishes the event at hand and returns.
func (r *Relay) Run(ctx context.Context) {
	tick := time.NewTicker(relayPoll)
	defer tick.Stop()
	for {
		for {
			n, err := r.Drain(ctx)
			if err != nil && ctx.Err() == nil {
				r.log.Warn("relay: claiming events failed, trying again", "error", err)
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

// Drain claims one batch, delivers it and says how many events it held.
func (r *Relay) Drain(ctx context.Context) (int, error) {
	batch, err := r.outbox.Claim(ctx, relayBatch, relayLease)
	if err != nil {
		return 0, err
	}
	done := make([]string, 0, len(batch))
	for _, e := range batch {
		if ctx.Err() != nil {
			break
		}
		if r.deliver(ctx, e) {
			done = append(done, e.ID)
		}
	}
	if len(done) > 0 {
		// What was delivered is marked even when the process is asked to stop.
		mark, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := r.outbox.MarkSent(mark, done...); err != nil {
			return len(batch), err
		}
	}
	return len(batch), nil
}

func (r *Relay) deliver(ctx context.Context, e Envelope) bool {
	ok := true
	for _, s := range r.byType[e.Type] {
		if err := react(context.WithoutCancel(ctx), s, e); err != nil {
			r.log.Error("reaction failed, the event will be delivered again",
				"event", e.ID, "type", e.Type, "subscriber", s.Name, "attempt", e.Attempt, "error", err)
			ok = false
		}
	}
	return ok
}

func react(ctx context.Context, s Subscription, e Envelope) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, relayLease/2)
	defer cancel()
	return s.React(ctx, e)
}
