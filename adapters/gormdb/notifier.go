package gormdb

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// notifier notifies listeners of commits that have recorded events or added tasks. It notifies
// listeners in this process through channels, and listeners in other processes through the
// database, if the dialect supports that. A notification is sent after the commits and not in
// the transactions, which would then wait for each other. One notification can stand for
// several commits.
type notifier struct {
	db        *DB
	remote    Notifier // nil if the database cannot notify
	log       *slog.Logger
	mu        sync.Mutex
	listeners map[chan struct{}]bool
	// due holds at most one value. A commit that finds it full needs no notification of
	// its own.
	due chan struct{}
	// receiving opens the only connection that listens, for the first listener.
	receiving sync.Once
	ctx       context.Context //nolint:containedctx // lives as long as the database
	stop      context.CancelFunc
	done      sync.WaitGroup
}

// newNotifier returns the notifier of a database. It needs a session of the server to listen, so
// that it notifies this process only behind a transaction pooler without a direct URL.
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

// close stops the goroutines of the notifier.
func (n *notifier) close() {
	n.stop()
	n.done.Wait()
}

// notify notifies all listeners of a commit. It does not block.
func (n *notifier) notify() {
	n.notifyLocal()

	if n.remote != nil {
		select {
		case n.due <- struct{}{}:
		default:
		}
	}
}

// notifyLocal notifies the listeners in this process.
func (n *notifier) notifyLocal() {
	n.mu.Lock()
	defer n.mu.Unlock()

	for c := range n.listeners {
		select {
		case c <- struct{}{}:
		default: // the listener has not received the previous value yet
		}
	}
}

const (
	// notifyInterval is the minimum time between two notifications of other processes.
	notifyInterval = 5 * time.Millisecond
	// relistenInterval is the pause before a listener connects again after an error.
	relistenInterval = 2 * time.Second
)

// send notifies other processes of commits. A lost notification does no harm, because the
// processes also poll.
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

// listen returns a channel that receives a value after one or more commits, until ctx is done.
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

// receive listens on one connection for notifications of other processes. It connects again
// after an error.
func (n *notifier) receive() {
	for ctx := n.ctx; ctx.Err() == nil; pause(ctx, relistenInterval) {
		err := n.remote.Listen(ctx, n.db.direct, n.notifyLocal)
		if ctx.Err() != nil {
			return
		}

		n.log.Debug("failed to listen for notifications; will retry", "error", err)
	}
}
