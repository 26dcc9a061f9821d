package event

import (
	"context"

	"github.com/locumhq/locum/core/task"
)

// Subscription is the subscription of a handler to a type of event.
type Subscription struct {
	// Type is the type of the events.
	Type string
	// Name is the name of the subscriber. It is the kind of stored tasks, so it must not
	// change once it is in use.
	Name string
	// Queue is the queue of the handler's tasks: task.Events, unless the handler calls an
	// external system.
	Queue task.QueueName
	// React handles the event. It must be idempotent, because events are delivered at
	// least once. Events of one subject may be delivered concurrently and, after a failure,
	// out of order: a handler that depends on the order compares the timestamps or
	// sequence numbers in the events.
	React func(ctx context.Context, e Envelope) error
}

// On returns a subscription to the events of type T.
func On[T Event](name string, react func(context.Context, T) error) Subscription {
	return OnID(name, func(ctx context.Context, _ string, e T) error { return react(ctx, e) })
}

// OnID is On for a handler that stores the event's id, usually in a unique key, to be
// idempotent.
func OnID[T Event](name string, react func(ctx context.Context, eventID string, e T) error) Subscription {
	return OnEnvelope(name, func(ctx context.Context, e Envelope, event T) error { return react(ctx, e.ID, event) })
}

// OnEnvelope is On for a handler that needs the envelope of the event.
func OnEnvelope[T Event](name string, react func(ctx context.Context, e Envelope, event T) error) Subscription {
	var zero T // the type of an event does not depend on its values

	return Subscription{
		Type:  zero.Type(),
		Name:  name,
		Queue: task.Events,
		React: func(ctx context.Context, e Envelope) error {
			event, err := Decode[T](e)
			if err != nil {
				return task.Permanent(err) // a retry would decode the same text
			}

			return react(ctx, e, event)
		},
	}
}

// In returns the subscription with another queue.
func (s Subscription) In(queue task.QueueName) Subscription { s.Queue = queue; return s }
