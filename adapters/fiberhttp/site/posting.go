package site

import (
	"html/template"
	"strings"
	"time"

	"github.com/locumhq/locum/modules/listings"
)

// schemaEmploymentTypes maps our employment and contract types to the values of the
// schema.org property employmentType.
var schemaEmploymentTypes = map[string]string{
	"full-time": "FULL_TIME",
	"part-time": "PART_TIME",
	"per-diem":  "PER_DIEM",
	"bank":      "PER_DIEM",
	"flexible":  "OTHER",
	"temporary": "TEMPORARY",
	"contract":  "CONTRACTOR",
}

// jobPosting returns the listing as structured data for search engines
// (https://schema.org/JobPosting), with the properties that they require or recommend.
func jobPosting(l listings.Listing, url string, description template.HTML) map[string]any {
	p := map[string]any{
		"@context":           "https://schema.org",
		"@type":              "JobPosting",
		"title":              l.Title,
		"description":        string(description),
		"url":                url,
		"directApply":        true,
		"identifier":         map[string]any{"@type": "PropertyValue", "name": l.Company, "value": l.ID},
		"hiringOrganization": map[string]any{"@type": "Organization", "name": l.Company},
	}
	if l.PostedAt != nil {
		p["datePosted"] = l.PostedAt.UTC().Format(time.RFC3339)
	}
	if l.Deadline != nil {
		p["validThrough"] = l.Deadline.UTC().Format(time.RFC3339)
	}
	var kinds []string
	for _, v := range []string{l.EmploymentType, l.ContractType} {
		if kind := schemaEmploymentTypes[v]; kind != "" {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) > 0 {
		p["employmentType"] = kinds
	}
	if l.Remote {
		p["jobLocationType"] = "TELECOMMUTE"
	}
	switch {
	case l.Place != nil:
		address := map[string]any{"@type": "PostalAddress", "addressCountry": l.Place.Country}
		if l.Place.Kind == listings.Town {
			address["addressLocality"] = l.Place.Name
		}
		if l.Place.Region != "" {
			address["addressRegion"] = l.Place.Region
		}
		p["jobLocation"] = map[string]any{"@type": "Place", "address": address}
		if l.Remote {
			p["applicantLocationRequirements"] = map[string]any{"@type": "Country", "name": listings.CountryName(l.Place.Country)}
		}
	case l.Location != "":
		address := map[string]any{"@type": "PostalAddress", "addressLocality": l.Location}
		p["jobLocation"] = map[string]any{"@type": "Place", "address": address}
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
