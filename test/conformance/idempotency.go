package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/idempotency"
)

// Idempotency checks the port idempotency.Store, which makes sure that a request that a client repeats with the same
// Idempotency-Key is executed once. An answer is the response to the request.
//
// Begin claims the key for an execution, or returns the answer that is already stored. A claim ends with Finish,
// which stores the answer, with Release, or when its lease expires. If it ends without Finish, a repetition of the
// request gets the fallback that SetFallback has stored. Without a fallback, the repetition is executed.
func Idempotency(t *testing.T, open IdentityOpener) {
	suite := idempotencySuite{open: open}
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

// createdAnswer is the response to a successful request, and conflictAnswer that to a failed one.
var (
	createdAnswer  = idempotency.Answer{Status: 201, Body: []byte(`{"a":1}`)}
	conflictAnswer = idempotency.Answer{Status: 409, Body: []byte("{}")}
)

// idempotencySuite has the subtests of Idempotency.
type idempotencySuite struct {
	open IdentityOpener
}

// fresh returns an empty store, a request and the clock of the store. It lets the subtest run in parallel.
func (suite idempotencySuite) fresh(t *testing.T) (idempotency.Store, idempotency.Request, *fakeClock) {
	t.Helper()
	t.Parallel()

	clk := newFakeClock()
	storage := suite.open(t, clk)
	requirePorts(t, storage)

	request := idempotency.Request{OwnerID: newID(), Operation: "POST /x", Key: "key-1", Fingerprint: "f"}

	return storage.Idempotency, request, clk
}

// begin claims the request, and requires that no answer is stored for it.
func (suite idempotencySuite) begin(t *testing.T, store idempotency.Store, request idempotency.Request) idempotency.Claim {
	t.Helper()

	claim, stored, err := store.Begin(t.Context(), request)
	require.NoError(t, err)
	require.Nil(t, stored)

	return claim
}

// requireStored requires that a repetition of the request gets the answer, and is not executed.
func (suite idempotencySuite) requireStored(
	t *testing.T, store idempotency.Store, request idempotency.Request, want idempotency.Answer,
) {
	t.Helper()

	_, stored, err := store.Begin(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, &want, stored)
}

// finishedRequest checks that a repetition fails with ErrInProgress while the request is executed. After Finish, all
// repetitions get the answer of the request.
func (suite idempotencySuite) finishedRequest(t *testing.T) {
	store, request, _ := suite.fresh(t)

	claim := suite.begin(t, store, request)
	_, _, err := store.Begin(t.Context(), request)
	require.ErrorIs(t, err, idempotency.ErrInProgress)

	require.NoError(t, store.Finish(t.Context(), claim, createdAnswer))

	for range 2 {
		suite.requireStored(t, store, request, createdAnswer)
	}
}

// otherBodyOwnerOrOperation checks that a request with the same key and another body fails with ErrReused. The
// fingerprint of a request identifies its body. A request with another user, operation or key is independent.
func (suite idempotencySuite) otherBodyOwnerOrOperation(t *testing.T) {
	store, request, _ := suite.fresh(t)
	claim := suite.begin(t, store, request)
	require.NoError(t, store.Finish(t.Context(), claim, createdAnswer))

	otherBody := request
	otherBody.Fingerprint = "g"
	_, _, err := store.Begin(t.Context(), otherBody)
	require.ErrorIs(t, err, idempotency.ErrReused)

	// Each request differs in one field. begin requires that it is executed.
	for _, other := range []idempotency.Request{
		{OwnerID: newID(), Operation: request.Operation, Key: request.Key, Fingerprint: request.Fingerprint},
		{OwnerID: request.OwnerID, Operation: "POST /y", Key: request.Key, Fingerprint: request.Fingerprint},
		{OwnerID: request.OwnerID, Operation: request.Operation, Key: "key-2", Fingerprint: request.Fingerprint},
	} {
		suite.begin(t, store, other)
	}
}

// releasedExpiredAndOldRequests checks that a request can be executed again after it was released, after its lease
// has expired, and after its answer has been stored for idempotency.Keep. A release does not remove a stored answer.
func (suite idempotencySuite) releasedExpiredAndOldRequests(t *testing.T) {
	store, request, clk := suite.fresh(t)

	// The first execution is released.
	released := suite.begin(t, store, request)
	require.NoError(t, store.Release(t.Context(), released))

	// The lease of the second one expires.
	suite.begin(t, store, request)
	clk.Advance(idempotency.Lease)

	// The third one is finished. Its later release has no effect.
	finished := suite.begin(t, store, request)
	require.NoError(t, store.Finish(t.Context(), finished, createdAnswer))
	require.NoError(t, store.Release(t.Context(), finished))
	suite.requireStored(t, store, request, createdAnswer)

	// The answer is not used any more.
	clk.Advance(idempotency.Keep)
	suite.begin(t, store, request)
}

// leaseFromAClockAhead checks that a claim of a process whose clock is two days ahead does not block the key for two
// days: a process with the right time can claim the key at once.
func (suite idempotencySuite) leaseFromAClockAhead(t *testing.T) {
	store, request, clk := suite.fresh(t)
	const clockError = 48 * time.Hour

	clk.Advance(clockError)
	suite.begin(t, store, request)

	clk.Advance(-clockError)
	suite.begin(t, store, request)
}

// finishAfterALostClaim checks that an execution whose claim was lost to a later execution cannot replace the answer
// of the later one. A claim is lost if another caller claims the key after the lease.
func (suite idempotencySuite) finishAfterALostClaim(t *testing.T) {
	store, request, clk := suite.fresh(t)
	lost := suite.begin(t, store, request)

	clk.Advance(idempotency.Lease)

	current := suite.begin(t, store, request)

	// The lost claim has no effect.
	require.ErrorIs(t, store.Finish(t.Context(), lost, conflictAnswer), idempotency.ErrInProgress)
	require.ErrorIs(t, store.SetFallback(t.Context(), lost, conflictAnswer), idempotency.ErrInProgress)
	require.NoError(t, store.Release(t.Context(), lost))

	require.NoError(t, store.Finish(t.Context(), current, createdAnswer))
	suite.requireStored(t, store, request, createdAnswer)
}

// fallbackAfterTheLease checks that a repetition gets the fallback after the lease of the request has expired. A
// request sets a fallback before it changes something outside of the database, and must not be executed again if it
// crashes then.
func (suite idempotencySuite) fallbackAfterTheLease(t *testing.T) {
	store, request, clk := suite.fresh(t)
	claim := suite.begin(t, store, request)
	require.NoError(t, store.SetFallback(t.Context(), claim, conflictAnswer))

	// Until the lease expires, the request is in progress.
	_, _, err := store.Begin(t.Context(), request)
	require.ErrorIs(t, err, idempotency.ErrInProgress)

	clk.Advance(idempotency.Lease)
	suite.requireStored(t, store, request, conflictAnswer)

	// The request was only slow. Since no other caller has claimed the key, its answer replaces the fallback.
	require.NoError(t, store.Finish(t.Context(), claim, createdAnswer))
	suite.requireStored(t, store, request, createdAnswer)
}

// releasedRequestWithAFallback checks that a repetition of a request that was released gets the fallback, if there is
// one.
func (suite idempotencySuite) releasedRequestWithAFallback(t *testing.T) {
	store, request, _ := suite.fresh(t)
	claim := suite.begin(t, store, request)
	require.NoError(t, store.SetFallback(t.Context(), claim, conflictAnswer))
	require.NoError(t, store.Release(t.Context(), claim))
	suite.requireStored(t, store, request, conflictAnswer)
}

// concurrentClaims checks that one of twenty concurrent requests with a key is executed.
func (suite idempotencySuite) concurrentClaims(t *testing.T) {
	store, request, _ := suite.fresh(t)
	executed := countConcurrent(t, 20, func(int) (bool, error) {
		_, stored, err := store.Begin(context.Background(), request)
		hasClaimed := err == nil && stored == nil // the others get ErrInProgress

		return hasClaimed, nil
	})
	require.Equal(t, 1, executed)
}

// retention checks that keys are deleted only after idempotency.Keep. A call deletes at most as many keys as its
// limit.
func (suite idempotencySuite) retention(t *testing.T) {
	t.Parallel()

	clk := newFakeClock()
	storage := suite.open(t, clk)

	for _, key := range []string{"a", "b", "c"} {
		suite.begin(t, storage.Idempotency,
			idempotency.Request{OwnerID: newID(), Operation: "POST /x", Key: key, Fingerprint: "f"})
	}

	retained := retentionOf(t, storage.Retention)
	deleted, err := retained.DeleteBefore(t.Context(), idempotency.Keys, clk.Now(), 10)
	require.NoError(t, err)
	require.Zero(t, deleted, "the keys are new")

	clk.Advance(idempotency.Keep + time.Second)

	// Of three keys, calls with a limit of two delete two, one and none.
	for _, want := range []int{2, 1, 0} {
		deleted, err = retained.DeleteBefore(t.Context(), idempotency.Keys, clk.Now(), 2)
		require.NoError(t, err)
		require.Equal(t, want, deleted)
	}
}
