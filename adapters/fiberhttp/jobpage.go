package fiberhttp

import (
	"context"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/tx"
	"github.com/locumhq/locum/modules/listings"
)

// The template escapes the texts of employers, in the page and in the data for search
// engines.
var jobPage = template.Must(template.New("job").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}} – {{.Company}}</title>
<link rel="canonical" href="{{.URL}}"><link rel="stylesheet" href="/account/page.css">
<script type="application/ld+json">{{.Posting}}</script>
</head>
<body><main>
<h1>{{.Title}}</h1>
<p>{{.Company}}{{with .Location}} · {{.}}{{end}}{{if .Remote}} · Remote{{end}}</p>
{{with .Facts}}<ul>{{range .}}<li>{{.}}</li>{{end}}</ul>{{end}}
{{range .Paragraphs}}<p>{{.}}</p>
{{end}}{{with .Requirements}}<h2>Requirements</h2><ul>{{range .}}<li>{{.}}</li>{{end}}</ul>
{{end}}{{with .Benefits}}<h2>Benefits</h2><ul>{{range .}}<li>{{.}}</li>{{end}}</ul>
{{end}}<p><a href="/docs">How to apply</a></p>
</main></body>
</html>
`))

var noJobPage = template.Must(template.New("no job").Parse(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex"><title>Job not found</title><link rel="stylesheet" href="/account/page.css"></head>
<body><main><h1>Job not found</h1><p>There is no such job, or it is not open any more.</p></main></body>
</html>
`))

type jobView struct {
	listings.Listing
	URL        string
	Facts      []string
	Paragraphs []string
	Posting    map[string]any
}

// addJobPage serves the page of a public listing, to which mails, webhooks and the
// developer API link.
func (s *Server) addJobPage() {
	s.app.Get("/jobs/:id", func(c *fiber.Ctx) error {
		ctx, cancel := context.WithTimeout(context.Background(), web.DefaultTimeout)
		defer cancel()
		l, err := s.services.Listings.Detail(tx.AllowStale(ctx, web.MaxStale), auth.Actor{}, c.Params("id"))
		if fault.KindOf(err) == fault.NotFound {
			return sendHTML(c.Status(fiber.StatusNotFound), plainPolicy, noJobPage, nil)
		}
		if err != nil {
			return err
		}
		return sendHTML(c, plainPolicy, jobPage, viewJob(l, s.o.PublicURL))
	})
}

func viewJob(l listings.Listing, publicURL string) jobView {
	v := jobView{Listing: l, URL: publicURL + "/jobs/" + l.ID, Paragraphs: strings.FieldsFunc(l.Description, func(r rune) bool { return r == '\n' || r == '\r' })}
	for _, fact := range []string{l.Department, l.Specialty, l.EmploymentType, l.ContractType, formatSalary(l.Salary)} {
		if fact != "" {
			v.Facts = append(v.Facts, fact)
		}
	}
	if l.Deadline != nil {
		v.Facts = append(v.Facts, "Apply by "+l.Deadline.UTC().Format("2 January 2006"))
	}
	v.Posting = posting(l, v.URL)
	return v
}

func formatSalary(s *listings.Salary) string {
	if s == nil {
		return ""
	}
	amount := func(minor int64) string { return fmt.Sprintf("%s %.2f", s.Currency, listings.Major(minor)) }
	switch {
	case s.Min != nil && s.Max != nil && *s.Min != *s.Max:
		return amount(*s.Min) + " to " + amount(*s.Max) + " a " + s.Period
	case s.Min != nil:
		return amount(*s.Min) + " a " + s.Period
	case s.Max != nil:
		return "Up to " + amount(*s.Max) + " a " + s.Period
	}
	return ""
}

// employmentTypes are the values of employmentType for search engines.
var employmentTypes = map[string]string{"full-time": "FULL_TIME", "part-time": "PART_TIME", "per-diem": "PER_DIEM", "bank": "PER_DIEM", "flexible": "OTHER"}

// posting returns the listing as structured data (https://schema.org/JobPosting).
func posting(l listings.Listing, url string) map[string]any {
	p := map[string]any{
		"@context": "https://schema.org", "@type": "JobPosting", "title": l.Title, "description": template.HTMLEscapeString(l.Description), "url": url,
		"identifier":         map[string]any{"@type": "PropertyValue", "name": l.Company, "value": l.ID},
		"hiringOrganization": map[string]any{"@type": "Organization", "name": l.Company},
	}
	if l.PostedAt != nil {
		p["datePosted"] = l.PostedAt.UTC().Format(time.RFC3339)
	}
	if l.Deadline != nil {
		p["validThrough"] = l.Deadline.UTC().Format(time.RFC3339)
	}
	if kind := employmentTypes[l.EmploymentType]; kind != "" {
		p["employmentType"] = kind
	}
	if l.Remote {
		p["jobLocationType"] = "TELECOMMUTE"
	}
	if l.Place != nil {
		p["jobLocation"] = map[string]any{"@type": "Place", "address": map[string]any{"@type": "PostalAddress", "addressLocality": l.Place.Name, "addressRegion": l.Place.Region, "addressCountry": l.Place.Country}}
	} else if l.Location != "" {
		p["jobLocation"] = map[string]any{"@type": "Place", "address": l.Location}
	}
	if s := l.Salary; s != nil && (s.Min != nil || s.Max != nil) {
		value := map[string]any{"@type": "QuantitativeValue", "unitText": strings.ToUpper(s.Period)}
		if s.Min != nil {
			value["minValue"] = listings.Major(*s.Min)
		}
		if s.Max != nil {
			value["maxValue"] = listings.Major(*s.Max)
		}
		p["baseSalary"] = map[string]any{"@type": "MonetaryAmount", "currency": s.Currency, "value": value}
	}
	return p
}
