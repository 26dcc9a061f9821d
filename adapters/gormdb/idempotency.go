package gormdb

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/core/idempotency"
)

// Idempotency implements idempotency.Store.
type Idempotency struct{ *DB }

type idempotencyRow struct {
	OwnerID      string
	Operation    string
	KeyHash      string
	Fingerprint  string
	Status       int
	Answer       string
	ClaimedUntil time.Time
	ExpiresAt    time.Time
}

// TableName tells GORM the table.
func (idempotencyRow) TableName() string { return "idempotency_keys" }

func keyHash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// Begin implements idempotency.Store.
func (d Idempotency) Begin(ctx context.Context, r idempotency.Request) (*idempotency.Answer, error) {
	now := d.clock.Now()
	row := idempotencyRow{
		OwnerID: r.OwnerID, Operation: r.Operation, KeyHash: keyHash(r.Key), Fingerprint: r.Fingerprint,
		ClaimedUntil: now.Add(idempotency.Lease), ExpiresAt: now.Add(idempotency.Keep),
	}
	// One statement claims what is new, what ran out, and what was left running
	// by a caller that is gone.
	res := d.q(ctx).Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "owner_id"}, {Name: "operation"}, {Name: "key_hash"}},
		DoUpdates: clause.AssignmentColumns([]string{"fingerprint", "status", "answer", "claimed_until", "expires_at"}),
		Where: clause.Where{Exprs: []clause.Expression{gorm.Expr(
			"idempotency_keys.expires_at <= ? OR idempotency_keys.status = 0 AND idempotency_keys.claimed_until <= ? AND idempotency_keys.fingerprint = ?", now, now, r.Fingerprint)}},
	}).Create(&row)
	if res.Error != nil {
		return nil, wrap(res.Error)
	}
	if res.RowsAffected == 1 {
		return nil, nil
	}
	var kept idempotencyRow
	if err := d.of(ctx, r).Take(&kept).Error; err != nil {
		if errors.Is(wrap(err), errNotFound) {
			return nil, idempotency.ErrInProgress // it ended at this very moment
		}
		return nil, wrap(err)
	}
	switch {
	case kept.Fingerprint != r.Fingerprint:
		return nil, idempotency.ErrReused
	case kept.Status == 0:
		return nil, idempotency.ErrInProgress
	}
	body, err := unseal(r.Key, kept.Answer)
	if err != nil {
		return nil, err
	}
	return &idempotency.Answer{Status: kept.Status, Body: body}, nil
}

func (d Idempotency) of(ctx context.Context, r idempotency.Request) *gorm.DB {
	return d.q(ctx).Model(&idempotencyRow{}).Where("owner_id = ? AND operation = ? AND key_hash = ?", r.OwnerID, r.Operation, keyHash(r.Key))
}

// Finish implements idempotency.Store.
func (d Idempotency) Finish(ctx context.Context, r idempotency.Request, a idempotency.Answer) error {
	sealed, err := seal(r.Key, a.Body)
	if err != nil {
		return err
	}
	return wrap(d.of(ctx, r).Updates(map[string]any{"status": a.Status, "answer": sealed}).Error)
}

// Abandon implements idempotency.Store.
func (d Idempotency) Abandon(ctx context.Context, r idempotency.Request) error {
	return wrap(d.of(ctx, r).Where("status = 0").Delete(nil).Error)
}

// Forget implements idempotency.Store.
func (d Idempotency) Forget(ctx context.Context, n int) (int, error) {
	res := d.q(ctx).Exec(`DELETE FROM idempotency_keys WHERE (owner_id, operation, key_hash) IN
		(SELECT owner_id, operation, key_hash FROM idempotency_keys WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`, d.clock.Now(), n)
	return int(res.RowsAffected), wrap(res.Error)
}

// sealer encrypts with a key that only the client has: the row holds its hash,
// so that a copy of the database tells nobody what was answered.
func sealer(key string) (cipher.AEAD, error) {
	derived, err := hkdf.Key(sha256.New, []byte(key), nil, "locum idempotency answer", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func seal(key string, plain []byte) (string, error) {
	aead, err := sealer(key)
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(aead.Seal(nil, nil, plain, nil)), nil
}

func unseal(key, sealed string) ([]byte, error) {
	aead, err := sealer(key)
	if err != nil {
		return nil, err
	}
	raw, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return nil, err
	}
	return aead.Open(nil, nil, raw, nil)
}
