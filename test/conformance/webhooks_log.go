package conformance

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit/stores"
)

// deliveryLog is the suite of what was sent, and is sent again.
func deliveryLog(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	ctx := context.Background()
	t.Run("what failed is replayed, with all its attempts before it", func(t *testing.T) {
		h := newHooks(t, open)
		e := h.endpoint(h.app, "job.created")
		var ds []integrations.Delivery
		for range 4 {
			ds = append(ds, h.queue(e))
			h.clk.Advance(time.Second)
		}
		var second time.Time // long after it was made
		for i, status := range []integrations.DeliveryStatus{integrations.Failed, integrations.Failed, integrations.Succeeded} {
			c := h.first(e)
			require.Equal(t, ds[i].ID, c.ID)
			if i == 1 {
				h.clk.Advance(time.Second)
				second = h.clk.Now()
			}
			require.True(t, h.settle(c, status))
		}
		running := h.first(e)
		require.Equal(t, 2, h.log(e, integrations.Failed).Total)
		require.Equal(t, 4, h.log(e, "").Total)
		_, err := h.Integrations.Webhooks.Replay(ctx, h.user(), e.ID, ds[0].ID, h.clk.Now())
		require.ErrorIs(t, err, integrations.ErrDeliveryNotFound)
		n, err := h.Integrations.Webhooks.ReplayFailed(ctx, h.user(), e.ID, time.Time{}, h.clk.Now(), 10)
		require.NoError(t, err)
		require.Zero(t, n)
		n, err = h.Integrations.Webhooks.ReplayFailed(ctx, e.OwnerID, e.ID, second, h.clk.Now(), 10)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		again, err := h.Integrations.Webhooks.Replay(ctx, e.OwnerID, e.ID, ds[2].ID, h.clk.Now())
		require.NoError(t, err)
		require.Equal(t, integrations.Pending, again.Status)
		require.Equal(t, ds[2].EventID, again.EventID)
		require.Equal(t, 1, again.Attempt)
		require.Zero(t, again.Tries)
		busy, err := h.Integrations.Webhooks.Replay(ctx, e.OwnerID, e.ID, ds[3].ID, h.clk.Now())
		require.NoError(t, err)
		require.Zero(t, busy.Attempt, "it may be under way")
		require.True(t, h.settle(running, integrations.Succeeded))
		require.Equal(t, 2, h.log(e, integrations.Pending).Total)
		require.NoError(t, h.Integrations.Webhooks.Abandon(ctx, e.ID, h.clk.Now()))
		require.Zero(t, h.log(e, integrations.Pending).Total)
		n, err = h.Integrations.Webhooks.ReplayFailed(ctx, e.OwnerID, e.ID, time.Time{}, h.clk.Now(), 2)
		require.NoError(t, err)
		require.Equal(t, 2, n, "at most as many as asked for")
	})
	t.Run("what is replayed while it is attempted is attempted again, unless that arrives", func(t *testing.T) {
		h := newHooks(t, open)
		e := h.endpoint(h.app, "job.created")
		for _, status := range []integrations.DeliveryStatus{integrations.Failed, integrations.Succeeded} {
			h.queue(e)
			h.later(*h.first(e), h.clk.Now())
			for range 2 { // tried before
				o := h.first(e)
				o.Tries++
				h.later(*o, h.clk.Now())
			}
			running := h.first(e)
			_, err := h.Integrations.Webhooks.Replay(ctx, e.OwnerID, e.ID, running.ID, h.clk.Now())
			require.NoError(t, err)
			running.Attempts = []integrations.Attempt{{At: h.clk.Now(), Error: "status"}}
			require.True(t, h.settle(running, status))
			if status == integrations.Succeeded {
				require.Nil(t, h.first(e))
				continue
			}
			again := h.first(e)
			require.Equal(t, running.ID, again.ID)
			require.Zero(t, again.Tries)
			require.Equal(t, running.Attempt+1, again.Attempt)
			require.Len(t, again.Attempts, 1, "it is noted")
			require.True(t, h.settle(again, integrations.Succeeded))
		}
	})
	t.Run("messages are forgotten when they are old, and with whom they are about", func(t *testing.T) {
		h := newHooks(t, open)
		e := h.endpoint(h.app, "job.created")
		for range 3 {
			h.queue(e)
		}
		h.clk.Advance(time.Hour)
		h.queue(e)
		n, err := h.Integrations.Webhooks.Forget(ctx, h.clk.Now(), 2)
		require.NoError(t, err)
		require.Equal(t, 2, n)
		n, err = h.Integrations.Webhooks.Forget(ctx, h.clk.Now(), 2)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, 1, h.log(e, "").Total)
		somebody, now := h.user(), h.clk.Now()
		for i, applicant := range []string{somebody, h.user(), ""} {
			m := integrations.Message{EventID: stores.NewID(), Type: "application.submitted", Body: strconv.Itoa(i), OrganizationID: stores.NewID(), ApplicantID: applicant, CreatedAt: now}
			h.enqueue(m, integrations.Delivery{ID: stores.NewID(), EndpointID: e.ID, OwnerID: e.OwnerID, EventID: m.EventID, Type: m.Type, Status: integrations.Pending, NextAt: &now, CreatedAt: now})
		}
		require.NoError(t, h.Integrations.Webhooks.ForgetApplicant(ctx, somebody))
		require.Equal(t, 3, h.log(e, "").Total)
	})
	t.Run("what was sent is its owner's alone", func(t *testing.T) {
		h := newHooks(t, open)
		e := h.endpoint(h.app, "job.created")
		m := integrations.Message{EventID: stores.NewID(), Type: "job.created", Body: `{"type":"job.created"}`, CreatedAt: h.clk.Now()}
		now := h.clk.Now()
		d := integrations.Delivery{ID: stores.NewID(), EndpointID: e.ID, OwnerID: e.OwnerID, EventID: m.EventID, Type: m.Type, Status: integrations.Pending, Attempts: []integrations.Attempt{}, NextAt: &now, CreatedAt: now}
		h.enqueue(m, d)
		h.queue(e)
		got, err := h.Integrations.Webhooks.Sent(ctx, e.OwnerID, e.ID, d.ID)
		require.NoError(t, err)
		require.Equal(t, m.Body, got.Message.Body)
		require.Equal(t, d, got.Delivery)
		for _, of := range [][3]string{{h.user(), e.ID, d.ID}, {e.OwnerID, h.endpoint(h.app, "job.created").ID, d.ID}, {e.OwnerID, e.ID, stores.NewID()}} {
			_, err := h.Integrations.Webhooks.Sent(ctx, of[0], of[1], of[2])
			require.ErrorIs(t, err, integrations.ErrDeliveryNotFound)
		}
	})
}
