// Package task executes durable background work. Each task is a row in a store,
// which is the authority on its state; a queue only delivers references to tasks that
// are due. The Runner enqueues due tasks, executes them, retries those that fail and
// keeps those that fail for good for an operator.
package task

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// QueueName is the name of a queue with its own workers, so that many tasks in one
// queue do not delay those in another.
type QueueName string

// The queues.
const (
	Events      QueueName = "events" // reactions that only write to the store
	Mail        QueueName = "mail"
	Webhooks    QueueName = "webhooks"
	Exports     QueueName = "exports"
	Maintenance QueueName = "maintenance" // sweeps, digests, retention
)

// Workers is the number of tasks of each queue that a process executes concurrently.
// Those of webhooks mostly wait for receivers.
var Workers = map[QueueName]int{Events: 64, Mail: 4, Webhooks: 256, Exports: 2, Maintenance: 2}

// Task is a piece of background work.
type Task struct {
	// ID is set by the store.
	ID string
	// Kind selects the handler.
	Kind  string
	Queue QueueName
	// Key identifies the work: a task whose key is in the store is not added again.
	Key string
	// Group is a concurrency group: one task of a group runs at a time. Empty for none.
	Group string
	// Payload contains ids and small values as JSON.
	Payload json.RawMessage
	// RunAt is the time before which the task is not executed, zero for now.
	RunAt time.Time
	// Trace is the W3C traceparent of what caused the task, or empty.
	Trace string
	// Attempt is 1 at the first execution.
	Attempt   int
	CreatedAt time.Time
}

// New returns a task of the kind with the payload as JSON.
func New(kind string, q QueueName, key string, payload any) Task {
	raw, err := json.Marshal(payload)
	if err != nil {
		panic("task payload: " + err.Error()) // a type that cannot be JSON is a defect of the caller
	}
	return Task{Kind: kind, Queue: q, Key: key, Payload: raw}
}

// Adder adds tasks.
type Adder interface {
	// Add stores tasks, in the transaction of ctx if there is one, so that they exist
	// if and only if its changes do. It ignores a task whose key exists, and one in
	// whose group another one waits that is due by then.
	Add(ctx context.Context, tasks ...Task) error
}

// Handler executes the tasks of one kind. It is called again after a failure and
// after a crash, and must be idempotent.
type Handler struct {
	Kind  string
	Queue QueueName
	// Do must return by the deadline of its context.
	Do func(ctx context.Context, j Task) error
	// Timeout is the time limit for an attempt, zero for 20 s.
	Timeout time.Duration
	// Attempts is how often the task is tried before it is dead, zero for 15
	// (about 28 hours).
	Attempts int
	// periodic is set for periodic work, of which no dead tasks are kept.
	periodic bool
}

// Handle returns a handler that calls do with the payload decoded as a P.
func Handle[P any](kind string, q QueueName, do func(ctx context.Context, payload P) error) Handler {
	return Handler{Kind: kind, Queue: q, Do: func(ctx context.Context, j Task) error {
		var p P
		if err := json.Unmarshal(j.Payload, &p); err != nil {
			return Permanent(err)
		}
		return do(ctx, p)
	}}
}

// WithTimeout returns the handler with another time limit for an attempt.
func (h Handler) WithTimeout(limit time.Duration) Handler { h.Timeout = limit; return h }

// Periodic is work that is executed once per period by one of all processes. Periods
// begin at multiples of Every since the epoch.
type Periodic struct {
	Kind  string
	Every time.Duration
	Do    func(ctx context.Context) error
	// Timeout is as in Handler.
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

// IsPermanent reports whether err, or one that it wraps, is Permanent.
func IsPermanent(err error) bool { _, is := errors.AsType[permanent](err); return is }
