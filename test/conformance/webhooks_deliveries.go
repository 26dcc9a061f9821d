package conformance

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/modules/integrations"
)

// Deliveries checks the delivery of messages by the port integrations.Deliveries.
func Deliveries(t *testing.T, open IntegrationsOpener) {
	su := deliverySuite{open}
	t.Run("enqueue twice", su.enqueueTwice)
	t.Run("next due", su.nextDue)
	t.Run("one result of each attempt", su.oneResultOfEachAttempt)
	t.Run("paused and replayed during an attempt", su.pausedAndReplayedDuringAnAttempt)
	t.Run("batches", su.batches)
	t.Run("worker and event at once", su.workerAndEventAtOnce)
	t.Run("order and due time", su.orderAndDueTime)
	t.Run("deleted and paused endpoints", su.deletedAndPausedEndpoints)
}

// deliverySuite has the subtests of Deliveries.
type deliverySuite struct {
	open IntegrationsOpener
}

func (su deliverySuite) enqueueTwice(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
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
}

func (su deliverySuite) nextDue(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	e, other := f.endpoint(f.app, "job.created"), f.endpoint(f.app, "job.created")
	next := func() *time.Time {
		at, err := f.Deliveries.NextDue(f.ctx(), e.ID)
		require.NoError(t, err)
		return at
	}
	f.queue(other)
	require.Nil(t, next())
	f.queue(e)
	f.queue(e)
	read := f.due(e, 2)
	f.retry(read[0], f.clk.Now().Add(time.Hour))
	require.True(t, next().Equal(*read[1].NextAt), "the earliest")
	require.True(t, f.record(&read[1], integrations.Failed))
	require.True(t, next().Equal(f.clk.Now().Add(time.Hour)), "not due yet")
}

func (su deliverySuite) oneResultOfEachAttempt(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	e := f.endpoint(f.app, "job.created")
	for range 3 {
		f.queue(e)
	}
	read := f.due(e, 50)
	require.Len(t, read, 3)
	require.Equal(t, read, f.due(e, 50), "reading does not claim")
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
}

func (su deliverySuite) pausedAndReplayedDuringAnAttempt(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
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
}

func (su deliverySuite) batches(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	e := f.endpoint(f.app, "job.created")
	want := map[string]bool{}
	for n := range 10 {
		want[f.queue(e).ID] = true // several at the same time
		if n%3 == 0 {
			f.clk.Advance(time.Microsecond)
		}
	}
	for len(want) > 0 {
		batch := f.due(e, 3)
		require.Len(t, batch, min(3, len(want)))
		for i, o := range batch {
			require.True(t, want[o.ID], "twice")
			delete(want, o.ID)
			require.False(t, i > 0 && o.NextAt.Before(*batch[i-1].NextAt))
			require.True(t, f.record(&o, integrations.Succeeded))
		}
	}
	require.Empty(t, f.due(e, 3))
}

func (su deliverySuite) workerAndEventAtOnce(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	e := f.endpoint(f.app, "job.created")
	deliver := func() task.Task {
		j := task.New("deliver", task.Webhooks, newID(), struct{}{})
		j.Group, j.RunAt = e.ID, f.clk.Now()
		return j
	}
	for range 50 {
		refs, err := f.Tasks.AddAndReserve(f.ctx(), deliver())
		require.NoError(t, err)
		var started []task.Task
		var seen int
		var both sync.WaitGroup
		both.Go(func() {
			started, _ = f.Tasks.Start(f.ctx(), []string{refs[0].ID}, time.Minute)
			_ = f.Tx.Do(f.ctx(), func(ctx context.Context) error {
				if _, err := f.Webhooks.Get(ctx, integrations.AnyOwner, e.ID); err != nil {
					return err
				}
				out, err := f.Deliveries.ListMessages(ctx, integrations.AnyOwner, e.ID, integrations.MessageFilter{DueBy: f.clk.Now()}, 5)
				seen = len(out)
				return err
			})
		})
		both.Go(func() {
			d := f.delivery(e, newID())
			_ = f.Tx.Do(f.ctx(), func(ctx context.Context) error {
				if err := f.Deliveries.Enqueue(ctx, []integrations.Message{{EventID: d.EventID, Type: d.Type, Body: "{}", CreatedAt: d.CreatedAt}}, []integrations.Delivery{d}); err != nil {
					return err
				}
				return f.Tasks.Add(ctx, deliver())
			})
		})
		both.Wait()
		require.Len(t, started, 1)
		waiting, err := f.Tasks.List(f.ctx(), task.Filter{State: task.Waiting, Limit: 5})
		require.NoError(t, err)
		require.LessOrEqual(t, 1, seen+len(waiting), "the worker notices the delivery, or another task waits")
		require.True(t, f.record(f.first(e), integrations.Succeeded))
		require.NoError(t, f.Tasks.RecordOutcomes(f.ctx(), task.Outcome{Run: task.Run{ID: started[0].ID, Attempt: 1}, Group: e.ID, State: task.Done}))
		for _, r := range waiting {
			_, err := f.Tasks.Drop(f.ctx(), []string{r.ID})
			require.NoError(t, err)
		}
	}
}

func (su deliverySuite) orderAndDueTime(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
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
	f.clk.Advance(2 * time.Hour)
	got := f.due(e, 5)
	require.Len(t, got, 2)
	for _, g := range got {
		if g.ID == first.ID {
			require.Equal(t, c.Attempts, g.Attempts)
		}
	}
	f.queue(e)
	require.Nil(t, f.first(f.endpoint(f.app, "job.created")), "of another endpoint")
}

func (su deliverySuite) deletedAndPausedEndpoints(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
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
	f.enqueue(m, ds...)
	f.enqueue(m, ds[:2]...)
	require.Equal(t, ds[2].ID, f.first(e).ID)
	require.Empty(t, f.log(paused, "").Items)
}
