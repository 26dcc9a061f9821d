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

// createdAnswer and conflictAnswer are responses of a successful and of a failed request.
var createdAnswer = idempotency.Answer{Status: 201, Body: []byte(`{"a":1}`)}

var conflictAnswer = idempotency.Answer{Status: 409, Body: []byte("{}")}

// idempotencySuite has the subtests of Idempotency.
type idempotencySuite struct {
	open IdentityOpener
}

// fresh returns an empty store, a request and the clock of the store.
func (su idempotencySuite) fresh(t *testing.T) (idempotency.Store, idempotency.Request, *fakeClock) {
	t.Helper()
	t.Parallel()

	clk := newFakeClock()
	storage := su.open(t, clk)
	requirePorts(t, storage)

	return storage.Idempotency, idempotency.Request{OwnerID: newID(), Operation: "POST /x", Key: "key-1", Fingerprint: "f"}, clk
}

// begin claims the request, for which no answer is stored.
func (su idempotencySuite) begin(t *testing.T, store idempotency.Store, request idempotency.Request) idempotency.Claim {
	t.Helper()

	claim, stored, err := store.Begin(t.Context(), request)
	require.NoError(t, err)
	require.Nil(t, stored)

	return claim
}

// stored requires that the answer is stored for the request.
func (su idempotencySuite) stored(
	t *testing.T, store idempotency.Store, request idempotency.Request, want idempotency.Answer,
) {
	t.Helper()

	_, got, err := store.Begin(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, &want, got)
}

// finishedRequest checks that a request is in progress until its answer is stored, which all
// later requests with the key get.
func (su idempotencySuite) finishedRequest(t *testing.T) {
	store, request, _ := su.fresh(t)
	claim := su.begin(t, store, request)
	_, _, err := store.Begin(t.Context(), request)
	require.ErrorIs(t, err, idempotency.ErrInProgress)
	require.NoError(t, store.Finish(t.Context(), claim, createdAnswer))

	for range 2 {
		su.stored(t, store, request, createdAnswer)
	}
}

// otherBodyOwnerOrOperation checks that a key with another body is an error, and that keys of
// other users and operations are independent.
func (su idempotencySuite) otherBodyOwnerOrOperation(t *testing.T) {
	store, request, _ := su.fresh(t)
	require.NoError(t, store.Finish(t.Context(), su.begin(t, store, request), createdAnswer))

	other := request
	other.Fingerprint = "g"
	_, _, err := store.Begin(t.Context(), other)
	require.ErrorIs(t, err, idempotency.ErrReused)

	for _, other := range []idempotency.Request{
		{OwnerID: newID(), Operation: request.Operation, Key: request.Key, Fingerprint: request.Fingerprint},
		{OwnerID: request.OwnerID, Operation: "POST /y", Key: request.Key, Fingerprint: request.Fingerprint},
		{OwnerID: request.OwnerID, Operation: request.Operation, Key: "key-2", Fingerprint: request.Fingerprint},
	} {
		su.begin(t, store, other)
	}
}

// releasedExpiredAndOldRequests checks that a request can be made again if it was released, if
// its lease has expired, and when its answer has been stored for long enough.
func (su idempotencySuite) releasedExpiredAndOldRequests(t *testing.T) {
	store, request, clk := su.fresh(t)
	require.NoError(t, store.Release(t.Context(), su.begin(t, store, request)))
	su.begin(t, store, request)
	clk.Advance(idempotency.Lease)

	claim := su.begin(t, store, request)
	require.NoError(t, store.Finish(t.Context(), claim, createdAnswer))
	require.NoError(t, store.Release(t.Context(), claim), "a stored answer stays")
	su.stored(t, store, request, createdAnswer)
	clk.Advance(idempotency.Keep)
	su.begin(t, store, request)
}

// leaseFromAClockAhead checks that the lease of a process whose clock is two days ahead does
// not block the key for two days.
func (su idempotencySuite) leaseFromAClockAhead(t *testing.T) {
	store, request, clk := su.fresh(t)
	clk.Advance(48 * time.Hour)
	su.begin(t, store, request)
	clk.Advance(-48 * time.Hour)
	su.begin(t, store, request)
}

// finishAfterALostClaim checks that a request that has lost its claim to a later one cannot
// replace the answer of that one.
func (su idempotencySuite) finishAfterALostClaim(t *testing.T) {
	store, request, clk := su.fresh(t)
	lost := su.begin(t, store, request)

	clk.Advance(idempotency.Lease)

	claim := su.begin(t, store, request)
	require.ErrorIs(t, store.Finish(t.Context(), lost, conflictAnswer), idempotency.ErrInProgress)
	require.ErrorIs(t, store.SetFallback(t.Context(), lost, conflictAnswer), idempotency.ErrInProgress)
	require.NoError(t, store.Release(t.Context(), lost))
	require.NoError(t, store.Finish(t.Context(), claim, createdAnswer))
	su.stored(t, store, request, createdAnswer)
}

// fallbackAfterTheLease checks that a request that changes something outside of the database,
// and then crashes, is answered with its fallback instead of being repeated.
func (su idempotencySuite) fallbackAfterTheLease(t *testing.T) {
	store, request, clk := su.fresh(t)
	claim := su.begin(t, store, request)
	require.NoError(t, store.SetFallback(t.Context(), claim, conflictAnswer))

	_, _, err := store.Begin(t.Context(), request)
	require.ErrorIs(t, err, idempotency.ErrInProgress)
	clk.Advance(idempotency.Lease)
	su.stored(t, store, request, conflictAnswer)
	require.NoError(t, store.Finish(t.Context(), claim, createdAnswer), "the only caller may still finish")
	su.stored(t, store, request, createdAnswer)
}

// releasedRequestWithAFallback checks that a fallback is the answer even if the request was
// released.
func (su idempotencySuite) releasedRequestWithAFallback(t *testing.T) {
	store, request, _ := su.fresh(t)
	claim := su.begin(t, store, request)
	require.NoError(t, store.SetFallback(t.Context(), claim, conflictAnswer))
	require.NoError(t, store.Release(t.Context(), claim))
	su.stored(t, store, request, conflictAnswer)
}

// concurrentClaims checks that one of twenty concurrent requests with a key is executed.
func (su idempotencySuite) concurrentClaims(t *testing.T) {
	store, request, _ := su.fresh(t)
	require.Equal(t, 1, countConcurrent(t, 20, func(int) (bool, error) {
		_, stored, err := store.Begin(context.Background(), request)
		return err == nil && stored == nil, nil // the others get ErrInProgress
	}))
}

// retention checks that keys are deleted only after idempotency.Keep, and at most as many per
// call as the limit says.
func (su idempotencySuite) retention(t *testing.T) {
	t.Parallel()

	clk := newFakeClock()

	storage := su.open(t, clk)
	for _, key := range []string{"a", "b", "c"} {
		su.begin(t, storage.Idempotency,
			idempotency.Request{OwnerID: newID(), Operation: "POST /x", Key: key, Fingerprint: "f"})
	}

	n, err := retentionOf(t, storage.Retention).DeleteBefore(t.Context(), idempotency.Keys, clk.Now(), 10)
	require.NoError(t, err)
	require.Zero(t, n)
	clk.Advance(idempotency.Keep + time.Second)

	for _, want := range []int{2, 1, 0} {
		n, err = retentionOf(t, storage.Retention).DeleteBefore(t.Context(), idempotency.Keys, clk.Now(), 2)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
}
