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

// ownerKey returns the key of the owner's subscription, with which the keys of the owner's charges begin.
func ownerKey(owner billing.Owner) []byte { return []byte(string(owner.Kind) + "/" + owner.ID + "/") }

// find returns the owner's subscription, and whether it is stored. If it is not, it returns a new one.
func find(t *bbolt.Tx, owner billing.Owner) (subscription billing.Subscription, isStored bool, err error) {
	subscription = billing.NewSubscription(owner)

	data := t.Bucket(subscriptions).Get(ownerKey(owner))
	if data == nil {
		return subscription, false, nil
	}

	return subscription, true, json.Unmarshal(data, &subscription)
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

// Erase implements billing.Subscriptions. It deletes the subscription, and moves the charges to the anonymous owner,
// without their payment methods. A pending charge keeps the id of its method, with which it is still to be paid.
func (d Subscriptions) Erase(ctx context.Context, owner, anonymous billing.Owner) error {
	return d.update(ctx, func(t *transaction) error {
		if err := t.Bucket(subscriptions).Delete(ownerKey(owner)); err != nil {
			return err
		}

		ofOwner, err := chargesOf(t.Tx, owner)
		for _, charge := range ofOwner {
			err = errors.Join(err, t.Bucket(charges).Delete(chargeKey(charge)))

			method := billing.Method{}
			if charge.Status == billing.Pending {
				method.ID = charge.Method.ID
			}

			charge.Owner, charge.Method = anonymous, method
			err = errors.Join(err, put(t.Bucket(charges), chargeKey(charge), charge))
		}

		return err
	})
}

// Charges implements billing.Charges.
type Charges struct{ *Database }

func chargeKey(charge billing.Charge) []byte { return append(ownerKey(charge.Owner), charge.ID...) }

// chargesOf returns the charges of the owner, the newest first. For the zero owner it returns those of all owners.
func chargesOf(t *bbolt.Tx, owner billing.Owner) (found []billing.Charge, err error) {
	var prefix []byte // of all keys
	if owner != (billing.Owner{}) {
		prefix = ownerKey(owner)
	}

	err = each(t.Bucket(charges), prefix, func(_ []byte, charge billing.Charge) bool {
		found = append(found, charge)
		return true
	})

	slices.SortFunc(found, func(a, b billing.Charge) int { return cmp.Compare(b.ID, a.ID) })

	return found, err
}

// Create implements billing.Charges. An owner has at most one pending charge, and at most one charge of a period that
// was not declined.
func (d Charges) Create(ctx context.Context, charge billing.Charge) error {
	return d.update(ctx, func(t *transaction) error {
		others, err := chargesOf(t.Tx, charge.Owner)
		if err != nil {
			return err
		}

		for _, other := range others {
			isForPeriod := other.Status != billing.Declined && other.PeriodStart.Equal(charge.PeriodStart)
			if other.Status == billing.Pending || isForPeriod {
				return errors.New("there is another charge that is pending or for the same period")
			}
		}

		return put(t.Bucket(charges), chargeKey(charge), charge)
	})
}

// Update implements billing.Charges. It updates only charges that are stored as pending. A charge that stays pending
// must have one attempt more than the stored one; otherwise another process has made the attempt.
func (d Charges) Update(ctx context.Context, charge billing.Charge) (updated bool, err error) {
	err = d.update(ctx, func(t *transaction) error {
		updated = false

		data := t.Bucket(charges).Get(chargeKey(charge))
		if data == nil {
			return nil
		}

		var stored billing.Charge
		if err := json.Unmarshal(data, &stored); err != nil {
			return err
		}

		staysPending := charge.Status == billing.Pending
		isNextAttempt := charge.Attempts == stored.Attempts+1

		switch {
		case stored.Status != billing.Pending || staysPending && !isNextAttempt:
			return nil
		case staysPending:
			stored.Attempts = charge.Attempts
			stored.NextAt = charge.NextAt
			stored.ActionAt = charge.ActionAt
		default:
			stored.Status = charge.Status
			stored.Receipt = charge.Receipt
			stored.Method = charge.Method
		}

		updated = true

		return put(t.Bucket(charges), chargeKey(charge), stored)
	})

	return updated, err
}

// List implements billing.Charges. A filter with DueBy selects pending charges, which are returned in the order in
// which they are due.
func (d Charges) List(ctx context.Context, filter billing.ChargeFilter, n int) (found []billing.Charge, err error) {
	isForDue := !filter.DueBy.IsZero()
	if filter.Owner == (billing.Owner{}) && !isForDue {
		return nil, nil
	}

	err = d.view(ctx, func(t *bbolt.Tx) error {
		found, err = chargesOf(t, filter.Owner)
		return err
	})

	found = slices.DeleteFunc(found, func(charge billing.Charge) bool {
		isDue := charge.Status == billing.Pending && !charge.NextAt.After(filter.DueBy)
		hasStatus := filter.Status == "" || charge.Status == filter.Status

		return isForDue && !isDue || !hasStatus
	})
	if isForDue {
		slices.SortStableFunc(found, func(a, b billing.Charge) int { return a.NextAt.Compare(b.NextAt) })
	}

	return found[:min(n, len(found))], err
}
