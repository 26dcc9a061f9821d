package gormdb

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/trace"
)

// Outbox stores events beside the changes that they tell of. It implements
// event.Recorder and event.Outbox.
type Outbox struct{ *DB }

type outboxRow struct {
	ID         string
	Type       string
	Subject    string
	Payload    string
	RecordedAt time.Time
	Attempts   int
	Trace      string
}

// TableName tells GORM the table.
func (outboxRow) TableName() string { return "outbox" }

// Record implements event.Recorder.
func (o Outbox) Record(ctx context.Context, events ...event.Event) error {
	t := o.current(ctx)
	if t == nil {
		return errors.New("events are recorded in the transaction of their change, and there is none")
	}
	if len(events) == 0 {
		return nil
	}
	rows := make([]outboxRow, len(events))
	for i, e := range events {
		var err error
		if rows[i], err = o.row(ctx, e); err != nil {
			return err
		}
	}
	o.recorded(ctx)
	return wrap(o.q(ctx).CreateInBatches(&rows, 500).Error)
}

// row is an event as it is stored.
func (o Outbox) row(ctx context.Context, e event.Event) (outboxRow, error) {
	payload, err := json.Marshal(e)
	return outboxRow{ID: o.newID(), Type: e.Type(), Subject: e.Subject(), Payload: string(payload), RecordedAt: o.clock.Now(), Trace: trace.Parent(ctx)}, err
}

// Claim implements event.Outbox.
func (o Outbox) Claim(ctx context.Context, n int, lease time.Duration) ([]event.Envelope, error) {
	now := o.clock.Now()
	var rows []outboxRow
	err := o.aside(ctx).Raw(`UPDATE outbox SET claimed_until = ?, attempts = attempts + 1
		WHERE id `+o.dialect.oneOf(`SELECT id FROM outbox WHERE sent_at IS NULL AND (claimed_until IS NULL OR claimed_until <= ?)
			AND subject NOT IN (SELECT subject FROM outbox WHERE sent_at IS NULL AND claimed_until > ?)
			ORDER BY id LIMIT ? `+o.dialect.skipLocked())+`
		RETURNING id, type, subject, payload, recorded_at, attempts, trace`, now.Add(lease), now, now, n).Scan(&rows).Error
	if err != nil {
		return nil, wrap(err)
	}
	slices.SortFunc(rows, func(a, b outboxRow) int { return strings.Compare(a.ID, b.ID) })
	out := make([]event.Envelope, len(rows))
	for i, r := range rows {
		out[i] = event.Envelope{ID: r.ID, Type: r.Type, Subject: r.Subject, Payload: json.RawMessage(r.Payload), RecordedAt: r.RecordedAt, Attempt: r.Attempts, Trace: r.Trace}
	}
	return out, nil
}

// MarkSent implements event.Outbox.
func (o Outbox) MarkSent(ctx context.Context, ids ...string) error {
	return wrap(o.q(ctx).Exec(`UPDATE outbox SET sent_at = ? WHERE ? AND sent_at IS NULL`, o.clock.Now(), o.dialect.among(ids)).Error)
}

// Notifications implements event.Outbox.
func (o Outbox) Notifications(ctx context.Context) <-chan struct{} { return o.bell.listen(ctx) }

// maxCounted bounds what it costs to look at a backlog.
const maxCounted = 100_000

// Lag implements event.Outbox.
func (o Outbox) Lag(ctx context.Context) (n int, oldest time.Time, err error) {
	var lag struct {
		N      int
		Oldest string
	}
	err = o.q(ctx).Raw(`SELECT COUNT(*) AS n, COALESCE(MIN(id), '') AS oldest FROM (SELECT CAST(id AS TEXT) AS id FROM outbox WHERE sent_at IS NULL ORDER BY outbox.id LIMIT ?) AS unsent`, maxCounted).Scan(&lag).Error
	if err != nil || lag.N == 0 {
		return 0, time.Time{}, wrap(err)
	}
	var r outboxRow
	if err := o.q(ctx).Select("recorded_at").Where("id = ?", lag.Oldest).Take(&r).Error; err != nil {
		return 0, time.Time{}, wrap(err)
	}
	return lag.N, r.RecordedAt, nil
}
