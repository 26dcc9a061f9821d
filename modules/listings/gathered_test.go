package listings

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/modules/listings/search"
)

// TestPlansFor checks when plansFor returns the cached plans of saved searches and when it returns an empty cache. A
// plan divides a search into conditions. It depends on the words of the vocabulary.
func TestPlansFor(t *testing.T) {
	t.Parallel()

	vocabulary, err := search.Load()
	require.NoError(t, err)

	other, err := search.Load(search.Source{Name: "own", Text: "role stitcher : stitcher"})
	require.NoError(t, err)

	service := &Service{}
	plans := service.plansFor(&search.Parser{Vocabulary: vocabulary})
	t.Run("same vocabulary", func(t *testing.T) {
		require.Same(t, plans, service.plansFor(&search.Parser{Vocabulary: vocabulary}))
	})

	t.Run("other vocabulary", func(t *testing.T) {
		changed := service.plansFor(&search.Parser{Vocabulary: other})
		require.NotSame(t, plans, changed)
		require.Same(t, changed, service.plansFor(&search.Parser{Vocabulary: other}))
	})

	t.Run("full", func(t *testing.T) {
		full := service.plansFor(&search.Parser{Vocabulary: vocabulary})
		fill(full)
		require.NotSame(t, full, service.plansFor(&search.Parser{Vocabulary: vocabulary}))
	})
}

// fill makes the cache full by as many empty conditions as it may contain.
func fill(p *plans) {
	p.conditions = append(p.conditions, make([]search.Query, maxConditions)...)
}

// matchesAll is a matcher that finds all documents with any condition but one: an Or without arguments, which is the
// condition of a search that finds nothing.
type matchesAll []*search.Document

// AppendMatches implements search.Matcher.
func (m matchesAll) AppendMatches(ids []string, q *search.Query) []string {
	findsNothing := len(q.Must) == 1 && q.Must[0].Op == search.OpOr && len(q.Must[0].Args) == 0
	if findsNothing {
		return ids
	}

	for _, d := range m {
		ids = append(ids, d.ID)
	}

	return ids
}

// TestMatching_FullPlans_AreEmptied checks that matching continues with an empty cache of plans when the cache becomes
// full. The cache gives each condition a number, under which the result of the condition is stored. An empty cache
// gives the same numbers to other conditions, so that the old results must be dropped. In this test, old results
// would be noticed: the text "nurse" finds the listing, and the text "-", a search without words, finds nothing.
func TestMatching_FullPlans_AreEmptied(t *testing.T) {
	t.Parallel()

	vocabulary, err := search.Load()
	require.NoError(t, err)

	service := &Service{Deps: Deps{Clock: clock.System{}}}

	// One listing, with the id "a" and the position 0.
	gathered := &Gathered{
		service:      service,
		plans:        service.plansFor(&search.Parser{Vocabulary: vocabulary}),
		batch:        matchesAll{{ID: "a"}},
		listings:     make([]Listing, 1),
		positionByID: map[string]int{"a": 0},
		remaining:    make(bitset, 1),
	}
	for _, text := range []string{"nurse", "midwife", "nurse"} {
		found, err := gathered.Matching(t.Context(), FindKey{Text: text})
		require.NoError(t, err)
		require.Equal(t, []int{0}, found, "the position of the listing")

		full := gathered.plans
		fill(full)

		found, err = gathered.Matching(t.Context(), FindKey{Text: "-"})
		require.NoError(t, err)
		require.Empty(t, found)
		require.NotSame(t, full, gathered.plans)
	}
}

// publicListings is a repository that returns its listings for any ids.
type publicListings struct {
	PublicRepository
	listings []Listing
}

func (p publicListings) ListPublic(context.Context, []string, time.Time) ([]Listing, error) {
	return p.listings, nil
}

// TestGather_ListingThatCannotBeAnalyzed_IsSkippedAndLogged checks that a listing whose analysis panics does not prevent
// the alerts about the others. The validation of listings should not permit such a listing.
func TestGather_ListingThatCannotBeAnalyzed_IsSkippedAndLogged(t *testing.T) {
	t.Parallel()

	vocabulary, err := search.Load()
	require.NoError(t, err)

	var log bytes.Buffer
	engine := NewEngine(EngineDeps{Log: slog.New(slog.NewTextHandler(&log, nil))}, vocabulary)
	broken := Listing{ID: "broken", Content: Content{Salary: &Salary{}}} // pay without a bound

	var analyzed []*search.Document
	service := &Service{
		Deps: Deps{
			Clock:  clock.System{},
			Engine: engine,
			Public: publicListings{listings: []Listing{{ID: "a"}, broken, {ID: "b"}}},
			NewBatch: func(documents []*search.Document) (search.Matcher, error) {
				analyzed = documents
				return matchesAll(documents), nil
			},
		},
	}

	gathered, err := service.Gather(t.Context(), []string{"a", "broken", "b"})
	require.NoError(t, err)
	require.Len(t, analyzed, 2, "a and b")
	require.Len(t, gathered.Listings(), 2)
	require.Equal(t, "b", gathered.Listings()[1].ID)
	require.Contains(t, log.String(), "listing=broken")

	found, err := gathered.Matching(t.Context(), FindKey{Text: "nurse"})
	require.NoError(t, err)
	require.Equal(t, []int{0, 1}, found, "the positions of both listings")
}

// TestExactLevels checks exactLevels, which prepares a slot, such as the place of a search, for alerts about exact
// matches. The levels of a slot are alternative conditions, and a listing belongs to the first level that it
// satisfies. exactLevels omits the levels after the last exact one. It also reports whether every listing matches the
// slot exactly: this is so if a level for all listings is not preceded by a relaxed level.
func TestExactLevels(t *testing.T) {
	t.Parallel()

	exact := search.SlotLevel{Expr: search.HasKey("a"), Exact: true}
	relaxed := search.SlotLevel{Expr: search.HasKey("b")}
	all := search.SlotLevel{Expr: search.All(), Exact: true}

	for name, test := range map[string]struct {
		levels         []search.SlotLevel
		wantLevels     int
		wantMatchesAll bool
	}{
		"exact, relaxed":      {levels: []search.SlotLevel{exact, relaxed}, wantLevels: 1, wantMatchesAll: false},
		"relaxed, exact":      {levels: []search.SlotLevel{relaxed, exact}, wantLevels: 2, wantMatchesAll: false},
		"relaxed":             {levels: []search.SlotLevel{relaxed}, wantLevels: 0, wantMatchesAll: false},
		"exact, all":          {levels: []search.SlotLevel{exact, all}, wantLevels: 2, wantMatchesAll: true},
		"exact, relaxed, all": {levels: []search.SlotLevel{exact, relaxed, all}, wantLevels: 3, wantMatchesAll: false},
		"all, relaxed":        {levels: []search.SlotLevel{all, relaxed}, wantLevels: 1, wantMatchesAll: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			slot, matchesAll := exactLevels(search.Slot{Levels: test.levels})
			require.Len(t, slot.Levels, test.wantLevels)
			require.Equal(t, test.wantMatchesAll, matchesAll)
		})
	}
}
