package kit

import (
	"context"

	"github.com/locumhq/locum/core/job"
)

// Straight is a job.Queue without a wait: Enqueue does the job before it
// returns, so that a test sees what came of it.
type Straight struct{ do job.Handler }

// Enqueue implements job.Queue.
func (q *Straight) Enqueue(ctx context.Context, jobs ...job.Job) error {
	for _, j := range jobs {
		_ = job.Run(ctx, q.do, j) // who enqueues does not hear of it
	}
	return nil
}

// Work implements job.Queue: it takes the handler and returns.
func (q *Straight) Work(_ context.Context, do job.Handler) error {
	q.do = do
	return nil
}
