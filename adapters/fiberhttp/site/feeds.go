package site

import (
	"context"
	"encoding/xml"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/tx"
	"github.com/locumhq/locum/modules/listings"
)

// feedSize is the number of jobs in a feed.
const feedSize = 100

// feedLimit limits the feeds that a client reads, each of which renders up to 100 descriptions.
var feedLimit = limit.Rule{Name: "feeds", Max: 60, Per: time.Minute}

// feedJobs counts the request towards the limit of feeds. It returns the newest jobs that match the query
// parameters of a feed, and the cursor of the next page, empty on the last one.
func (s *Site) feedJobs(ctx context.Context, c *fiber.Ctx) (form searchForm, jobs []listings.Listing, nextCursor string, err error) {
	if err := limit.Take(ctx, s.services.Limiter, feedLimit, web.LimitKey(s.renderer.Client(c).Address)); err != nil {
		return form, nil, "", err
	}

	query := queryValues(c)
	form = newSearchForm(query)
	in := form.input(s.now())
	in.Sort = string(listings.ByDate)
	in.Exact = true // only jobs that satisfy the whole search
	in.Full = true  // with their descriptions
	in.Page = page.Request{Number: 1, Size: feedSize, Cursor: query.Get("after")}

	results, err := s.services.Listings.Find(tx.AllowStale(ctx, web.MaxStale), auth.Actor{}, in)
	if err != nil {
		return form, nil, "", err
	}

	for _, h := range results.Items {
		jobs = append(jobs, h.Listing)
	}

	return form, jobs, results.NextCursor, nil
}

// sendFeed sends a feed or sitemap as XML that caches may store.
func (s *Site) sendFeed(c *fiber.Ctx, mediaType string, document any) error {
	body, err := xml.MarshalIndent(document, "", " ")
	if err != nil {
		return err
	}

	c.Set(fiber.HeaderContentType, mediaType+"; charset=utf-8")

	if err := c.Send(append([]byte(xml.Header), body...)); err != nil {
		return err
	}

	s.renderer.SetCaching(c)

	return nil
}

// The elements of an Atom feed (RFC 4287).
type (
	atomFeed struct {
		XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
		ID      string      `xml:"id"`
		Title   string      `xml:"title"`
		Updated string      `xml:"updated"`
		Links   []atomLink  `xml:"link"`
		Entries []atomEntry `xml:"entry"`
	}
	atomLink struct {
		Rel  string `xml:"rel,attr"`
		Type string `xml:"type,attr,omitempty"`
		Href string `xml:"href,attr"`
	}
	atomEntry struct {
		ID        string     `xml:"id"`
		Title     string     `xml:"title"`
		Updated   string     `xml:"updated"`
		Published string     `xml:"published"`
		Author    atomAuthor `xml:"author"`
		Links     []atomLink `xml:"link"`
		Content   atomText   `xml:"content"`
	}
	atomAuthor struct {
		Name string `xml:"name"`
	}
	atomText struct {
		Type string `xml:"type,attr"`
		Text string `xml:",chardata"`
	}
)

// atom handles GET /feeds/jobs.atom: the newest jobs of a search.
func (s *Site) atom(ctx context.Context, c *fiber.Ctx, _ *pages.Viewer) error {
	form, jobs, nextCursor, err := s.feedJobs(ctx, c)
	if err != nil {
		return err
	}

	self := s.publicURL + form.Path("/feeds/jobs.atom")

	feed := atomFeed{ID: self, Title: "Jobs", Updated: time.Unix(0, 0).UTC().Format(time.RFC3339), Links: []atomLink{
		{Rel: "self", Type: "application/atom+xml", Href: self},
		{Rel: "alternate", Type: fiber.MIMETextHTML, Href: s.publicURL + form.Path("/jobs")},
	}}
	if text := strings.TrimSpace(form.Get("q") + " " + form.Get("where")); text != "" {
		feed.Title += ": " + text
	}

	if nextCursor != "" { // RFC 5005
		feed.Links = append(
			feed.Links,
			atomLink{Rel: "next", Type: "application/atom+xml", Href: s.publicURL + form.Path("/feeds/jobs.atom", "after", nextCursor)},
		)
	}

	for i, listing := range jobs {
		updated := listing.UpdatedAt.UTC().Format(time.RFC3339)
		if i == 0 || updated > feed.Updated { // the latest change of all jobs; these texts have the order of the times
			feed.Updated = updated
		}

		feed.Entries = append(feed.Entries, atomEntry{
			ID:        "urn:uuid:" + listing.ID,
			Title:     listing.Title + ", " + listing.Company,
			Updated:   updated,
			Published: postedAt(listing).Format(time.RFC3339),
			Author:    atomAuthor{listing.Company},
			Links:     []atomLink{{Rel: "alternate", Type: fiber.MIMETextHTML, Href: s.publicURL + jobPath(listing)}},
			Content:   atomText{"html", string(markdown(listing.Description))},
		})
	}

	return s.sendFeed(c, "application/atom+xml", feed)
}

// postedAt returns the time of publication, or of creation for a job without one.
func postedAt(l listings.Listing) time.Time {
	if l.PostedAt == nil {
		return l.CreatedAt.UTC()
	}

	return l.PostedAt.UTC()
}

// The elements of the XML feed that job aggregators, such as Indeed, read.
type (
	jobFeed struct {
		XMLName      xml.Name  `xml:"source"`
		Publisher    string    `xml:"publisher"`
		PublisherURL string    `xml:"publisherurl"`
		Updated      string    `xml:"lastBuildDate"`
		Next         string    `xml:"next,omitempty"`
		Jobs         []feedJob `xml:"job"`
	}
	feedJob struct {
		Title       cdata `xml:"title"`
		Date        cdata `xml:"date"`
		Reference   cdata `xml:"referencenumber"`
		URL         cdata `xml:"url"`
		Company     cdata `xml:"company"`
		City        cdata `xml:"city"`
		State       cdata `xml:"state"`
		Country     cdata `xml:"country"`
		Description cdata `xml:"description"`
		Salary      cdata `xml:"salary"`
		JobType     cdata `xml:"jobtype"`
		Category    cdata `xml:"category"`
		Remote      cdata `xml:"remotetype"`
		Expires     cdata `xml:"expirationdate"`
	}
	cdata struct {
		Text string `xml:",cdata"`
	}
)

// newCDATA returns a CDATA section with the text. Characters that XML does not allow are
// replaced by U+FFFD.
func newCDATA(text string) cdata { return cdata{strings.Map(replaceNonXML, text)} }

// replaceNonXML replaces a character that XML does not allow (XML 1.0 §2.2, Char) by U+FFFD.
func replaceNonXML(c rune) rune {
	switch {
	case c == '\t', c == '\n', c == '\r', c >= 0x20 && c <= 0xD7FF, c >= 0xE000 && c <= 0xFFFD, c >= 0x10000:
		return c
	}

	return utf8.RuneError
}

// xml handles GET /feeds/jobs.xml: the newest jobs of a search, for job aggregators.
func (s *Site) xml(ctx context.Context, c *fiber.Ctx, _ *pages.Viewer) error {
	form, jobs, nextCursor, err := s.feedJobs(ctx, c)
	if err != nil {
		return err
	}

	feed := jobFeed{Publisher: s.renderer.Brand().Name, PublisherURL: s.publicURL}
	if nextCursor != "" {
		feed.Next = s.publicURL + form.Path("/feeds/jobs.xml", "after", nextCursor)
	}

	for _, listing := range jobs {
		j := feedJob{
			Title:       newCDATA(listing.Title),
			Date:        newCDATA(postedAt(listing).Format(time.RFC1123)),
			Reference:   newCDATA(listing.ID),
			URL:         newCDATA(s.publicURL + jobPath(listing)),
			Company:     newCDATA(listing.Company),
			City:        newCDATA(listing.Location),
			Description: newCDATA(string(markdown(listing.Description))),
			Salary:      newCDATA(formatPay(listing.Salary)),
			JobType:     newCDATA(formatPattern(listing)),
			Category:    newCDATA(listing.Specialty),
		}
		if p := listing.Place; p != nil {
			j.State, j.Country = newCDATA(p.Region), newCDATA(p.Country)
			if p.Kind == listings.Town {
				j.City = newCDATA(p.Name)
			}
		}

		if listing.Remote {
			j.Remote = newCDATA("Fully remote")
		}

		if listing.Deadline != nil {
			j.Expires = newCDATA(listing.Deadline.UTC().Format(time.RFC1123))
		}

		if feed.Updated == "" { // the first job is the newest
			feed.Updated = listing.UpdatedAt.UTC().Format(time.RFC1123)
		}

		feed.Jobs = append(feed.Jobs, j)
	}

	return s.sendFeed(c, "application/xml", feed)
}

// robots handles GET /robots.txt.
func (s *Site) robots(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, fiber.MIMETextPlainCharsetUTF8)
	c.Set(fiber.HeaderCacheControl, "public, max-age=3600")

	return c.SendString(
		"User-agent: *\nDisallow: /account\nDisallow: /employer/\nDisallow: /moderation\nDisallow: /developers\nDisallow: /api/\nDisallow: /oauth/\nAllow: /\nSitemap: " + s.publicURL + "/sitemap.xml\n",
	)
}

// employerPath returns the path of the page of an organization, empty if id is empty.
func employerPath(id, name string) string {
	if id == "" {
		return ""
	}

	return "/employers/" + url.PathEscape(strings.TrimPrefix(slugify(name)+"-"+id, "-"))
}
