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

// runSearch executes a parsed search and returns a page of results.
func (s *Service) runSearch(ctx context.Context, g *generation, q *searchRequest) (Found, error) {
	found := Found{
		Result: page.Result[Hit]{Items: []Hit{}},
		Report: Report{Understood: []Understood{}, Corrections: []search.Correction{}, Suggestions: []Suggestion{}},
	}

	found.IsUnknownPlace = q.isUnknownPlace
	if q.empty {
		return found, nil
	}

	r, err := g.index.Find(ctx, q.query)
	if errors.Is(err, search.ErrInvalidCursor) {
		return found, fault.InvalidField("cursor", "is not a cursor of this list")
	}

	if err != nil {
		return found, err
	}

	// The index has the ids and ranks of listings only. The listings themselves are read from the database or a cache.
	listingsByID, err := s.publicListings(ctx, q, r.Hits)
	if err != nil {
		return found, err
	}

	found.Total, found.NextCursor = r.Total, r.Next
	for _, h := range r.Hits {
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
	found.Facets = q.facets(g, r.Facets)

	isFirstPage := q.Page.Cursor == ""
	if r.Total == 0 && isFirstPage {
		found.Suggestions, err = q.suggestAlternatives(ctx, g)
	}

	return found, err
}

// explain returns a result: the listing with its relevance, and with how it satisfies each
// part of the text. Each slot of the query has levels, which are ways to satisfy it with a cost.
// The hit has the number of its level for each slot.
func (q *searchRequest) explain(h search.Hit, l *Listing) Hit {
	cost, matched := 0, []Matched{}
	for i, level := range h.Levels {
		cost += q.query.Slots[i].Levels[level].Cost
		if term := q.termOf(i); term != nil {
			matched = append(matched, Matched{Slot: term.Slot, How: q.plan.How[i][level]})
		}
	}

	// A relevance of 1 costs nothing; a relaxed result of the maximum cost has 0.5.
	const hundred = 100
	relevance := math.Round(max(0, 1-float64(cost)/(2*search.MaxCost))*hundred) / hundred

	return Hit{Listing: *l, Relevance: relevance, Match: Match{Matched: matched, Relaxed: !h.Exact}, Miles: h.Miles}
}

// termOf returns the term, a part of the text, to which a slot of the query belongs. It returns nil for the slot of
// the location filter, which follows those of the text, and for slots that only order the results.
func (q *searchRequest) termOf(slot int) *search.Term {
	isOfText := slot < len(q.plan.Terms) && q.plan.Terms[slot] >= 0
	if !isOfText {
		return nil
	}

	return &q.understood.Terms[q.plan.Terms[slot]]
}

// interpretations returns the parts of the text with their interpretations.
func (q *searchRequest) interpretations() []Understood {
	out := make([]Understood, 0, len(q.understood.Terms))
	for i := range q.understood.Terms {
		t := &q.understood.Terms[i]

		slot := t.Slot
		if t.Excluded { // clients see it as in the text: "-retail" excludes retail
			slot = "-" + slot
		}

		out = append(out, Understood{
			Slot: slot, Value: strings.Join(t.Values(), " or "), Text: q.Text[t.Start:t.End],
			Start: utf8.RuneCountInString(q.Text[:t.Start]), End: utf8.RuneCountInString(q.Text[:t.End]),
		})
	}

	return out
}

// maxFacetValues is the maximum number of values of a facet.
const maxFacetValues = 50

// facets returns the values of each requested facet, the most frequent first. counts maps
// the prefixes of facets to the counts of their keys.
func (q *searchRequest) facets(g *generation, counts map[string]map[string]int) map[string][]FacetValue {
	if len(q.Facets) == 0 {
		return nil
	}

	out := map[string][]FacetValue{}
	for _, name := range q.Facets {
		values := []FacetValue{}
		for key, n := range counts[facets[name]] {
			value := strings.TrimPrefix(key, facets[name])

			label := g.parser.Vocabulary.Label(value)
			if name == "region" {
				country, region, _ := strings.Cut(value, "/")
				label = region + ", " + CountryName(country)
			}

			values = append(values, FacetValue{Value: value, Label: cmp.Or(label, value), Count: n})
		}

		slices.SortFunc(values, func(a, b FacetValue) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value)) })

		out[name] = values[:min(len(values), maxFacetValues)]
	}

	return out
}

const (
	// maxSuggestions is the maximum number of suggestions for a search without results.
	maxSuggestions = 5
	// maxAlternatives is the maximum number of parts of the text without which the search
	// is tried.
	maxAlternatives = 8
)

// suggestedRadii are the larger radii that are tried, in miles.
var suggestedRadii = []float64{25, 50, 100}

// suggestAlternatives returns less specific searches that have results. It tries a larger
// radius for each place, and the text without each of its parts.
func (q *searchRequest) suggestAlternatives(ctx context.Context, g *generation) ([]Suggestion, error) {
	out := []Suggestion{}
	addIfFound := func(text string, slots []search.Slot) error {
		n, err := q.count(ctx, g, slots)
		if err == nil && n > 0 && len(out) < maxSuggestions {
			out = append(out, Suggestion{Text: text, Total: n})
		}

		return err
	}

	// Every alternative keeps the phrases, exclusions and filters. If they alone have no
	// results, no alternative has any.
	if len(q.query.Must) > 0 {
		if n, err := q.count(ctx, g, nil); err != nil || n == 0 {
			return out, err
		}
	}

	tried := 0
	for i := range q.query.Slots {
		term := q.termOf(i)

		isOfFilter := i >= len(q.plan.Terms)
		if term == nil && !isOfFilter {
			continue // the slot only orders the results
		}

		places := q.placesOf(term)
		for _, radius := range suggestedRadii {
			isTown := len(places) > 0 && places[0].Kind == Town // only towns have a radius
			isLarger := radius > max(q.radius, q.understood.Radius)

			if !isTown || !isLarger {
				continue
			}

			// Replace the slot by one that the larger circle satisfies.
			slots := slices.Clone(q.query.Slots)

			slots[i] = search.Slot{}
			for _, p := range places {
				slots[i].Levels = append(slots[i].Levels, search.NearSlot(p, radius).Levels...)
			}

			if err := addIfFound(fmt.Sprintf("within %.0f miles of %s", radius, places[0].Name), slots); err != nil {
				return nil, err
			}
		}

		tried++

		hasOtherTerms := len(q.understood.Terms) > 1
		if isOfFilter || !hasOtherTerms || tried > maxAlternatives {
			continue
		}

		without := strings.Join(strings.Fields(q.Text[:term.Start]+" "+q.Text[term.End:]), " ")
		if err := addIfFound(without, slices.Delete(slices.Clone(q.query.Slots), i, i+1)); err != nil {
			return nil, err
		}
	}

	return out, nil
}

// count returns the number of exact hits of the query with other slots. It requests no page of them.
func (q *searchRequest) count(ctx context.Context, g *generation, slots []search.Slot) (int, error) {
	other := q.query
	other.Slots = slots
	other.Limit = 0
	other.Offset = 0
	other.Relaxed = 0
	other.Facets = nil
	r, err := g.index.Find(ctx, other)

	return r.Total, err
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

// summaries caches listings without their texts, by id. The cache consists of two halves. A
// listing that is read or stored moves to the recent half. When that is full, it becomes the
// old half, and the listings that were in the old half are dropped.
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
// cache if the index is current, since an index that is not current may contain listings
// that are no longer public.
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
