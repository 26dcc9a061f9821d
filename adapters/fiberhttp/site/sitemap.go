package site

import (
	"context"
	"encoding/xml"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/id"
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

// indexAge is the time for which the index of the sitemap is kept: with a million listings it
// takes 20 statements of some milliseconds.
const indexAge = 10 * time.Minute

// sitemapParts are the positions before the parts of the sitemap.
type sitemapParts struct {
	mu    sync.Mutex
	at    time.Time
	parts []listings.OpenPosition
}

func (p *sitemapParts) get(ctx context.Context, list func(context.Context) ([]listings.OpenPosition, error)) ([]listings.OpenPosition, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.at) < indexAge {
		return p.parts, nil
	}
	parts, err := list(ctx)
	if err == nil {
		p.parts, p.at = parts, time.Now()
	}
	return parts, err
}

// sitemap handles GET /sitemap.xml: the index of the parts.
func (s *Site) sitemap(ctx context.Context, c *fiber.Ctx, _ *pages.Viewer) error {
	parts, err := s.parts.get(ctx, s.services.Listings.OpenParts)
	if err != nil {
		return err
	}
	index := sitemapIndex{}
	for _, after := range parts {
		index.Sitemaps = append(index.Sitemaps, sitemapURL{Location: s.publicURL + "/sitemaps/jobs-" + partName(after) + ".xml"})
	}
	return s.sendFeed(c, fiber.MIMEApplicationXML, index)
}

// partName returns the name of the part after a position, and parsePart the position.
func partName(after listings.OpenPosition) string {
	if after.ID == "" {
		return "first"
	}
	return strconv.FormatInt(after.PostedAt.UnixMicro(), 10) + "_" + after.ID
}

func parsePart(name string) (after listings.OpenPosition, ok bool) {
	if name == "first" {
		return after, true
	}
	at, sent, _ := strings.Cut(name, "_")
	micros, err := strconv.ParseInt(at, 10, 64)
	canonical, ok := id.Canonical(sent)
	const latest = 1 << 53 // year 2255; databases refuse much later ones
	return listings.OpenPosition{PostedAt: time.UnixMicro(micros).UTC(), ID: canonical}, ok && err == nil && micros >= 0 && micros < latest
}

// sitemapPart handles GET /sitemaps/jobs-PART.xml.
func (s *Site) sitemapPart(ctx context.Context, c *fiber.Ctx, _ *pages.Viewer) error {
	after, ok := parsePart(c.Params("part"))
	if !ok {
		return fiber.ErrNotFound
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
			Location: s.publicURL + jobPath(listings.Listing{ID: l.ID, Content: listings.Content{Title: l.Title}}), Modified: l.UpdatedAt.UTC().Format(time.RFC3339),
		})
	}
	return s.sendFeed(c, fiber.MIMEApplicationXML, urls)
}
