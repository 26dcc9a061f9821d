package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/idempotency"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// Idempotency is the suite of idempotency.Store.
func Idempotency(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	fresh := func(t *testing.T) (idempotency.Store, idempotency.Request, *kit.Clock) {
		t.Helper()
		t.Parallel()
		clk := kit.NewClock()
		return open(t, clk).Idempotency, idempotency.Request{OwnerID: stores.NewID(), Operation: "POST /x", Key: "key-1", Fingerprint: "f"}, clk
	}
	t.Run("the first caller does it, the next ones hear what it was answered", func(t *testing.T) {
		s, r, _ := fresh(t)
		got, err := s.Begin(t.Context(), r)
		require.NoError(t, err)
		require.Nil(t, got)
		_, err = s.Begin(t.Context(), r)
		require.ErrorIs(t, err, idempotency.ErrInProgress)
		want := idempotency.Answer{Status: 201, Body: []byte(`{"a":1}`)}
		require.NoError(t, s.Finish(t.Context(), r, want))
		for range 2 {
			got, err = s.Begin(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, &want, got)
		}
	})
	t.Run("another body, owner or operation is another request", func(t *testing.T) {
		s, r, _ := fresh(t)
		_, err := s.Begin(t.Context(), r)
		require.NoError(t, err)
		require.NoError(t, s.Finish(t.Context(), r, idempotency.Answer{Status: 200, Body: []byte("{}")}))
		other := r
		other.Fingerprint = "g"
		_, err = s.Begin(t.Context(), other)
		require.ErrorIs(t, err, idempotency.ErrReused)
		for _, other := range []idempotency.Request{
			{OwnerID: stores.NewID(), Operation: r.Operation, Key: r.Key, Fingerprint: r.Fingerprint},
			{OwnerID: r.OwnerID, Operation: "POST /y", Key: r.Key, Fingerprint: r.Fingerprint},
			{OwnerID: r.OwnerID, Operation: r.Operation, Key: "key-2", Fingerprint: r.Fingerprint},
		} {
			got, err := s.Begin(t.Context(), other)
			require.NoError(t, err)
			require.Nil(t, got)
		}
	})
	t.Run("what was abandoned, left running or kept long enough may be done again", func(t *testing.T) {
		s, r, clk := fresh(t)
		again := func() {
			t.Helper()
			got, err := s.Begin(t.Context(), r)
			require.NoError(t, err)
			require.Nil(t, got)
		}
		again()
		require.NoError(t, s.Abandon(t.Context(), r))
		again()
		clk.Advance(idempotency.Lease)
		again()
		require.NoError(t, s.Finish(t.Context(), r, idempotency.Answer{Status: 200}))
		require.NoError(t, s.Abandon(t.Context(), r), "an answer that is kept is not abandoned")
		got, err := s.Begin(t.Context(), r)
		require.NoError(t, err)
		require.NotNil(t, got)
		clk.Advance(idempotency.Keep)
		again()
	})
	t.Run("of twenty callers at once one does it", func(t *testing.T) {
		s, r, _ := fresh(t)
		require.Equal(t, 1, atOnce(t, 20, func(int) (bool, error) {
			got, err := s.Begin(context.Background(), r)
			return err == nil && got == nil, nil // the others hear that it is being done
		}))
	})
	t.Run("what is old is forgotten in bounded steps", func(t *testing.T) {
		s, r, clk := fresh(t)
		for _, key := range []string{"a", "b", "c"} {
			r.Key = key
			_, err := s.Begin(t.Context(), r)
			require.NoError(t, err)
		}
		n, err := s.Forget(t.Context(), 10)
		require.NoError(t, err)
		require.Zero(t, n)
		clk.Advance(idempotency.Keep + time.Second)
		for _, want := range []int{2, 1, 0} {
			n, err = s.Forget(t.Context(), 2)
			require.NoError(t, err)
			require.Equal(t, want, n)
		}
	})
}
