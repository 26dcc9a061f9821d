package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/modules/listings"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// maxVisibility is the time within which 95 % of changes must be found on another instance.
// BenchmarkSearch in test/bench allows a tenth of it.
const maxVisibility = time.Second

// TestSearch_OnAnotherInstance_FindsEveryChange checks that the search index of another
// instance misses no change, even that of a transaction which began before others and commits
// after them.
func TestSearch_OnAnotherInstance_FindsEveryChange(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	first := start(t, dir, "LOCUM_DATABASE_URL="+kit.PostgresURL(t))
	second := &testServer{
		dir:    dir,
		env:    append(slices.Clip(first.env), "LOCUM_SEARCH_URL=embedded:search-of-two"),
		log:    &kit.Log{},
		exited: make(chan error, 1),
	}
	second.serve(t)

	employer := first.employer(t)
	guest := second.guest(t)

	// total returns the number of listings with the word that a search on the second instance finds.
	total := func(word string) float64 {
		return guest.try("POST", "/api/listings/search", object{"query": `"` + word + `"`}).ok(200).number("data.total")
	}

	// waitUntilFound is called right after the listing with the word was committed. It adds the time until the second
	// instance finds the listing to visibleAfter.
	var visibleAfter []time.Duration
	waitUntilFound := func(word string) {
		t.Helper()

		committed := time.Now()
		for total(word) == 0 {
			require.Less(t, time.Since(committed), waitTimeout, "%s was missed", word)
		}

		visibleAfter = append(visibleAfter, time.Since(committed))
	}

	// A transaction inserts the listing "openlong" before the others, and commits it after them.
	commitOpenLong := insertWithoutCommit(t, first, "openlong")

	// While that transaction is open, the second instance finds each of the later listings.
	for i := range 50 {
		word := fmt.Sprintf("early%d", i)
		employer.listing(object{"title": "Staff Nurse " + word})
		waitUntilFound(word)
	}

	require.Zero(t, total("openlong"), "a listing is found before its transaction has committed")
	commitOpenLong()
	waitUntilFound("openlong")

	slices.Sort(visibleAfter)

	percentile95 := visibleAfter[len(visibleAfter)*95/100]
	require.Less(t, percentile95, maxVisibility, "95 %% of the changes were not found in time")
}

// insertWithoutCommit inserts a listing with the word in its title in a transaction that stays open. The returned
// function commits the transaction.
func insertWithoutCommit(t *testing.T, server *testServer, word string) (commitTransaction func()) {
	t.Helper()

	storage := stores.Open(t, server.databaseURL(), clock.System{})
	t.Cleanup(func() { require.NoError(t, storage.Identity.Close()) })

	now := time.Now().UTC()
	listing := listings.Listing{
		ID:             stores.NewID(),
		OrganizationID: stores.NewID(),
		Version:        1,
		Status:         listings.Active,
		Open:           true,
		PostedAt:       &now,
		CreatedAt:      now,
		UpdatedAt:      now,
	}
	listing.Title = "Staff Nurse " + word
	listing.Description = "Days and nights on a ward."

	inserted := make(chan struct{}) // closed when the listing is inserted
	commit := make(chan struct{})   // closed to commit the transaction
	result := make(chan error)      // of the transaction

	go func() {
		result <- storage.Identity.Tx.Do(t.Context(), func(ctx context.Context) error {
			err := storage.Listings.Listings.Create(ctx, []listings.Listing{listing})

			close(inserted)
			<-commit

			return err
		})
	}()

	<-inserted

	return func() {
		t.Helper()
		close(commit)
		require.NoError(t, <-result)
	}
}
