package conformance

import (
	"context"
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
	require.NoError(h.t, h.Identity.Users.Create(context.Background(), &u))
	return u.ID
}

func (h *hooks) application(ownerID string) integrations.App {
	now := h.clk.Now()
	a := integrations.App{ID: stores.NewID(), OwnerID: ownerID, Name: "App", Plan: integrations.Free, RedirectURIs: []string{}, CreatedAt: now, UpdatedAt: now, Version: 1}
	require.NoError(h.t, h.Integrations.Apps.Add(context.Background(), a))
	return a
}

func (h *hooks) endpoint(a integrations.App, events ...string) integrations.Endpoint {
	now := h.clk.Now()
	e := integrations.Endpoint{ID: stores.NewID(), AppID: a.ID, OwnerID: a.OwnerID, URL: "https://x.example/\"1\"", Events: events, Status: integrations.EndpointActive, Secret: "hidden", CreatedAt: now, UpdatedAt: now, Version: 1}
	require.NoError(h.t, h.Integrations.Webhooks.Add(context.Background(), e))
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
	alone, err := h.Integrations.Webhooks.Queue(context.Background(), []integrations.Message{m}, ds, now, now.Add(-time.Minute))
	require.NoError(h.t, err)
	return alone
}

// first is what has been due for longest, nil if nothing is due.
func (h *hooks) first(e integrations.Endpoint) *integrations.Outgoing {
	h.t.Helper()
	if out := h.due(e, nil, 1); len(out) > 0 {
		return &out[0]
	}
	return nil
}

func (h *hooks) due(e integrations.Endpoint, after *integrations.Delivery, n int) []integrations.Outgoing {
	h.t.Helper()
	out, err := h.Integrations.Webhooks.Due(context.Background(), e.ID, h.clk.Now(), after, n)
	require.NoError(h.t, err)
	return out
}

// settle ends a delivery, and reports whether that was still to be done.
func (h *hooks) settle(o *integrations.Outgoing, status integrations.DeliveryStatus) bool {
	h.t.Helper()
	d := o.Delivery
	d.Attempt, d.Tries, d.Status, d.NextAt = d.Attempt+1, d.Tries+1, status, nil
	if now := h.clk.Now(); status == integrations.Failed {
		d.FailedAt = &now
	}
	settled, err := h.Integrations.Webhooks.Settle(context.Background(), d.EndpointID, []integrations.Delivery{d})
	require.NoError(h.t, err)
	return len(settled) == 1 && settled[0] == d.ID
}

// later has a delivery come again at the moment.
func (h *hooks) later(o integrations.Outgoing, at time.Time) {
	h.t.Helper()
	o.Attempt, o.NextAt = o.Attempt+1, &at
	settled, err := h.Integrations.Webhooks.Settle(context.Background(), o.EndpointID, []integrations.Delivery{o.Delivery})
	require.NoError(h.t, err)
	require.Len(h.t, settled, 1)
}

// lease has somebody look after an endpoint.
func (h *hooks) lease(e integrations.Endpoint, holder string, until time.Time) {
	h.t.Helper()
	require.NoError(h.t, h.Integrations.Webhooks.Lease(context.Background(), e.ID, holder, until))
}

func (h *hooks) log(e integrations.Endpoint, status integrations.DeliveryStatus) page.Result[integrations.Delivery] {
	h.t.Helper()
	r, err := h.Integrations.Webhooks.Log(context.Background(), e.OwnerID, e.ID, status, page.Request{Number: 1, Size: 50})
	require.NoError(h.t, err)
	return r
}

// Webhooks is the suite of endpoints and of what is sent to them.
func Webhooks(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	endpoints(t, open)
	endpointLeases(t, open)
	deliveries(t, open)
	deliveryLog(t, open)
}
