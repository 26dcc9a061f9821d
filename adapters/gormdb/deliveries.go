package gormdb

import (
	"context"
	"encoding/json"
	"time"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

type deliveryRow struct {
	ID           string
	EndpointID   string
	OwnerID      string
	EventID      string
	Type         string
	Status       string
	Attempt      int
	Tries        int
	Attempts     string
	NextAt       *time.Time
	ClaimedUntil *time.Time
	CreatedAt    time.Time `gorm:"autoCreateTime:false"`
}

// TableName tells GORM the table.
func (deliveryRow) TableName() string { return "webhook_deliveries" }

func (r deliveryRow) key() string { return r.ID }

func newDeliveryRow(d integrations.Delivery) (deliveryRow, error) {
	if d.Attempts == nil {
		d.Attempts = []integrations.Attempt{}
	}
	attempts, err := json.Marshal(d.Attempts)
	return deliveryRow{ID: d.ID, EndpointID: d.EndpointID, OwnerID: d.OwnerID, EventID: d.EventID, Type: d.Type, Status: string(d.Status),
		Attempt: d.Attempt, Tries: d.Tries, Attempts: string(attempts), NextAt: d.NextAt, CreatedAt: d.CreatedAt}, err
}

func (r deliveryRow) delivery() (integrations.Delivery, error) {
	d := integrations.Delivery{ID: r.ID, EndpointID: r.EndpointID, OwnerID: r.OwnerID, EventID: r.EventID, Type: r.Type, Status: integrations.DeliveryStatus(r.Status),
		Attempt: r.Attempt, Tries: r.Tries, NextAt: r.NextAt, CreatedAt: r.CreatedAt}
	return d, json.Unmarshal([]byte(r.Attempts), &d.Attempts)
}

// Log implements integrations.Webhooks.
func (d Webhooks) Log(ctx context.Context, ownerID, endpointID string, status integrations.DeliveryStatus, r page.Request) (page.Result[integrations.Delivery], error) {
	where, args := "endpoint_id = ? AND owner_id = ?", []any{endpointID, ownerID}
	if status != "" {
		where, args = where+" AND status = ?", append(args, string(status))
	}
	rows, out, err := pageOf[deliveryRow, integrations.Delivery](ctx, d.DB, nil, r, where, args...)
	out.Items = make([]integrations.Delivery, len(rows))
	for i, row := range rows {
		if err == nil {
			out.Items[i], err = row.delivery()
		}
	}
	return out, err
}

// again is what a replay does to a delivery that nobody is attempting.
const again = "UPDATE webhook_deliveries SET status = 'pending', tries = 0, next_at = ?, claimed_until = NULL WHERE (claimed_until IS NULL OR claimed_until <= ?) AND "

// Replay implements integrations.Webhooks.
func (d Webhooks) Replay(ctx context.Context, ownerID, endpointID, id string, at time.Time) (out integrations.Delivery, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		if err := d.q(ctx).Exec(again+"id = ? AND endpoint_id = ? AND owner_id = ?", d.dialect.moment(at), at, id, endpointID, ownerID).Error; err != nil {
			return wrap(err)
		}
		var r deliveryRow
		if err := d.q(ctx).Where("id = ? AND endpoint_id = ? AND owner_id = ?", id, endpointID, ownerID).Take(&r).Error; err != nil {
			return orNotFound(err, integrations.ErrDeliveryNotFound)
		}
		out, err = r.delivery()
		return err
	})
	return out, err
}

// ReplayFailed implements integrations.Webhooks.
func (d Webhooks) ReplayFailed(ctx context.Context, ownerID, endpointID string, since, at time.Time, n int) (int, error) {
	res := d.q(ctx).Exec(again+"id "+d.dialect.oneOf("SELECT id FROM webhook_deliveries WHERE endpoint_id = ? AND owner_id = ? AND status = 'failed' AND created_at >= ? ORDER BY created_at LIMIT ?"),
		d.dialect.moment(at), at, endpointID, ownerID, since, n)
	return int(res.RowsAffected), wrap(res.Error)
}

// InFlight implements integrations.Webhooks.
func (d Webhooks) InFlight(ctx context.Context, endpointID string, now time.Time) (n int, err error) {
	err = d.q(ctx).Raw("SELECT COUNT(*) FROM webhook_deliveries WHERE endpoint_id = ? AND claimed_until > ?", endpointID, now).Scan(&n).Error
	return n, wrap(err)
}

// Claim implements integrations.Webhooks.
func (d Webhooks) Claim(ctx context.Context, endpointID string, n int, now, until time.Time) ([]integrations.Claimed, error) {
	var rows []deliveryRow
	err := d.q(ctx).Raw("UPDATE webhook_deliveries SET attempt = attempt + 1, next_at = ?, claimed_until = ? WHERE id "+
		d.dialect.oneOf("SELECT id FROM webhook_deliveries WHERE endpoint_id = ? AND status = 'pending' AND next_at <= ? ORDER BY next_at LIMIT ?")+" RETURNING *",
		d.dialect.moment(until), d.dialect.moment(until), endpointID, now, n).Scan(&rows).Error
	if err != nil || len(rows) == 0 {
		return nil, wrap(err)
	}
	events := make([]string, len(rows))
	for i, r := range rows {
		events[i] = r.EventID
	}
	var messages []messageRow
	if err := d.q(ctx).Where(d.dialect.columnAmong("event_id", events)).Find(&messages).Error; err != nil {
		return nil, wrap(err)
	}
	bodies := make(map[string]integrations.Message, len(messages))
	for _, m := range messages {
		bodies[m.EventID] = integrations.Message{EventID: m.EventID, Type: m.Type, Body: m.Body, OrganizationID: orNone(m.OrganizationID), ApplicantID: orNone(m.ApplicantID), CreatedAt: m.CreatedAt}
	}
	out := make([]integrations.Claimed, len(rows))
	for i, r := range rows {
		if out[i].Delivery, err = r.delivery(); err != nil {
			return nil, err
		}
		out[i].Message = bodies[r.EventID]
	}
	return out, nil
}

// Settle implements integrations.Webhooks.
func (d Webhooks) Settle(ctx context.Context, endpointID string, ds []integrations.Delivery) (newest []string, err error) {
	from, all, err := d.claims(ds)
	if err != nil || len(ds) == 0 {
		return nil, err
	}
	err = d.q(ctx).Raw("UPDATE webhook_deliveries SET status = v.status, tries = v.tries, attempts = v.attempts, next_at = v.next_at, claimed_until = NULL FROM "+from+`
		WHERE webhook_deliveries.id = v.id AND webhook_deliveries.endpoint_id = ? AND webhook_deliveries.attempt = v.attempt AND claimed_until IS NOT NULL RETURNING webhook_deliveries.id`,
		all, endpointID).Scan(&newest).Error
	return newest, wrap(err)
}

// claims are claimed deliveries as a table v. All of them are one parameter, so that
// it is one statement for few and for many.
func (d Webhooks) claims(ds []integrations.Delivery) (from, parameter string, err error) {
	type claim struct {
		ID       string  `json:"id"`
		Attempt  int     `json:"attempt"`
		Tries    int     `json:"tries"`
		Status   string  `json:"status"`
		Attempts string  `json:"attempts"`
		NextAt   *string `json:"next_at"`
	}
	all := make([]claim, len(ds))
	for i, s := range ds {
		r, err := newDeliveryRow(s)
		if err != nil {
			return "", "", err
		}
		all[i] = claim{ID: r.ID, Attempt: r.Attempt, Tries: r.Tries, Status: r.Status, Attempts: r.Attempts}
		if r.NextAt != nil {
			text := r.NextAt.UTC().Format(sqliteTime) // which Postgres reads as well
			all[i].NextAt = &text
		}
	}
	raw, err := json.Marshal(all)
	if d.pg() {
		return "jsonb_to_recordset(?::jsonb) AS v (id uuid, attempt bigint, tries bigint, status text, attempts text, next_at timestamptz)", string(raw), err
	}
	return `(SELECT value->>'id' AS id, value->>'attempt' AS attempt, value->>'tries' AS tries, value->>'status' AS status, value->>'attempts' AS attempts, value->>'next_at' AS next_at
		FROM json_each(?)) AS v`, string(raw), err
}

// Release implements integrations.Webhooks.
func (d Webhooks) Release(ctx context.Context, endpointID string, ds []integrations.Delivery, now time.Time) error {
	from, all, err := d.claims(ds)
	if err != nil || len(ds) == 0 {
		return err
	}
	return wrap(d.q(ctx).Exec("UPDATE webhook_deliveries SET attempt = webhook_deliveries.attempt - 1, next_at = ?, claimed_until = NULL FROM "+from+`
		WHERE webhook_deliveries.id = v.id AND webhook_deliveries.endpoint_id = ? AND webhook_deliveries.attempt = v.attempt AND claimed_until > ?`,
		d.dialect.moment(now), all, endpointID, now).Error)
}

// Due implements integrations.Webhooks.
func (d Webhooks) Due(ctx context.Context, endpointID string, now time.Time) (bool, error) {
	var found []int
	err := d.q(ctx).Raw("SELECT 1 FROM webhook_deliveries WHERE endpoint_id = ? AND status = 'pending' AND next_at <= ? LIMIT 1", endpointID, now).Scan(&found).Error
	return len(found) > 0, wrap(err)
}

// Abandon implements integrations.Webhooks.
func (d Webhooks) Abandon(ctx context.Context, endpointID string, now time.Time) error {
	return wrap(d.q(ctx).Exec("UPDATE webhook_deliveries SET status = 'failed', next_at = NULL, claimed_until = NULL WHERE endpoint_id = ? AND status = 'pending' AND (claimed_until IS NULL OR claimed_until <= ?)", endpointID, now).Error)
}
