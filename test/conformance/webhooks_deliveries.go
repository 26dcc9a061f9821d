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

// Deliveries checks how the port integrations.Deliveries stores deliveries and their results. A delivery is the
// sending of one message (the webhook of an event) to one endpoint, the URL of a receiver. A worker reads the due
// deliveries of an endpoint, makes an attempt of each and records the results. A result counts only if no other
// result of the same attempt is recorded.
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

// enqueueTwice checks that an event that is handled twice is delivered once. Its body has exactly the bytes of
// the first message, because receivers check a signature of them.
func (suite deliverySuite) enqueueTwice(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.endpoint(fixture.app, "job.created")
	delivery := fixture.queue(endpoint)
	second := delivery
	second.ID = newID()
	sameEvent := integrations.Message{
		EventID:   delivery.EventID,
		Type:      delivery.Type,
		Body:      "other",
		CreatedAt: delivery.CreatedAt,
	}
	fixture.enqueue(sameEvent, second)

	logged := fixture.log(endpoint, "")
	require.Equal(t, 1, logged.Total)
	require.Equal(t, delivery, logged.Items[0])

	const firstBody = `{"b":"ä"}` // of the message that fixture.queue stores
	body := fixture.first(endpoint).Message.Body
	require.Len(t, body, len(firstBody), "unchanged bytes")
	require.JSONEq(t, firstBody, body)
}

// nextDue checks that NextDue returns the earliest time at which a delivery to the endpoint is
// due, or nil if none is pending.
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

	// The first of two deliveries is retried in an hour, and the other is still due.
	due := fixture.due(endpoint, 2)
	fixture.retry(due[0], fixture.clk.Now().Add(time.Hour))
	require.True(t, next().Equal(*due[1].NextAt), "the earliest")
	require.True(t, fixture.record(&due[1], integrations.Failed))
	require.True(t, next().Equal(fixture.clk.Now().Add(time.Hour)), "not due yet")
}

// oneResultOfEachAttempt checks that two workers that have read the same delivery record one
// result of each attempt, and that an outdated result is ignored.
func (suite deliverySuite) oneResultOfEachAttempt(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.endpoint(fixture.app, "job.created")

	for range 3 {
		fixture.queue(endpoint)
	}

	due := fixture.due(endpoint, 50)
	require.Len(t, due, 3)
	require.Equal(t, due, fixture.due(endpoint, 50), "reading does not claim")

	// Another worker has recorded the first attempt of the second delivery, which must be retried.
	fixture.retry(due[1], fixture.clk.Now().Add(-time.Second))

	outdated := due[1].Delivery
	outdated.Attempt = 1
	outdated.Status = integrations.Failed
	outdated.NextAt = nil

	succeeded := due[0].Delivery
	succeeded.Attempt = 1
	succeeded.Tries = 1
	succeeded.Status = integrations.Succeeded
	succeeded.NextAt = nil

	changed, err := fixture.Deliveries.RecordResults(fixture.ctx(), endpoint.ID,
		[]integrations.Delivery{outdated, succeeded})
	require.NoError(t, err)
	require.Equal(t, []string{succeeded.ID}, changed, "the other has a later attempt")
	require.False(t, fixture.record(&due[0], integrations.Failed), "the attempt has a result")

	// The log has the result of the first delivery only.
	require.Equal(t, 1, fixture.log(endpoint, integrations.Succeeded).Total)
	require.Zero(t, fixture.log(endpoint, integrations.Failed).Total)
	require.Equal(t, 1, fixture.log(endpoint, integrations.Succeeded).Items[0].Tries)

	retried := fixture.first(endpoint)
	require.Equal(t, outdated.ID, retried.ID)
	require.Equal(t, 1, retried.Attempt)

	// A result is recorded only with the endpoint of its delivery.
	otherEndpoint := fixture.endpoint(fixture.app, "job.created")
	third := due[2].Delivery
	third.Attempt++
	changed, err = fixture.Deliveries.RecordResults(fixture.ctx(), otherEndpoint.ID, []integrations.Delivery{third})
	require.NoError(t, err)
	require.Empty(t, changed, "of another endpoint")
}

// pausedAndReplayedDuringAnAttempt checks that a pause fails the pending deliveries. It also checks that the
// result of an attempt is stored if the delivery was replayed meanwhile, but not after a second replay, when
// it would be the result of another attempt.
func (suite deliverySuite) pausedAndReplayedDuringAnAttempt(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.endpoint(fixture.app, "job.created")
	fixture.queue(endpoint)

	running := fixture.first(endpoint)
	otherEndpoint := fixture.endpoint(fixture.app, "job.created")
	fixture.queue(otherEndpoint)

	// A pause during the attempt.
	fixture.change(endpoint, func(endpoint *integrations.Endpoint) { endpoint.Status = integrations.EndpointPaused })
	require.Nil(t, fixture.first(endpoint))

	failed := fixture.log(endpoint, integrations.Failed).Items[0]
	require.True(t, failed.FailedAt.Equal(fixture.clk.Now()))
	require.Nil(t, failed.NextAt)
	require.NotNil(t, fixture.first(otherEndpoint))

	// The end of the pause does not make the delivery pending again. A replay does.
	fixture.change(endpoint, func(endpoint *integrations.Endpoint) { endpoint.Status = integrations.EndpointActive })
	require.Nil(t, fixture.first(endpoint))
	require.Equal(t, 1, fixture.replay(endpoint.OwnerID, endpoint, integrations.ReplayFilter{ID: running.ID}, 1))
	require.True(t, fixture.record(running, integrations.Succeeded))
	require.Nil(t, fixture.first(endpoint), "delivered")

	// The attempt has its result. The delivery now waits for another attempt.
	require.Equal(t, 1, fixture.replay(endpoint.OwnerID, endpoint, integrations.ReplayFilter{ID: running.ID}, 1))
	require.False(t, fixture.record(running, integrations.Failed), "another attempt")
	require.Equal(t, 1, fixture.first(endpoint).Attempt)
}

// batches checks that batches of three contain each delivery once, the one that has been due
// for longest first.
func (suite deliverySuite) batches(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.endpoint(fixture.app, "job.created")

	remaining := map[string]bool{}
	for n := range 10 {
		remaining[fixture.queue(endpoint).ID] = true

		if n%3 == 0 { // several are due at the same time
			fixture.clk.Advance(time.Microsecond)
		}
	}

	for len(remaining) > 0 {
		batch := fixture.due(endpoint, 3)
		require.Len(t, batch, min(3, len(remaining)))

		for i, outgoing := range batch {
			require.True(t, remaining[outgoing.ID], "twice")
			delete(remaining, outgoing.ID)

			isOutOfOrder := i > 0 && outgoing.NextAt.Before(*batch[i-1].NextAt)
			require.False(t, isOutOfOrder)
			require.True(t, fixture.record(&outgoing, integrations.Succeeded))
		}
	}

	require.Empty(t, fixture.due(endpoint, 3))
}

// workerAndEventAtOnce checks that no delivery is forgotten if it is enqueued just when the
// worker of its endpoint reads the deliveries. A worker is a task in the group of its endpoint. A second task of a
// group is not added while one is waiting. So either the worker reads the new delivery, or a second task waits to
// do so.
func (suite deliverySuite) workerAndEventAtOnce(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.endpoint(fixture.app, "job.created")
	newWorkerTask := func() task.Task {
		queued := task.New("deliver", task.Webhooks, newID(), struct{}{})
		queued.Group, queued.RunAt = endpoint.ID, fixture.clk.Now()
		return queued
	}

	// The two sides meet at another point in each of 50 rounds.
	for range 50 {
		refs, err := fixture.Tasks.AddAndReserve(fixture.ctx(), newWorkerTask())
		require.NoError(t, err)
		var started []task.Task
		var readCount int
		var both sync.WaitGroup

		// The worker starts its task, locks the endpoint and reads the due deliveries.
		both.Go(func() {
			started, _ = fixture.Tasks.Start(fixture.ctx(), []string{refs[0].ID}, time.Minute)
			_ = fixture.Tx.Do(fixture.ctx(), func(ctx context.Context) error {
				if _, err := fixture.Webhooks.Get(ctx, integrations.AnyOwner, endpoint.ID); err != nil {
					return err
				}

				due, err := fixture.Deliveries.ListMessages(ctx, integrations.AnyOwner, endpoint.ID,
					integrations.MessageFilter{DueBy: fixture.clk.Now()}, 5)
				readCount = len(due)

				return err
			})
		})

		// An event enqueues a delivery and adds a task for it.
		both.Go(func() {
			delivery := fixture.delivery(endpoint, newID())
			message := integrations.Message{
				EventID:   delivery.EventID,
				Type:      delivery.Type,
				Body:      "{}",
				CreatedAt: delivery.CreatedAt,
			}
			_ = fixture.Tx.Do(fixture.ctx(), func(ctx context.Context) error {
				err := fixture.Deliveries.Enqueue(ctx, []integrations.Message{message}, []integrations.Delivery{delivery})
				if err != nil {
					return err
				}

				return fixture.Tasks.Add(ctx, newWorkerTask())
			})
		})

		both.Wait()
		require.Len(t, started, 1)

		waiting, err := fixture.Tasks.List(fixture.ctx(), task.Filter{State: task.Waiting, Limit: 5})
		require.NoError(t, err)
		require.LessOrEqual(t, 1, readCount+len(waiting), "the worker notices the delivery, or another task waits")

		// End the delivery and both tasks before the next round.
		require.True(t, fixture.record(fixture.first(endpoint), integrations.Succeeded))

		done := task.Outcome{Run: task.Run{ID: started[0].ID, Attempt: 1}, Group: endpoint.ID, State: task.Done}
		require.NoError(t, fixture.Tasks.RecordOutcomes(fixture.ctx(), done))

		for _, record := range waiting {
			_, err := fixture.Tasks.Drop(fixture.ctx(), []string{record.ID})
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

	// The first delivery is retried in an hour, and the second in a minute.
	outgoing := fixture.first(endpoint)
	require.Equal(t, first.ID, outgoing.ID)

	outgoing.Attempts = []integrations.Attempt{{
		At:             fixture.clk.Now(),
		ResponseStatus: 500,
		Error:          "status",
		DurationMs:     12,
		Answer:         "no",
	}}
	fixture.retry(*outgoing, fixture.clk.Now().Add(time.Hour))
	require.Equal(t, second.ID, fixture.first(endpoint).ID)
	fixture.retry(*fixture.first(endpoint), fixture.clk.Now().Add(time.Minute))
	require.Nil(t, fixture.first(endpoint))
	require.Equal(t, second.ID, fixture.messages(endpoint, integrations.MessageFilter{}, 1)[0].ID,
		"the next one, though it is not due")

	// Both are due, and the first has its attempt.
	fixture.clk.Advance(2 * time.Hour)

	due := fixture.due(endpoint, 5)
	require.Len(t, due, 2)

	for _, delivery := range due {
		if delivery.ID == first.ID {
			require.Equal(t, outgoing.Attempts, delivery.Attempts)
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
	deleted := fixture.endpoint(app, "job.created")
	paused := fixture.endpoint(app, "job.created")
	active := fixture.endpoint(app, "job.created")
	require.NoError(t, fixture.Webhooks.Delete(fixture.ctx(), deleted.OwnerID, app.ID, deleted.ID))
	fixture.change(paused, func(endpoint *integrations.Endpoint) { endpoint.Status = integrations.EndpointPaused })

	now := fixture.clk.Now()
	message := integrations.Message{EventID: newID(), Type: "job.created", Body: "{}", CreatedAt: now}
	toDeleted := fixture.delivery(deleted, message.EventID)
	toPaused := fixture.delivery(paused, message.EventID)
	toActive := fixture.delivery(active, message.EventID)

	fixture.enqueue(message, toDeleted, toPaused, toActive)
	fixture.enqueue(message, toDeleted, toPaused) // no delivery is left
	require.Equal(t, toActive.ID, fixture.first(active).ID)
	require.Empty(t, fixture.log(paused, "").Items)
}
