package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

func dismissals(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	ctx, id := context.Background(), stores.NewID
	t.Run("keeps a user's, each once, the oldest not for ever", func(t *testing.T) {
		t.Parallel()
		clk := kit.NewClock()
		s, now, user, other := open(t, clk).Jobseeker.Dismissals, clk.Now(), id(), id()
		listings := []string{id(), id(), id(), id()}
		for i, l := range listings {
			for range 2 {
				require.NoError(t, s.Add(ctx, user, l, now.Add(time.Duration(i)*time.Hour), 3))
			}
		}
		require.NoError(t, s.Add(ctx, other, listings[0], now, 3))
		among, err := s.Among(ctx, user, append(listings, id()))
		require.NoError(t, err)
		require.Equal(t, map[string]bool{listings[1]: true, listings[2]: true, listings[3]: true}, among)
		none, err := s.Among(ctx, user, nil)
		require.NoError(t, err)
		require.Empty(t, none)
		require.NoError(t, s.Delete(ctx, user))
		among, err = s.Among(ctx, user, listings)
		require.NoError(t, err)
		require.Empty(t, among)
		among, err = s.Among(ctx, other, listings)
		require.NoError(t, err)
		require.Equal(t, map[string]bool{listings[0]: true}, among)
	})
	t.Run("keeps one however many come at once", func(t *testing.T) {
		t.Parallel()
		clk := kit.NewClock()
		s, user, listing := open(t, clk).Jobseeker.Dismissals, id(), id()
		together(t, 20, func(int) error { return s.Add(ctx, user, listing, clk.Now(), 3) })
		among, err := s.Among(ctx, user, []string{listing})
		require.NoError(t, err)
		require.Len(t, among, 1)
	})
}
