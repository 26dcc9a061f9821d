// Package localtasks implements a queue in the memory of the process.
package localtasks

import (
	"context"
	"errors"
	"sync"

	"github.com/locumhq/locum/core/task"
)

// maxWaiting is the maximum number of references of a queue in memory. Those beyond it
// are dropped; the store repeats them.
const maxWaiting = 50_000

// Queue implements task.Queue. Its references are lost when the process ends, which the
// port permits.
type Queue struct {
	lines map[task.QueueName]*line
}

// line contains the references of one queue in their order, each task once.
type line struct {
	mu      sync.Mutex
	waiting []task.Reference
	held    map[string]bool
	signals chan struct{} // signals a waiting worker; has room for one value
}

// New returns an empty queue.
func New() *Queue {
	q := &Queue{lines: map[task.QueueName]*line{}}
	for queue := range task.Workers {
		q.lines[queue] = &line{held: map[string]bool{}, signals: make(chan struct{}, 1)}
	}
	return q
}

var errFull = errors.New("the queue is full; further tasks stay in the store")

// Enqueue implements task.Queue. It never waits.
func (q *Queue) Enqueue(_ context.Context, refs ...task.Reference) (err error) {
	for _, t := range refs {
		if l := q.lines[t.Queue]; l != nil && !l.put(t) {
			err = errFull
		}
	}
	return err
}

// Embedded implements task.Queue.
func (q *Queue) Embedded() bool { return true }

// put adds the reference. It returns false if the queue is full.
func (l *line) put(t task.Reference) bool {
	defer l.signal()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[t.ID] {
		return true
	}
	if len(l.waiting) >= maxWaiting {
		return false
	}
	l.waiting, l.held[t.ID] = append(l.waiting, t), true
	return true
}

func (l *line) signal() {
	select {
	case l.signals <- struct{}{}:
	default:
	}
}

// take waits for a reference until ctx ends.
func (l *line) take(ctx context.Context) (task.Reference, bool) {
	for ctx.Err() == nil {
		l.mu.Lock()
		if len(l.waiting) > 0 {
			t := l.waiting[0]
			l.waiting = l.waiting[1:]
			delete(l.held, t.ID)
			more := len(l.waiting) > 0
			l.mu.Unlock()
			if more {
				l.signal() // for the next worker
			}
			return t, true
		}
		l.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-l.signals:
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
					t, ok := q.lines[queue].take(ctx)
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
