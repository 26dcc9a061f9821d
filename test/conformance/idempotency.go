package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/idempotency"
)

// Idempotency checks the port idempotency.Store.
func Idempotency(t *testing.T, open IdentityOpener) {
	fresh := func(t *testing.T) (idempotency.Store, idempotency.Request, *fakeClock) {
		t.Helper()
		t.Parallel()
		clk := newFakeClock()
		s := open(t, clk)
		requirePorts(t, s)
		return s.Idempotency, idempotency.Request{OwnerID: newID(), Operation: "POST /x", Key: "key-1", Fingerprint: "f"}, clk
	}
	begin := func(t *testing.T, s idempotency.Store, r idempotency.Request) idempotency.Claim {
		t.Helper()
		claim, stored, err := s.Begin(t.Context(), r)
		require.NoError(t, err)
		require.Nil(t, stored)
		return claim
	}
	stored := func(t *testing.T, s idempotency.Store, r idempotency.Request, want idempotency.Answer) {
		t.Helper()
		_, got, err := s.Begin(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, &want, got)
	}
	created, conflict := idempotency.Answer{Status: 201, Body: []byte(`{"a":1}`)}, idempotency.Answer{Status: 409, Body: []byte("{}")}
	t.Run("finished request", func(t *testing.T) {
		s, r, _ := fresh(t)
		claim := begin(t, s, r)
		_, _, err := s.Begin(t.Context(), r)
		require.ErrorIs(t, err, idempotency.ErrInProgress)
		require.NoError(t, s.Finish(t.Context(), claim, created))
		for range 2 {
			stored(t, s, r, created)
		}
	})
	t.Run("other body, owner or operation", func(t *testing.T) {
		s, r, _ := fresh(t)
		require.NoError(t, s.Finish(t.Context(), begin(t, s, r), created))
		other := r
		other.Fingerprint = "g"
		_, _, err := s.Begin(t.Context(), other)
		require.ErrorIs(t, err, idempotency.ErrReused)
		for _, other := range []idempotency.Request{
			{OwnerID: newID(), Operation: r.Operation, Key: r.Key, Fingerprint: r.Fingerprint},
			{OwnerID: r.OwnerID, Operation: "POST /y", Key: r.Key, Fingerprint: r.Fingerprint},
			{OwnerID: r.OwnerID, Operation: r.Operation, Key: "key-2", Fingerprint: r.Fingerprint},
		} {
			begin(t, s, other)
		}
	})
	t.Run("released, expired and old requests", func(t *testing.T) {
		s, r, clk := fresh(t)
		require.NoError(t, s.Release(t.Context(), begin(t, s, r)))
		begin(t, s, r)
		clk.Advance(idempotency.Lease)
		claim := begin(t, s, r)
		require.NoError(t, s.Finish(t.Context(), claim, created))
		require.NoError(t, s.Release(t.Context(), claim), "a stored answer stays")
		stored(t, s, r, created)
		clk.Advance(idempotency.Keep)
		begin(t, s, r)
	})
	t.Run("lease from a clock ahead", func(t *testing.T) {
		s, r, clk := fresh(t)
		clk.Advance(48 * time.Hour)
		begin(t, s, r)
		clk.Advance(-48 * time.Hour)
		begin(t, s, r)
	})
	t.Run("finish after a lost claim", func(t *testing.T) {
		s, r, clk := fresh(t)
		late := begin(t, s, r)
		clk.Advance(idempotency.Lease)
		claim := begin(t, s, r)
		require.ErrorIs(t, s.Finish(t.Context(), late, conflict), idempotency.ErrInProgress)
		require.ErrorIs(t, s.SetFallback(t.Context(), late, conflict), idempotency.ErrInProgress)
		require.NoError(t, s.Release(t.Context(), late))
		require.NoError(t, s.Finish(t.Context(), claim, created))
		stored(t, s, r, created)
	})
	t.Run("fallback after the lease", func(t *testing.T) {
		s, r, clk := fresh(t)
		claim := begin(t, s, r)
		require.NoError(t, s.SetFallback(t.Context(), claim, conflict))
		_, _, err := s.Begin(t.Context(), r)
		require.ErrorIs(t, err, idempotency.ErrInProgress)
		clk.Advance(idempotency.Lease)
		stored(t, s, r, conflict)
		require.NoError(t, s.Finish(t.Context(), claim, created), "the only caller may still finish")
		stored(t, s, r, created)
	})
	t.Run("released request with a fallback", func(t *testing.T) {
		s, r, _ := fresh(t)
		claim := begin(t, s, r)
		require.NoError(t, s.SetFallback(t.Context(), claim, conflict))
		require.NoError(t, s.Release(t.Context(), claim))
		stored(t, s, r, conflict)
	})
	t.Run("concurrent claims", func(t *testing.T) {
		s, r, _ := fresh(t)
		require.Equal(t, 1, atOnce(t, 20, func(int) (bool, error) {
			_, got, err := s.Begin(context.Background(), r)
			return err == nil && got == nil, nil // the others get ErrInProgress
		}))
	})
	t.Run("retention", func(t *testing.T) {
		t.Parallel()
		clk := newFakeClock()
		s := open(t, clk)
		for _, key := range []string{"a", "b", "c"} {
			begin(t, s.Idempotency, idempotency.Request{OwnerID: newID(), Operation: "POST /x", Key: key, Fingerprint: "f"})
		}
		n, err := retentionOf(t, s.Retention).DeleteBefore(t.Context(), idempotency.Keys, clk.Now(), 10)
		require.NoError(t, err)
		require.Zero(t, n)
		clk.Advance(idempotency.Keep + time.Second)
		for _, want := range []int{2, 1, 0} {
			n, err = retentionOf(t, s.Retention).DeleteBefore(t.Context(), idempotency.Keys, clk.Now(), 2)
			require.NoError(t, err)
			require.Equal(t, want, n)
		}
	})
}
