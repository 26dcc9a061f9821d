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
	su := idempotencySuite{open}
	t.Run("finished request", su.finishedRequest)
	t.Run("other body, owner or operation", su.otherBodyOwnerOrOperation)
	t.Run("released, expired and old requests", su.releasedExpiredAndOldRequests)
	t.Run("lease from a clock ahead", su.leaseFromAClockAhead)
	t.Run("finish after a lost claim", su.finishAfterALostClaim)
	t.Run("fallback after the lease", su.fallbackAfterTheLease)
	t.Run("released request with a fallback", su.releasedRequestWithAFallback)
	t.Run("concurrent claims", su.concurrentClaims)
	t.Run("retention", su.retention)
}

var createdAnswer = idempotency.Answer{Status: 201, Body: []byte(`{"a":1}`)}

var conflictAnswer = idempotency.Answer{Status: 409, Body: []byte("{}")}

// idempotencySuite has the subtests of Idempotency.
type idempotencySuite struct {
	open IdentityOpener
}

func (su idempotencySuite) fresh(t *testing.T) (idempotency.Store, idempotency.Request, *fakeClock) {
	t.Helper()
	t.Parallel()
	clk := newFakeClock()
	s := su.open(t, clk)
	requirePorts(t, s)
	return s.Idempotency, idempotency.Request{OwnerID: newID(), Operation: "POST /x", Key: "key-1", Fingerprint: "f"}, clk
}

func (su idempotencySuite) begin(t *testing.T, s idempotency.Store, r idempotency.Request) idempotency.Claim {
	t.Helper()
	claim, stored, err := s.Begin(t.Context(), r)
	require.NoError(t, err)
	require.Nil(t, stored)
	return claim
}

func (su idempotencySuite) stored(t *testing.T, s idempotency.Store, r idempotency.Request, want idempotency.Answer) {
	t.Helper()
	_, got, err := s.Begin(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, &want, got)
}

func (su idempotencySuite) finishedRequest(t *testing.T) {
	s, r, _ := su.fresh(t)
	claim := su.begin(t, s, r)
	_, _, err := s.Begin(t.Context(), r)
	require.ErrorIs(t, err, idempotency.ErrInProgress)
	require.NoError(t, s.Finish(t.Context(), claim, createdAnswer))
	for range 2 {
		su.stored(t, s, r, createdAnswer)
	}
}

func (su idempotencySuite) otherBodyOwnerOrOperation(t *testing.T) {
	s, r, _ := su.fresh(t)
	require.NoError(t, s.Finish(t.Context(), su.begin(t, s, r), createdAnswer))
	other := r
	other.Fingerprint = "g"
	_, _, err := s.Begin(t.Context(), other)
	require.ErrorIs(t, err, idempotency.ErrReused)
	for _, other := range []idempotency.Request{
		{OwnerID: newID(), Operation: r.Operation, Key: r.Key, Fingerprint: r.Fingerprint},
		{OwnerID: r.OwnerID, Operation: "POST /y", Key: r.Key, Fingerprint: r.Fingerprint},
		{OwnerID: r.OwnerID, Operation: r.Operation, Key: "key-2", Fingerprint: r.Fingerprint},
	} {
		su.begin(t, s, other)
	}
}

func (su idempotencySuite) releasedExpiredAndOldRequests(t *testing.T) {
	s, r, clk := su.fresh(t)
	require.NoError(t, s.Release(t.Context(), su.begin(t, s, r)))
	su.begin(t, s, r)
	clk.Advance(idempotency.Lease)
	claim := su.begin(t, s, r)
	require.NoError(t, s.Finish(t.Context(), claim, createdAnswer))
	require.NoError(t, s.Release(t.Context(), claim), "a stored answer stays")
	su.stored(t, s, r, createdAnswer)
	clk.Advance(idempotency.Keep)
	su.begin(t, s, r)
}

func (su idempotencySuite) leaseFromAClockAhead(t *testing.T) {
	s, r, clk := su.fresh(t)
	clk.Advance(48 * time.Hour)
	su.begin(t, s, r)
	clk.Advance(-48 * time.Hour)
	su.begin(t, s, r)
}

func (su idempotencySuite) finishAfterALostClaim(t *testing.T) {
	s, r, clk := su.fresh(t)
	late := su.begin(t, s, r)
	clk.Advance(idempotency.Lease)
	claim := su.begin(t, s, r)
	require.ErrorIs(t, s.Finish(t.Context(), late, conflictAnswer), idempotency.ErrInProgress)
	require.ErrorIs(t, s.SetFallback(t.Context(), late, conflictAnswer), idempotency.ErrInProgress)
	require.NoError(t, s.Release(t.Context(), late))
	require.NoError(t, s.Finish(t.Context(), claim, createdAnswer))
	su.stored(t, s, r, createdAnswer)
}

func (su idempotencySuite) fallbackAfterTheLease(t *testing.T) {
	s, r, clk := su.fresh(t)
	claim := su.begin(t, s, r)
	require.NoError(t, s.SetFallback(t.Context(), claim, conflictAnswer))
	_, _, err := s.Begin(t.Context(), r)
	require.ErrorIs(t, err, idempotency.ErrInProgress)
	clk.Advance(idempotency.Lease)
	su.stored(t, s, r, conflictAnswer)
	require.NoError(t, s.Finish(t.Context(), claim, createdAnswer), "the only caller may still finish")
	su.stored(t, s, r, createdAnswer)
}

func (su idempotencySuite) releasedRequestWithAFallback(t *testing.T) {
	s, r, _ := su.fresh(t)
	claim := su.begin(t, s, r)
	require.NoError(t, s.SetFallback(t.Context(), claim, conflictAnswer))
	require.NoError(t, s.Release(t.Context(), claim))
	su.stored(t, s, r, conflictAnswer)
}

func (su idempotencySuite) concurrentClaims(t *testing.T) {
	s, r, _ := su.fresh(t)
	require.Equal(t, 1, atOnce(t, 20, func(int) (bool, error) {
		_, got, err := s.Begin(context.Background(), r)
		return err == nil && got == nil, nil // the others get ErrInProgress
	}))
}

func (su idempotencySuite) retention(t *testing.T) {
	t.Parallel()
	clk := newFakeClock()
	s := su.open(t, clk)
	for _, key := range []string{"a", "b", "c"} {
		su.begin(t, s.Idempotency, idempotency.Request{OwnerID: newID(), Operation: "POST /x", Key: key, Fingerprint: "f"})
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
}
