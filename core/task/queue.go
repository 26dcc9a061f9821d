package task

import "context"

// Ticket says that a task's turn has come.
type Ticket struct {
	Class Class
	ID    string
	// Turn counts how often the task was handed out: with the id it names the
	// ticket.
	Turn int
}

// Queue carries tickets to workers. It delivers about once: a ticket may come
// twice, late, out of order, or be lost with the process or the server that
// held it. The store makes good for all of that.
type Queue interface {
	// Enqueue hands tickets over within ctx. After an error some of them may
	// have been taken. A crowd of one class keeps no other waiting.
	Enqueue(ctx context.Context, tickets ...Ticket) error
	// Work runs do on tickets until ctx ends, at least Workers of each class at
	// once; then it takes no more, lets those at hand come to their end, which
	// they do within 25 s, and returns. The context that do gets lives on.
	Work(ctx context.Context, do func(ctx context.Context, t Ticket)) error
}
