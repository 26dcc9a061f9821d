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

// TestFeed_OpenTransaction_PositionStaysSmall checks a feed of changes while a transaction that has
// recorded a change stays open and 20,000 later ones commit. The feed returns each change once, also
// the late one. A position in the feed must not list all these transactions, because it is stored and
// sent with every request.
func TestFeed_OpenTransaction_PositionStaysSmall(t *testing.T) {
	t.Parallel()

	db := migrated(t, kit.PostgresURL(t))
	feed := feed{db}
	from, err := feed.ReadOpen(t.Context(), func(*listings.Listing) error { return nil })
	require.NoError(t, err)

	const changes = 20_000

	// The change of this listing has the lowest number but is committed last.
	lateID := uuid.NewString()

	var position listings.FeedPosition
	require.NoError(t, db.Do(t.Context(), func(ctx context.Context) error {
		require.NoError(t, db.recordListings(ctx, []string{lateID}))

		// The later changes, each in a transaction of its own, on another connection than that of ctx.
		// Their listings do not exist, so that the feed returns them as deleted.
		require.NoError(t, db.reader.Exec(fmt.Sprintf(`DO $$ BEGIN FOR i IN 1..%d LOOP
			INSERT INTO listing_changes (listing_id, changed_at) VALUES (gen_random_uuid(), now());
			COMMIT;
		END LOOP; END $$`, changes)).Error)

		read := readToEnd(t, feed, from)
		require.Len(t, read.times, changes)
		require.NotContains(t, read.times, lateID)

		for id, times := range read.times {
			require.Equal(t, 1, times, "how often the feed returned %s", id)
		}

		const maxPosition = 500 // bytes, which is much less than the numbers of 20,000 transactions
		require.Less(t, read.longestPosition, maxPosition, "bytes of a position")

		position = read.end

		return nil
	}))

	// After the commit, the feed continues with the late change.
	read := readToEnd(t, feed, position)
	require.Equal(t, map[string]int{lateID: 1}, read.times)
}

// feedReading is what was read from a feed.
type feedReading struct {
	times           map[string]int // how often each changed listing was returned
	end             listings.FeedPosition
	longestPosition int // bytes
}

// readToEnd reads the feed to its end, 1,000 changes at a time. All changed listings must be
// deleted ones.
func readToEnd(t *testing.T, feed feed, from listings.FeedPosition) feedReading {
	t.Helper()

	read := feedReading{times: map[string]int{}, end: from}
	for {
		batch, err := feed.ListSince(t.Context(), read.end, 1_000)
		require.NoError(t, err)

		for _, id := range batch.Deleted {
			read.times[id]++
		}

		read.end = batch.Position
		read.longestPosition = max(read.longestPosition, len(batch.Position))

		if !batch.More {
			return read
		}
	}
}

// TestFeed_RowThatCannotBeDecoded_IsSkippedAndLogged checks that a damaged row does not stop the
// search index: the other listings are returned, and the log has the id of the damaged one.
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
			feed := feed{db}
			now := time.Now()
			from, err := feed.ReadOpen(t.Context(), func(*listings.Listing) error { return nil })
			require.NoError(t, err)

			// Three listings, one of which is damaged: it has an object in place of a list.
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

			batch, err := feed.ListSince(t.Context(), from, 10)
			require.NoError(t, err)
			require.Len(t, batch.Listings, 2)
			require.Empty(t, batch.Deleted)
			requireDamageIsLogged()

			openListings := 0
			_, err = feed.ReadOpen(t.Context(), func(*listings.Listing) error {
				openListings++
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, 2, openListings, "the listings that are not damaged")
			requireDamageIsLogged()

			// ListPublic returns the listings that are matched with saved searches.
			public, err := listingRepository{db}.ListPublic(t.Context(), listingIDs(created), now)
			require.NoError(t, err)
			require.Len(t, public, 2)
			requireDamageIsLogged()
		})
	}
}
