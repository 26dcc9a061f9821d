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
		user, otherID := newID(), newID()
		listings := []string{newID(), newID(), newID(), newID()}
		for i, l := range listings {
			for range 2 {
				require.NoError(t, storage.Dismissals.Create(ctx, user, l, now.Add(time.Duration(i)*time.Hour), 3))
			}
		}
		require.NoError(t, storage.Dismissals.Create(ctx, otherID, listings[0], now, 3))
		got, err := storage.Dismissals.ListByListings(ctx, user, append(listings, newID()))
		require.NoError(t, err)
		require.ElementsMatch(t, listings[1:], got)
		none, err := storage.Dismissals.ListByListings(ctx, user, nil)
		require.NoError(t, err)
		require.Empty(t, none)
		got, err = storage.Dismissals.ListByListings(ctx, otherID, listings)
		require.NoError(t, err)
		require.Equal(t, listings[:1], got)
	})

	t.Run("same listing, concurrently", func(t *testing.T) {
		s, now := openJobseeker(t, open)
		user, listing := newID(), newID()
		together(t, 20, func(int) error { return s.Dismissals.Create(ctx, user, listing, now, 3) })
		got, err := s.Dismissals.ListByListings(ctx, user, []string{listing})
		require.NoError(t, err)
		require.Equal(t, []string{listing}, got)
	})
}
