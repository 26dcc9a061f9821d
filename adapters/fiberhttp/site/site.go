// Package site serves the pages for clinicians, employers and visitors: search, jobs,
// employers, feeds and sitemaps. The pages work without scripts. This package parses requests and renders pages. What is
// allowed is decided by the modules that it calls.
package site

import (
	"context"
	"embed"
	"errors"
	"html/template"
	"net/url"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/fault"
)

//go:embed html
var files embed.FS

var (
	homePage     = pages.Parse(files, "html/home.html", "html/search.html", "html/results.html")
	helpPage     = pages.Parse(files, "html/help.html")
	privacyPage  = pages.Parse(files, "html/privacy.html")
	jobsPage     = pages.Parse(files, "html/jobs.html", "html/search.html", "html/results.html")
	jobPage      = pages.Parse(files, "html/job.html", "html/job-parts.html", "html/results.html")
	employerPage = pages.Parse(files, "html/employer.html", "html/results.html")
	missingPage  = pages.Parse(files, "html/missing.html")
)

// Site handles the requests for the pages.
type Site struct {
	services     adapters.Services
	renderer     *pages.Renderer
	publicURL    string
	serve        ServePage
	sitemapIndex sitemapCache
}

// ServePage answers a request for a page that is the same for all guests. It calls run, the handler of the page, unless
// it has a cached response. It counts a view of the listing if the handler has called SetShownListing.
type ServePage func(c *fiber.Ctx, viewer *pages.Viewer, run func() error) error

// shownListingKey is the key under which the locals of a request have the id of the shown listing.
type shownListingKey struct{}

// SetShownListing records that the response shows the listing, so that its views can be counted.
func SetShownListing(c *fiber.Ctx, listingID string) { c.Locals(shownListingKey{}, listingID) }

// ShownListing returns the id of the listing that the page shows, empty for none.
func ShownListing(c *fiber.Ctx) string {
	listingID, _ := c.Locals(shownListingKey{}).(string)
	return listingID
}

// Add registers the routes of all pages.
func Add(app *fiber.App, services adapters.Services, renderer *pages.Renderer, publicURL string, serve ServePage) {
	// Fiber takes the first route that matches: /jobs/:id/apply has to precede
	// /jobs/:id/:slug, which AddJobs adds.
	// The pages of an account are not cached, and need neither ServePage nor the cache of the sitemap.
	uncached := &Site{services: services, renderer: renderer, publicURL: publicURL}
	uncached.addAccount(app)

	s := AddJobs(app, services, renderer, publicURL, serve)
	s.addCached(app, "/", s.home)
	s.addCached(app, "/jobs", s.jobs)
	s.addCached(app, "/employers/:slug", s.employer)
	s.addCached(app, "/help", s.staticPage(helpPage))
	s.addCached(app, "/privacy", s.staticPage(privacyPage))
	s.addEmbedding(app)
	s.addAlerts(app)
	s.addConsole(app)
	s.addModeration(app)
	app.Get("/robots.txt", s.robots)
	s.addCached(app, "/sitemap.xml", s.sitemap)
	s.addCached(app, "/sitemaps/jobs-:part.xml", s.sitemapPart)
	s.addCached(app, "/feeds/jobs.atom", s.atom)
	s.addCached(app, "/feeds/jobs.xml", s.xml)
}

// now returns the time by the clock of the services.
func (s *Site) now() time.Time { return s.services.Listings.Clock.Now() }

// staticPage returns a handler that renders a page without data.
func (s *Site) staticPage(page *template.Template) pages.Handler {
	return func(_ context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
		return s.render(c, page, viewer, nil)
	}
}

// AddJobs registers only the pages of jobs. E-mails, webhooks and the developer API link to
// them even where the rest of the site is not served.
func AddJobs(app *fiber.App, services adapters.Services, renderer *pages.Renderer, publicURL string, serve ServePage) *Site {
	s := &Site{services: services, renderer: renderer, publicURL: publicURL, serve: serve}
	s.addReports(app)
	s.addCached(app, "/jobs/:id", s.job)
	s.addCached(app, "/jobs/:id/:slug", s.job)

	return s
}

// addCached registers a page that is the same for all guests. For signed-in users it can differ, so that caches have to
// distinguish requests by their cookies.
func (s *Site) addCached(app *fiber.App, path string, handle pages.Handler) {
	s.renderer.Public(app, path, func(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
		c.Vary(fiber.HeaderCookie)
		return s.serve(c, viewer, func() error { return handle(ctx, c, viewer) })
	})
}

// missingView is the page for a resource that does not exist (404), that is not public any
// more (410), or that the viewer may not open (403).
type missingView struct{ Title, Text string }

// renderGone renders the page for a job that was public before (410).
func (s *Site) renderGone(c *fiber.Ctx, viewer *pages.Viewer) error {
	return s.renderer.Render(c, fiber.StatusGone, missingPage, viewer,
		missingView{Title: "This job is no longer available", Text: "It was closed or removed. You can search for similar jobs."})
}

// renderMissing renders a page with the title if err is a fault.NotFound. It returns all
// other errors, and nil for nil.
func (s *Site) renderMissing(c *fiber.Ctx, viewer *pages.Viewer, err error, title string) error {
	if fault.KindOf(err) != fault.NotFound {
		return err
	}

	return s.renderer.Render(c, fiber.StatusNotFound, missingPage, viewer,
		missingView{Title: title, Text: "Check the address, or search for something similar."})
}

// slugify returns the text in lower case with hyphens between its words, for URLs:
// "Nurse's Aide, ICU" becomes "nurses-aide-icu".
func slugify(text string) string {
	const maxLength = 80
	withoutApostrophes := strings.NewReplacer("'", "", "’", "").Replace(strings.ToLower(text))

	isSeparator := func(r rune) bool {
		isLetter, isDigit := r >= 'a' && r <= 'z', r >= '0' && r <= '9'
		return !isLetter && !isDigit
	}
	words := strings.FieldsFunc(withoutApostrophes, isSeparator)

	slug := strings.Join(words, "-")
	if len(slug) > maxLength {
		slug = strings.TrimRight(slug[:maxLength], "-")
	}

	return slug
}

// inputErrorMessage returns a sentence for an error that the user can correct. It returns
// err itself if the input is not the cause.
func inputErrorMessage(err error) (string, error) {
	var inputError *fault.Error
	if !errors.As(err, &inputError) || inputError.Kind != fault.Invalid && inputError.Kind != fault.TooMany {
		return "", err
	}

	if len(inputError.Fields) > 0 {
		first := inputError.Fields[0]
		return "The " + first.Name + " " + first.Message + ".", nil
	}

	return inputError.Message + ".", nil
}

// queryValues returns the query parameters of the request.
func queryValues(c *fiber.Ctx) url.Values {
	values := url.Values{}
	for name, value := range c.Context().QueryArgs().All() {
		values.Add(string(name), string(value))
	}

	return values
}
