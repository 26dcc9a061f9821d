package fiberhttp

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/idempotency"
)

const replayedHeader = "Idempotency-Replayed"

// once carries out the operation unless this client has sent the same request
// before; then it sends the stored answer.
func (s *Server) once(ctx context.Context, c *fiber.Ctx, surface web.Surface, r web.Route, owner string, run func(ctx context.Context) error) error {
	sent := c.Get(web.IdempotencyKey)
	if len(headerLines(c, web.IdempotencyKey)) > 1 {
		return fault.InvalidField(web.IdempotencyKey, "must be sent only once")
	}
	if sent == "" || owner == "" || !r.Idempotent() {
		return run(ctx)
	}
	key, err := parseIdempotencyKey(sent)
	if err != nil {
		return err
	}
	// The body may hold a password, of which a plain hash could be guessed.
	fingerprint := hmac.New(sha256.New, []byte(key))
	fingerprint.Write([]byte(surface.Plain(c.OriginalURL()) + "\n"))
	fingerprint.Write(c.Request().Body())
	request := idempotency.Request{OwnerID: owner, Operation: r.Method + " " + r.Path, Key: key, Fingerprint: hex.EncodeToString(fingerprint.Sum(nil))}
	refusal := func(err error) (idempotency.Answer, bool) {
		status, _, body := said(c, surface, s.faultOf(err))
		encoded, failed := json.Marshal(body)
		return idempotency.Answer{Status: status, Body: encoded}, failed == nil && isKept(status)
	}
	operation := idempotency.Operation{Refusal: refusal, Run: func(ctx context.Context) (idempotency.Answer, error) {
		if err := run(ctx); err != nil {
			return idempotency.Answer{}, err
		}
		return idempotency.Answer{Status: c.Response().StatusCode(), Body: append([]byte(nil), c.Response().Body()...)}, nil
	}}
	operation.Remote = r.Remote
	operation.Fallback, _ = refusal(idempotency.ErrOutcomeUnknown)
	stored, err := s.services.Idempotency.Do(ctx, request, operation)
	if err != nil {
		return err
	}
	if stored != nil {
		c.Set(replayedHeader, "true")
		c.Status(stored.Status).Set(fiber.HeaderContentType, kindOf(surface, stored.Status))
		return c.Send(stored.Body)
	}
	return nil
}

// kindOf is the media type of an answer with the status.
func kindOf(surface web.Surface, status int) string {
	if placed, ok := surface.FaultBody.(web.Placed); ok && status >= 400 {
		return placed.MediaType()
	}
	return jsonType
}

// locate says where the thing is that an answer shows as just made.
func locate(c *fiber.Ctx, r web.Route, body []byte) {
	var made struct {
		Data struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if r.Located && json.Unmarshal(body, &made) == nil && made.Data.ID != "" {
		c.Set(fiber.HeaderLocation, c.Path()+"/"+made.Data.ID)
	}
}

// isKept leaves out what may be different at the next try.
func isKept(status int) bool {
	switch status {
	case fiber.StatusUnauthorized, fiber.StatusForbidden, fiber.StatusRequestEntityTooLarge, fiber.StatusTooManyRequests:
		return false
	}
	return status < 500
}

// parseIdempotencyKey reads the quoted form of the draft (a string of RFC 8941)
// and the bare one that most clients send.
func parseIdempotencyKey(sent string) (string, error) {
	key := sent
	if len(key) > 1 && strings.HasPrefix(key, `"`) && strings.HasSuffix(key, `"`) {
		key = key[1 : len(key)-1]
	}
	if key == "" || len(key) > 255 || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", fault.InvalidField(web.IdempotencyKey, "must be 1 to 255 printable ASCII characters")
	}
	return key, nil
}
