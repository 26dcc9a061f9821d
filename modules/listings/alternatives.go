package listings

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/locumhq/locum/modules/listings/search"
)

const (
	// maxSuggestions is the number of alternatives to a search without results.
	maxSuggestions = 5
	// maxAlternatives is how many of them are tried.
	maxAlternatives = 8
)

// wider are the radii that are suggested, in miles.
var wider = []float64{25, 50, 100}

// alternatives returns less specific searches with results: with a larger radius, or
// without one of the parts of the text.
func (q *question) alternatives(ctx context.Context, g *generation) ([]Suggestion, error) {
	out := []Suggestion{}
	try := func(text string, slots []search.Slot) error {
		n, err := q.count(ctx, g, slots)
		if err == nil && n > 0 && len(out) < maxSuggestions {
			out = append(out, Suggestion{Text: text, Total: n})
		}
		return err
	}
	if len(q.query.Must) > 0 { // phrases, exclusions and filters stay
		if n, err := q.count(ctx, g, nil); err != nil || n == 0 {
			return out, err
		}
	}
	tried := 0
	for i := range q.query.Slots {
		term := -1 // of the location filter
		if i < len(q.plan.Terms) {
			if term = q.plan.Terms[i]; term < 0 {
				continue
			}
		}
		places := q.placesOf(term)
		for _, radius := range wider {
			if len(places) == 0 || places[0].Kind != Town || radius <= max(q.radius, q.understood.Radius) {
				continue
			}
			slots := slices.Clone(q.query.Slots)
			slots[i] = search.Slot{}
			for _, p := range places {
				slots[i].Levels = append(slots[i].Levels, search.NearSlot(p, radius).Levels...)
			}
			if err := try(fmt.Sprintf("within %.0f miles of %s", radius, places[0].Name), slots); err != nil {
				return nil, err
			}
		}
		if tried++; term < 0 || len(q.understood.Terms) < 2 || tried > maxAlternatives {
			continue
		}
		t := &q.understood.Terms[term]
		without := strings.Join(strings.Fields(q.Text[:t.Start]+" "+q.Text[t.End:]), " ")
		if err := try(without, slices.Delete(slices.Clone(q.query.Slots), i, i+1)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// count returns the number of exact hits of the query with other slots.
func (q *question) count(ctx context.Context, g *generation, slots []search.Slot) (int, error) {
	other := q.query
	other.Slots, other.Limit, other.Offset, other.Relaxed, other.Facets = slots, 0, 0, 0, nil
	r, err := g.index.Find(ctx, other)
	return r.Total, err
}

// placesOf returns the places of a term, or of the location filter.
func (q *question) placesOf(term int) []Place {
	if term >= 0 {
		return q.understood.Terms[term].Places
	}
	if q.near == nil {
		return nil
	}
	return []Place{*q.near}
}
