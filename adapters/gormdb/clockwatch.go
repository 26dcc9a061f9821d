package gormdb

import (
	"cmp"
	"context"
	"sync"
	"time"

	"gorm.io/gorm"
)

// Timestamps later than these were written by a clock that was ahead.
const (
	// mostAhead is more than the difference between two clocks of one installation.
	mostAhead = time.Minute
	// longestLease is longer than any lease.
	longestLease = 15 * time.Minute
)

// clockWatch detects that the clock was set back.
type clockWatch struct {
	mu   sync.Mutex
	last time.Time
}

// readClock returns the time. If the clock was set back since the last call, or may have
// been before the first call, it corrects timestamps that are too far ahead.
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

// releaseFuture ends the leases that a fast clock has written, and makes the tasks due
// that were added by it. With retries, all retries are due: those that the clock has
// postponed cannot be distinguished from others, and an early one is harmless.
func (db *DB) releaseFuture(ctx context.Context, now time.Time, retries bool) error {
	ahead, lease := now.Add(mostAhead), now.Add(longestLease)
	work, deliveries := "created_at > ?", "created_at > ?"
	if retries {
		work += " OR attempts > 0 AND state = 'waiting'"
		deliveries += " OR next_at > created_at"
	}
	return db.Do(ctx, func(ctx context.Context) error {
		update := func(row any, set map[string]any, where string, args ...any) error {
			return db.q(ctx).Model(row).Where(where, args...).Updates(set).Error
		}
		err := cmp.Or(
			update(&taskRow{}, map[string]any{"due_at": now, "run_at": gorm.Expr("CASE WHEN run_at > ? THEN ? ELSE run_at END", now, db.dialect.Typed(now, "timestamptz"))},
				"ended_at IS NULL AND due_at > ? AND ("+work+" OR state = 'running' AND due_at > ?)", ahead, ahead, lease),
			update(&outboxRow{}, map[string]any{"claimed_until": nil}, "sent_at IS NULL AND claimed_until > ?", lease))
		if db.stores("integrations") {
			err = cmp.Or(err, update(&webhookDeliveryRow{}, map[string]any{"next_at": now}, "status = 'pending' AND next_at > ? AND ("+deliveries+")", ahead, ahead))
		}
		return wrap(err)
	})
}
