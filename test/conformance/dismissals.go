package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Dismissals checks the port jobseeker.Dismissals, which stores the listings that a user does not want to see. Create
// deletes the oldest dismissals of the user, so that no more than a limit remain.
func Dismissals(t *testing.T, open JobseekerOpener) {
	ctx := context.Background()
	const limit = 3

	// The fourth dismissal deletes the oldest one. A repeated dismissal of the same listing counts once. The dismissals
	// of another user do not count.
	t.Run("limit per user", func(t *testing.T) {
		storage, now := openJobseeker(t, open)
		user, otherUser := newID(), newID()

		oldest := newID()
		latest := []string{newID(), newID(), newID()}

		listings := append([]string{oldest}, latest...)
		for i, listing := range listings {
			at := now.Add(time.Duration(i) * time.Hour)

			for range 2 {
				require.NoError(t, storage.Dismissals.Create(ctx, user, listing, at, limit))
			}
		}

		require.NoError(t, storage.Dismissals.Create(ctx, otherUser, oldest, now, limit))

		got, err := storage.Dismissals.ListByListings(ctx, user, append(listings, newID()))
		require.NoError(t, err)
		require.ElementsMatch(t, latest, got)

		none, err := storage.Dismissals.ListByListings(ctx, user, nil)
		require.NoError(t, err)
		require.Empty(t, none)

		got, err = storage.Dismissals.ListByListings(ctx, otherUser, listings)
		require.NoError(t, err)
		require.Equal(t, []string{oldest}, got)
	})

	// Twenty concurrent dismissals of the same listing do not fail, and one is stored.
	t.Run("same listing, concurrently", func(t *testing.T) {
		storage, now := openJobseeker(t, open)
		user, listing := newID(), newID()
		runConcurrently(t, 20, func(int) error { return storage.Dismissals.Create(ctx, user, listing, now, limit) })

		got, err := storage.Dismissals.ListByListings(ctx, user, []string{listing})
		require.NoError(t, err)
		require.Equal(t, []string{listing}, got)
	})
}
