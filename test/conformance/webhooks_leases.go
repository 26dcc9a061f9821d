package conformance

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit/stores"
)

// endpointLeases is the suite of who looks after an endpoint.
func endpointLeases(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	ctx := context.Background()
	t.Run("a lease names who looks after an endpoint, and changes nothing else", func(t *testing.T) {
		h := newHooks(t, open)
		e, until := h.endpoint(h.app, "job.created"), h.clk.Now().Add(time.Minute)
		one := stores.NewID()
		h.lease(e, one, until)
		got, err := h.Integrations.Webhooks.Lock(ctx, e.ID)
		require.NoError(t, err)
		require.Equal(t, one, got.Lease)
		require.True(t, got.LeasedUntil.Equal(until))
		require.Equal(t, e.Version, got.Version, "its owner may change it meanwhile")
		require.Equal(t, e.UpdatedAt, got.UpdatedAt)
		e.URL = "https://y.example/"
		require.NoError(t, h.Integrations.Webhooks.Save(ctx, e), "which takes nothing of that back")
		got, err = h.Integrations.Webhooks.Find(ctx, e.OwnerID, e.AppID, e.ID)
		require.NoError(t, err)
		require.Equal(t, one, got.Lease)
		h.lease(e, "", until)
		got, err = h.Integrations.Webhooks.Lock(ctx, e.ID)
		require.NoError(t, err)
		require.Empty(t, got.Lease)
		require.Nil(t, got.LeasedUntil)
	})
	t.Run("of many who want to look after an endpoint one does", func(t *testing.T) {
		h := newHooks(t, open)
		e := h.endpoint(h.app, "job.created")
		now := h.clk.Now()
		var mu sync.Mutex
		holders := []string{}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				me := stores.NewID()
				took := false
				err := h.Identity.Tx.Do(ctx, func(ctx context.Context) error {
					got, err := h.Integrations.Webhooks.Lock(ctx, e.ID)
					if took = err == nil && got.LeasedUntil == nil; took {
						return h.Integrations.Webhooks.Lease(ctx, e.ID, me, now.Add(time.Minute))
					}
					return err
				})
				mu.Lock()
				defer mu.Unlock()
				if took && err == nil {
					holders = append(holders, me)
				}
			})
		}
		all.Wait()
		require.Len(t, holders, 1)
		got, err := h.Integrations.Webhooks.Lock(ctx, e.ID)
		require.NoError(t, err)
		require.Equal(t, holders[0], got.Lease)
	})
	t.Run("somebody is to look at an endpoint unless somebody does", func(t *testing.T) {
		h := newHooks(t, open)
		e, other := h.endpoint(h.app, "job.created"), h.endpoint(h.app, "job.created")
		event := func(to ...integrations.Endpoint) (alone []string) {
			now, eventID := h.clk.Now(), stores.NewID()
			var ds []integrations.Delivery
			for _, e := range to {
				ds = append(ds, integrations.Delivery{ID: stores.NewID(), EndpointID: e.ID, OwnerID: e.OwnerID, EventID: eventID, Type: "job.created", Status: integrations.Pending, NextAt: &now, CreatedAt: now})
			}
			return h.enqueue(integrations.Message{EventID: eventID, Type: "job.created", Body: "{}", CreatedAt: now}, ds...)
		}
		require.Equal(t, []string{e.ID}, event(e))
		require.Equal(t, []string{other.ID}, event(e, other), "whoever comes for the first finds the second")
		for _, o := range h.due(e, nil, 5) {
			h.later(o, h.clk.Now().Add(time.Hour))
		}
		require.Equal(t, []string{e.ID}, event(e), "what is due later is of no use")
		h.later(*h.first(e), h.clk.Now().Add(time.Hour))
		h.lease(e, stores.NewID(), h.clk.Now().Add(time.Minute))
		require.Empty(t, event(e), "whoever looks after it looks again before they leave")
		h.clk.Advance(time.Minute)
		require.Equal(t, []string{e.ID}, event(e), "they are gone")
		h.clk.Advance(2 * time.Minute)
		require.Equal(t, []string{e.ID}, event(e), "nobody has come for a long time")
		h.lease(e, stores.NewID(), h.clk.Now().Add(time.Minute))
		require.Equal(t, []string{}, append([]string{}, event(e)...))
		h.lease(e, "", h.clk.Now())
		h.clk.Advance(2 * time.Minute)
		require.Equal(t, []string{e.ID}, event(e), "they have left")
	})
	t.Run("who is about to leave sees what is queued meanwhile, or whoever queues it sees that they have left", func(t *testing.T) {
		h := newHooks(t, open)
		e := h.endpoint(h.app, "job.created")
		for range 50 {
			me, now := stores.NewID(), h.clk.Now()
			h.lease(e, me, now.Add(time.Minute))
			var seen int
			var alone []string
			var both sync.WaitGroup
			both.Go(func() {
				_ = h.Identity.Tx.Do(ctx, func(ctx context.Context) error {
					if _, err := h.Integrations.Webhooks.Lock(ctx, e.ID); err != nil {
						return err
					}
					out, err := h.Integrations.Webhooks.Due(ctx, e.ID, now, nil, 5)
					if seen = len(out); err != nil || seen > 0 {
						return err
					}
					return h.Integrations.Webhooks.Lease(ctx, e.ID, "", now)
				})
			})
			both.Go(func() {
				d := integrations.Delivery{ID: stores.NewID(), EndpointID: e.ID, OwnerID: e.OwnerID, EventID: stores.NewID(), Type: "job.created", Status: integrations.Pending, NextAt: &now, CreatedAt: now}
				alone, _ = h.Integrations.Webhooks.Queue(ctx, []integrations.Message{{EventID: d.EventID, Type: d.Type, Body: "{}", CreatedAt: now}}, []integrations.Delivery{d}, now, now.Add(-time.Minute))
			})
			both.Wait()
			require.Equal(t, 1, seen+len(alone))
			require.True(t, h.settle(h.first(e), integrations.Succeeded))
		}
	})
}
