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
func jobPosting(listing listings.Listing, url string, description template.HTML) map[string]any {
	p := map[string]any{
		"@context":           "https://schema.org",
		"@type":              "JobPosting",
		"title":              listing.Title,
		"description":        string(description),
		"url":                url,
		"directApply":        true,
		"identifier":         map[string]any{"@type": "PropertyValue", "name": listing.Company, "value": listing.ID},
		"hiringOrganization": map[string]any{"@type": "Organization", "name": listing.Company},
	}
	if listing.PostedAt != nil {
		p["datePosted"] = listing.PostedAt.UTC().Format(time.RFC3339)
	}

	if listing.Deadline != nil {
		p["validThrough"] = listing.Deadline.UTC().Format(time.RFC3339)
	}

	var kinds []string
	for _, v := range []string{listing.EmploymentType, listing.ContractType} {
		if kind := schemaEmploymentTypes[v]; kind != "" {
			kinds = append(kinds, kind)
		}
	}

	if len(kinds) > 0 {
		p["employmentType"] = kinds
	}

	if listing.Remote {
		p["jobLocationType"] = "TELECOMMUTE"
	}

	switch {
	case listing.Place != nil:
		address := map[string]any{"@type": "PostalAddress", "addressCountry": listing.Place.Country}
		if listing.Place.Kind == listings.Town {
			address["addressLocality"] = listing.Place.Name
		}

		if listing.Place.Region != "" {
			address["addressRegion"] = listing.Place.Region
		}

		p["jobLocation"] = map[string]any{"@type": "Place", "address": address}
		if listing.Remote {
			p["applicantLocationRequirements"] = map[string]any{"@type": "Country", "name": listings.CountryName(listing.Place.Country)}
		}
	case listing.Location != "":
		address := map[string]any{"@type": "PostalAddress", "addressLocality": listing.Location}
		p["jobLocation"] = map[string]any{"@type": "Place", "address": address}
	}

	if s := listing.Salary; s != nil && (s.Min != nil || s.Max != nil) {
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
