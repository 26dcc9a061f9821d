package gormdb

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
)

// bell tells whoever waits that events were recorded or tasks added: in this
// process by channels, and on Postgres in all of them, by NOTIFY. A NOTIFY
// inside of the transactions would make their commits wait for each other, so
// it is sent after them, one for all that have come up meanwhile.
type bell struct {
	mu      sync.Mutex
	waiting map[chan struct{}]bool
	// rung has room for one: a ring that finds it full is the same ring.
	rung chan struct{}
	stop context.CancelFunc
	done sync.WaitGroup
	log  *slog.Logger
	db   *DB
}

// channel is the name under which processes hear of each other's commits.
const channel = "locum_work"

func newBell(db *DB) *bell {
	b := &bell{waiting: map[chan struct{}]bool{}, rung: make(chan struct{}, 1), log: db.log, db: db, stop: func() {}}
	if db.pg() {
		ctx, stop := context.WithCancel(context.Background())
		b.stop = stop
		b.done.Go(func() { b.notify(ctx) })
	}
	return b
}

func (b *bell) close() {
	b.stop()
	b.done.Wait()
}

// ring is called after a commit; it does not wait.
func (b *bell) ring() {
	b.tell()
	if b.db.pg() {
		select {
		case b.rung <- struct{}{}:
		default:
		}
	}
}

func (b *bell) tell() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.waiting {
		select {
		case c <- struct{}{}:
		default: // has not looked since the last one
		}
	}
}

// between is the least time between two words to the other processes.
const between = 5 * time.Millisecond

// notify passes rings on to the other processes. Who misses one polls.
func (b *bell) notify(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.rung:
		}
		attempt, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err := b.db.sql.ExecContext(attempt, "NOTIFY "+channel)
		cancel()
		if err != nil && ctx.Err() == nil {
			b.log.Debug("telling other processes of new events failed, they poll", "error", err)
		}
		// Under load one word is for many rings.
		pause := time.NewTimer(between)
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
	}
}

// listen is woken by every ring until ctx ends.
func (b *bell) listen(ctx context.Context) <-chan struct{} {
	c := make(chan struct{}, 1)
	b.mu.Lock()
	b.waiting[c] = true
	b.mu.Unlock()
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		delete(b.waiting, c)
		b.mu.Unlock()
	})
	if b.db.pg() {
		b.done.Go(func() { b.hear(ctx) })
	}
	return c
}

// hear keeps one connection that listens, over any number of failures.
func (b *bell) hear(ctx context.Context) {
	for ctx.Err() == nil {
		err := b.hearOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		b.log.Debug("listening for events of other processes failed, trying again", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	}
}

func (b *bell) hearOnce(ctx context.Context) error {
	conn, err := b.db.sql.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	return conn.Raw(func(driver any) error {
		pg := driver.(*stdlib.Conn).Conn()
		// A connection that listens is no use to anybody else afterwards.
		defer func() { _ = pg.Close(context.WithoutCancel(ctx)) }()
		if _, err := pg.Exec(ctx, "LISTEN "+channel); err != nil {
			return err
		}
		for {
			// A server that is gone without a word is noticed by asking.
			quiet, cancel := context.WithTimeout(ctx, 30*time.Second)
			_, err := pg.WaitForNotification(quiet)
			silence := quiet.Err() != nil && ctx.Err() == nil
			cancel()
			if silence {
				ask, cancel := context.WithTimeout(ctx, 5*time.Second)
				err = pg.Ping(ask)
				cancel()
			}
			if err != nil {
				return err
			}
			b.tell()
		}
	})
}
