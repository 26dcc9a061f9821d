package fiberhttp

import (
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/maypok86/otter/v2"

	"github.com/locumhq/locum/adapters/web"
)

// Public GET responses are the same for all guests and are cached: for at most cacheFor,
// and not after a write of this process.
const (
	cacheFor   = time.Second
	cacheBytes = 16 << 20
)

type cachedAnswer struct {
	body    []byte
	changes uint64 // number of writes of listings before it
}

type answerCache = otter.Cache[string, cachedAnswer]

func newAnswerCache() *answerCache {
	return otter.Must(&otter.Options[string, cachedAnswer]{
		MaximumWeight:    cacheBytes,
		Weigher:          func(url string, a cachedAnswer) uint32 { return uint32(len(url) + len(a.body) + 64) },
		ExpiryCalculator: otter.ExpiryWriting[string, cachedAnswer](cacheFor),
	})
}

// serveCached returns a guest's public GET response from the cache, or executes the request and
// caches the response.
func (s *Server) serveCached(c *fiber.Ctx, r web.Route, run func() error) error {
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
	// changes was read before the database, so that a write in between invalidates the response.
	if body := c.Response().Body(); c.Response().StatusCode() == fiber.StatusOK && len(body) < cacheBytes/64 {
		s.cache.Set(url, cachedAnswer{append([]byte(nil), body...), changes})
	}
	return nil
}
