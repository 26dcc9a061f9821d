package conformance

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/locumhq/locum/modules/listings"
	"github.com/locumhq/locum/modules/listings/search"
)

// naiveIndex is a search index in memory that evaluates every document. The suites
// of the storage use it, so that they need no other adapter. Its cursors are positions in the
// list of hits. Unlike those of other indexes, its pages shift when documents change between two pages.
type naiveIndex struct {
	mu       sync.RWMutex
	oracle   *searchOracle
	position string
	closed   bool
}

// newNaiveIndex returns an empty index.
func newNaiveIndex() *naiveIndex { return &naiveIndex{oracle: newSearchOracle(search.Normalize)} }

// Find implements search.Index.
func (x *naiveIndex) Find(ctx context.Context, query search.Query) (search.Result, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()

	if x.closed {
		return search.Result{}, search.ErrIndexClosed
	}

	if err := query.Validate(); err != nil {
		return search.Result{}, err
	}

	offset := query.Offset
	if query.After != "" {
		var err error
		if offset, err = strconv.Atoi(query.After); err != nil {
			return search.Result{}, search.ErrInvalidCursor
		}
	}

	all := x.oracle.find(&query)

	result := search.Result{Hits: all.page(&query, offset), Total: len(all.exact), Facets: all.facets}
	if next := offset + query.Limit; next < len(all.exact) {
		result.Next = strconv.Itoa(next)
	}

	return result, ctx.Err()
}

// Apply implements search.Index.
func (x *naiveIndex) Apply(_ context.Context, changes []search.Change, position string) error {
	x.mu.Lock()
	defer x.mu.Unlock()

	if x.closed {
		return search.ErrIndexClosed
	}

	x.oracle.apply(changes)

	x.position = position

	return nil
}

// Position implements search.Index.
func (x *naiveIndex) Position() string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.position
}

// Frequency implements search.Index.
func (x *naiveIndex) Frequency(word string) int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.oracle.frequency(word)
}

// Words implements search.Index.
func (x *naiveIndex) Words(prefix string) iter.Seq2[string, int] {
	x.mu.RLock()
	defer x.mu.RUnlock()

	// Each document counts once for a word, however often it contains the word.
	counts := map[string]int{}
	for _, document := range x.oracle.docs {
		hasPrefix := map[string]bool{} // by word
		for _, word := range slices.Concat(document.Title, document.Body) {
			hasPrefix[word] = word != "" && strings.HasPrefix(word, prefix)
		}

		for word := range hasPrefix {
			if hasPrefix[word] {
				counts[word]++
			}
		}
	}

	return sortedCounts(counts)
}

// Keys implements search.Index.
func (x *naiveIndex) Keys(prefix string) iter.Seq2[string, int] {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return sortedCounts(x.oracle.countKeys(prefix))
}

// sortedCounts iterates over the counts in the alphabetical order of their names.
func sortedCounts(counts map[string]int) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			if !yield(name, counts[name]) {
				return
			}
		}
	}
}

// Close implements search.Index.
func (x *naiveIndex) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()

	x.closed = true

	return nil
}

// Discard implements search.Index.
func (x *naiveIndex) Discard() error { return x.Close() }

// naiveMatcher evaluates queries on its documents.
type naiveMatcher struct{ oracle *searchOracle }

// newNaiveMatcher returns a matcher for the documents.
func newNaiveMatcher(docs []*search.Document) (search.Matcher, error) {
	matcher := naiveMatcher{newSearchOracle(search.Normalize)}
	for _, document := range docs {
		matcher.oracle.docs[document.ID] = document
	}

	return matcher, nil
}

// AppendMatches implements search.Matcher.
func (m naiveMatcher) AppendMatches(ids []string, query *search.Query) []string {
	for _, hit := range m.oracle.find(query).exact {
		ids = append(ids, hit.ID)
	}

	return ids
}

// naiveGazetteer finds the places of the suites by their exact name.
type naiveGazetteer struct{}

// naivePlaces has the only places that the suites of the storage need, by their names in lower case.
var naivePlaces = map[string]listings.Place{
	"leeds": {
		Kind:       listings.Town,
		Name:       "Leeds",
		Region:     "West Yorkshire",
		Nation:     "ENG",
		Country:    "GB",
		Lat:        53.79648,
		Lon:        -1.54785,
		Population: 536_280,
	},
	"cork": {Kind: listings.Town, Name: "Cork", Region: "County Cork", Country: "IE", Lat: 51.89797, Lon: -8.47061, Population: 190_384},
}

// Resolve implements listings.Gazetteer.
func (naiveGazetteer) Resolve(text string) (listings.Place, bool) {
	// The text after a comma, such as the country, is ignored.
	name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(text)), ",")
	place, isKnown := naivePlaces[name]

	return place, isKnown
}

// Correct implements listings.Gazetteer. It corrects no typos.
func (naiveGazetteer) Correct(string) (listings.Place, bool) { return listings.Place{}, false }
