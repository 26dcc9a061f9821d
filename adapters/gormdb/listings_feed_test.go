package gormdb

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/listings"
	"github.com/locumhq/locum/test/kit"
)

// drainFeed reads the feed to its end and returns how often each listing was
// returned, and the size of the longest position.
func drainFeed(t *testing.T, d feed, from listings.FeedPosition, n int) (seen map[string]int, end listings.FeedPosition, longest int) {
	t.Helper()
	seen = map[string]int{}
	for more := true; more; {
		batch, err := d.ListSince(t.Context(), from, n)
		require.NoError(t, err)
		for _, id := range batch.Deleted { // the test stores no listings
			seen[id]++
		}
		from, more, longest = batch.Position, batch.More, max(longest, len(batch.Position))
	}
	return seen, from, longest
}

// TestFeed_OpenTransaction_PositionStaysSmall checks that the feed returns each change once,
// also that of a transaction that commits after 20,000 later ones, and that a position does not
// list all of these transactions: it is stored and sent with every request.
func TestFeed_OpenTransaction_PositionStaysSmall(t *testing.T) {
	t.Parallel()
	db := migrated(t, kit.PostgresURL(t))
	feed := feed{db}
	from, err := feed.ReadOpen(t.Context(), func(*listings.Listing) error { return nil })
	require.NoError(t, err)

	const changes = 20_000
	// The change of late has the lowest number but is committed last.
	late := uuid.NewString()
	var position listings.FeedPosition
	require.NoError(t, db.Do(t.Context(), func(ctx context.Context) error {
		require.NoError(t, db.recordListings(ctx, []string{late}))
		// Outside of ctx: a transaction for each change.
		require.NoError(t, db.reader.Exec(`DO $$ BEGIN FOR i IN 1..20000 LOOP
			INSERT INTO listing_changes (listing_id, changed_at) VALUES (gen_random_uuid(), now());
			COMMIT;
		END LOOP; END $$`).Error)
		seen, end, longest := drainFeed(t, feed, from, 1_000)
		require.Len(t, seen, changes)
		require.NotContains(t, seen, late)
		for id, n := range seen {
			require.Equal(t, 1, n, id)
		}
		require.Less(t, longest, 500, "bytes")
		position = end
		return nil
	}))
	seen, _, _ := drainFeed(t, feed, position, 1_000)
	require.Equal(t, map[string]int{late: 1}, seen)
}

// TestFeed_RowThatCannotBeDecoded_IsSkippedAndLogged checks that a damaged row does not stop the
// search index: the other listings are returned, and the log has the id of the damaged one.
func TestFeed_RowThatCannotBeDecoded_IsSkippedAndLogged(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(t testing.TB) string{
		"sqlite":   func(t testing.TB) string { return "sqlite:" + t.TempDir() + "/test.db" },
		"postgres": kit.PostgresURL, "mysql": kit.MariaDBURL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := migrated(t, url(t))
			var log bytes.Buffer
			db.log = slog.New(slog.NewTextHandler(&log, nil))
			feed, now := feed{db}, time.Now()
			from, err := feed.ReadOpen(t.Context(), func(*listings.Listing) error { return nil })
			require.NoError(t, err)
			var ls [3]listings.Listing
			for i := range ls {
				ls[i] = listings.Listing{
					ID:             uuid.NewString(),
					OrganizationID: uuid.NewString(),
					Version:        1,
					Status:         listings.Active,
					Open:           true,
					PostedAt:       &now,
				}
			}
			require.NoError(t, listingRepository{db}.Create(t.Context(), ls[:]))
			// An object in place of a list.
			require.NoError(t, db.writer.Exec("UPDATE listings SET requirements = '{}' WHERE id = ?", ls[1].ID).Error)

			batch, err := feed.ListSince(t.Context(), from, 10)
			require.NoError(t, err)
			require.Len(t, batch.Listings, 2)
			require.Empty(t, batch.Deleted)
			require.Contains(t, log.String(), ls[1].ID)
			log.Reset()
			n := 0
			_, err = feed.ReadOpen(t.Context(), func(*listings.Listing) error { n++; return nil })
			require.NoError(t, err)
			require.Equal(t, 2, n)
			require.Contains(t, log.String(), ls[1].ID)
			log.Reset()
			publicCondition, err := listingRepository{db}.ListPublic(t.Context(), []string{ls[0].ID, ls[1].ID, ls[2].ID}, now, true)
			require.NoError(t, err, "the others are matched with saved searches")
			require.Len(t, publicCondition, 2)
			require.Contains(t, log.String(), ls[1].ID)
		})
	}
}
