package gormdb

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

// Deliveries implements integrations.Deliveries.
type Deliveries struct{ *DB }

type messageRow struct {
	EventID        string `gorm:"primaryKey"`
	Type           string
	Body           string
	OrganizationID *string
	ApplicantID    *string
	CreatedAt      time.Time `gorm:"autoCreateTime:false"`
}

// TableName implements schema.Tabler.
func (messageRow) TableName() string { return "webhook_messages" }

type deliveryRow struct {
	ID         string
	EndpointID string
	OwnerID    string
	EventID    string
	Type       string
	Status     string
	Attempt    int
	Tries      int
	Attempts   string
	NextAt     *time.Time
	FailedAt   *time.Time
	CreatedAt  time.Time `gorm:"autoCreateTime:false"`
}

// TableName implements schema.Tabler.
func (deliveryRow) TableName() string { return "webhook_deliveries" }

func newDeliveryRow(d integrations.Delivery) (deliveryRow, error) {
	if d.Attempts == nil {
		d.Attempts = []integrations.Attempt{}
	}
	attempts, err := json.Marshal(d.Attempts)
	return deliveryRow{ID: d.ID, EndpointID: d.EndpointID, OwnerID: d.OwnerID, EventID: d.EventID, Type: d.Type, Status: string(d.Status),
		Attempt: d.Attempt, Tries: d.Tries, Attempts: string(attempts), NextAt: d.NextAt, FailedAt: d.FailedAt, CreatedAt: d.CreatedAt}, err
}

func (r deliveryRow) delivery() (integrations.Delivery, error) {
	d := integrations.Delivery{ID: r.ID, EndpointID: r.EndpointID, OwnerID: r.OwnerID, EventID: r.EventID, Type: r.Type, Status: integrations.DeliveryStatus(r.Status),
		Attempt: r.Attempt, Tries: r.Tries, NextAt: r.NextAt, FailedAt: r.FailedAt, CreatedAt: r.CreatedAt}
	return d, json.Unmarshal([]byte(r.Attempts), &d.Attempts)
}

// Enqueue implements integrations.Deliveries. Endpoints are locked and messages
// stored in one order, so that concurrent transactions do not deadlock.
func (d Deliveries) Enqueue(ctx context.Context, ms []integrations.Message, ds []integrations.Delivery) error {
	messages, rows := make([]messageRow, len(ms)), make([]deliveryRow, len(ds))
	endpoints := map[string]bool{}
	for i, m := range ms {
		messages[i] = messageRow{EventID: m.EventID, Type: m.Type, Body: m.Body, OrganizationID: orNull(m.OrganizationID), ApplicantID: orNull(m.ApplicantID), CreatedAt: m.CreatedAt}
	}
	for i, delivery := range ds {
		endpoints[delivery.EndpointID] = true
		var err error
		if rows[i], err = newDeliveryRow(delivery); err != nil {
			return err
		}
	}
	slices.SortFunc(messages, func(a, b messageRow) int { return strings.Compare(a.EventID, b.EventID) })
	return d.Do(ctx, func(ctx context.Context) error {
		var active []string
		err := d.locked(ctx).Model(&endpointRow{}).Where("?", d.dialect.In("id", slices.Sorted(maps.Keys(endpoints)))).Where("status = 'active'").Order("id").Pluck("id", &active).Error
		if err != nil {
			return wrap(err)
		}
		keep := slices.DeleteFunc(slices.Clone(rows), func(r deliveryRow) bool { _, found := slices.BinarySearch(active, r.EndpointID); return !found })
		if len(keep) == 0 {
			return nil
		}
		if err := d.unprepared(ctx).Clauses(onConflict([]string{"event_id"})).CreateInBatches(&messages, 200).Error; err != nil {
			return wrap(err)
		}
		return wrap(d.unprepared(ctx).Clauses(onConflict([]string{"event_id", "endpoint_id"})).CreateInBatches(&keep, 200).Error)
	})
}

// ofEndpoint restricts q to the deliveries to the owner's endpoint.
func (d Deliveries) ofEndpoint(q *gorm.DB, ownerID, endpointID string) *gorm.DB {
	return ofAppOwner(q, ownerID).Where("endpoint_id = ?", endpointID)
}

// List implements integrations.Deliveries.
func (d Deliveries) List(ctx context.Context, ownerID, endpointID string, status integrations.DeliveryStatus, r page.Request) (page.Result[integrations.Delivery], error) {
	rows, out, err := listOf[deliveryRow, integrations.Delivery](ctx, d.DB, r, list{where: func(q *gorm.DB) *gorm.DB {
		q = q.Where("endpoint_id = ? AND owner_id = ?", endpointID, ownerID)
		if status != "" {
			q = q.Where("status = ?", string(status))
		}
		return q
	}})
	out.Items = make([]integrations.Delivery, len(rows))
	for i, row := range rows {
		if err == nil {
			out.Items[i], err = row.delivery()
		}
	}
	return out, err
}

// ListMessages implements integrations.Deliveries.
func (d Deliveries) ListMessages(ctx context.Context, ownerID, endpointID string, f integrations.MessageFilter, n int) ([]integrations.Outgoing, error) {
	q := d.ofEndpoint(d.q(ctx), ownerID, endpointID)
	if f.ID != "" {
		q = q.Where("id = ?", f.ID)
	} else {
		q = q.Where("status = 'pending'").Order("next_at, id")
	}
	if !f.DueBy.IsZero() {
		q = q.Where("next_at <= ?", f.DueBy)
	}
	var rows []deliveryRow
	if err := q.Limit(n).Find(&rows).Error; err != nil || len(rows) == 0 {
		return nil, wrap(err)
	}
	events := make([]string, len(rows))
	for i, r := range rows {
		events[i] = r.EventID
	}
	var messages []messageRow
	if err := d.q(ctx).Where("?", d.dialect.In("event_id", events)).Find(&messages).Error; err != nil {
		return nil, wrap(err)
	}
	byID := make(map[string]messageRow, len(messages))
	for _, m := range messages {
		byID[m.EventID] = m
	}
	out := make([]integrations.Outgoing, 0, len(rows))
	for _, r := range rows {
		m, ok := byID[r.EventID]
		if !ok {
			continue // deleted since
		}
		delivery, err := r.delivery()
		if err != nil {
			return nil, err
		}
		out = append(out, integrations.Outgoing{Delivery: delivery, Message: integrations.Message{
			EventID: m.EventID, Type: m.Type, Body: m.Body, OrganizationID: orNone(m.OrganizationID), ApplicantID: orNone(m.ApplicantID), CreatedAt: m.CreatedAt}})
	}
	return out, nil
}

// Replay implements integrations.Deliveries.
func (d Deliveries) Replay(ctx context.Context, ownerID, endpointID string, f integrations.ReplayFilter, at time.Time, n int) (replayed int, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		q := d.ofEndpoint(d.locked(ctx).Model(&deliveryRow{}), ownerID, endpointID)
		if f.ID != "" {
			q = q.Where("id = ?", f.ID)
		} else {
			q = q.Where("status = 'failed' AND failed_at >= ?", f.FailedSince).Order("failed_at")
		}
		var ids []string
		if err := q.Limit(n).Pluck("id", &ids).Error; err != nil {
			return wrap(err)
		}
		res := d.q(ctx).Model(&deliveryRow{}).Where("?", d.dialect.In("id", ids)).
			Updates(map[string]any{"status": string(integrations.Pending), "tries": 0, "next_at": at, "failed_at": nil})
		replayed = len(ids)
		return wrap(res.Error)
	})
	return replayed, err
}

// RecordResults implements integrations.Deliveries.
func (d Deliveries) RecordResults(ctx context.Context, endpointID string, ds []integrations.Delivery) (changed []string, err error) {
	results, ids := make(map[string]integrations.Delivery, len(ds)), make([]string, len(ds))
	for i, r := range ds {
		results[r.ID], ids[i] = r, r.ID
	}
	err = d.Do(ctx, func(ctx context.Context) error {
		changed = nil
		var stored, rows []deliveryRow
		// By id alone: SQLite would otherwise read all deliveries to the endpoint.
		if err := d.locked(ctx).Omit("attempts").Where("?", d.dialect.In("id", ids)).Order("id").Find(&stored).Error; err != nil {
			return wrap(err)
		}
		for _, r := range stored {
			result := results[r.ID]
			if r.EndpointID != endpointID || r.Attempt != result.Attempt-1 {
				continue
			}
			next, err := newDeliveryRow(result)
			if err != nil {
				return err
			}
			r.Attempt, r.Attempts = next.Attempt, next.Attempts
			if replayed := result.Tries > r.Tries+1; !replayed || result.Status == integrations.Succeeded {
				r.Status, r.Tries, r.NextAt, r.FailedAt = next.Status, next.Tries, next.NextAt, next.FailedAt
			}
			rows, changed = append(rows, r), append(changed, r.ID)
		}
		return updateLocked(d.unprepared(ctx), rows, "id", "attempt", "attempts", "status", "tries", "next_at", "failed_at")
	})
	return changed, err
}

// DeleteByApplicant implements integrations.Deliveries.
func (d Deliveries) DeleteByApplicant(ctx context.Context, userID string) error {
	return wrap(d.q(ctx).Where("applicant_id = ?", userID).Delete(&messageRow{}).Error)
}

// NextDue implements integrations.Deliveries.
func (d Deliveries) NextDue(ctx context.Context, endpointID string) (*time.Time, error) {
	var rows []deliveryRow
	err := d.q(ctx).Select("next_at").Where("endpoint_id = ? AND status = 'pending'", endpointID).Order("next_at").Limit(1).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return nil, wrap(err)
	}
	return rows[0].NextAt, nil
}
