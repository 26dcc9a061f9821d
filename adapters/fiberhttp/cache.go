package fiberhttp

import (
	"bytes"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/maypok86/otter/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/fiberhttp/site"
	"github.com/locumhq/locum/adapters/web"
)

// Public GET responses and pages are the same for all guests. They are cached for cacheTTL, or
// until this process writes a listing or an organization. Writes of other processes do not
// invalidate them, which is why cacheTTL is short.
const (
	cacheTTL      = time.Second
	maxCacheBytes = 16 << 20
	// maxCachedBody is the size from which a body is not cached, so that one long response does
	// not replace many others.
	maxCachedBody = maxCacheBytes / 64
	// entryOverhead is the approximate memory of an entry in addition to its URL and its body.
	entryOverhead = 64
)

// cachedResponse is a response in the cache. Its status is 200.
type cachedResponse struct {
	body    []byte
	headers [len(cachedHeaders)]string // the values of cachedHeaders, in their order
	// listingID is the id of the listing that a page shows, empty for none. Each response of the page,
	// also one from the cache, counts as a view of the listing.
	listingID string
	// changes is the number of writes of listings and organizations by this process before the
	// response was computed. The response is outdated if the number has changed.
	changes uint64
}

// cachedHeaders are the headers that are cached with a body.
var cachedHeaders = [...]string{fiber.HeaderContentType, fiber.HeaderCacheControl, fiber.HeaderETag, fiber.HeaderLink}

// responseCache maps the URL of a request, as requested, to the response.
type responseCache = otter.Cache[string, cachedResponse]

// newResponseCache returns a cache of maxCacheBytes. The weight of an entry is its approximate
// memory.
func newResponseCache() *responseCache {
	return otter.Must(&otter.Options[string, cachedResponse]{
		MaximumWeight:    maxCacheBytes,
		Weigher:          func(url string, r cachedResponse) uint32 { return uint32(len(url) + len(r.body) + entryOverhead) },
		ExpiryCalculator: otter.ExpiryWriting[string, cachedResponse](cacheTTL),
	})
}

// serveCached serves a route of an API. A public GET request of a guest is answered from the
// cache if possible.
func (s *Server) serveCached(c *fiber.Ctx, r web.Route, handle func() error) error {
	isGuest := stateOf(c).caller == nil && len(c.Request().Header.Peek(fiber.HeaderAuthorization)) == 0
	if r.Cached && c.Method() == fiber.MethodGet && isGuest {
		return s.serveFromCache(c, handle)
	}

	return handle()
}

// servePage serves a page that is the same for all guests. A guest gets the page from the cache if
// possible. Signed-in users get their own version from handle. servePage then counts a view of the
// listing that the page shows, if it shows one.
func (s *Server) servePage(c *fiber.Ctx, viewer *pages.Viewer, handle func() error) error {
	// A request with the cookie of an ended session has no viewer either, but its response must not
	// be cached (see Renderer.SetCaching).
	isGuest := viewer == nil && !s.renderer.HasSession(c)

	var err error
	if isGuest {
		err = s.serveFromCache(c, handle)
	} else {
		err = handle()
	}

	if err != nil {
		return err
	}

	if listingID := site.ShownListing(c); listingID != "" {
		s.countView(c, viewer, listingID)
	}

	return nil
}

// serveFromCache sends the cached response to the same URL. If there is none, it calls handle
// and caches the response.
func (s *Server) serveFromCache(c *fiber.Ctx, handle func() error) error {
	url := c.OriginalURL()

	// The number of changes is read before handle reads the database: a write in between then
	// invalidates the response.
	changes := s.services.PublicChanges()
	if cached, exists := s.cache.GetIfPresent(url); exists && cached.changes == changes {
		cached.writeTo(c)
		return nil
	}

	if err := handle(); err != nil {
		return err
	}

	body := c.Response().Body()

	isCacheable := c.Response().StatusCode() == fiber.StatusOK && len(body) < maxCachedBody
	if !isCacheable {
		return nil
	}

	cached := cachedResponse{body: bytes.Clone(body), listingID: site.ShownListing(c), changes: changes}
	for i, name := range cachedHeaders {
		cached.headers[i] = c.GetRespHeader(name)
	}

	s.cache.Set(url, cached)

	return nil
}

// writeTo writes the cached response to the response of the request. It becomes a 304 if the
// client already has this version.
func (r cachedResponse) writeTo(c *fiber.Ctx) {
	for i, name := range cachedHeaders {
		if r.headers[i] != "" {
			c.Set(name, r.headers[i])
		}
	}

	site.SetShownListing(c, r.listingID)
	c.Response().SetBodyRaw(r.body)
	pages.AnswerNotModified(c)
}
