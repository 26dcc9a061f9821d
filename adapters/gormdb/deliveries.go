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

// deliveries implements integrations.Deliveries. A message is the body that describes an event. A delivery is
// the task to send a message to one endpoint, the URL of a webhook, in one or more attempts.
type deliveries struct{ *DB }

// webhookMessageRow is a message. It is stored once for all of its deliveries.
type webhookMessageRow struct {
	EventID        string
	Type           string
	Body           string
	OrganizationID string `gorm:"serializer:nullable_string"`
	ApplicantID    string `gorm:"serializer:nullable_string"`
	CreatedAt      time.Time
}

// webhookDeliveryRow is a delivery. It is pending until an attempt has succeeded, or until it has failed
// too often. The owner of the endpoint can replay a delivery: then it is pending again.
type webhookDeliveryRow struct {
	ID         string
	EndpointID string
	OwnerID    string
	EventID    string
	Type       string
	Status     integrations.DeliveryStatus
	// Attempt counts all attempts and postponements. It only grows. So a result is newer than the
	// stored one if its number is higher.
	Attempt int
	// Tries counts the attempts since the delivery was created or last replayed.
	Tries     int
	Attempts  []integrations.Attempt `gorm:"serializer:json_column"` // describes the last ones
	NextAt    *time.Time             // when a pending delivery is due
	FailedAt  *time.Time
	CreatedAt time.Time
}

// delivery returns the delivery of the row. Its attempts are never nil, because they are a list
// in the API.
func (r webhookDeliveryRow) delivery() integrations.Delivery {
	if r.Attempts == nil {
		r.Attempts = []integrations.Attempt{}
	}

	return integrations.Delivery(r)
}

// Enqueue implements integrations.Deliveries. It leaves out deliveries to endpoints that are not active
// any more, and messages and deliveries that are stored already.
func (d deliveries) Enqueue(
	ctx context.Context,
	messages []integrations.Message,
	newDeliveries []integrations.Delivery,
) error {
	messageRows := list.Map(messages, func(m integrations.Message) webhookMessageRow { return webhookMessageRow(m) })
	endpoints := list.Distinct(newDeliveries, func(d integrations.Delivery) string { return d.EndpointID })

	// Endpoints are locked and messages are stored in the order of their ids, so that concurrent
	// transactions do not deadlock.
	slices.SortFunc(messageRows, func(a, b webhookMessageRow) int { return strings.Compare(a.EventID, b.EventID) })

	return d.Do(ctx, func(ctx context.Context) error {
		var active []string // the ids of the active endpoints, in ascending order

		err := whereIn(d.locked(ctx).Model(&webhookEndpointRow{}), "id", endpoints).
			Where("status = 'active'").
			Order("id").
			Pluck("id", &active).
			Error
		if err != nil {
			return wrap(err)
		}

		var deliveryRows []webhookDeliveryRow
		for _, delivery := range newDeliveries {
			if _, isActive := slices.BinarySearch(active, delivery.EndpointID); isActive {
				deliveryRows = append(deliveryRows, webhookDeliveryRow(delivery))
			}
		}

		if len(deliveryRows) == 0 {
			return nil
		}

		const batchSize = 200

		ignoreStored := d.unprepared(ctx).Clauses(ignoreOnConflict([]string{"event_id"}))
		if err := ignoreStored.CreateInBatches(&messageRows, batchSize).Error; err != nil {
			return wrap(err)
		}

		ignoreStored = d.unprepared(ctx).Clauses(ignoreOnConflict([]string{"event_id", "endpoint_id"}))

		return wrap(ignoreStored.CreateInBatches(&deliveryRows, batchSize).Error)
	})
}

// ofEndpoint restricts q to the deliveries to the owner's endpoint.
func (d deliveries) ofEndpoint(q *gorm.DB, ownerID, endpointID string) *gorm.DB {
	return ofAppOwner(q, ownerID).Where("endpoint_id = ?", endpointID)
}

// List implements integrations.Deliveries. It lists the deliveries to the endpoint, newest first.
func (d deliveries) List(
	ctx context.Context,
	ownerID, endpointID string,
	status integrations.DeliveryStatus,
	request page.Request,
) (page.Result[integrations.Delivery], error) {
	selected := func(q *gorm.DB) *gorm.DB {
		return whereEqual(q.Where("endpoint_id = ? AND owner_id = ?", endpointID, ownerID), "status", status)
	}

	return listPage(ctx, d.DB, request, listQuery{where: selected}, webhookDeliveryRow.delivery)
}

// ListMessages implements integrations.Deliveries. It returns one delivery, or the pending ones in the order
// in which they are due, with their messages.
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

	q = whereIfSet(q, "next_at <= ?", f.DueBy).Limit(n)

	selected, err := findRows(q, webhookDeliveryRow.delivery)
	if err != nil || len(selected) == 0 {
		return nil, err
	}

	events := list.Map(selected, func(d integrations.Delivery) string { return d.EventID })
	messages, err := findRows(
		whereIn(d.conn(ctx), "event_id", events),
		func(r webhookMessageRow) integrations.Message { return integrations.Message(r) },
	)

	messageByEvent := list.ToMap(messages, func(m integrations.Message) (string, integrations.Message) { return m.EventID, m })

	var outgoing []integrations.Outgoing
	for _, delivery := range selected {
		// The message may have been deleted between the two queries.
		if message, exists := messageByEvent[delivery.EventID]; exists {
			outgoing = append(outgoing, integrations.Outgoing{Delivery: delivery, Message: message})
		}
	}

	return outgoing, err
}

// Replay implements integrations.Deliveries. It makes one delivery, or at most n failed deliveries since a
// time, pending again and due at the given time. It returns their number.
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

// RecordResults implements integrations.Deliveries. It stores the results of attempts, and returns the ids of
// the deliveries that it has changed. It leaves out results of which a later one is stored already.
func (d deliveries) RecordResults(
	ctx context.Context,
	endpointID string,
	attempted []integrations.Delivery,
) (changed []string, err error) {
	resultByID := list.ToMap(attempted, func(d integrations.Delivery) (string, integrations.Delivery) { return d.ID, d })
	ids := list.Map(attempted, func(d integrations.Delivery) string { return d.ID })

	err = d.Do(ctx, func(ctx context.Context) error {
		changed = nil // the transaction may run again
		var stored, updated []webhookDeliveryRow

		// The condition uses the id alone. With other columns, SQLite would read all
		// deliveries to the endpoint.
		err := d.locked(ctx).Omit("attempts").Where("?", d.dialect.In("id", ids)).Order("id").Find(&stored).Error
		if err != nil {
			return wrap(err)
		}

		for _, row := range stored {
			result := resultByID[row.ID]
			// If the result is not that of the next attempt, another process has sent the delivery since.
			isNextAttempt := result.Attempt == row.Attempt+1

			if row.EndpointID != endpointID || !isNextAttempt {
				continue
			}

			row.Attempt, row.Attempts = result.Attempt, result.Attempts

			// The owner may have replayed the delivery during the attempt, which has set Tries of the stored row
			// to 0. Then the result counts only if it is a success. After a failure, the row remains due, so that
			// the replay is sent.
			wasReplayed := result.Tries > row.Tries+1
			if !wasReplayed || result.Status == integrations.Succeeded {
				row.Status = result.Status
				row.Tries = result.Tries
				row.NextAt = result.NextAt
				row.FailedAt = result.FailedAt
			}

			updated = append(updated, row)
			changed = append(changed, row.ID)
		}

		return updateLocked(d.unprepared(ctx), updated, "id", "attempt", "attempts", "status", "tries", "next_at", "failed_at")
	})

	return changed, err
}

// DeleteByApplicant implements integrations.Deliveries. The database deletes the deliveries with their messages.
func (d deliveries) DeleteByApplicant(ctx context.Context, userID string) error {
	return wrap(d.conn(ctx).Where("applicant_id = ?", userID).Delete(&webhookMessageRow{}).Error)
}

// NextDue implements integrations.Deliveries. It returns nil if the endpoint has no pending delivery.
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
