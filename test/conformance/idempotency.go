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
	suite := idempotencySuite{open}
	t.Run("finished request", suite.finishedRequest)
	t.Run("other body, owner or operation", suite.otherBodyOwnerOrOperation)
	t.Run("released, expired and old requests", suite.releasedExpiredAndOldRequests)
	t.Run("lease from a clock ahead", suite.leaseFromAClockAhead)
	t.Run("finish after a lost claim", suite.finishAfterALostClaim)
	t.Run("fallback after the lease", suite.fallbackAfterTheLease)
	t.Run("released request with a fallback", suite.releasedRequestWithAFallback)
	t.Run("concurrent claims", suite.concurrentClaims)
	t.Run("retention", suite.retention)
}

// createdAnswer and conflictAnswer are responses of a successful and of a failed request.
var createdAnswer = idempotency.Answer{Status: 201, Body: []byte(`{"a":1}`)}

var conflictAnswer = idempotency.Answer{Status: 409, Body: []byte("{}")}

// idempotencySuite has the subtests of Idempotency.
type idempotencySuite struct {
	open IdentityOpener
}

// fresh returns an empty store, a request and the clock of the store.
func (suite idempotencySuite) fresh(t *testing.T) (idempotency.Store, idempotency.Request, *fakeClock) {
	t.Helper()
	t.Parallel()

	clk := newFakeClock()
	storage := suite.open(t, clk)
	requirePorts(t, storage)

	return storage.Idempotency, idempotency.Request{OwnerID: newID(), Operation: "POST /x", Key: "key-1", Fingerprint: "f"}, clk
}

// begin claims the request, for which no answer is stored.
func (suite idempotencySuite) begin(t *testing.T, store idempotency.Store, request idempotency.Request) idempotency.Claim {
	t.Helper()

	claim, stored, err := store.Begin(t.Context(), request)
	require.NoError(t, err)
	require.Nil(t, stored)

	return claim
}

// stored requires that the answer is stored for the request.
func (suite idempotencySuite) stored(
	t *testing.T, store idempotency.Store, request idempotency.Request, want idempotency.Answer,
) {
	t.Helper()

	_, got, err := store.Begin(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, &want, got)
}

// finishedRequest checks that a request is in progress until its answer is stored, which all
// later requests with the key get.
func (suite idempotencySuite) finishedRequest(t *testing.T) {
	store, request, _ := suite.fresh(t)
	claim := suite.begin(t, store, request)
	_, _, err := store.Begin(t.Context(), request)
	require.ErrorIs(t, err, idempotency.ErrInProgress)
	require.NoError(t, store.Finish(t.Context(), claim, createdAnswer))

	for range 2 {
		suite.stored(t, store, request, createdAnswer)
	}
}

// otherBodyOwnerOrOperation checks that a key with another body is an error, and that keys of
// other users and operations are independent.
func (suite idempotencySuite) otherBodyOwnerOrOperation(t *testing.T) {
	store, request, _ := suite.fresh(t)
	require.NoError(t, store.Finish(t.Context(), suite.begin(t, store, request), createdAnswer))

	other := request
	other.Fingerprint = "g"
	_, _, err := store.Begin(t.Context(), other)
	require.ErrorIs(t, err, idempotency.ErrReused)

	for _, other := range []idempotency.Request{
		{OwnerID: newID(), Operation: request.Operation, Key: request.Key, Fingerprint: request.Fingerprint},
		{OwnerID: request.OwnerID, Operation: "POST /y", Key: request.Key, Fingerprint: request.Fingerprint},
		{OwnerID: request.OwnerID, Operation: request.Operation, Key: "key-2", Fingerprint: request.Fingerprint},
	} {
		suite.begin(t, store, other)
	}
}

// releasedExpiredAndOldRequests checks that a request can be made again if it was released, if
// its lease has expired, and when its answer has been stored for long enough.
func (suite idempotencySuite) releasedExpiredAndOldRequests(t *testing.T) {
	store, request, clk := suite.fresh(t)
	require.NoError(t, store.Release(t.Context(), suite.begin(t, store, request)))
	suite.begin(t, store, request)
	clk.Advance(idempotency.Lease)

	claim := suite.begin(t, store, request)
	require.NoError(t, store.Finish(t.Context(), claim, createdAnswer))
	require.NoError(t, store.Release(t.Context(), claim), "a stored answer stays")
	suite.stored(t, store, request, createdAnswer)
	clk.Advance(idempotency.Keep)
	suite.begin(t, store, request)
}

// leaseFromAClockAhead checks that the lease of a process whose clock is two days ahead does
// not block the key for two days.
func (suite idempotencySuite) leaseFromAClockAhead(t *testing.T) {
	store, request, clk := suite.fresh(t)
	clk.Advance(48 * time.Hour)
	suite.begin(t, store, request)
	clk.Advance(-48 * time.Hour)
	suite.begin(t, store, request)
}

// finishAfterALostClaim checks that a request that has lost its claim to a later one cannot
// replace the answer of that one.
func (suite idempotencySuite) finishAfterALostClaim(t *testing.T) {
	store, request, clk := suite.fresh(t)
	lost := suite.begin(t, store, request)

	clk.Advance(idempotency.Lease)

	claim := suite.begin(t, store, request)
	require.ErrorIs(t, store.Finish(t.Context(), lost, conflictAnswer), idempotency.ErrInProgress)
	require.ErrorIs(t, store.SetFallback(t.Context(), lost, conflictAnswer), idempotency.ErrInProgress)
	require.NoError(t, store.Release(t.Context(), lost))
	require.NoError(t, store.Finish(t.Context(), claim, createdAnswer))
	suite.stored(t, store, request, createdAnswer)
}

// fallbackAfterTheLease checks that a request that changes something outside of the database,
// and then crashes, is answered with its fallback instead of being repeated.
func (suite idempotencySuite) fallbackAfterTheLease(t *testing.T) {
	store, request, clk := suite.fresh(t)
	claim := suite.begin(t, store, request)
	require.NoError(t, store.SetFallback(t.Context(), claim, conflictAnswer))

	_, _, err := store.Begin(t.Context(), request)
	require.ErrorIs(t, err, idempotency.ErrInProgress)
	clk.Advance(idempotency.Lease)
	suite.stored(t, store, request, conflictAnswer)
	require.NoError(t, store.Finish(t.Context(), claim, createdAnswer), "the only caller may still finish")
	suite.stored(t, store, request, createdAnswer)
}

// releasedRequestWithAFallback checks that a fallback is the answer even if the request was
// released.
func (suite idempotencySuite) releasedRequestWithAFallback(t *testing.T) {
	store, request, _ := suite.fresh(t)
	claim := suite.begin(t, store, request)
	require.NoError(t, store.SetFallback(t.Context(), claim, conflictAnswer))
	require.NoError(t, store.Release(t.Context(), claim))
	suite.stored(t, store, request, conflictAnswer)
}

// concurrentClaims checks that one of twenty concurrent requests with a key is executed.
func (suite idempotencySuite) concurrentClaims(t *testing.T) {
	store, request, _ := suite.fresh(t)
	require.Equal(t, 1, countConcurrent(t, 20, func(int) (bool, error) {
		_, stored, err := store.Begin(context.Background(), request)
		return err == nil && stored == nil, nil // the others get ErrInProgress
	}))
}

// retention checks that keys are deleted only after idempotency.Keep, and at most as many per
// call as the limit says.
func (suite idempotencySuite) retention(t *testing.T) {
	t.Parallel()

	clk := newFakeClock()

	storage := suite.open(t, clk)
	for _, key := range []string{"a", "b", "c"} {
		suite.begin(t, storage.Idempotency,
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
