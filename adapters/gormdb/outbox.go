package gormdb

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/trace"
)

// outbox implements event.Recorder and event.Outbox. It stores events in the same transaction as the
// changes that they describe. A relay then claims the events, sends them to their subscribers, and marks
// them as sent.
type outbox struct{ *DB }

// outboxRow is an event. The table has two further columns: sent_at is NULL until the event is sent, and
// claimed_until is the end of the lease of the relay that has claimed the event last.
type outboxRow struct {
	ID         string
	Type       string
	Subject    string // the object that the event is about, such as a job
	Payload    string
	RecordedAt time.Time
	Attempts   int    // how often the event has been claimed
	Trace      string // the trace context of the request that has recorded the event
}

// TableName implements schema.Tabler.
func (outboxRow) TableName() string { return "outbox" }

// Record implements event.Recorder. It fails outside of a transaction.
func (o outbox) Record(ctx context.Context, events ...event.Event) error {
	t := o.currentTx(ctx)
	if t == nil {
		return errors.New("events are recorded in the transaction of their change, and there is none")
	}

	if len(events) == 0 {
		return nil
	}

	rows := make([]outboxRow, len(events))
	for i, e := range events {
		var err error
		if rows[i], err = o.newRow(ctx, e); err != nil {
			return err
		}
	}

	o.markWorkAdded(ctx)

	if len(rows) == 1 { // the statement that inserts a single row is cached
		return o.insert(ctx, insert{rows: &rows[0]})
	}

	for batch := range slices.Chunk(rows, eventBatchSize) {
		if err := o.insert(ctx, insert{rows: &batch}); err != nil {
			return err
		}
	}

	return nil
}

// eventBatchSize is the maximum number of events in one statement. MariaDB refuses statements of more than 16 MiB. An
// event contains up to 24 KiB of a listing, which MariaDB's driver may double when it escapes them: 200 events of
// 48 KiB are less than 10 MiB.
const eventBatchSize = 200

// newRow returns the row that stores the event.
func (o outbox) newRow(ctx context.Context, e event.Event) (outboxRow, error) {
	payload, err := json.Marshal(e)

	return outboxRow{
		ID:         o.newID(),
		Type:       e.Type(),
		Subject:    e.Subject(),
		Payload:    string(payload),
		RecordedAt: o.clock.Now(),
		Trace:      trace.Parent(ctx),
	}, err
}

// Claim implements event.Outbox. It reserves up to n events for the caller until the lease ends. A subject is the object
// that an event is about. Claim leaves out the events of a subject while another event of the subject is claimed, so
// that the events of each subject are sent in their order.
func (o outbox) Claim(ctx context.Context, n int, lease time.Duration) ([]event.Envelope, error) {
	now := o.clock.Now()

	var rows []outboxRow
	err := o.inQueue(ctx, func(q *gorm.DB) error {
		claimedSubjects := newStatement(q).
			Model(&outboxRow{}).
			Select("subject").
			Where("sent_at IS NULL AND claimed_until > ?", now)

		err := o.skipLockedRows(q).
			Where("sent_at IS NULL AND (claimed_until IS NULL OR claimed_until <= ?)", now).
			Where("subject NOT IN (?)", claimedSubjects).
			Order("id").
			Limit(n).
			Find(&rows).
			Error
		if err != nil || len(rows) == 0 {
			return err
		}

		ids := list.Map(rows, func(r outboxRow) string { return r.ID })

		return newStatement(q).Model(&outboxRow{}).Where(o.dialect.In("id", ids)).
			Updates(map[string]any{"claimed_until": now.Add(lease), "attempts": gorm.Expr("attempts + 1")}).Error
	})

	return list.Map(rows, func(r outboxRow) event.Envelope {
		return event.Envelope{
			ID:         r.ID,
			Type:       r.Type,
			Subject:    r.Subject,
			Payload:    json.RawMessage(r.Payload),
			RecordedAt: r.RecordedAt,
			Attempt:    r.Attempts + 1, // the row was read before the update
			Trace:      r.Trace,
		}
	}), err
}

// MarkSent implements event.Outbox.
func (o outbox) MarkSent(ctx context.Context, ids ...string) error {
	unsent := o.conn(ctx).Model(&outboxRow{}).Where(o.dialect.In("id", ids)).Where("sent_at IS NULL")
	return wrap(unsent.Update("sent_at", o.clock.Now()).Error)
}

// Notifications implements event.Outbox.
func (o outbox) Notifications(ctx context.Context) <-chan struct{} { return o.notifier.listen(ctx) }

// maxBacklogCount is the number up to which the events or tasks that wait are counted, which limits the
// cost.
const maxBacklogCount = 100_000

// Lag implements event.Outbox. It returns the number of events that are not sent yet, up to maxBacklogCount, and
// the time at which the oldest one was recorded.
func (o outbox) Lag(ctx context.Context) (n int, oldest time.Time, err error) {
	var lag struct {
		N      int
		Oldest aggregatedTime
	}
	unsent := o.conn(ctx).Model(&outboxRow{}).Select("recorded_at").Where("sent_at IS NULL").Order("id").Limit(maxBacklogCount)
	err = o.conn(ctx).Table("(?) AS unsent", unsent).Select("COUNT(*) AS n, MIN(recorded_at) AS oldest").Scan(&lag).Error

	return lag.N, lag.Oldest.Time, wrap(err)
}

// aggregatedTime is the result of an SQL function of timestamps, such as MIN. SQLite returns it as text.
type aggregatedTime struct{ time.Time }

// Value implements driver.Valuer. Without it, GORM would take the type for a relation.
func (t *aggregatedTime) Value() (driver.Value, error) { return t.Time, nil }

// Scan implements sql.Scanner.
func (t *aggregatedTime) Scan(result any) (err error) {
	switch value := result.(type) {
	case time.Time:
		t.Time = value.UTC()
	case string:
		t.Time, err = time.Parse(sqliteTime, value)
	}

	return err
}
