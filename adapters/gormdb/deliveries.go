package gormdb

import (
	"context"
	"encoding/json"
	"time"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

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

// TableName tells GORM the table.
func (deliveryRow) TableName() string { return "webhook_deliveries" }

func (r deliveryRow) key() string { return r.ID }

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

// again is what a replay does to a delivery.
const again = "UPDATE webhook_deliveries SET status = 'pending', tries = 0, next_at = ?, failed_at = NULL WHERE "

// Replay implements integrations.Webhooks.
func (d Webhooks) Replay(ctx context.Context, ownerID, endpointID, id string, at time.Time) (out integrations.Delivery, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		if err := d.q(ctx).Exec(again+"id = ? AND endpoint_id = ? AND owner_id = ?", d.dialect.Typed(at, "timestamptz"), id, endpointID, ownerID).Error; err != nil {
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
	res := d.q(ctx).Exec(again+"id "+d.dialect.InQuery("SELECT id FROM webhook_deliveries WHERE endpoint_id = ? AND owner_id = ? AND status = 'failed' AND failed_at >= ? ORDER BY failed_at LIMIT ?"),
		d.dialect.Typed(at, "timestamptz"), endpointID, ownerID, since, n)
	return int(res.RowsAffected), wrap(res.Error)
}

// Due implements integrations.Webhooks.
func (d Webhooks) Due(ctx context.Context, endpointID string, now time.Time, after *integrations.Delivery, n int) ([]integrations.Outgoing, error) {
	where, args := "endpoint_id = ? AND status = 'pending' AND next_at <= ?", []any{endpointID, now}
	if after != nil {
		where, args = where+" AND (next_at, id) > (?, ?)", append(args, after.NextAt, after.ID)
	}
	var rows []deliveryRow
	err := d.q(ctx).Where(where, args...).Order("next_at, id").Limit(n).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return nil, wrap(err)
	}
	return d.withMessages(ctx, rows)
}

// withMessages are the deliveries whose messages are still there.
func (d Webhooks) withMessages(ctx context.Context, rows []deliveryRow) ([]integrations.Outgoing, error) {
	events := make([]string, len(rows))
	for i, r := range rows {
		events[i] = r.EventID
	}
	var messages []messageRow
	if err := d.q(ctx).Where(d.dialect.In("event_id", events)).Find(&messages).Error; err != nil {
		return nil, wrap(err)
	}
	bodies := make(map[string]integrations.Message, len(messages))
	for _, m := range messages {
		bodies[m.EventID] = integrations.Message{EventID: m.EventID, Type: m.Type, Body: m.Body, OrganizationID: orNone(m.OrganizationID), ApplicantID: orNone(m.ApplicantID), CreatedAt: m.CreatedAt}
	}
	out := make([]integrations.Outgoing, 0, len(rows))
	for _, r := range rows {
		m, there := bodies[r.EventID]
		if !there {
			continue // forgotten since
		}
		delivery, err := r.delivery()
		if err != nil {
			return nil, err
		}
		out = append(out, integrations.Outgoing{Delivery: delivery, Message: m})
	}
	return out, nil
}

// Settle implements integrations.Webhooks. All of them are one parameter, so that it
// is one statement for few and for many.
func (d Webhooks) Settle(ctx context.Context, endpointID string, ds []integrations.Delivery) (newest []string, err error) {
	if len(ds) == 0 {
		return nil, nil
	}
	type settled struct {
		ID       string  `json:"id"`
		Attempt  int     `json:"attempt"`
		Tries    int     `json:"tries"`
		Status   string  `json:"status"`
		Attempts string  `json:"attempts"`
		NextAt   *string `json:"next_at"`
		FailedAt *string `json:"failed_at"`
	}
	moment := func(at *time.Time) *string {
		if at == nil {
			return nil
		}
		text := at.UTC().Format(sqliteTime) // which Postgres reads as well
		return &text
	}
	all := make([]settled, len(ds))
	for i, s := range ds {
		r, err := newDeliveryRow(s)
		if err != nil {
			return nil, err
		}
		all[i] = settled{ID: r.ID, Attempt: r.Attempt, Tries: r.Tries, Status: r.Status, Attempts: r.Attempts, NextAt: moment(r.NextAt), FailedAt: moment(r.FailedAt)}
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	from, ofEndpoint := "jsonb_to_recordset(?::jsonb) AS v (id uuid, attempt bigint, tries bigint, status text, attempts text, next_at timestamptz, failed_at timestamptz)", "webhook_deliveries.endpoint_id = ?"
	if !d.pg() {
		from = `(SELECT value->>'id' AS id, value->>'attempt' AS attempt, value->>'tries' AS tries, value->>'status' AS status, value->>'attempts' AS attempts, value->>'next_at' AS next_at, value->>'failed_at' AS failed_at FROM json_each(?)) AS v`
		ofEndpoint = "+" + ofEndpoint // SQLite would walk all that the endpoint has ever got, and not these ids
	}
	set := "" // where the tries began anew, somebody has asked for another
	for _, column := range []string{"status", "tries", "next_at", "failed_at"} {
		set += column + " = CASE WHEN v.tries > webhook_deliveries.tries + 1 AND v.status <> 'succeeded' THEN webhook_deliveries." + column + " ELSE v." + column + " END, "
	}
	err = d.q(ctx).Raw("UPDATE webhook_deliveries SET "+set+"attempt = v.attempt, attempts = v.attempts FROM "+from+`
		WHERE webhook_deliveries.id = v.id AND `+ofEndpoint+` AND webhook_deliveries.attempt = v.attempt - 1 RETURNING webhook_deliveries.id`,
		string(raw), endpointID).Scan(&newest).Error
	return newest, wrap(err)
}

// NextAt implements integrations.Webhooks.
func (d Webhooks) NextAt(ctx context.Context, endpointID string) (*time.Time, error) {
	var rows []deliveryRow
	err := d.q(ctx).Select("next_at").Where("endpoint_id = ? AND status = 'pending'", endpointID).Order("next_at, id").Limit(1).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return nil, wrap(err)
	}
	return rows[0].NextAt, nil
}

// Abandon implements integrations.Webhooks.
func (d Webhooks) Abandon(ctx context.Context, endpointID string, now time.Time) error {
	return wrap(d.q(ctx).Exec("UPDATE webhook_deliveries SET status = 'failed', next_at = NULL, failed_at = ? WHERE endpoint_id = ? AND status = 'pending'", d.dialect.Typed(now, "timestamptz"), endpointID).Error)
}
