package gormdb

import (
	"context"
	"encoding/json"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/modules/integrations"
)

// Webhooks implements integrations.Webhooks.
type Webhooks struct{ *DB }

type endpointRow struct {
	ID             string
	AppID          string
	OwnerID        string
	URL            string `gorm:"column:url"`
	Events         string
	Status         string
	Secret         string
	PreviousSecret string
	PreviousUntil  *time.Time
	FailingSince   *time.Time
	WarnedAt       *time.Time
	ListeningUntil *time.Time
	CreatedAt      time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt      time.Time `gorm:"autoUpdateTime:false"`
	Version        int64
}

// TableName implements schema.Tabler.
func (endpointRow) TableName() string { return "webhook_endpoints" }

func newEndpointRow(e integrations.Endpoint) (endpointRow, error) {
	events, err := json.Marshal(e.Events)
	return endpointRow{ID: e.ID, AppID: e.AppID, OwnerID: e.OwnerID, URL: e.URL, Events: string(events), Status: string(e.Status),
		Secret: e.Secret, PreviousSecret: e.PreviousSecret, PreviousUntil: e.PreviousUntil, FailingSince: e.FailingSince, WarnedAt: e.WarnedAt, ListeningUntil: e.ListeningUntil,
		CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt, Version: e.Version}, err
}

func (r endpointRow) endpoint() (integrations.Endpoint, error) {
	e := integrations.Endpoint{ID: r.ID, AppID: r.AppID, OwnerID: r.OwnerID, URL: r.URL, Status: integrations.EndpointStatus(r.Status),
		Secret: r.Secret, PreviousSecret: r.PreviousSecret, PreviousUntil: r.PreviousUntil, FailingSince: r.FailingSince, WarnedAt: r.WarnedAt, ListeningUntil: r.ListeningUntil,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Version: r.Version}
	return e, json.Unmarshal([]byte(r.Events), &e.Events)
}

func toEndpoints(rows []endpointRow, err error) ([]integrations.Endpoint, error) {
	out := make([]integrations.Endpoint, len(rows))
	for i, r := range rows {
		if err == nil {
			out[i], err = r.endpoint()
		}
	}
	return out, wrap(err)
}

// webhookSubscriptionRow is an event type that an endpoint subscribes to.
type webhookSubscriptionRow struct {
	Type       string `gorm:"primaryKey"`
	EndpointID string `gorm:"primaryKey"`
}

// TableName implements schema.Tabler.
func (webhookSubscriptionRow) TableName() string { return "webhook_subscriptions" }

// Upsert implements integrations.Webhooks.
func (d Webhooks) Upsert(ctx context.Context, e integrations.Endpoint) error {
	r, err := newEndpointRow(e)
	if err != nil {
		return err
	}
	r.Version++
	return d.Do(ctx, func(ctx context.Context) error {
		if err := d.upsert(ctx, e, r); err != nil {
			return err
		}
		if e.Status == integrations.EndpointActive {
			return nil
		}
		return wrap(d.q(ctx).Model(&deliveryRow{}).Where("endpoint_id = ? AND status = 'pending'", e.ID).
			Updates(map[string]any{"status": string(integrations.Failed), "next_at": nil, "failed_at": d.clock.Now()}).Error)
	})
}

func (d Webhooks) upsert(ctx context.Context, e integrations.Endpoint, r endpointRow) error {
	if e.Version == 0 {
		if err := d.q(ctx).Create(&r).Error; err != nil {
			return wrap(err)
		}
		return d.subscribe(ctx, e)
	}
	stored := func() *gorm.DB {
		return d.q(ctx).Select("*").Omit("id", "app_id", "owner_id", "created_at").Where("id = ? AND owner_id = ? AND version = ?", e.ID, e.OwnerID, e.Version)
	}
	// Mostly the event types do not change, and this is the only statement.
	res := stored().Where("events = ?", r.Events).Updates(&r)
	if res.Error != nil || res.RowsAffected > 0 {
		return wrap(res.Error)
	}
	if err := saved(stored().Updates(&r)); err != nil {
		return err
	}
	return d.subscribe(ctx, e)
}

// subscribe stores the event types of an endpoint.
func (d Webhooks) subscribe(ctx context.Context, e integrations.Endpoint) error {
	if err := d.q(ctx).Where("endpoint_id = ?", e.ID).Delete(&webhookSubscriptionRow{}).Error; err != nil {
		return wrap(err)
	}
	rows := make([]webhookSubscriptionRow, len(e.Events))
	for i, t := range e.Events {
		rows[i] = webhookSubscriptionRow{t, e.ID}
	}
	return wrap(d.q(ctx).Create(&rows).Error)
}

// Get implements integrations.Webhooks.
func (d Webhooks) Get(ctx context.Context, ownerID, id string) (integrations.Endpoint, error) {
	var r endpointRow
	if err := ofAppOwner(d.locked(ctx), ownerID).Where("id = ?", id).Take(&r).Error; err != nil {
		return integrations.Endpoint{}, orNotFound(err, integrations.ErrWebhookNotFound)
	}
	return r.endpoint()
}

// List implements integrations.Webhooks.
func (d Webhooks) List(ctx context.Context, ownerID string, f integrations.EndpointFilter, after string, n int) ([]integrations.Endpoint, error) {
	q, id := ofAppOwner(d.q(ctx).Table("webhook_endpoints AS e").Select(columnsAs[endpointRow](d.DB, "e", "")), ownerID), "e.id"
	if f.AppID != "" {
		q = q.Where("e.app_id = ?", f.AppID)
	}
	if f.Event != "" {
		// In the order of the primary key of the subscriptions.
		q, id = q.Joins("JOIN webhook_subscriptions AS s ON s.endpoint_id = e.id").Where("s.type = ? AND e.status = 'active'", f.Event), "s.endpoint_id"
	}
	if len(f.UserIDs) > 0 {
		consented := d.q(ctx).Model(&consentRow{}).Select("app_id").Where("?", d.dialect.In("user_id", f.UserIDs))
		q = q.Where("(? OR e.app_id IN (?))", d.dialect.In("e.owner_id", f.UserIDs), consented)
	}
	if !f.DueBefore.IsZero() {
		due := d.q(ctx).Table("webhook_deliveries AS d").Select("1").Where("d.endpoint_id = e.id AND d.status = 'pending' AND d.next_at < ?", f.DueBefore)
		q = q.Where("e.status = 'active' AND e.listening_until IS NULL AND EXISTS (?)", due)
	}
	if after == "" {
		after = firstID
	}
	var rows []endpointRow
	err := q.Where(id+" > ?", after).Order(id).Limit(n).Find(&rows).Error
	return toEndpoints(rows, err)
}

// firstID precedes all ids.
const firstID = "00000000-0000-0000-0000-000000000000"

// Delete implements integrations.Webhooks.
func (d Webhooks) Delete(ctx context.Context, ownerID, appID, id string) error {
	return one(ofAppOwner(d.q(ctx), ownerID).Where("id = ? AND app_id = ?", id, appID).Delete(&endpointRow{}), integrations.ErrWebhookNotFound)
}

func orNull(id string) *string {
	if id == "" {
		return nil
	}
	return &id
}

func orNone(id *string) string {
	if id == nil {
		return ""
	}
	return *id
}
