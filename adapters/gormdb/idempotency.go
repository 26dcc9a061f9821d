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

// idempotencyKeys implements idempotency.Store. A client sends a request with a key. If it sends the
// request again with the same key, it gets the stored answer.
//
// A process claims a request before it carries it out. The claim has a lease: until its end, no other
// process carries out the same request. While the work goes on, the process can store a fallback, which is
// the answer if the work is interrupted.
type idempotencyKeys struct{ *DB }

// noAnswer is the status of a row whose request has not been answered.
const noAnswer = 0

// idempotencyKeyRow is a request with an idempotency key.
type idempotencyKeyRow struct {
	OwnerID      string
	Operation    string
	KeyHash      string // see keyHash
	Fingerprint  string // of the request, to detect another request with the same key
	Status       int    // the HTTP status of the answer or fallback, or noAnswer
	Answer       string // the sealed body of the answer or fallback
	ClaimedUntil time.Time
	ExpiresAt    time.Time
}

// keyHash returns the hash that is stored in place of the key.
func keyHash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// Begin implements idempotency.Store. It creates a claimed row, or claims the existing one if
// that is permitted. Otherwise it returns the stored answer, or the reason for the refusal.
func (d idempotencyKeys) Begin(ctx context.Context, r idempotency.Request) (idempotency.Claim, *idempotency.Answer, error) {
	now := d.clock.Now()
	claim := idempotency.Claim{Request: r, Until: now.Add(idempotency.Lease)}
	row := idempotencyKeyRow{
		OwnerID:      r.OwnerID,
		Operation:    r.Operation,
		KeyHash:      keyHash(r.Key),
		Fingerprint:  r.Fingerprint,
		Status:       noAnswer,
		ClaimedUntil: claim.Until,
		ExpiresAt:    now.Add(idempotency.Keep),
	}

	// Create the row, or claim the existing one.
	res := createIfAbsent(d.conn(ctx), &row, "owner_id", "operation", "key_hash")

	isExisting := res.Error == nil && res.RowsAffected == 0
	if isExisting {
		res = d.reclaimableRow(ctx, claim, now).Updates(map[string]any{
			"fingerprint":   row.Fingerprint,
			"status":        row.Status,
			"answer":        row.Answer,
			"claimed_until": row.ClaimedUntil,
			"expires_at":    row.ExpiresAt,
		})
	}

	if res.Error != nil {
		return claim, nil, wrap(res.Error)
	}

	if isClaimed := res.RowsAffected == 1; isClaimed {
		return claim, nil, nil
	}

	answer, err := d.storedAnswer(ctx, claim, now)

	return claim, answer, err
}

// reclaimableRow returns a query for the row of the claim's key, if the row may be claimed again. This is
// the case if the row has expired, or if the same request was claimed and its lease has ended without an
// answer. A lease that ends too far in the future was written by a wrong clock and counts as ended.
func (d idempotencyKeys) reclaimableRow(ctx context.Context, c idempotency.Claim, now time.Time) *gorm.DB {
	return d.keyRow(ctx, c.Request).
		Where("(expires_at <= ?) OR (status = ? AND fingerprint = ? AND (claimed_until <= ? OR claimed_until > ?))",
			now, noAnswer, c.Fingerprint, now, lastPlausibleLease(c))
}

// lastPlausibleLease returns the latest end of a lease of another caller, whose clock may be
// ahead by maxClockSkew.
func lastPlausibleLease(c idempotency.Claim) time.Time { return c.Until.Add(maxClockSkew) }

// storedAnswer returns the answer in the row of the claim's key, which another caller has
// claimed. While the lease lasts, that caller may still replace an answer that is a fallback.
func (d idempotencyKeys) storedAnswer(ctx context.Context, c idempotency.Claim, now time.Time) (*idempotency.Answer, error) {
	// If the row does not exist any more, it was deleted after Begin tried to claim it.
	stored, err := takeRow[idempotencyKeyRow](d.keyRow(ctx, c.Request), idempotency.ErrInProgress)
	if err != nil {
		return nil, err
	}

	isLeased := stored.ClaimedUntil.After(now) && !stored.ClaimedUntil.After(lastPlausibleLease(c))

	switch {
	case stored.Fingerprint != c.Fingerprint:
		return nil, idempotency.ErrReused
	case stored.Status == noAnswer || isLeased:
		return nil, idempotency.ErrInProgress
	}

	body, err := unseal(c.Key, stored.Answer)
	if err != nil {
		return nil, err
	}

	return &idempotency.Answer{Status: stored.Status, Body: body}, nil
}

// keyRow returns a query for the row of the request's key.
func (d idempotencyKeys) keyRow(ctx context.Context, r idempotency.Request) *gorm.DB {
	return d.conn(ctx).
		Model(&idempotencyKeyRow{}).
		Where("owner_id = ? AND operation = ? AND key_hash = ?", r.OwnerID, r.Operation, keyHash(r.Key))
}

// claimedRow returns a query for the row of a claim, if the claim is still valid. If another process has
// claimed the request since, the row has another end of the lease.
func (d idempotencyKeys) claimedRow(ctx context.Context, c idempotency.Claim) *gorm.DB {
	return d.keyRow(ctx, c.Request).Where("claimed_until = ?", c.Until)
}

// Finish implements idempotency.Store. It stores the answer and ends the lease now, so that
// retries get the answer at once.
func (d idempotencyKeys) Finish(ctx context.Context, c idempotency.Claim, a idempotency.Answer) error {
	return d.store(ctx, c, a, map[string]any{"claimed_until": d.clock.Now()})
}

// SetFallback implements idempotency.Store. It stores the answer and leaves the lease
// unchanged: retries get the answer when the lease has ended.
func (d idempotencyKeys) SetFallback(ctx context.Context, c idempotency.Claim, a idempotency.Answer) error {
	return d.store(ctx, c, a, map[string]any{})
}

// store stores the answer, and the given columns, in the row of a valid claim.
func (d idempotencyKeys) store(ctx context.Context, c idempotency.Claim, a idempotency.Answer, columns map[string]any) error {
	sealed, err := seal(c.Key, a.Body)
	if err != nil {
		return err
	}

	columns["status"], columns["answer"] = a.Status, sealed

	return requireRow(d.claimedRow(ctx, c).Updates(columns), idempotency.ErrInProgress)
}

// Release implements idempotency.Store. It deletes a row without an answer, so that a retry
// is carried out. The lease of a row with a fallback ends now, so that a retry gets the fallback.
func (d idempotencyKeys) Release(ctx context.Context, c idempotency.Claim) error {
	res := d.claimedRow(ctx, c).Where("status = ?", noAnswer).Delete(nil)
	if res.Error != nil || res.RowsAffected > 0 {
		return wrap(res.Error)
	}

	return wrap(d.claimedRow(ctx, c).Update("claimed_until", d.clock.Now()).Error)
}

// answerCipher returns the cipher for answers. Its key is derived from the idempotency key,
// which only the client has: the database contains only a hash of it, so that a copy of the
// database does not disclose answers.
func answerCipher(key string) (cipher.AEAD, error) {
	const purpose, keySize = "locum idempotency answer", 32 // bytes, for AES-256

	derived, err := hkdf.Key(sha256.New, []byte(key), nil, purpose, keySize)
	if err != nil {
		return nil, err
	}

	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}

	return cipher.NewGCMWithRandomNonce(block)
}

// seal encrypts an answer with the idempotency key, and returns it as text.
func seal(key string, plain []byte) (string, error) {
	aead, err := answerCipher(key)
	if err != nil {
		return "", err
	}

	return base64.StdEncoding.EncodeToString(aead.Seal(nil, nil, plain, nil)), nil
}

// unseal decrypts an answer that seal has encrypted with the same key.
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
