package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit/stores"
)

// deliveries is the suite of what is sent to endpoints.
func deliveries(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	ctx := context.Background()
	t.Run("an event goes to an endpoint once, and its body is stored once", func(t *testing.T) {
		h := newHooks(t, open)
		e := h.endpoint(h.app, "job.created")
		d := h.queue(e)
		again := d
		again.ID = stores.NewID()
		h.enqueue(integrations.Message{EventID: d.EventID, Type: d.Type, Body: "other", CreatedAt: d.CreatedAt}, again)
		list := h.log(e, "")
		require.Equal(t, 1, list.Total)
		require.Equal(t, d, list.Items[0])
		body := h.first(e).Message.Body
		require.Len(t, body, len(`{"b":"ä"}`), "byte for byte")
		require.JSONEq(t, `{"b":"ä"}`, body)
	})
	t.Run("a delivery is settled once for each time that it was read", func(t *testing.T) {
		h := newHooks(t, open)
		e := h.endpoint(h.app, "job.created")
		for range 3 {
			h.queue(e)
		}
		read := h.due(e, nil, 50)
		require.Len(t, read, 3)
		require.Equal(t, read, h.due(e, nil, 50), "reading changes nothing")
		h.later(read[1], h.clk.Now().Add(-time.Second))
		late, done := read[1].Delivery, read[0].Delivery
		late.Attempt, late.Status, late.NextAt = 1, integrations.Failed, nil
		done.Attempt, done.Tries, done.Status, done.NextAt = 1, 1, integrations.Succeeded, nil
		settled, err := h.Integrations.Webhooks.Settle(ctx, e.ID, []integrations.Delivery{late, done})
		require.NoError(t, err)
		require.Equal(t, []string{done.ID}, settled, "of what was settled meanwhile nothing changes")
		require.False(t, h.settle(&read[0], integrations.Failed), "settled is settled")
		require.Equal(t, 1, h.log(e, integrations.Succeeded).Total)
		require.Zero(t, h.log(e, integrations.Failed).Total)
		require.Equal(t, 1, h.log(e, integrations.Succeeded).Items[0].Tries)
		again := h.first(e)
		require.Equal(t, late.ID, again.ID)
		require.Equal(t, 1, again.Attempt)
		other := h.endpoint(h.app, "job.created")
		third := read[2].Delivery
		third.Attempt++
		settled, err = h.Integrations.Webhooks.Settle(ctx, other.ID, []integrations.Delivery{third})
		require.NoError(t, err)
		require.Empty(t, settled, "another endpoint's")
	})
	t.Run("what was given up while it was attempted keeps how that ended", func(t *testing.T) {
		h := newHooks(t, open)
		e := h.endpoint(h.app, "job.created")
		h.queue(e)
		read := h.first(e)
		require.NoError(t, h.Integrations.Webhooks.Abandon(ctx, e.ID, h.clk.Now()))
		require.Nil(t, h.first(e))
		_, err := h.Integrations.Webhooks.Replay(ctx, e.OwnerID, e.ID, read.ID, h.clk.Now())
		require.NoError(t, err)
		require.True(t, h.settle(read, integrations.Succeeded))
		require.Nil(t, h.first(e), "it has arrived")
		_, err = h.Integrations.Webhooks.Replay(ctx, e.OwnerID, e.ID, read.ID, h.clk.Now())
		require.NoError(t, err)
		require.False(t, h.settle(read, integrations.Failed), "that is another attempt")
		require.Equal(t, 1, h.first(e).Attempt)
	})
	t.Run("what is due is read a batch after the other", func(t *testing.T) {
		h := newHooks(t, open)
		e := h.endpoint(h.app, "job.created")
		want := map[string]bool{}
		for n := range 10 {
			want[h.queue(e).ID] = true // several at the same moment
			if n%3 == 0 {
				h.clk.Advance(time.Microsecond)
			}
		}
		at, err := h.Integrations.Webhooks.NextAt(ctx, e.ID)
		require.NoError(t, err)
		require.True(t, at.Equal(*h.first(e).NextAt))
		var last *integrations.Delivery
		for {
			batch := h.due(e, last, 3)
			for _, o := range batch {
				require.True(t, want[o.ID], "twice")
				delete(want, o.ID)
			}
			if len(batch) < 3 {
				break
			}
			require.False(t, last != nil && batch[0].NextAt.Before(*last.NextAt))
			last = &batch[2].Delivery
		}
		require.Empty(t, want)
		at, err = h.Integrations.Webhooks.NextAt(ctx, h.endpoint(h.app, "job.created").ID)
		require.NoError(t, err)
		require.Nil(t, at)
	})
	t.Run("what has been due for longest comes first, and what is not due does not come", func(t *testing.T) {
		h := newHooks(t, open)
		e := h.endpoint(h.app, "job.created")
		first := h.queue(e)
		h.clk.Advance(time.Second)
		second := h.queue(e)
		c := h.first(e)
		require.Equal(t, first.ID, c.ID)
		c.Attempts = []integrations.Attempt{{At: h.clk.Now(), ResponseStatus: 500, Error: "status", DurationMs: 12, Answer: "no"}}
		h.later(*c, h.clk.Now().Add(time.Hour))
		require.Equal(t, second.ID, h.first(e).ID)
		h.later(*h.first(e), h.clk.Now().Add(time.Minute))
		require.Nil(t, h.first(e))
		overdue, err := h.Integrations.Webhooks.Overdue(ctx, h.clk.Now(), h.clk.Now(), "", 10)
		require.NoError(t, err)
		require.Empty(t, overdue)
		h.clk.Advance(2 * time.Hour)
		overdue, err = h.Integrations.Webhooks.Overdue(ctx, h.clk.Now(), h.clk.Now(), "", 10)
		require.NoError(t, err)
		require.Equal(t, []string{e.ID}, overdue)
		h.lease(e, stores.NewID(), h.clk.Now().Add(time.Second))
		attended, err := h.Integrations.Webhooks.Overdue(ctx, h.clk.Now(), h.clk.Now(), "", 10)
		require.NoError(t, err)
		require.Empty(t, attended, "somebody looks after it")
		h.lease(e, "", h.clk.Now())
		overdue, err = h.Integrations.Webhooks.Overdue(ctx, h.clk.Now(), h.clk.Now(), e.ID, 10)
		require.NoError(t, err)
		require.Empty(t, overdue)
		got := h.due(e, nil, 5)
		require.Len(t, got, 2)
		for _, g := range got {
			if g.ID == first.ID {
				require.Equal(t, c.Attempts, g.Attempts)
			}
		}
		h.queue(e)
		require.Nil(t, h.first(h.endpoint(h.app, "job.created")), "of another endpoint")
	})
	t.Run("an endpoint that was deleted meanwhile keeps nothing from the others", func(t *testing.T) {
		h := newHooks(t, open)
		a := h.application(h.user())
		gone, e := h.endpoint(a, "job.created"), h.endpoint(a, "job.created")
		require.NoError(t, h.Integrations.Webhooks.Delete(ctx, gone.OwnerID, a.ID, gone.ID))
		now := h.clk.Now()
		m := integrations.Message{EventID: stores.NewID(), Type: "job.created", Body: "{}", CreatedAt: now}
		var ds []integrations.Delivery
		for _, to := range []integrations.Endpoint{gone, e} {
			ds = append(ds, integrations.Delivery{ID: stores.NewID(), EndpointID: to.ID, OwnerID: to.OwnerID, EventID: m.EventID, Type: m.Type, Status: integrations.Pending, NextAt: &now, CreatedAt: now, Attempts: []integrations.Attempt{}})
		}
		require.Equal(t, []string{e.ID}, h.enqueue(m, ds...))
		require.Empty(t, h.enqueue(m, ds[0]))
		require.Equal(t, ds[1].ID, h.first(e).ID)
	})
}
