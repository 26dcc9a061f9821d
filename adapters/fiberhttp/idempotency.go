package fiberhttp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/idempotency"
)

const replayedHeader = "Idempotency-Replayed"

// once runs the operation unless this client has asked for just this before;
// then it gives the answer of that time again.
func (s *Server) once(ctx context.Context, c *fiber.Ctx, surface web.Surface, r web.Route, owner string, run func() error) error {
	sent := c.Get(web.IdempotencyKey)
	if sent == "" || owner == "" || !r.Idempotent() {
		return run()
	}
	key, err := parseIdempotencyKey(sent)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(append([]byte(surface.Plain(c.OriginalURL())+"\n"), c.Request().Body()...))
	request := idempotency.Request{OwnerID: owner, Operation: r.Method + " " + r.Path, Key: key, Fingerprint: hex.EncodeToString(sum[:])}
	kept, err := s.services.Idempotency.Begin(ctx, request)
	if err != nil {
		return err
	}
	if kept != nil {
		c.Set(replayedHeader, "true")
		c.Status(kept.Status).Set(fiber.HeaderContentType, kindOf(surface, kept.Status))
		locate(c, r, kept.Body)
		return c.Send(kept.Body)
	}
	// The end is written also when the request has run out of time, or the key
	// would stay claimed until its lease ends.
	var answer *idempotency.Answer
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		var err error
		if answer == nil {
			err = s.services.Idempotency.Abandon(ctx, request)
		} else {
			err = s.services.Idempotency.Finish(ctx, request, *answer)
		}
		if err != nil {
			s.o.Log.Warn("an idempotent answer could not be kept", "error", err)
		}
	}()
	if err := run(); err != nil {
		status, _, body := said(c, surface, s.faultOf(err))
		if encoded, encodeErr := json.Marshal(body); encodeErr == nil && isKept(status) {
			answer = &idempotency.Answer{Status: status, Body: encoded}
		}
		return err
	}
	answer = &idempotency.Answer{Status: c.Response().StatusCode(), Body: append([]byte(nil), c.Response().Body()...)}
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
