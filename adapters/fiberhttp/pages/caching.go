package pages

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// SetCaching allows caches to store the response for a minute if the client is a guest, and
// sets its ETag.
func (r *Renderer) SetCaching(c *fiber.Ctx) {
	if r.HasSession(c) || c.Response().StatusCode() != fiber.StatusOK {
		return
	}

	c.Set(fiber.HeaderCacheControl, "public, max-age=60")
	SetETag(c)
}

// SetETag sets the ETag of the response. If the client has this version already, the response
// becomes 304 without a body. The tag is weak, because compression changes the bytes.
func SetETag(c *fiber.Ctx) {
	sum := sha256.Sum256(c.Response().Body())
	hash := base64.RawURLEncoding.EncodeToString(sum[:16]) // half of the hash suffices to tell versions apart
	c.Set(fiber.HeaderETag, `W/"`+hash+`"`)
	AnswerNotModified(c)
}

// AnswerNotModified replaces the response by a 304 without a body if the client has the version with
// the ETag of the response. It does nothing for a response without an ETag.
func AnswerNotModified(c *fiber.Ctx) {
	if tag := c.GetRespHeader(fiber.HeaderETag); tag != "" && matchesETag(c.Get(fiber.HeaderIfNoneMatch), tag) {
		c.Status(fiber.StatusNotModified)
		c.Response().ResetBody()
		c.Response().Header.Del(fiber.HeaderContentType)
	}
}

// matchesETag reports whether the header If-None-Match contains the tag, or is * for any tag. Strong and
// weak tags with the same value match (RFC 9110 §8.8.3.2).
func matchesETag(ifNoneMatch, tag string) bool {
	for candidate := range strings.SplitSeq(ifNoneMatch, ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}

	return false
}
