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

// feedLimit limits the feeds that a client reads, because each feed renders up to 100 descriptions.
var feedLimit = limit.Rule{Name: "feeds", Max: 60, Per: time.Minute}

// feedJobs counts the request towards the limit of feeds. It returns the search in the query parameters of the feed, the
// newest jobs that match it, and the cursor of the next page, which is empty on the last one.
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

	for _, hit := range results.Items {
		jobs = append(jobs, hit.Listing)
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

	const mediaType = "application/atom+xml"

	self := s.publicURL + form.Path("/feeds/jobs.atom")

	feed := atomFeed{
		ID:      self,
		Title:   "Jobs",
		Updated: time.Unix(0, 0).UTC().Format(time.RFC3339), // without jobs; the element is required
		Links: []atomLink{
			{Rel: "self", Type: mediaType, Href: self},
			{Rel: "alternate", Type: fiber.MIMETextHTML, Href: s.publicURL + form.Path("/jobs")},
		},
	}
	if text := strings.TrimSpace(form.Get("q") + " " + form.Get("where")); text != "" {
		feed.Title += ": " + text
	}

	if nextCursor != "" { // the next page of a paged feed (RFC 5005 §3)
		next := s.publicURL + form.Path("/feeds/jobs.atom", "after", nextCursor)
		feed.Links = append(feed.Links, atomLink{Rel: "next", Type: mediaType, Href: next})
	}

	for i, listing := range jobs {
		// The time of the feed is the latest time at which one of its jobs was updated. Texts in this
		// format sort in the order of their times.
		updated := listing.UpdatedAt.UTC().Format(time.RFC3339)
		if i == 0 || updated > feed.Updated {
			feed.Updated = updated
		}

		feed.Entries = append(feed.Entries, atomEntry{
			ID:        "urn:uuid:" + listing.ID,
			Title:     listing.Title + ", " + listing.Company,
			Updated:   updated,
			Published: postedAt(listing).Format(time.RFC3339),
			Author:    atomAuthor{Name: listing.Company},
			Links:     []atomLink{{Rel: "alternate", Type: fiber.MIMETextHTML, Href: s.publicURL + jobPath(listing)}},
			Content:   atomText{Type: "html", Text: string(markdown(listing.Description))},
		})
	}

	return s.sendFeed(c, mediaType, feed)
}

// postedAt returns the time of publication. For a job that has none, it returns the time of creation.
func postedAt(job listings.Listing) time.Time {
	if job.PostedAt == nil {
		return job.CreatedAt.UTC()
	}

	return job.PostedAt.UTC()
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
func newCDATA(text string) cdata { return cdata{Text: strings.Map(replaceNonXML, text)} }

// replaceNonXML returns the character, or U+FFFD for a character that XML does not allow (XML 1.0 §2.2, Char): control
// characters, surrogates, U+FFFE and U+FFFF.
func replaceNonXML(char rune) rune {
	switch {
	case char == '\t', char == '\n', char == '\r', char >= 0x20 && char <= 0xD7FF, char >= 0xE000 && char <= 0xFFFD, char >= 0x10000:
		return char
	}

	return utf8.RuneError // U+FFFD
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
		item := feedJob{
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
		if place := listing.Place; place != nil {
			item.State, item.Country = newCDATA(place.Region), newCDATA(place.Country)
			if place.Kind == listings.Town { // without the rest of the location, such as a postcode
				item.City = newCDATA(place.Name)
			}
		}

		if listing.Remote {
			item.Remote = newCDATA("Fully remote")
		}

		if listing.Deadline != nil {
			item.Expires = newCDATA(listing.Deadline.UTC().Format(time.RFC1123))
		}

		if feed.Updated == "" { // this job is the first, which is the newest
			feed.Updated = listing.UpdatedAt.UTC().Format(time.RFC1123)
		}

		feed.Jobs = append(feed.Jobs, item)
	}

	return s.sendFeed(c, "application/xml", feed)
}

// robots handles GET /robots.txt. It keeps crawlers away from the pages of users and from the API.
func (s *Site) robots(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, fiber.MIMETextPlainCharsetUTF8)
	c.Set(fiber.HeaderCacheControl, "public, max-age=3600")

	lines := []string{
		"User-agent: *",
		"Disallow: /account",
		"Disallow: /employer/", // the console, but not /employer or /employers
		"Disallow: /moderation",
		"Disallow: /developers",
		"Disallow: /api/",
		"Disallow: /oauth/",
		"Allow: /",
		"Sitemap: " + s.publicURL + "/sitemap.xml",
	}

	return c.SendString(strings.Join(lines, "\n") + "\n")
}

// employerPath returns the path of the public page of an organization. It is empty if id is empty. The name before the
// id is for readers: the page is found by the id.
func employerPath(id, name string) string {
	if id == "" {
		return ""
	}

	slug := strings.TrimPrefix(slugify(name)+"-"+id, "-") // only the id, if the name has no Latin letters

	return "/employers/" + url.PathEscape(slug)
}
