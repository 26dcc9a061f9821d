package bootstrap

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/searchindex"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/modules/listings"
	"github.com/locumhq/locum/modules/listings/search"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// indexedStore is a store with a search index that follows its changes.
type indexedStore struct {
	adapters.Storage
	indexer *listings.Indexer
	index   search.Index
	parser  search.Parser
	org     string
	now     time.Time
}

// newIndexedStore returns a store with an empty index in memory.
func newIndexedStore(t *testing.T, open func(testing.TB, clock.Clock) adapters.Storage) *indexedStore {
	t.Helper()

	clk := kit.NewClock()
	vocabulary, err := search.Load()
	require.NoError(t, err)

	index, err := searchindex.Open(searchindex.Options{Normalize: search.Normalize, Analyzer: "1"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, index.Close()) })

	x := &indexedStore{
		Storage: open(t, clk),
		index:   index,
		parser:  search.Parser{Vocabulary: vocabulary},
		org:     stores.NewID(),
		now:     clk.Now(),
	}
	x.indexer = listings.NewIndexer(x.Listings.Feed, index, vocabulary, x.Listings.Changes, slog.New(slog.DiscardHandler))

	return x
}

// create stores an open listing with the title, one second newer than the previous one.
func (x *indexedStore) create(t *testing.T, title string) listings.Listing {
	t.Helper()

	x.now = x.now.Add(time.Second)
	listing := listings.Listing{
		ID:             stores.NewID(),
		OrganizationID: x.org,
		Version:        1,
		Status:         listings.Active,
		Open:           true,
		PostedAt:       &x.now,
		CreatedAt:      x.now,
		UpdatedAt:      x.now,
		Content:        listings.Content{Title: title, Description: "Days and nights on a 12-bed unit."},
	}
	require.NoError(t, x.Identity.Tx.Do(t.Context(), func(ctx context.Context) error {
		return x.Listings.Listings.Create(ctx, []listings.Listing{listing})
	}))

	return listing
}

// save stores the changed listing.
func (x *indexedStore) save(t *testing.T, l listings.Listing) {
	t.Helper()
	require.NoError(t, x.Identity.Tx.Do(t.Context(), func(ctx context.Context) error {
		return x.Listings.Listings.Update(ctx, x.org, []listings.Listing{l})
	}))
}

// find returns the ids of the exact results, the best first.
func (x *indexedStore) find(t *testing.T, query string) []string {
	t.Helper()

	u := x.parser.Parse(query)
	plan := u.Plan(listings.DefaultRadius)
	r, err := x.index.Find(t.Context(), search.Query{Now: x.now, Must: plan.Must, Slots: plan.Slots, Limit: 10})
	require.NoError(t, err)
	require.Len(t, r.Hits, r.Total)

	ids := []string{}
	for _, h := range r.Hits {
		ids = append(ids, h.ID)
	}

	return ids
}

// TestIndexer_Changes_FoundByQueries checks that the index contains what the feed reports on
// each database: new, changed, closed and deleted listings, which are found by synonyms, too.
func TestIndexer_Changes_FoundByQueries(t *testing.T) {
	t.Parallel()
	stores.Each(t, func(t *testing.T, open func(testing.TB, clock.Clock) adapters.Storage) {
		x := newIndexedStore(t, open)
		require.ErrorIs(t, x.indexer.CatchUp(t.Context()), listings.ErrFeedPosition, "the position of a new index")

		nurse, physio := x.create(t, "Staff Nurse, ICU"), x.create(t, "Band 6 Physiotherapist (MSK)")
		built := 0
		require.NoError(t, x.indexer.Build(t.Context(), func(n int) { built = n }))
		require.Equal(t, 2, built)
		require.Equal(t, []string{nurse.ID}, x.find(t, "RN intensive care"))
		require.Equal(t, []string{physio.ID}, x.find(t, "physio "))

		rehab := x.create(t, "Physio, Neuro Rehab")
		nurse.Title = "Receptionist, ICU"
		x.save(t, nurse)
		require.NoError(t, x.indexer.CatchUp(t.Context()))
		require.Equal(
			t,
			[]string{physio.ID, rehab.ID},
			x.find(t, "physiotherapist "),
			"the word in the title before its other names",
		)
		require.Empty(t, x.find(t, "nurse "))
		require.Equal(t, []string{nurse.ID}, x.find(t, "receptionist "))

		rehab.Status, rehab.Open = listings.Closed, false
		x.save(t, rehab)
		require.NoError(t, x.indexer.CatchUp(t.Context()))
		require.Equal(t, []string{physio.ID}, x.find(t, "physiotherapist "))

		_, err := x.Listings.Loader.DeleteByOrganizations(t.Context(), []string{x.org})
		require.NoError(t, err)
		require.NoError(t, x.indexer.CatchUp(t.Context()))
		require.Empty(t, x.find(t, "physiotherapist "))
	})
}

// TestIndexer_Follow_AppliesChangesUntilDone checks that a change is found without CatchUp while
// Follow runs, and that Follow ends with its context without an error.
func TestIndexer_Follow_AppliesChangesUntilDone(t *testing.T) {
	t.Parallel()
	stores.Each(t, func(t *testing.T, open func(testing.TB, clock.Clock) adapters.Storage) {
		x := newIndexedStore(t, open)
		require.NoError(t, x.indexer.Build(t.Context(), func(int) {}))

		ctx, cancel := context.WithCancel(t.Context())

		done := make(chan error, 1)
		go func() { done <- x.indexer.Follow(ctx, x.Listings.Outbox.Notifications(ctx), func() {}) }()

		l := x.create(t, "Midwife")
		require.Eventually(t, func() bool { return len(x.find(t, "midwife ")) == 1 }, 30*time.Second, 5*time.Millisecond, l.ID)
		cancel()
		require.NoError(t, <-done)
	})
}
