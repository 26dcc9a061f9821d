package gormdb

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/modules/integrations"
)

// Webhooks stores endpoints and what is sent to them.
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
	Lease          *string
	LeasedUntil    *time.Time
	CreatedAt      time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt      time.Time `gorm:"autoUpdateTime:false"`
	Version        int64
}

// TableName tells GORM the table.
func (endpointRow) TableName() string { return "webhook_endpoints" }

func newEndpointRow(e integrations.Endpoint) (endpointRow, error) {
	events, err := json.Marshal(e.Events)
	return endpointRow{ID: e.ID, AppID: e.AppID, OwnerID: e.OwnerID, URL: e.URL, Events: string(events), Status: string(e.Status),
		Secret: e.Secret, PreviousSecret: e.PreviousSecret, PreviousUntil: e.PreviousUntil, FailingSince: e.FailingSince, WarnedAt: e.WarnedAt, ListeningUntil: e.ListeningUntil, Lease: orNull(e.Lease), LeasedUntil: e.LeasedUntil,
		CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt, Version: e.Version}, err
}

func (r endpointRow) endpoint() (integrations.Endpoint, error) {
	e := integrations.Endpoint{ID: r.ID, AppID: r.AppID, OwnerID: r.OwnerID, URL: r.URL, Status: integrations.EndpointStatus(r.Status),
		Secret: r.Secret, PreviousSecret: r.PreviousSecret, PreviousUntil: r.PreviousUntil, FailingSince: r.FailingSince, WarnedAt: r.WarnedAt, ListeningUntil: r.ListeningUntil, Lease: orNone(r.Lease), LeasedUntil: r.LeasedUntil,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Version: r.Version}
	return e, json.Unmarshal([]byte(r.Events), &e.Events)
}

func endpointsOf(rows []endpointRow, err error) ([]integrations.Endpoint, error) {
	out := make([]integrations.Endpoint, len(rows))
	for i, r := range rows {
		if err == nil {
			out[i], err = r.endpoint()
		}
	}
	return out, wrap(err)
}

// Add implements integrations.Webhooks.
func (d Webhooks) Add(ctx context.Context, e integrations.Endpoint) error {
	r, err := newEndpointRow(e)
	if err != nil {
		return err
	}
	return d.Do(ctx, func(ctx context.Context) error {
		if err := d.q(ctx).Create(&r).Error; err != nil {
			return wrap(err)
		}
		return d.subscribe(ctx, e)
	})
}

// subscribe brings the subscriptions of an endpoint up to date.
func (d Webhooks) subscribe(ctx context.Context, e integrations.Endpoint) error {
	if err := d.q(ctx).Exec("DELETE FROM webhook_subscriptions WHERE endpoint_id = ?", e.ID).Error; err != nil {
		return wrap(err)
	}
	var args []any
	for _, t := range e.Events {
		args = append(args, t, e.ID)
	}
	return wrap(d.q(ctx).Exec("INSERT INTO webhook_subscriptions (type, endpoint_id) VALUES "+tuples(len(e.Events), "(?, ?)"), args...).Error)
}

// Find implements integrations.Webhooks.
func (d Webhooks) Find(ctx context.Context, ownerID, appID, id string) (integrations.Endpoint, error) {
	var r endpointRow
	if err := d.locked(ctx).Where("id = ? AND app_id = ? AND owner_id = ?", id, appID, ownerID).Take(&r).Error; err != nil {
		return integrations.Endpoint{}, orNotFound(err, integrations.ErrWebhookNotFound)
	}
	return r.endpoint()
}

// ByID implements integrations.Webhooks.
func (d Webhooks) ByID(ctx context.Context, id string) (integrations.Endpoint, error) {
	return endpointOf(d.q(ctx), id)
}

// Lock implements integrations.Webhooks.
func (d Webhooks) Lock(ctx context.Context, id string) (integrations.Endpoint, error) {
	return endpointOf(d.locked(ctx), id)
}

func endpointOf(q *gorm.DB, id string) (integrations.Endpoint, error) {
	var r endpointRow
	if err := q.Where("id = ?", id).Take(&r).Error; err != nil {
		return integrations.Endpoint{}, orNotFound(err, integrations.ErrWebhookNotFound)
	}
	return r.endpoint()
}

// List implements integrations.Webhooks.
func (d Webhooks) List(ctx context.Context, ownerID, appID string) ([]integrations.Endpoint, error) {
	var rows []endpointRow
	err := d.q(ctx).Where("app_id = ? AND owner_id = ?", appID, ownerID).Order("id DESC").Limit(100).Find(&rows).Error
	return endpointsOf(rows, err)
}

// Save implements integrations.Webhooks.
func (d Webhooks) Save(ctx context.Context, e integrations.Endpoint) error {
	r, err := newEndpointRow(e)
	if err != nil {
		return err
	}
	r.Version++
	return d.Do(ctx, func(ctx context.Context) error {
		var before []string
		if err := d.q(ctx).Raw("SELECT events FROM webhook_endpoints WHERE id = ?", e.ID).Scan(&before).Error; err != nil {
			return wrap(err)
		}
		err := saved(d.q(ctx).Select("*").Omit("id", "app_id", "owner_id", "created_at", "listening_until", "lease", "leased_until").Where("id = ? AND owner_id = ? AND version = ?", e.ID, e.OwnerID, e.Version).Updates(&r))
		if err != nil || len(before) == 1 && before[0] == r.Events {
			return err
		}
		return d.subscribe(ctx, e)
	})
}

// Lease implements integrations.Webhooks.
func (d Webhooks) Lease(ctx context.Context, id, holder string, until time.Time) error {
	var end *time.Time
	if holder != "" {
		end = &until
	}
	return wrap(d.q(ctx).Exec("UPDATE webhook_endpoints SET lease = ?, leased_until = ? WHERE id = ?", orNull(holder), end, id).Error)
}

// Listening implements integrations.Webhooks.
func (d Webhooks) Listening(ctx context.Context, id string, until time.Time) error {
	return one(d.q(ctx).Exec("UPDATE webhook_endpoints SET listening_until = ? WHERE id = ? AND listening_until IS NOT NULL", until, id), integrations.ErrWebhookNotFound)
}

// EndListeners implements integrations.Webhooks.
func (d Webhooks) EndListeners(ctx context.Context, now time.Time) error {
	return wrap(d.q(ctx).Exec("DELETE FROM webhook_endpoints WHERE listening_until <= ?", now).Error)
}

// Delete implements integrations.Webhooks.
func (d Webhooks) Delete(ctx context.Context, ownerID, appID, id string) error {
	return one(d.q(ctx).Exec("DELETE FROM webhook_endpoints WHERE id = ? AND app_id = ? AND owner_id = ?", id, appID, ownerID), integrations.ErrWebhookNotFound)
}

// Subscribed implements integrations.Webhooks.
func (d Webhooks) Subscribed(ctx context.Context, eventType, after string, n int) ([]integrations.Endpoint, error) {
	return d.subscribed(ctx, eventType, after, n, "")
}

// colleagues are those who work for an organization.
const colleagues = "SELECT user_id FROM memberships WHERE organization_id = ? AND status = 'active'"

// SubscribedNear implements integrations.Webhooks.
func (d Webhooks) SubscribedNear(ctx context.Context, eventType, organizationID, applicantID, after string, n int) ([]integrations.Endpoint, error) {
	return d.subscribed(ctx, eventType, after, n, ` AND (e.owner_id = ? OR e.owner_id IN (`+colleagues+`)
		OR e.app_id IN (SELECT app_id FROM oauth_consents WHERE user_id = ? OR user_id IN (`+colleagues+`)))`, applicantID, organizationID, applicantID, organizationID)
}

func (d Webhooks) subscribed(ctx context.Context, eventType, after string, n int, near string, args ...any) ([]integrations.Endpoint, error) {
	query := "SELECT e.* FROM webhook_subscriptions AS s JOIN webhook_endpoints AS e ON e.id = s.endpoint_id WHERE s.type = ? AND e.status = 'active'" + near
	args = append([]any{eventType}, args...)
	if after != "" {
		query += " AND s.endpoint_id > ?"
		args = append(args, after)
	}
	var rows []endpointRow
	err := d.q(ctx).Raw(query+" ORDER BY s.endpoint_id LIMIT ?", append(args, n)...).Scan(&rows).Error
	return endpointsOf(rows, err)
}

// Overdue implements integrations.Webhooks.
func (d Webhooks) Overdue(ctx context.Context, now, before time.Time, after string, n int) (ids []string, err error) {
	err = d.q(ctx).Raw(`SELECT e.id FROM webhook_endpoints AS e WHERE e.id > ? AND e.listening_until IS NULL AND (e.leased_until IS NULL OR e.leased_until <= ?)
		AND EXISTS (SELECT 1 FROM webhook_deliveries WHERE endpoint_id = e.id AND status = 'pending' AND next_at < ?) ORDER BY e.id LIMIT ?`,
		cmp.Or(after, firstID), now, before, n).Scan(&ids).Error
	return ids, wrap(err)
}

// firstID comes before every id.
const firstID = "00000000-0000-0000-0000-000000000000"

type messageRow struct {
	EventID        string
	Type           string
	Body           string
	OrganizationID *string
	ApplicantID    *string
	CreatedAt      time.Time `gorm:"autoCreateTime:false"`
}

// TableName tells GORM the table.
func (messageRow) TableName() string { return "webhook_messages" }

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

// Queue implements integrations.Webhooks.
func (d Webhooks) Queue(ctx context.Context, ms []integrations.Message, ds []integrations.Delivery, now, since time.Time) (alone []string, err error) {
	messages, rows := make([]messageRow, len(ms)), make([]deliveryRow, len(ds))
	endpoints := map[string]bool{}
	for i, m := range ms {
		messages[i] = messageRow{EventID: m.EventID, Type: m.Type, Body: m.Body, OrganizationID: orNull(m.OrganizationID), ApplicantID: orNull(m.ApplicantID), CreatedAt: m.CreatedAt}
	}
	for i, delivery := range ds {
		endpoints[delivery.EndpointID] = true
		if rows[i], err = newDeliveryRow(delivery); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(messages, func(a, b messageRow) int { return strings.Compare(a.EventID, b.EventID) }) // everybody in the same order
	err = d.Do(ctx, func(ctx context.Context) error {
		var there []string
		if err := d.locked(ctx).Model(&endpointRow{}).Where(d.dialect.In("id", slices.Sorted(maps.Keys(endpoints)))).Order("id").Pluck("id", &there).Error; err != nil {
			return wrap(err)
		}
		keep := slices.DeleteFunc(slices.Clone(rows), func(r deliveryRow) bool { _, found := slices.BinarySearch(there, r.EndpointID); return !found })
		if len(keep) == 0 {
			return nil
		}
		if err := d.q(ctx).Raw(`SELECT id FROM webhook_endpoints WHERE ? AND listening_until IS NULL AND (leased_until IS NULL OR leased_until <= ?) AND NOT EXISTS (SELECT 1 FROM webhook_deliveries AS d
			WHERE d.endpoint_id = webhook_endpoints.id AND d.status = 'pending' AND d.next_at > ? AND d.next_at <= ?) ORDER BY id`,
			d.dialect.In("id", there), now, since, now).Scan(&alone).Error; err != nil {
			return wrap(err)
		}
		unless := func(columns ...clause.Column) clause.OnConflict {
			return clause.OnConflict{Columns: columns, DoNothing: true}
		}
		if err := d.unprepared(ctx).Clauses(unless(clause.Column{Name: "event_id"})).CreateInBatches(&messages, 200).Error; err != nil {
			return wrap(err)
		}
		return wrap(d.unprepared(ctx).Clauses(unless(clause.Column{Name: "event_id"}, clause.Column{Name: "endpoint_id"})).CreateInBatches(&keep, 200).Error)
	})
	return alone, err
}

// Forget implements integrations.Webhooks.
func (d Webhooks) Forget(ctx context.Context, before time.Time, n int) (int, error) {
	res := d.q(ctx).Exec("DELETE FROM webhook_messages WHERE event_id IN (SELECT event_id FROM webhook_messages WHERE created_at < ? ORDER BY created_at LIMIT ?)", before, n)
	return int(res.RowsAffected), wrap(res.Error)
}

// ForgetApplicant implements integrations.Webhooks.
func (d Webhooks) ForgetApplicant(ctx context.Context, userID string) error {
	return wrap(d.q(ctx).Exec("DELETE FROM webhook_messages WHERE applicant_id = ?", userID).Error)
}

// Sent implements integrations.Webhooks.
func (d Webhooks) Sent(ctx context.Context, ownerID, endpointID, id string) (out integrations.Outgoing, err error) {
	var r deliveryRow
	if err := d.q(ctx).Where("id = ? AND endpoint_id = ? AND owner_id = ?", id, endpointID, ownerID).Take(&r).Error; err != nil {
		return out, orNotFound(err, integrations.ErrDeliveryNotFound)
	}
	with, err := d.withMessages(ctx, []deliveryRow{r})
	if err == nil && len(with) == 0 {
		err = integrations.ErrDeliveryNotFound
	}
	if err != nil {
		return out, err
	}
	return with[0], nil
}
