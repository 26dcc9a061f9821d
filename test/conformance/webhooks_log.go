package conformance

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/integrations"
)

// DeliveryLog checks the log, replays and retention of the port integrations.Deliveries. A delivery is the sending
// of one message to one endpoint, the URL of a receiver. A replay makes a delivery that has ended pending again.
func DeliveryLog(t *testing.T, open IntegrationsOpener) {
	suite := deliveryLogSuite{open}
	t.Run("replay", suite.replay)
	t.Run("replay of another owner", suite.replayOfAnotherOwner)
	t.Run("replay of failed deliveries", suite.replayOfFailedDeliveries)
	t.Run("replay during an attempt", suite.replayDuringAnAttempt)
	t.Run("retention", suite.retention)
	t.Run("deleted applicants", suite.deletedApplicants)
	t.Run("other owner", suite.otherOwner)
}

// deliveryLogSuite has the subtests of DeliveryLog.
type deliveryLogSuite struct {
	open IntegrationsOpener
}

// replay checks which deliveries a replay makes pending again: it selects them by id or by the time of their failure. The
// tries of a replayed delivery, which are limited, are counted anew.
func (suite deliveryLogSuite) replay(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.createEndpoint(fixture.app, "job.created")
	replay := func(filter integrations.ReplayFilter) (replayed int) {
		const limit = 10 // more than the test has deliveries

		return fixture.replay(endpoint.OwnerID, endpoint, filter, limit)
	}

	var deliveries []integrations.Delivery
	for range 4 {
		deliveries = append(deliveries, fixture.enqueueNew(endpoint))
		fixture.clk.Advance(time.Second)
	}

	failedFirst, failedSecond, succeeded, attempted := deliveries[0], deliveries[1], deliveries[2], deliveries[3]

	// end records the result of the delivery, which must be the next one that is due.
	end := func(delivery integrations.Delivery, status integrations.DeliveryStatus) {
		outgoing := fixture.firstDue(endpoint)
		require.Equal(t, delivery.ID, outgoing.ID)
		require.True(t, fixture.recordResult(outgoing, status), "the result is recorded")
	}

	// Two deliveries fail, a second apart, and the third succeeds. An attempt of the fourth is running.
	end(failedFirst, integrations.Failed)
	fixture.clk.Advance(time.Second)

	secondFailedAt := fixture.clk.Now()

	end(failedSecond, integrations.Failed)
	end(succeeded, integrations.Succeeded)

	running := fixture.firstDue(endpoint)
	require.Equal(t, 2, fixture.listLog(endpoint, integrations.Failed).Total)
	require.Equal(t, len(deliveries), fixture.listLog(endpoint, anyStatus).Total)

	// A replay by time of failure selects the second delivery, and one by id may select a delivery that has succeeded.
	require.Equal(t, 1, replay(integrations.ReplayFilter{FailedSince: secondFailedAt}))
	require.Equal(t, 1, replay(integrations.ReplayFilter{ID: succeeded.ID}))

	replayed := fixture.listMessages(endpoint, integrations.MessageFilter{ID: succeeded.ID}, 1)[0]
	require.Equal(t, integrations.Pending, replayed.Status)
	require.Equal(t, succeeded.EventID, replayed.EventID)
	require.Equal(t, 1, replayed.Attempt, "attempts before the replay")
	require.Zero(t, replayed.Tries)
	require.True(t, replayed.NextAt.Equal(fixture.clk.Now()), "it is due at the time of the replay")

	// A replay while an attempt is running does not count that attempt, so that its result can be stored.
	require.Equal(t, 1, replay(integrations.ReplayFilter{ID: attempted.ID}))
	require.Zero(t, fixture.listMessages(endpoint, integrations.MessageFilter{ID: attempted.ID}, 1)[0].Attempt)
	require.True(t, fixture.recordResult(running, integrations.Succeeded), "the result of the running attempt")
	require.Equal(t, 2, fixture.listLog(endpoint, integrations.Pending).Total, "the two that were replayed before")
}

// replayOfAnotherOwner checks that a replay selects deliveries only with the ids of their owner and their endpoint.
func (suite deliveryLogSuite) replayOfAnotherOwner(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.createEndpoint(fixture.app, "job.created")
	otherEndpoint := fixture.createEndpoint(fixture.app, "job.created")

	failed := fixture.enqueueNew(endpoint)
	require.True(t, fixture.recordResult(fixture.firstDue(endpoint), integrations.Failed), "the result is recorded")

	const limit = 10

	byID := integrations.ReplayFilter{ID: failed.ID}
	require.Zero(t, fixture.replay(newID(), endpoint, byID, limit), "of another owner")
	require.Zero(t, fixture.replay(newID(), endpoint, integrations.ReplayFilter{}, limit), "all of another owner")
	require.Zero(t, fixture.replay(endpoint.OwnerID, otherEndpoint, byID, limit), "to another endpoint")
}

// replayOfFailedDeliveries checks that an empty filter selects the failed deliveries, and that a replay stops at its limit.
// The pending deliveries of an endpoint fail when it is disabled.
func (suite deliveryLogSuite) replayOfFailedDeliveries(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.createEndpoint(fixture.app, "job.created")

	const deliveries, limit = 3, 2

	for range deliveries {
		fixture.enqueueNew(endpoint)
	}

	fixture.changeEndpoint(endpoint, func(endpoint *integrations.Endpoint) { endpoint.Status = integrations.EndpointDisabled })
	require.Zero(t, fixture.listLog(endpoint, integrations.Pending).Total)
	require.Equal(t, deliveries, fixture.listLog(endpoint, integrations.Failed).Total)
	require.Equal(t, limit, fixture.replay(endpoint.OwnerID, endpoint, integrations.ReplayFilter{}, limit))
}

// replayDuringAnAttempt checks that the result of an attempt that was running during a replay is recorded. If the attempt
// has failed, the delivery stays due for another one. If the attempt has succeeded, the delivery has ended.
func (suite deliveryLogSuite) replayDuringAnAttempt(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.createEndpoint(fixture.app, "job.created")

	for _, status := range []integrations.DeliveryStatus{integrations.Failed, integrations.Succeeded} {
		// The delivery has had three attempts. Two of them count as tries, of which it has a limited number.
		fixture.enqueueNew(endpoint)
		fixture.recordRetry(*fixture.firstDue(endpoint), fixture.clk.Now())

		for range 2 {
			outgoing := fixture.firstDue(endpoint)
			outgoing.Tries++
			fixture.recordRetry(*outgoing, fixture.clk.Now())
		}

		// The delivery is replayed before the running attempt has its result.
		running := fixture.firstDue(endpoint)
		require.Equal(t, 1, fixture.replay(endpoint.OwnerID, endpoint, integrations.ReplayFilter{ID: running.ID}, 1))

		running.Attempts = []integrations.Attempt{{At: fixture.clk.Now(), Error: "status"}}
		require.True(t, fixture.recordResult(running, status), "the result of the running attempt")

		if status == integrations.Succeeded {
			require.Nil(t, fixture.firstDue(endpoint), "a delivery that has succeeded is due")
			continue
		}

		stillDue := fixture.firstDue(endpoint)
		require.Equal(t, running.ID, stillDue.ID)
		require.Zero(t, stillDue.Tries)
		require.Equal(t, running.Attempt+1, stillDue.Attempt)
		require.Len(t, stillDue.Attempts, 1, "the attempt is recorded")

		// The delivery ends before the next round.
		require.True(t, fixture.recordResult(stillDue, integrations.Succeeded), "the result is recorded")
	}
}

// retention checks that old messages are deleted with their deliveries.
func (suite deliveryLogSuite) retention(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.createEndpoint(fixture.app, "job.created")

	for range 3 {
		fixture.enqueueNew(endpoint)
	}

	fixture.clk.Advance(time.Hour)
	fixture.enqueueNew(endpoint)

	// Of three old messages, calls with a limit of two delete two and one. The recent one stays.
	const limit = 2
	for _, wantDeleted := range []int{2, 1} {
		fixture.deleteBefore(integrations.MessagesKind, fixture.clk.Now(), limit, wantDeleted)
	}

	require.Equal(t, 1, fixture.listLog(endpoint, anyStatus).Total)
}

// deletedApplicants checks that messages about the applications of a deleted user are deleted with their deliveries.
func (suite deliveryLogSuite) deletedApplicants(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.createEndpoint(fixture.app, "job.created")

	// One message is about the deleted applicant, one about another applicant and one about none.
	const noApplicant = ""

	deletedID := newID()
	applicantIDs := []string{deletedID, newID(), noApplicant}

	for i, applicantID := range applicantIDs {
		message := integrations.Message{
			EventID:        newID(),
			Type:           "application.submitted",
			Body:           strconv.Itoa(i),
			OrganizationID: newID(),
			ApplicantID:    applicantID,
			CreatedAt:      fixture.clk.Now(),
		}
		fixture.enqueue(message, fixture.newDelivery(endpoint, message.EventID))
	}

	require.NoError(t, fixture.Deliveries.DeleteByApplicant(fixture.ctx(), deletedID))
	require.Equal(t, len(applicantIDs)-1, fixture.listLog(endpoint, anyStatus).Total)
}

// otherOwner checks that ListMessages returns the message of a delivery only if the owner, the endpoint and the id are
// all those of the delivery. List returns the deliveries only if the owner and the endpoint are.
func (suite deliveryLogSuite) otherOwner(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.createEndpoint(fixture.app, "job.created")
	message := integrations.Message{
		EventID:   newID(),
		Type:      "job.created",
		Body:      `{"type":"job.created"}`,
		CreatedAt: fixture.clk.Now(),
	}
	delivery := fixture.newDelivery(endpoint, message.EventID)
	fixture.enqueue(message, delivery)
	fixture.enqueueNew(endpoint) // a second delivery

	const limit = 10

	found, err := fixture.Deliveries.ListMessages(fixture.ctx(), endpoint.OwnerID, endpoint.ID,
		integrations.MessageFilter{ID: delivery.ID}, limit)
	require.NoError(t, err)
	require.Equal(t, []integrations.Outgoing{{Delivery: delivery, Message: message}}, found)

	otherEndpoint := fixture.createEndpoint(fixture.app, "job.created")
	for _, other := range []struct {
		condition                       string
		ownerID, endpointID, deliveryID string
		wantListed                      int // deliveries in the log of the owner and the endpoint
	}{
		{condition: "other owner", ownerID: newID(), endpointID: endpoint.ID, deliveryID: delivery.ID, wantListed: 0},
		{
			condition:  "other endpoint",
			ownerID:    endpoint.OwnerID,
			endpointID: otherEndpoint.ID,
			deliveryID: delivery.ID,
			wantListed: 0,
		},
		{condition: "unknown delivery", ownerID: endpoint.OwnerID, endpointID: endpoint.ID, deliveryID: newID(), wantListed: 2},
	} {
		found, err := fixture.Deliveries.ListMessages(fixture.ctx(), other.ownerID, other.endpointID,
			integrations.MessageFilter{ID: other.deliveryID}, limit)
		require.NoError(t, err)
		require.Empty(t, found, other.condition)

		listed, err := fixture.Deliveries.List(fixture.ctx(), other.ownerID, other.endpointID, anyStatus, firstHundred)
		require.NoError(t, err)
		require.Len(t, listed.Items, other.wantListed, other.condition)
	}
}
