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
	su := deliveryLogSuite{open}
	t.Run("replay", su.replay)
	t.Run("replay during an attempt", su.replayDuringAnAttempt)
	t.Run("retention and deleted applicants", su.retentionAndDeletedApplicants)
	t.Run("other owner", su.otherOwner)
}

// deliveryLogSuite has the subtests of DeliveryLog.
type deliveryLogSuite struct {
	open IntegrationsOpener
}

func (su deliveryLogSuite) replay(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	e := f.endpoint(f.app, "job.created")
	var ds []integrations.Delivery
	for range 4 {
		ds = append(ds, f.queue(e))
		f.clk.Advance(time.Second)
	}
	var second time.Time // long after it was made
	for i, status := range []integrations.DeliveryStatus{integrations.Failed, integrations.Failed, integrations.Succeeded} {
		c := f.first(e)
		require.Equal(t, ds[i].ID, c.ID)
		if i == 1 {
			f.clk.Advance(time.Second)
			second = f.clk.Now()
		}
		require.True(t, f.record(c, status))
	}
	running := f.first(e)
	require.Equal(t, 2, f.log(e, integrations.Failed).Total)
	require.Equal(t, 4, f.log(e, "").Total)
	require.Zero(t, f.replay(newID(), e, integrations.ReplayFilter{ID: ds[0].ID}, 1), "of another owner")
	require.Zero(t, f.replay(newID(), e, integrations.ReplayFilter{}, 10))
	require.Zero(t, f.replay(e.OwnerID, f.endpoint(f.app, "job.created"), integrations.ReplayFilter{ID: ds[0].ID}, 1), "to another endpoint")
	require.Equal(t, 1, f.replay(e.OwnerID, e, integrations.ReplayFilter{FailedSince: second}, 10))
	require.Equal(t, 1, f.replay(e.OwnerID, e, integrations.ReplayFilter{ID: ds[2].ID}, 1))
	again := f.messages(e, integrations.MessageFilter{ID: ds[2].ID}, 1)[0]
	require.Equal(t, integrations.Pending, again.Status)
	require.Equal(t, ds[2].EventID, again.EventID)
	require.Equal(t, 1, again.Attempt)
	require.Zero(t, again.Tries)
	require.True(t, again.NextAt.Equal(f.clk.Now()))
	require.Equal(t, 1, f.replay(e.OwnerID, e, integrations.ReplayFilter{ID: ds[3].ID}, 1))
	require.Zero(t, f.messages(e, integrations.MessageFilter{ID: ds[3].ID}, 1)[0].Attempt, "its attempt may be running")
	require.True(t, f.record(running, integrations.Succeeded))
	require.Equal(t, 2, f.log(e, integrations.Pending).Total)
	f.change(e, func(e *integrations.Endpoint) { e.Status = integrations.EndpointDisabled })
	require.Zero(t, f.log(e, integrations.Pending).Total)
	require.Equal(t, 2, f.replay(e.OwnerID, e, integrations.ReplayFilter{}, 2), "the limit")
}

func (su deliveryLogSuite) replayDuringAnAttempt(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	e := f.endpoint(f.app, "job.created")
	for _, status := range []integrations.DeliveryStatus{integrations.Failed, integrations.Succeeded} {
		f.queue(e)
		f.retry(*f.first(e), f.clk.Now())
		for range 2 { // tried before
			o := f.first(e)
			o.Tries++
			f.retry(*o, f.clk.Now())
		}
		running := f.first(e)
		require.Equal(t, 1, f.replay(e.OwnerID, e, integrations.ReplayFilter{ID: running.ID}, 1))
		running.Attempts = []integrations.Attempt{{At: f.clk.Now(), Error: "status"}}
		require.True(t, f.record(running, status))
		if status == integrations.Succeeded {
			require.Nil(t, f.first(e))
			continue
		}
		again := f.first(e)
		require.Equal(t, running.ID, again.ID)
		require.Zero(t, again.Tries)
		require.Equal(t, running.Attempt+1, again.Attempt)
		require.Len(t, again.Attempts, 1, "the attempt is recorded")
		require.True(t, f.record(again, integrations.Succeeded))
	}
}

func (su deliveryLogSuite) retentionAndDeletedApplicants(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	e := f.endpoint(f.app, "job.created")
	for range 3 {
		f.queue(e)
	}
	f.clk.Advance(time.Hour)
	f.queue(e)
	for _, n := range []int{2, 1} {
		f.deleteBefore(integrations.MessagesKind, f.clk.Now(), 2, n)
	}
	require.Equal(t, 1, f.log(e, "").Total)
	applicantID, now := newID(), f.clk.Now()
	for i, applicant := range []string{applicantID, newID(), ""} {
		m := integrations.Message{EventID: newID(), Type: "application.submitted", Body: strconv.Itoa(i), OrganizationID: newID(), ApplicantID: applicant, CreatedAt: now}
		f.enqueue(m, f.delivery(e, m.EventID))
	}
	require.NoError(t, f.Deliveries.DeleteByApplicant(f.ctx(), applicantID))
	require.Equal(t, 3, f.log(e, "").Total)
}

func (su deliveryLogSuite) otherOwner(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	e := f.endpoint(f.app, "job.created")
	m := integrations.Message{EventID: newID(), Type: "job.created", Body: `{"type":"job.created"}`, CreatedAt: f.clk.Now()}
	d := f.delivery(e, m.EventID)
	f.enqueue(m, d)
	f.queue(e)
	got, err := f.Deliveries.ListMessages(f.ctx(), e.OwnerID, e.ID, integrations.MessageFilter{ID: d.ID}, 1)
	require.NoError(t, err)
	require.Equal(t, []integrations.Outgoing{{Delivery: d, Message: m}}, got)
	for _, of := range [][3]string{{newID(), e.ID, d.ID}, {e.OwnerID, f.endpoint(f.app, "job.created").ID, d.ID}, {e.OwnerID, e.ID, newID()}} {
		got, err := f.Deliveries.ListMessages(f.ctx(), of[0], of[1], integrations.MessageFilter{ID: of[2]}, 1)
		require.NoError(t, err)
		require.Empty(t, got)
		list, err := f.Deliveries.List(f.ctx(), of[0], of[1], "", page.Request{Number: 1, Size: 10})
		require.NoError(t, err)
		require.Equal(t, of[2] != d.ID, len(list.Items) == 2)
	}
}
