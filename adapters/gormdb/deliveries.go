package gormdb

import (
	"context"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

// deliveries implements integrations.Deliveries.
type deliveries struct{ *DB }

type webhookMessageRow struct {
	EventID        string
	Type           string
	Body           string
	OrganizationID string `gorm:"serializer:nullable_string"`
	ApplicantID    string `gorm:"serializer:nullable_string"`
	CreatedAt      time.Time
}

type webhookDeliveryRow struct {
	ID         string
	EndpointID string
	OwnerID    string
	EventID    string
	Type       string
	Status     integrations.DeliveryStatus
	Attempt    int
	Tries      int
	Attempts   []integrations.Attempt `gorm:"serializer:json_column"`
	NextAt     *time.Time
	FailedAt   *time.Time
	CreatedAt  time.Time
}

// delivery returns the delivery of the row. Its attempts are never nil, because they are a list
// in the API.
func (r webhookDeliveryRow) delivery() integrations.Delivery {
	if r.Attempts == nil {
		r.Attempts = []integrations.Attempt{}
	}

	return integrations.Delivery(r)
}

// Enqueue implements integrations.Deliveries. Endpoints are locked and messages
// stored in one order, so that concurrent transactions do not deadlock.
func (d deliveries) Enqueue(ctx context.Context, ms []integrations.Message, ds []integrations.Delivery) error {
	messages := list.Map(ms, func(m integrations.Message) webhookMessageRow { return webhookMessageRow(m) })
	endpoints := list.Distinct(ds, func(d integrations.Delivery) string { return d.EndpointID })

	slices.SortFunc(messages, func(a, b webhookMessageRow) int { return strings.Compare(a.EventID, b.EventID) })

	return d.Do(ctx, func(ctx context.Context) error {
		var active []string

		err := whereIn(d.locked(ctx).Model(&webhookEndpointRow{}), "id", endpoints).Where("status = 'active'").
			Order("id").
			Pluck("id", &active).
			Error
		if err != nil {
			return wrap(err)
		}

		keep := list.Map(ds, func(d integrations.Delivery) webhookDeliveryRow { return webhookDeliveryRow(d) })

		keep = slices.DeleteFunc(
			keep,
			func(r webhookDeliveryRow) bool { _, found := slices.BinarySearch(active, r.EndpointID); return !found },
		)
		if len(keep) == 0 {
			return nil
		}

		if err := d.unprepared(ctx).Clauses(ignoreOnConflict([]string{"event_id"})).CreateInBatches(&messages, 200).Error; err != nil {
			return wrap(err)
		}

		return wrap(d.unprepared(ctx).Clauses(ignoreOnConflict([]string{"event_id", "endpoint_id"})).CreateInBatches(&keep, 200).Error)
	})
}

// ofEndpoint restricts q to the deliveries to the owner's endpoint.
func (d deliveries) ofEndpoint(q *gorm.DB, ownerID, endpointID string) *gorm.DB {
	return ofAppOwner(q, ownerID).Where("endpoint_id = ?", endpointID)
}

// List implements integrations.Deliveries.
func (d deliveries) List(
	ctx context.Context,
	ownerID, endpointID string,
	status integrations.DeliveryStatus,
	r page.Request,
) (page.Result[integrations.Delivery], error) {
	return listPage(ctx, d.DB, r, listQuery{where: func(q *gorm.DB) *gorm.DB {
		return whereEqual(q.Where("endpoint_id = ? AND owner_id = ?", endpointID, ownerID), "status", status)
	}}, webhookDeliveryRow.delivery)
}

// ListMessages implements integrations.Deliveries.
func (d deliveries) ListMessages(
	ctx context.Context,
	ownerID, endpointID string,
	f integrations.MessageFilter,
	n int,
) ([]integrations.Outgoing, error) {
	q := d.ofEndpoint(d.conn(ctx), ownerID, endpointID)
	if f.ID != "" {
		q = q.Where("id = ?", f.ID)
	} else {
		q = q.Where("status = 'pending'").Order("next_at, id")
	}

	found, err := findRows(whereIfSet(q, "next_at <= ?", f.DueBy).Limit(n), webhookDeliveryRow.delivery)
	if err != nil || len(found) == 0 {
		return nil, err
	}

	events := list.Map(found, func(d integrations.Delivery) string { return d.EventID })
	messages, err := findRows(
		whereIn(d.conn(ctx), "event_id", events),
		func(r webhookMessageRow) integrations.Message { return integrations.Message(r) },
	)

	byID := list.ToMap(messages, func(m integrations.Message) (string, integrations.Message) { return m.EventID, m })

	var out []integrations.Outgoing
	for _, delivery := range found {
		if m, exists := byID[delivery.EventID]; exists { // not deleted since
			out = append(out, integrations.Outgoing{Delivery: delivery, Message: m})
		}
	}

	return out, err
}

// Replay implements integrations.Deliveries.
func (d deliveries) Replay(
	ctx context.Context,
	ownerID, endpointID string,
	f integrations.ReplayFilter,
	at time.Time,
	n int,
) (replayed int, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		q := d.ofEndpoint(d.locked(ctx).Model(&webhookDeliveryRow{}), ownerID, endpointID)
		if f.ID != "" {
			q = q.Where("id = ?", f.ID)
		} else {
			q = q.Where("status = 'failed' AND failed_at >= ?", f.FailedSince).Order("failed_at")
		}

		var ids []string
		if err := q.Limit(n).Pluck("id", &ids).Error; err != nil {
			return wrap(err)
		}

		res := whereIn(d.conn(ctx).Model(&webhookDeliveryRow{}), "id", ids).
			Updates(map[string]any{"status": integrations.Pending, "tries": 0, "next_at": at, "failed_at": nil})
		replayed = len(ids)

		return wrap(res.Error)
	})

	return replayed, err
}

// RecordResults implements integrations.Deliveries.
func (d deliveries) RecordResults(ctx context.Context, endpointID string, ds []integrations.Delivery) (changed []string, err error) {
	results := list.ToMap(ds, func(d integrations.Delivery) (string, integrations.Delivery) { return d.ID, d })
	ids := list.Map(ds, func(d integrations.Delivery) string { return d.ID })
	err = d.Do(ctx, func(ctx context.Context) error {
		changed = nil
		var stored, rows []webhookDeliveryRow

		// The condition uses the id alone. With other columns, SQLite would read all
		// deliveries to the endpoint.
		if err := d.locked(ctx).Omit("attempts").Where("?", d.dialect.In("id", ids)).Order("id").Find(&stored).Error; err != nil {
			return wrap(err)
		}

		for _, r := range stored {
			result := results[r.ID]

			// Another process has sent the delivery since.
			if r.EndpointID != endpointID || r.Attempt != result.Attempt-1 {
				continue
			}

			r.Attempt, r.Attempts = result.Attempt, result.Attempts

			// A replay during the attempt has reset Tries. Its result then counts only if it is a
			// success, so that the replay is sent.
			if replayed := result.Tries > r.Tries+1; !replayed || result.Status == integrations.Succeeded {
				r.Status = result.Status
				r.Tries = result.Tries
				r.NextAt = result.NextAt
				r.FailedAt = result.FailedAt
			}

			rows, changed = append(rows, r), append(changed, r.ID)
		}

		return updateLocked(d.unprepared(ctx), rows, "id", "attempt", "attempts", "status", "tries", "next_at", "failed_at")
	})

	return changed, err
}

// DeleteByApplicant implements integrations.Deliveries.
func (d deliveries) DeleteByApplicant(ctx context.Context, userID string) error {
	return wrap(d.conn(ctx).Where("applicant_id = ?", userID).Delete(&webhookMessageRow{}).Error)
}

// NextDue implements integrations.Deliveries.
func (d deliveries) NextDue(ctx context.Context, endpointID string) (*time.Time, error) {
	var rows []webhookDeliveryRow

	err := d.conn(ctx).
		Select("next_at").
		Where("endpoint_id = ? AND status = 'pending'", endpointID).
		Order("next_at").
		Limit(1).
		Find(&rows).
		Error
	if err != nil || len(rows) == 0 {
		return nil, wrap(err)
	}

	return rows[0].NextAt, nil
}
