package gormdb

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/modules/billing"
)

// Subscriptions stores what owners are subscribed to.
type Subscriptions struct{ *DB }

// methodRow is a payment method, as a part of other rows.
type methodRow struct {
	ID          string
	Brand       string
	Last4       string
	ExpiryMonth int
	ExpiryYear  int
}

type subscriptionRow struct {
	OwnerKind string
	OwnerID   string
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

// TableName tells GORM the table.
func (subscriptionRow) TableName() string { return "subscriptions" }

func (r subscriptionRow) subscription() billing.Subscription {
	return billing.Subscription{
		Owner: billing.Owner{Kind: billing.OwnerKind(r.OwnerKind), ID: r.OwnerID}, Plan: r.Plan, Status: billing.Status(r.Status), AutoRenew: r.AutoRenew,
		AnchorAt: orZero(r.AnchorAt), ExpiresAt: orZero(r.ExpiresAt), NextAt: orZero(r.NextAt), Failures: r.Failures,
		Method: billing.Method(r.Method), Version: r.Version,
	}
}

// Find implements billing.Subscriptions.
func (d Subscriptions) Find(ctx context.Context, o billing.Owner) (billing.Subscription, error) {
	var r subscriptionRow
	err := wrap(d.q(ctx).Where("owner_kind = ? AND owner_id = ?", string(o.Kind), o.ID).Take(&r).Error)
	if errors.Is(err, errNotFound) {
		return billing.NewSubscription(o), nil
	}
	return r.subscription(), err
}

// Lock implements billing.Subscriptions.
func (d Subscriptions) Lock(ctx context.Context, o billing.Owner) (billing.Subscription, error) {
	fresh := billing.NewSubscription(o)
	err := d.q(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&subscriptionRow{
		OwnerKind: string(o.Kind), OwnerID: o.ID, Plan: fresh.Plan, Status: string(fresh.Status), AutoRenew: fresh.AutoRenew, Version: fresh.Version,
	}).Error
	if err != nil {
		return fresh, wrap(err)
	}
	var r subscriptionRow
	err = d.locked(ctx).Where("owner_kind = ? AND owner_id = ?", string(o.Kind), o.ID).Take(&r).Error
	return r.subscription(), wrap(err)
}

// Save implements billing.Subscriptions.
func (d Subscriptions) Save(ctx context.Context, s billing.Subscription) error {
	return saved(d.q(ctx).Exec(`UPDATE subscriptions SET plan = ?, status = ?, auto_renew = ?, anchor_at = ?, expires_at = ?, next_at = ?, failures = ?,
			method_id = ?, method_brand = ?, method_last4 = ?, method_expiry_month = ?, method_expiry_year = ?, version = version + 1
		WHERE owner_kind = ? AND owner_id = ? AND version = ?`,
		s.Plan, string(s.Status), s.AutoRenew, nilIfZero(s.AnchorAt), nilIfZero(s.ExpiresAt), nilIfZero(s.NextAt), s.Failures,
		s.Method.ID, s.Method.Brand, s.Method.Last4, s.Method.ExpiryMonth, s.Method.ExpiryYear, string(s.Owner.Kind), s.Owner.ID, s.Version))
}

// Due implements billing.Subscriptions.
func (d Subscriptions) Due(ctx context.Context, now time.Time, n int) ([]billing.Owner, error) {
	var rows []struct{ OwnerKind, OwnerID string }
	err := d.q(ctx).Raw("SELECT owner_kind, owner_id FROM subscriptions WHERE next_at IS NOT NULL AND next_at <= ? ORDER BY next_at LIMIT ?", now, n).Scan(&rows).Error
	out := make([]billing.Owner, len(rows))
	for i, r := range rows {
		out[i] = billing.Owner{Kind: billing.OwnerKind(r.OwnerKind), ID: r.OwnerID}
	}
	return out, wrap(err)
}

// Delete implements billing.Subscriptions.
func (d Subscriptions) Delete(ctx context.Context, o billing.Owner) error {
	return wrap(d.q(ctx).Exec("DELETE FROM subscriptions WHERE owner_kind = ? AND owner_id = ?", string(o.Kind), o.ID).Error)
}

// Charges stores what was asked of owners.
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
}

// TableName tells GORM the table.
func (chargeRow) TableName() string { return "charges" }

func (r chargeRow) charge() billing.Charge {
	return billing.Charge{
		ID: r.ID, Owner: billing.Owner{Kind: billing.OwnerKind(r.OwnerKind), ID: r.OwnerID}, Plan: r.Plan,
		Amount: billing.Money{Minor: r.AmountMinor, Currency: r.Currency}, Method: billing.Method(r.Method), Renewal: r.Renewal,
		PeriodStart: r.PeriodStart, PeriodEnd: r.PeriodEnd, Status: billing.ChargeStatus(r.Status), Receipt: r.Receipt,
		CreatedAt: r.CreatedAt, Attempts: r.Attempts, NextAt: r.NextAt,
	}
}

func chargesOf(rows []chargeRow) []billing.Charge {
	out := make([]billing.Charge, len(rows))
	for i, r := range rows {
		out[i] = r.charge()
	}
	return out
}

// Open implements billing.Charges.
func (d Charges) Open(ctx context.Context, c billing.Charge) error {
	return wrap(d.q(ctx).Create(&chargeRow{
		ID: c.ID, OwnerKind: string(c.Owner.Kind), OwnerID: c.Owner.ID, Plan: c.Plan, AmountMinor: c.Amount.Minor, Currency: c.Amount.Currency,
		Method: methodRow(c.Method), Renewal: c.Renewal, PeriodStart: c.PeriodStart, PeriodEnd: c.PeriodEnd, Status: string(c.Status), Receipt: c.Receipt,
		CreatedAt: c.CreatedAt, Attempts: c.Attempts, NextAt: c.NextAt,
	}).Error)
}

// Pending implements billing.Charges.
func (d Charges) Pending(ctx context.Context, o billing.Owner) (*billing.Charge, error) {
	var rows []chargeRow
	err := d.q(ctx).Where("owner_kind = ? AND owner_id = ? AND status = 'pending'", string(o.Kind), o.ID).Limit(1).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return nil, wrap(err)
	}
	c := rows[0].charge()
	return &c, nil
}

// Claim implements billing.Charges.
func (d Charges) Claim(ctx context.Context, c billing.Charge, next time.Time) (bool, error) {
	res := d.q(ctx).Exec("UPDATE charges SET attempts = attempts + 1, next_at = ? WHERE id = ? AND owner_kind = ? AND owner_id = ? AND status = 'pending' AND attempts = ?",
		next, c.ID, string(c.Owner.Kind), c.Owner.ID, c.Attempts)
	return res.RowsAffected > 0, wrap(res.Error)
}

// Settle implements billing.Charges.
func (d Charges) Settle(ctx context.Context, c billing.Charge) (bool, error) {
	res := d.q(ctx).Exec(`UPDATE charges SET status = ?, receipt = ?, method_id = ?, method_brand = ?, method_last4 = ?, method_expiry_month = ?, method_expiry_year = ?
		WHERE id = ? AND owner_kind = ? AND owner_id = ? AND status = 'pending'`,
		string(c.Status), c.Receipt, c.Method.ID, c.Method.Brand, c.Method.Last4, c.Method.ExpiryMonth, c.Method.ExpiryYear, c.ID, string(c.Owner.Kind), c.Owner.ID)
	return res.RowsAffected > 0, wrap(res.Error)
}

// Waiting implements billing.Charges.
func (d Charges) Waiting(ctx context.Context, now time.Time, n int) ([]billing.Charge, error) {
	var rows []chargeRow
	err := d.q(ctx).Where("status = 'pending' AND next_at <= ?", now).Order("next_at").Limit(n).Find(&rows).Error
	return chargesOf(rows), wrap(err)
}

// Of implements billing.Charges.
func (d Charges) Of(ctx context.Context, o billing.Owner, n int) ([]billing.Charge, error) {
	var rows []chargeRow
	err := d.q(ctx).Where("owner_kind = ? AND owner_id = ?", string(o.Kind), o.ID).Order("id DESC").Limit(n).Find(&rows).Error
	return chargesOf(rows), wrap(err)
}

// Disown implements billing.Charges.
func (d Charges) Disown(ctx context.Context, o, to billing.Owner) error {
	return wrap(d.q(ctx).Exec(`UPDATE charges SET owner_kind = ?, owner_id = ?, method_id = CASE WHEN status = 'pending' THEN method_id ELSE '' END,
			method_brand = '', method_last4 = '', method_expiry_month = 0, method_expiry_year = 0
		WHERE owner_kind = ? AND owner_id = ?`, string(to.Kind), to.ID, string(o.Kind), o.ID).Error)
}
