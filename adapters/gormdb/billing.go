package gormdb

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/modules/billing"
)

// subscriptions implements billing.Subscriptions.
type subscriptions struct{ *DB }

// subscriptionRow is the plan of an owner, a user or an app. Owners without a row have the free plan. AnchorAt
// determines the day of the month on which paid periods begin. NextAt is when the subscription is processed next,
// and Failures counts the declined charges since the last successful one.
type subscriptionRow struct {
	Owner     billing.Owner `gorm:"embedded;embeddedPrefix:owner_"`
	Plan      string
	Status    billing.Status
	AutoRenew bool
	AnchorAt  time.Time `gorm:"serializer:nullable_time"`
	ExpiresAt time.Time `gorm:"serializer:nullable_time"`
	NextAt    time.Time `gorm:"serializer:nullable_time"`
	Failures  int
	Method    billing.Method `gorm:"embedded;embeddedPrefix:method_"`
	Version   int64
}

// ofOwner restricts q to the rows of the owner.
func ofOwner(q *gorm.DB, o billing.Owner) *gorm.DB {
	return q.Where("owner_kind = ? AND owner_id = ?", o.Kind, o.ID)
}

// Get implements billing.Subscriptions.
func (d subscriptions) Get(ctx context.Context, o billing.Owner) (billing.Subscription, error) {
	r, err := takeRowIfAny[subscriptionRow](ofOwner(d.conn(ctx), o))
	if err == nil && r.Owner != o { // there is no row
		return billing.NewSubscription(o), nil
	}

	return billing.Subscription(r), err
}

// Lock implements billing.Subscriptions. It creates the row if there is none, because only a row can be locked.
func (d subscriptions) Lock(ctx context.Context, o billing.Owner) (billing.Subscription, error) {
	r := subscriptionRow(billing.NewSubscription(o))
	if err := d.conn(ctx).Clauses(ignoreOnConflict([]string{"owner_kind", "owner_id"})).Create(&r).Error; err != nil {
		return billing.Subscription{}, wrap(err)
	}

	r, err := takeRow[subscriptionRow](ofOwner(d.locked(ctx), o), errNotFound)

	return billing.Subscription(r), err
}

// Update implements billing.Subscriptions.
func (d subscriptions) Update(ctx context.Context, s billing.Subscription) error {
	r := subscriptionRow(s)
	r.Version++

	previous := ofOwner(d.conn(ctx).Model(&subscriptionRow{}), s.Owner).Where("version = ?", s.Version)

	return updateVersion(previous, &r, except{"owner_kind", "owner_id"})
}

// ListDue implements billing.Subscriptions.
func (d subscriptions) ListDue(ctx context.Context, now time.Time, n int) ([]billing.Owner, error) {
	return findRows(
		d.conn(ctx).Select("owner_kind", "owner_id").Where("next_at IS NOT NULL AND next_at <= ?", now).Order("next_at").Limit(n),
		func(r subscriptionRow) billing.Owner { return r.Owner },
	)
}

// Erase implements billing.Subscriptions. The charges remain for accounting, with the anonymous owner.
func (d subscriptions) Erase(ctx context.Context, o, anonymous billing.Owner) error {
	return d.Do(ctx, func(ctx context.Context) error {
		if err := ofOwner(d.conn(ctx), o).Delete(&subscriptionRow{}).Error; err != nil {
			return wrap(err)
		}

		return wrap(ofOwner(d.conn(ctx).Model(&chargeRow{}), o).Updates(map[string]any{
			"owner_kind": anonymous.Kind,
			"owner_id":   anonymous.ID,
			// A pending charge still needs its payment method.
			"method_id":           gorm.Expr("CASE WHEN status = 'pending' THEN method_id ELSE '' END"),
			"method_brand":        "",
			"method_last4":        "",
			"method_expiry_month": 0,
			"method_expiry_year":  0,
		}).Error)
	})
}

// charges implements billing.Charges.
type charges struct{ *DB }

// chargeRow is a payment for a plan. Receipt is the payment provider's id of it, Attempts counts the calls to the
// provider, and NextAt is the time of the next call while the charge is pending.
type chargeRow struct {
	ID          string
	Owner       billing.Owner `gorm:"embedded;embeddedPrefix:owner_"`
	Plan        string
	AmountMinor int64
	Currency    string
	Method      billing.Method `gorm:"embedded;embeddedPrefix:method_"`
	Renewal     bool
	PeriodStart time.Time
	PeriodEnd   time.Time
	Status      billing.ChargeStatus
	Receipt     string
	CreatedAt   time.Time
	Attempts    int
	NextAt      time.Time
	ActionAt    time.Time `gorm:"serializer:nullable_time"`
}

// newChargeRow returns the row that stores the charge.
func newChargeRow(charge billing.Charge) chargeRow {
	return chargeRow{
		ID:          charge.ID,
		Owner:       charge.Owner,
		Plan:        charge.Plan,
		AmountMinor: charge.Amount.Minor,
		Currency:    charge.Amount.Currency,
		Method:      charge.Method,
		Renewal:     charge.Renewal,
		PeriodStart: charge.PeriodStart,
		PeriodEnd:   charge.PeriodEnd,
		Status:      charge.Status,
		Receipt:     charge.Receipt,
		CreatedAt:   charge.CreatedAt,
		Attempts:    charge.Attempts,
		NextAt:      charge.NextAt,
		ActionAt:    charge.ActionAt,
	}
}

// charge returns the charge of the row.
func (r chargeRow) charge() billing.Charge {
	return billing.Charge{
		ID:          r.ID,
		Owner:       r.Owner,
		Plan:        r.Plan,
		Amount:      billing.Money{Minor: r.AmountMinor, Currency: r.Currency},
		Method:      r.Method,
		Renewal:     r.Renewal,
		PeriodStart: r.PeriodStart,
		PeriodEnd:   r.PeriodEnd,
		Status:      r.Status,
		Receipt:     r.Receipt,
		CreatedAt:   r.CreatedAt,
		Attempts:    r.Attempts,
		NextAt:      r.NextAt,
		ActionAt:    r.ActionAt,
	}
}

// Create implements billing.Charges.
func (d charges) Create(ctx context.Context, c billing.Charge) error {
	r := newChargeRow(c)
	return wrap(d.conn(ctx).Create(&r).Error)
}

// Update implements billing.Charges. It reports whether it has changed the charge, which must be pending.
func (d charges) Update(ctx context.Context, c billing.Charge) (bool, error) {
	q := ofOwner(d.conn(ctx), c.Owner).Where("id = ? AND status = 'pending'", c.ID)

	// A pending charge was attempted again, unless another process has done so. Otherwise the
	// charge has its final status.
	if c.Status == billing.Pending {
		q = q.Where("attempts = ?", c.Attempts-1).Select("attempts", "next_at", "action_at")
	} else {
		q = q.Select("status", "receipt", "method_id", "method_brand", "method_last4", "method_expiry_month", "method_expiry_year")
	}

	r := newChargeRow(c)
	res := q.Updates(&r)

	return res.RowsAffected > 0, wrap(res.Error)
}

// List implements billing.Charges.
func (d charges) List(ctx context.Context, f billing.ChargeFilter, n int) ([]billing.Charge, error) {
	q, order := d.conn(ctx), "id DESC"

	// Without any filter the list would be that of all customers.
	if f.Owner == (billing.Owner{}) && f.DueBy.IsZero() {
		return nil, nil
	}

	if f.Owner != (billing.Owner{}) {
		q = ofOwner(q, f.Owner)
	}

	if !f.DueBy.IsZero() {
		q, order = q.Where("status = 'pending' AND next_at <= ?", f.DueBy), "next_at"
	}

	return findRows(whereEqual(q, "status", f.Status).Order(order).Limit(n), chargeRow.charge)
}
