package gormdb

import (
	"context"
	"slices"
	"time"

	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/modules/identity"
)

// SecondFactors stores authenticator apps and recovery codes.
type SecondFactors struct{ *DB }

type secondFactorRow struct {
	UserID      string
	Secret      string
	CreatedAt   time.Time
	ConfirmedAt *time.Time
	LastStep    int64
}

// TableName implements schema.Tabler.
func (secondFactorRow) TableName() string { return "second_factors" }

type recoveryCodeRow struct {
	UserID string
	Hash   string
}

// TableName implements schema.Tabler.
func (recoveryCodeRow) TableName() string { return "recovery_codes" }

// Get implements identity.SecondFactors.
func (d SecondFactors) Get(ctx context.Context, userID string) (identity.SecondFactor, error) {
	var r secondFactorRow
	err := d.locked(ctx).Where("user_id = ?", userID).Take(&r).Error
	if err := orNotFound(err, identity.ErrNoSecondFactor); err != nil {
		return identity.SecondFactor{}, err
	}
	codes, err := d.recoveryCodes(ctx, userID)
	return identity.SecondFactor{
		UserID: r.UserID, Secret: r.Secret, CreatedAt: r.CreatedAt, ConfirmedAt: orZero(r.ConfirmedAt), LastStep: r.LastStep, RecoveryCodes: codes,
	}, err
}

func (d SecondFactors) recoveryCodes(ctx context.Context, userID string) (hashes []string, err error) {
	err = d.q(ctx).Model(&recoveryCodeRow{}).Where("user_id = ?", userID).Order("hash").Pluck("hash", &hashes).Error
	return hashes, wrap(err)
}

// Upsert implements identity.SecondFactors.
func (d SecondFactors) Upsert(ctx context.Context, f identity.SecondFactor) error {
	return d.Do(ctx, func(ctx context.Context) error {
		r := secondFactorRow{UserID: f.UserID, Secret: f.Secret, CreatedAt: f.CreatedAt, ConfirmedAt: nilIfZero(f.ConfirmedAt), LastStep: f.LastStep}
		update := clause.OnConflict{Columns: columnsOf([]string{"user_id"}), DoUpdates: clause.AssignmentColumns([]string{"secret", "created_at", "confirmed_at", "last_step"})}
		if err := d.q(ctx).Clauses(update).Create(&r).Error; err != nil {
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
		var rows []recoveryCodeRow
		for _, hash := range without(f.RecoveryCodes, stored) {
			rows = append(rows, recoveryCodeRow{f.UserID, hash})
		}
		if len(rows) == 0 {
			return nil
		}
		return wrap(d.q(ctx).Create(&rows).Error)
	})
}

// without returns the values that are not in others.
func without(values, others []string) (out []string) {
	for _, v := range values {
		if !slices.Contains(others, v) {
			out = append(out, v)
		}
	}
	return out
}

// Delete implements identity.SecondFactors.
func (d SecondFactors) Delete(ctx context.Context, userID string) error {
	return d.Do(ctx, func(ctx context.Context) error {
		for _, row := range []any{&recoveryCodeRow{}, &secondFactorRow{}} {
			if err := d.q(ctx).Where("user_id = ?", userID).Delete(row).Error; err != nil {
				return wrap(err)
			}
		}
		return nil
	})
}
