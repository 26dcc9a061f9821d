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
func (f *integrationsFixture) endpoint(app integrations.App, events ...string) integrations.Endpoint {
	f.t.Helper()

	now := f.clk.Now()
	endpoint := integrations.Endpoint{
		ID:        newID(),
		AppID:     app.ID,
		OwnerID:   app.OwnerID,
		URL:       "https://x.example/\"1\"",
		Events:    events,
		Status:    integrations.EndpointActive,
		Secret:    "hidden",
		CreatedAt: now,
		UpdatedAt: now,
	}
	require.NoError(f.t, f.Webhooks.Upsert(f.ctx(), endpoint))

	endpoint.Version = 1

	return endpoint
}

// change changes an endpoint in a transaction.
func (f *integrationsFixture) change(endpoint integrations.Endpoint, fn func(endpoint *integrations.Endpoint)) {
	f.t.Helper()
	require.NoError(f.t, f.Tx.Do(f.ctx(), func(ctx context.Context) error {
		stored, err := f.Webhooks.Get(ctx, endpoint.OwnerID, endpoint.ID)
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
	for _, endpoint := range found {
		ids = append(ids, endpoint.ID)
	}

	return ids
}

// delivery returns a pending delivery of a message that is not stored.
func (f *integrationsFixture) delivery(endpoint integrations.Endpoint, eventID string) integrations.Delivery {
	now := f.clk.Now()

	return integrations.Delivery{
		ID:         newID(),
		EndpointID: endpoint.ID,
		OwnerID:    endpoint.OwnerID,
		EventID:    eventID,
		Type:       "job.created",
		Status:     integrations.Pending,
		NextAt:     &now,
		CreatedAt:  now,
		Attempts:   []integrations.Attempt{},
	}
}

// queue stores a message with a delivery.
func (f *integrationsFixture) queue(endpoint integrations.Endpoint) integrations.Delivery {
	f.t.Helper()

	delivery := f.delivery(endpoint, newID())
	message := integrations.Message{
		EventID:   delivery.EventID,
		Type:      delivery.Type,
		Body:      `{"b":"ä"}`,
		CreatedAt: f.clk.Now(),
	}
	f.enqueue(message, delivery)

	return delivery
}

// enqueue stores a message with deliveries.
func (f *integrationsFixture) enqueue(message integrations.Message, deliveries ...integrations.Delivery) {
	f.t.Helper()
	require.NoError(f.t, f.Deliveries.Enqueue(f.ctx(), []integrations.Message{message}, deliveries))
}

// first returns the delivery that has been due for longest, or nil if none is due.
func (f *integrationsFixture) first(endpoint integrations.Endpoint) *integrations.Outgoing {
	f.t.Helper()

	if out := f.due(endpoint, 1); len(out) > 0 {
		return &out[0]
	}

	return nil
}

// due returns the deliveries that are due, at most n.
func (f *integrationsFixture) due(endpoint integrations.Endpoint, n int) []integrations.Outgoing {
	f.t.Helper()
	return f.messages(endpoint, integrations.MessageFilter{DueBy: f.clk.Now()}, n)
}

// messages returns the deliveries that the filter selects, with their messages.
func (f *integrationsFixture) messages(
	endpoint integrations.Endpoint, filter integrations.MessageFilter, n int,
) []integrations.Outgoing {
	f.t.Helper()

	out, err := f.Deliveries.ListMessages(f.ctx(), integrations.AnyOwner, endpoint.ID, filter, n)
	require.NoError(f.t, err)

	return out
}

// record stores a final result, and reports whether it was stored.
func (f *integrationsFixture) record(o *integrations.Outgoing, status integrations.DeliveryStatus) bool {
	f.t.Helper()

	delivery := o.Delivery
	delivery.Attempt++
	delivery.Tries++
	delivery.Status = status

	delivery.NextAt = nil
	if status == integrations.Failed {
		now := f.clk.Now()
		delivery.FailedAt = &now
	}

	changed, err := f.Deliveries.RecordResults(f.ctx(), delivery.EndpointID, []integrations.Delivery{delivery})
	require.NoError(f.t, err)

	return len(changed) == 1 && changed[0] == delivery.ID
}

// retry stores that the delivery will be attempted again at the time.
func (f *integrationsFixture) retry(o integrations.Outgoing, at time.Time) {
	f.t.Helper()
	o.Attempt++
	o.NextAt = &at
	changed, err := f.Deliveries.RecordResults(f.ctx(), o.EndpointID, []integrations.Delivery{o.Delivery})
	require.NoError(f.t, err)
	require.Len(f.t, changed, 1)
}

// replay makes the selected deliveries pending again and returns their number.
func (f *integrationsFixture) replay(
	ownerID string, endpoint integrations.Endpoint, filter integrations.ReplayFilter, n int,
) int {
	f.t.Helper()

	replayed, err := f.Deliveries.Replay(f.ctx(), ownerID, endpoint.ID, filter, f.clk.Now(), n)
	require.NoError(f.t, err)

	return replayed
}

// log returns the deliveries to the endpoint with the status, all if it is empty.
func (f *integrationsFixture) log(
	endpoint integrations.Endpoint, status integrations.DeliveryStatus,
) page.Result[integrations.Delivery] {
	f.t.Helper()

	result, err := f.Deliveries.List(f.ctx(), endpoint.OwnerID, endpoint.ID, status, page.Request{Number: 1, Size: 50})
	require.NoError(f.t, err)

	return result
}

// Webhooks checks the port integrations.Webhooks.
func Webhooks(t *testing.T, open IntegrationsOpener) {
	suite := webhookSuite{open}
	t.Run("upsert and get", suite.upsertAndGet)
	t.Run("other owner", suite.otherOwner)
	t.Run("delete", suite.delete)
	t.Run("concurrent changes", suite.concurrentChanges)
	t.Run("listener", suite.listener)
	t.Run("subscribed endpoints", suite.subscribedEndpoints)
	t.Run("endpoints with overdue deliveries", suite.endpointsWithOverdueDeliveries)
	t.Run("endpoints of users", suite.endpointsOfUsers)
}

// webhookSuite has the subtests of Webhooks.
type webhookSuite struct {
	open IntegrationsOpener
}

// upsertAndGet checks that all fields are stored, and that an outdated version is an error.
func (suite webhookSuite) upsertAndGet(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)

	endpoint := fixture.endpoint(fixture.app, "job.created", "job.closed")
	for _, ownerID := range []string{endpoint.OwnerID, integrations.AnyOwner} {
		got, err := fixture.Webhooks.Get(fixture.ctx(), ownerID, endpoint.ID)
		require.NoError(t, err)
		require.Equal(t, endpoint, got)
	}

	until := fixture.clk.Now().Add(time.Hour)
	got := endpoint
	got.Status = integrations.EndpointPaused
	got.Secret = "new"
	got.PreviousSecret = "hidden"
	got.PreviousUntil = &until
	got.FailingSince = &until
	got.WarnedAt = &until
	got.Events = []string{"job.updated"}
	got.ListeningUntil = &until
	got.URL = "https://y.example/"
	got.UpdatedAt = until
	require.NoError(t, fixture.Webhooks.Upsert(fixture.ctx(), got))
	got.Version++
	stored, err := fixture.Webhooks.Get(fixture.ctx(), endpoint.OwnerID, endpoint.ID)
	require.NoError(t, err)
	require.Equal(t, got, stored)
	require.Error(t, fixture.Webhooks.Upsert(fixture.ctx(), endpoint), "an earlier version")
}

// otherOwner checks that an endpoint can be neither read, changed nor deleted with the id of
// another owner or application.
func (suite webhookSuite) otherOwner(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.endpoint(fixture.app, "job.created")

	otherApp, mine := fixture.createApp(newID()), fixture.createApp(fixture.app.OwnerID)
	for _, ownerID := range []string{otherApp.OwnerID, ""} {
		_, err := fixture.Webhooks.Get(fixture.ctx(), ownerID, endpoint.ID)
		require.ErrorIs(t, err, integrations.ErrWebhookNotFound)

		list, err := fixture.Webhooks.List(fixture.ctx(), ownerID, integrations.EndpointFilter{AppID: endpoint.AppID},
			"", 9)
		require.NoError(t, err)
		require.Empty(t, list)
	}

	for _, app := range []integrations.App{otherApp, {OwnerID: otherApp.OwnerID, ID: endpoint.AppID}, mine} {
		require.ErrorIs(t, fixture.Webhooks.Delete(fixture.ctx(), app.OwnerID, app.ID, endpoint.ID),
			integrations.ErrWebhookNotFound)
	}

	foreign := endpoint
	foreign.OwnerID = otherApp.OwnerID
	require.Error(t, fixture.Webhooks.Upsert(fixture.ctx(), foreign))
}

// delete checks that an endpoint is deleted with its deliveries, and with its application.
func (suite webhookSuite) delete(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint, second := fixture.endpoint(fixture.app, "job.created"), fixture.endpoint(fixture.app, "job.created")
	list, err := fixture.Webhooks.List(fixture.ctx(), endpoint.OwnerID,
		integrations.EndpointFilter{AppID: endpoint.AppID}, "", 9)
	require.NoError(t, err)
	require.Equal(t, []integrations.Endpoint{endpoint, second}, list)
	fixture.queue(endpoint)
	require.NoError(t, fixture.Webhooks.Delete(fixture.ctx(), endpoint.OwnerID, endpoint.AppID, endpoint.ID))

	_, err = fixture.Webhooks.Get(fixture.ctx(), integrations.AnyOwner, endpoint.ID)
	require.ErrorIs(t, err, integrations.ErrWebhookNotFound)
	require.Empty(t, fixture.log(endpoint, "").Items)
	require.NoError(t, fixture.Apps.Delete(fixture.ctx(), fixture.app.OwnerID, fixture.app.ID))

	_, err = fixture.Webhooks.Get(fixture.ctx(), integrations.AnyOwner, second.ID)
	require.ErrorIs(t, err, integrations.ErrWebhookNotFound, "deleted with its application")
}

// concurrentChanges checks that Get in a transaction locks the endpoint, so that none of ten
// concurrent changes is lost.
func (suite webhookSuite) concurrentChanges(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.endpoint(fixture.app, "job.created")
	runConcurrently(t, 10, func(int) error {
		return fixture.Tx.Do(fixture.ctx(), func(ctx context.Context) error {
			stored, err := fixture.Webhooks.Get(ctx, endpoint.OwnerID, endpoint.ID)
			if err != nil {
				return err
			}

			stored.URL += "x"

			return fixture.Webhooks.Upsert(ctx, stored)
		})
	})

	stored, err := fixture.Webhooks.Get(fixture.ctx(), endpoint.OwnerID, endpoint.ID)
	require.NoError(t, err)
	require.Equal(t, endpoint.URL+"xxxxxxxxxx", stored.URL)
}

// listener checks that the temporary endpoint of a developer's command is deleted when it has
// not been extended in time.
func (suite webhookSuite) listener(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	usual, endpoint := fixture.endpoint(fixture.app, "job.created"), fixture.endpoint(fixture.app, "job.created")
	until := fixture.clk.Now().Add(time.Minute)
	fixture.change(endpoint, func(endpoint *integrations.Endpoint) { endpoint.ListeningUntil = &until })

	later := until.Add(time.Minute)
	fixture.change(endpoint, func(endpoint *integrations.Endpoint) { endpoint.ListeningUntil = &later })
	fixture.deleteBefore(integrations.ListenersKind, later, 10, 0)
	fixture.deleteBefore(integrations.ListenersKind, later.Add(time.Microsecond), 10, 1)
	require.Equal(t, []string{usual.ID}, fixture.endpoints(integrations.EndpointFilter{AppID: fixture.app.ID}, "", 10))
}

// subscribedEndpoints checks that the active endpoints for an event are found in pages, and
// that a change of events or status is effective at once.
func (suite webhookSuite) subscribedEndpoints(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	first := fixture.endpoint(fixture.app, "job.created", "job.closed")
	second := fixture.endpoint(fixture.app, "job.created")
	third := fixture.endpoint(fixture.createApp(newID()), "job.created")
	created := integrations.EndpointFilter{Event: "job.created"}
	require.Equal(t, []string{first.ID, second.ID}, fixture.endpoints(created, "", 2))
	require.Equal(t, []string{third.ID}, fixture.endpoints(created, second.ID, 2))
	require.Equal(t, []string{first.ID}, fixture.endpoints(integrations.EndpointFilter{Event: "job.closed"}, "", 2))
	fixture.change(second, func(endpoint *integrations.Endpoint) { endpoint.Status = integrations.EndpointPaused })
	fixture.change(first, func(endpoint *integrations.Endpoint) { endpoint.Events = []string{"job.closed"} })
	require.Equal(t, []string{third.ID}, fixture.endpoints(created, "", 9))
	fixture.change(first,
		func(endpoint *integrations.Endpoint) { endpoint.Events = []string{"job.closed", "job.created"} })
	require.Equal(t, []string{first.ID, third.ID}, fixture.endpoints(created, "", 9))
}

// endpointsWithOverdueDeliveries checks that active endpoints with deliveries that have been
// due for a while are found. Listeners fetch their deliveries themselves.
func (suite webhookSuite) endpointsWithOverdueDeliveries(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	overdue := fixture.endpoint(fixture.app, "job.created")
	later := fixture.endpoint(fixture.app, "job.created")
	paused := fixture.endpoint(fixture.app, "job.created")

	listener := fixture.endpoint(fixture.app, "job.created")
	for _, endpoint := range []integrations.Endpoint{overdue, paused, listener} {
		fixture.queue(endpoint)
	}

	fixture.clk.Advance(time.Minute)
	fixture.queue(later)

	until := fixture.clk.Now().Add(time.Hour)
	fixture.change(listener, func(endpoint *integrations.Endpoint) { endpoint.ListeningUntil = &until })
	fixture.change(paused, func(endpoint *integrations.Endpoint) { endpoint.Status = integrations.EndpointPaused })
	require.Equal(t, []string{overdue.ID},
		fixture.endpoints(integrations.EndpointFilter{DueBefore: fixture.clk.Now()}, "", 10))
	require.Empty(t, fixture.endpoints(integrations.EndpointFilter{DueBefore: fixture.clk.Now()}, overdue.ID, 10))
}

// endpointsOfUsers checks that an event about users is delivered to the endpoints of their own
// applications, and of applications to which one of them has consented. The event is about 504
// users, such as the members of a large organization.
func (suite webhookSuite) endpointsOfUsers(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	const kind = "application.submitted"
	applicant := newID()
	colleague := newID()
	stranger := newID()

	users := []string{newID(), colleague, newID(), applicant}
	for range 500 {
		users = append(users, newID())
	}

	byApplicant := fixture.endpoint(fixture.createApp(applicant), kind)
	byColleague := fixture.endpoint(fixture.createApp(colleague), kind)
	fixture.endpoint(fixture.createApp(applicant), "job.created")

	allowed, foreign := fixture.createApp(stranger), fixture.createApp(stranger)
	byConsent := fixture.endpoint(allowed, kind)
	fixture.endpoint(foreign, kind)
	fixture.createConsent(users[400], allowed.ID, integrations.ApplicationsRead)
	fixture.createConsent(stranger, foreign.ID, integrations.ApplicationsRead)

	want := []string{byApplicant.ID, byColleague.ID, byConsent.ID}
	filter := integrations.EndpointFilter{Event: kind, UserIDs: users}
	require.Equal(t, want, fixture.endpoints(filter, "", 10))
	require.Equal(t, want[2:], fixture.endpoints(filter, want[1], 10))
	require.Equal(t, want[:1], fixture.endpoints(filter, "", 1))
}
