package gormdb

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/idempotency"
)

// idempotencyKeys implements idempotency.Store.
type idempotencyKeys struct{ *DB }

type idempotencyKeyRow struct {
	OwnerID      string
	Operation    string
	KeyHash      string
	Fingerprint  string
	Status       int
	Answer       string
	ClaimedUntil time.Time
	ExpiresAt    time.Time
}

// keyHash returns the hash that is stored in place of the key.
func keyHash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// Begin implements idempotency.Store.
func (d idempotencyKeys) Begin(ctx context.Context, r idempotency.Request) (idempotency.Claim, *idempotency.Answer, error) {
	now := d.clock.Now()
	claim := idempotency.Claim{Request: r, Until: now.Add(idempotency.Lease)}
	row := idempotencyKeyRow{
		OwnerID: r.OwnerID, Operation: r.Operation, KeyHash: keyHash(r.Key), Fingerprint: r.Fingerprint,
		ClaimedUntil: claim.Until, ExpiresAt: now.Add(idempotency.Keep),
	}

	res := createIfAbsent(d.conn(ctx), &row, "owner_id", "operation", "key_hash")
	if res.Error == nil && res.RowsAffected == 0 {
		// An existing row is claimed again if it has expired, or if the lease of its
		// caller has ended without an answer.
		res = d.keyRow(ctx, r).
			Where("expires_at <= ? OR status = 0 AND (claimed_until <= ? OR claimed_until > ?) AND fingerprint = ?",
				now, now, claim.Until.Add(maxClockSkew), r.Fingerprint).
			Updates(map[string]any{
				"fingerprint":   row.Fingerprint,
				"status":        0,
				"answer":        "",
				"claimed_until": row.ClaimedUntil,
				"expires_at":    row.ExpiresAt,
			})
	}

	if res.Error != nil {
		return claim, nil, wrap(res.Error)
	}

	if res.RowsAffected == 1 {
		return claim, nil, nil
	}

	// If the row does not exist any more, it was deleted after the statement above.
	stored, err := takeRow[idempotencyKeyRow](d.keyRow(ctx, r), idempotency.ErrInProgress)
	if err != nil {
		return claim, nil, err
	}

	isLeased := stored.ClaimedUntil.After(now) && !stored.ClaimedUntil.After(claim.Until.Add(maxClockSkew))
	switch {
	case stored.Fingerprint != r.Fingerprint:
		return claim, nil, idempotency.ErrReused
	case stored.Status == 0 || isLeased:
		return claim, nil, idempotency.ErrInProgress
	}

	body, err := unseal(r.Key, stored.Answer)
	if err != nil {
		return claim, nil, err
	}

	return claim, &idempotency.Answer{Status: stored.Status, Body: body}, nil
}

// keyRow selects the row of the request's key.
func (d idempotencyKeys) keyRow(ctx context.Context, r idempotency.Request) *gorm.DB {
	return d.conn(ctx).
		Model(&idempotencyKeyRow{}).
		Where("owner_id = ? AND operation = ? AND key_hash = ?", r.OwnerID, r.Operation, keyHash(r.Key))
}

// claimedRow selects the row of a claim, if the claim is still valid.
func (d idempotencyKeys) claimedRow(ctx context.Context, c idempotency.Claim) *gorm.DB {
	return d.keyRow(ctx, c.Request).Where("claimed_until = ?", c.Until)
}

// Finish implements idempotency.Store.
func (d idempotencyKeys) Finish(ctx context.Context, c idempotency.Claim, a idempotency.Answer) error {
	return d.store(ctx, c, a, map[string]any{"claimed_until": d.clock.Now()})
}

// SetFallback implements idempotency.Store.
func (d idempotencyKeys) SetFallback(ctx context.Context, c idempotency.Claim, a idempotency.Answer) error {
	return d.store(ctx, c, a, map[string]any{})
}

// store stores the answer, and the other columns.
func (d idempotencyKeys) store(ctx context.Context, c idempotency.Claim, a idempotency.Answer, columns map[string]any) error {
	sealed, err := seal(c.Key, a.Body)
	if err != nil {
		return err
	}

	columns["status"], columns["answer"] = a.Status, sealed

	return requireRow(d.claimedRow(ctx, c).Updates(columns), idempotency.ErrInProgress)
}

// Release implements idempotency.Store.
func (d idempotencyKeys) Release(ctx context.Context, c idempotency.Claim) error {
	res := d.claimedRow(ctx, c).Where("status = 0").Delete(nil)
	if res.Error != nil || res.RowsAffected > 0 {
		return wrap(res.Error)
	}

	return wrap(d.claimedRow(ctx, c).Update("claimed_until", d.clock.Now()).Error)
}

// answerCipher returns the cipher for answers. Its key is derived from the idempotency key,
// which only the client has: the database contains only a hash of it, so that a copy of the
// database does not disclose answers.
func answerCipher(key string) (cipher.AEAD, error) {
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

// seal encrypts an answer.
func seal(key string, plain []byte) (string, error) {
	aead, err := answerCipher(key)
	if err != nil {
		return "", err
	}

	return base64.StdEncoding.EncodeToString(aead.Seal(nil, nil, plain, nil)), nil
}

// unseal decrypts an answer.
func unseal(key, sealed string) ([]byte, error) {
	aead, err := answerCipher(key)
	if err != nil {
		return nil, err
	}

	raw, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return nil, err
	}

	return aead.Open(nil, nil, raw, nil)
}
