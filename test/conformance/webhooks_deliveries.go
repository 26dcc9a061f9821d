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
	t.Run("result for another endpoint", suite.resultForAnotherEndpoint)
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

// enqueueTwice checks that an event that is handled twice is delivered once. The stored message keeps the body of the
// first call, with the same length: receivers check a signature of its bytes, so that a storage must not reformat it.
func (suite deliverySuite) enqueueTwice(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.createEndpoint(fixture.app, "job.created")
	delivery := fixture.enqueueNew(endpoint)
	second := delivery
	second.ID = newID()
	sameEvent := integrations.Message{
		EventID:   delivery.EventID,
		Type:      delivery.Type,
		Body:      "other",
		CreatedAt: delivery.CreatedAt,
	}
	fixture.enqueue(sameEvent, second)

	logged := fixture.listLog(endpoint, anyStatus)
	require.Equal(t, 1, logged.Total)
	require.Equal(t, delivery, logged.Items[0])

	const firstBody = `{"b":"ä"}` // of the message that fixture.enqueueNew stores
	body := fixture.firstDue(endpoint).Message.Body
	require.Len(t, body, len(firstBody), "the body is reformatted")
	require.JSONEq(t, firstBody, body)
}

// nextDue checks that NextDue returns the earliest time at which a pending delivery to the endpoint is or was due, or nil
// if none is pending.
func (suite deliverySuite) nextDue(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.createEndpoint(fixture.app, "job.created")
	otherEndpoint := fixture.createEndpoint(fixture.app, "job.created")
	next := func() *time.Time {
		at, err := fixture.Deliveries.NextDue(fixture.ctx(), endpoint.ID)
		require.NoError(t, err)
		return at
	}

	fixture.enqueueNew(otherEndpoint)
	require.Nil(t, next(), "only another endpoint has a delivery")
	fixture.enqueueNew(endpoint)
	fixture.enqueueNew(endpoint)

	// One of two deliveries is retried in an hour, and the other is still due.
	due := fixture.listDue(endpoint, 2)
	retried, stillDue := due[0], due[1]
	inAnHour := fixture.clk.Now().Add(time.Hour)
	fixture.recordRetry(retried, inAnHour)
	require.True(t, next().Equal(*stillDue.NextAt), "the delivery that is still due is the earliest")

	// The other delivery ends. The retried one is left, which is not due yet.
	require.True(t, fixture.recordResult(&stillDue, integrations.Failed), "the result is recorded")
	require.True(t, next().Equal(inAnHour), "the retried delivery is the earliest")
}

// oneResultOfEachAttempt checks that each attempt gets one result. Two workers may read the same delivery and both attempt
// it: the result that is recorded later is ignored. Of two deliveries, one succeeds, and one is attempted by two workers.
func (suite deliverySuite) oneResultOfEachAttempt(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.createEndpoint(fixture.app, "job.created")

	fixture.enqueueNew(endpoint)
	fixture.enqueueNew(endpoint)

	const moreThanTwo = 50

	due := fixture.listDue(endpoint, moreThanTwo)
	require.Len(t, due, 2)
	require.Equal(t, due, fixture.listDue(endpoint, moreThanTwo), "reading does not claim")

	toSucceed, attemptedTwice := due[0], due[1]

	// Another worker has recorded the first attempt of a delivery, which has to be retried. It is due before the
	// others.
	fixture.recordRetry(attemptedTwice, fixture.clk.Now().Add(-time.Second))

	outdated := attemptedTwice.Delivery
	outdated.Attempt = 1
	outdated.Status = integrations.Failed
	outdated.NextAt = nil

	succeeded := toSucceed.Delivery
	succeeded.Attempt = 1
	succeeded.Tries = 1
	succeeded.Status = integrations.Succeeded
	succeeded.NextAt = nil

	changed, err := fixture.Deliveries.RecordResults(fixture.ctx(), endpoint.ID,
		[]integrations.Delivery{outdated, succeeded})
	require.NoError(t, err)
	require.Equal(t, []string{succeeded.ID}, changed, "the outdated result is ignored")
	require.False(t, fixture.recordResult(&toSucceed, integrations.Failed), "the attempt already has a result")

	// The log has the result of the first delivery only.
	require.Equal(t, 1, fixture.listLog(endpoint, integrations.Succeeded).Total)
	require.Zero(t, fixture.listLog(endpoint, integrations.Failed).Total)
	require.Equal(t, 1, fixture.listLog(endpoint, integrations.Succeeded).Items[0].Tries)

	retried := fixture.firstDue(endpoint)
	require.Equal(t, attemptedTwice.ID, retried.ID)
	require.Equal(t, 1, retried.Attempt)
}

// resultForAnotherEndpoint checks that a result is recorded only with the endpoint of its delivery.
func (suite deliverySuite) resultForAnotherEndpoint(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.createEndpoint(fixture.app, "job.created")
	otherEndpoint := fixture.createEndpoint(fixture.app, "job.created")
	fixture.enqueueNew(endpoint)

	attempted := fixture.firstDue(endpoint).Delivery
	attempted.Attempt++

	changed, err := fixture.Deliveries.RecordResults(fixture.ctx(), otherEndpoint.ID, []integrations.Delivery{attempted})
	require.NoError(t, err)
	require.Empty(t, changed)
}

// pausedAndReplayedDuringAnAttempt checks what happens to a delivery while an attempt of it is running. A pause of the
// endpoint fails its pending deliveries. A replay makes the delivery pending again, and the result of the running attempt
// is then stored. After a second replay the delivery waits for its next attempt, and a second result of the first attempt
// is ignored.
func (suite deliverySuite) pausedAndReplayedDuringAnAttempt(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.createEndpoint(fixture.app, "job.created")
	fixture.enqueueNew(endpoint)

	running := fixture.firstDue(endpoint)
	otherEndpoint := fixture.createEndpoint(fixture.app, "job.created")
	fixture.enqueueNew(otherEndpoint)

	// A pause during the attempt.
	fixture.changeEndpoint(endpoint, func(endpoint *integrations.Endpoint) { endpoint.Status = integrations.EndpointPaused })
	require.Nil(t, fixture.firstDue(endpoint), "a delivery to a paused endpoint is due")

	failed := fixture.listLog(endpoint, integrations.Failed).Items[0]
	require.True(t, failed.FailedAt.Equal(fixture.clk.Now()), "it has failed at the time of the pause")
	require.Nil(t, failed.NextAt, "a failed delivery has no next attempt")
	require.NotNil(t, fixture.firstDue(otherEndpoint), "deliveries to other endpoints stay pending")

	// The end of the pause does not make the delivery pending again. A replay does.
	fixture.changeEndpoint(endpoint, func(endpoint *integrations.Endpoint) { endpoint.Status = integrations.EndpointActive })
	require.Nil(t, fixture.firstDue(endpoint), "the end of the pause has made the delivery pending")

	ofRunning := integrations.ReplayFilter{ID: running.ID}
	require.Equal(t, 1, fixture.replay(endpoint.OwnerID, endpoint, ofRunning, 1))
	require.True(t, fixture.recordResult(running, integrations.Succeeded), "the result of the running attempt")
	require.Nil(t, fixture.firstDue(endpoint), "a delivery that has succeeded is due")

	// After the second replay, the delivery waits for its second attempt.
	require.Equal(t, 1, fixture.replay(endpoint.OwnerID, endpoint, ofRunning, 1))
	require.False(t, fixture.recordResult(running, integrations.Failed), "a second result of the first attempt")
	require.Equal(t, 1, fixture.firstDue(endpoint).Attempt, "attempts so far")
}

// batches checks that a worker that reads batches of three deliveries, and records their results before it reads the
// next batch, gets each delivery once. Those that have been due for longest are first.
func (suite deliverySuite) batches(t *testing.T) {
	const deliveries, batchSize = 10, 3

	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.createEndpoint(fixture.app, "job.created")

	remaining := map[string]bool{}
	for n := range deliveries {
		remaining[fixture.enqueueNew(endpoint).ID] = true

		const dueTogether = 3
		if n%dueTogether == 0 { // the next three are due at the same time
			fixture.clk.Advance(time.Microsecond)
		}
	}

	for len(remaining) > 0 {
		batch := fixture.listDue(endpoint, batchSize)
		require.Len(t, batch, min(batchSize, len(remaining)))

		for i, outgoing := range batch {
			require.True(t, remaining[outgoing.ID], "%s is in two batches", outgoing.ID)
			delete(remaining, outgoing.ID)

			isOutOfOrder := i > 0 && outgoing.NextAt.Before(*batch[i-1].NextAt)
			require.False(t, isOutOfOrder, "%s is due before the delivery that precedes it", outgoing.ID)
			require.True(t, fixture.recordResult(&outgoing, integrations.Succeeded), "the result is recorded")
		}
	}

	require.Empty(t, fixture.listDue(endpoint, batchSize))
}

// workerAndEventAtOnce checks that no delivery is forgotten if it is enqueued just when the worker of its endpoint reads
// the deliveries. A worker is a task in the group of its endpoint. While a task of the group is waiting, no second one is
// added. So either the worker that has started reads the new delivery, or another task waits, which will read it.
func (suite deliverySuite) workerAndEventAtOnce(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.createEndpoint(fixture.app, "job.created")
	newWorkerTask := func() task.Task {
		queued := task.New("deliver", task.Webhooks, newID(), struct{}{})
		queued.Group, queued.RunAt = endpoint.ID, fixture.clk.Now()
		return queued
	}

	// The worker and the event run concurrently, so that in each round they may meet at another point. A limit of five is
	// more than a round has deliveries and tasks.
	const rounds, limit = 50, 5

	for range rounds {
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
					integrations.MessageFilter{DueBy: fixture.clk.Now()}, limit)
				readCount = len(due)

				return err
			})
		})

		// An event enqueues a delivery and adds a task for it.
		both.Go(func() {
			delivery := fixture.newDelivery(endpoint, newID())
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

		waiting, err := fixture.Tasks.List(fixture.ctx(), task.Filter{State: task.Waiting, Limit: limit})
		require.NoError(t, err)

		isNoticed := readCount > 0 || len(waiting) > 0
		require.True(t, isNoticed, "the worker has not read the delivery, and no other task waits")

		// End the delivery and both tasks before the next round.
		require.True(t, fixture.recordResult(fixture.firstDue(endpoint), integrations.Succeeded), "the result is recorded")

		done := task.Outcome{Run: task.Run{ID: started[0].ID, Attempt: 1}, Group: endpoint.ID, State: task.Done}
		require.NoError(t, fixture.Tasks.RecordOutcomes(fixture.ctx(), done))

		for _, record := range waiting {
			_, err := fixture.Tasks.Drop(fixture.ctx(), []string{record.ID})
			require.NoError(t, err)
		}
	}
}

// orderAndDueTime checks that deliveries are read in the order of their due times, together with the attempts that were
// recorded. A delivery that is not due yet is read only without the filter for due deliveries.
func (suite deliverySuite) orderAndDueTime(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.createEndpoint(fixture.app, "job.created")
	first := fixture.enqueueNew(endpoint)
	fixture.clk.Advance(time.Second)

	second := fixture.enqueueNew(endpoint)

	// The first delivery is retried in an hour, and the second in a minute.
	outgoing := fixture.firstDue(endpoint)
	require.Equal(t, first.ID, outgoing.ID)

	outgoing.Attempts = []integrations.Attempt{{
		At:             fixture.clk.Now(),
		ResponseStatus: 500,
		Error:          "status",
		DurationMs:     12,
		Answer:         "no",
	}}
	fixture.recordRetry(*outgoing, fixture.clk.Now().Add(time.Hour))
	require.Equal(t, second.ID, fixture.firstDue(endpoint).ID)
	fixture.recordRetry(*fixture.firstDue(endpoint), fixture.clk.Now().Add(time.Minute))
	require.Nil(t, fixture.firstDue(endpoint), "no delivery is due yet")

	everyDelivery := integrations.MessageFilter{}
	require.Equal(t, second.ID, fixture.listMessages(endpoint, everyDelivery, 1)[0].ID, "the one that is due first")

	// Two hours later both are due, and the first has its recorded attempt.
	fixture.clk.Advance(2 * time.Hour)

	const moreThanTwo = 5

	due := fixture.listDue(endpoint, moreThanTwo)
	require.Len(t, due, 2)

	for _, delivery := range due {
		if delivery.ID == first.ID {
			require.Equal(t, outgoing.Attempts, delivery.Attempts)
		}
	}

	// Another endpoint has no deliveries.
	otherEndpoint := fixture.createEndpoint(fixture.app, "job.created")
	fixture.enqueueNew(endpoint)
	require.Nil(t, fixture.firstDue(otherEndpoint), "a delivery of another endpoint")
}

// deletedAndPausedEndpoints checks that Enqueue ignores deliveries to endpoints that are deleted or paused. A caller may
// have read the endpoints before that.
func (suite deliverySuite) deletedAndPausedEndpoints(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	app := fixture.createApp(newID())
	deleted := fixture.createEndpoint(app, "job.created")
	paused := fixture.createEndpoint(app, "job.created")
	active := fixture.createEndpoint(app, "job.created")
	require.NoError(t, fixture.Webhooks.Delete(fixture.ctx(), deleted.OwnerID, app.ID, deleted.ID))
	fixture.changeEndpoint(paused, func(endpoint *integrations.Endpoint) { endpoint.Status = integrations.EndpointPaused })

	now := fixture.clk.Now()
	message := integrations.Message{EventID: newID(), Type: "job.created", Body: "{}", CreatedAt: now}
	toDeleted := fixture.newDelivery(deleted, message.EventID)
	toPaused := fixture.newDelivery(paused, message.EventID)
	toActive := fixture.newDelivery(active, message.EventID)

	fixture.enqueue(message, toDeleted, toPaused, toActive)
	require.Equal(t, toActive.ID, fixture.firstDue(active).ID)

	// It is no error if no delivery is left.
	fixture.enqueue(message, toDeleted, toPaused)
	require.Empty(t, fixture.listLog(paused, anyStatus).Items)
}
