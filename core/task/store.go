package task

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/retention"
)

// Store stores tasks. A task waits until it is started and runs under a lease until
// its outcome is stored. It is then done, dead or waiting. A task whose lease has
// ended waits again.
type Store interface {
	Executor
	Inspector
}

// Executor provides the tasks that a Runner executes.
type Executor interface {
	Adder
	// AddAndReserve is Add for tasks that the caller enqueues by the returned
	// references. Due does not return them for half a minute. The reference of a task
	// whose key exists refers to no task.
	AddAndReserve(ctx context.Context, tasks ...Task) ([]Reference, error)
	// Due returns references of at most n tasks that are due, the longest due first,
	// including those whose lease has ended. A task that is not started is returned
	// again after half a minute, then after one, two, … up to five minutes: a lost
	// reference is repeated and a slow queue is not flooded. Concurrent callers get
	// different tasks and do not wait for each other. After the clock was set back,
	// what was postponed while it was ahead is due: tasks added then, leases and
	// retries.
	Due(ctx context.Context, n int) ([]Reference, error)
	// Postpone makes tasks due at the time, because their references could not be
	// enqueued.
	Postpone(ctx context.Context, refs []Reference, until time.Time) error
	// Start claims the tasks with the ids that wait and are due, each for one caller,
	// and counts the attempt. RunAt may be seconds ahead, because the clock of another
	// machine decided that the task was due. A task in whose group another one runs
	// waits until that one has ended, or its lease has.
	Start(ctx context.Context, ids []string, lease time.Duration) ([]Task, error)
	// Extend renews leases. It returns the runs that are no longer the newest attempt
	// of a running task.
	Extend(ctx context.Context, runs []Run, lease time.Duration) (lost []Run, err error)
	// RecordOutcomes stores the outcomes of attempts. It ignores an attempt that is not
	// the newest of an unfinished task.
	RecordOutcomes(ctx context.Context, outcomes ...Outcome) error
}

// Inspector allows operators to inspect and repair tasks.
type Inspector interface {
	// Backlog counts the unfinished tasks by queue and state, up to 100,000.
	Backlog(ctx context.Context) ([]Backlog, error)
	// List returns tasks of one state: finished ones by the time of their end, the
	// newest first, the others by the time when they are due.
	List(ctx context.Context, f Filter) ([]Record, error)
	// Retry makes dead tasks wait again, without counting their earlier attempts, and
	// waiting ones due now. It returns their number.
	Retry(ctx context.Context, ids []string) (int, error)
	// Drop deletes tasks that are not running and returns their number.
	Drop(ctx context.Context, ids []string) (int, error)
}

// Tasks that have ended; their time is that of their end. Keys of deleted tasks
// may be used again.
const (
	DoneTasks retention.Kind = "tasks.done"
	DeadTasks retention.Kind = "tasks.dead"
)

// State is the state of a task.
type State string

// The states.
const (
	Waiting State = "waiting"
	Running State = "running"
	Done    State = "done"
	Dead    State = "dead" // until an operator retries or drops it
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
	// Group is that of the task.
	Group string
	// Err is the text of the error, empty if there was none.
	Err string
	// DoNotCountAttempt does not count the attempt, because the worker was stopped.
	DoNotCountAttempt bool
}

// Backlog is a queue in one state.
type Backlog struct {
	Queue  QueueName
	State  State
	Tasks  int
	Oldest time.Time // the earliest RunAt
}

// Filter selects at most Limit tasks of a state for List: of one kind unless it is
// empty, and those that ended by Before unless it is zero.
type Filter struct {
	State  State
	Kind   string
	Before time.Time
	Limit  int
}

// Record is a task with its state.
type Record struct {
	Task
	State   State
	Err     string
	EndedAt time.Time // zero while it is not finished
}
