package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

// endpoint stores an endpoint of the application.
func (f *integrationsFixture) endpoint(a integrations.App, events ...string) integrations.Endpoint {
	f.t.Helper()
	now := f.clk.Now()
	e := integrations.Endpoint{ID: newID(), AppID: a.ID, OwnerID: a.OwnerID, URL: "https://x.example/\"1\"", Events: events, Status: integrations.EndpointActive, Secret: "hidden", CreatedAt: now, UpdatedAt: now}
	require.NoError(f.t, f.Webhooks.Upsert(f.ctx(), e))
	e.Version = 1
	return e
}

// change changes an endpoint in a transaction.
func (f *integrationsFixture) change(e integrations.Endpoint, fn func(e *integrations.Endpoint)) {
	f.t.Helper()
	require.NoError(f.t, f.Tx.Do(f.ctx(), func(ctx context.Context) error {
		stored, err := f.Webhooks.Get(ctx, e.OwnerID, e.ID)
		if err != nil {
			return err
		}
		fn(&stored)
		return f.Webhooks.Upsert(ctx, stored)
	}))
}

// endpoints returns the ids of the endpoints that the filter selects.
func (f *integrationsFixture) endpoints(filter integrations.EndpointFilter, after string, n int) []string {
	f.t.Helper()
	found, err := f.Webhooks.List(f.ctx(), integrations.AnyOwner, filter, after, n)
	require.NoError(f.t, err)
	ids := []string{}
	for _, e := range found {
		ids = append(ids, e.ID)
	}
	return ids
}

// delivery returns a pending delivery of a message that is not stored.
func (f *integrationsFixture) delivery(e integrations.Endpoint, eventID string) integrations.Delivery {
	now := f.clk.Now()
	return integrations.Delivery{ID: newID(), EndpointID: e.ID, OwnerID: e.OwnerID, EventID: eventID, Type: "job.created", Status: integrations.Pending, NextAt: &now, CreatedAt: now, Attempts: []integrations.Attempt{}}
}

// queue stores a message with a delivery.
func (f *integrationsFixture) queue(e integrations.Endpoint) integrations.Delivery {
	f.t.Helper()
	d := f.delivery(e, newID())
	f.enqueue(integrations.Message{EventID: d.EventID, Type: d.Type, Body: `{"b":"ä"}`, CreatedAt: f.clk.Now()}, d)
	return d
}

func (f *integrationsFixture) enqueue(m integrations.Message, ds ...integrations.Delivery) {
	f.t.Helper()
	require.NoError(f.t, f.Deliveries.Enqueue(f.ctx(), []integrations.Message{m}, ds))
}

// first returns the delivery that has been due for longest, nil without one.
func (f *integrationsFixture) first(e integrations.Endpoint) *integrations.Outgoing {
	f.t.Helper()
	if out := f.due(e, 1); len(out) > 0 {
		return &out[0]
	}
	return nil
}

func (f *integrationsFixture) due(e integrations.Endpoint, n int) []integrations.Outgoing {
	f.t.Helper()
	return f.messages(e, integrations.MessageFilter{DueBy: f.clk.Now()}, n)
}

func (f *integrationsFixture) messages(e integrations.Endpoint, filter integrations.MessageFilter, n int) []integrations.Outgoing {
	f.t.Helper()
	out, err := f.Deliveries.ListMessages(f.ctx(), integrations.AnyOwner, e.ID, filter, n)
	require.NoError(f.t, err)
	return out
}

// record stores a final result, and reports whether it was stored.
func (f *integrationsFixture) record(o *integrations.Outgoing, status integrations.DeliveryStatus) bool {
	f.t.Helper()
	d := o.Delivery
	d.Attempt, d.Tries, d.Status, d.NextAt = d.Attempt+1, d.Tries+1, status, nil
	if now := f.clk.Now(); status == integrations.Failed {
		d.FailedAt = &now
	}
	changed, err := f.Deliveries.RecordResults(f.ctx(), d.EndpointID, []integrations.Delivery{d})
	require.NoError(f.t, err)
	return len(changed) == 1 && changed[0] == d.ID
}

// retry stores that a delivery is due again at the time.
func (f *integrationsFixture) retry(o integrations.Outgoing, at time.Time) {
	f.t.Helper()
	o.Attempt, o.NextAt = o.Attempt+1, &at
	changed, err := f.Deliveries.RecordResults(f.ctx(), o.EndpointID, []integrations.Delivery{o.Delivery})
	require.NoError(f.t, err)
	require.Len(f.t, changed, 1)
}

func (f *integrationsFixture) replay(ownerID string, e integrations.Endpoint, filter integrations.ReplayFilter, n int) int {
	f.t.Helper()
	replayed, err := f.Deliveries.Replay(f.ctx(), ownerID, e.ID, filter, f.clk.Now(), n)
	require.NoError(f.t, err)
	return replayed
}

func (f *integrationsFixture) log(e integrations.Endpoint, status integrations.DeliveryStatus) page.Result[integrations.Delivery] {
	f.t.Helper()
	r, err := f.Deliveries.List(f.ctx(), e.OwnerID, e.ID, status, page.Request{Number: 1, Size: 50})
	require.NoError(f.t, err)
	return r
}

// Webhooks checks the port integrations.Webhooks.
func Webhooks(t *testing.T, open IntegrationsOpener) {
	su := webhookSuite{open}
	t.Run("upsert and get", su.upsertAndGet)
	t.Run("other owner", su.otherOwner)
	t.Run("delete", su.delete)
	t.Run("concurrent changes", su.concurrentChanges)
	t.Run("listener", su.listener)
	t.Run("subscribed endpoints", su.subscribedEndpoints)
	t.Run("endpoints with overdue deliveries", su.endpointsWithOverdueDeliveries)
	t.Run("endpoints of users", su.endpointsOfUsers)
}

// webhookSuite has the subtests of Webhooks.
type webhookSuite struct {
	open IntegrationsOpener
}

func (su webhookSuite) upsertAndGet(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	e := f.endpoint(f.app, "job.created", "job.closed")
	for _, ownerID := range []string{e.OwnerID, integrations.AnyOwner} {
		got, err := f.Webhooks.Get(f.ctx(), ownerID, e.ID)
		require.NoError(t, err)
		require.Equal(t, e, got)
	}
	until := f.clk.Now().Add(time.Hour)
	got := e
	got.Status, got.Secret, got.PreviousSecret, got.PreviousUntil, got.FailingSince, got.WarnedAt, got.Events = integrations.EndpointPaused, "new", "hidden", &until, &until, &until, []string{"job.updated"}
	got.ListeningUntil, got.URL, got.UpdatedAt = &until, "https://y.example/", until
	require.NoError(t, f.Webhooks.Upsert(f.ctx(), got))
	got.Version++
	stored, err := f.Webhooks.Get(f.ctx(), e.OwnerID, e.ID)
	require.NoError(t, err)
	require.Equal(t, got, stored)
	require.Error(t, f.Webhooks.Upsert(f.ctx(), e), "an earlier version")
}

func (su webhookSuite) otherOwner(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	e := f.endpoint(f.app, "job.created")
	other, mine := f.application(newID()), f.application(f.app.OwnerID)
	for _, ownerID := range []string{other.OwnerID, ""} {
		_, err := f.Webhooks.Get(f.ctx(), ownerID, e.ID)
		require.ErrorIs(t, err, integrations.ErrWebhookNotFound)
		list, err := f.Webhooks.List(f.ctx(), ownerID, integrations.EndpointFilter{AppID: e.AppID}, "", 9)
		require.NoError(t, err)
		require.Empty(t, list)
	}
	for _, a := range []integrations.App{other, {OwnerID: other.OwnerID, ID: e.AppID}, mine} {
		require.ErrorIs(t, f.Webhooks.Delete(f.ctx(), a.OwnerID, a.ID, e.ID), integrations.ErrWebhookNotFound)
	}
	foreign := e
	foreign.OwnerID = other.OwnerID
	require.Error(t, f.Webhooks.Upsert(f.ctx(), foreign))
}

func (su webhookSuite) delete(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	e, second := f.endpoint(f.app, "job.created"), f.endpoint(f.app, "job.created")
	list, err := f.Webhooks.List(f.ctx(), e.OwnerID, integrations.EndpointFilter{AppID: e.AppID}, "", 9)
	require.NoError(t, err)
	require.Equal(t, []integrations.Endpoint{e, second}, list)
	f.queue(e)
	require.NoError(t, f.Webhooks.Delete(f.ctx(), e.OwnerID, e.AppID, e.ID))
	_, err = f.Webhooks.Get(f.ctx(), integrations.AnyOwner, e.ID)
	require.ErrorIs(t, err, integrations.ErrWebhookNotFound)
	require.Empty(t, f.log(e, "").Items)
	require.NoError(t, f.Apps.Delete(f.ctx(), f.app.OwnerID, f.app.ID))
	_, err = f.Webhooks.Get(f.ctx(), integrations.AnyOwner, second.ID)
	require.ErrorIs(t, err, integrations.ErrWebhookNotFound, "deleted with its application")
}

func (su webhookSuite) concurrentChanges(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	e := f.endpoint(f.app, "job.created")
	together(t, 10, func(int) error {
		return f.Tx.Do(f.ctx(), func(ctx context.Context) error {
			stored, err := f.Webhooks.Get(ctx, e.OwnerID, e.ID)
			if err != nil {
				return err
			}
			stored.URL += "x"
			return f.Webhooks.Upsert(ctx, stored)
		})
	})
	stored, err := f.Webhooks.Get(f.ctx(), e.OwnerID, e.ID)
	require.NoError(t, err)
	require.Equal(t, e.URL+"xxxxxxxxxx", stored.URL)
}

func (su webhookSuite) listener(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	usual, e := f.endpoint(f.app, "job.created"), f.endpoint(f.app, "job.created")
	until := f.clk.Now().Add(time.Minute)
	f.change(e, func(e *integrations.Endpoint) { e.ListeningUntil = &until })
	later := until.Add(time.Minute)
	f.change(e, func(e *integrations.Endpoint) { e.ListeningUntil = &later })
	f.deleteBefore(integrations.ListenersKind, later, 10, 0)
	f.deleteBefore(integrations.ListenersKind, later.Add(time.Microsecond), 10, 1)
	require.Equal(t, []string{usual.ID}, f.endpoints(integrations.EndpointFilter{AppID: f.app.ID}, "", 10))
}

func (su webhookSuite) subscribedEndpoints(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	one, two, three := f.endpoint(f.app, "job.created", "job.closed"), f.endpoint(f.app, "job.created"), f.endpoint(f.application(newID()), "job.created")
	created := integrations.EndpointFilter{Event: "job.created"}
	require.Equal(t, []string{one.ID, two.ID}, f.endpoints(created, "", 2))
	require.Equal(t, []string{three.ID}, f.endpoints(created, two.ID, 2))
	require.Equal(t, []string{one.ID}, f.endpoints(integrations.EndpointFilter{Event: "job.closed"}, "", 2))
	f.change(two, func(e *integrations.Endpoint) { e.Status = integrations.EndpointPaused })
	f.change(one, func(e *integrations.Endpoint) { e.Events = []string{"job.closed"} })
	require.Equal(t, []string{three.ID}, f.endpoints(created, "", 9))
	f.change(one, func(e *integrations.Endpoint) { e.Events = []string{"job.closed", "job.created"} })
	require.Equal(t, []string{one.ID, three.ID}, f.endpoints(created, "", 9))
}

func (su webhookSuite) endpointsWithOverdueDeliveries(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	overdue, later, paused, listener := f.endpoint(f.app, "job.created"), f.endpoint(f.app, "job.created"), f.endpoint(f.app, "job.created"), f.endpoint(f.app, "job.created")
	for _, e := range []integrations.Endpoint{overdue, paused, listener} {
		f.queue(e)
	}
	f.clk.Advance(time.Minute)
	f.queue(later)
	until := f.clk.Now().Add(time.Hour)
	f.change(listener, func(e *integrations.Endpoint) { e.ListeningUntil = &until })
	f.change(paused, func(e *integrations.Endpoint) { e.Status = integrations.EndpointPaused })
	require.Equal(t, []string{overdue.ID}, f.endpoints(integrations.EndpointFilter{DueBefore: f.clk.Now()}, "", 10))
	require.Empty(t, f.endpoints(integrations.EndpointFilter{DueBefore: f.clk.Now()}, overdue.ID, 10))
}

func (su webhookSuite) endpointsOfUsers(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	const kind = "application.submitted"
	applicant, colleague, stranger := newID(), newID(), newID()
	users := []string{newID(), colleague, newID(), applicant}
	for range 500 {
		users = append(users, newID())
	}
	byApplicant, byColleague := f.endpoint(f.application(applicant), kind), f.endpoint(f.application(colleague), kind)
	f.endpoint(f.application(applicant), "job.created")
	allowed, foreign := f.application(stranger), f.application(stranger)
	byConsent := f.endpoint(allowed, kind)
	f.endpoint(foreign, kind)
	f.consent(users[400], allowed.ID, integrations.ApplicationsRead)
	f.consent(stranger, foreign.ID, integrations.ApplicationsRead)
	want, filter := []string{byApplicant.ID, byColleague.ID, byConsent.ID}, integrations.EndpointFilter{Event: kind, UserIDs: users}
	require.Equal(t, want, f.endpoints(filter, "", 10))
	require.Equal(t, want[2:], f.endpoints(filter, want[1], 10))
	require.Equal(t, want[:1], f.endpoints(filter, "", 1))
}
