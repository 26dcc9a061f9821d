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
	org     string    // the organization of all listings
	now     time.Time // when the latest listing was created
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

	store := &indexedStore{
		Storage: open(t, clk),
		index:   index,
		parser:  search.Parser{Vocabulary: vocabulary},
		org:     stores.NewID(),
		now:     clk.Now(),
	}
	feed, changes := store.Listings.Feed, store.Listings.Changes
	store.indexer = listings.NewIndexer(feed, index, vocabulary, changes, slog.New(slog.DiscardHandler))

	return store
}

// create stores an open listing with the title, one second newer than the previous one.
func (s *indexedStore) create(t *testing.T, title string) listings.Listing {
	t.Helper()

	s.now = s.now.Add(time.Second)
	listing := listings.Listing{
		ID:             stores.NewID(),
		OrganizationID: s.org,
		Version:        1,
		Status:         listings.Active,
		Open:           true,
		PostedAt:       &s.now,
		CreatedAt:      s.now,
		UpdatedAt:      s.now,
		Content:        listings.Content{Title: title, Description: "Days and nights on a 12-bed unit."},
	}
	require.NoError(t, s.Identity.Tx.Do(t.Context(), func(ctx context.Context) error {
		return s.Listings.Listings.Create(ctx, []listings.Listing{listing})
	}))

	return listing
}

// save stores the changed listing.
func (s *indexedStore) save(t *testing.T, l listings.Listing) {
	t.Helper()
	require.NoError(t, s.Identity.Tx.Do(t.Context(), func(ctx context.Context) error {
		return s.Listings.Listings.Update(ctx, s.org, []listings.Listing{l})
	}))
}

// find returns the ids of the exact results, the best first.
func (s *indexedStore) find(t *testing.T, query string) []string {
	t.Helper()

	const limit = 10 // more than there are

	understanding := s.parser.Parse(query)
	plan := understanding.Plan(listings.DefaultRadius)
	found, err := s.index.Find(t.Context(), search.Query{Now: s.now, Must: plan.Must, Slots: plan.Slots, Limit: limit})
	require.NoError(t, err)
	require.Len(t, found.Hits, found.Total)

	ids := []string{}
	for _, hit := range found.Hits {
		ids = append(ids, hit.ID)
	}

	return ids
}

// TestIndexer_Changes_FoundByQueries checks that the index contains what the feed reports on
// each database: new, changed, closed and deleted listings, which are found by synonyms, too.
func TestIndexer_Changes_FoundByQueries(t *testing.T) {
	t.Parallel()
	stores.Each(t, func(t *testing.T, open func(testing.TB, clock.Clock) adapters.Storage) {
		store := newIndexedStore(t, open)
		catchUp := func() {
			t.Helper()
			require.NoError(t, store.indexer.CatchUp(t.Context()))
		}

		require.ErrorIs(t, store.indexer.CatchUp(t.Context()), listings.ErrFeedPosition, "the position of a new index")

		// Build the index with two listings. Queries find them by other words for the same.
		nurse := store.create(t, "Staff Nurse, ICU")
		physio := store.create(t, "Band 6 Physiotherapist (MSK)")
		built := 0
		require.NoError(t, store.indexer.Build(t.Context(), func(total int) { built = total }))
		require.Equal(t, 2, built)
		require.Equal(t, []string{nurse.ID}, store.find(t, "RN intensive care"))
		require.Equal(t, []string{physio.ID}, store.find(t, "physio "))

		// One listing is new, and another one gets a new title.
		rehab := store.create(t, "Physio, Neuro Rehab")
		nurse.Title = "Receptionist, ICU"
		store.save(t, nurse)
		catchUp()

		wordBeforeSynonym := []string{physio.ID, rehab.ID} // the word in the title before its other names
		require.Equal(t, wordBeforeSynonym, store.find(t, "physiotherapist "))
		require.Empty(t, store.find(t, "nurse "))
		require.Equal(t, []string{nurse.ID}, store.find(t, "receptionist "))

		// A listing is closed.
		rehab.Status, rehab.Open = listings.Closed, false
		store.save(t, rehab)
		catchUp()
		require.Equal(t, []string{physio.ID}, store.find(t, "physiotherapist "))

		// All listings are deleted.
		_, err := store.Listings.Loader.DeleteByOrganizations(t.Context(), []string{store.org})
		require.NoError(t, err)
		catchUp()
		require.Empty(t, store.find(t, "physiotherapist "))
	})
}

// TestIndexer_Follow_AppliesChangesUntilDone checks that a change is found without CatchUp while
// Follow runs, and that Follow ends with its context without an error.
func TestIndexer_Follow_AppliesChangesUntilDone(t *testing.T) {
	t.Parallel()
	stores.Each(t, func(t *testing.T, open func(testing.TB, clock.Clock) adapters.Storage) {
		store := newIndexedStore(t, open)
		require.NoError(t, store.indexer.Build(t.Context(), func(int) {}))

		// Follow runs until its context ends.
		ctx, cancel := context.WithCancel(t.Context())

		done := make(chan error, 1)
		go func() { done <- store.indexer.Follow(ctx, store.Listings.Outbox.Notifications(ctx), func() {}) }()

		store.create(t, "Midwife")

		isFound := func() bool { return len(store.find(t, "midwife ")) == 1 }
		require.Eventually(t, isFound, 30*time.Second, 5*time.Millisecond)
		cancel()
		require.NoError(t, <-done)
	})
}
