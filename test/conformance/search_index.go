package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/listings/search"
)

// SearchIndexOpener opens the index of the folder. An index in memory ignores it.
type SearchIndexOpener func(t testing.TB, folder string, normalize func(string) string) search.Index

// SearchIndex checks an implementation of search.Index.
func SearchIndex(t *testing.T, open SearchIndexOpener) {
	// The oracle is the naive evaluation. It is described in search_oracle.go.
	t.Run("equals a naive evaluation", func(t *testing.T) {
		t.Parallel()
		compareWithOracle(t, open, !reopened)
	})

	// Large batches also replace and delete documents of earlier batches.
	t.Run("equals a naive evaluation of many documents", func(t *testing.T) {
		t.Parallel()

		const seed, batches, batchSize, documents, queries = 3, 5, 20_000, 90_000, 25

		suite := newSearchSuite(t, open, seed)
		for range batches {
			suite.apply(suite.random.changes(batchSize, documents))
		}

		for range queries {
			suite.compare(suite.random.query())
		}
	})

	// Each of the following subtests is described at its function.
	t.Run("paging", func(t *testing.T) {
		t.Parallel()
		pageWhileChanging(t, open)
	})

	t.Run("versions", func(t *testing.T) {
		t.Parallel()
		applyVersions(t, open)
	})

	t.Run("places of relaxed hits", func(t *testing.T) {
		t.Parallel()
		placeRelaxed(t, open)
	})

	t.Run("words and their frequency", func(t *testing.T) {
		t.Parallel()
		listWords(t, open)
	})

	t.Run("keys and their number of documents", func(t *testing.T) {
		t.Parallel()
		listKeys(t, open)
	})

	t.Run("batches are atomic", func(t *testing.T) {
		t.Parallel()
		readWhileApplying(t, open)
	})

	t.Run("invalid queries", func(t *testing.T) {
		t.Parallel()
		refuseQueries(t, open)
	})

	// A closed index refuses queries and changes. It can be closed again.
	t.Run("closed", func(t *testing.T) {
		t.Parallel()

		index := open(t, t.TempDir(), singular)
		require.NoError(t, index.Close())

		_, err := index.Find(context.Background(), search.Query{})
		require.ErrorIs(t, err, search.ErrIndexClosed)

		const position = "any"
		require.ErrorIs(t, index.Apply(context.Background(), nil, position), search.ErrIndexClosed)
		require.NoError(t, index.Close(), "a second time")
	})
}

// SearchIndexStorage checks that an index keeps its content when it is closed
// and opened again.
func SearchIndexStorage(t *testing.T, open SearchIndexOpener) {
	compareWithOracle(t, open, reopened)
}

// reopened is the argument of compareWithOracle for an index that is closed and opened again.
const reopened = true

// SearchMatcher checks an implementation of search.Matcher, which returns the ids of the documents that match a query:
// they are the exact hits of the oracle.
func SearchMatcher(
	t *testing.T, open func(t testing.TB, docs []*search.Document, normalize func(string) string) search.Matcher,
) {
	const queries = 500

	// Numbers of documents around 64 are among them: a matcher may use one bit of a machine word for each document.
	for _, count := range []int{0, 1, 5, 63, 64, 65, 200} {
		seed, documents := uint64(count), 10*count+1 // few changes replace a document
		random, oracle := newRandomSearch(seed), newSearchOracle(singular)
		oracle.apply(random.changes(count, documents))

		matcher := open(t, slices.Collect(maps.Values(oracle.docs)), singular)
		for range queries {
			query := random.query()
			matchedIDs := matcher.AppendMatches([]string{}, &query)

			wantIDs := []string{}
			for _, hit := range oracle.find(&query).exact {
				wantIDs = append(wantIDs, hit.ID)
			}

			text, err := json.Marshal(query)
			require.NoError(t, err)
			require.ElementsMatch(t, wantIDs, matchedIDs, "%d documents, %s", count, text)
		}
	}
}

// searchSuite applies the same changes to an index and to the oracle, a naive implementation, and compares them.
type searchSuite struct {
	t      *testing.T
	index  search.Index
	oracle *searchOracle
	random *randomSearch
	batch  int // the number of batches of changes so far
}

// newSearchSuite opens an index until the test ends. Equal seeds lead to the same changes and queries.
func newSearchSuite(t *testing.T, open SearchIndexOpener, seed uint64) *searchSuite {
	suite := &searchSuite{
		t:      t,
		index:  open(t, t.TempDir(), singular),
		oracle: newSearchOracle(singular),
		random: newRandomSearch(seed),
	}
	t.Cleanup(func() { require.NoError(t, suite.index.Close()) })

	return suite
}

// position returns the position of the last batch. An index stores the position in the feed of changes up to which
// it has applied them.
func (s *searchSuite) position() string { return fmt.Sprintf("position %d", s.batch) }

// apply applies a batch to the index and to the oracle.
func (s *searchSuite) apply(changes []search.Change) {
	s.batch++
	require.NoError(s.t, s.index.Apply(context.Background(), changes, s.position()))
	require.Equal(s.t, s.position(), s.index.Position())
	s.oracle.apply(changes)
}

// compareWithOracle compares the results of random queries after random changes. If reopen is true, it closes the index
// before the queries and opens it again. The index must have kept its documents and its position.
func compareWithOracle(t *testing.T, open SearchIndexOpener, reopen bool) {
	const (
		seed              = 1
		documents         = 1500
		rounds            = 20
		maxBatches        = 20 // in a round
		maxBatchSize      = 300
		queries           = 25 // in a round
		roundOfEmptyBatch = 10
	)

	// The folder is known here, because a reopened index has the same one.
	folder := t.TempDir()

	suite := newSearchSuite(t, func(t testing.TB, _ string, normalize func(string) string) search.Index {
		return open(t, folder, normalize)
	}, seed)

	for round := range rounds {
		for range 1 + suite.random.IntN(maxBatches) {
			batchSize := 1 + suite.random.zipf(maxBatchSize) // most are small
			suite.apply(suite.random.changes(batchSize, documents))
		}

		if reopen {
			require.NoError(t, suite.index.Close())

			suite.index = open(t, folder, singular)
			require.Equal(t, suite.position(), suite.index.Position())
		}

		if round == roundOfEmptyBatch {
			suite.apply(nil) // a batch without changes stores its position too
		}

		for range queries {
			suite.compare(suite.random.query())
		}
	}
}

// compare requires that the index and the oracle return equal results, on the page of the query and on up to
// six pages after it.
func (s *searchSuite) compare(query search.Query) {
	got, err := s.index.Find(context.Background(), query)
	require.NoError(s.t, err)

	want := s.oracle.find(&query)
	text, err := json.Marshal(query)
	require.NoError(s.t, err)
	require.Equal(s.t, len(want.exact), got.Total, "total of %s", text)
	require.Equal(s.t, want.facets, got.Facets, "facets of %s", text)
	require.Equal(s.t, want.page(&query, query.Offset), withoutNil(got.Hits), "hits of %s", text)

	// The following pages, by cursor.
	const followingPages = 6

	lastOffset := query.Offset + followingPages*query.Limit
	for offset := query.Offset; got.Next != "" && offset < lastOffset; {
		offset += query.Limit
		query.After = got.Next
		got, err = s.index.Find(context.Background(), query)
		require.NoError(s.t, err)
		require.Equal(s.t, len(want.exact), got.Total, "total of %s", text)
		require.Equal(s.t, want.page(&query, offset), withoutNil(got.Hits), "hits from %d of %s", offset, text)
	}
}

// withoutNil returns an empty list for nil: an index may return either.
func withoutNil(hits []search.Hit) []search.Hit {
	if hits == nil {
		return []search.Hit{}
	}

	return hits
}

// page returns the hits of the page at the offset: the exact ones, then the relaxed ones that it can show.
func (r *oracleResult) page(query *search.Query, offset int) []search.Hit {
	page := []search.Hit{}
	for _, hit := range r.exact[min(offset, len(r.exact)):] {
		if len(page) < query.Limit {
			page = append(page, hit.Hit)
		}
	}

	relaxedCount := min(r.relaxedPlaces(query, offset), len(r.relaxed))
	for _, hit := range r.relaxed[:relaxedCount] {
		page = append(page, hit.Hit)
	}

	return page
}

// relaxedPlaces returns the number of relaxed hits that the page at the offset can show: those that fit on the last page
// of exact hits, or on the first page if there are no exact hits.
func (r *oracleResult) relaxedPlaces(query *search.Query, offset int) int {
	exactOnPage := min(query.Limit, max(0, len(r.exact)-offset))
	isAfterExact := exactOnPage == 0 && len(r.exact) > 0
	isLaterPage := exactOnPage == 0 && offset > 0

	if isAfterExact || isLaterPage {
		return 0
	}

	return min(query.Relaxed, query.Limit-exactOnPage)
}

// pageWhileChanging follows cursors while documents are created and deleted between the pages. In every order, a
// document that is stored all the time must be on exactly one page, and no other document on more than one.
func pageWhileChanging(t *testing.T, open SearchIndexOpener) {
	for _, by := range []search.SortKey{
		search.SortRelevance, search.SortDate, search.SortPay, search.SortDistance,
		search.SortTitle, search.SortLocation,
	} {
		const seed, staying = 5, 400
		suite := newSearchSuite(t, open, seed)

		var stayingDocuments []search.Change
		for i := range staying {
			document := suite.random.document()
			document.Deadline = time.Time{} // it does not expire
			stayingDocuments = append(stayingDocuments,
				search.Change{ID: fmt.Sprintf("stays %d", i), Version: 1, Document: document})
		}

		suite.apply(stayingDocuments)

		// The query finds all documents, those with a title that begins with an a at a lower cost. A low cost is a
		// high relevance.
		from := suite.random.point()
		query := search.Query{
			Now: searchStart, Sort: search.Sort{By: by, Descending: suite.random.chance(50)}, From: &from, Limit: 7,
			Slots: []search.Slot{
				{
					Levels: []search.SlotLevel{
						{Expr: search.HasTitlePrefix("a"), Cost: 2, Exact: true},
						{Expr: search.All(), Cost: 3, Exact: true},
					},
				},
			},
		}

		hitCounts := map[string]int{} // by id
		for page := 0; ; page++ {
			result, err := suite.index.Find(context.Background(), query)
			require.NoError(t, err)

			for _, hit := range result.Hits {
				hitCounts[hit.ID]++
			}

			if result.Next == "" {
				break
			}

			query.After = result.Next

			// Create five documents, and delete the five that were created two pages before.
			var changes []search.Change
			for i := range 5 {
				changes = append(changes,
					search.Change{ID: fmt.Sprintf("new %d %d", page, i), Version: 1, Document: suite.random.document()},
					search.Change{ID: fmt.Sprintf("new %d %d", page-2, i), Version: 2})
			}

			suite.apply(changes)
		}

		for id, count := range hitCounts {
			require.Equal(t, 1, count, "by %s: pages that contain %s", by, id)
		}

		for i := range staying {
			require.Contains(t, hitCounts, fmt.Sprintf("stays %d", i), "by %s: not on any page", by)
		}
	}
}

// applyVersions follows the stored versions of three documents. A change applies only if its version is higher than
// the stored one. The version of a deletion stays stored. Changes may arrive twice and out of order.
func applyVersions(t *testing.T, open SearchIndexOpener) {
	const seed = 7 // without effect, because the changes are not random
	suite := newSearchSuite(t, open, seed)
	ctx := context.Background()

	// create returns a change that stores a document with the key. A change without a document deletes one.
	create := func(id string, version int64, key string) search.Change {
		return search.Change{ID: id, Version: version, Document: &search.Document{PostedAt: searchStart, Keys: []string{key}}}
	}

	// storedVersions returns the versions of all documents by id.
	storedVersions := func() map[string]int64 {
		result, err := suite.index.Find(ctx, search.Query{Now: searchStart, Limit: 10})
		require.NoError(t, err)

		versions := map[string]int64{}
		for _, hit := range result.Hits {
			versions[hit.ID] = hit.Version
		}

		return versions
	}

	for _, step := range []struct {
		condition string
		changes   []search.Change
		want      map[string]int64
	}{
		{
			condition: "new",
			changes:   []search.Change{create("a", 2, "x"), create("b", 1, "x")},
			want:      map[string]int64{"a": 2, "b": 1},
		},
		{
			condition: "repeated",
			changes:   []search.Change{create("a", 2, "y")},
			want:      map[string]int64{"a": 2, "b": 1},
		},
		{
			condition: "older",
			changes:   []search.Change{create("a", 1, "y"), {ID: "a", Version: 1}},
			want:      map[string]int64{"a": 2, "b": 1},
		},
		{condition: "newer", changes: []search.Change{create("a", 3, "z")}, want: map[string]int64{"a": 3, "b": 1}},
		{
			condition: "twice in a batch",
			changes:   []search.Change{create("b", 5, "z"), create("b", 4, "y")},
			want:      map[string]int64{"a": 3, "b": 5},
		},
		{condition: "deleted", changes: []search.Change{{ID: "a", Version: 4}}, want: map[string]int64{"b": 5}},
		{
			condition: "older than deleted",
			changes:   []search.Change{create("a", 3, "z")},
			want:      map[string]int64{"b": 5},
		},
		{
			condition: "deleted again",
			changes:   []search.Change{{ID: "a", Version: 4}},
			want:      map[string]int64{"b": 5},
		},
		{
			condition: "created again",
			changes:   []search.Change{create("a", 5, "z")},
			want:      map[string]int64{"a": 5, "b": 5},
		},
		{
			condition: "unknown deleted",
			changes:   []search.Change{{ID: "c", Version: 1}},
			want:      map[string]int64{"a": 5, "b": 5},
		},
	} {
		suite.apply(step.changes)
		require.Equal(t, step.want, storedVersions(), step.condition)
	}

	// A query with a limit of 0 only counts. Both documents have the key of their last change.
	counted, err := suite.index.Find(ctx, search.Query{Now: searchStart, Must: []search.Expr{search.HasKey("z")}})
	require.NoError(t, err)
	require.Equal(t, 2, counted.Total)
	require.Empty(t, counted.Hits)
}

// placeRelaxed checks on which pages relaxed hits are shown: in the free places of the last page of exact hits, or on
// the first page if there are no exact hits. Of 60 documents, 25 have the key "exact", and all have the key "related".
func placeRelaxed(t *testing.T, open SearchIndexOpener) {
	const (
		seed           = 9 // without effect, because the changes are not random
		documents      = 60
		exactDocuments = 25
	)

	suite := newSearchSuite(t, open, seed)

	var changes []search.Change
	for i := range documents {
		document := &search.Document{PostedAt: searchStart.Add(time.Duration(i) * time.Minute), Keys: []string{"related"}}
		if i < exactDocuments {
			document.Keys = append(document.Keys, "exact")
		}

		changes = append(changes, search.Change{ID: fmt.Sprint(i), Version: 1, Document: document})
	}

	suite.apply(changes)

	// find returns the numbers of exact and of relaxed hits on the page at the offset. Exact hits have the key. The
	// query permits as many relaxed hits as its argument says.
	find := func(key string, offset, limit, relaxed int) (exact, others int) {
		exactLevel := search.SlotLevel{Expr: search.HasKey(key), Exact: true}
		relaxedLevel := search.SlotLevel{Expr: search.HasKey("related"), Cost: 5}
		result, err := suite.index.Find(context.Background(), search.Query{
			Now: searchStart, Offset: offset, Limit: limit, Relaxed: relaxed,
			Slots: []search.Slot{{Levels: []search.SlotLevel{exactLevel, relaxedLevel}}},
		})
		require.NoError(t, err)

		for _, hit := range result.Hits {
			if hit.Exact {
				exact++
			}
		}

		return exact, len(result.Hits) - exact
	}

	for _, test := range []struct {
		condition              string
		key                    string
		offset, limit, relaxed int
		wantExact, wantOthers  int
	}{
		{condition: "full page", key: "exact", offset: 0, limit: 10, relaxed: 20, wantExact: 10, wantOthers: 0},
		{condition: "last page", key: "exact", offset: 20, limit: 10, relaxed: 20, wantExact: 5, wantOthers: 5},
		{
			condition:  "last page, few relaxed",
			key:        "exact",
			offset:     20,
			limit:      10,
			relaxed:    3,
			wantExact:  5,
			wantOthers: 3,
		},
		{
			condition:  "last page is full",
			key:        "exact",
			offset:     20,
			limit:      5,
			relaxed:    20,
			wantExact:  5,
			wantOthers: 0,
		},
		{
			condition:  "after the last page",
			key:        "exact",
			offset:     30,
			limit:      10,
			relaxed:    20,
			wantExact:  0,
			wantOthers: 0,
		},
		{
			condition:  "no exact hits",
			key:        "nothing",
			offset:     0,
			limit:      10,
			relaxed:    20,
			wantExact:  0,
			wantOthers: 10,
		},
		{
			condition:  "no exact hits, second page",
			key:        "nothing",
			offset:     10,
			limit:      10,
			relaxed:    20,
			wantExact:  0,
			wantOthers: 0,
		},
		{condition: "turned off", key: "nothing", offset: 0, limit: 10, relaxed: 0, wantExact: 0, wantOthers: 0},
		{
			condition:  "beyond all documents",
			key:        "exact",
			offset:     math.MaxInt,
			limit:      10,
			relaxed:    20,
			wantExact:  0,
			wantOthers: 0,
		},
		{
			condition:  "unlimited",
			key:        "exact",
			offset:     0,
			limit:      math.MaxInt,
			relaxed:    20,
			wantExact:  25,
			wantOthers: 20,
		},
		{
			condition:  "everything on one page",
			key:        "exact",
			offset:     0,
			limit:      100,
			relaxed:    20,
			wantExact:  25,
			wantOthers: 20,
		},
	} {
		exact, others := find(test.key, test.offset, test.limit, test.relaxed)
		require.Equal(t, test.wantExact, exact, "%s: exact hits", test.condition)
		require.Equal(t, test.wantOthers, others, "%s: relaxed hits", test.condition)
	}
}

// listWords compares the words of an index, and the number of documents with each of them, with those of the
// documents. The words must be in alphabetical order.
func listWords(t *testing.T, open SearchIndexOpener) {
	const seed, batches, batchSize = 11, 5, 60

	// Each document is created, and none is replaced or deleted: an index may still list words of old documents.
	suite := newSearchSuite(t, open, seed)
	for batch := range batches {
		var changes []search.Change
		for i := range batchSize {
			changes = append(changes,
				search.Change{ID: fmt.Sprint(batch, i), Version: 1, Document: suite.random.document()})
		}

		suite.apply(changes)
	}

	for _, prefix := range []string{"", "a", "ab", "zz"} {
		want := map[string]int{}
		for _, document := range suite.oracle.docs {
			for _, word := range slices.Concat(document.Title, document.Body) {
				if word != "" && strings.HasPrefix(word, prefix) {
					want[word] = suite.oracle.frequency(word)
				}
			}
		}

		got := map[string]int{}
		var order []string

		for word, frequency := range suite.index.Words(prefix) {
			got[word] = frequency
			order = append(order, word)
			require.Equal(t, frequency, suite.index.Frequency(word))
		}

		require.Equal(t, want, got, prefix)
		require.Equal(t, slices.Sorted(maps.Keys(want)), order)
	}

	require.Zero(t, suite.index.Frequency("unknown"))
}

// listKeys compares the keys of an index, and the number of documents with each of them, with those of the documents,
// also after replacements and deletions. A caller may stop an iteration after the first key.
func listKeys(t *testing.T, open SearchIndexOpener) {
	const seed, batches, batchSize, documents = 19, 10, 60, 200

	suite := newSearchSuite(t, open, seed)
	for range batches {
		suite.apply(suite.random.changes(batchSize, documents))

		for _, prefix := range []string{"", "role:", "role:1", "unknown:"} {
			want := suite.oracle.countKeys(prefix)
			got := map[string]int{}
			var order []string

			for key, count := range suite.index.Keys(prefix) {
				got[key] = count
				order = append(order, key)
			}

			require.Equal(t, want, got, prefix)
			require.Equal(t, slices.Sorted(maps.Keys(want)), order)
		}
	}

	// An iteration that is stopped.
	for key := range suite.index.Keys("role:") {
		require.Equal(t, slices.Sorted(maps.Keys(suite.oracle.countKeys("role:")))[0], key)
		break
	}
}

// readWhileApplying searches while all documents are replaced repeatedly. A generation is a batch that replaces all
// documents, which then have its number as a key. Each search must find all documents of one generation and none of
// another.
func readWhileApplying(t *testing.T, open SearchIndexOpener) {
	const (
		seed             = 13 // without effect, because the changes are not random
		documents        = 50
		limit            = documents + 10 // so that too many hits would be noticed
		firstGeneration  = 1
		laterGenerations = 200
		readers          = 3
	)

	suite := newSearchSuite(t, open, seed)
	apply := func(generation int64) {
		var changes []search.Change
		for i := range documents {
			changes = append(changes, search.Change{ID: fmt.Sprint(i), Version: generation, Document: &search.Document{
				PostedAt: searchStart, Keys: []string{fmt.Sprint("generation:", generation)}, Title: []string{"word"},
			}})
		}

		suite.apply(changes)
	}

	apply(firstGeneration)

	ctx, stop := context.WithCancel(context.Background())

	var reading sync.WaitGroup
	for range readers {
		reading.Go(func() {
			for ctx.Err() == nil {
				result, err := suite.index.Find(context.Background(), search.Query{
					Now:    searchStart,
					Must:   []search.Expr{search.HasWord("word")},
					Facets: []string{"generation:"},
					Limit:  limit,
				})

				hasAll := err == nil && result.Total == documents && len(result.Hits) == documents
				hasOneGeneration := len(result.Facets["generation:"]) == 1

				if !hasAll || !hasOneGeneration {
					t.Errorf("found %d (%d hits, generations %v): %v", result.Total, len(result.Hits), result.Facets,
						err)
					return
				}
			}
		})
	}

	for i := range int64(laterGenerations) {
		apply(firstGeneration + 1 + i)
	}

	stop()
	reading.Wait()
}

// refuseQueries checks the errors of invalid queries, of cursors that belong to another order or were altered, and of
// a cancelled context.
func refuseQueries(t *testing.T, open SearchIndexOpener) {
	const seed, batchSize, documents = 17, 100, 100

	suite := newSearchSuite(t, open, seed)
	suite.apply(suite.random.changes(batchSize, documents))

	// An unknown operator.
	ctx := context.Background()
	_, err := suite.index.Find(ctx, search.Query{Must: []search.Expr{{Op: "unknown"}}})
	require.ErrorIs(t, err, search.ErrInvalidQuery)

	// Cursors. Next is one for the order of the query that has returned it.
	result, err := suite.index.Find(ctx, search.Query{Limit: 3})
	require.NoError(t, err)
	require.NotEmpty(t, result.Next)

	for condition, query := range map[string]search.Query{
		"another sort":      {After: result.Next, Sort: search.Sort{By: search.SortTitle}},
		"another direction": {After: result.Next, Sort: search.Sort{Descending: true}},
		"cut off":           {After: result.Next[:len(result.Next)-4]},
		"not encoded":       {After: "!"},
		"another text":      {After: "e30x"}, // Base64 of {}1, which is no JSON
	} {
		_, err := suite.index.Find(ctx, query)
		require.ErrorIs(t, err, search.ErrInvalidCursor, condition)
	}

	cancelled, cancel := context.WithCancel(ctx)
	cancel()

	_, err = suite.index.Find(cancelled, search.Query{})
	require.ErrorIs(t, err, context.Canceled)
}
