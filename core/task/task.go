// Package task is background work that survives: every piece of it is a row in
// the store, which is the truth about it, and a queue only tells workers whose
// turn has come. The Runner joins the two: it hands rows to the queue, does
// what comes back, tries again what failed, and sets aside what never works.
package task

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Class is a line of its own with workers of its own, so that a crowd in one
// keeps nobody waiting in another.
type Class string

// The classes.
const (
	Events      Class = "events" // reactions that only write to the store
	Mail        Class = "mail"
	Webhooks    Class = "webhooks"
	Exports     Class = "exports"
	Maintenance Class = "maintenance" // sweeps, digests, retention
)

// Workers says how many tasks of each class one process does at once. Those of
// webhooks do little but wait for receivers.
var Workers = map[Class]int{Events: 64, Mail: 4, Webhooks: 256, Exports: 2, Maintenance: 2}

// Task is one piece of work.
type Task struct {
	// ID is given by the store.
	ID string
	// Kind says what is to be done, and so who does it.
	Kind  string
	Class Class
	// Key names the piece of work: there is one task of a key, ever (as long as
	// the store remembers it).
	Key string
	// Payload carries ids and values as JSON; what is longer is in a row that
	// it names.
	Payload json.RawMessage
	// RunAt is the moment before which the task waits; zero for now.
	RunAt time.Time
	// Trace is the W3C traceparent of what caused the task, or empty.
	Trace string
	// Attempt is 1 when the task is done for the first time.
	Attempt   int
	CreatedAt time.Time
}

// New makes a task that does kind with the payload, which is marshalled.
func New(kind string, c Class, key string, payload any) Task {
	raw, err := json.Marshal(payload)
	if err != nil {
		panic("task payload: " + err.Error()) // a type that cannot be JSON is a defect of the caller
	}
	return Task{Kind: kind, Class: c, Key: key, Payload: raw}
}

// Adder takes work on.
type Adder interface {
	// Add stores tasks, in the transaction of ctx if there is one, so that they
	// exist exactly if the change does that asks for them. One whose key is
	// there already is left out.
	Add(ctx context.Context, tasks ...Task) error
}

// Handler does the tasks of one kind. It runs again after a failure and after a
// crash, so it leaves the same state behind however often it runs.
type Handler struct {
	Kind  string
	Class Class
	// Do has until the deadline of its context.
	Do func(ctx context.Context, j Task) error
	// Longest is how long one attempt may take, zero for 20 s.
	Longest time.Duration
	// Attempts is how often the task is tried before it is dead, zero for 15
	// (about a day and a half).
	Attempts int
	// periodic work that fails leaves no dead task behind.
	periodic bool
}

// Handle makes a handler of a function that takes the payload as a P.
func Handle[P any](kind string, c Class, do func(ctx context.Context, payload P) error) Handler {
	return Handler{Kind: kind, Class: c, Do: func(ctx context.Context, j Task) error {
		var p P
		if err := json.Unmarshal(j.Payload, &p); err != nil {
			return Permanent(err)
		}
		return do(ctx, p)
	}}
}

// Taking gives the handler another limit of time for one attempt.
func (h Handler) Taking(longest time.Duration) Handler { h.Longest = longest; return h }

// Periodic is work that happens once per period, however many processes there
// are. Periods begin at multiples of Every since the epoch.
type Periodic struct {
	Kind  string
	Every time.Duration
	Do    func(ctx context.Context) error
	// Longest is as in Handler.
	Longest time.Duration
}

// permanent is a failure that trying again cannot mend.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// Permanent marks an error as one that no further attempt can mend: the task is
// dead at once. nil stays nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanent{err}
}

// IsPermanent reports whether err, or one that it wraps, is Permanent.
func IsPermanent(err error) bool { var p permanent; return errors.As(err, &p) }
