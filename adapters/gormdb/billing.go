package gormdb

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/modules/billing"
)

// Subscriptions implements billing.Subscriptions.
type Subscriptions struct{ *DB }

// methodRow is a payment method as part of other rows.
type methodRow struct {
	ID          string
	Brand       string
	Last4       string
	ExpiryMonth int
	ExpiryYear  int
}

type subscriptionRow struct {
	OwnerKind string `gorm:"primaryKey"`
	OwnerID   string `gorm:"primaryKey"`
	Plan      string
	Status    string
	AutoRenew bool
	AnchorAt  *time.Time
	ExpiresAt *time.Time
	NextAt    *time.Time
	Failures  int
	Method    methodRow `gorm:"embedded;embeddedPrefix:method_"`
	Version   int64
}

// TableName implements schema.Tabler.
func (subscriptionRow) TableName() string { return "subscriptions" }

func (r subscriptionRow) subscription() billing.Subscription {
	return billing.Subscription{
		Owner: billing.Owner{Kind: billing.OwnerKind(r.OwnerKind), ID: r.OwnerID}, Plan: r.Plan, Status: billing.Status(r.Status), AutoRenew: r.AutoRenew,
		AnchorAt: orZero(r.AnchorAt), ExpiresAt: orZero(r.ExpiresAt), NextAt: orZero(r.NextAt), Failures: r.Failures,
		Method: billing.Method(r.Method), Version: r.Version,
	}
}

func newSubscriptionRow(s billing.Subscription) subscriptionRow {
	return subscriptionRow{
		OwnerKind: string(s.Owner.Kind), OwnerID: s.Owner.ID, Plan: s.Plan, Status: string(s.Status), AutoRenew: s.AutoRenew,
		AnchorAt: nilIfZero(s.AnchorAt), ExpiresAt: nilIfZero(s.ExpiresAt), NextAt: nilIfZero(s.NextAt), Failures: s.Failures,
		Method: methodRow(s.Method), Version: s.Version,
	}
}

// ofOwner restricts q to the rows of the owner.
func ofOwner(q *gorm.DB, o billing.Owner) *gorm.DB {
	return q.Where("owner_kind = ? AND owner_id = ?", string(o.Kind), o.ID)
}

// Get implements billing.Subscriptions.
func (d Subscriptions) Get(ctx context.Context, o billing.Owner) (billing.Subscription, error) {
	var r subscriptionRow
	err := wrap(ofOwner(d.q(ctx), o).Take(&r).Error)
	if errors.Is(err, errNotFound) {
		return billing.NewSubscription(o), nil
	}
	return r.subscription(), err
}

// Lock implements billing.Subscriptions.
func (d Subscriptions) Lock(ctx context.Context, o billing.Owner) (billing.Subscription, error) {
	r := newSubscriptionRow(billing.NewSubscription(o))
	if err := d.q(ctx).Clauses(onConflict([]string{"owner_kind", "owner_id"})).Create(&r).Error; err != nil {
		return billing.Subscription{}, wrap(err)
	}
	var stored subscriptionRow
	err := ofOwner(d.locked(ctx), o).Take(&stored).Error
	return stored.subscription(), wrap(err)
}

// Update implements billing.Subscriptions.
func (d Subscriptions) Update(ctx context.Context, s billing.Subscription) error {
	r := newSubscriptionRow(s)
	r.Version++
	return saved(ofOwner(d.q(ctx), s.Owner).Where("version = ?", s.Version).Select("*").Omit("owner_kind", "owner_id").Updates(&r))
}

// ListDue implements billing.Subscriptions.
func (d Subscriptions) ListDue(ctx context.Context, now time.Time, n int) ([]billing.Owner, error) {
	var rows []subscriptionRow
	err := d.q(ctx).Select("owner_kind", "owner_id").Where("next_at IS NOT NULL AND next_at <= ?", now).Order("next_at").Limit(n).Find(&rows).Error
	out := make([]billing.Owner, len(rows))
	for i, r := range rows {
		out[i] = billing.Owner{Kind: billing.OwnerKind(r.OwnerKind), ID: r.OwnerID}
	}
	return out, wrap(err)
}

// Erase implements billing.Subscriptions.
func (d Subscriptions) Erase(ctx context.Context, o, anonymous billing.Owner) error {
	return d.Do(ctx, func(ctx context.Context) error {
		if err := ofOwner(d.q(ctx), o).Delete(&subscriptionRow{}).Error; err != nil {
			return wrap(err)
		}
		return wrap(ofOwner(d.q(ctx).Model(&chargeRow{}), o).Updates(map[string]any{
			"owner_kind": string(anonymous.Kind), "owner_id": anonymous.ID,
			"method_id":    gorm.Expr("CASE WHEN status = 'pending' THEN method_id ELSE '' END"),
			"method_brand": "", "method_last4": "", "method_expiry_month": 0, "method_expiry_year": 0,
		}).Error)
	})
}

// Charges implements billing.Charges.
type Charges struct{ *DB }

type chargeRow struct {
	ID          string
	OwnerKind   string
	OwnerID     string
	Plan        string
	AmountMinor int64
	Currency    string
	Method      methodRow `gorm:"embedded;embeddedPrefix:method_"`
	Renewal     bool
	PeriodStart time.Time
	PeriodEnd   time.Time
	Status      string
	Receipt     string
	CreatedAt   time.Time `gorm:"autoCreateTime:false"`
	Attempts    int
	NextAt      time.Time
	ActionAt    *time.Time
}

// TableName implements schema.Tabler.
func (chargeRow) TableName() string { return "charges" }

func (r chargeRow) charge() billing.Charge {
	return billing.Charge{
		ID: r.ID, Owner: billing.Owner{Kind: billing.OwnerKind(r.OwnerKind), ID: r.OwnerID}, Plan: r.Plan,
		Amount: billing.Money{Minor: r.AmountMinor, Currency: r.Currency}, Method: billing.Method(r.Method), Renewal: r.Renewal,
		PeriodStart: r.PeriodStart, PeriodEnd: r.PeriodEnd, Status: billing.ChargeStatus(r.Status), Receipt: r.Receipt,
		CreatedAt: r.CreatedAt, Attempts: r.Attempts, NextAt: r.NextAt, ActionAt: orZero(r.ActionAt),
	}
}

// Create implements billing.Charges.
func (d Charges) Create(ctx context.Context, c billing.Charge) error {
	return wrap(d.q(ctx).Create(&chargeRow{
		ID: c.ID, OwnerKind: string(c.Owner.Kind), OwnerID: c.Owner.ID, Plan: c.Plan, AmountMinor: c.Amount.Minor, Currency: c.Amount.Currency,
		Method: methodRow(c.Method), Renewal: c.Renewal, PeriodStart: c.PeriodStart, PeriodEnd: c.PeriodEnd, Status: string(c.Status), Receipt: c.Receipt,
		CreatedAt: c.CreatedAt, Attempts: c.Attempts, NextAt: c.NextAt, ActionAt: nilIfZero(c.ActionAt),
	}).Error)
}

// Update implements billing.Charges.
func (d Charges) Update(ctx context.Context, c billing.Charge) (bool, error) {
	q := ofOwner(d.q(ctx).Model(&chargeRow{}), c.Owner).Where("id = ? AND status = 'pending'", c.ID)
	set := map[string]any{
		"status": string(c.Status), "receipt": c.Receipt, "method_id": c.Method.ID, "method_brand": c.Method.Brand, "method_last4": c.Method.Last4,
		"method_expiry_month": c.Method.ExpiryMonth, "method_expiry_year": c.Method.ExpiryYear,
	}
	if c.Status == billing.Pending {
		q, set = q.Where("attempts = ?", c.Attempts-1), map[string]any{"attempts": c.Attempts, "next_at": c.NextAt, "action_at": nilIfZero(c.ActionAt)}
	}
	res := q.Updates(set)
	return res.RowsAffected > 0, wrap(res.Error)
}

// List implements billing.Charges.
func (d Charges) List(ctx context.Context, f billing.ChargeFilter, n int) ([]billing.Charge, error) {
	q, order := d.q(ctx), "id DESC"
	if f.Owner == (billing.Owner{}) && f.DueBy.IsZero() {
		return nil, nil
	}
	if f.Owner != (billing.Owner{}) {
		q = ofOwner(q, f.Owner)
	}
	if f.Status != "" {
		q = q.Where("status = ?", string(f.Status))
	}
	if !f.DueBy.IsZero() {
		q, order = q.Where("status = 'pending' AND next_at <= ?", f.DueBy), "next_at"
	}
	var rows []chargeRow
	err := q.Order(order).Limit(n).Find(&rows).Error
	out := make([]billing.Charge, len(rows))
	for i, r := range rows {
		out[i] = r.charge()
	}
	return out, wrap(err)
}
