package gormdb

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/event"
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
		payload, err := json.Marshal(e)
		if err != nil {
			return err
		}
		rows[i] = outboxRow{ID: o.newID(), Type: e.Type(), Subject: e.Subject(), Payload: string(payload), RecordedAt: o.clock.Now()}
	}
	t.recorded = true
	return wrap(o.q(ctx).CreateInBatches(&rows, 500).Error)
}

// Claim implements event.Outbox.
func (o Outbox) Claim(ctx context.Context, n int, lease time.Duration) ([]event.Envelope, error) {
	now := o.clock.Now()
	var rows []outboxRow
	err := o.q(ctx).Raw(`UPDATE outbox SET claimed_until = ?, attempts = attempts + 1
		WHERE id IN (SELECT id FROM outbox WHERE sent_at IS NULL AND (claimed_until IS NULL OR claimed_until <= ?)
			ORDER BY id LIMIT ? `+o.dialect.skipLocked()+`)
		RETURNING id, type, subject, payload, recorded_at, attempts`, now.Add(lease), now, n).Scan(&rows).Error
	if err != nil {
		return nil, wrap(err)
	}
	slices.SortFunc(rows, func(a, b outboxRow) int { return strings.Compare(a.ID, b.ID) })
	out := make([]event.Envelope, len(rows))
	for i, r := range rows {
		out[i] = event.Envelope{ID: r.ID, Type: r.Type, Subject: r.Subject, Payload: json.RawMessage(r.Payload), RecordedAt: r.RecordedAt, Attempt: r.Attempts}
	}
	return out, nil
}

// MarkSent implements event.Outbox.
func (o Outbox) MarkSent(ctx context.Context, ids ...string) error {
	return wrap(o.q(ctx).Model(&outboxRow{}).Where("id IN ? AND sent_at IS NULL", ids).Update("sent_at", o.clock.Now()).Error)
}

// Wake implements event.Outbox.
func (o Outbox) Wake() <-chan struct{} { return o.wake }
