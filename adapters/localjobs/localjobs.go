// Package localjobs carries jobs inside of the process.
package localjobs

import (
	"context"
	"log/slog"
	"sync"

	"github.com/locumhq/locum/core/job"
)

const (
	workers = 4
	waiting = 200
)

// Queue implements job.Queue. What waits in it when the process ends is gone,
// which its port allows: whoever enqueued it does so again.
type Queue struct {
	jobs chan job.Job
	log  *slog.Logger
}

// New makes an empty queue.
func New(log *slog.Logger) *Queue { return &Queue{jobs: make(chan job.Job, waiting), log: log} }

// Enqueue implements job.Queue.
func (q *Queue) Enqueue(ctx context.Context, jobs ...job.Job) error {
	for _, j := range jobs {
		select {
		case q.jobs <- j:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Work implements job.Queue.
func (q *Queue) Work(ctx context.Context, do job.Handler) error {
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case j := <-q.jobs:
					if err := job.Run(ctx, do, j); err != nil {
						q.log.Error("job failed", "kind", j.Kind, "key", j.Key, "error", err)
					}
				}
			}
		})
	}
	running.Wait()
	return nil
}
