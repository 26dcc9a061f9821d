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

// expiries implements retention.Store. It deletes data that is stored only for some time. Each kind of such
// data has a name, the retention.Kind.
type expiries struct{ *DB }

// expiry deletes at most n rows of one kind that are older than a time, and returns their number.
type expiry func(ctx context.Context, db *DB, before time.Time, n int) (int, error)

// expiriesByModule contains a map for each module, from the kinds of its data to the functions that delete
// them.
var expiriesByModule = []map[retention.Kind]expiry{
	databaseExpiry,
	identityExpiry,
	listingsExpiry,
	jobseekerExpiry,
	integrationsExpiry,
}

// databaseExpiry is for what all modules share: events, tasks, the audit log and idempotency keys.
var databaseExpiry = map[retention.Kind]expiry{
	event.Sent:       deleteExpiredBy[outboxRow]("sent_at", "id"),
	task.DoneTasks:   expireTasks(task.Done),
	task.DeadTasks:   expireTasks(task.Dead),
	audit.Entries:    deleteExpiredBy[auditEntryRow]("at", "id"),
	idempotency.Keys: deleteExpiredBy[idempotencyKeyRow]("expires_at", "owner_id", "operation", "key_hash"),
}

// expireTasks returns the expiry of tasks that have ended in the state done or dead.
func expireTasks(state task.State) expiry {
	return func(ctx context.Context, db *DB, before time.Time, n int) (int, error) {
		expired := db.conn(ctx).Where("state = ? AND ended_at < ?", string(state), before)
		return deleteLimited[taskRow](expired, n, "ended_at", "id")
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

// deleteExpiredBy returns the expiry of rows of type R whose timestamp column is before the given time. The
// column must have an index. key lists the columns of the primary key.
func deleteExpiredBy[R any](column string, key ...string) expiry {
	return func(ctx context.Context, db *DB, before time.Time, n int) (int, error) {
		return deleteLimited[R](db.conn(ctx).Where(column+" < ?", before), n, column, key...)
	}
}
