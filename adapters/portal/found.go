package portal

import (
	"github.com/locumhq/locum/adapters/internal/searchview"
	"github.com/locumhq/locum/modules/listings"
)

// SearchOptions are common to all searches by query parameters.
type SearchOptions struct {
	Relaxed bool     `query:"relaxed" default:"true"`
	Facets  []string `query:"facets" validate:"dive,oneof=role specialty band contractType employmentType shift region"`
}

// foundView describes how a search was interpreted and what it found.
type foundView struct {
	searchview.Report
	RelaxedCount int                           `json:"relaxedCount"`
	Facets       map[string][]searchview.Facet `json:"facets,omitempty"`
}

func viewAnswer(f listings.Found) foundView {
	return foundView{searchview.NewReport(f), f.Relaxed, searchview.NewFacets(f.Facets, func(name string) string { return name })}
}

type completionsView struct {
	Suggestions []searchview.Completion `json:"suggestions"`
}
