package developer

import (
	"cmp"

	"github.com/locumhq/locum/adapters/internal/searchview"
	"github.com/locumhq/locum/modules/listings"
)

// JobList is a page of jobs with a description of the search.
type JobList struct {
	List[Job]
	searchview.Report
	RelaxedCount int                           `json:"relaxed_count"`
	Facets       map[string][]searchview.Facet `json:"facets,omitempty"`
}

// The facets whose names differ in this API.
var (
	camelFacets = map[string]string{"contract_type": "contractType", "employment_type": "employmentType"}
	snakeFacets = map[string]string{"contractType": "contract_type", "employmentType": "employment_type"}
)

func facetNames(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = cmp.Or(camelFacets[name], name)
	}
	return out
}

func viewFacets(facets map[string][]listings.FacetValue) map[string][]searchview.Facet {
	return searchview.NewFacets(facets, func(name string) string { return cmp.Or(snakeFacets[name], name) })
}
