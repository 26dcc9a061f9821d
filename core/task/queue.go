package task

import "context"

// Ticket refers to a task that is due.
type Ticket struct {
	Class Class
	ID    string
	// Turn is how often the task was enqueued. With the id it identifies the ticket.
	Turn int
}

// Queue delivers tickets to workers. Delivery is best-effort: a ticket may be
// delivered twice, late or out of order, or be lost with the process or server that
// holds it. The store repeats lost tickets and ignores repeated ones.
type Queue interface {
	// Enqueue adds tickets to the queue. After an error some of them may have been
	// added. Many tickets of one class do not delay those of another.
	Enqueue(ctx context.Context, tickets ...Ticket) error
	// Work calls do with tickets until ctx is done, at least Workers of each class
	// concurrently. It then waits for the calls that are running, which return
	// within 25 s. Their context is not cancelled with ctx.
	Work(ctx context.Context, do func(ctx context.Context, t Ticket)) error
}
