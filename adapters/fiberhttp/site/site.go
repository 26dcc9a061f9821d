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

// Site serves the pages.
type Site struct {
	services  adapters.Services
	renderer  *pages.Renderer
	publicURL string
	seen      Seen
	parts     sitemapParts
}

// Seen counts a view of a listing by the client of a request.
type Seen func(c *fiber.Ctx, who *pages.Viewer, listingID string)

// Add serves the site.
func Add(app *fiber.App, services adapters.Services, renderer *pages.Renderer, publicURL string, seen Seen) {
	// The page /jobs/:id/apply comes before /jobs/:id/:slug.
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

// AddJobs serves the pages of jobs alone, to which mails, webhooks and the developer API
// link.
func AddJobs(app *fiber.App, services adapters.Services, renderer *pages.Renderer, publicURL string, seen Seen) *Site {
	s := &Site{services: services, renderer: renderer, publicURL: publicURL, seen: seen}
	s.addReports(app)
	renderer.Public(app, "/jobs/:id", s.job)
	renderer.Public(app, "/jobs/:id/:slug", s.job)
	return s
}

// missing is a page of a resource that does not exist (404), or that is not public any more
// (410).
type missing struct{ Title, Text string }

// renderGone renders the page of a job that was public before.
func (s *Site) renderGone(c *fiber.Ctx, who *pages.Viewer) error {
	return s.renderer.Render(c, fiber.StatusGone, missingPage, who, missing{"This job is no longer available", "It was closed or removed. You can search for similar jobs."})
}

// renderMissing renders a page for a fault.NotFound, and returns other errors.
func (s *Site) renderMissing(c *fiber.Ctx, who *pages.Viewer, err error, title string) error {
	if fault.KindOf(err) != fault.NotFound {
		return err
	}
	return s.renderer.Render(c, fiber.StatusNotFound, missingPage, who, missing{title, "Check the address, or search for something similar."})
}

// slug returns the text in lower case with hyphens between its words, for addresses.
func slug(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '\'' && r != '’' })
	for i, w := range words {
		words[i] = strings.NewReplacer("'", "", "’", "").Replace(w)
	}
	const maxSlug = 80
	out := strings.Join(words, "-")
	if len(out) > maxSlug {
		out = strings.TrimRight(out[:maxSlug], "-")
	}
	return out
}

// messageOf returns what is wrong with the input, or err if that is not the cause.
func messageOf(err error) (string, error) {
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Invalid && f.Kind != fault.TooMany {
		return "", err
	}
	if len(f.Fields) > 0 {
		return "The " + f.Fields[0].Name + " " + f.Fields[0].Message + ".", nil
	}
	return f.Message + ".", nil
}

// query returns the parameters of the request.
func query(c *fiber.Ctx) url.Values {
	values := url.Values{}
	for name, value := range c.Context().QueryArgs().All() {
		values.Add(string(name), string(value))
	}
	return values
}
