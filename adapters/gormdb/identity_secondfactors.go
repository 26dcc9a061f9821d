package gormdb

import (
	"context"
	"slices"
	"time"

	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/modules/identity"
)

// secondFactors implements identity.SecondFactors.
type secondFactors struct{ *DB }

type secondFactorRow struct {
	UserID        string
	Secret        string
	CreatedAt     time.Time
	ConfirmedAt   time.Time `gorm:"serializer:nullable_time"`
	LastStep      int64
	RecoveryCodes []string `gorm:"-"`
}

type recoveryCodeRow struct {
	UserID string
	Hash   string
}

// Get implements identity.SecondFactors.
func (d secondFactors) Get(ctx context.Context, userID string) (identity.SecondFactor, error) {
	r, err := take[secondFactorRow](d.locked(ctx).Where("user_id = ?", userID), identity.ErrNoSecondFactor)
	if err != nil {
		return identity.SecondFactor{}, err
	}
	r.RecoveryCodes, err = d.recoveryCodes(ctx, userID)
	return identity.SecondFactor(r), err
}

func (d secondFactors) recoveryCodes(ctx context.Context, userID string) (hashes []string, err error) {
	err = d.q(ctx).Model(&recoveryCodeRow{}).Where("user_id = ?", userID).Order("hash").Pluck("hash", &hashes).Error
	return hashes, wrap(err)
}

// Upsert implements identity.SecondFactors.
func (d secondFactors) Upsert(ctx context.Context, f identity.SecondFactor) error {
	return d.Do(ctx, func(ctx context.Context) error {
		replace := replaceOn([]string{"user_id"}, "secret", "created_at", "confirmed_at", "last_step")
		if err := d.q(ctx).Clauses(replace).Create((*secondFactorRow)(&f)).Error; err != nil {
			return wrap(err)
		}
		stored, err := d.recoveryCodes(ctx, f.UserID)
		if err != nil {
			return err
		}
		if used := without(stored, f.RecoveryCodes); len(used) > 0 {
			if err := d.q(ctx).Where("user_id = ? AND hash IN ?", f.UserID, used).Delete(&recoveryCodeRow{}).Error; err != nil {
				return wrap(err)
			}
		}
		return create(d.q(ctx), list.Map(without(f.RecoveryCodes, stored), func(hash string) recoveryCodeRow { return recoveryCodeRow{f.UserID, hash} }))
	})
}

// without returns the values that are not in others.
func without(values, others []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return slices.Contains(others, v) })
}

// Delete implements identity.SecondFactors.
func (d secondFactors) Delete(ctx context.Context, userID string) error {
	return d.Do(ctx, func(ctx context.Context) error {
		return deleteFrom(d.q(ctx).Where("user_id = ?", userID), recoveryCodeRow{}, secondFactorRow{})
	})
}
