package event

import (
	"context"

	"github.com/locumhq/locum/core/task"
)

// Subscription is one line of the table that says who hears of what.
type Subscription struct {
	// Type is the event's type and Name the subscriber's. The name is the kind
	// of the tasks that are made of it and kept in the store, so it does not
	// change once it is in use.
	Type, Name string
	// Queue is the queue of the tasks of the reaction: task.Events, unless it
	// speaks to somebody outside.
	Queue task.QueueName
	// React handles the event. Delivery is at least once, so a reaction leaves
	// the same state behind however often it runs. Events of one subject may
	// come side by side and, after a failure, in another order: what depends on
	// order compares the moments or numbers in the event.
	React func(ctx context.Context, e Envelope) error
}

// On makes a subscription to the events of type T.
func On[T Event](name string, react func(context.Context, T) error) Subscription {
	return OnID(name, func(ctx context.Context, _ string, e T) error { return react(ctx, e) })
}

// OnID is On for a reaction that keeps the event's id, usually in a unique key,
// so that what it writes is written once.
func OnID[T Event](name string, react func(ctx context.Context, eventID string, e T) error) Subscription {
	return OnEnvelope(name, func(ctx context.Context, e Envelope, event T) error { return react(ctx, e.ID, event) })
}

// OnEnvelope is On for a reaction that also wants to know what was recorded with
// the event.
func OnEnvelope[T Event](name string, react func(ctx context.Context, e Envelope, event T) error) Subscription {
	var zero T
	return Subscription{Type: zero.Type(), Name: name, Queue: task.Events, React: func(ctx context.Context, e Envelope) error {
		v, err := Decode[T](e)
		if err != nil {
			return task.Permanent(err)
		}
		return react(ctx, e, v)
	}}
}

// In puts the subscription into another line.
func (s Subscription) In(c task.QueueName) Subscription { s.Queue = c; return s }
