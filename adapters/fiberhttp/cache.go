package fiberhttp

import (
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/maypok86/otter/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/fiberhttp/site"
	"github.com/locumhq/locum/adapters/web"
)

// Public GET responses and pages are the same for all guests. They are cached for cacheTTL, or
// until this process writes a listing or an organization.
const (
	cacheTTL      = time.Second
	maxCacheBytes = 16 << 20
)

type cachedAnswer struct {
	body    []byte
	headers [len(cachedHeaders)]string
	// listing is the id of the listing that a page shows, empty for none.
	listing string
	changes uint64 // number of writes of listings and organizations before the response was computed
}

// cachedHeaders are the headers that are cached with a body.
var cachedHeaders = [...]string{fiber.HeaderContentType, fiber.HeaderCacheControl, fiber.HeaderETag, fiber.HeaderLink}

type answerCache = otter.Cache[string, cachedAnswer]

func newAnswerCache() *answerCache {
	return otter.Must(&otter.Options[string, cachedAnswer]{
		MaximumWeight:    maxCacheBytes,
		Weigher:          func(url string, a cachedAnswer) uint32 { return uint32(len(url) + len(a.body) + 64) },
		ExpiryCalculator: otter.ExpiryWriting[string, cachedAnswer](cacheTTL),
	})
}

// serveCached returns a guest's public GET response from the cache, or executes the request and
// caches the response.
func (s *Server) serveCached(c *fiber.Ctx, r web.Route, run func() error) error {
	if !r.Cached || c.Method() != fiber.MethodGet || c.Locals(callerKey) != nil ||
		len(c.Request().Header.Peek(fiber.HeaderAuthorization)) > 0 {
		return run()
	}
	return s.answer(c, run)
}

// servePage is serveCached for a page that is the same for all guests. It counts a view of the
// listing that the page shows.
func (s *Server) servePage(c *fiber.Ctx, viewer *pages.Viewer, run func() error) error {
	serve := s.answer
	if viewer != nil || s.renderer.HasSession(c) {
		serve = func(_ *fiber.Ctx, run func() error) error { return run() }
	}
	if err := serve(c, run); err != nil {
		return err
	}
	if listing, ok := c.Locals(site.ShownListing).(string); ok {
		s.countView(c, viewer, listing)
	}
	return nil
}

// answer sends the response to the same URL from the cache, or runs the handler and caches its
// response.
func (s *Server) answer(c *fiber.Ctx, run func() error) error {
	url, changes := c.OriginalURL(), s.services.PublicChanges()
	if a, ok := s.cache.GetIfPresent(url); ok && a.changes == changes {
		a.send(c)
		return nil
	}
	if err := run(); err != nil {
		return err
	}
	// changes was read before the database, so that a write in between invalidates the response.
	if body := c.Response().Body(); c.Response().StatusCode() == fiber.StatusOK && len(body) < maxCacheBytes/64 {
		a := cachedAnswer{body: append([]byte(nil), body...), changes: changes}
		for i, name := range cachedHeaders {
			a.headers[i] = c.GetRespHeader(name)
		}
		a.listing, _ = c.Locals(site.ShownListing).(string)
		s.cache.Set(url, a)
	}
	return nil
}

func (a cachedAnswer) send(c *fiber.Ctx) {
	for i, name := range cachedHeaders {
		if a.headers[i] != "" {
			c.Set(name, a.headers[i])
		}
	}
	if a.listing != "" {
		c.Locals(site.ShownListing, a.listing)
	}
	c.Response().SetBodyRaw(a.body)
	pages.AnswerNotModified(c)
}
