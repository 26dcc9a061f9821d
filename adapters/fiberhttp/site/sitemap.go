package site

import (
	"cmp"
	"context"
	"encoding/xml"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/modules/listings"
)

// The elements of sitemaps (sitemaps.org).
type (
	sitemapIndex struct {
		XMLName  xml.Name     `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 sitemapindex"`
		Sitemaps []sitemapURL `xml:"sitemap"`
	}
	sitemapURLs struct {
		XMLName xml.Name     `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
		URLs    []sitemapURL `xml:"url"`
	}
	sitemapURL struct {
		Location string `xml:"loc"`
		Modified string `xml:"lastmod,omitempty"`
	}
)

// The sitemap lists the pages of all open jobs for search engines. It is divided into parts of up to 50,000 jobs, the
// maximum of the protocol. Its index lists the parts.

// sitemapMaxAge is how long the index of the sitemap is cached. With a million listings,
// building the index takes 20 statements of a few milliseconds each.
const sitemapMaxAge = 10 * time.Minute

// sitemapCache caches the parts of the sitemap. A part is identified by the position of the last listing before it.
// The first part is identified by the zero position. The cache is safe for concurrent use.
type sitemapCache struct {
	mu       sync.Mutex
	listedAt time.Time
	parts    []listings.OpenPosition
}

// get returns the parts of the sitemap. If the cached ones are older than sitemapMaxAge, it calls list for new ones. It
// holds the lock during the call, so that concurrent requests cause one call.
func (cache *sitemapCache) get(
	ctx context.Context,
	now time.Time,
	list func(context.Context) ([]listings.OpenPosition, error),
) ([]listings.OpenPosition, error) {
	cache.mu.Lock()
	defer cache.mu.Unlock()

	if now.Sub(cache.listedAt) < sitemapMaxAge {
		return cache.parts, nil
	}

	parts, err := list(ctx)
	if err == nil {
		cache.parts, cache.listedAt = parts, now
	}

	return parts, err
}

// sitemap handles GET /sitemap.xml: the index of the parts.
func (s *Site) sitemap(ctx context.Context, c *fiber.Ctx, _ *pages.Viewer) error {
	parts, err := s.sitemapIndex.get(ctx, s.now(), s.services.Listings.OpenParts)
	if err != nil {
		return err
	}

	index := sitemapIndex{}
	for _, after := range parts {
		index.Sitemaps = append(index.Sitemaps, sitemapURL{Location: s.publicURL + "/sitemaps/jobs-" + partName(after) + ".xml"})
	}

	return s.sendFeed(c, fiber.MIMEApplicationXML, index)
}

// partName returns the name, in URLs, of the part that begins after the position: "first", or a timestamp in microseconds
// and an id, such as 1764201600000000_UUID.
func partName(after listings.OpenPosition) string {
	if after.ID == "" {
		return "first"
	}

	return strconv.FormatInt(after.PostedAt.UnixMicro(), 10) + "_" + after.ID
}

// parsePart returns the position in a name that partName has returned. isValid is false for other names.
func parsePart(name string) (after listings.OpenPosition, isValid bool) {
	if name == "first" {
		return after, true
	}

	microsText, idText, _ := strings.Cut(name, "_")

	canonicalID, isID := id.Canonical(idText)
	micros, err := strconv.ParseInt(microsText, 10, 64)

	const latest = 1 << 53 // microseconds, in the year 2255; databases refuse much later timestamps

	isTimestamp := err == nil && micros >= 0 && micros < latest
	after = listings.OpenPosition{PostedAt: time.UnixMicro(micros).UTC(), ID: canonicalID}

	return after, isID && isTimestamp
}

// sitemapLimit limits the parts that a client reads, because each part has up to 50,000 rows. The limit allows a
// crawler to read more than a million listings in a minute.
var sitemapLimit = limit.Rule{Name: "sitemap", Max: 30, Per: time.Minute}

// sitemapPart handles GET /sitemaps/jobs-PART.xml: the pages of the jobs in the part. The first part also has the home
// page and the search.
func (s *Site) sitemapPart(ctx context.Context, c *fiber.Ctx, _ *pages.Viewer) error {
	after, isValid := parsePart(c.Params("part"))
	if !isValid {
		return fiber.ErrNotFound
	}

	decision, err := s.services.Limiter.Take(ctx, sitemapLimit, web.LimitKey(s.renderer.Client(c).Address))
	if err = cmp.Or(err, decision.Err()); err != nil {
		return err
	}

	open, err := s.services.Listings.OpenPart(ctx, after)
	if err != nil {
		return err
	}

	urls := sitemapURLs{}

	isFirst := after.ID == ""
	if isFirst {
		urls.URLs = append(urls.URLs, sitemapURL{Location: s.publicURL + "/"}, sitemapURL{Location: s.publicURL + "/jobs"})
	}

	for _, job := range open {
		path := jobPath(listings.Listing{ID: job.ID, Content: listings.Content{Title: job.Title}})
		urls.URLs = append(urls.URLs, sitemapURL{Location: s.publicURL + path, Modified: job.UpdatedAt.UTC().Format(time.RFC3339)})
	}

	return s.sendFeed(c, fiber.MIMEApplicationXML, urls)
}
