package integrations_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit/stores"
)

// publishClosed records that a job was closed. When it returns, the event is delivered to its
// subscribers, and the resulting webhooks are sent. The event contains no listing.
func (e *webhookEnv) publishClosed(t *testing.T) {
	t.Helper()
	e.recordEvent(t, event.JobClosed{JobID: stores.NewID(), OrganizationID: stores.NewID()})
}

// workerLease is the time for which a worker that starts a task is the only one to run it. A
// worker that runs extends its lease; a killed worker does not.
const workerLease = 30 * time.Second

// startStalledTask starts a delivery task of the endpoint, as a worker does, and leaves it
// alone, as if the worker had been killed.
func (e *webhookEnv) startStalledTask(t *testing.T, hook integrations.WebhookPath) {
	t.Helper()

	noPayload := struct{}{}
	stalled := task.New("integrations.deliver", task.Webhooks, stores.NewID(), noPayload)
	stalled.Group = hook.ID // at most one task of a group runs at a time
	stalled.RunAt = e.clock.Now()
	refs, err := e.store.Integrations.Tasks.AddAndReserve(t.Context(), stalled)
	require.NoError(t, err)

	started, err := e.store.Integrations.Tasks.Start(t.Context(), []string{refs[0].ID}, workerLease)
	require.NoError(t, err)
	require.Len(t, started, 1)
}

// TestDeliveryWorker_Killed_NextSendsAfterLease checks that one worker at a time sends to an
// endpoint. After a worker was killed, the next one sends when the lease of the first has
// expired.
func TestDeliveryWorker_Killed_NextSendsAfterLease(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		hook := env.createWebhook(t, env.developer(t), "job.closed")
		env.startStalledTask(t, hook)
		env.publishClosed(t)

		env.clock.Advance(workerLease - time.Second)
		env.work.All(t)
		require.Empty(t, env.sent, "the lease of the killed worker is still valid")

		env.clock.Advance(2 * time.Second) // a second after the end of the lease
		env.work.All(t)
		require.Len(t, env.sent, 1)

		env.publishClosed(t)
		require.Len(t, env.sent, 2, "later events are sent at once")
	})
}

// TestDeliveries_TaskDropped_AreSent checks that a delivery is sent although its task was lost,
// here because an operator has dropped the task. The sweep, a periodic task of the module, adds
// a new task for such deliveries.
func TestDeliveries_TaskDropped_AreSent(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		env.createWebhook(t, env.developer(t), "job.closed")

		// The attempt fails, and a task for the next one waits.
		env.respond = respondWith(500)
		env.publishClosed(t)
		require.Len(t, env.sent, 1)

		waiting, err := env.store.Integrations.Tasks.List(
			t.Context(),
			task.Filter{State: task.Waiting, Kind: "integrations.deliver", Limit: 10},
		)
		require.NoError(t, err)
		require.Len(t, waiting, 1)

		// Without its task, the delivery is not sent.
		_, err = env.store.Integrations.Tasks.Drop(t.Context(), []string{waiting[0].ID})
		require.NoError(t, err)
		env.clock.Advance(time.Hour)
		env.work.All(t)
		require.Len(t, env.sent, 1)

		// The sweep adds a new task for the delivery.
		env.runPeriodic(t, "integrations.sweep-deliveries")
		env.work.All(t)
		require.Len(t, env.sent, 2)
	})
}

// duringFirstRequest makes the receiver call do while it handles the first request, and respond to it
// with the status. It responds to other requests with 200.
func (e *webhookEnv) duringFirstRequest(status int, do func()) {
	e.respond = func(integrations.Post) integrations.Answer {
		isFirst := len(e.sent) == 1
		if isFirst {
			e.mu.Unlock() // do may send requests too
			do()
			e.mu.Lock()

			return integrations.Answer{Status: status}
		}

		return integrations.Answer{Status: 200}
	}
}

// TestDeliveryWorker_OwnerChangesDuringAttempt_ChangeRemains changes a webhook while the
// receiver handles a request. It checks that the worker, which stores the result of the attempt
// afterwards, does not overwrite the change. Each delivery has one attempt.
func TestDeliveryWorker_OwnerChangesDuringAttempt_ChangeRemains(t *testing.T) {
	paused, active := "paused", "active"
	changedURL := "https://elsewhere.example/"

	// A change of the owner to the webhook.
	type change func(t *testing.T, env *webhookEnv, owner auth.Actor, hook integrations.WebhookPath)
	pause := func(t *testing.T, env *webhookEnv, owner auth.Actor, hook integrations.WebhookPath) {
		_, err := env.ChangeWebhook(t.Context(), owner, hook, integrations.WebhookChange{Status: &paused})
		require.NoError(t, err)
	}

	pauseAndReplay := func(t *testing.T, env *webhookEnv, owner auth.Actor, hook integrations.WebhookPath) {
		pause(t, env, owner, hook)

		_, err := env.ChangeWebhook(t.Context(), owner, hook, integrations.WebhookChange{Status: &active})
		require.NoError(t, err)

		replayed, err := env.ReplayFailed(t.Context(), owner, hook, time.Time{}) // since ever
		require.NoError(t, err)
		require.Equal(t, 1, replayed)
	}

	changeURLAndSendTest := func(t *testing.T, env *webhookEnv, owner auth.Actor, hook integrations.WebhookPath) {
		_, err := env.ChangeWebhook(t.Context(), owner, hook, integrations.WebhookChange{URL: &changedURL})
		require.NoError(t, err)

		_, err = env.TestWebhook(t.Context(), owner, hook, integrations.TestInput{})
		require.NoError(t, err)
	}

	deleteHook := func(t *testing.T, env *webhookEnv, owner auth.Actor, hook integrations.WebhookPath) {
		require.NoError(t, env.DeleteWebhook(t.Context(), owner, hook))
	}

	for name, test := range map[string]struct {
		response     int // the status of the first response
		change       change
		wantStatuses []integrations.DeliveryStatus // of all deliveries, the newest first; nil if they are deleted with the webhook
		wantSentTo   []string                      // the URLs of the requests
	}{
		"pauses, and the attempt succeeds": {
			response:     200,
			change:       pause,
			wantStatuses: []integrations.DeliveryStatus{integrations.Succeeded},
			wantSentTo:   []string{receiverURL},
		},
		"pauses, and the attempt fails": {
			response:     500,
			change:       pause,
			wantStatuses: []integrations.DeliveryStatus{integrations.Failed},
			wantSentTo:   []string{receiverURL},
		},
		"pauses, activates and replays": {
			response:     200,
			change:       pauseAndReplay,
			wantStatuses: []integrations.DeliveryStatus{integrations.Succeeded},
			wantSentTo:   []string{receiverURL},
		},
		"changes the URL, and another event follows": {
			response:     200,
			change:       changeURLAndSendTest,
			wantStatuses: []integrations.DeliveryStatus{integrations.Succeeded, integrations.Succeeded},
			wantSentTo:   []string{receiverURL, changedURL},
		},
		"deletes the webhook": {
			response:   200,
			change:     deleteHook,
			wantSentTo: []string{receiverURL},
		},
	} {
		t.Run(name, func(t *testing.T) {
			withWebhooks(t, func(t *testing.T, env *webhookEnv) {
				owner := env.developer(t)
				hook := env.createWebhook(t, owner, "job.closed")
				env.duringFirstRequest(test.response, func() { test.change(t, env, owner, hook) })
				env.publishClosed(t)
				env.work.All(t)

				var sentTo []string
				for _, request := range env.sent {
					sentTo = append(sentTo, request.URL)
				}

				require.Equal(t, test.wantSentTo, sentTo)

				isDeleted := test.wantStatuses == nil
				if isDeleted {
					return
				}

				var statuses []integrations.DeliveryStatus
				for _, delivery := range env.deliveries(t, owner, hook) {
					statuses = append(statuses, delivery.Status)
					require.Len(t, delivery.Attempts, 1)
				}

				require.Equal(t, test.wantStatuses, statuses)
			})
		})
	}
}

// TestDeliveryWorker_LeaseLost_OneResultIsStored starts a second worker during an attempt of
// the first, as it happens after the first has lost its lease. Both send the same request,
// which receivers recognize by its id. The test checks that only one result is stored: the
// success of the second worker, which ends first.
func TestDeliveryWorker_LeaseLost_OneResultIsStored(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		me := env.developer(t)
		hook := env.createWebhook(t, me, "job.closed")
		env.duringFirstRequest(500, func() {
			require.NoError(t, env.runWorker(t.Context(), integrations.Endpoint{ID: hook.ID}))
		})
		env.publishClosed(t)
		require.Len(t, env.sent, 2, "one request of each worker")

		first, second := env.sent[0], env.sent[1]
		require.Equal(t, first.Headers["webhook-id"], second.Headers["webhook-id"])
		require.Equal(t, first.Body, second.Body)

		delivery := env.deliveries(t, me, hook)[0]
		require.Equal(t, integrations.Succeeded, delivery.Status)
		require.Len(t, delivery.Attempts, 1)
	})
}

// maxRequests is the limit of the module for concurrent requests of the worker of an endpoint.
const maxRequests = 5

// TestDeliveryWorker_ManyDue_EachSentOnce checks that a worker sends each of many deliveries
// once, with at most maxRequests requests at a time.
func TestDeliveryWorker_ManyDue_EachSentOnce(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		const manyDue = 250
		endpoint := env.createEndpoint(t, env.developer(t))
		env.enqueueDue(t, endpoint, manyDue)

		inProgress, maxInProgress := 0, 0
		env.respond = func(integrations.Post) integrations.Answer {
			inProgress++
			maxInProgress = max(maxInProgress, inProgress)

			// Unlocked, so that other requests are sent meanwhile.
			env.mu.Unlock()
			time.Sleep(time.Millisecond)
			env.mu.Lock()
			inProgress--

			return integrations.Answer{Status: 200}
		}
		require.NoError(t, env.runWorker(t.Context(), endpoint))
		env.work.All(t)
		require.Len(t, env.sent, manyDue)
		require.LessOrEqual(t, maxInProgress, maxRequests)

		sentIDs := map[string]bool{}
		for _, sent := range env.sent {
			sentIDs[sent.Headers["webhook-id"]] = true
		}

		require.Len(t, sentIDs, manyDue, "no delivery was sent twice")

		const limit = 1 // one would be too many
		pending, err := env.store.Integrations.Deliveries.ListMessages(t.Context(), endpoint.OwnerID, endpoint.ID,
			integrations.MessageFilter{}, limit)
		require.NoError(t, err)
		require.Empty(t, pending)
	})
}

// TestDeliveryWorker_ReceiverGone_FewAttempts checks that a worker stops when a receiver
// responds with 410 Gone, which disables the endpoint. Of 50 due deliveries, only those are
// sent that were in progress at that time.
func TestDeliveryWorker_ReceiverGone_FewAttempts(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		endpoint := env.createEndpoint(t, env.developer(t))
		env.enqueueDue(t, endpoint, 50)

		env.respond = respondWith(410) // Gone
		require.NoError(t, env.runWorker(t.Context(), endpoint))
		env.work.All(t)
		require.LessOrEqual(t, len(env.sent), maxRequests, "no request starts after the first response")
	})
}

// runWorker runs a worker for the due deliveries of an endpoint, and returns when it has ended.
func (e *webhookEnv) runWorker(ctx context.Context, endpoint integrations.Endpoint) error {
	for _, h := range e.Handlers() {
		if h.Kind == "integrations.deliver" {
			return h.Do(ctx, task.Task{Kind: h.Kind, Group: endpoint.ID, RunAt: e.clock.Now()})
		}
	}

	return errors.New("no handler of deliveries")
}

// enqueueDue stores n due deliveries for the endpoint, without a worker.
func (e *webhookEnv) enqueueDue(t *testing.T, endpoint integrations.Endpoint, n int) {
	t.Helper()

	now := e.clock.Now()
	var messages []integrations.Message

	var deliveries []integrations.Delivery
	for range n {
		message := integrations.Message{EventID: stores.NewID(), Type: "job.closed", Body: "{}", CreatedAt: now}
		messages = append(messages, message)
		deliveries = append(deliveries, integrations.Delivery{
			ID:         stores.NewID(),
			EndpointID: endpoint.ID,
			OwnerID:    endpoint.OwnerID,
			EventID:    message.EventID,
			Type:       message.Type,
			Status:     integrations.Pending,
			NextAt:     &now,
			CreatedAt:  now,
		})
	}

	require.NoError(t, e.store.Integrations.Deliveries.Enqueue(t.Context(), messages, deliveries))
}

// createEndpoint creates an active endpoint that subscribes to job.closed.
func (e *webhookEnv) createEndpoint(t *testing.T, me auth.Actor) integrations.Endpoint {
	t.Helper()

	endpoint, err := e.MyWebhook(t.Context(), me, e.createWebhook(t, me, "job.closed"))
	require.NoError(t, err)

	return endpoint
}

// blockReceiver delays the responses of all receivers until answer is called. They then respond
// with 200.
func (e *webhookEnv) blockReceiver(t *testing.T) (answer func()) {
	t.Helper()

	answered := make(chan struct{})
	answer = sync.OnceFunc(func() { close(answered) })
	t.Cleanup(answer)

	e.respond = func(integrations.Post) integrations.Answer {
		e.mu.Unlock()
		defer e.mu.Lock()

		<-answered

		return integrations.Answer{Status: 200}
	}

	return answer
}

// waitForSent waits until n requests were sent.
func (e *webhookEnv) waitForSent(t *testing.T, n int, why string) {
	t.Helper()

	allSent := func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.sent) == n
	}

	require.Eventually(t, allSent, 30*time.Second, time.Millisecond, why)
}

// maxWorkersPerOwner is the limit of the module for workers that run at the same time for the
// endpoints of one owner.
const maxWorkersPerOwner = 32

// retryWithoutWorker is longer than the delay after which a task is repeated for which no worker
// was available.
const retryWithoutWorker = 10 * time.Second

// workers are concurrent delivery workers. Wait waits until all of them have returned.
type workers struct {
	sync.WaitGroup
	returned atomic.Int32 // the number of workers that have returned
}

// start runs a worker of the endpoint in a goroutine.
func (w *workers) start(t *testing.T, env *webhookEnv, e integrations.Endpoint) {
	w.Go(func() {
		assert.NoError(t, env.runWorker(t.Context(), e))
		w.returned.Add(1)
	})
}

// waitReturned waits until n workers have returned.
func (w *workers) waitReturned(t *testing.T, n int32) {
	t.Helper()
	require.Eventually(t, func() bool { return w.returned.Load() == n }, 30*time.Second, time.Millisecond)
}

// TestDeliveryWorker_SlowEndpointsOfOneOwner_LeaveWorkers checks that many slow endpoints of one
// owner use at most maxWorkersPerOwner workers, so that the endpoint of another owner is served.
// Workers above the limit return without sending, and their tasks are repeated later.
func TestDeliveryWorker_SlowEndpointsOfOneOwner_LeaveWorkers(t *testing.T) {
	const withoutWorker = 8
	const manyEndpoints = maxWorkersPerOwner + withoutWorker

	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		ownerOfMany, other := env.developer(t), env.createEndpoint(t, env.developer(t))
		answer := env.blockReceiver(t)

		var running workers
		for range manyEndpoints {
			endpoint := env.createEndpoint(t, ownerOfMany)
			env.enqueueDue(t, endpoint, 1)
			running.start(t, env, endpoint)
		}

		running.waitReturned(t, withoutWorker) // those above the limit; the others wait for a response

		// Meanwhile, the endpoint of the other owner is served.
		env.enqueueDue(t, other, 1)
		running.start(t, env, other)
		env.waitForSent(t, maxWorkersPerOwner+1, "the endpoint of the other owner is served")

		// The receivers respond, and the repeated tasks send the rest.
		answer()
		running.Wait()
		env.clock.Advance(retryWithoutWorker)
		env.work.All(t)
		require.Len(t, env.sent, manyEndpoints+1, "the deferred deliveries are sent on the next run")
	})
}

// TestDeliveryWorker_FailingEndpoints_LeaveHalfTheWorkers checks that failing endpoints of all
// owners together use half of the workers, so that an endpoint that works is served.
func TestDeliveryWorker_FailingEndpoints_LeaveHalfTheWorkers(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		half := task.Workers[task.Webhooks] / 2
		const withoutWorker = 2
		var failing []integrations.Endpoint

		// The first attempt fails at each of these endpoints: one of each owner.
		env.respond = respondWith(500)
		for range half + withoutWorker {
			endpoint := env.createEndpoint(t, env.developer(t))
			env.enqueueDue(t, endpoint, 1)
			require.NoError(t, env.runWorker(t.Context(), endpoint))

			failing = append(failing, endpoint)
		}

		working := env.createEndpoint(t, env.developer(t))
		env.clock.Advance(time.Minute) // the second attempts of the failing endpoints are due

		// At their second attempts, the receivers do not respond.
		env.sent = nil
		answer := env.blockReceiver(t)

		var running workers
		for _, endpoint := range failing {
			running.start(t, env, endpoint)
		}

		running.waitReturned(t, withoutWorker)

		// Meanwhile, the working endpoint is served.
		env.enqueueDue(t, working, 1)
		running.start(t, env, working)
		env.waitForSent(t, half+1, "half of the workers send to failing endpoints, and one to the working endpoint")

		// The receivers respond, and the repeated tasks send the rest.
		answer()
		running.Wait()
		env.clock.Advance(retryWithoutWorker)
		env.work.All(t)
		require.Len(t, env.sent, half+withoutWorker+1, "the deferred deliveries are sent on the next run")
	})
}

// TestDeliveryWorker_Cancelled_RecordsWhatWasDelivered stops a worker while maxRequests
// requests are in progress. It checks that their results are stored, so that these deliveries
// are not sent again, and that the others are sent by the next worker.
func TestDeliveryWorker_Cancelled_RecordsWhatWasDelivered(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		me := env.developer(t)
		hook := env.createWebhook(t, me, "job.closed")
		endpoint, err := env.MyWebhook(t.Context(), me, hook)
		require.NoError(t, err)
		const others = 2
		env.enqueueDue(t, endpoint, maxRequests+others)

		// The receiver responds when the worker is stopped, which happens when maxRequests requests
		// are in progress.
		ctx, stop := context.WithCancel(t.Context())
		env.respond = func(integrations.Post) integrations.Answer {
			if len(env.sent) == maxRequests {
				stop()
			}

			env.mu.Unlock()
			defer env.mu.Lock()

			<-ctx.Done()

			return integrations.Answer{Status: 200}
		}
		require.NoError(t, env.runWorker(ctx, endpoint))
		require.Len(t, env.sent, maxRequests)

		due, err := env.store.Integrations.Deliveries.ListMessages(t.Context(), endpoint.OwnerID, endpoint.ID,
			integrations.MessageFilter{DueBy: env.clock.Now()}, 10)
		require.NoError(t, err)
		require.Len(t, due, others, "the deliveries that were sent are not due any more")

		// The next worker sends the others.
		env.work.All(t)
		require.Len(t, env.sent, maxRequests+others)
	})
}

// TestDeliveryWorker_ManyTasksOfOneEndpoint_AreMerged runs an endpoint several times while the
// owner's other endpoints use all workers of the owner. It checks that one task for later
// results, instead of one for each run.
func TestDeliveryWorker_ManyTasksOfOneEndpoint_AreMerged(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		me := env.developer(t)
		answer := env.blockReceiver(t)

		var running workers
		for range maxWorkersPerOwner {
			endpoint := env.createEndpoint(t, me)
			env.enqueueDue(t, endpoint, 1)
			running.start(t, env, endpoint)
		}

		env.waitForSent(t, maxWorkersPerOwner, "all workers of the owner are busy")

		deferred := env.createEndpoint(t, me)
		env.enqueueDue(t, deferred, 1)

		for range 3 {
			require.NoError(t, env.runWorker(t.Context(), deferred))
		}

		env.clock.Advance(retryWithoutWorker)

		refs, err := env.store.Integrations.Tasks.Due(t.Context(), 100)
		require.NoError(t, err)
		require.Len(t, refs, 1, "the three runs leave one task")
		answer()
		running.Wait()
	})
}
