package gormdb

import (
	"cmp"
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/modules/integrations"
)

// webhooks implements integrations.Webhooks. An endpoint is the URL of an app that receives webhooks, with the types
// of the events that it subscribes to.
type webhooks struct{ *DB }

// webhookEndpointRow is an endpoint.
type webhookEndpointRow struct {
	ID      string
	AppID   string
	OwnerID string
	URL     string   `gorm:"column:url"`
	Events  []string `gorm:"serializer:json_column"` // the event types
	Status  integrations.EndpointStatus
	Secret  string // with which messages are signed
	// Until PreviousUntil, messages are also signed with PreviousSecret.
	PreviousSecret string
	PreviousUntil  *time.Time
	FailingSince   *time.Time
	WarnedAt       *time.Time // when the owner was warned of the failures
	// ListeningUntil is set for an endpoint that exists only while a program listens to its events.
	ListeningUntil *time.Time
	CreatedAt      time.Time
	UpdatedAt      time.Time
	Version        int64
}

func (r webhookEndpointRow) endpoint() integrations.Endpoint { return integrations.Endpoint(r) }

// webhookSubscriptionRow is an event type that an endpoint subscribes to. It repeats the column events of
// the endpoint, so that the endpoints of a type can be found.
type webhookSubscriptionRow struct{ Type, EndpointID string }

// Upsert implements integrations.Webhooks. If the endpoint is not active, its pending deliveries fail.
func (d webhooks) Upsert(ctx context.Context, e integrations.Endpoint) error {
	return d.Do(ctx, func(ctx context.Context) error {
		err := d.upsert(ctx, e)
		if err != nil || e.Status == integrations.EndpointActive {
			return err
		}

		pending := d.conn(ctx).Model(&webhookDeliveryRow{}).Where("endpoint_id = ? AND status = 'pending'", e.ID)

		return wrap(pending.Updates(map[string]any{
			"status":    integrations.Failed,
			"next_at":   nil,
			"failed_at": d.clock.Now(),
		}).Error)
	})
}

// upsert stores the endpoint with its event types in the current transaction. It creates an endpoint whose
// version is 0. Otherwise it updates the row, which must have the same version. The stored row has the
// next version.
func (d webhooks) upsert(ctx context.Context, endpoint integrations.Endpoint) error {
	row := webhookEndpointRow(endpoint)
	row.Version++

	if isNew := endpoint.Version == 0; isNew {
		if err := d.conn(ctx).Create(&row).Error; err != nil {
			return wrap(err)
		}

		return d.replaceSubscriptions(ctx, endpoint)
	}

	update := func(q *gorm.DB) error {
		q = q.Where("id = ? AND owner_id = ? AND version = ?", endpoint.ID, endpoint.OwnerID, endpoint.Version)
		return updateVersion(q, &row, except{"id", "app_id", "owner_id", "created_at"})
	}

	// Usually the event types do not change. To save the statements for the subscriptions, first try an update
	// that finds the row only if it has the same event types. The subscriptions then remain as they are.
	err := update(d.conn(ctx).Where("events = ?", jsonArray(endpoint.Events)))
	if !errors.Is(err, errStale) {
		return err
	}

	// The row was not found, for one of two reasons: its event types are to change, or another transaction has
	// changed the endpoint. In the second case, this update returns errStale, too.
	if err := update(d.conn(ctx)); err != nil {
		return err
	}

	return d.replaceSubscriptions(ctx, endpoint)
}

// replaceSubscriptions replaces the subscriptions of an endpoint.
func (d webhooks) replaceSubscriptions(ctx context.Context, e integrations.Endpoint) error {
	if err := d.conn(ctx).Where("endpoint_id = ?", e.ID).Delete(&webhookSubscriptionRow{}).Error; err != nil {
		return wrap(err)
	}

	return createRows(d.conn(ctx), list.Map(e.Events, func(eventType string) webhookSubscriptionRow {
		return webhookSubscriptionRow{Type: eventType, EndpointID: e.ID}
	}))
}

// Get implements integrations.Webhooks. Inside a transaction, it locks the row until the end.
func (d webhooks) Get(ctx context.Context, ownerID, id string) (integrations.Endpoint, error) {
	selected := ofAppOwner(d.locked(ctx), ownerID).Where("id = ?", id)
	row, err := takeRow[webhookEndpointRow](selected, integrations.ErrWebhookNotFound)

	return row.endpoint(), err
}

// List implements integrations.Webhooks. It returns at most n endpoints with an id after the given one, in
// the order of ids.
func (d webhooks) List(
	ctx context.Context,
	ownerID string,
	f integrations.EndpointFilter,
	after string,
	n int,
) ([]integrations.Endpoint, error) {
	const noPrefix = ""
	q := d.conn(ctx).Table("webhook_endpoints AS e").Select(columnsAs[webhookEndpointRow](d.DB, "e", noPrefix))
	q = whereEqual(ofAppOwner(q, ownerID), "e.app_id", f.AppID)

	orderedBy := "e.id"
	if f.Event != "" { // the active endpoints that subscribe to the event
		q = q.Joins("JOIN webhook_subscriptions AS s ON s.endpoint_id = e.id").Where("s.type = ? AND e.status = 'active'", f.Event)
		orderedBy = "s.endpoint_id" // the primary key of the subscriptions has this order for each type
	}

	// Select the endpoints of apps that belong to one of the users, or to which one of the users has given access.
	if len(f.UserIDs) > 0 {
		consented := whereIn(d.conn(ctx).Model(&oauthConsentRow{}).Select("app_id"), "user_id", f.UserIDs)
		q = q.Where("(? OR e.app_id IN (?))", d.dialect.In("e.owner_id", f.UserIDs), consented)
	}

	// Select the active endpoints with a delivery that was due before this time. Leave out endpoints to which a
	// program listens, because this program sends their deliveries.
	if !f.DueBefore.IsZero() {
		due := d.conn(ctx).
			Table("webhook_deliveries AS d").
			Select("1").
			Where("d.endpoint_id = e.id AND d.status = 'pending' AND d.next_at < ?", f.DueBefore)
		q = q.Where("e.status = 'active' AND e.listening_until IS NULL AND EXISTS (?)", due)
	}

	q = q.Where(orderedBy+" > ?", cmp.Or(after, firstID)).Order(orderedBy).Limit(n)

	return findRows(q, webhookEndpointRow.endpoint)
}

// firstID precedes the ids of all rows.
const firstID = "00000000-0000-0000-0000-000000000000"

// Delete implements integrations.Webhooks.
func (d webhooks) Delete(ctx context.Context, ownerID, appID, id string) error {
	deleted := ofAppOwner(d.conn(ctx), ownerID).Where("id = ? AND app_id = ?", id, appID).Delete(&webhookEndpointRow{})
	return requireRow(deleted, integrations.ErrWebhookNotFound)
}
