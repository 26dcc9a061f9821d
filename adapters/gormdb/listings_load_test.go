package gormdb_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/modules/listings"
	"github.com/locumhq/locum/test/kit/stores"
)

// TestLoad_CanceledInSecondTransaction_ContinuesWhenRepeated checks that a load of many listings can be
// repeated after it was interrupted. Listings are loaded in transactions of 20,000. The listings of the
// first transaction remain. The second load adds the other 1,000 without duplicates.
func TestLoad_CanceledInSecondTransaction_ContinuesWhenRepeated(t *testing.T) {
	t.Parallel()

	for name, open := range map[string]func(testing.TB, clock.Clock) adapters.Storage{
		"sqlite": stores.SQLite,
		"mysql":  stores.MariaDB,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loadTwice(t, open(t, clock.System{}))
		})
	}
}

// loadTwice loads the listings until the second transaction, and then completely.
func loadTwice(t *testing.T, storage adapters.Storage) {
	t.Helper()
	const (
		listingCount          = 21_000
		listingsInTransaction = 20_000
	)
	now := time.Now().UTC()
	organization := stores.NewID()

	ids := make([]string, listingCount)
	for i := range ids {
		ids[i] = stores.NewID()
	}

	var generate iter.Seq[listings.Listing] = func(yield func(listings.Listing) bool) {
		for _, id := range ids {
			listing := listings.Listing{
				ID:             id,
				OrganizationID: organization,
				Version:        1,
				Status:         listings.Active,
				Open:           true,
				PostedAt:       &now,
				CreatedAt:      now,
				UpdatedAt:      now,
				Content:        listings.Content{Title: "Nurse"},
			}
			if !yield(listing) {
				return
			}
		}
	}

	// stored returns the number of listings and the position of the feed.
	stored := func() (count int, position listings.FeedPosition) {
		position, err := storage.Listings.Feed.ReadOpen(t.Context(), func(*listings.Listing) error {
			count++
			return nil
		})
		require.NoError(t, err)

		return count, position
	}

	_, positionBefore := stored()

	ctx, cancel := context.WithCancel(t.Context())
	loaded := 0
	cancelInSecondTransaction := func(more int) {
		loaded += more
		if loaded > listingsInTransaction {
			cancel()
		}
	}
	require.Error(t, storage.Listings.Loader.Load(ctx, generate, cancelInSecondTransaction))

	count, positionAfterFirst := stored()
	require.Equal(t, listingsInTransaction, count)

	// The feed does not contain loaded listings one by one. Earlier positions become invalid instead.
	_, err := storage.Listings.Feed.ListSince(t.Context(), positionBefore, 10)
	require.ErrorIs(t, err, listings.ErrFeedPosition, "the search index must be built anew")

	require.NoError(t, storage.Listings.Loader.Load(t.Context(), generate, func(int) {}))

	count, positionAfterSecond := stored()
	require.Equal(t, listingCount, count)
	require.NotEqual(t, positionAfterFirst, positionAfterSecond)
}
