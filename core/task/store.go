package task

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/retention"
)

// Store keeps tasks. A row waits until it is started, runs under a lease until
// it is settled, and is then done or dead; a lease that ends makes it wait
// again.
type Store interface {
	Adder
	// AddHanded is Add for tasks that the caller hands to the queue itself, by
	// the tickets returned: Due leaves them alone for a minute. A ticket of a task
	// that was left out finds no row.
	AddHanded(ctx context.Context, tasks ...Task) ([]Ticket, error)
	// Due hands out at most n waiting tasks whose moment has come, those whose
	// lease ended included, the longest due first. It does so again when one has
	// not been started after half a minute, then after one, two, … up to five: a
	// queue that lost a ticket gets another, a slow one is not flooded.
	// Concurrent callers get disjoint tasks and do not wait for each other. After
	// the clock was set back, what it has put off while it was ahead is due:
	// tasks added then, leases, and retries.
	Due(ctx context.Context, n int) ([]Ticket, error)
	// Postpone makes handed-out tasks due at the moment, because no queue took
	// their tickets.
	Postpone(ctx context.Context, tickets []Ticket, until time.Time) error
	// Start claims those of the ids that wait and whose moment has come, each
	// for one caller, and counts the attempt. The moment may be seconds ahead:
	// another machine's clock gave out the ticket.
	Start(ctx context.Context, ids []string, lease time.Duration) ([]Task, error)
	// Extend renews leases and returns the runs that are not the newest attempt
	// of a running task any more.
	Extend(ctx context.Context, runs []Run, lease time.Duration) (lost []Run, err error)
	// Settle ends attempts. One that is not the newest of an unfinished task
	// changes nothing.
	Settle(ctx context.Context, outcomes ...Outcome) error

	// Backlog counts what is not finished, by class and state, up to 100,000
	// tasks.
	Backlog(ctx context.Context) ([]Backlog, error)
	// List shows tasks of one state to an operator: finished ones by their end,
	// the newest first, the others by what is next.
	List(ctx context.Context, f Filter) ([]Record, error)
	// Retry makes dead tasks wait again, with all their attempts before them, and
	// waiting ones due now. It returns how many there were.
	Retry(ctx context.Context, ids []string) (int, error)
	// Drop removes tasks that are not running and returns how many there were.
	Drop(ctx context.Context, ids []string) (int, error)
}

// Tasks that have ended; their time is that of their end. Keys of deleted tasks
// may be used again.
const (
	DoneTasks retention.Kind = "tasks.done"
	DeadTasks retention.Kind = "tasks.dead"
)

// State is where a task stands.
type State string

// The states.
const (
	Waiting State = "waiting"
	Running State = "running"
	Done    State = "done"
	Dead    State = "dead" // set aside until an operator looks at it
)

// Run is one attempt at a task.
type Run struct {
	ID      string
	Attempt int
}

// Outcome is how an attempt ended.
type Outcome struct {
	Run
	// State is Done, Dead, or Waiting for another attempt at RunAt.
	State State
	RunAt time.Time
	// Err is what went wrong, empty if nothing did.
	Err string
	// Uncounted gives the attempt back: the worker was told to stop.
	Uncounted bool
}

// Backlog is a class in one state.
type Backlog struct {
	Class  Class
	State  State
	Tasks  int
	Oldest time.Time // RunAt of the one that waits longest
}

// Filter says what List shows: at most Limit tasks of the state, of one kind if
// it is not empty and, of finished ones, those that ended by Before if that is
// not zero.
type Filter struct {
	State  State
	Kind   string
	Before time.Time
	Limit  int
}

// Record is a task as an operator sees it.
type Record struct {
	Task
	State   State
	Err     string
	EndedAt time.Time // zero while it is not finished
}
