// Package task executes durable background work. Each task is a row in a store, and the
// row is the authority on the state of the task. A queue only delivers references to due
// tasks. The Runner enqueues due tasks, executes them and retries failed tasks. A task
// that has failed too often is dead: it is kept until an operator retries or drops it.
package task

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// QueueName is the name of a queue. Each queue has its own workers, so that many tasks in
// one queue do not delay the tasks in another.
type QueueName string

// The queues.
const (
	Events      QueueName = "events" // event handlers that only write to the database
	Mail        QueueName = "mail"
	Webhooks    QueueName = "webhooks"
	Exports     QueueName = "exports"
	Maintenance QueueName = "maintenance" // sweeps, digests, retention
)

// Workers is the number of tasks of each queue that a process executes concurrently. The
// number for webhooks is high because these tasks mostly wait for the servers that receive webhooks.
var Workers = map[QueueName]int{Events: 64, Mail: 4, Webhooks: 256, Exports: 2, Maintenance: 2}

// Task is a piece of background work.
type Task struct {
	// ID is set by the store.
	ID string
	// Kind selects the handler.
	Kind  string
	Queue QueueName
	// Key identifies the work. A task is not added if the store has a task with its key.
	Key string
	// Group is a concurrency group, empty for none. Only one task of a group runs at a time. A
	// task is not added if a task of its group is waiting that will run no later.
	Group string
	// Payload contains ids and small values as JSON.
	Payload json.RawMessage
	// RunAt is the time before which the task is not executed, zero for now.
	RunAt time.Time
	// Trace is the W3C traceparent of the request that caused the task, or empty.
	Trace string
	// Attempt is 1 at the first execution.
	Attempt   int
	CreatedAt time.Time
}

// New returns a task of the kind with the payload as JSON.
func New(kind string, q QueueName, key string, payload any) Task {
	raw, err := json.Marshal(payload)
	if err != nil {
		panic("task payload: " + err.Error()) // the caller's type cannot be encoded
	}

	return Task{Kind: kind, Queue: q, Key: key, Payload: raw}
}

// Adder adds tasks.
type Adder interface {
	// Add stores tasks, in the transaction of ctx if there is one, so that the tasks exist
	// if and only if the changes of the transaction do. It ignores a task whose key exists.
	// It also ignores a task whose group has a waiting task that is due no later.
	Add(ctx context.Context, tasks ...Task) error
}

// Handler executes the tasks of one kind. It must be idempotent, because it is called
// again after a failure or a crash.
type Handler struct {
	Kind  string
	Queue QueueName
	// Do must return by the deadline of its context.
	Do func(ctx context.Context, t Task) error
	// Timeout is the time limit for an attempt, zero for 20 s.
	Timeout time.Duration
	// Attempts is the number of attempts after which a failing task is dead, zero for 15
	// (about 28 hours).
	Attempts int
	// periodic is set for periodic work. A periodic task is never dead: the next period
	// adds a new task.
	periodic bool
}

// Handle returns a handler that calls do with the payload decoded as a P.
func Handle[P any](kind string, q QueueName, do func(ctx context.Context, payload P) error) Handler {
	return Handler{Kind: kind, Queue: q, Do: func(ctx context.Context, t Task) error {
		var payload P
		if err := json.Unmarshal(t.Payload, &payload); err != nil {
			return Permanent(err) // a retry would decode the same text
		}

		return do(ctx, payload)
	}}
}

// WithTimeout returns the handler with another time limit for an attempt.
func (h Handler) WithTimeout(limit time.Duration) Handler { h.Timeout = limit; return h }

// Periodic is work that is executed once per period, by one of the processes. Periods
// begin at multiples of Every since the zero time of package time.
type Periodic struct {
	Kind  string
	Every time.Duration
	Do    func(ctx context.Context) error
	// Timeout is the time limit for an attempt, zero for 20 s.
	Timeout time.Duration
}

// permanent is an error that a retry cannot resolve.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// Permanent marks an error that a retry cannot resolve: the task is dead at once. It
// returns nil for nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}

	return permanent{err}
}

// IsPermanent reports whether err is, or wraps, an error that Permanent marked.
func IsPermanent(err error) bool { _, ok := errors.AsType[permanent](err); return ok }
