package gormdb

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/listings"
	"github.com/locumhq/locum/test/kit"
)

// TestFeed_OpenTransaction_ReturnsEachChangeOnce checks the feed, the changes of listings by which search
// indexes are updated, while a transaction that has recorded a change stays open and 20,000 later ones
// commit. The feed returns each change once, also the late one. A position in the feed must not list all
// these transactions, because it is stored and sent with every request.
func TestFeed_OpenTransaction_ReturnsEachChangeOnce(t *testing.T) {
	t.Parallel()

	db := migrated(t, kit.PostgresURL(t))
	changeFeed := feed{db}

	// The position before all changes. There are no listings yet.
	start, err := changeFeed.ReadOpen(t.Context(), ignoreListing)
	require.NoError(t, err)

	const laterChanges = 20_000

	// The change of this listing has the lowest number but is committed last.
	lateID := uuid.NewString()

	var beforeCommit listings.FeedPosition
	require.NoError(t, db.Do(t.Context(), func(ctx context.Context) error {
		require.NoError(t, db.recordListings(ctx, []string{lateID}))

		// The later changes, each in a transaction of its own, on another connection than that of ctx.
		// Their listings do not exist, so that the feed returns them as deleted.
		require.NoError(t, db.reader.Exec(fmt.Sprintf(`DO $$ BEGIN FOR i IN 1..%d LOOP
			INSERT INTO listing_changes (listing_id, changed_at) VALUES (gen_random_uuid(), now());
			COMMIT;
		END LOOP; END $$`, laterChanges)).Error)

		// While the late change is not committed, the feed returns the others, each once.
		reading := readToEnd(t, changeFeed, start)
		require.Len(t, reading.timesByID, laterChanges)
		require.NotContains(t, reading.timesByID, lateID)

		for id, times := range reading.timesByID {
			require.Equal(t, 1, times, "how often the feed returned %s", id)
		}

		const maxPosition = 500 // bytes, which is much less than the numbers of 20,000 transactions
		require.Less(t, reading.longestPosition, maxPosition, "bytes of a position")

		beforeCommit = reading.end

		return nil
	}))

	// After the commit, the feed continues with the late change.
	reading := readToEnd(t, changeFeed, beforeCommit)
	require.Equal(t, map[string]int{lateID: 1}, reading.timesByID)
}

// ignoreListing is an argument of ReadOpen for tests that need only the position that it returns.
func ignoreListing(*listings.Listing) error { return nil }

// feedReading is what was read from a feed.
type feedReading struct {
	timesByID       map[string]int        // how often each changed listing was returned
	end             listings.FeedPosition // the position after the last change
	longestPosition int                   // in bytes
}

// readToEnd reads the feed to its end, in batches. All changed listings must be deleted ones.
func readToEnd(t *testing.T, changeFeed feed, start listings.FeedPosition) feedReading {
	t.Helper()

	const batchSize = 1_000

	reading := feedReading{timesByID: map[string]int{}, end: start}
	for {
		batch, err := changeFeed.ListSince(t.Context(), reading.end, batchSize)
		require.NoError(t, err)

		for _, id := range batch.Deleted {
			reading.timesByID[id]++
		}

		reading.end = batch.Position
		reading.longestPosition = max(reading.longestPosition, len(batch.Position))

		if !batch.More {
			return reading
		}
	}
}

// TestFeed_RowThatCannotBeDecoded_IsSkippedAndLogged checks that a damaged row does not stop the search
// index. Each method that reads listings for the search, ListSince, ReadOpen and ListPublic, returns the
// other listings and writes the id of the damaged one to the log.
func TestFeed_RowThatCannotBeDecoded_IsSkippedAndLogged(t *testing.T) {
	t.Parallel()

	for name, newURL := range map[string]func(t testing.TB) string{
		"sqlite":   func(t testing.TB) string { return "sqlite:" + t.TempDir() + "/test.db" },
		"postgres": kit.PostgresURL,
		"mysql":    kit.MariaDBURL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := migrated(t, newURL(t))
			var log bytes.Buffer
			db.log = slog.New(slog.NewTextHandler(&log, nil))

			// The position before the listings are created.
			changeFeed := feed{db}
			start, err := changeFeed.ReadOpen(t.Context(), ignoreListing)
			require.NoError(t, err)

			// Three listings, one of which is damaged: it has an object in place of a list.
			now := time.Now()

			var created []listings.Listing
			for range 3 {
				created = append(created, listings.Listing{
					ID:             uuid.NewString(),
					OrganizationID: uuid.NewString(),
					Version:        1,
					Status:         listings.Active,
					Open:           true,
					PostedAt:       &now,
				})
			}

			require.NoError(t, listingRepository{db}.Create(t.Context(), created))

			damagedID := created[1].ID
			require.NoError(t, db.writer.Exec("UPDATE listings SET requirements = '{}' WHERE id = ?", damagedID).Error)

			requireDamageIsLogged := func() {
				t.Helper()
				require.Contains(t, log.String(), damagedID)
				log.Reset()
			}

			const undamaged = 2

			// ListSince returns the changed listings, by which an index is updated.
			const batchSize = 10

			batch, err := changeFeed.ListSince(t.Context(), start, batchSize)
			require.NoError(t, err)
			require.Len(t, batch.Listings, undamaged)
			require.Empty(t, batch.Deleted)
			requireDamageIsLogged()

			// ReadOpen returns all open listings, from which an index is built.
			openListings := 0
			_, err = changeFeed.ReadOpen(t.Context(), func(*listings.Listing) error {
				openListings++
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, undamaged, openListings)
			requireDamageIsLogged()

			// ListPublic returns the listings that are matched with saved searches.
			public, err := listingRepository{db}.ListPublic(t.Context(), listingIDs(created), now)
			require.NoError(t, err)
			require.Len(t, public, undamaged)
			requireDamageIsLogged()
		})
	}
}
