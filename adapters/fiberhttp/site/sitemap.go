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

// sitemapMaxAge is how long the index of the sitemap is cached. With a million listings,
// building the index takes 20 statements of a few milliseconds each.
const sitemapMaxAge = 10 * time.Minute

// sitemapCache caches the index of the sitemap: for each part, the position of the last
// listing before the part.
type sitemapCache struct {
	mu       sync.Mutex
	listedAt time.Time
	parts    []listings.OpenPosition
}

// get returns the parts of the sitemap, which it lists again after sitemapMaxAge. The lock is
// held meanwhile, so that robots which come together cause one listing.
func (p *sitemapCache) get(
	ctx context.Context,
	now time.Time,
	list func(context.Context) ([]listings.OpenPosition, error),
) ([]listings.OpenPosition, error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if now.Sub(p.listedAt) < sitemapMaxAge {
		return p.parts, nil
	}

	parts, err := list(ctx)
	if err == nil {
		p.parts, p.listedAt = parts, now
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

// partName returns the name, in URLs, of the part that begins after the position.
func partName(after listings.OpenPosition) string {
	if after.ID == "" {
		return "first"
	}

	return strconv.FormatInt(after.PostedAt.UnixMicro(), 10) + "_" + after.ID
}

// parsePart returns the position in a name that partName has returned.
func parsePart(name string) (after listings.OpenPosition, isValid bool) {
	if name == "first" {
		return after, true
	}

	microsText, idText, _ := strings.Cut(name, "_")
	micros, err := strconv.ParseInt(microsText, 10, 64)
	canonical, isValid := id.Canonical(idText)
	const latest = 1 << 53 // microseconds, in the year 2255; databases refuse much later timestamps
	isTimestamp := err == nil && micros >= 0 && micros < latest

	return listings.OpenPosition{PostedAt: time.UnixMicro(micros).UTC(), ID: canonical}, isValid && isTimestamp
}

// sitemapLimit limits the parts that a client reads, each of which has 50,000 rows. A crawler
// reads a million listings in a minute.
var sitemapLimit = limit.Rule{Name: "sitemap", Max: 30, Per: time.Minute}

// sitemapPart handles GET /sitemaps/jobs-PART.xml.
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
	if after.ID == "" {
		urls.URLs = append(urls.URLs, sitemapURL{Location: s.publicURL + "/"}, sitemapURL{Location: s.publicURL + "/jobs"})
	}

	for _, l := range open {
		urls.URLs = append(urls.URLs, sitemapURL{
			Location: s.publicURL + jobPath(
				listings.Listing{ID: l.ID, Content: listings.Content{Title: l.Title}},
			), Modified: l.UpdatedAt.UTC().Format(time.RFC3339),
		})
	}

	return s.sendFeed(c, fiber.MIMEApplicationXML, urls)
}
