package conformance

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

// DeliveryLog checks the log, replays and retention of the port integrations.Deliveries. A delivery is the sending
// of one message to one endpoint, the URL of a receiver. A replay makes a delivery that has ended pending again.
func DeliveryLog(t *testing.T, open IntegrationsOpener) {
	suite := deliveryLogSuite{open}
	t.Run("replay", suite.replay)
	t.Run("replay during an attempt", suite.replayDuringAnAttempt)
	t.Run("retention and deleted applicants", suite.retentionAndDeletedApplicants)
	t.Run("other owner", suite.otherOwner)
}

// deliveryLogSuite has the subtests of DeliveryLog.
type deliveryLogSuite struct {
	open IntegrationsOpener
}

// replay checks that a replay needs the owner and the endpoint, that it selects deliveries by id or by
// time of failure, and that a replayed delivery starts with no tries.
func (suite deliveryLogSuite) replay(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.endpoint(fixture.app, "job.created")
	replay := func(filter integrations.ReplayFilter, limit int) int {
		return fixture.replay(endpoint.OwnerID, endpoint, filter, limit)
	}

	var deliveries []integrations.Delivery
	for range 4 {
		deliveries = append(deliveries, fixture.queue(endpoint))
		fixture.clk.Advance(time.Second)
	}

	// Two deliveries fail and the third succeeds. An attempt of the fourth is running.
	var secondFailedAt time.Time
	for i, status := range []integrations.DeliveryStatus{integrations.Failed, integrations.Failed, integrations.Succeeded} {
		outgoing := fixture.first(endpoint)
		require.Equal(t, deliveries[i].ID, outgoing.ID)

		if i == 1 {
			fixture.clk.Advance(time.Second)

			secondFailedAt = fixture.clk.Now()
		}

		require.True(t, fixture.record(outgoing, status))
	}

	running := fixture.first(endpoint)
	require.Equal(t, 2, fixture.log(endpoint, integrations.Failed).Total)
	require.Equal(t, 4, fixture.log(endpoint, "").Total)

	// Another owner or endpoint selects nothing.
	first := integrations.ReplayFilter{ID: deliveries[0].ID}
	otherEndpoint := fixture.endpoint(fixture.app, "job.created")
	require.Zero(t, fixture.replay(newID(), endpoint, first, 1), "of another owner")
	require.Zero(t, fixture.replay(newID(), endpoint, integrations.ReplayFilter{}, 10), "all of another owner")
	require.Zero(t, fixture.replay(endpoint.OwnerID, otherEndpoint, first, 1), "to another endpoint")

	// Replays by time of failure and by id.
	require.Equal(t, 1, replay(integrations.ReplayFilter{FailedSince: secondFailedAt}, 10))
	require.Equal(t, 1, replay(integrations.ReplayFilter{ID: deliveries[2].ID}, 1))

	replayed := fixture.messages(endpoint, integrations.MessageFilter{ID: deliveries[2].ID}, 1)[0]
	require.Equal(t, integrations.Pending, replayed.Status)
	require.Equal(t, deliveries[2].EventID, replayed.EventID)
	require.Equal(t, 1, replayed.Attempt)
	require.Zero(t, replayed.Tries)
	require.True(t, replayed.NextAt.Equal(fixture.clk.Now()))

	// The running attempt of a replayed delivery keeps its number, so that its result is stored.
	require.Equal(t, 1, replay(integrations.ReplayFilter{ID: deliveries[3].ID}, 1))
	require.Zero(t, fixture.messages(endpoint, integrations.MessageFilter{ID: deliveries[3].ID}, 1)[0].Attempt,
		"its attempt may be running")
	require.True(t, fixture.record(running, integrations.Succeeded))
	require.Equal(t, 2, fixture.log(endpoint, integrations.Pending).Total)

	// To a disabled endpoint, all pending deliveries have failed. A replay stops at its limit.
	fixture.change(endpoint, func(endpoint *integrations.Endpoint) { endpoint.Status = integrations.EndpointDisabled })
	require.Zero(t, fixture.log(endpoint, integrations.Pending).Total)
	require.Equal(t, 2, replay(integrations.ReplayFilter{}, 2), "the limit")
}

// replayDuringAnAttempt checks that the result of a running attempt is recorded, and that the
// delivery is then attempted again unless it has succeeded.
func (suite deliveryLogSuite) replayDuringAnAttempt(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.endpoint(fixture.app, "job.created")

	for _, status := range []integrations.DeliveryStatus{integrations.Failed, integrations.Succeeded} {
		// The delivery has had three attempts. Two of them count as tries, of which it has a limited number.
		fixture.queue(endpoint)
		fixture.retry(*fixture.first(endpoint), fixture.clk.Now())

		for range 2 {
			outgoing := fixture.first(endpoint)
			outgoing.Tries++
			fixture.retry(*outgoing, fixture.clk.Now())
		}

		// The delivery is replayed before the running attempt has its result.
		running := fixture.first(endpoint)
		require.Equal(t, 1, fixture.replay(endpoint.OwnerID, endpoint, integrations.ReplayFilter{ID: running.ID}, 1))

		running.Attempts = []integrations.Attempt{{At: fixture.clk.Now(), Error: "status"}}
		require.True(t, fixture.record(running, status))

		if status == integrations.Succeeded {
			require.Nil(t, fixture.first(endpoint))
			continue
		}

		second := fixture.first(endpoint)
		require.Equal(t, running.ID, second.ID)
		require.Zero(t, second.Tries)
		require.Equal(t, running.Attempt+1, second.Attempt)
		require.Len(t, second.Attempts, 1, "the attempt is recorded")
		require.True(t, fixture.record(second, integrations.Succeeded))
	}
}

// retentionAndDeletedApplicants checks that old messages are deleted with their deliveries, and
// that messages about a deleted applicant are deleted at once.
func (suite deliveryLogSuite) retentionAndDeletedApplicants(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.endpoint(fixture.app, "job.created")

	for range 3 {
		fixture.queue(endpoint)
	}

	fixture.clk.Advance(time.Hour)
	fixture.queue(endpoint)

	// Of three old messages, calls with a limit of two delete two and one.
	for _, want := range []int{2, 1} {
		fixture.deleteBefore(integrations.MessagesKind, fixture.clk.Now(), 2, want)
	}

	require.Equal(t, 1, fixture.log(endpoint, "").Total)

	// Of three more messages, one is about the applicant whose account is deleted.

	applicantID, now := newID(), fixture.clk.Now()
	for i, applicant := range []string{applicantID, newID(), ""} {
		message := integrations.Message{
			EventID:        newID(),
			Type:           "application.submitted",
			Body:           strconv.Itoa(i),
			OrganizationID: newID(),
			ApplicantID:    applicant,
			CreatedAt:      now,
		}
		fixture.enqueue(message, fixture.delivery(endpoint, message.EventID))
	}

	require.NoError(t, fixture.Deliveries.DeleteByApplicant(fixture.ctx(), applicantID))
	require.Equal(t, 3, fixture.log(endpoint, "").Total, "one from before, and two of three")
}

// otherOwner checks that the message of a delivery is returned only if the owner, the endpoint
// and the id are those of the delivery.
func (suite deliveryLogSuite) otherOwner(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.endpoint(fixture.app, "job.created")
	message := integrations.Message{
		EventID:   newID(),
		Type:      "job.created",
		Body:      `{"type":"job.created"}`,
		CreatedAt: fixture.clk.Now(),
	}
	delivery := fixture.delivery(endpoint, message.EventID)
	fixture.enqueue(message, delivery)
	fixture.queue(endpoint) // a second delivery

	got, err := fixture.Deliveries.ListMessages(fixture.ctx(), endpoint.OwnerID, endpoint.ID,
		integrations.MessageFilter{ID: delivery.ID}, 1)
	require.NoError(t, err)
	require.Equal(t, []integrations.Outgoing{{Delivery: delivery, Message: message}}, got)

	otherEndpoint := fixture.endpoint(fixture.app, "job.created")
	for _, other := range []struct {
		ownerID, endpointID, deliveryID string
		wantListed                      int // deliveries in the log of the owner and the endpoint
	}{
		{ownerID: newID(), endpointID: endpoint.ID, deliveryID: delivery.ID, wantListed: 0},
		{ownerID: endpoint.OwnerID, endpointID: otherEndpoint.ID, deliveryID: delivery.ID, wantListed: 0},
		{ownerID: endpoint.OwnerID, endpointID: endpoint.ID, deliveryID: newID(), wantListed: 2},
	} {
		got, err := fixture.Deliveries.ListMessages(fixture.ctx(), other.ownerID, other.endpointID,
			integrations.MessageFilter{ID: other.deliveryID}, 1)
		require.NoError(t, err)
		require.Empty(t, got)

		listed, err := fixture.Deliveries.List(fixture.ctx(), other.ownerID, other.endpointID, "",
			page.Request{Number: 1, Size: 10})
		require.NoError(t, err)
		require.Len(t, listed.Items, other.wantListed)
	}
}
