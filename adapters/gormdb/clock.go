package gormdb

import (
	"context"
	"sync"
	"time"

	"gorm.io/gorm"
)

// A host whose clock is ahead stores timestamps in the future. Even after its clock is corrected, tasks that
// it has added would wait, and leases that it has taken would last, until these times. The functions of this
// file find such timestamps and correct them. A lease is the time for which a worker holds a task or an event.
const (
	// maxClockSkew exceeds the difference between correct clocks of the hosts of an installation.
	maxClockSkew = time.Minute
	// maxLease exceeds the duration of every lease.
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
	reading := &db.reading

	reading.mu.Lock()
	defer reading.mu.Unlock()

	now := db.clock.Now()

	isFirst := reading.last.IsZero()
	wasSetBack := now.Before(reading.last.Add(-maxClockSkew))

	if isFirst || wasSetBack {
		if err := db.repairFutureTimestamps(ctx, now, wasSetBack); err != nil {
			return now, err
		}
	}

	reading.last = now

	return now, nil
}

// repairFutureTimestamps corrects timestamps that were stored while a clock was ahead. Tasks and webhook
// deliveries become due if they were created in the future. Leases end if they would last longer than any
// lease does.
//
// If retryNow is set, all postponed retries become due as well. Retries that the wrong clock has postponed
// cannot be distinguished from others, and an early retry is harmless.
func (db *DB) repairFutureTimestamps(ctx context.Context, now time.Time, retryNow bool) error {
	latest, latestLease := now.Add(maxClockSkew), now.Add(maxLease)

	isWrongTask, isWrongDelivery := "created_at > ?", "created_at > ?"
	if retryNow {
		isWrongTask += " OR (attempts > 0 AND state = 'waiting')"
		isWrongDelivery += " OR next_at > created_at"
	}

	// due_at of a running task is the end of its lease.
	isWrongTask += " OR (state = 'running' AND due_at > ?)"

	return db.Do(ctx, func(ctx context.Context) error {
		err := db.conn(ctx).Model(&taskRow{}).
			Where("ended_at IS NULL AND due_at > ? AND ("+isWrongTask+")", latest, latest, latestLease).
			Updates(map[string]any{
				"due_at": now,
				"run_at": gorm.Expr("CASE WHEN run_at > ? THEN ? ELSE run_at END", now, db.dialect.Typed(now, "timestamptz")),
			}).Error
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
