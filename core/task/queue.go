package task

import "context"

// Reference refers to a task that is due.
type Reference struct {
	Queue QueueName
	// Kind is the kind of the task. Only the queue's own tools show it.
	Kind string
	ID   string
	// Enqueues is the number of times that the task was enqueued. A reference is
	// identified by ID and Enqueues together.
	Enqueues int
}

// Queue delivers references to workers. Delivery is best-effort: a reference may be
// delivered twice, late or out of order, or be lost if a process or server is killed. The
// store returns a lost reference again, and refuses to start a task twice.
type Queue interface {
	// Enqueue adds references. If Enqueue fails, some of the references may have been
	// added. Many references of one QueueName do not delay the references of another.
	Enqueue(ctx context.Context, refs ...Reference) error
	// Work calls execute with references until ctx is done. For each QueueName it makes
	// at least Workers calls concurrently. When ctx is done, Work waits for the running
	// calls, which return within 25 s; the context of the calls is not cancelled with ctx.
	Work(ctx context.Context, execute func(ctx context.Context, ref Reference)) error
	// Embedded reports whether only this process can read the references. The tasks of an
	// embedded queue are executed by `locum serve`, those of other queues by
	// `locum worker`.
	Embedded() bool
}
