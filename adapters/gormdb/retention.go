package gormdb

import (
	"context"
	"fmt"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/idempotency"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/core/task"
)

// expiries implements retention.Store.
type expiries struct{ *DB }

// expiry deletes at most n rows that are older than a time.
type expiry func(ctx context.Context, db *DB, before time.Time, n int) (int, error)

// expiriesByModule are the kinds of rows that can expire.
var expiriesByModule = []map[retention.Kind]expiry{databaseExpiry, identityExpiry, listingsExpiry, jobseekerExpiry, integrationsExpiry}

// databaseExpiry are the kinds of the ports that every module has.
var databaseExpiry = map[retention.Kind]expiry{
	event.Sent:       expireBy[outboxRow]("sent_at", "id"),
	task.DoneTasks:   expireTasks(task.Done),
	task.DeadTasks:   expireTasks(task.Dead),
	audit.Entries:    expireBy[auditEntryRow]("at", "id"),
	idempotency.Keys: expireBy[idempotencyKeyRow]("expires_at", "owner_id", "operation", "key_hash"),
}

func expireTasks(state task.State) expiry {
	return func(ctx context.Context, db *DB, before time.Time, n int) (int, error) {
		return deleteLimited[taskRow](db.q(ctx).Where("state = ? AND ended_at < ?", string(state), before), n, "ended_at", "id")
	}
}

// DeleteBefore implements retention.Store.
func (d expiries) DeleteBefore(ctx context.Context, kind retention.Kind, before time.Time, n int) (int, error) {
	for _, kinds := range expiriesByModule {
		if deleteBefore, ok := kinds[kind]; ok {
			return deleteBefore(ctx, d.DB, before, n)
		}
	}
	return 0, fmt.Errorf("no rows of kind %q are stored here", kind)
}

// expireBy deletes rows by one of their columns, which an index serves. key are the
// columns of the primary key.
func expireBy[R any](column string, key ...string) expiry {
	return func(ctx context.Context, db *DB, before time.Time, n int) (int, error) {
		return deleteLimited[R](db.q(ctx).Where(column+" < ?", before), n, column, key...)
	}
}
