package gormdb

import (
	"context"
	"sync"
	"time"

	"gorm.io/gorm"
)

// A timestamp that is further in the future than these durations was written by a host
// whose clock was ahead.
const (
	// maxClockSkew exceeds the difference between the clocks of the hosts of an installation.
	maxClockSkew = time.Minute
	// maxLease exceeds the duration of every lease of tasks and events.
	maxLease = 15 * time.Minute
)

// clockReading is the last time that nowAndRepair has read.
type clockReading struct {
	mu   sync.Mutex
	last time.Time
}

// nowAndRepair returns the current time. On the first call, and when the clock was set back
// since the last one, it first corrects timestamps that are too far in the future.
func (db *DB) nowAndRepair(ctx context.Context) (time.Time, error) {
	r := &db.reading
	r.mu.Lock()
	defer r.mu.Unlock()

	now := db.clock.Now()

	wasSetBack := now.Before(r.last.Add(-maxClockSkew))
	if r.last.IsZero() || wasSetBack {
		if err := db.repairFutureTimestamps(ctx, now, wasSetBack); err != nil {
			return now, err
		}
	}

	r.last = now

	return now, nil
}

// repairFutureTimestamps corrects timestamps in the future that were stored while a clock was ahead: it
// ends leases, and makes tasks and deliveries due.
//
// If retryNow is set, all waiting retries become due. Retries that such a clock has postponed cannot be
// distinguished from others, and an early retry is harmless.
func (db *DB) repairFutureTimestamps(ctx context.Context, now time.Time, retryNow bool) error {
	latest, latestLease := now.Add(maxClockSkew), now.Add(maxLease)

	isWrongTask, isWrongDelivery := "created_at > ?", "created_at > ?"
	if retryNow {
		isWrongTask += " OR (attempts > 0 AND state = 'waiting')"
		isWrongDelivery += " OR next_at > created_at"
	}

	return db.Do(ctx, func(ctx context.Context) error {
		// See taskRow for the columns.
		dueNow := map[string]any{
			"due_at": now,
			"run_at": gorm.Expr("CASE WHEN run_at > ? THEN ? ELSE run_at END", now, db.dialect.Typed(now, "timestamptz")),
		}

		isWrong := "(" + isWrongTask + " OR (state = 'running' AND due_at > ?))"

		err := db.conn(ctx).Model(&taskRow{}).
			Where("ended_at IS NULL AND due_at > ? AND "+isWrong, latest, latest, latestLease).
			Updates(dueNow).Error
		if err != nil {
			return wrap(err)
		}

		// claimed_until is the end of the lease of an event that is being relayed.
		err = db.conn(ctx).
			Model(&outboxRow{}).
			Where("sent_at IS NULL AND claimed_until > ?", latestLease).
			Updates(map[string]any{"claimed_until": nil}).
			Error
		if err != nil || !db.storesModule("integrations") {
			return wrap(err)
		}

		return wrap(db.conn(ctx).Model(&webhookDeliveryRow{}).
			Where("status = 'pending' AND next_at > ? AND ("+isWrongDelivery+")", latest, latest).
			Updates(map[string]any{"next_at": now}).Error)
	})
}
