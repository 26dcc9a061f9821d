package conformance

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/integrations"
)

// WebhookLeases checks the leases of endpoints.
func WebhookLeases(t *testing.T, open IntegrationsOpener) {
	t.Run("upsert", func(t *testing.T) {
		f := newIntegrationsFixture(t, open)
		e, until := f.endpoint(f.app, "job.created"), f.clk.Now().Add(time.Minute)
		one := newID()
		f.lease(e, one, until)
		get := func() integrations.Endpoint {
			got, err := f.Webhooks.Get(f.ctx(), integrations.AnyOwner, e.ID)
			require.NoError(t, err)
			return got
		}
		got := get()
		require.Equal(t, one, got.Lease)
		require.True(t, got.LeasedUntil.Equal(until))
		require.Equal(t, e.UpdatedAt, got.UpdatedAt)
		f.change(e, func(e *integrations.Endpoint) { e.URL = "https://y.example/" })
		require.Equal(t, one, get().Lease)
		f.lease(e, "", until)
		got = get()
		require.Empty(t, got.Lease)
		require.Nil(t, got.LeasedUntil)
	})
	t.Run("concurrent workers", func(t *testing.T) {
		f := newIntegrationsFixture(t, open)
		e := f.endpoint(f.app, "job.created")
		now := f.clk.Now()
		var mu sync.Mutex
		holders := []string{}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				me := newID()
				took := false
				err := f.Tx.Do(f.ctx(), func(ctx context.Context) error {
					got, err := f.Webhooks.Get(ctx, integrations.AnyOwner, e.ID)
					if took = err == nil && got.LeasedUntil == nil; took {
						until := now.Add(time.Minute)
						got.Lease, got.LeasedUntil = me, &until
						return f.Webhooks.Upsert(ctx, got)
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
		got, err := f.Webhooks.Get(f.ctx(), integrations.AnyOwner, e.ID)
		require.NoError(t, err)
		require.Equal(t, holders[0], got.Lease)
	})
	t.Run("endpoints that need a task", func(t *testing.T) {
		f := newIntegrationsFixture(t, open)
		e, other := f.endpoint(f.app, "job.created"), f.endpoint(f.app, "job.created")
		event := func(to ...integrations.Endpoint) (idle []string) {
			now, eventID := f.clk.Now(), newID()
			var ds []integrations.Delivery
			for _, e := range to {
				ds = append(ds, f.delivery(e, eventID))
			}
			return f.enqueue(integrations.Message{EventID: eventID, Type: "job.created", Body: "{}", CreatedAt: now}, ds...)
		}
		require.Equal(t, []string{e.ID}, event(e))
		require.Equal(t, []string{other.ID}, event(e, other), "the task for the first delivery also finds the second")
		for _, o := range f.due(e, nil, 5) {
			f.retry(o, f.clk.Now().Add(time.Hour))
		}
		require.Equal(t, []string{e.ID}, event(e), "the other is due later")
		f.retry(*f.first(e), f.clk.Now().Add(time.Hour))
		f.lease(e, newID(), f.clk.Now().Add(time.Minute))
		require.Empty(t, event(e), "the worker checks again before it releases the lease")
		f.clk.Advance(time.Minute)
		require.Equal(t, []string{e.ID}, event(e), "the lease has ended")
		f.clk.Advance(2 * time.Minute)
		require.Equal(t, []string{e.ID}, event(e), "the task has not run for long")
		f.lease(e, newID(), f.clk.Now().Add(time.Minute))
		require.Empty(t, event(e))
		f.lease(e, "", f.clk.Now())
		f.clk.Advance(2 * time.Minute)
		require.Equal(t, []string{e.ID}, event(e), "released")
	})
	t.Run("release and enqueue at once", func(t *testing.T) {
		f := newIntegrationsFixture(t, open)
		e := f.endpoint(f.app, "job.created")
		for range 50 {
			me, now := newID(), f.clk.Now()
			f.lease(e, me, now.Add(time.Minute))
			var seen int
			var idle []string
			var both sync.WaitGroup
			both.Go(func() {
				_ = f.Tx.Do(f.ctx(), func(ctx context.Context) error {
					got, err := f.Webhooks.Get(ctx, integrations.AnyOwner, e.ID)
					if err != nil {
						return err
					}
					out, err := f.Deliveries.ListMessages(ctx, integrations.AnyOwner, e.ID, integrations.MessageFilter{DueBy: now}, 5)
					if seen = len(out); err != nil || seen > 0 {
						return err
					}
					got.Lease, got.LeasedUntil = "", nil
					return f.Webhooks.Upsert(ctx, got)
				})
			})
			both.Go(func() {
				d := f.delivery(e, newID())
				idle, _ = f.Deliveries.Enqueue(f.ctx(), []integrations.Message{{EventID: d.EventID, Type: d.Type, Body: "{}", CreatedAt: now}}, []integrations.Delivery{d}, now, now.Add(-time.Minute))
			})
			both.Wait()
			require.Equal(t, 1, seen+len(idle), "one of the two notices the other")
			require.True(t, f.record(f.first(e), integrations.Succeeded))
		}
	})
}
