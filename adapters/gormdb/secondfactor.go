package gormdb

import (
	"context"
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

// Get implements identity.SecondFactors.
func (d SecondFactors) Get(ctx context.Context, userID string) (identity.SecondFactor, error) {
	var r secondFactorRow
	err := d.locked(ctx).Where("user_id = ?", userID).Take(&r).Error
	return identity.SecondFactor{UserID: r.UserID, Secret: r.Secret, CreatedAt: r.CreatedAt, ConfirmedAt: orZero(r.ConfirmedAt), LastStep: r.LastStep},
		orNotFound(err, identity.ErrNoSecondFactor)
}

// Upsert implements identity.SecondFactors.
func (d SecondFactors) Upsert(ctx context.Context, f identity.SecondFactor) error {
	r := secondFactorRow{UserID: f.UserID, Secret: f.Secret, CreatedAt: f.CreatedAt, ConfirmedAt: nilIfZero(f.ConfirmedAt), LastStep: f.LastStep}
	return wrap(d.q(ctx).Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "user_id"}}, UpdateAll: true}).Create(&r).Error)
}

// AdvanceStep implements identity.SecondFactors.
func (d SecondFactors) AdvanceStep(ctx context.Context, userID string, step int64) (bool, error) {
	res := d.q(ctx).Exec("UPDATE second_factors SET last_step = ? WHERE user_id = ? AND last_step < ?", step, userID, step)
	return res.RowsAffected == 1, wrap(res.Error)
}

type recoveryCodeRow struct {
	UserID string
	Hash   string
}

// TableName implements schema.Tabler.
func (recoveryCodeRow) TableName() string { return "recovery_codes" }

// ReplaceRecoveryCodes implements identity.SecondFactors.
func (d SecondFactors) ReplaceRecoveryCodes(ctx context.Context, userID string, hashes []string) error {
	return d.Do(ctx, func(ctx context.Context) error {
		if err := d.q(ctx).Exec("DELETE FROM recovery_codes WHERE user_id = ?", userID).Error; err != nil {
			return wrap(err)
		}
		rows := make([]recoveryCodeRow, len(hashes))
		for i, hash := range hashes {
			rows[i] = recoveryCodeRow{userID, hash}
		}
		return wrap(d.q(ctx).Create(&rows).Error)
	})
}

// UseRecoveryCode implements identity.SecondFactors.
func (d SecondFactors) UseRecoveryCode(ctx context.Context, userID, hash string) (bool, error) {
	res := d.q(ctx).Exec("DELETE FROM recovery_codes WHERE user_id = ? AND hash = ?", userID, hash)
	return res.RowsAffected == 1, wrap(res.Error)
}

// CountRecoveryCodes implements identity.SecondFactors.
func (d SecondFactors) CountRecoveryCodes(ctx context.Context, userID string) (n int, err error) {
	return n, wrap(d.q(ctx).Raw("SELECT COUNT(*) FROM recovery_codes WHERE user_id = ?", userID).Scan(&n).Error)
}

// Delete implements identity.SecondFactors.
func (d SecondFactors) Delete(ctx context.Context, userID string) error {
	return d.Do(ctx, func(ctx context.Context) error {
		for _, statement := range []string{"DELETE FROM recovery_codes WHERE user_id = ?", "DELETE FROM second_factors WHERE user_id = ?"} {
			if err := d.q(ctx).Exec(statement, userID).Error; err != nil {
				return wrap(err)
			}
		}
		return nil
	})
}
