// Package site serves the pages for clinicians, employers and visitors: search, jobs,
// employers, feeds and sitemaps. The pages work without scripts. The rules are those of the
// modules; this package parses requests and renders pages.
package site

import (
	"embed"
	"errors"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/fault"
)

//go:embed html
var files embed.FS

var (
	homePage     = pages.Parse(files, "html/home.html", "html/search.html", "html/results.html")
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
	countView    CountView
	sitemapIndex sitemapCache
}

// CountView counts a view of a listing by the client of a request.
type CountView func(c *fiber.Ctx, viewer *pages.Viewer, listingID string)

// Add registers the routes of all pages.
func Add(app *fiber.App, services adapters.Services, renderer *pages.Renderer, publicURL string, seen CountView) {
	// Fiber takes the first route that matches: /jobs/:id/apply has to precede
	// /jobs/:id/:slug, which AddJobs adds.
	(&Site{services: services, renderer: renderer, publicURL: publicURL}).addAccount(app)
	s := AddJobs(app, services, renderer, publicURL, seen)
	renderer.Public(app, "/", s.home)
	renderer.Public(app, "/jobs", s.jobs)
	renderer.Public(app, "/employers/:slug", s.employer)
	s.addAlerts(app)
	s.addConsole(app)
	s.addModeration(app)
	app.Get("/robots.txt", s.robots)
	renderer.Public(app, "/sitemap.xml", s.sitemap)
	renderer.Public(app, "/sitemaps/jobs-:part.xml", s.sitemapPart)
	renderer.Public(app, "/feeds/jobs.atom", s.atom)
	renderer.Public(app, "/feeds/jobs.xml", s.xml)
}

// AddJobs registers only the pages of jobs. E-mails, webhooks and the developer API link to
// them even where the rest of the site is not served.
func AddJobs(app *fiber.App, services adapters.Services, renderer *pages.Renderer, publicURL string, seen CountView) *Site {
	s := &Site{services: services, renderer: renderer, publicURL: publicURL, countView: seen}
	s.addReports(app)
	renderer.Public(app, "/jobs/:id", s.job)
	renderer.Public(app, "/jobs/:id/:slug", s.job)
	return s
}

// missingView is the page for a resource that does not exist (404), that is not public any
// more (410), or that the viewer may not open (403).
type missingView struct{ Title, Text string }

// renderGone renders the page for a job that was public before (410).
func (s *Site) renderGone(c *fiber.Ctx, viewer *pages.Viewer) error {
	return s.renderer.Render(c, fiber.StatusGone, missingPage, viewer, missingView{"This job is no longer available", "It was closed or removed. You can search for similar jobs."})
}

// renderMissing renders a page with the title if err is a fault.NotFound. It returns all
// other errors, and nil for nil.
func (s *Site) renderMissing(c *fiber.Ctx, viewer *pages.Viewer, err error, title string) error {
	if fault.KindOf(err) != fault.NotFound {
		return err
	}
	return s.renderer.Render(c, fiber.StatusNotFound, missingPage, viewer, missingView{title, "Check the address, or search for something similar."})
}

// slugify returns the text in lower case with hyphens between its words, for URLs:
// "Nurse's Aide, ICU" becomes "nurses-aide-icu".
func slugify(text string) string {
	const maxLength = 80
	withoutApostrophes := strings.NewReplacer("'", "", "’", "").Replace(strings.ToLower(text))
	words := strings.FieldsFunc(withoutApostrophes, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	slug := strings.Join(words, "-")
	if len(slug) > maxLength {
		slug = strings.TrimRight(slug[:maxLength], "-")
	}
	return slug
}

// inputErrorMessage returns a sentence for an error that the user can correct. It returns
// err itself if the input is not the cause.
func inputErrorMessage(err error) (string, error) {
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Invalid && f.Kind != fault.TooMany {
		return "", err
	}
	if len(f.Fields) > 0 {
		return "The " + f.Fields[0].Name + " " + f.Fields[0].Message + ".", nil
	}
	return f.Message + ".", nil
}

// queryValues returns the query parameters of the request.
func queryValues(c *fiber.Ctx) url.Values {
	values := url.Values{}
	for name, value := range c.Context().QueryArgs().All() {
		values.Add(string(name), string(value))
	}
	return values
}
