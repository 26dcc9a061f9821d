package site

import (
	"html/template"
	"strings"
	"time"

	"github.com/locumhq/locum/modules/listings"
)

// schemaEmploymentTypes maps our employment and contract types to the values of the
// schema.org property employmentType. It has no value for permanent contracts.
var schemaEmploymentTypes = map[string]string{
	"full-time": "FULL_TIME",
	"part-time": "PART_TIME",
	"per-diem":  "PER_DIEM",
	"bank":      "PER_DIEM",
	"flexible":  "OTHER",
	"temporary": "TEMPORARY",
	"contract":  "CONTRACTOR",
}

// jobPosting returns the job as structured data for search engines (https://schema.org/JobPosting), with the properties
// that they require or recommend. Properties that are not stated are left out.
func jobPosting(job listings.Listing, url string, description template.HTML) map[string]any {
	posting := map[string]any{
		"@context":           "https://schema.org",
		"@type":              "JobPosting",
		"title":              job.Title,
		"description":        string(description),
		"url":                url,
		"directApply":        true,
		"identifier":         map[string]any{"@type": "PropertyValue", "name": job.Company, "value": job.ID},
		"hiringOrganization": map[string]any{"@type": "Organization", "name": job.Company},
	}
	if job.PostedAt != nil {
		posting["datePosted"] = job.PostedAt.UTC().Format(time.RFC3339)
	}

	if job.Deadline != nil {
		posting["validThrough"] = job.Deadline.UTC().Format(time.RFC3339)
	}

	var types []string
	for _, value := range []string{job.EmploymentType, job.ContractType} {
		if schemaType := schemaEmploymentTypes[value]; schemaType != "" {
			types = append(types, schemaType)
		}
	}

	if len(types) > 0 {
		posting["employmentType"] = types
	}

	addLocation(posting, job)
	addSalary(posting, job.Salary)

	return posting
}

// addLocation adds where the work is done. The address of a known place has its parts. Otherwise the text that the employer
// has entered counts as the town.
func addLocation(posting map[string]any, job listings.Listing) {
	if job.Remote {
		posting["jobLocationType"] = "TELECOMMUTE"
	}

	var address map[string]any
	switch place := job.Place; {
	case place != nil:
		address = map[string]any{"@type": "PostalAddress", "addressCountry": place.Country}
		if place.Kind == listings.Town {
			address["addressLocality"] = place.Name
		}

		if place.Region != "" {
			address["addressRegion"] = place.Region
		}

		if job.Remote { // search engines need the country from which employees may work
			posting["applicantLocationRequirements"] = map[string]any{"@type": "Country", "name": listings.CountryName(place.Country)}
		}
	case job.Location != "":
		address = map[string]any{"@type": "PostalAddress", "addressLocality": job.Location}
	default:
		return
	}

	posting["jobLocation"] = map[string]any{"@type": "Place", "address": address}
}

// addSalary adds the pay, if it is stated.
func addSalary(posting map[string]any, pay *listings.Salary) {
	if pay == nil || pay.Min == nil && pay.Max == nil {
		return
	}

	value := map[string]any{"@type": "QuantitativeValue", "unitText": strings.ToUpper(pay.Period)}
	if pay.Min != nil {
		value["minValue"] = listings.Major(*pay.Min)
	}

	if pay.Max != nil {
		value["maxValue"] = listings.Major(*pay.Max)
	}

	posting["baseSalary"] = map[string]any{"@type": "MonetaryAmount", "currency": pay.Currency, "value": value}
}
