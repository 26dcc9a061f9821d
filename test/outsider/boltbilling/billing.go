package boltbilling

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"github.com/locumhq/locum/core/tx"
	"github.com/locumhq/locum/modules/billing"
)

// Subscriptions implements billing.Subscriptions.
type Subscriptions struct{ *Database }

func ownerKey(o billing.Owner) []byte { return []byte(string(o.Kind) + "/" + o.ID + "/") }

// find returns the owner's subscription, and whether it is stored.
func find(t *bbolt.Tx, o billing.Owner) (billing.Subscription, bool, error) {
	s := billing.NewSubscription(o)

	data := t.Bucket(subscriptions).Get(ownerKey(o))
	if data == nil {
		return s, false, nil
	}

	return s, true, json.Unmarshal(data, &s)
}

// Get implements billing.Subscriptions.
func (d Subscriptions) Get(ctx context.Context, o billing.Owner) (s billing.Subscription, err error) {
	err = d.view(ctx, func(t *bbolt.Tx) error {
		s, _, err = find(t, o)
		return err
	})

	return s, err
}

// Lock implements billing.Subscriptions. A transaction locks the whole file.
func (d Subscriptions) Lock(ctx context.Context, o billing.Owner) (s billing.Subscription, err error) {
	t := d.current(ctx)
	if t == nil {
		return s, errors.New("a subscription is locked in a transaction")
	}

	s, stored, err := find(t.Tx, o)
	if err != nil || stored {
		return s, err
	}

	return s, put(t.Bucket(subscriptions), ownerKey(o), s)
}

// Update implements billing.Subscriptions.
func (d Subscriptions) Update(ctx context.Context, s billing.Subscription) error {
	return d.update(ctx, func(t *transaction) error {
		stored, found, err := find(t.Tx, s.Owner)
		if err != nil {
			return err
		}

		if !found || stored.Version != s.Version {
			return tx.ErrStale
		}

		s.Version++

		return put(t.Bucket(subscriptions), ownerKey(s.Owner), s)
	})
}

// ListDue implements billing.Subscriptions. It reads all subscriptions; with many of
// them, add a bucket by NextAt.
func (d Subscriptions) ListDue(ctx context.Context, now time.Time, n int) ([]billing.Owner, error) {
	var due []billing.Subscription
	err := d.view(ctx, func(t *bbolt.Tx) error {
		return each(t.Bucket(subscriptions), nil, func(_ []byte, s billing.Subscription) bool {
			if !s.NextAt.IsZero() && !s.NextAt.After(now) {
				due = append(due, s)
			}

			return true
		})
	})

	slices.SortFunc(due, func(a, b billing.Subscription) int { return a.NextAt.Compare(b.NextAt) })

	var owners []billing.Owner
	for _, s := range due[:min(n, len(due))] {
		owners = append(owners, s.Owner)
	}

	return owners, err
}

// Erase implements billing.Subscriptions.
func (d Subscriptions) Erase(ctx context.Context, o, anonymous billing.Owner) error {
	return d.update(ctx, func(t *transaction) error {
		if err := t.Bucket(subscriptions).Delete(ownerKey(o)); err != nil {
			return err
		}

		of, err := chargesOf(t.Tx, o)
		for _, c := range of {
			err = errors.Join(err, t.Bucket(charges).Delete(chargeKey(c)))

			method := billing.Method{}
			if c.Status == billing.Pending {
				method.ID = c.Method.ID
			}

			c.Owner, c.Method = anonymous, method
			err = errors.Join(err, put(t.Bucket(charges), chargeKey(c), c))
		}

		return err
	})
}

// Charges implements billing.Charges.
type Charges struct{ *Database }

func chargeKey(c billing.Charge) []byte { return append(ownerKey(c.Owner), c.ID...) }

// chargesOf returns the charges of the owner, the newest first, or of all owners.
func chargesOf(t *bbolt.Tx, o billing.Owner) (of []billing.Charge, err error) {
	var prefix []byte
	if o != (billing.Owner{}) {
		prefix = ownerKey(o)
	}

	err = each(t.Bucket(charges), prefix, func(_ []byte, c billing.Charge) bool {
		of = append(of, c)
		return true
	})

	slices.SortFunc(of, func(a, b billing.Charge) int { return cmp.Compare(b.ID, a.ID) })

	return of, err
}

// Create implements billing.Charges.
func (d Charges) Create(ctx context.Context, c billing.Charge) error {
	return d.update(ctx, func(t *transaction) error {
		of, err := chargesOf(t.Tx, c.Owner)
		if err != nil {
			return err
		}

		for _, other := range of {
			if other.Status == billing.Pending || other.Status != billing.Declined && other.PeriodStart.Equal(c.PeriodStart) {
				return errors.New("there is another charge that is pending or for the same period")
			}
		}

		return put(t.Bucket(charges), chargeKey(c), c)
	})
}

// Update implements billing.Charges.
func (d Charges) Update(ctx context.Context, c billing.Charge) (updated bool, err error) {
	err = d.update(ctx, func(t *transaction) error {
		updated = false

		data := t.Bucket(charges).Get(chargeKey(c))
		if data == nil {
			return nil
		}

		var stored billing.Charge
		if err := json.Unmarshal(data, &stored); err != nil {
			return err
		}

		switch {
		case stored.Status != billing.Pending || c.Status == billing.Pending && stored.Attempts != c.Attempts-1:
			return nil
		case c.Status == billing.Pending:
			stored.Attempts = c.Attempts
			stored.NextAt = c.NextAt
			stored.ActionAt = c.ActionAt
		default:
			stored.Status = c.Status
			stored.Receipt = c.Receipt
			stored.Method = c.Method
		}

		updated = true

		return put(t.Bucket(charges), chargeKey(c), stored)
	})

	return updated, err
}

// List implements billing.Charges.
func (d Charges) List(ctx context.Context, f billing.ChargeFilter, n int) (found []billing.Charge, err error) {
	if f.Owner == (billing.Owner{}) && f.DueBy.IsZero() {
		return nil, nil
	}

	err = d.view(ctx, func(t *bbolt.Tx) error {
		found, err = chargesOf(t, f.Owner)
		return err
	})

	found = slices.DeleteFunc(found, func(c billing.Charge) bool {
		due := f.DueBy.IsZero() || c.Status == billing.Pending && !c.NextAt.After(f.DueBy)
		return !due || f.Status != "" && c.Status != f.Status
	})
	if !f.DueBy.IsZero() {
		slices.SortStableFunc(found, func(a, b billing.Charge) int { return a.NextAt.Compare(b.NextAt) })
	}

	return found[:min(n, len(found))], err
}
