// Package job is the port through which background work reaches whoever does
// it.
package job

import (
	"context"
	"encoding/json"
)

// Job is one piece of work.
type Job struct {
	// Kind says what is to be done.
	Kind string `json:"kind"`
	// Key is the same for the same piece of work: a queue may drop a job whose
	// key it still holds.
	Key string `json:"key"`
	// Payload carries ids; the row that they name is the truth.
	Payload json.RawMessage `json:"payload"`
}

// Handler does a job. What it returns is for the queue's log: trying again is
// the business of whoever enqueued the job.
type Handler func(ctx context.Context, j Job) error

// Queue carries jobs. It delivers a job about once: one may come twice, and one
// may be lost with the process or the server that held it. So a handler leaves
// the same state behind however often it runs, and whoever enqueues a job does
// so again when nothing has come of it.
type Queue interface {
	// Enqueue hands jobs over. It waits, within ctx, while the queue is full;
	// after an error some of the jobs may have been taken.
	Enqueue(ctx context.Context, jobs ...Job) error
	// Work runs the handler on jobs, several at once, until ctx ends; then it
	// lets the jobs at hand finish, which are bounded by Longest, and returns. A
	// handler that panics or fails harms no other job.
	Work(ctx context.Context, do Handler) error
}
