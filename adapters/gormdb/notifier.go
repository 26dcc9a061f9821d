package gormdb

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// notifier notifies listeners of commits that have recorded events or added tasks. It notifies
// listeners in this process through channels. It notifies listeners in other processes through the
// database, if the dialect supports that.
//
// A notification is sent after a commit. If it were sent in the transaction, transactions would wait
// for each other. One notification can be about several commits.
type notifier struct {
	db        *DB
	remote    Notifier // notifies other processes; nil if the database cannot
	log       *slog.Logger
	mu        sync.Mutex
	listeners map[chan struct{}]bool
	// due contains a value while other processes have still to be notified. It holds at most one:
	// a commit that finds it full needs no notification of its own.
	due chan struct{}
	// receiving starts receive for the first listener. All listeners share its connection.
	receiving sync.Once
	ctx       context.Context //nolint:containedctx // lives as long as the database
	stop      context.CancelFunc
	done      sync.WaitGroup // of the goroutines send and receive
}

// newNotifier returns the notifier of a database. To listen, it needs a session of the server. Behind a
// transaction pooler without a direct URL there is none, so that it notifies this process only.
func newNotifier(db *DB) *notifier {
	n := &notifier{db: db, log: db.log, listeners: map[chan struct{}]bool{}, due: make(chan struct{}, 1)}
	n.ctx, n.stop = context.WithCancel(context.Background())

	if canListen := db.direct != nil; canListen {
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
		default: // send has not sent the previous notification yet
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
	// notifyTimeout is how long the database may take to accept a notification.
	notifyTimeout = 2 * time.Second
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

		notifyCtx, cancel := context.WithTimeout(ctx, notifyTimeout)
		err := n.remote.Notify(notifyCtx, n.db.pool)

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

// listen returns a channel that receives a value after one or more commits of any process, until ctx is
// done.
func (n *notifier) listen(ctx context.Context) <-chan struct{} {
	listener := make(chan struct{}, 1)

	n.mu.Lock()
	n.listeners[listener] = true
	n.mu.Unlock()

	context.AfterFunc(ctx, func() {
		n.mu.Lock()
		delete(n.listeners, listener)
		n.mu.Unlock()
	})

	if n.remote != nil {
		n.receiving.Do(func() { n.done.Go(n.receive) })
	}

	return listener
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
