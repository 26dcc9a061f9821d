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

// closes queues a delivery for every subscriber of job.closed, and sends it.
func (p *post) closes(t *testing.T) {
	t.Helper()
	p.tell(t, event.JobClosed{JobID: stores.NewID(), OrganizationID: stores.NewID()})
}

// begin starts a task of the endpoint, with a worker that does not respond any more.
func (p *post) begin(t *testing.T, hook integrations.WebhookPath) {
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
	withPost(t, func(t *testing.T, p *post) {
		hook := p.hook(t, p.developer(t), "job.closed")
		p.begin(t, hook)
		p.closes(t)
		p.clock.Advance(29 * time.Second)
		p.work.All(t)
		require.Empty(t, p.sent, "another worker sends to the endpoint")
		p.clock.Advance(2 * time.Second)
		p.work.All(t)
		require.Len(t, p.sent, 1)
		p.closes(t)
		require.Len(t, p.sent, 2)
	})
}

func TestDeliveries_TaskDropped_AreSent(t *testing.T) {
	withPost(t, func(t *testing.T, p *post) {
		p.hook(t, p.developer(t), "job.closed")
		p.answers = func(integrations.Post) integrations.Answer { return integrations.Answer{Status: 500} }
		p.closes(t)
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

// during does something while the nth attempt is under way.
func (p *post) during(n int, status int, do func()) {
	p.answers = func(integrations.Post) integrations.Answer {
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
		do     func(t *testing.T, p *post, me auth.Actor, hook integrations.WebhookPath)
		want   []integrations.DeliveryStatus // the newest first
		sent   int
	}{
		"pauses, and it arrives": {200, func(t *testing.T, p *post, me auth.Actor, hook integrations.WebhookPath) {
			_, err := p.ChangeWebhook(t.Context(), me, hook, integrations.WebhookChange{Status: &paused})
			require.NoError(t, err)
		}, []integrations.DeliveryStatus{integrations.Succeeded}, 1},
		"pauses, and it fails": {500, func(t *testing.T, p *post, me auth.Actor, hook integrations.WebhookPath) {
			_, err := p.ChangeWebhook(t.Context(), me, hook, integrations.WebhookChange{Status: &paused})
			require.NoError(t, err)
		}, []integrations.DeliveryStatus{integrations.Failed}, 1},
		"pauses, goes on and replays": {200, func(t *testing.T, p *post, me auth.Actor, hook integrations.WebhookPath) {
			for _, status := range []*string{&paused, &active} {
				_, err := p.ChangeWebhook(t.Context(), me, hook, integrations.WebhookChange{Status: status})
				require.NoError(t, err)
			}
			n, err := p.ReplayFailed(t.Context(), me, hook, time.Time{})
			require.NoError(t, err)
			require.Equal(t, 1, n)
		}, []integrations.DeliveryStatus{integrations.Succeeded}, 1},
		"moves, and more comes": {200, func(t *testing.T, p *post, me auth.Actor, hook integrations.WebhookPath) {
			_, err := p.ChangeWebhook(t.Context(), me, hook, integrations.WebhookChange{URL: &elsewhere})
			require.NoError(t, err)
			_, err = p.TestWebhook(t.Context(), me, hook, integrations.TestInput{})
			require.NoError(t, err)
		}, []integrations.DeliveryStatus{integrations.Succeeded, integrations.Succeeded}, 2},
		"deletes": {200, func(t *testing.T, p *post, me auth.Actor, hook integrations.WebhookPath) {
			require.NoError(t, p.DeleteWebhook(t.Context(), me, hook))
		}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			withPost(t, func(t *testing.T, p *post) {
				me := p.developer(t)
				hook := p.hook(t, me, "job.closed")
				p.during(1, c.status, func() { c.do(t, p, me, hook) })
				p.closes(t)
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
	withPost(t, func(t *testing.T, p *post) {
		me := p.developer(t)
		hook := p.hook(t, me, "job.closed")
		p.during(1, 500, func() { require.NoError(t, p.look(t.Context(), integrations.Endpoint{ID: hook.ID})) })
		p.closes(t)
		require.Len(t, p.sent, 2)
		require.Equal(t, p.sent[0].Headers["webhook-id"], p.sent[1].Headers["webhook-id"])
		require.Equal(t, p.sent[0].Body, p.sent[1].Body)
		d := p.deliveries(t, me, hook)[0]
		require.Equal(t, integrations.Succeeded, d.Status)
		require.Len(t, d.Attempts, 1)
	})
}

func TestDeliveryWorker_ManyDue_EachSentOnce(t *testing.T) {
	withPost(t, func(t *testing.T, p *post) {
		e := p.endpoint(t, p.developer(t))
		p.due(t, e, 250)
		underWay, most := 0, 0
		p.answers = func(integrations.Post) integrations.Answer {
			underWay++
			most = max(most, underWay)
			p.mu.Unlock()
			time.Sleep(time.Millisecond)
			p.mu.Lock()
			underWay--
			return integrations.Answer{Status: 200}
		}
		require.NoError(t, p.look(t.Context(), e))
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
	withPost(t, func(t *testing.T, p *post) {
		e := p.endpoint(t, p.developer(t))
		p.due(t, e, 50)
		p.answers = answering(410)
		require.NoError(t, p.look(t.Context(), e))
		p.work.All(t)
		require.LessOrEqual(t, len(p.sent), 5)
	})
}

// look starts a worker for the due deliveries of an endpoint.
func (p *post) look(ctx context.Context, e integrations.Endpoint) error {
	for _, h := range p.Handlers() {
		if h.Kind == "integrations.deliver" {
			return h.Do(ctx, task.Task{Kind: h.Kind, Group: e.ID, RunAt: p.clock.Now()})
		}
	}
	return errors.New("no handler of deliveries")
}

// due stores n due deliveries for the endpoint, without a worker.
func (p *post) due(t *testing.T, e integrations.Endpoint, n int) {
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

// endpoint makes an active endpoint that wants job.closed.
func (p *post) endpoint(t *testing.T, me auth.Actor) integrations.Endpoint {
	t.Helper()
	e, err := p.MyWebhook(t.Context(), me, p.hook(t, me, "job.closed"))
	require.NoError(t, err)
	return e
}

// hang has receivers answer when answer is called, and not before.
func (p *post) hang(t *testing.T) (answer func()) {
	t.Helper()
	answered := make(chan struct{})
	answer = sync.OnceFunc(func() { close(answered) })
	t.Cleanup(answer)
	p.answers = func(integrations.Post) integrations.Answer {
		p.mu.Unlock()
		defer p.mu.Lock()
		<-answered
		return integrations.Answer{Status: 200}
	}
	return answer
}

// reaches waits until so much was sent.
func (p *post) reaches(t *testing.T, n int, why string) {
	t.Helper()
	require.Eventually(t, func() bool { p.mu.Lock(); defer p.mu.Unlock(); return len(p.sent) == n }, 30*time.Second, time.Millisecond, why)
}

// visitors come for what is due, all at once.
type visitors struct {
	sync.WaitGroup
	left atomic.Int32
}

func (v *visitors) come(t *testing.T, p *post, e integrations.Endpoint) {
	v.Go(func() {
		assert.NoError(t, p.look(t.Context(), e))
		v.left.Add(1)
	})
}

// leave waits until n workers have returned.
func (v *visitors) leave(t *testing.T, n int32) {
	t.Helper()
	require.Eventually(t, func() bool { return v.left.Load() == n }, 30*time.Second, time.Millisecond)
}

func TestDeliveryWorker_SlowEndpointsOfOneOwner_LeaveWorkers(t *testing.T) {
	withPost(t, func(t *testing.T, p *post) {
		many, other := p.developer(t), p.endpoint(t, p.developer(t))
		answer := p.hang(t)
		var visits visitors
		for range 40 {
			e := p.endpoint(t, many)
			p.due(t, e, 1)
			visits.come(t, p, e)
		}
		visits.leave(t, 8)
		p.due(t, other, 1)
		visits.come(t, p, other)
		p.reaches(t, 33, "32 of the many, and the other's")
		answer()
		visits.Wait()
		p.clock.Advance(10 * time.Second)
		p.work.All(t)
		require.Len(t, p.sent, 41, "who was one too many has come again")
	})
}

func TestDeliveryWorker_FailingEndpoints_LeaveHalfTheWorkers(t *testing.T) {
	withPost(t, func(t *testing.T, p *post) {
		half := task.Workers[task.Webhooks] / 2
		var fail []integrations.Endpoint
		p.answers = func(integrations.Post) integrations.Answer { return integrations.Answer{Status: 500} }
		for range half + 2 {
			e := p.endpoint(t, p.developer(t))
			p.due(t, e, 1)
			require.NoError(t, p.look(t.Context(), e))
			fail = append(fail, e)
		}
		works := p.endpoint(t, p.developer(t))
		p.clock.Advance(time.Minute) // the others' second attempts are due
		p.sent = nil
		answer := p.hang(t)
		var visits visitors
		for _, e := range fail {
			visits.come(t, p, e)
		}
		visits.leave(t, 2)
		p.due(t, works, 1)
		visits.come(t, p, works)
		p.reaches(t, half+1, "half of the workers, and the one that works")
		answer()
		visits.Wait()
		p.clock.Advance(10 * time.Second)
		p.work.All(t)
		require.Len(t, p.sent, half+3, "who was one too many has come again")
	})
}

func TestDeliveryWorker_Cancelled_RecordsWhatWasDelivered(t *testing.T) {
	withPost(t, func(t *testing.T, p *post) {
		me := p.developer(t)
		hook := p.hook(t, me, "job.closed")
		e, err := p.MyWebhook(t.Context(), me, hook)
		require.NoError(t, err)
		p.due(t, e, 7)
		ctx, off := context.WithCancel(t.Context())
		p.answers = func(integrations.Post) integrations.Answer {
			if len(p.sent) == 5 {
				off()
			}
			p.mu.Unlock()
			defer p.mu.Lock()
			<-ctx.Done()
			return integrations.Answer{Status: 200}
		}
		require.NoError(t, p.look(ctx, e))
		require.Len(t, p.sent, 5)
		left, err := p.store.Integrations.Deliveries.ListMessages(t.Context(), e.OwnerID, e.ID, integrations.MessageFilter{DueBy: p.clock.Now()}, 10)
		require.NoError(t, err)
		require.Len(t, left, 2, "the others are written down")
		p.work.All(t)
		require.Len(t, p.sent, 7)
	})
}

func TestDeliveryWorker_ManyTasksOfOneEndpoint_AreMerged(t *testing.T) {
	withPost(t, func(t *testing.T, p *post) {
		me := p.developer(t)
		answer := p.hang(t)
		var visits visitors
		for range 32 {
			e := p.endpoint(t, me)
			p.due(t, e, 1)
			visits.come(t, p, e)
		}
		p.reaches(t, 32, "as many as may")
		crowded := p.endpoint(t, me)
		p.due(t, crowded, 1)
		for range 3 {
			require.NoError(t, p.look(t.Context(), crowded))
		}
		p.clock.Advance(10 * time.Second)
		refs, err := p.store.Integrations.Tasks.Due(t.Context(), 100)
		require.NoError(t, err)
		require.Len(t, refs, 1)
		answer()
		visits.Wait()
	})
}
