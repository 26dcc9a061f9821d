package developer

import (
	"cmp"

	"github.com/locumhq/locum/adapters/internal/searchview"
	"github.com/locumhq/locum/adapters/web"
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
	return web.Each(names, func(name string) string { return cmp.Or(camelFacets[name], name) })
}

func viewFacets(facets map[string][]listings.FacetValue) map[string][]searchview.Facet {
	return searchview.NewFacets(facets, func(name string) string { return cmp.Or(snakeFacets[name], name) })
}
