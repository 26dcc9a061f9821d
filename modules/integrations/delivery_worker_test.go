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
func (p *webhookEnv) publishClosed(t *testing.T) {
	t.Helper()
	p.recordEvent(t, event.JobClosed{JobID: stores.NewID(), OrganizationID: stores.NewID()})
}

// startStalledTask starts a task of the endpoint, with a worker that does not respond any more.
func (p *webhookEnv) startStalledTask(t *testing.T, hook integrations.WebhookPath) {
	t.Helper()
	stalled := task.New("integrations.deliver", task.Webhooks, stores.NewID(), struct{}{})
	stalled.Group, stalled.RunAt = hook.ID, p.clock.Now()
	refs, err := p.store.Integrations.Tasks.AddAndReserve(t.Context(), stalled)
	require.NoError(t, err)
	started, err := p.store.Integrations.Tasks.Start(t.Context(), []string{refs[0].ID}, 30*time.Second)
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
		env.respond = func(integrations.Post) integrations.Answer { return integrations.Answer{Status: 500} }
		env.publishClosed(t)
		require.Len(t, env.sent, 1)
		waiting, err := env.store.Integrations.Tasks.List(
			t.Context(),
			task.Filter{State: task.Waiting, Kind: "integrations.deliver", Limit: 10},
		)
		require.NoError(t, err)
		require.Len(t, waiting, 1)
		_, err = env.store.Integrations.Tasks.Drop(t.Context(), []string{waiting[0].ID})
		require.NoError(t, err)
		env.clock.Advance(time.Hour)
		env.work.All(t)
		require.Len(t, env.sent, 1)
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
func (p *webhookEnv) respondDuring(n int, status int, do func()) {
	p.respond = func(integrations.Post) integrations.Answer {
		if len(p.sent) == n {
			p.mu.Unlock()
			do()
			p.mu.Lock()
			return integrations.Answer{Status: status}
		}
		return integrations.Answer{Status: 200}
	}
}

// TestDeliveryWorker_OwnerChangesDuringAttempt_ChangeRemains checks that a worker that stores
// the result of an attempt does not overwrite what the owner has changed during the attempt.
func TestDeliveryWorker_OwnerChangesDuringAttempt_ChangeRemains(t *testing.T) {
	paused, active := "paused", "active"
	elsewhere := "https://elsewhere.example/"
	for name, c := range map[string]struct {
		status int
		do     func(t *testing.T, env *webhookEnv, me auth.Actor, hook integrations.WebhookPath)
		want   []integrations.DeliveryStatus // the newest first
		sent   int                           // the number of requests to receivers
	}{
		"pauses, and the attempt succeeds": {200, func(t *testing.T, env *webhookEnv, me auth.Actor, hook integrations.WebhookPath) {
			_, err := env.ChangeWebhook(t.Context(), me, hook, integrations.WebhookChange{Status: &paused})
			require.NoError(t, err)
		}, []integrations.DeliveryStatus{integrations.Succeeded}, 1},
		"pauses, and the attempt fails": {500, func(t *testing.T, env *webhookEnv, me auth.Actor, hook integrations.WebhookPath) {
			_, err := env.ChangeWebhook(t.Context(), me, hook, integrations.WebhookChange{Status: &paused})
			require.NoError(t, err)
		}, []integrations.DeliveryStatus{integrations.Failed}, 1},
		"pauses, activates and replays": {200, func(t *testing.T, env *webhookEnv, me auth.Actor, hook integrations.WebhookPath) {
			for _, status := range []*string{&paused, &active} {
				_, err := env.ChangeWebhook(t.Context(), me, hook, integrations.WebhookChange{Status: status})
				require.NoError(t, err)
			}
			n, err := env.ReplayFailed(t.Context(), me, hook, time.Time{})
			require.NoError(t, err)
			require.Equal(t, 1, n)
		}, []integrations.DeliveryStatus{integrations.Succeeded}, 1},
		"changes the URL, and another event follows": {200, func(t *testing.T, env *webhookEnv, me auth.Actor, hook integrations.WebhookPath) {
			_, err := env.ChangeWebhook(t.Context(), me, hook, integrations.WebhookChange{URL: &elsewhere})
			require.NoError(t, err)
			_, err = env.TestWebhook(t.Context(), me, hook, integrations.TestInput{})
			require.NoError(t, err)
		}, []integrations.DeliveryStatus{integrations.Succeeded, integrations.Succeeded}, 2},
		"deletes": {200, func(t *testing.T, env *webhookEnv, me auth.Actor, hook integrations.WebhookPath) {
			require.NoError(t, env.DeleteWebhook(t.Context(), me, hook))
		}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			withWebhooks(t, func(t *testing.T, env *webhookEnv) {
				me := env.developer(t)
				hook := env.createWebhook(t, me, "job.closed")
				env.respondDuring(1, c.status, func() { c.do(t, env, me, hook) })
				env.publishClosed(t)
				env.work.All(t)
				require.Len(t, env.sent, c.sent)
				if c.sent == 2 {
					require.Equal(t, elsewhere, env.sent[1].URL)
				}
				if c.want == nil {
					return
				}
				got := []integrations.DeliveryStatus{}
				for _, d := range env.deliveries(t, me, hook) {
					got = append(got, d.Status)
					require.Len(t, d.Attempts, 1)
				}
				require.Equal(t, c.want, got)
			})
		})
	}
}

// TestDeliveryWorker_LeaseLost_OneResultIsStored runs a second worker during an attempt of the
// first. Both send the same request, which receivers recognize by its id, and one result is
// stored.
func TestDeliveryWorker_LeaseLost_OneResultIsStored(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		me := env.developer(t)
		hook := env.createWebhook(t, me, "job.closed")
		env.respondDuring(1, 500, func() { require.NoError(t, env.runWorker(t.Context(), integrations.Endpoint{ID: hook.ID})) })
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
		pending, err := env.store.Integrations.Deliveries.ListMessages(t.Context(), endpoint.OwnerID, endpoint.ID, integrations.MessageFilter{}, 1)
		require.NoError(t, err)
		require.Empty(t, pending)
	})
}

// TestDeliveryWorker_ReceiverGone_FewAttempts checks that the response 410 Gone disables the
// endpoint after the requests that were in progress, instead of 50 useless ones.
func TestDeliveryWorker_ReceiverGone_FewAttempts(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		e := env.createEndpoint(t, env.developer(t))
		env.enqueueDue(t, e, 50)
		env.respond = respondWith(410)
		require.NoError(t, env.runWorker(t.Context(), e))
		env.work.All(t)
		require.LessOrEqual(t, len(env.sent), 5)
	})
}

// runWorker starts a worker for the due deliveries of an endpoint.
func (p *webhookEnv) runWorker(ctx context.Context, e integrations.Endpoint) error {
	for _, h := range p.Handlers() {
		if h.Kind == "integrations.deliver" {
			return h.Do(ctx, task.Task{Kind: h.Kind, Group: e.ID, RunAt: p.clock.Now()})
		}
	}
	return errors.New("no handler of deliveries")
}

// enqueueDue stores n due deliveries for the endpoint, without a worker.
func (p *webhookEnv) enqueueDue(t *testing.T, endpoint integrations.Endpoint, n int) {
	t.Helper()
	now := p.clock.Now()
	var ms []integrations.Message
	var ds []integrations.Delivery
	for range n {
		message := integrations.Message{EventID: stores.NewID(), Type: "job.closed", Body: "{}", CreatedAt: now}
		ms, ds = append(ms, message), append(
			ds,
			integrations.Delivery{
				ID:         stores.NewID(),
				EndpointID: endpoint.ID,
				OwnerID:    endpoint.OwnerID,
				EventID:    message.EventID,
				Type:       message.Type,
				Status:     integrations.Pending,
				NextAt:     &now,
				CreatedAt:  now,
			},
		)
	}
	require.NoError(t, p.store.Integrations.Deliveries.Enqueue(t.Context(), ms, ds))
}

// createEndpoint creates an active endpoint that subscribes to job.closed.
func (p *webhookEnv) createEndpoint(t *testing.T, me auth.Actor) integrations.Endpoint {
	t.Helper()
	e, err := p.MyWebhook(t.Context(), me, p.createWebhook(t, me, "job.closed"))
	require.NoError(t, err)
	return e
}

// blockReceiver delays the responses of receivers until answer is called.
func (p *webhookEnv) blockReceiver(t *testing.T) (answer func()) {
	t.Helper()
	answered := make(chan struct{})
	answer = sync.OnceFunc(func() { close(answered) })
	t.Cleanup(answer)
	p.respond = func(integrations.Post) integrations.Answer {
		p.mu.Unlock()
		defer p.mu.Lock()
		<-answered
		return integrations.Answer{Status: 200}
	}
	return answer
}

// waitForSent waits until n requests were sent.
func (p *webhookEnv) waitForSent(t *testing.T, n int, why string) {
	t.Helper()
	require.Eventually(t, func() bool { p.mu.Lock(); defer p.mu.Unlock(); return len(p.sent) == n }, 30*time.Second, time.Millisecond, why)
}

// workers are concurrent delivery workers.
type workers struct {
	sync.WaitGroup
	returned atomic.Int32
}

// start runs a worker of the endpoint.
func (v *workers) start(t *testing.T, env *webhookEnv, e integrations.Endpoint) {
	v.Go(func() {
		assert.NoError(t, env.runWorker(t.Context(), e))
		v.returned.Add(1)
	})
}

// waitReturned waits until n workers have returned.
func (v *workers) waitReturned(t *testing.T, n int32) {
	t.Helper()
	require.Eventually(t, func() bool { return v.returned.Load() == n }, 30*time.Second, time.Millisecond)
}

// TestDeliveryWorker_SlowEndpointsOfOneOwner_LeaveWorkers checks that 40 slow endpoints of one
// owner use 32 workers (maxWorkersPerOwner), so that the endpoint of another owner is served.
// The tasks of the other eight are repeated later.
func TestDeliveryWorker_SlowEndpointsOfOneOwner_LeaveWorkers(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		many, other := env.developer(t), env.createEndpoint(t, env.developer(t))
		answer := env.blockReceiver(t)
		var visits workers
		for range 40 {
			e := env.createEndpoint(t, many)
			env.enqueueDue(t, e, 1)
			visits.start(t, env, e)
		}
		visits.waitReturned(t, 8)
		env.enqueueDue(t, other, 1)
		visits.start(t, env, other)
		env.waitForSent(t, 33, "32 of the many, and the other's")
		answer()
		visits.Wait()
		env.clock.Advance(10 * time.Second)
		env.work.All(t)
		require.Len(t, env.sent, 41, "the deferred delivery is sent on the next run")
	})
}

// TestDeliveryWorker_FailingEndpoints_LeaveHalfTheWorkers checks that failing endpoints of all
// owners together use half of the workers, so that an endpoint that works is served.
func TestDeliveryWorker_FailingEndpoints_LeaveHalfTheWorkers(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		half := task.Workers[task.Webhooks] / 2
		var fail []integrations.Endpoint
		env.respond = func(integrations.Post) integrations.Answer { return integrations.Answer{Status: 500} }
		for range half + 2 {
			e := env.createEndpoint(t, env.developer(t))
			env.enqueueDue(t, e, 1)
			require.NoError(t, env.runWorker(t.Context(), e))
			fail = append(fail, e)
		}
		works := env.createEndpoint(t, env.developer(t))
		env.clock.Advance(time.Minute) // the others' second attempts are due
		env.sent = nil
		answer := env.blockReceiver(t)
		var visits workers
		for _, e := range fail {
			visits.start(t, env, e)
		}
		visits.waitReturned(t, 2)
		env.enqueueDue(t, works, 1)
		visits.start(t, env, works)
		env.waitForSent(t, half+1, "half of the workers, and the one that works")
		answer()
		visits.Wait()
		env.clock.Advance(10 * time.Second)
		env.work.All(t)
		require.Len(t, env.sent, half+3, "the deferred delivery is sent on the next run")
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
		ctx, off := context.WithCancel(t.Context())
		env.respond = func(integrations.Post) integrations.Answer {
			if len(env.sent) == 5 {
				off()
			}
			env.mu.Unlock()
			defer env.mu.Lock()
			<-ctx.Done()
			return integrations.Answer{Status: 200}
		}
		require.NoError(t, env.runWorker(ctx, endpoint))
		require.Len(t, env.sent, 5)
		left, err := env.store.Integrations.Deliveries.ListMessages(t.Context(), endpoint.OwnerID, endpoint.ID,
			integrations.MessageFilter{DueBy: env.clock.Now()}, 10)
		require.NoError(t, err)
		require.Len(t, left, 2, "the others are written down")
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
		var visits workers
		for range 32 {
			e := env.createEndpoint(t, me)
			env.enqueueDue(t, e, 1)
			visits.start(t, env, e)
		}
		env.waitForSent(t, 32, "as many as may")
		crowded := env.createEndpoint(t, me)
		env.enqueueDue(t, crowded, 1)
		for range 3 {
			require.NoError(t, env.runWorker(t.Context(), crowded))
		}
		env.clock.Advance(10 * time.Second)
		refs, err := env.store.Integrations.Tasks.Due(t.Context(), 100)
		require.NoError(t, err)
		require.Len(t, refs, 1)
		answer()
		visits.Wait()
	})
}
