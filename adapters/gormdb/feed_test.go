package gormdb

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/listings"
	"github.com/locumhq/locum/test/kit"
)

// drainFeed reads the feed to its end and returns how often each listing was
// returned, and the size of the longest position.
func drainFeed(t *testing.T, d Feed, from listings.FeedPosition, n int) (seen map[string]int, end listings.FeedPosition, longest int) {
	t.Helper()
	seen = map[string]int{}
	for more := true; more; {
		batch, err := d.Since(t.Context(), from, n)
		require.NoError(t, err)
		for _, id := range batch.Deleted { // the test stores no listings
			seen[id]++
		}
		from, more, longest = batch.Position, batch.More, max(longest, len(batch.Position))
	}
	return seen, from, longest
}

func TestFeed_OpenTransaction_PositionStaysSmall(t *testing.T) {
	t.Parallel()
	db := migrated(t, kit.PostgresURL(t))
	feed := Feed{db}
	from, err := feed.Open(t.Context(), func(*listings.Listing) error { return nil })
	require.NoError(t, err)

	const changes = 20_000
	late := uuid.NewString()
	var position listings.FeedPosition
	require.NoError(t, db.Do(t.Context(), func(ctx context.Context) error {
		require.NoError(t, db.recordListings(ctx, []string{late}))
		// Outside of ctx: a transaction for each change.
		require.NoError(t, db.gorm.Exec(`DO $$ BEGIN FOR i IN 1..20000 LOOP
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
