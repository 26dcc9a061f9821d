package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Dismissals checks the port jobseeker.Dismissals.
func Dismissals(t *testing.T, open JobseekerOpener) {
	ctx := context.Background()

	// With the limit of 3, the fourth dismissal deletes the oldest one. A repeated dismissal
	// does not count twice.
	t.Run("limit per user", func(t *testing.T) {
		storage, now := openJobseeker(t, open)
		user, otherUser := newID(), newID()

		listings := []string{newID(), newID(), newID(), newID()}
		for i, listing := range listings {
			for range 2 {
				at := now.Add(time.Duration(i) * time.Hour)
				require.NoError(t, storage.Dismissals.Create(ctx, user, listing, at, 3))
			}
		}

		require.NoError(t, storage.Dismissals.Create(ctx, otherUser, listings[0], now, 3))

		got, err := storage.Dismissals.ListByListings(ctx, user, append(listings, newID()))
		require.NoError(t, err)
		require.ElementsMatch(t, listings[1:], got)

		none, err := storage.Dismissals.ListByListings(ctx, user, nil)
		require.NoError(t, err)
		require.Empty(t, none)

		got, err = storage.Dismissals.ListByListings(ctx, otherUser, listings)
		require.NoError(t, err)
		require.Equal(t, listings[:1], got)
	})

	t.Run("same listing, concurrently", func(t *testing.T) {
		storage, now := openJobseeker(t, open)
		user, listing := newID(), newID()
		runConcurrently(t, 20, func(int) error { return storage.Dismissals.Create(ctx, user, listing, now, 3) })

		got, err := storage.Dismissals.ListByListings(ctx, user, []string{listing})
		require.NoError(t, err)
		require.Equal(t, []string{listing}, got)
	})
}
