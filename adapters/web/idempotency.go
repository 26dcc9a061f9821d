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

// replayedHeader marks a response that was stored for an earlier request with the same key.
const replayedHeader = "Idempotency-Replayed"

// withIdempotency calls run at most once for each Idempotency-Key, the header with which a client marks
// a request that it may repeat. For a repeated request, withIdempotency returns the stored answer.
// Without a key, for guests, and for routes that are not idempotent, it only calls run.
func (a Admission) withIdempotency(
	ctx context.Context,
	api API,
	route Route,
	call Call,
	in Incoming,
	run func(ctx context.Context) (Answer, error),
) (Answer, error) {
	keys := in.Headers(IdempotencyKey)
	if len(keys) > 1 {
		return Answer{}, fault.InvalidField(IdempotencyKey, "must be sent only once")
	}

	owner := ownerOf(call)

	hasKey := len(keys) == 1 && keys[0] != ""
	if !hasKey || owner == "" || !route.Idempotent() {
		return run(ctx)
	}

	key, err := parseIdempotencyKey(keys[0])
	if err != nil {
		return Answer{}, err
	}

	request := idempotency.Request{
		OwnerID:     owner,
		Operation:   route.Method + " " + route.Path,
		Key:         key,
		Fingerprint: fingerprint(key, api.CanonicalPath(in.URL), in.Body),
	}

	// refusal returns the answer for an error of the operation, and whether to store it.
	refusal := func(err error) (refused idempotency.Answer, isStored bool) {
		answer := api.RenderError(err, in.URLPath, in.RequestID)
		return idempotency.Answer{Status: answer.Status, Body: answer.Body}, isStorableStatus(answer.Status)
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

	// Fallback is the answer if the process ended during an earlier request with the key.
	operation.Fallback, _ = refusal(idempotency.ErrOutcomeUnknown)

	stored, err := a.Idempotency.Do(ctx, request, operation)
	if err != nil {
		return Answer{}, err
	}

	if stored != nil {
		return Answer{
			Status:  stored.Status,
			Body:    stored.Body,
			Headers: map[string]string{replayedHeader: "true", "Content-Type": api.mediaType(stored.Status)},
		}, nil
	}

	return answer, nil
}

// fingerprint identifies the content of a request: a second request with the same key and another content
// is refused. The fingerprint is an HMAC with the key, because the body may contain a password, which
// could be guessed from a hash without a key.
func fingerprint(key, url string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(url + "\n"))
	mac.Write(body)

	return hex.EncodeToString(mac.Sum(nil))
}

// ownerOf returns the owner of an Idempotency-Key, so that the keys of different owners do not collide.
// For a user it is the id of the user, and empty for a guest. For an application of a developer it is
// a hash of the ids of the application and its user. The hash has the form of a UUID, as user ids have.
func ownerOf(c Call) string {
	if c.Caller.App.ID == "" {
		return c.Actor.UserID
	}

	const uuidSize = 16 // bytes

	sum := sha256.Sum256([]byte(c.Caller.App.ID + c.Caller.UserID))
	digits := hex.EncodeToString(sum[:uuidSize])

	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:]
}

// isStorableStatus reports whether a response with the status is stored for its key.
// Responses are not stored if the same request may succeed later, such as 429 and 503.
func isStorableStatus(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests:
		return false
	}

	return status < http.StatusInternalServerError
}

// maxIdempotencyKey is the maximum length of a key.
const maxIdempotencyKey = 255

// parseIdempotencyKey parses the header Idempotency-Key: a quoted string, as the IETF draft
// requires (RFC 8941), or the text without quotes that most clients send.
func parseIdempotencyKey(header string) (string, error) {
	key := header

	isQuoted := len(key) > 1 && strings.HasPrefix(key, `"`) && strings.HasSuffix(key, `"`)
	if isQuoted {
		key = key[1 : len(key)-1]
	}

	isPrintable := !strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' })
	if key == "" || len(key) > maxIdempotencyKey || !isPrintable {
		return "", fault.InvalidField(IdempotencyKey, "must be 1 to 255 printable ASCII characters")
	}

	return key, nil
}
