package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/integrations"
)

// Deliveries checks the delivery of messages by the port integrations.Deliveries.
func Deliveries(t *testing.T, open IntegrationsOpener) {
	t.Run("enqueue twice", func(t *testing.T) {
		f := newIntegrationsFixture(t, open)
		e := f.endpoint(f.app, "job.created")
		d := f.queue(e)
		again := d
		again.ID = newID()
		f.enqueue(integrations.Message{EventID: d.EventID, Type: d.Type, Body: "other", CreatedAt: d.CreatedAt}, again)
		list := f.log(e, "")
		require.Equal(t, 1, list.Total)
		require.Equal(t, d, list.Items[0])
		body := f.first(e).Message.Body
		require.Len(t, body, len(`{"b":"ä"}`), "unchanged bytes")
		require.JSONEq(t, `{"b":"ä"}`, body)
	})
	t.Run("one result of each attempt", func(t *testing.T) {
		f := newIntegrationsFixture(t, open)
		e := f.endpoint(f.app, "job.created")
		for range 3 {
			f.queue(e)
		}
		read := f.due(e, nil, 50)
		require.Len(t, read, 3)
		require.Equal(t, read, f.due(e, nil, 50), "reading does not claim")
		f.retry(read[1], f.clk.Now().Add(-time.Second))
		late, done := read[1].Delivery, read[0].Delivery
		late.Attempt, late.Status, late.NextAt = 1, integrations.Failed, nil
		done.Attempt, done.Tries, done.Status, done.NextAt = 1, 1, integrations.Succeeded, nil
		changed, err := f.Deliveries.RecordResults(f.ctx(), e.ID, []integrations.Delivery{late, done})
		require.NoError(t, err)
		require.Equal(t, []string{done.ID}, changed, "the other has a later attempt")
		require.False(t, f.record(&read[0], integrations.Failed), "the attempt has a result")
		require.Equal(t, 1, f.log(e, integrations.Succeeded).Total)
		require.Zero(t, f.log(e, integrations.Failed).Total)
		require.Equal(t, 1, f.log(e, integrations.Succeeded).Items[0].Tries)
		again := f.first(e)
		require.Equal(t, late.ID, again.ID)
		require.Equal(t, 1, again.Attempt)
		other := f.endpoint(f.app, "job.created")
		third := read[2].Delivery
		third.Attempt++
		changed, err = f.Deliveries.RecordResults(f.ctx(), other.ID, []integrations.Delivery{third})
		require.NoError(t, err)
		require.Empty(t, changed, "of another endpoint")
	})
	t.Run("paused and replayed during an attempt", func(t *testing.T) {
		f := newIntegrationsFixture(t, open)
		e := f.endpoint(f.app, "job.created")
		f.queue(e)
		read := f.first(e)
		other := f.endpoint(f.app, "job.created")
		f.queue(other)
		f.change(e, func(e *integrations.Endpoint) { e.Status = integrations.EndpointPaused })
		require.Nil(t, f.first(e))
		failed := f.log(e, integrations.Failed).Items[0]
		require.True(t, failed.FailedAt.Equal(f.clk.Now()))
		require.Nil(t, failed.NextAt)
		require.NotNil(t, f.first(other))
		f.change(e, func(e *integrations.Endpoint) { e.Status = integrations.EndpointActive })
		require.Nil(t, f.first(e))
		require.Equal(t, 1, f.replay(e.OwnerID, e, integrations.ReplayFilter{ID: read.ID}, 1))
		require.True(t, f.record(read, integrations.Succeeded))
		require.Nil(t, f.first(e), "delivered")
		require.Equal(t, 1, f.replay(e.OwnerID, e, integrations.ReplayFilter{ID: read.ID}, 1))
		require.False(t, f.record(read, integrations.Failed), "another attempt")
		require.Equal(t, 1, f.first(e).Attempt)
	})
	t.Run("batches", func(t *testing.T) {
		f := newIntegrationsFixture(t, open)
		e := f.endpoint(f.app, "job.created")
		want := map[string]bool{}
		for n := range 10 {
			want[f.queue(e).ID] = true // several at the same time
			if n%3 == 0 {
				f.clk.Advance(time.Microsecond)
			}
		}
		var last *integrations.Delivery
		for {
			batch := f.due(e, last, 3)
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
	})
	t.Run("order and due time", func(t *testing.T) {
		f := newIntegrationsFixture(t, open)
		e := f.endpoint(f.app, "job.created")
		first := f.queue(e)
		f.clk.Advance(time.Second)
		second := f.queue(e)
		c := f.first(e)
		require.Equal(t, first.ID, c.ID)
		c.Attempts = []integrations.Attempt{{At: f.clk.Now(), ResponseStatus: 500, Error: "status", DurationMs: 12, Answer: "no"}}
		f.retry(*c, f.clk.Now().Add(time.Hour))
		require.Equal(t, second.ID, f.first(e).ID)
		f.retry(*f.first(e), f.clk.Now().Add(time.Minute))
		require.Nil(t, f.first(e))
		require.Equal(t, second.ID, f.messages(e, integrations.MessageFilter{}, 1)[0].ID, "the next one, though it is not due")
		require.Empty(t, f.overdue(""))
		f.clk.Advance(2 * time.Hour)
		require.Equal(t, []string{e.ID}, f.overdue(""))
		f.lease(e, newID(), f.clk.Now().Add(time.Second))
		require.Empty(t, f.overdue(""), "leased")
		f.lease(e, "", f.clk.Now())
		require.Equal(t, []string{e.ID}, f.overdue(""))
		require.Empty(t, f.overdue(e.ID), "after it")
		got := f.due(e, nil, 5)
		require.Len(t, got, 2)
		for _, g := range got {
			if g.ID == first.ID {
				require.Equal(t, c.Attempts, g.Attempts)
			}
		}
		f.queue(e)
		require.Nil(t, f.first(f.endpoint(f.app, "job.created")), "of another endpoint")
	})
	t.Run("deleted and paused endpoints", func(t *testing.T) {
		f := newIntegrationsFixture(t, open)
		a := f.application(newID())
		deleted, paused, e := f.endpoint(a, "job.created"), f.endpoint(a, "job.created"), f.endpoint(a, "job.created")
		require.NoError(t, f.Webhooks.Delete(f.ctx(), deleted.OwnerID, a.ID, deleted.ID))
		f.change(paused, func(e *integrations.Endpoint) { e.Status = integrations.EndpointPaused })
		now := f.clk.Now()
		m := integrations.Message{EventID: newID(), Type: "job.created", Body: "{}", CreatedAt: now}
		var ds []integrations.Delivery
		for _, to := range []integrations.Endpoint{deleted, paused, e} {
			ds = append(ds, f.delivery(to, m.EventID))
		}
		require.Equal(t, []string{e.ID}, f.enqueue(m, ds...))
		require.Empty(t, f.enqueue(m, ds[:2]...))
		require.Equal(t, ds[2].ID, f.first(e).ID)
		require.Empty(t, f.log(paused, "").Items)
	})
}
