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

// publishClosed records that a job was closed, and delivers the event to its subscribers.
func (e *webhookEnv) publishClosed(t *testing.T) {
	t.Helper()
	e.recordEvent(t, event.JobClosed{JobID: stores.NewID(), OrganizationID: stores.NewID()})
}

// startStalledTask starts a task of the endpoint, with a worker that does not respond any more.
func (e *webhookEnv) startStalledTask(t *testing.T, hook integrations.WebhookPath) {
	t.Helper()

	stalled := task.New("integrations.deliver", task.Webhooks, stores.NewID(), struct{}{})
	stalled.Group, stalled.RunAt = hook.ID, e.clock.Now()
	refs, err := e.store.Integrations.Tasks.AddAndReserve(t.Context(), stalled)
	require.NoError(t, err)

	started, err := e.store.Integrations.Tasks.Start(t.Context(), []string{refs[0].ID}, 30*time.Second)
	require.NoError(t, err)
	require.Len(t, started, 1)
}

// TestDeliveryWorker_Killed_NextSendsAfterLease checks that one worker at a time sends to an
// endpoint: another one follows when the lease of a killed worker, 30 seconds, has expired.
func TestDeliveryWorker_Killed_NextSendsAfterLease(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		hook := env.createWebhook(t, env.developer(t), "job.closed")
		env.startStalledTask(t, hook)
		env.publishClosed(t)
		env.clock.Advance(29 * time.Second)
		env.work.All(t)
		require.Empty(t, env.sent, "another worker sends to the endpoint")
		env.clock.Advance(2 * time.Second)
		env.work.All(t)
		require.Len(t, env.sent, 1)
		env.publishClosed(t)
		require.Len(t, env.sent, 2)
	})
}

// TestDeliveries_TaskDropped_AreSent checks that the sweep adds a task for deliveries whose
// task was lost, here because an operator has dropped it.
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

		// The sweep adds a task for it.
		for _, periodic := range env.Periodic() {
			if periodic.Kind == "integrations.sweep-deliveries" {
				require.NoError(t, periodic.Do(t.Context()))
			}
		}

		env.work.All(t)
		require.Len(t, env.sent, 2)
	})
}

// respondDuring makes the receiver call do while it handles the nth request, and respond with
// the status. It responds to other requests with 200.
func (e *webhookEnv) respondDuring(n int, status int, do func()) {
	e.respond = func(integrations.Post) integrations.Answer {
		if len(e.sent) == n {
			e.mu.Unlock() // do may send requests too
			do()
			e.mu.Lock()

			return integrations.Answer{Status: status}
		}

		return integrations.Answer{Status: 200}
	}
}

// TestDeliveryWorker_OwnerChangesDuringAttempt_ChangeRemains checks that a worker that stores
// the result of an attempt does not overwrite what the owner has changed during the attempt.
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

		n, err := env.ReplayFailed(t.Context(), owner, hook, time.Time{})
		require.NoError(t, err)
		require.Equal(t, 1, n)
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

	const receiver = "https://receiver.example/"
	for name, c := range map[string]struct {
		response int // the status of the first response
		change   change
		want     []integrations.DeliveryStatus // the newest first; nil if the webhook is deleted
		sentTo   []string                      // the URLs of the requests
	}{
		"pauses, and the attempt succeeds": {
			response: 200,
			change:   pause,
			want:     []integrations.DeliveryStatus{integrations.Succeeded},
			sentTo:   []string{receiver},
		},
		"pauses, and the attempt fails": {
			response: 500,
			change:   pause,
			want:     []integrations.DeliveryStatus{integrations.Failed},
			sentTo:   []string{receiver},
		},
		"pauses, activates and replays": {
			response: 200,
			change:   pauseAndReplay,
			want:     []integrations.DeliveryStatus{integrations.Succeeded},
			sentTo:   []string{receiver},
		},
		"changes the URL, and another event follows": {
			response: 200,
			change:   changeURLAndSendTest,
			want:     []integrations.DeliveryStatus{integrations.Succeeded, integrations.Succeeded},
			sentTo:   []string{receiver, changedURL},
		},
		"deletes the webhook": {
			response: 200,
			change:   deleteHook,
			sentTo:   []string{receiver},
		},
	} {
		t.Run(name, func(t *testing.T) {
			withWebhooks(t, func(t *testing.T, env *webhookEnv) {
				owner := env.developer(t)
				hook := env.createWebhook(t, owner, "job.closed")
				env.respondDuring(1, c.response, func() { c.change(t, env, owner, hook) })
				env.publishClosed(t)
				env.work.All(t)

				var sentTo []string
				for _, request := range env.sent {
					sentTo = append(sentTo, request.URL)
				}

				require.Equal(t, c.sentTo, sentTo)

				if c.want == nil {
					return
				}

				var statuses []integrations.DeliveryStatus
				for _, delivery := range env.deliveries(t, owner, hook) {
					statuses = append(statuses, delivery.Status)
					require.Len(t, delivery.Attempts, 1)
				}

				require.Equal(t, c.want, statuses)
			})
		})
	}
}

// TestDeliveryWorker_LeaseLost_OneResultIsStored checks that only one result is stored if a
// second worker runs during an attempt of the first, as after a lost lease. Both send the same
// request, which receivers recognize by its id.
func TestDeliveryWorker_LeaseLost_OneResultIsStored(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		me := env.developer(t)
		hook := env.createWebhook(t, me, "job.closed")
		env.respondDuring(1, 500, func() {
			require.NoError(t, env.runWorker(t.Context(), integrations.Endpoint{ID: hook.ID}))
		})
		env.publishClosed(t)
		require.Len(t, env.sent, 2)
		require.Equal(t, env.sent[0].Headers["webhook-id"], env.sent[1].Headers["webhook-id"])
		require.Equal(t, env.sent[0].Body, env.sent[1].Body)

		d := env.deliveries(t, me, hook)[0]
		require.Equal(t, integrations.Succeeded, d.Status)
		require.Len(t, d.Attempts, 1)
	})
}

// TestDeliveryWorker_ManyDue_EachSentOnce checks that a worker sends 250 deliveries once each,
// with at most five requests at a time (maxAttempts).
func TestDeliveryWorker_ManyDue_EachSentOnce(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		endpoint := env.createEndpoint(t, env.developer(t))
		env.enqueueDue(t, endpoint, 250)

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
		require.Len(t, env.sent, 250)
		require.LessOrEqual(t, maxInProgress, 5)

		sentIDs := map[string]bool{}
		for _, sent := range env.sent {
			sentIDs[sent.Headers["webhook-id"]] = true
		}

		require.Len(t, sentIDs, 250)

		pending, err := env.store.Integrations.Deliveries.ListMessages(t.Context(), endpoint.OwnerID, endpoint.ID,
			integrations.MessageFilter{}, 1)
		require.NoError(t, err)
		require.Empty(t, pending)
	})
}

// TestDeliveryWorker_ReceiverGone_FewAttempts checks that the response 410 Gone disables the
// endpoint after the requests that were in progress, instead of 50 useless ones.
func TestDeliveryWorker_ReceiverGone_FewAttempts(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		endpoint := env.createEndpoint(t, env.developer(t))
		env.enqueueDue(t, endpoint, 50)

		env.respond = respondWith(410)
		require.NoError(t, env.runWorker(t.Context(), endpoint))
		env.work.All(t)
		require.LessOrEqual(t, len(env.sent), 5, "a worker sends five requests at a time")
	})
}

// runWorker starts a worker for the due deliveries of an endpoint.
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

// blockReceiver delays the responses of receivers until answer is called.
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

// maxWorkersPerOwner is the limit of the module, for each owner of endpoints.
const maxWorkersPerOwner = 32

// workers are concurrent delivery workers.
type workers struct {
	sync.WaitGroup
	returned atomic.Int32
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
// The tasks of the endpoints without a worker are repeated later.
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

		running.waitReturned(t, withoutWorker)
		env.enqueueDue(t, other, 1)
		running.start(t, env, other)
		env.waitForSent(t, maxWorkersPerOwner+1, "the endpoint of the other owner is served")
		answer()
		running.Wait()
		env.clock.Advance(10 * time.Second)
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

		env.respond = respondWith(500)
		for range half + withoutWorker {
			endpoint := env.createEndpoint(t, env.developer(t))
			env.enqueueDue(t, endpoint, 1)
			require.NoError(t, env.runWorker(t.Context(), endpoint))

			failing = append(failing, endpoint)
		}

		works := env.createEndpoint(t, env.developer(t))
		env.clock.Advance(time.Minute) // the second attempts of the failing endpoints are due

		env.sent = nil
		answer := env.blockReceiver(t)

		var running workers
		for _, endpoint := range failing {
			running.start(t, env, endpoint)
		}

		running.waitReturned(t, withoutWorker)
		env.enqueueDue(t, works, 1)
		running.start(t, env, works)
		env.waitForSent(t, half+1, "half of the workers, and the one that works")
		answer()
		running.Wait()
		env.clock.Advance(10 * time.Second)
		env.work.All(t)
		require.Len(t, env.sent, half+withoutWorker+1, "the deferred deliveries are sent on the next run")
	})
}

// TestDeliveryWorker_Cancelled_RecordsWhatWasDelivered checks that a worker that is stopped
// during five attempts stores their results, so that they are not sent again.
func TestDeliveryWorker_Cancelled_RecordsWhatWasDelivered(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		me := env.developer(t)
		hook := env.createWebhook(t, me, "job.closed")
		endpoint, err := env.MyWebhook(t.Context(), me, hook)
		require.NoError(t, err)
		env.enqueueDue(t, endpoint, 7)

		ctx, stop := context.WithCancel(t.Context())
		env.respond = func(integrations.Post) integrations.Answer {
			if len(env.sent) == 5 {
				stop()
			}

			env.mu.Unlock()
			defer env.mu.Lock()

			<-ctx.Done()

			return integrations.Answer{Status: 200}
		}
		require.NoError(t, env.runWorker(ctx, endpoint))
		require.Len(t, env.sent, 5)

		due, err := env.store.Integrations.Deliveries.ListMessages(t.Context(), endpoint.OwnerID, endpoint.ID,
			integrations.MessageFilter{DueBy: env.clock.Now()}, 10)
		require.NoError(t, err)
		require.Len(t, due, 2, "the results of the five attempts are stored")
		env.work.All(t)
		require.Len(t, env.sent, 7)
	})
}

// TestDeliveryWorker_ManyTasksOfOneEndpoint_AreMerged checks that tasks of an endpoint that get
// no worker, because the owner's other endpoints have all of them, become one task for later.
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

		env.clock.Advance(10 * time.Second)

		refs, err := env.store.Integrations.Tasks.Due(t.Context(), 100)
		require.NoError(t, err)
		require.Len(t, refs, 1)
		answer()
		running.Wait()
	})
}
