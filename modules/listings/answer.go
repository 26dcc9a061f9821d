package listings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings/search"
)

// runSearch executes a parsed search on the index of g and returns a page of results. Exact results
// satisfy every part of the search text. Relaxed results satisfy one part only approximately. They
// follow the exact results.
func (s *Service) runSearch(ctx context.Context, g *generation, q *searchRequest) (Found, error) {
	found := Found{
		Result: page.Result[Hit]{Items: []Hit{}},
		Report: Report{Understood: []Understood{}, Corrections: []search.Correction{}, Suggestions: []Suggestion{}},
	}

	found.IsUnknownPlace = q.isUnknownPlace
	if q.matchesNothing {
		return found, nil
	}

	result, err := g.index.Find(ctx, q.query)
	if errors.Is(err, search.ErrInvalidCursor) {
		return found, fault.InvalidField("cursor", "is not a cursor of this list")
	}

	if err != nil {
		return found, err
	}

	// The index returns the ids and ranks of listings only. The listings themselves are read
	// from the database or a cache.
	listingsByID, err := s.publicListings(ctx, q, result.Hits)
	if err != nil {
		return found, err
	}

	found.Total, found.NextCursor = result.Total, result.Next
	for _, h := range result.Hits {
		l, exists := listingsByID[h.ID]
		if !exists {
			continue // closed after the index was updated
		}

		if !h.Exact {
			found.Relaxed++
		}

		found.Items = append(found.Items, q.explain(h, l))
	}

	found.Understood = q.interpretations()
	found.Corrections = append(found.Corrections, q.understood.Corrections...)
	found.Corrections = append(found.Corrections, q.corrected...)
	found.Facets = q.facetValues(g, result.Facets)

	isFirstPage := q.Page.Cursor == ""
	if result.Total == 0 && isFirstPage {
		found.Suggestions, err = q.suggestAlternatives(ctx, g)
	}

	return found, err
}

// explain returns a result: the listing with its relevance, and with how it satisfies each part of
// the text. Each slot of the query has levels, which are ways to satisfy it. The less exact a way
// is, the higher is the cost of its level. The hit has, for each slot, the number of the level at
// which the listing satisfies it.
func (q *searchRequest) explain(h search.Hit, l *Listing) Hit {
	cost, matched := 0, []Matched{}
	for slot, level := range h.Levels {
		cost += q.query.Slots[slot].Levels[level].Cost
		if term := q.termOf(slot); term != nil {
			matched = append(matched, Matched{Slot: term.Slot, How: q.plan.How[slot][level]})
		}
	}

	// A result without costs has the relevance 1, and one with the maximum cost 0.5. The
	// relevance has two decimals.
	relevance := max(0, 1-float64(cost)/(2*search.MaxCost))
	relevance = math.Round(relevance*100) / 100

	return Hit{Listing: *l, Relevance: relevance, Match: Match{Matched: matched, Relaxed: !h.Exact}, Miles: h.Miles}
}

// termOf returns the term, a part of the text, to which a slot of the query belongs. It returns nil
// for the slot of the location filter, which follows the slots of the text. It also returns nil for
// slots that only order the results.
func (q *searchRequest) termOf(slot int) *search.Term {
	isOfText := slot < len(q.plan.Terms) && q.plan.Terms[slot] >= 0
	if !isOfText {
		return nil
	}

	return &q.understood.Terms[q.plan.Terms[slot]]
}

// interpretations returns the parts of the text with their interpretations.
func (q *searchRequest) interpretations() []Understood {
	parts := make([]Understood, 0, len(q.understood.Terms))
	for i := range q.understood.Terms {
		t := &q.understood.Terms[i]

		slot := t.Slot
		if t.Excluded { // marked for clients as in the text, where "-retail" excludes retail
			slot = "-" + slot
		}

		// The positions of a term are in bytes, and those for clients in characters.
		parts = append(parts, Understood{
			Slot:  slot,
			Value: strings.Join(t.Values(), " or "),
			Text:  q.Text[t.Start:t.End],
			Start: utf8.RuneCountInString(q.Text[:t.Start]),
			End:   utf8.RuneCountInString(q.Text[:t.End]),
		})
	}

	return parts
}

// maxFacetValues is the maximum number of values of a facet.
const maxFacetValues = 50

// facetValues returns the values of each requested facet, by its name, the most frequent first.
// A facet is a property by which results are counted. counts contains the counts of keys of the
// index, by the prefix of the facet and the key.
func (q *searchRequest) facetValues(g *generation, counts map[string]map[string]int) map[string][]FacetValue {
	if len(q.Facets) == 0 {
		return nil
	}

	valuesByFacet := map[string][]FacetValue{}
	for _, name := range q.Facets {
		prefix := facets[name]

		values := []FacetValue{}
		for key, n := range counts[prefix] {
			value := strings.TrimPrefix(key, prefix)

			label := g.parser.Vocabulary.Label(value)
			if name == "region" { // its values have the form country/region
				country, region, _ := strings.Cut(value, "/")
				label = region + ", " + CountryName(country)
			}

			values = append(values, FacetValue{Value: value, Label: cmp.Or(label, value), Count: n})
		}

		slices.SortFunc(values, func(a, b FacetValue) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value)) })

		valuesByFacet[name] = values[:min(len(values), maxFacetValues)]
	}

	return valuesByFacet
}

const (
	// maxSuggestions is the maximum number of suggestions for a search without results.
	maxSuggestions = 5
	// maxAlternatives is the maximum number of parts that are left out of the text, one at a time,
	// to find a search with results.
	maxAlternatives = 8
)

// suggestedRadii are the larger radii that are tried, in miles.
var suggestedRadii = []float64{25, 50, 100}

// suggestAlternatives returns less specific searches that have results. It tries a larger
// radius for each place, and the text without each of its parts.
func (q *searchRequest) suggestAlternatives(ctx context.Context, g *generation) ([]Suggestion, error) {
	suggestions := []Suggestion{}
	addIfFound := func(text string, slots []search.Slot) error {
		n, err := q.count(ctx, g, slots)
		if err == nil && n > 0 && len(suggestions) < maxSuggestions {
			suggestions = append(suggestions, Suggestion{Text: text, Total: n})
		}

		return err
	}

	// Every alternative keeps the phrases, exclusions and filters, which are in Must. If the search
	// for them alone has no results, no alternative has any.
	if len(q.query.Must) > 0 {
		var noSlots []search.Slot
		if n, err := q.count(ctx, g, noSlots); err != nil || n == 0 {
			return suggestions, err
		}
	}

	tried := 0
	for i := range q.query.Slots {
		term := q.termOf(i)

		isOfFilter := i >= len(q.plan.Terms)
		if term == nil && !isOfFilter {
			continue // the slot only orders the results
		}

		// Replace the slot by one that a larger circle satisfies.
		places := q.placesOf(term)
		for _, radius := range q.largerRadii(places) {
			slots := slices.Clone(q.query.Slots)
			slots[i] = slotNearAny(places, radius)

			if err := addIfFound(fmt.Sprintf("within %.0f miles of %s", radius, places[0].Name), slots); err != nil {
				return nil, err
			}
		}

		tried++

		// Search without this part of the text.
		hasOtherTerms := len(q.understood.Terms) > 1
		if isOfFilter || !hasOtherTerms || tried > maxAlternatives {
			continue
		}

		textWithout := strings.Join(strings.Fields(q.Text[:term.Start]+" "+q.Text[term.End:]), " ")
		slotsWithout := slices.Delete(slices.Clone(q.query.Slots), i, i+1)

		if err := addIfFound(textWithout, slotsWithout); err != nil {
			return nil, err
		}
	}

	return suggestions, nil
}

// largerRadii returns the radii to suggest for the places that a part of the text may mean:
// those that are larger than the radius of the search. Only towns have a radius.
func (q *searchRequest) largerRadii(places []Place) []float64 {
	isTown := len(places) > 0 && places[0].Kind == Town
	if !isTown {
		return nil
	}

	isNotLarger := func(radius float64) bool { return radius <= max(q.radius, q.understood.Radius) }

	return slices.DeleteFunc(slices.Clone(suggestedRadii), isNotLarger)
}

// slotNearAny returns a slot that listings near one of the places satisfy.
func slotNearAny(places []Place, radius float64) search.Slot {
	var slot search.Slot
	for _, p := range places {
		slot.Levels = append(slot.Levels, search.NearSlot(p, radius).Levels...)
	}

	return slot
}

// count returns the number of exact results of the query with other slots.
func (q *searchRequest) count(ctx context.Context, g *generation, slots []search.Slot) (int, error) {
	other := q.query
	other.Slots = slots

	// Request only the total, and no page of results.
	other.Limit = 0
	other.Offset = 0
	other.Relaxed = 0
	other.Facets = nil
	result, err := g.index.Find(ctx, other)

	return result.Total, err
}

// placesOf returns the places of a term, or of the location filter if term is nil.
func (q *searchRequest) placesOf(term *search.Term) []Place {
	if term != nil {
		return term.Places
	}

	if q.near == nil {
		return nil
	}

	return []Place{*q.near}
}

// maxSummaries is the maximum number of listings in one half of the cache, about 1 KB each.
const maxSummaries = 10_000

// summaries caches listings without their long texts, by id. The cache consists of two halves.
// A listing that is read or stored moves to the recent half. When the recent half is full, it
// becomes the old half, and the listings that were in the old half are dropped. The cache
// therefore keeps the listings that were used last, without a list of their order.
type summaries struct {
	mu          sync.Mutex
	recent, old map[string]*Listing
}

// get returns the listing if it is cached with this version, or nil.
func (s *summaries) get(id string, version int64) *Listing {
	s.mu.Lock()
	defer s.mu.Unlock()

	l := s.recent[id]
	if l == nil {
		l = s.old[id]
		if l != nil {
			s.add(l) // it was read, and moves to the recent half
		}
	}

	isCached := l != nil && l.Version == version
	if !isCached {
		return nil
	}

	return l
}

// set stores a listing.
func (s *summaries) set(l *Listing) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.add(l)
}

// add stores the listing in the recent half. The caller holds the mutex.
func (s *summaries) add(l *Listing) {
	if len(s.recent) >= maxSummaries || s.recent == nil {
		s.recent, s.old = make(map[string]*Listing, maxSummaries), s.recent
	}

	s.recent[l.ID] = l
}

// publicListings returns the listings of the hits that are still public, by id. It uses the
// cache only if the index is current. An index that is not current may contain listings that
// are no longer public, which a query of the database excludes.
func (s *Service) publicListings(ctx context.Context, q *searchRequest, hits []search.Hit) (map[string]*Listing, error) {
	listingsByID := make(map[string]*Listing, len(hits))

	missing := make([]string, 0, len(hits))
	for _, h := range hits {
		if l := s.summaries.get(h.ID, h.Version); l != nil && q.isCurrent && !q.Full {
			listingsByID[h.ID] = l
		} else {
			missing = append(missing, h.ID)
		}
	}

	if len(missing) == 0 {
		return listingsByID, nil
	}

	listPublic := s.Public.ListPublicSummaries
	if q.Full {
		listPublic = s.Public.ListPublic
	}

	found, err := listPublic(ctx, missing, s.Clock.Now())
	for i := range found {
		l := &found[i]

		listingsByID[l.ID] = l
		if !q.Full {
			s.summaries.set(l)
		}
	}

	return listingsByID, err
}
