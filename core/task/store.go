package task

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/retention"
)

// Store stores tasks. A new task is waiting. A worker starts the task and holds a lease on
// it until the outcome is stored: then the task is done, dead, or waiting for another
// attempt. A task whose lease has ended is waiting again.
type Store interface {
	Executor
	Inspector
}

// Executor provides the tasks that a Runner executes.
type Executor interface {
	Adder
	// AddAndReserve is Add for a caller that enqueues the returned references itself. Due
	// does not return the added tasks for half a minute. If the key of a task exists, its
	// reference refers to no task.
	AddAndReserve(ctx context.Context, tasks ...Task) ([]Reference, error)
	// Due returns references to at most n due tasks, the longest due first. Tasks whose
	// lease has ended are due. Concurrent callers get different tasks and do not wait for
	// each other.
	//
	// A task that is not started is returned again after half a minute, then after one,
	// two, … up to five minutes, because its reference may be lost. The pauses grow so
	// that a slow queue is not flooded.
	//
	// Tasks, leases and retries may have been stored while the clock was wrong and ahead.
	// When the clock has been set back, such tasks are due.
	Due(ctx context.Context, n int) ([]Reference, error)
	// Postpone makes tasks due at the given time. It is called when their references could
	// not be enqueued.
	Postpone(ctx context.Context, refs []Reference, until time.Time) error
	// Start claims those of the tasks that are waiting and due, and counts the attempt.
	// Each task is started by one caller. RunAt may be a few seconds ahead of this clock:
	// another machine, whose clock may be ahead, decided that the task is due. A task whose
	// group has a running task waits until the running task or its lease has ended.
	Start(ctx context.Context, ids []string, lease time.Duration) ([]Task, error)
	// Extend renews the leases of runs. It returns the lost runs: those that are not the
	// newest attempt at a running task any more.
	Extend(ctx context.Context, runs []Run, lease time.Duration) (lost []Run, err error)
	// RecordOutcomes stores the outcomes of attempts. It ignores the outcome of a lost
	// run.
	RecordOutcomes(ctx context.Context, outcomes ...Outcome) error
}

// Inspector allows operators to inspect and repair tasks.
type Inspector interface {
	// Backlog counts the unfinished tasks by queue and state, up to 100,000.
	Backlog(ctx context.Context) ([]Backlog, error)
	// List returns tasks of one state. Finished tasks are sorted by EndedAt, the newest
	// first; other tasks by RunAt, the earliest first.
	List(ctx context.Context, f Filter) ([]Record, error)
	// Retry makes dead and waiting tasks due now, and returns their number. The attempts
	// of dead tasks are counted from 1 again.
	Retry(ctx context.Context, ids []string) (int, error)
	// Drop deletes tasks that are not running and returns their number.
	Drop(ctx context.Context, ids []string) (int, error)
}

// The retention kinds of finished tasks; their time is Record.EndedAt. A task may be added
// again with the key of a deleted task.
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

// Outcome is the result of an attempt.
type Outcome struct {
	Run
	// State is Done, Dead, or Waiting for another attempt at RunAt.
	State State
	RunAt time.Time
	// Group is the concurrency group of the task.
	Group string
	// Err is the text of the error, empty if there was none.
	Err string
	// DoNotCountAttempt is set if the attempt was interrupted because the worker stopped.
	DoNotCountAttempt bool
}

// Backlog is the number of unfinished tasks of a queue in one state.
type Backlog struct {
	Queue  QueueName
	State  State
	Tasks  int
	Oldest time.Time // the earliest RunAt
}

// Filter selects the tasks that List returns.
type Filter struct {
	State  State
	Kind   string    // empty for all kinds
	Before time.Time // the latest EndedAt; zero for no limit
	Limit  int       // the maximum number of tasks
}

// Record is a task with its state.
type Record struct {
	Task
	State   State
	Err     string
	EndedAt time.Time // zero for an unfinished task
}
