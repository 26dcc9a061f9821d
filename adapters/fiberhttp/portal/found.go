package portal

import (
	"github.com/locumhq/locum/adapters/fiberhttp/found"
	"github.com/locumhq/locum/modules/listings"
)

// SearchOptions are what every search by query parameters accepts.
type SearchOptions struct {
	Relaxed bool     `query:"relaxed" default:"true"`
	Facets  []string `query:"facets" validate:"dive,oneof=role specialty band contractType employmentType shift region"`
}

// foundView describes how a search was interpreted and what it found.
type foundView struct {
	found.Report
	RelaxedCount int                      `json:"relaxedCount"`
	Facets       map[string][]found.Facet `json:"facets,omitempty"`
}

func viewAnswer(f listings.Found) foundView {
	return foundView{found.NewReport(f), f.Relaxed, found.NewFacets(f.Facets, func(name string) string { return name })}
}

type completionsView struct {
	Suggestions []found.Completion `json:"suggestions"`
}
