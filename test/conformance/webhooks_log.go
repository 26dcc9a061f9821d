package conformance

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

// DeliveryLog checks the log, replays and retention of integrations.Deliveries.
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

// replay checks that a replay needs the owner and the endpoint, selects deliveries by id or by
// time of failure, and starts with no tries.
func (suite deliveryLogSuite) replay(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.endpoint(fixture.app, "job.created")

	var ds []integrations.Delivery
	for range 4 {
		ds = append(ds, fixture.queue(endpoint))
		fixture.clk.Advance(time.Second)
	}

	var second time.Time // when the second delivery failed, later than it was created
	for i, status := range []integrations.DeliveryStatus{integrations.Failed, integrations.Failed, integrations.Succeeded} {
		c := fixture.first(endpoint)
		require.Equal(t, ds[i].ID, c.ID)

		if i == 1 {
			fixture.clk.Advance(time.Second)

			second = fixture.clk.Now()
		}

		require.True(t, fixture.record(c, status))
	}

	running := fixture.first(endpoint)
	require.Equal(t, 2, fixture.log(endpoint, integrations.Failed).Total)
	require.Equal(t, 4, fixture.log(endpoint, "").Total)
	require.Zero(t, fixture.replay(newID(), endpoint, integrations.ReplayFilter{ID: ds[0].ID}, 1), "of another owner")
	require.Zero(t, fixture.replay(newID(), endpoint, integrations.ReplayFilter{}, 10))
	require.Zero(t,
		fixture.replay(endpoint.OwnerID, fixture.endpoint(fixture.app, "job.created"),
			integrations.ReplayFilter{ID: ds[0].ID}, 1),
		"to another endpoint")
	require.Equal(t, 1, fixture.replay(endpoint.OwnerID, endpoint, integrations.ReplayFilter{FailedSince: second}, 10))
	require.Equal(t, 1, fixture.replay(endpoint.OwnerID, endpoint, integrations.ReplayFilter{ID: ds[2].ID}, 1))

	again := fixture.messages(endpoint, integrations.MessageFilter{ID: ds[2].ID}, 1)[0]
	require.Equal(t, integrations.Pending, again.Status)
	require.Equal(t, ds[2].EventID, again.EventID)
	require.Equal(t, 1, again.Attempt)
	require.Zero(t, again.Tries)
	require.True(t, again.NextAt.Equal(fixture.clk.Now()))
	require.Equal(t, 1, fixture.replay(endpoint.OwnerID, endpoint, integrations.ReplayFilter{ID: ds[3].ID}, 1))
	require.Zero(t, fixture.messages(endpoint, integrations.MessageFilter{ID: ds[3].ID}, 1)[0].Attempt,
		"its attempt may be running")
	require.True(t, fixture.record(running, integrations.Succeeded))
	require.Equal(t, 2, fixture.log(endpoint, integrations.Pending).Total)
	fixture.change(endpoint, func(endpoint *integrations.Endpoint) { endpoint.Status = integrations.EndpointDisabled })
	require.Zero(t, fixture.log(endpoint, integrations.Pending).Total)
	require.Equal(t, 2, fixture.replay(endpoint.OwnerID, endpoint, integrations.ReplayFilter{}, 2), "the limit")
}

// replayDuringAnAttempt checks that the result of a running attempt is recorded, and that the
// delivery is then attempted again unless it has succeeded.
func (suite deliveryLogSuite) replayDuringAnAttempt(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)

	endpoint := fixture.endpoint(fixture.app, "job.created")
	for _, status := range []integrations.DeliveryStatus{integrations.Failed, integrations.Succeeded} {
		fixture.queue(endpoint)
		fixture.retry(*fixture.first(endpoint), fixture.clk.Now())

		for range 2 { // earlier tries
			o := fixture.first(endpoint)
			o.Tries++
			fixture.retry(*o, fixture.clk.Now())
		}

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

// retentionAndDeletedApplicants checks that messages are deleted with their deliveries, and
// that those about a deleted applicant are deleted at once.
func (suite deliveryLogSuite) retentionAndDeletedApplicants(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)

	endpoint := fixture.endpoint(fixture.app, "job.created")
	for range 3 {
		fixture.queue(endpoint)
	}

	fixture.clk.Advance(time.Hour)
	fixture.queue(endpoint)

	for _, n := range []int{2, 1} {
		fixture.deleteBefore(integrations.MessagesKind, fixture.clk.Now(), 2, n)
	}

	require.Equal(t, 1, fixture.log(endpoint, "").Total)

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
	require.Equal(t, 3, fixture.log(endpoint, "").Total)
}

// otherOwner checks that the message of a delivery is read with its owner, endpoint and id
// only.
func (suite deliveryLogSuite) otherOwner(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.endpoint(fixture.app, "job.created")
	message := integrations.Message{EventID: newID(), Type: "job.created", Body: `{"type":"job.created"}`, CreatedAt: fixture.clk.Now()}
	delivery := fixture.delivery(endpoint, message.EventID)
	fixture.enqueue(message, delivery)
	fixture.queue(endpoint)

	got, err := fixture.Deliveries.ListMessages(fixture.ctx(), endpoint.OwnerID, endpoint.ID,
		integrations.MessageFilter{ID: delivery.ID}, 1)
	require.NoError(t, err)
	require.Equal(t, []integrations.Outgoing{{Delivery: delivery, Message: message}}, got)

	for _, of := range [][3]string{
		{newID(), endpoint.ID, delivery.ID},
		{endpoint.OwnerID, fixture.endpoint(fixture.app, "job.created").ID, delivery.ID},
		{endpoint.OwnerID, endpoint.ID, newID()},
	} {
		got, err := fixture.Deliveries.ListMessages(fixture.ctx(), of[0], of[1], integrations.MessageFilter{ID: of[2]},
			1)
		require.NoError(t, err)
		require.Empty(t, got)

		list, err := fixture.Deliveries.List(fixture.ctx(), of[0], of[1], "", page.Request{Number: 1, Size: 10})
		require.NoError(t, err)
		require.Equal(t, of[2] != delivery.ID, len(list.Items) == 2)
	}
}
