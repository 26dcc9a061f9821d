package task

import "context"

// Reference refers to a task that is due.
type Reference struct {
	Queue QueueName
	// Kind is that of the task, for the tools of a queue.
	Kind string
	ID   string
	// Enqueues is how often the task was enqueued. With the id it identifies the
	// reference.
	Enqueues int
}

// Queue delivers references to workers. Delivery is best-effort: a reference may be
// delivered twice, late or out of order, or be lost with the process or server that
// holds it. The store repeats lost references and ignores repeated ones.
type Queue interface {
	// Enqueue adds references. After an error some of them may have been added. Many
	// references of one QueueName do not delay those of another.
	Enqueue(ctx context.Context, refs ...Reference) error
	// Work calls do with references until ctx is done, at least Workers of each
	// QueueName concurrently. It then waits for the calls that are running, which
	// return within 25 s. Their context is not cancelled with ctx.
	Work(ctx context.Context, do func(ctx context.Context, ref Reference)) error
	// Embedded reports whether the references are reachable from this process only. The
	// process that serves executes the tasks of an embedded queue; those of other
	// queues are executed by `locum worker`.
	Embedded() bool
}
