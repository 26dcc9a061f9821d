package gormdb

import (
	"context"
	"sync"
	"time"
)

// Timestamps later than these were written by a clock that was ahead.
const (
	// mostAhead is more than two clocks of one installation differ.
	mostAhead = time.Minute
	// longestLease is more than any lease lasts.
	longestLease = 15 * time.Minute
)

// clockWatch notices that the clock was set back.
type clockWatch struct {
	mu   sync.Mutex
	last time.Time
}

// readClock returns the time. If the clock was set back since the last call, or
// may have been before the first, it releases what the clock has put off.
func (db *DB) readClock(ctx context.Context) (time.Time, error) {
	w := &db.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	now := db.clock.Now()
	setBack := now.Before(w.last.Add(-mostAhead))
	if w.last.IsZero() || setBack {
		if err := db.releaseFuture(ctx, now, setBack); err != nil {
			return now, err
		}
	}
	w.last = now
	return now, nil
}

// releaseFuture ends the leases that a clock ahead has written, and makes the work
// due that was added by it. With retries, all retries are due: those that the
// clock has put off cannot be told from others, and an early one does no harm.
func (db *DB) releaseFuture(ctx context.Context, now time.Time, retries bool) error {
	ahead, lease := now.Add(mostAhead), now.Add(longestLease)
	work, deliveries := "created_at > ?", "created_at > ?"
	if retries {
		work += " OR attempts > 0 AND state = 'waiting'"
		deliveries += " OR next_at > created_at"
	}
	return db.Do(ctx, func(ctx context.Context) error {
		q := db.q(ctx)
		return wrap(firstError(
			q.Exec("UPDATE tasks SET due_at = ?, run_at = CASE WHEN run_at > ? THEN ? ELSE run_at END WHERE ended_at IS NULL AND due_at > ? AND ("+work+" OR state = 'running' AND due_at > ?)",
				now, now, db.dialect.Typed(now, "timestamptz"), ahead, ahead, lease).Error,
			q.Exec("UPDATE outbox SET claimed_until = NULL WHERE sent_at IS NULL AND claimed_until > ?", lease).Error,
			q.Exec("UPDATE alert_listings SET claimed_until = ? WHERE claimed_until > ?", now, lease).Error,
			q.Exec("UPDATE webhook_endpoints SET leased_until = NULL WHERE leased_until > ?", lease).Error,
			q.Exec("UPDATE webhook_deliveries SET next_at = ? WHERE status = 'pending' AND next_at > ? AND ("+deliveries+")", now, ahead, ahead).Error))
	})
}
