package gormdb

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// notifier notifies listeners of commits that have recorded events or added tasks:
// those in this process through channels, those in other processes through the
// database, if it can. Notifications inside of the transactions would make their
// commits wait for each other, so one is sent after several commits.
type notifier struct {
	db        *DB
	remote    Notifier // nil if the database cannot notify
	log       *slog.Logger
	mu        sync.Mutex
	listeners map[chan struct{}]bool
	// due has room for one value: a commit that finds it full is notified with the
	// one before it.
	due chan struct{}
	// receiving starts the one connection that listens, with the first listener.
	receiving sync.Once
	ctx       context.Context //nolint:containedctx // lives as long as the database
	stop      context.CancelFunc
	done      sync.WaitGroup
}

func newNotifier(db *DB) *notifier {
	n := &notifier{db: db, log: db.log, listeners: map[chan struct{}]bool{}, due: make(chan struct{}, 1)}
	n.ctx, n.stop = context.WithCancel(context.Background())
	if db.direct != nil {
		n.remote, _ = db.dialect.(Notifier)
	}
	if n.remote != nil {
		n.done.Go(n.send)
	}
	return n
}

func (n *notifier) close() {
	n.stop()
	n.done.Wait()
}

// notify is called after a commit. It does not block.
func (n *notifier) notify() {
	n.notifyLocal()
	if n.remote != nil {
		select {
		case n.due <- struct{}{}:
		default:
		}
	}
}

func (n *notifier) notifyLocal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.listeners {
		select {
		case c <- struct{}{}:
		default: // it has not received the value before
		}
	}
}

const (
	// notifyInterval is the least time between two notifications of other processes.
	notifyInterval = 5 * time.Millisecond
	// relistenInterval is the time until a listener that has failed connects again.
	relistenInterval = 2 * time.Second
)

// send notifies other processes. A process that misses a notification polls.
func (n *notifier) send() {
	ctx := n.ctx
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.due:
		}
		attempt, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := n.remote.Notify(attempt, n.db.pool)
		cancel()
		if err != nil && ctx.Err() == nil {
			n.log.Debug("failed to notify other processes; they poll", "error", err)
		}
		pause(ctx, notifyInterval)
	}
}

// pause waits for the duration or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// listen returns a channel that receives a value after commits, until ctx is done.
func (n *notifier) listen(ctx context.Context) <-chan struct{} {
	c := make(chan struct{}, 1)
	n.mu.Lock()
	n.listeners[c] = true
	n.mu.Unlock()
	context.AfterFunc(ctx, func() {
		n.mu.Lock()
		delete(n.listeners, c)
		n.mu.Unlock()
	})
	if n.remote != nil {
		n.receiving.Do(func() { n.done.Go(n.receive) })
	}
	return c
}

// receive listens for notifications of other processes, on one connection, and
// connects again when that fails.
func (n *notifier) receive() {
	for ctx := n.ctx; ctx.Err() == nil; pause(ctx, relistenInterval) {
		err := n.remote.Listen(ctx, n.db.direct, n.notifyLocal)
		if ctx.Err() != nil {
			return
		}
		n.log.Debug("failed to listen for notifications; will retry", "error", err)
	}
}
