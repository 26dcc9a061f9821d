package gormdb

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/modules/billing"
)

// subscriptions implements billing.Subscriptions.
type subscriptions struct{ *DB }

// subscriptionRow is the plan of an owner, which is a user or an app. Owners without a row have the free
// plan.
type subscriptionRow struct {
	Owner     billing.Owner `gorm:"embedded;embeddedPrefix:owner_"`
	Plan      string
	Status    billing.Status
	AutoRenew bool
	// AnchorAt determines the day of the month on which paid periods begin.
	AnchorAt  time.Time `gorm:"serializer:nullable_time"`
	ExpiresAt time.Time `gorm:"serializer:nullable_time"`
	// NextAt is when the subscription is processed next, for example renewed.
	NextAt time.Time `gorm:"serializer:nullable_time"`
	// Failures counts the declined charges since the last successful one.
	Failures int
	Method   billing.Method `gorm:"embedded;embeddedPrefix:method_"` // of payment
	Version  int64
}

// ofOwner restricts q to the rows of the owner.
func ofOwner(q *gorm.DB, owner billing.Owner) *gorm.DB {
	return q.Where("owner_kind = ? AND owner_id = ?", owner.Kind, owner.ID)
}

// Get implements billing.Subscriptions. Without a row, it returns the subscription of a new owner.
func (d subscriptions) Get(ctx context.Context, owner billing.Owner) (billing.Subscription, error) {
	row, err := takeRowIfAny[subscriptionRow](ofOwner(d.conn(ctx), owner))

	isAbsent := err == nil && row.Owner != owner
	if isAbsent {
		return billing.NewSubscription(owner), nil
	}

	return billing.Subscription(row), err
}

// Lock implements billing.Subscriptions. It creates the row if there is none, because only a row can be locked.
func (d subscriptions) Lock(ctx context.Context, owner billing.Owner) (billing.Subscription, error) {
	initial := subscriptionRow(billing.NewSubscription(owner))
	if err := d.conn(ctx).Clauses(ignoreOnConflict([]string{"owner_kind", "owner_id"})).Create(&initial).Error; err != nil {
		return billing.Subscription{}, wrap(err)
	}

	stored, err := takeRow[subscriptionRow](ofOwner(d.locked(ctx), owner), errNotFound)

	return billing.Subscription(stored), err
}

// Update implements billing.Subscriptions. It increments the version, and returns errStale if another
// transaction has changed the subscription since it was read.
func (d subscriptions) Update(ctx context.Context, s billing.Subscription) error {
	row := subscriptionRow(s)
	row.Version++

	previous := ofOwner(d.conn(ctx).Model(&subscriptionRow{}), s.Owner).Where("version = ?", s.Version)

	return updateVersion(previous, &row, except{"owner_kind", "owner_id"})
}

// ListDue implements billing.Subscriptions. It returns the owners of the n subscriptions that have been due
// for longest.
func (d subscriptions) ListDue(ctx context.Context, now time.Time, n int) ([]billing.Owner, error) {
	return findRows(
		d.conn(ctx).Select("owner_kind", "owner_id").Where("next_at IS NOT NULL AND next_at <= ?", now).Order("next_at").Limit(n),
		func(r subscriptionRow) billing.Owner { return r.Owner },
	)
}

// Erase implements billing.Subscriptions. It deletes the subscription of the owner. The charges remain for
// accounting, with the anonymous owner.
func (d subscriptions) Erase(ctx context.Context, owner, anonymous billing.Owner) error {
	return d.Do(ctx, func(ctx context.Context) error {
		if err := ofOwner(d.conn(ctx), owner).Delete(&subscriptionRow{}).Error; err != nil {
			return wrap(err)
		}

		return wrap(ofOwner(d.conn(ctx).Model(&chargeRow{}), owner).Updates(map[string]any{
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

// chargeRow is a payment for a plan, which a payment provider collects. It is pending until the provider
// has accepted or declined it.
type chargeRow struct {
	ID          string
	Owner       billing.Owner `gorm:"embedded;embeddedPrefix:owner_"`
	Plan        string
	AmountMinor int64 // in the smallest unit of the currency
	Currency    string
	Method      billing.Method `gorm:"embedded;embeddedPrefix:method_"` // of payment
	Renewal     bool
	PeriodStart time.Time
	PeriodEnd   time.Time
	Status      billing.ChargeStatus
	Receipt     string // the provider's id of the payment
	CreatedAt   time.Time
	Attempts    int       // calls to the provider
	NextAt      time.Time // of the next call, if the charge is pending
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
	row := newChargeRow(c)
	return wrap(d.conn(ctx).Create(&row).Error)
}

// Update implements billing.Charges. It stores either that a pending charge was attempted once more, or the
// final status of the charge. It reports whether the stored charge was pending, and for a further
// attempt, whether no other process has made this attempt.
func (d charges) Update(ctx context.Context, c billing.Charge) (isChanged bool, err error) {
	q := ofOwner(d.conn(ctx), c.Owner).Where("id = ? AND status = 'pending'", c.ID)

	if c.Status == billing.Pending {
		q = q.Where("attempts = ?", c.Attempts-1).Select("attempts", "next_at", "action_at")
	} else {
		q = q.Select("status", "receipt", "method_id", "method_brand", "method_last4", "method_expiry_month", "method_expiry_year")
	}

	row := newChargeRow(c)
	res := q.Updates(&row)

	return res.RowsAffected > 0, wrap(res.Error)
}

// List implements billing.Charges. It lists the charges of an owner, newest first, or the pending ones that
// are due, longest due first.
func (d charges) List(ctx context.Context, f billing.ChargeFilter, n int) ([]billing.Charge, error) {
	hasOwner := f.Owner != billing.Owner{}
	hasDueBy := !f.DueBy.IsZero()

	// Without any filter the list would be that of all customers.
	if !hasOwner && !hasDueBy {
		return nil, nil
	}

	q, order := d.conn(ctx), "id DESC"
	if hasOwner {
		q = ofOwner(q, f.Owner)
	}

	if hasDueBy {
		q, order = q.Where("status = 'pending' AND next_at <= ?", f.DueBy), "next_at"
	}

	return findRows(whereEqual(q, "status", f.Status).Order(order).Limit(n), chargeRow.charge)
}
