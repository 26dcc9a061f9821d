package fiberhttp

import (
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/maypok86/otter/v2"

	"github.com/locumhq/locum/adapters/web"
)

// The public reads of guests are the same for all of them, so an answer serves
// for a moment: at most cacheFor, and never beyond a write of this process.
const (
	cacheFor   = time.Second
	cacheBytes = 16 << 20
)

type cachedAnswer struct {
	body    []byte
	changes uint64 // how many writes of listings it has seen
}

type answerCache = otter.Cache[string, cachedAnswer]

func newAnswerCache() *answerCache {
	return otter.Must(&otter.Options[string, cachedAnswer]{
		MaximumWeight:    cacheBytes,
		Weigher:          func(url string, a cachedAnswer) uint32 { return uint32(len(url) + len(a.body) + 64) },
		ExpiryCalculator: otter.ExpiryWriting[string, cachedAnswer](cacheFor),
	})
}

// cached gives a guest's public read from the cache, or runs it and keeps it.
func (s *Server) cached(c *fiber.Ctx, r web.Route, run func() error) error {
	if !r.Cached || c.Method() != fiber.MethodGet || c.Locals(callerKey) != nil || len(c.Request().Header.Peek(fiber.HeaderAuthorization)) > 0 {
		return run()
	}
	url := c.OriginalURL()
	changes := s.services.ListingChanges()
	if a, ok := s.cache.GetIfPresent(url); ok && a.changes == changes {
		c.Set(fiber.HeaderContentType, web.JSONType)
		return c.Send(a.body)
	}
	if err := run(); err != nil {
		return err
	}
	// changes was read before the database: a write in between ends the answer.
	if body := c.Response().Body(); c.Response().StatusCode() == fiber.StatusOK && len(body) < cacheBytes/64 {
		s.cache.Set(url, cachedAnswer{append([]byte(nil), body...), changes})
	}
	return nil
}
