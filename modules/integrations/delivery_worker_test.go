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
	j := task.New("integrations.deliver", task.Webhooks, stores.NewID(), struct{}{})
	j.Group, j.RunAt = hook.ID, p.clock.Now()
	refs, err := p.store.Integrations.Tasks.AddAndReserve(t.Context(), j)
	require.NoError(t, err)
	started, err := p.store.Integrations.Tasks.Start(t.Context(), []string{refs[0].ID}, 30*time.Second)
	require.NoError(t, err)
	require.Len(t, started, 1)
}

func TestDeliveryWorker_Killed_NextSendsAfterLease(t *testing.T) {
	withWebhooks(t, func(t *testing.T, p *webhookEnv) {
		hook := p.createWebhook(t, p.developer(t), "job.closed")
		p.startStalledTask(t, hook)
		p.publishClosed(t)
		p.clock.Advance(29 * time.Second)
		p.work.All(t)
		require.Empty(t, p.sent, "another worker sends to the endpoint")
		p.clock.Advance(2 * time.Second)
		p.work.All(t)
		require.Len(t, p.sent, 1)
		p.publishClosed(t)
		require.Len(t, p.sent, 2)
	})
}

func TestDeliveries_TaskDropped_AreSent(t *testing.T) {
	withWebhooks(t, func(t *testing.T, p *webhookEnv) {
		p.createWebhook(t, p.developer(t), "job.closed")
		p.respond = func(integrations.Post) integrations.Answer { return integrations.Answer{Status: 500} }
		p.publishClosed(t)
		require.Len(t, p.sent, 1)
		waiting, err := p.store.Integrations.Tasks.List(t.Context(), task.Filter{State: task.Waiting, Kind: "integrations.deliver", Limit: 10})
		require.NoError(t, err)
		require.Len(t, waiting, 1)
		_, err = p.store.Integrations.Tasks.Drop(t.Context(), []string{waiting[0].ID})
		require.NoError(t, err)
		p.clock.Advance(time.Hour)
		p.work.All(t)
		require.Len(t, p.sent, 1)
		for _, periodic := range p.Periodic() {
			if periodic.Kind == "integrations.sweep-deliveries" {
				require.NoError(t, periodic.Do(t.Context()))
			}
		}
		p.work.All(t)
		require.Len(t, p.sent, 2)
	})
}

// respondDuring calls do during the nth attempt, which gets the status.
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

func TestDeliveryWorker_OwnerChangesDuringAttempt_ChangeRemains(t *testing.T) {
	paused, active := "paused", "active"
	elsewhere := "https://elsewhere.example/"
	for name, c := range map[string]struct {
		status int
		do     func(t *testing.T, p *webhookEnv, me auth.Actor, hook integrations.WebhookPath)
		want   []integrations.DeliveryStatus // the newest first
		sent   int
	}{
		"pauses, and it arrives": {200, func(t *testing.T, p *webhookEnv, me auth.Actor, hook integrations.WebhookPath) {
			_, err := p.ChangeWebhook(t.Context(), me, hook, integrations.WebhookChange{Status: &paused})
			require.NoError(t, err)
		}, []integrations.DeliveryStatus{integrations.Succeeded}, 1},
		"pauses, and it fails": {500, func(t *testing.T, p *webhookEnv, me auth.Actor, hook integrations.WebhookPath) {
			_, err := p.ChangeWebhook(t.Context(), me, hook, integrations.WebhookChange{Status: &paused})
			require.NoError(t, err)
		}, []integrations.DeliveryStatus{integrations.Failed}, 1},
		"pauses, goes on and replays": {200, func(t *testing.T, p *webhookEnv, me auth.Actor, hook integrations.WebhookPath) {
			for _, status := range []*string{&paused, &active} {
				_, err := p.ChangeWebhook(t.Context(), me, hook, integrations.WebhookChange{Status: status})
				require.NoError(t, err)
			}
			n, err := p.ReplayFailed(t.Context(), me, hook, time.Time{})
			require.NoError(t, err)
			require.Equal(t, 1, n)
		}, []integrations.DeliveryStatus{integrations.Succeeded}, 1},
		"moves, and more comes": {200, func(t *testing.T, p *webhookEnv, me auth.Actor, hook integrations.WebhookPath) {
			_, err := p.ChangeWebhook(t.Context(), me, hook, integrations.WebhookChange{URL: &elsewhere})
			require.NoError(t, err)
			_, err = p.TestWebhook(t.Context(), me, hook, integrations.TestInput{})
			require.NoError(t, err)
		}, []integrations.DeliveryStatus{integrations.Succeeded, integrations.Succeeded}, 2},
		"deletes": {200, func(t *testing.T, p *webhookEnv, me auth.Actor, hook integrations.WebhookPath) {
			require.NoError(t, p.DeleteWebhook(t.Context(), me, hook))
		}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			withWebhooks(t, func(t *testing.T, p *webhookEnv) {
				me := p.developer(t)
				hook := p.createWebhook(t, me, "job.closed")
				p.respondDuring(1, c.status, func() { c.do(t, p, me, hook) })
				p.publishClosed(t)
				p.work.All(t)
				require.Len(t, p.sent, c.sent)
				if c.sent == 2 {
					require.Equal(t, elsewhere, p.sent[1].URL)
				}
				if c.want == nil {
					return
				}
				got := []integrations.DeliveryStatus{}
				for _, d := range p.deliveries(t, me, hook) {
					got = append(got, d.Status)
					require.Len(t, d.Attempts, 1)
				}
				require.Equal(t, c.want, got)
			})
		})
	}
}

func TestDeliveryWorker_LeaseLost_OneResultIsStored(t *testing.T) {
	withWebhooks(t, func(t *testing.T, p *webhookEnv) {
		me := p.developer(t)
		hook := p.createWebhook(t, me, "job.closed")
		p.respondDuring(1, 500, func() { require.NoError(t, p.runWorker(t.Context(), integrations.Endpoint{ID: hook.ID})) })
		p.publishClosed(t)
		require.Len(t, p.sent, 2)
		require.Equal(t, p.sent[0].Headers["webhook-id"], p.sent[1].Headers["webhook-id"])
		require.Equal(t, p.sent[0].Body, p.sent[1].Body)
		d := p.deliveries(t, me, hook)[0]
		require.Equal(t, integrations.Succeeded, d.Status)
		require.Len(t, d.Attempts, 1)
	})
}

func TestDeliveryWorker_ManyDue_EachSentOnce(t *testing.T) {
	withWebhooks(t, func(t *testing.T, p *webhookEnv) {
		e := p.createEndpoint(t, p.developer(t))
		p.enqueueDue(t, e, 250)
		underWay, most := 0, 0
		p.respond = func(integrations.Post) integrations.Answer {
			underWay++
			most = max(most, underWay)
			p.mu.Unlock()
			time.Sleep(time.Millisecond)
			p.mu.Lock()
			underWay--
			return integrations.Answer{Status: 200}
		}
		require.NoError(t, p.runWorker(t.Context(), e))
		p.work.All(t)
		require.Len(t, p.sent, 250)
		require.LessOrEqual(t, most, 5)
		once := map[string]bool{}
		for _, sent := range p.sent {
			once[sent.Headers["webhook-id"]] = true
		}
		require.Len(t, once, 250)
		pending, err := p.store.Integrations.Deliveries.ListMessages(t.Context(), e.OwnerID, e.ID, integrations.MessageFilter{}, 1)
		require.NoError(t, err)
		require.Empty(t, pending)
	})
}

func TestDeliveryWorker_ReceiverGone_FewAttempts(t *testing.T) {
	withWebhooks(t, func(t *testing.T, p *webhookEnv) {
		e := p.createEndpoint(t, p.developer(t))
		p.enqueueDue(t, e, 50)
		p.respond = respondWith(410)
		require.NoError(t, p.runWorker(t.Context(), e))
		p.work.All(t)
		require.LessOrEqual(t, len(p.sent), 5)
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
func (p *webhookEnv) enqueueDue(t *testing.T, e integrations.Endpoint, n int) {
	t.Helper()
	now := p.clock.Now()
	var ms []integrations.Message
	var ds []integrations.Delivery
	for range n {
		m := integrations.Message{EventID: stores.NewID(), Type: "job.closed", Body: "{}", CreatedAt: now}
		ms, ds = append(ms, m), append(ds, integrations.Delivery{ID: stores.NewID(), EndpointID: e.ID, OwnerID: e.OwnerID, EventID: m.EventID, Type: m.Type, Status: integrations.Pending, NextAt: &now, CreatedAt: now})
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

func (v *workers) start(t *testing.T, p *webhookEnv, e integrations.Endpoint) {
	v.Go(func() {
		assert.NoError(t, p.runWorker(t.Context(), e))
		v.returned.Add(1)
	})
}

// waitReturned waits until n workers have returned.
func (v *workers) waitReturned(t *testing.T, n int32) {
	t.Helper()
	require.Eventually(t, func() bool { return v.returned.Load() == n }, 30*time.Second, time.Millisecond)
}

func TestDeliveryWorker_SlowEndpointsOfOneOwner_LeaveWorkers(t *testing.T) {
	withWebhooks(t, func(t *testing.T, p *webhookEnv) {
		many, other := p.developer(t), p.createEndpoint(t, p.developer(t))
		answer := p.blockReceiver(t)
		var visits workers
		for range 40 {
			e := p.createEndpoint(t, many)
			p.enqueueDue(t, e, 1)
			visits.start(t, p, e)
		}
		visits.waitReturned(t, 8)
		p.enqueueDue(t, other, 1)
		visits.start(t, p, other)
		p.waitForSent(t, 33, "32 of the many, and the other's")
		answer()
		visits.Wait()
		p.clock.Advance(10 * time.Second)
		p.work.All(t)
		require.Len(t, p.sent, 41, "who was one too many has come again")
	})
}

func TestDeliveryWorker_FailingEndpoints_LeaveHalfTheWorkers(t *testing.T) {
	withWebhooks(t, func(t *testing.T, p *webhookEnv) {
		half := task.Workers[task.Webhooks] / 2
		var fail []integrations.Endpoint
		p.respond = func(integrations.Post) integrations.Answer { return integrations.Answer{Status: 500} }
		for range half + 2 {
			e := p.createEndpoint(t, p.developer(t))
			p.enqueueDue(t, e, 1)
			require.NoError(t, p.runWorker(t.Context(), e))
			fail = append(fail, e)
		}
		works := p.createEndpoint(t, p.developer(t))
		p.clock.Advance(time.Minute) // the others' second attempts are due
		p.sent = nil
		answer := p.blockReceiver(t)
		var visits workers
		for _, e := range fail {
			visits.start(t, p, e)
		}
		visits.waitReturned(t, 2)
		p.enqueueDue(t, works, 1)
		visits.start(t, p, works)
		p.waitForSent(t, half+1, "half of the workers, and the one that works")
		answer()
		visits.Wait()
		p.clock.Advance(10 * time.Second)
		p.work.All(t)
		require.Len(t, p.sent, half+3, "who was one too many has come again")
	})
}

func TestDeliveryWorker_Cancelled_RecordsWhatWasDelivered(t *testing.T) {
	withWebhooks(t, func(t *testing.T, p *webhookEnv) {
		me := p.developer(t)
		hook := p.createWebhook(t, me, "job.closed")
		e, err := p.MyWebhook(t.Context(), me, hook)
		require.NoError(t, err)
		p.enqueueDue(t, e, 7)
		ctx, off := context.WithCancel(t.Context())
		p.respond = func(integrations.Post) integrations.Answer {
			if len(p.sent) == 5 {
				off()
			}
			p.mu.Unlock()
			defer p.mu.Lock()
			<-ctx.Done()
			return integrations.Answer{Status: 200}
		}
		require.NoError(t, p.runWorker(ctx, e))
		require.Len(t, p.sent, 5)
		left, err := p.store.Integrations.Deliveries.ListMessages(t.Context(), e.OwnerID, e.ID, integrations.MessageFilter{DueBy: p.clock.Now()}, 10)
		require.NoError(t, err)
		require.Len(t, left, 2, "the others are written down")
		p.work.All(t)
		require.Len(t, p.sent, 7)
	})
}

func TestDeliveryWorker_ManyTasksOfOneEndpoint_AreMerged(t *testing.T) {
	withWebhooks(t, func(t *testing.T, p *webhookEnv) {
		me := p.developer(t)
		answer := p.blockReceiver(t)
		var visits workers
		for range 32 {
			e := p.createEndpoint(t, me)
			p.enqueueDue(t, e, 1)
			visits.start(t, p, e)
		}
		p.waitForSent(t, 32, "as many as may")
		crowded := p.createEndpoint(t, me)
		p.enqueueDue(t, crowded, 1)
		for range 3 {
			require.NoError(t, p.runWorker(t.Context(), crowded))
		}
		p.clock.Advance(10 * time.Second)
		refs, err := p.store.Integrations.Tasks.Due(t.Context(), 100)
		require.NoError(t, err)
		require.Len(t, refs, 1)
		answer()
		visits.Wait()
	})
}
