// Package searchview holds the views of search results that the interfaces share.
package searchview

import "github.com/locumhq/locum/modules/listings"

// Report describes how the text of a search was interpreted.
type Report struct {
	Understood  []Understood `json:"understood"`
	Corrections []Correction `json:"corrections"`
	Suggestions []Suggestion `json:"suggestions"`
}

// Understood is a part of the text with its interpretation.
type Understood struct {
	Slot  string `json:"slot" sample:"role"`
	Value string `json:"value" sample:"Nurse"`
	Text  string `json:"text" sample:"nurse"`
	Start int    `json:"start" sample:"0"`
	End   int    `json:"end" sample:"5"`
}

// Correction is a misspelt word with its correction.
type Correction struct {
	From string `json:"from" sample:"nusre"`
	To   string `json:"to" sample:"nurse"`
}

// Suggestion is another search with results.
type Suggestion struct {
	Text  string `json:"text" sample:"within 25 miles of Leeds"`
	Total int    `json:"total"`
}

// Facet is a value with the number of results that have it.
type Facet struct {
	Value string `json:"value" sample:"nurse"`
	Label string `json:"label" sample:"Nurse"`
	Count int    `json:"count"`
}

// Match is how one result fits the search.
type Match struct {
	Matched []Matched `json:"matched"`
	Relaxed bool      `json:"relaxed"`
}

// Matched is how a result satisfies one part of the text.
type Matched struct {
	Slot string `json:"slot" sample:"role"`
	How  string `json:"how" sample:"title"`
}

// Completion is a completion of an unfinished search.
type Completion struct {
	Kind  string `json:"kind" sample:"role"`
	Text  string `json:"text" sample:"Staff Nurse"`
	Total int    `json:"total"`
}

// SuggestInput is an unfinished search.
type SuggestInput struct {
	Query string `query:"q" validate:"max=200"`
}

// NewReport returns the report of a search.
func NewReport(f listings.Found) Report {
	r := Report{Understood: make([]Understood, len(f.Understood)), Corrections: make([]Correction, len(f.Corrections)), Suggestions: make([]Suggestion, len(f.Suggestions))}
	for i, u := range f.Understood {
		r.Understood[i] = Understood(u)
	}
	for i, c := range f.Corrections {
		r.Corrections[i] = Correction(c)
	}
	for i, s := range f.Suggestions {
		r.Suggestions[i] = Suggestion(s)
	}
	return r
}

// NewMatch returns how the hit fits.
func NewMatch(h listings.Hit) Match {
	m := Match{Matched: make([]Matched, len(h.Matched)), Relaxed: h.Relaxed}
	for i, match := range h.Matched {
		m.Matched[i] = Matched{match.Slot, string(match.How)}
	}
	return m
}

// NewFacets returns the facets by the names that rename returns, nil if there are
// none.
func NewFacets(facets map[string][]listings.FacetValue, rename func(string) string) map[string][]Facet {
	if facets == nil {
		return nil
	}
	out := map[string][]Facet{}
	for name, values := range facets {
		views := make([]Facet, len(values))
		for i, v := range values {
			views[i] = Facet(v)
		}
		out[rename(name)] = views
	}
	return out
}

// NewCompletions returns the completions.
func NewCompletions(cs []listings.Completion) []Completion {
	out := make([]Completion, len(cs))
	for i, c := range cs {
		out[i] = Completion(c)
	}
	return out
}
