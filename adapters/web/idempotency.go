package web

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/idempotency"
)

const replayedHeader = "Idempotency-Replayed"

// withIdempotency executes the operation once for each Idempotency-Key. For a repeated
// request it returns the stored answer.
func (a Admission) withIdempotency(
	ctx context.Context,
	s API,
	route Route,
	call Call,
	in Incoming,
	run func(ctx context.Context) (Answer, error),
) (Answer, error) {
	keys, owner := in.Headers(IdempotencyKey), ownerOf(call)
	if len(keys) > 1 {
		return Answer{}, fault.InvalidField(IdempotencyKey, "must be sent only once")
	}

	if len(keys) == 0 || keys[0] == "" || owner == "" || !route.Idempotent() {
		return run(ctx)
	}

	key, err := parseIdempotencyKey(keys[0])
	if err != nil {
		return Answer{}, err
	}

	// The body may contain a password, which could be guessed from a hash without a key.
	fingerprint := hmac.New(sha256.New, []byte(key))
	fingerprint.Write([]byte(s.CanonicalPath(in.URL) + "\n"))
	fingerprint.Write(in.Body)

	request := idempotency.Request{
		OwnerID:     owner,
		Operation:   route.Method + " " + route.Path,
		Key:         key,
		Fingerprint: hex.EncodeToString(fingerprint.Sum(nil)),
	}
	refusal := func(err error) (idempotency.Answer, bool) {
		refused := s.RenderError(err, in.URLPath, in.RequestID)
		return idempotency.Answer{Status: refused.Status, Body: refused.Body}, isStorableStatus(refused.Status)
	}

	var answer Answer
	operation := idempotency.Operation{
		Refusal: refusal,
		Remote:  route.Remote || route.RemoteIf != nil && route.RemoteIf(in.Body),
		Run: func(ctx context.Context) (idempotency.Answer, error) {
			var err error
			answer, err = run(ctx)
			return idempotency.Answer{Status: answer.Status, Body: answer.Body}, err
		},
	}
	operation.Fallback, _ = refusal(idempotency.ErrOutcomeUnknown)

	stored, err := a.Idempotency.Do(ctx, request, operation)
	if err != nil {
		return Answer{}, err
	}

	if stored != nil {
		return Answer{
			Status:  stored.Status,
			Body:    stored.Body,
			Headers: map[string]string{replayedHeader: "true", "Content-Type": s.mediaType(stored.Status)},
		}, nil
	}

	return answer, nil
}

// ownerOf returns the owner of an Idempotency-Key: the user, or the app and its user, so
// that the keys of two apps do not collide.
func ownerOf(c Call) string {
	if c.Caller.App.ID == "" {
		return c.Actor.UserID
	}

	sum := sha256.Sum256([]byte(c.Caller.App.ID + c.Caller.UserID))
	h := hex.EncodeToString(sum[:16])

	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// isStorableStatus reports whether a response with the status is stored for its key.
// Responses that a retry may change, such as 429 and 503, are not.
func isStorableStatus(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests:
		return false
	}

	return status < 500
}

// parseIdempotencyKey parses the header Idempotency-Key: a quoted string, as the IETF draft
// requires (RFC 8941), or the text without quotes that most clients send.
func parseIdempotencyKey(header string) (string, error) {
	key := header
	if len(key) > 1 && strings.HasPrefix(key, `"`) && strings.HasSuffix(key, `"`) {
		key = key[1 : len(key)-1]
	}

	if key == "" || len(key) > 255 || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", fault.InvalidField(IdempotencyKey, "must be 1 to 255 printable ASCII characters")
	}

	return key, nil
}
