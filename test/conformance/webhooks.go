package conformance

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// hooks is a store with somebody who has an application.
type hooks struct {
	adapters.Storage
	t   *testing.T
	clk *kit.Clock
	app integrations.App
}

func newHooks(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) *hooks {
	t.Helper()
	t.Parallel()
	clk := kit.NewClock()
	h := &hooks{Storage: open(t, clk), t: t, clk: clk}
	h.app = h.application(h.user())
	return h
}

func (h *hooks) user() string {
	now := h.clk.Now()
	u := identity.User{ID: stores.NewID(), Email: stores.NewID() + "@example.org", Name: "Dev", Kind: identity.KindJobseeker, Status: identity.UserActive, Registered: true, PasswordHash: "h", CreatedAt: now, UpdatedAt: now, Version: 1}
	require.NoError(h.t, h.Users.Add(context.Background(), &u))
	return u.ID
}

func (h *hooks) application(ownerID string) integrations.App {
	now := h.clk.Now()
	a := integrations.App{ID: stores.NewID(), OwnerID: ownerID, Name: "App", Plan: integrations.Free, RedirectURIs: []string{}, CreatedAt: now, UpdatedAt: now, Version: 1}
	require.NoError(h.t, h.Apps.Add(context.Background(), a))
	return a
}

func (h *hooks) endpoint(a integrations.App, events ...string) integrations.Endpoint {
	now := h.clk.Now()
	e := integrations.Endpoint{ID: stores.NewID(), AppID: a.ID, OwnerID: a.OwnerID, URL: "https://x.example/\"1\"", Events: events, Status: integrations.EndpointActive, Secret: "hidden", CreatedAt: now, UpdatedAt: now, Version: 1}
	require.NoError(h.t, h.Webhooks.Add(context.Background(), e))
	return e
}

func (h *hooks) queue(e integrations.Endpoint) integrations.Delivery {
	now := h.clk.Now()
	d := integrations.Delivery{ID: stores.NewID(), EndpointID: e.ID, OwnerID: e.OwnerID, EventID: stores.NewID(), Type: "job.created", Status: integrations.Pending, NextAt: &now, CreatedAt: now, Attempts: []integrations.Attempt{}}
	h.enqueue(integrations.Message{EventID: d.EventID, Type: d.Type, Body: `{"b":"ä"}`, CreatedAt: now}, d)
	return d
}

func (h *hooks) enqueue(m integrations.Message, ds ...integrations.Delivery) (alone []string) {
	h.t.Helper()
	now := h.clk.Now()
	alone, err := h.Webhooks.Queue(context.Background(), []integrations.Message{m}, ds, now, now.Add(-time.Minute), now)
	require.NoError(h.t, err)
	return alone
}

// claim takes one delivery, nil if nothing is due.
func (h *hooks) claim(e integrations.Endpoint) *integrations.Claimed {
	h.t.Helper()
	if cs := h.claims(e, 1); len(cs) > 0 {
		return &cs[0]
	}
	return nil
}

func (h *hooks) claims(e integrations.Endpoint, n int) []integrations.Claimed {
	h.t.Helper()
	now := h.clk.Now()
	cs, err := h.Webhooks.Claim(context.Background(), e.ID, n, now, now.Add(time.Minute))
	require.NoError(h.t, err)
	return cs
}

func (h *hooks) settle(c *integrations.Claimed, status integrations.DeliveryStatus) bool {
	h.t.Helper()
	d := c.Delivery
	d.Status, d.NextAt = status, nil
	newest, err := h.Webhooks.Settle(context.Background(), d.EndpointID, []integrations.Delivery{d})
	require.NoError(h.t, err)
	return len(newest) == 1 && newest[0] == d.ID
}

func (h *hooks) log(e integrations.Endpoint, status integrations.DeliveryStatus) page.Result[integrations.Delivery] {
	h.t.Helper()
	r, err := h.Webhooks.Log(context.Background(), e.OwnerID, e.ID, status, page.Request{Number: 1, Size: 50})
	require.NoError(h.t, err)
	return r
}

// Webhooks is the suite of endpoints and of what is sent to them.
func Webhooks(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	ctx := context.Background()

	t.Run("a listener's endpoint lasts until the moment that it says", func(t *testing.T) {
		h := newHooks(t, open)
		a := h.application(h.user())
		usual, until := h.endpoint(a, "job.created"), h.clk.Now().Add(time.Minute)
		e := integrations.Endpoint{ID: stores.NewID(), AppID: a.ID, OwnerID: a.OwnerID, URL: "http://localhost/", Events: []string{"job.created"}, Status: integrations.EndpointActive, Secret: "hidden", ListeningUntil: &until, CreatedAt: h.clk.Now(), UpdatedAt: h.clk.Now(), Version: 1}
		require.NoError(t, h.Webhooks.Add(ctx, e))
		h.queue(e)
		h.queue(usual)
		overdue, err := h.Webhooks.Overdue(ctx, until, "", 10)
		require.NoError(t, err)
		require.Equal(t, []string{usual.ID}, overdue)
		require.NoError(t, h.Webhooks.Listening(ctx, e.ID, until.Add(time.Minute)))
		require.ErrorIs(t, h.Webhooks.Listening(ctx, usual.ID, until), integrations.ErrWebhookNotFound)
		e.FailingSince = &until
		require.NoError(t, h.Webhooks.Save(ctx, e), "which takes nothing of that back")
		require.NoError(t, h.Webhooks.EndListeners(ctx, until))
		got, err := h.Webhooks.Find(ctx, e.OwnerID, e.AppID, e.ID)
		require.NoError(t, err)
		require.True(t, got.ListeningUntil.Equal(until.Add(time.Minute)))
		require.NoError(t, h.Webhooks.EndListeners(ctx, until.Add(time.Minute)))
		require.ErrorIs(t, h.Webhooks.Listening(ctx, e.ID, until), integrations.ErrWebhookNotFound)
		_, err = h.Webhooks.Find(ctx, usual.OwnerID, usual.AppID, usual.ID)
		require.NoError(t, err)
	})
	t.Run("the first applications are the oldest", func(t *testing.T) {
		h := newHooks(t, open)
		one, two := h.app, h.application(h.user())
		h.application(one.OwnerID)
		first, err := h.Apps.First(ctx, 2)
		require.NoError(t, err)
		require.Equal(t, []string{one.ID, two.ID}, []string{first[0].ID, first[1].ID})
	})
	t.Run("an endpoint is its owner's alone", func(t *testing.T) {
		h := newHooks(t, open)
		e := h.endpoint(h.app, "job.created", "job.closed")
		got, err := h.Webhooks.Find(ctx, e.OwnerID, e.AppID, e.ID)
		require.NoError(t, err)
		require.Equal(t, e, got)
		other := h.application(h.user())
		mine := h.application(h.app.OwnerID)
		for _, foreign := range [][2]string{{other.OwnerID, e.AppID}, {other.OwnerID, other.ID}, {h.app.OwnerID, mine.ID}} {
			_, err = h.Webhooks.Find(ctx, foreign[0], foreign[1], e.ID)
			require.ErrorIs(t, err, integrations.ErrWebhookNotFound)
			require.ErrorIs(t, h.Webhooks.Delete(ctx, foreign[0], foreign[1], e.ID), integrations.ErrWebhookNotFound)
			list, err := h.Webhooks.List(ctx, foreign[0], foreign[1])
			require.NoError(t, err)
			require.Empty(t, list)
		}
		until := h.clk.Now().Add(time.Hour)
		got.Status, got.Secret, got.PreviousSecret, got.PreviousUntil, got.FailingSince, got.WarnedAt, got.Events = integrations.EndpointPaused, "new", "hidden", &until, &until, &until, []string{"job.updated"}
		require.NoError(t, h.Webhooks.Save(ctx, got))
		got.Version++
		saved, err := h.Webhooks.Lock(ctx, e.ID)
		require.NoError(t, err)
		require.Equal(t, got, saved)
		second := h.endpoint(h.app, "job.created")
		list, err := h.Webhooks.List(ctx, e.OwnerID, e.AppID)
		require.NoError(t, err)
		require.Equal(t, []string{second.ID, e.ID}, []string{list[0].ID, list[1].ID})
		h.queue(e)
		require.NoError(t, h.Webhooks.Delete(ctx, e.OwnerID, e.AppID, e.ID))
		_, err = h.Webhooks.Lock(ctx, e.ID)
		require.ErrorIs(t, err, integrations.ErrWebhookNotFound)
		require.Empty(t, h.log(e, "").Items, "its log goes with it")
		require.NoError(t, h.Apps.Delete(ctx, h.app.OwnerID, h.app.ID))
		_, err = h.Webhooks.Lock(ctx, second.ID)
		require.ErrorIs(t, err, integrations.ErrWebhookNotFound, "and all with the application")
	})

	t.Run("who subscribes to what is found by the type, a batch at a time", func(t *testing.T) {
		h := newHooks(t, open)
		one, two, three := h.endpoint(h.app, "job.created", "job.closed"), h.endpoint(h.app, "job.created"), h.endpoint(h.application(h.user()), "job.created")
		ids := func(es []integrations.Endpoint, err error) []string {
			t.Helper()
			require.NoError(t, err)
			out := []string{}
			for _, e := range es {
				out = append(out, e.ID)
			}
			return out
		}
		require.Equal(t, []string{one.ID, two.ID}, ids(h.Webhooks.Subscribed(ctx, "job.created", "", 2)))
		require.Equal(t, []string{three.ID}, ids(h.Webhooks.Subscribed(ctx, "job.created", two.ID, 2)))
		require.Equal(t, []string{one.ID}, ids(h.Webhooks.Subscribed(ctx, "job.closed", "", 2)))
		two.Status = integrations.EndpointPaused
		require.NoError(t, h.Webhooks.Save(ctx, two))
		one.Events = []string{"job.closed"}
		require.NoError(t, h.Webhooks.Save(ctx, one))
		require.Equal(t, []string{three.ID}, ids(h.Webhooks.Subscribed(ctx, "job.created", "", 9)))
	})

	t.Run("of applications those hear who have to do with them", func(t *testing.T) {
		h := newHooks(t, open)
		const kind = "application.submitted"
		now := h.clk.Now()
		applicant, colleague, invited, stranger := h.user(), h.user(), h.user(), h.user()
		founder := h.user()
		o, m := identity.Found(stores.NewID(), stores.NewID(), founder, "St Mary's", "", "", now)
		require.NoError(t, h.Organizations.Found(ctx, o, m))
		for _, userID := range []string{colleague, invited} {
			member := identity.NewInvitation(stores.NewID(), o.ID, userID, "x", "x@example.org", identity.Viewer, now)
			_, err := h.Organizations.Invite(ctx, member, now)
			require.NoError(t, err)
			if userID == colleague {
				member.Accept(now)
				require.NoError(t, h.Organizations.SaveMember(ctx, &member))
			}
		}
		byApplicant, byColleague := h.endpoint(h.application(applicant), kind), h.endpoint(h.application(colleague), kind)
		h.endpoint(h.application(invited), kind)
		h.endpoint(h.application(applicant), "job.created")
		allowed, foreign := h.application(stranger), h.application(stranger)
		byConsent := h.endpoint(allowed, kind)
		h.endpoint(foreign, kind)
		for _, c := range []integrations.Consent{{UserID: founder, AppID: allowed.ID}, {UserID: invited, AppID: foreign.ID}, {UserID: stranger, AppID: foreign.ID}} {
			c.Scopes, c.GivenAt = []integrations.Scope{integrations.ApplicationsRead}, now
			require.NoError(t, h.Consents.Give(ctx, c))
		}
		es, err := h.Webhooks.SubscribedNear(ctx, kind, o.ID, applicant, "", 10)
		require.NoError(t, err)
		require.Len(t, es, 3)
		require.ElementsMatch(t, []string{byApplicant.ID, byColleague.ID, byConsent.ID}, []string{es[0].ID, es[1].ID, es[2].ID})
		es, err = h.Webhooks.SubscribedNear(ctx, kind, o.ID, applicant, es[1].ID, 10)
		require.NoError(t, err)
		require.Len(t, es, 1)
		near, err := h.Consents.Near(ctx, allowed.ID, o.ID, applicant, 10)
		require.NoError(t, err)
		require.Len(t, near, 1)
		require.Equal(t, founder, near[0].UserID)
		near, err = h.Consents.Near(ctx, foreign.ID, o.ID, applicant, 10)
		require.NoError(t, err)
		require.Empty(t, near)
	})

	t.Run("an event goes to an endpoint once, and its body is stored once", func(t *testing.T) {
		h := newHooks(t, open)
		e := h.endpoint(h.app, "job.created")
		d := h.queue(e)
		again := d
		again.ID = stores.NewID()
		h.enqueue(integrations.Message{EventID: d.EventID, Type: d.Type, Body: "other", CreatedAt: d.CreatedAt}, again)
		list := h.log(e, "")
		require.Equal(t, 1, list.Total)
		require.Equal(t, d, list.Items[0])
		body := h.claim(e).Message.Body
		require.Len(t, body, len(`{"b":"ä"}`), "byte for byte")
		require.JSONEq(t, `{"b":"ä"}`, body)
	})

	t.Run("a delivery is claimed once, by whoever looks first", func(t *testing.T) {
		h := newHooks(t, open)
		e := h.endpoint(h.app, "job.created")
		for range 30 {
			h.queue(e)
		}
		var mu sync.Mutex
		claimed := map[string]int{}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				now := h.clk.Now()
				_ = h.Tx.Do(ctx, func(ctx context.Context) error {
					if _, err := h.Webhooks.Lock(ctx, e.ID); err != nil {
						return err
					}
					cs, err := h.Webhooks.Claim(ctx, e.ID, 2, now, now.Add(time.Minute))
					mu.Lock()
					defer mu.Unlock()
					for _, c := range cs {
						claimed[c.ID]++
					}
					return err
				})
			})
		}
		all.Wait()
		require.Len(t, claimed, 30)
		for _, times := range claimed {
			require.Equal(t, 1, times)
		}
		n, err := h.Webhooks.InFlight(ctx, e.ID, h.clk.Now())
		require.NoError(t, err)
		require.Equal(t, 30, n)
		h.clk.Advance(time.Minute)
		n, err = h.Webhooks.InFlight(ctx, e.ID, h.clk.Now())
		require.NoError(t, err)
		require.Zero(t, n, "a claim ends by itself")
		cs := h.claims(e, 50)
		require.Len(t, cs, 30)
		c := &cs[0]
		require.Equal(t, 2, c.Attempt)
		require.Zero(t, c.Tries, "nothing has been tried")
		late, done := cs[1].Delivery, c.Delivery
		late.Attempt, late.Status, late.NextAt = 1, integrations.Failed, nil
		done.Status, done.NextAt = integrations.Succeeded, nil
		newest, err := h.Webhooks.Settle(ctx, e.ID, []integrations.Delivery{late, done})
		require.NoError(t, err)
		require.Equal(t, []string{c.ID}, newest, "who lost the claim changes nothing")
		require.False(t, h.settle(c, integrations.Failed), "settled is settled")
		require.Equal(t, 1, h.log(e, integrations.Succeeded).Total)
		require.Zero(t, h.log(e, integrations.Failed).Total)
		require.Nil(t, h.claim(e))
		other := h.endpoint(h.app, "job.created")
		newest, err = h.Webhooks.Settle(ctx, other.ID, []integrations.Delivery{cs[2].Delivery})
		require.NoError(t, err)
		require.Empty(t, newest, "another endpoint's")
	})

	t.Run("somebody is to look at an endpoint unless somebody does", func(t *testing.T) {
		h := newHooks(t, open)
		e, other := h.endpoint(h.app, "job.created"), h.endpoint(h.app, "job.created")
		event := func(to ...integrations.Endpoint) (alone []string) {
			now, eventID := h.clk.Now(), stores.NewID()
			var ds []integrations.Delivery
			for _, e := range to {
				ds = append(ds, integrations.Delivery{ID: stores.NewID(), EndpointID: e.ID, OwnerID: e.OwnerID, EventID: eventID, Type: "job.created", Status: integrations.Pending, NextAt: &now, CreatedAt: now})
			}
			return h.enqueue(integrations.Message{EventID: eventID, Type: "job.created", Body: "{}", CreatedAt: now}, ds...)
		}
		require.Equal(t, []string{e.ID}, event(e))
		require.Equal(t, []string{other.ID}, event(e, other), "whoever comes for the first finds the second")
		cs := h.claims(e, 5)
		require.Len(t, cs, 2)
		require.Empty(t, event(e), "whoever attempts looks again")
		for _, c := range append(cs, *h.claim(e)) {
			at := h.clk.Now().Add(time.Hour)
			c.NextAt = &at
			_, err := h.Webhooks.Settle(ctx, e.ID, []integrations.Delivery{c.Delivery})
			require.NoError(t, err)
		}
		require.Equal(t, []string{e.ID}, event(e), "what is due later is of no use")
		h.clk.Advance(2 * time.Minute)
		require.Equal(t, []string{e.ID}, event(e), "nobody has come for a long time")
		cs = h.claims(e, 5)
		require.Len(t, cs, 2)
		h.clk.Advance(2 * time.Minute)
		require.Equal(t, []string{e.ID}, event(e), "whoever attempted is gone")
	})

	t.Run("what is given back is due at once, unless somebody else has claimed it since", func(t *testing.T) {
		h := newHooks(t, open)
		e := h.endpoint(h.application(h.user()), "job.created")
		h.queue(e)
		first := h.claim(e)
		h.clk.Advance(time.Minute)
		second := h.claim(e)
		require.Equal(t, first.ID, second.ID)
		require.NoError(t, h.Webhooks.Release(ctx, e.ID, []integrations.Delivery{first.Delivery}, h.clk.Now()))
		require.Nil(t, h.claim(e), "it is the second one's")
		require.NoError(t, h.Webhooks.Release(ctx, e.ID, []integrations.Delivery{second.Delivery}, h.clk.Now()))
		again := h.claim(e)
		require.Equal(t, second.Attempt, again.Attempt, "what was not attempted does not count")
		require.False(t, h.settle(first, integrations.Succeeded))
		require.True(t, h.settle(again, integrations.Succeeded))
	})

	t.Run("an endpoint that was deleted meanwhile keeps nothing from the others", func(t *testing.T) {
		h := newHooks(t, open)
		a := h.application(h.user())
		gone, e := h.endpoint(a, "job.created"), h.endpoint(a, "job.created")
		require.NoError(t, h.Webhooks.Delete(ctx, gone.OwnerID, a.ID, gone.ID))
		now := h.clk.Now()
		m := integrations.Message{EventID: stores.NewID(), Type: "job.created", Body: "{}", CreatedAt: now}
		var ds []integrations.Delivery
		for _, to := range []integrations.Endpoint{gone, e} {
			ds = append(ds, integrations.Delivery{ID: stores.NewID(), EndpointID: to.ID, OwnerID: to.OwnerID, EventID: m.EventID, Type: m.Type, Status: integrations.Pending, NextAt: &now, CreatedAt: now, Attempts: []integrations.Attempt{}})
		}
		require.Equal(t, []string{e.ID}, h.enqueue(m, ds...))
		require.Empty(t, h.enqueue(m, ds[0]))
		require.Equal(t, ds[1].ID, h.claim(e).ID)
	})

	t.Run("what has been due for longest comes first, and what is not due does not come", func(t *testing.T) {
		h := newHooks(t, open)
		e := h.endpoint(h.app, "job.created")
		first := h.queue(e)
		h.clk.Advance(time.Second)
		second := h.queue(e)
		c := h.claim(e)
		require.Equal(t, first.ID, c.ID)
		at := h.clk.Now().Add(time.Hour)
		c.NextAt, c.Attempts = &at, []integrations.Attempt{{At: h.clk.Now(), ResponseStatus: 500, Error: "status", DurationMs: 12, Answer: "no"}}
		_, err := h.Webhooks.Settle(ctx, e.ID, []integrations.Delivery{c.Delivery})
		require.NoError(t, err)
		require.Equal(t, second.ID, h.claim(e).ID)
		require.Nil(t, h.claim(e))
		overdue, err := h.Webhooks.Overdue(ctx, h.clk.Now(), "", 10)
		require.NoError(t, err)
		require.Empty(t, overdue)
		h.clk.Advance(2 * time.Hour)
		overdue, err = h.Webhooks.Overdue(ctx, h.clk.Now(), "", 10)
		require.NoError(t, err)
		require.Equal(t, []string{e.ID}, overdue)
		overdue, err = h.Webhooks.Overdue(ctx, h.clk.Now(), e.ID, 10)
		require.NoError(t, err)
		require.Empty(t, overdue)
		got := h.claims(e, 5)
		require.Len(t, got, 2)
		for _, g := range got {
			if g.ID == first.ID {
				require.Equal(t, c.Attempts, g.Attempts)
			}
		}
		h.queue(e)
		require.Nil(t, h.claim(h.endpoint(h.app, "job.created")), "of another endpoint")
	})

	t.Run("what failed is replayed, with all its attempts before it", func(t *testing.T) {
		h := newHooks(t, open)
		e := h.endpoint(h.app, "job.created")
		var ds []integrations.Delivery
		for range 4 {
			ds = append(ds, h.queue(e))
			h.clk.Advance(time.Second)
		}
		for i, status := range []integrations.DeliveryStatus{integrations.Failed, integrations.Failed, integrations.Succeeded} {
			c := h.claim(e)
			require.Equal(t, ds[i].ID, c.ID)
			require.True(t, h.settle(c, status))
		}
		running := h.claim(e)
		require.Equal(t, 2, h.log(e, integrations.Failed).Total)
		require.Equal(t, 4, h.log(e, "").Total)
		_, err := h.Webhooks.Replay(ctx, h.user(), e.ID, ds[0].ID, h.clk.Now())
		require.ErrorIs(t, err, integrations.ErrDeliveryNotFound)
		n, err := h.Webhooks.ReplayFailed(ctx, h.user(), e.ID, time.Time{}, h.clk.Now(), 10)
		require.NoError(t, err)
		require.Zero(t, n)
		n, err = h.Webhooks.ReplayFailed(ctx, e.OwnerID, e.ID, ds[1].CreatedAt, h.clk.Now(), 10)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		again, err := h.Webhooks.Replay(ctx, e.OwnerID, e.ID, ds[2].ID, h.clk.Now())
		require.NoError(t, err)
		require.Equal(t, integrations.Pending, again.Status)
		require.Equal(t, ds[2].EventID, again.EventID)
		require.Equal(t, 1, again.Attempt)
		require.Zero(t, again.Tries)
		busy, err := h.Webhooks.Replay(ctx, e.OwnerID, e.ID, ds[3].ID, h.clk.Now())
		require.NoError(t, err)
		require.True(t, busy.NextAt.After(h.clk.Now()), "it is being attempted")
		require.True(t, h.settle(running, integrations.Succeeded))
		require.Equal(t, 2, h.log(e, integrations.Pending).Total)
		require.NoError(t, h.Webhooks.Abandon(ctx, e.ID, h.clk.Now()))
		require.Zero(t, h.log(e, integrations.Pending).Total)
		n, err = h.Webhooks.ReplayFailed(ctx, e.OwnerID, e.ID, time.Time{}, h.clk.Now(), 2)
		require.NoError(t, err)
		require.Equal(t, 2, n, "at most as many as asked for")
	})

	t.Run("messages are forgotten when they are old, and with whom they are about", func(t *testing.T) {
		h := newHooks(t, open)
		e := h.endpoint(h.app, "job.created")
		for range 3 {
			h.queue(e)
		}
		h.clk.Advance(time.Hour)
		h.queue(e)
		n, err := h.Webhooks.Forget(ctx, h.clk.Now(), 2)
		require.NoError(t, err)
		require.Equal(t, 2, n)
		n, err = h.Webhooks.Forget(ctx, h.clk.Now(), 2)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, 1, h.log(e, "").Total)
		somebody, now := h.user(), h.clk.Now()
		for i, applicant := range []string{somebody, h.user(), ""} {
			m := integrations.Message{EventID: stores.NewID(), Type: "application.submitted", Body: strconv.Itoa(i), OrganizationID: stores.NewID(), ApplicantID: applicant, CreatedAt: now}
			h.enqueue(m, integrations.Delivery{ID: stores.NewID(), EndpointID: e.ID, OwnerID: e.OwnerID, EventID: m.EventID, Type: m.Type, Status: integrations.Pending, NextAt: &now, CreatedAt: now})
		}
		require.NoError(t, h.Webhooks.ForgetApplicant(ctx, somebody))
		require.Equal(t, 3, h.log(e, "").Total)
	})
}
