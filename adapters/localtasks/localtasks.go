// Package localtasks implements a queue in the memory of the process.
package localtasks

import (
	"context"
	"errors"
	"sync"

	"github.com/locumhq/locum/core/task"
)

// maxWaiting is the maximum number of references in each queue. Further references are dropped;
// the task store enqueues them again later.
const maxWaiting = 50_000

// Queue implements task.Queue. Its references are lost when the process ends, which the
// port permits.
type Queue struct {
	queues map[task.QueueName]*referenceQueue
}

// referenceQueue contains the references of one queue in order, each task at most once.
type referenceQueue struct {
	mu        sync.Mutex
	waiting   []task.Reference
	queuedIDs map[string]bool
	signals   chan struct{} // wakes a waiting worker; has a buffer of one
}

// New returns an empty queue.
func New() *Queue {
	q := &Queue{queues: map[task.QueueName]*referenceQueue{}}
	for queue := range task.Workers {
		q.queues[queue] = &referenceQueue{queuedIDs: map[string]bool{}, signals: make(chan struct{}, 1)}
	}

	return q
}

var errFull = errors.New("the queue is full; further tasks stay in the store")

// Enqueue implements task.Queue. It never waits.
func (q *Queue) Enqueue(_ context.Context, refs ...task.Reference) (err error) {
	for _, ref := range refs {
		if queue := q.queues[ref.Queue]; queue != nil && !queue.push(ref) {
			err = errFull
		}
	}

	return err
}

// Embedded implements task.Queue.
func (q *Queue) Embedded() bool { return true }

// push adds the reference. It returns false if the queue is full.
func (q *referenceQueue) push(t task.Reference) bool {
	defer q.signal()

	q.mu.Lock()
	defer q.mu.Unlock()

	if q.queuedIDs[t.ID] {
		return true
	}

	if len(q.waiting) >= maxWaiting {
		return false
	}

	q.waiting = append(q.waiting, t)
	q.queuedIDs[t.ID] = true

	return true
}

// signal wakes one waiting worker, or the next one that waits.
func (q *referenceQueue) signal() {
	select {
	case q.signals <- struct{}{}:
	default:
	}
}

// pop removes and returns the first reference. If there is none, pop waits for one until ctx ends, and then
// returns false.
func (q *referenceQueue) pop(ctx context.Context) (task.Reference, bool) {
	for ctx.Err() == nil {
		q.mu.Lock()
		if len(q.waiting) > 0 {
			t := q.waiting[0]
			q.waiting = q.waiting[1:]
			delete(q.queuedIDs, t.ID)

			more := len(q.waiting) > 0
			q.mu.Unlock()

			if more {
				q.signal() // for the next worker
			}

			return t, true
		}

		q.mu.Unlock()

		select {
		case <-ctx.Done():
		case <-q.signals:
		}
	}

	return task.Reference{}, false
}

// Work implements task.Queue.
func (q *Queue) Work(ctx context.Context, do func(context.Context, task.Reference)) error {
	var running sync.WaitGroup
	for queue, workers := range task.Workers {
		for range workers {
			running.Go(func() {
				for {
					t, ok := q.queues[queue].pop(ctx)
					if !ok {
						return
					}

					do(context.WithoutCancel(ctx), t)
				}
			})
		}
	}

	running.Wait()

	return nil
}
