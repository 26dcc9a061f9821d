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
	suite := deliverySuite{open}
	t.Run("enqueue twice", suite.enqueueTwice)
	t.Run("next due", suite.nextDue)
	t.Run("one result of each attempt", suite.oneResultOfEachAttempt)
	t.Run("paused and replayed during an attempt", suite.pausedAndReplayedDuringAnAttempt)
	t.Run("batches", suite.batches)
	t.Run("worker and event at once", suite.workerAndEventAtOnce)
	t.Run("order and due time", suite.orderAndDueTime)
	t.Run("deleted and paused endpoints", suite.deletedAndPausedEndpoints)
}

// deliverySuite has the subtests of Deliveries.
type deliverySuite struct {
	open IntegrationsOpener
}

// enqueueTwice checks that an event that is handled twice is delivered once, with the bytes of
// the first message, of which receivers check the signature.
func (suite deliverySuite) enqueueTwice(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.endpoint(fixture.app, "job.created")
	delivery := fixture.queue(endpoint)
	second := delivery
	second.ID = newID()
	fixture.enqueue(
		integrations.Message{EventID: delivery.EventID, Type: delivery.Type, Body: "other", CreatedAt: delivery.CreatedAt},
		second,
	)

	list := fixture.log(endpoint, "")
	require.Equal(t, 1, list.Total)
	require.Equal(t, delivery, list.Items[0])

	body := fixture.first(endpoint).Message.Body
	require.Len(t, body, len(`{"b":"ä"}`), "unchanged bytes")
	require.JSONEq(t, `{"b":"ä"}`, body)
}

// nextDue checks the time at which the next delivery to an endpoint is due, or nil.
func (suite deliverySuite) nextDue(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.endpoint(fixture.app, "job.created")
	otherEndpoint := fixture.endpoint(fixture.app, "job.created")
	next := func() *time.Time {
		at, err := fixture.Deliveries.NextDue(fixture.ctx(), endpoint.ID)
		require.NoError(t, err)
		return at
	}

	fixture.queue(otherEndpoint)
	require.Nil(t, next())
	fixture.queue(endpoint)
	fixture.queue(endpoint)

	read := fixture.due(endpoint, 2)
	fixture.retry(read[0], fixture.clk.Now().Add(time.Hour))
	require.True(t, next().Equal(*read[1].NextAt), "the earliest")
	require.True(t, fixture.record(&read[1], integrations.Failed))
	require.True(t, next().Equal(fixture.clk.Now().Add(time.Hour)), "not due yet")
}

// oneResultOfEachAttempt checks that two workers with the same delivery record one result, that
// of the current attempt.
func (suite deliverySuite) oneResultOfEachAttempt(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)

	endpoint := fixture.endpoint(fixture.app, "job.created")
	for range 3 {
		fixture.queue(endpoint)
	}

	read := fixture.due(endpoint, 50)
	require.Len(t, read, 3)
	require.Equal(t, read, fixture.due(endpoint, 50), "reading does not claim")
	fixture.retry(read[1], fixture.clk.Now().Add(-time.Second))

	outdated, done := read[1].Delivery, read[0].Delivery
	outdated.Attempt = 1
	outdated.Status = integrations.Failed
	outdated.NextAt = nil
	done.Attempt = 1
	done.Tries = 1
	done.Status = integrations.Succeeded
	done.NextAt = nil
	changed, err := fixture.Deliveries.RecordResults(fixture.ctx(), endpoint.ID, []integrations.Delivery{outdated, done})
	require.NoError(t, err)
	require.Equal(t, []string{done.ID}, changed, "the other has a later attempt")
	require.False(t, fixture.record(&read[0], integrations.Failed), "the attempt has a result")
	require.Equal(t, 1, fixture.log(endpoint, integrations.Succeeded).Total)
	require.Zero(t, fixture.log(endpoint, integrations.Failed).Total)
	require.Equal(t, 1, fixture.log(endpoint, integrations.Succeeded).Items[0].Tries)

	second := fixture.first(endpoint)
	require.Equal(t, outdated.ID, second.ID)
	require.Equal(t, 1, second.Attempt)

	otherEndpoint := fixture.endpoint(fixture.app, "job.created")
	third := read[2].Delivery
	third.Attempt++
	changed, err = fixture.Deliveries.RecordResults(fixture.ctx(), otherEndpoint.ID, []integrations.Delivery{third})
	require.NoError(t, err)
	require.Empty(t, changed, "of another endpoint")
}

// pausedAndReplayedDuringAnAttempt checks that a pause fails the pending deliveries, and that a
// result of an attempt that began before a replay is not stored as the result of the next
// attempt.
func (suite deliverySuite) pausedAndReplayedDuringAnAttempt(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.endpoint(fixture.app, "job.created")
	fixture.queue(endpoint)

	read := fixture.first(endpoint)
	otherEndpoint := fixture.endpoint(fixture.app, "job.created")
	fixture.queue(otherEndpoint)
	fixture.change(endpoint, func(endpoint *integrations.Endpoint) { endpoint.Status = integrations.EndpointPaused })
	require.Nil(t, fixture.first(endpoint))

	failed := fixture.log(endpoint, integrations.Failed).Items[0]
	require.True(t, failed.FailedAt.Equal(fixture.clk.Now()))
	require.Nil(t, failed.NextAt)
	require.NotNil(t, fixture.first(otherEndpoint))
	fixture.change(endpoint, func(endpoint *integrations.Endpoint) { endpoint.Status = integrations.EndpointActive })
	require.Nil(t, fixture.first(endpoint))
	require.Equal(t, 1, fixture.replay(endpoint.OwnerID, endpoint, integrations.ReplayFilter{ID: read.ID}, 1))
	require.True(t, fixture.record(read, integrations.Succeeded))
	require.Nil(t, fixture.first(endpoint), "delivered")
	require.Equal(t, 1, fixture.replay(endpoint.OwnerID, endpoint, integrations.ReplayFilter{ID: read.ID}, 1))
	require.False(t, fixture.record(read, integrations.Failed), "another attempt")
	require.Equal(t, 1, fixture.first(endpoint).Attempt)
}

// batches checks that batches of three contain each delivery once, the one that has been due
// for longest first.
func (suite deliverySuite) batches(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.endpoint(fixture.app, "job.created")

	want := map[string]bool{}
	for n := range 10 {
		want[fixture.queue(endpoint).ID] = true // several at the same time
		if n%3 == 0 {
			fixture.clk.Advance(time.Microsecond)
		}
	}

	for len(want) > 0 {
		batch := fixture.due(endpoint, 3)
		require.Len(t, batch, min(3, len(want)))

		for i, o := range batch {
			require.True(t, want[o.ID], "twice")
			delete(want, o.ID)
			require.False(t, i > 0 && o.NextAt.Before(*batch[i-1].NextAt))
			require.True(t, fixture.record(&o, integrations.Succeeded))
		}
	}

	require.Empty(t, fixture.due(endpoint, 3))
}

// workerAndEventAtOnce checks that no delivery is forgotten if it is enqueued just when the
// worker of its endpoint reads the deliveries: either the worker reads it, or a second task
// waits.
func (suite deliverySuite) workerAndEventAtOnce(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.endpoint(fixture.app, "job.created")
	deliver := func() task.Task {
		queued := task.New("deliver", task.Webhooks, newID(), struct{}{})
		queued.Group, queued.RunAt = endpoint.ID, fixture.clk.Now()
		return queued
	}

	for range 50 {
		refs, err := fixture.Tasks.AddAndReserve(fixture.ctx(), deliver())
		require.NoError(t, err)
		var started []task.Task
		var seenIDs int
		var both sync.WaitGroup
		both.Go(func() {
			started, _ = fixture.Tasks.Start(fixture.ctx(), []string{refs[0].ID}, time.Minute)
			_ = fixture.Tx.Do(fixture.ctx(), func(ctx context.Context) error {
				if _, err := fixture.Webhooks.Get(ctx, integrations.AnyOwner, endpoint.ID); err != nil {
					return err
				}

				out, err := fixture.Deliveries.ListMessages(ctx, integrations.AnyOwner, endpoint.ID,
					integrations.MessageFilter{DueBy: fixture.clk.Now()}, 5)
				seenIDs = len(out)

				return err
			})
		})

		both.Go(func() {
			delivery := fixture.delivery(endpoint, newID())
			_ = fixture.Tx.Do(fixture.ctx(), func(ctx context.Context) error {
				if err := fixture.Deliveries.Enqueue(ctx, []integrations.Message{{
					EventID:   delivery.EventID,
					Type:      delivery.Type,
					Body:      "{}",
					CreatedAt: delivery.CreatedAt,
				}}, []integrations.Delivery{delivery}); err != nil {
					return err
				}

				return fixture.Tasks.Add(ctx, deliver())
			})
		})

		both.Wait()
		require.Len(t, started, 1)

		waiting, err := fixture.Tasks.List(fixture.ctx(), task.Filter{State: task.Waiting, Limit: 5})
		require.NoError(t, err)
		require.LessOrEqual(t, 1, seenIDs+len(waiting), "the worker notices the delivery, or another task waits")
		require.True(t, fixture.record(fixture.first(endpoint), integrations.Succeeded))
		require.NoError(
			t,
			fixture.Tasks.RecordOutcomes(
				fixture.ctx(),
				task.Outcome{Run: task.Run{ID: started[0].ID, Attempt: 1}, Group: endpoint.ID, State: task.Done},
			),
		)

		for _, r := range waiting {
			_, err := fixture.Tasks.Drop(fixture.ctx(), []string{r.ID})
			require.NoError(t, err)
		}
	}
}

// orderAndDueTime checks that deliveries are read in the order of their due times, with their
// earlier attempts.
func (suite deliverySuite) orderAndDueTime(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.endpoint(fixture.app, "job.created")
	first := fixture.queue(endpoint)
	fixture.clk.Advance(time.Second)

	second := fixture.queue(endpoint)
	c := fixture.first(endpoint)
	require.Equal(t, first.ID, c.ID)

	c.Attempts = []integrations.Attempt{{At: fixture.clk.Now(), ResponseStatus: 500, Error: "status", DurationMs: 12, Answer: "no"}}
	fixture.retry(*c, fixture.clk.Now().Add(time.Hour))
	require.Equal(t, second.ID, fixture.first(endpoint).ID)
	fixture.retry(*fixture.first(endpoint), fixture.clk.Now().Add(time.Minute))
	require.Nil(t, fixture.first(endpoint))
	require.Equal(t, second.ID, fixture.messages(endpoint, integrations.MessageFilter{}, 1)[0].ID,
		"the next one, though it is not due")
	fixture.clk.Advance(2 * time.Hour)

	got := fixture.due(endpoint, 5)
	require.Len(t, got, 2)

	for _, g := range got {
		if g.ID == first.ID {
			require.Equal(t, c.Attempts, g.Attempts)
		}
	}

	fixture.queue(endpoint)
	require.Nil(t, fixture.first(fixture.endpoint(fixture.app, "job.created")), "of another endpoint")
}

// deletedAndPausedEndpoints checks that a message is not enqueued for endpoints that were
// deleted or paused after they were read.
func (suite deliverySuite) deletedAndPausedEndpoints(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	app := fixture.createApp(newID())
	deleted, paused, endpoint := fixture.endpoint(app, "job.created"), fixture.endpoint(app,
		"job.created"), fixture.endpoint(app, "job.created")
	require.NoError(t, fixture.Webhooks.Delete(fixture.ctx(), deleted.OwnerID, app.ID, deleted.ID))
	fixture.change(paused, func(endpoint *integrations.Endpoint) { endpoint.Status = integrations.EndpointPaused })

	now := fixture.clk.Now()
	message := integrations.Message{EventID: newID(), Type: "job.created", Body: "{}", CreatedAt: now}

	var ds []integrations.Delivery
	for _, to := range []integrations.Endpoint{deleted, paused, endpoint} {
		ds = append(ds, fixture.delivery(to, message.EventID))
	}

	fixture.enqueue(message, ds...)
	fixture.enqueue(message, ds[:2]...)
	require.Equal(t, ds[2].ID, fixture.first(endpoint).ID)
	require.Empty(t, fixture.log(paused, "").Items)
}
