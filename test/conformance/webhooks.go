package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

// An endpoint is the URL of a receiver, to which an application has its webhooks sent. A message is the webhook
// of one event. A delivery is the sending of a message to one endpoint: it is pending until an attempt succeeds
// or the last attempt fails.

// endpoint stores an active endpoint of the application, which subscribes to the events.
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

// change applies fn to the stored endpoint in a transaction.
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

// queue stores a new message with a delivery to the endpoint, which is due now.
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

	due := f.due(endpoint, 1)
	if len(due) == 0 {
		return nil
	}

	return &due[0]
}

// due returns the deliveries that are due, at most n.
func (f *integrationsFixture) due(endpoint integrations.Endpoint, n int) []integrations.Outgoing {
	f.t.Helper()
	return f.messages(endpoint, integrations.MessageFilter{DueBy: f.clk.Now()}, n)
}

// messages returns at most n deliveries that the filter selects, with their messages.
func (f *integrationsFixture) messages(
	endpoint integrations.Endpoint, filter integrations.MessageFilter, n int,
) []integrations.Outgoing {
	f.t.Helper()

	found, err := f.Deliveries.ListMessages(f.ctx(), integrations.AnyOwner, endpoint.ID, filter, n)
	require.NoError(f.t, err)

	return found
}

// record stores the final result of an attempt, and reports whether it was stored. The storage ignores a result
// if another one of the same attempt is stored.
func (f *integrationsFixture) record(outgoing *integrations.Outgoing, status integrations.DeliveryStatus) bool {
	f.t.Helper()

	delivery := outgoing.Delivery
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

// retry stores that an attempt of the delivery has failed, and that the next one is due at the time.
func (f *integrationsFixture) retry(outgoing integrations.Outgoing, at time.Time) {
	f.t.Helper()

	delivery := outgoing.Delivery
	delivery.Attempt++
	delivery.NextAt = &at
	changed, err := f.Deliveries.RecordResults(f.ctx(), delivery.EndpointID, []integrations.Delivery{delivery})
	require.NoError(f.t, err)
	require.Len(f.t, changed, 1)
}

// replay makes at most n of the selected deliveries pending again, and returns their number.
func (f *integrationsFixture) replay(
	ownerID string, endpoint integrations.Endpoint, filter integrations.ReplayFilter, n int,
) int {
	f.t.Helper()

	replayed, err := f.Deliveries.Replay(f.ctx(), ownerID, endpoint.ID, filter, f.clk.Now(), n)
	require.NoError(f.t, err)

	return replayed
}

// log returns the deliveries to the endpoint that have the status, or all of them if the status is empty.
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

	// An update of every field. The storage increments the version.
	later := fixture.clk.Now().Add(time.Hour)
	updated := endpoint
	updated.Status = integrations.EndpointPaused
	updated.Secret = "new"
	updated.PreviousSecret = "hidden"
	updated.PreviousUntil = &later
	updated.FailingSince = &later
	updated.WarnedAt = &later
	updated.Events = []string{"job.updated"}
	updated.ListeningUntil = &later
	updated.URL = "https://y.example/"
	updated.UpdatedAt = later
	require.NoError(t, fixture.Webhooks.Upsert(fixture.ctx(), updated))

	updated.Version++

	stored, err := fixture.Webhooks.Get(fixture.ctx(), endpoint.OwnerID, endpoint.ID)
	require.NoError(t, err)
	require.Equal(t, updated, stored)
	require.Error(t, fixture.Webhooks.Upsert(fixture.ctx(), endpoint), "an earlier version")
}

// otherOwner checks that an endpoint can be neither read, changed nor deleted with the id of
// another owner or application.
func (suite webhookSuite) otherOwner(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.endpoint(fixture.app, "job.created")
	foreignApp := fixture.createApp(newID())
	ownOtherApp := fixture.createApp(fixture.app.OwnerID)

	for _, ownerID := range []string{foreignApp.OwnerID, ""} {
		_, err := fixture.Webhooks.Get(fixture.ctx(), ownerID, endpoint.ID)
		require.ErrorIs(t, err, integrations.ErrWebhookNotFound)

		const cursor, limit = "", 10
		found, err := fixture.Webhooks.List(fixture.ctx(), ownerID, integrations.EndpointFilter{AppID: endpoint.AppID},
			cursor, limit)
		require.NoError(t, err)
		require.Empty(t, found)
	}

	// A deletion needs both the owner and the application of the endpoint.
	for _, app := range []integrations.App{
		foreignApp,
		{OwnerID: foreignApp.OwnerID, ID: endpoint.AppID},
		ownOtherApp,
	} {
		require.ErrorIs(t, fixture.Webhooks.Delete(fixture.ctx(), app.OwnerID, app.ID, endpoint.ID),
			integrations.ErrWebhookNotFound)
	}

	foreign := endpoint
	foreign.OwnerID = foreignApp.OwnerID
	require.Error(t, fixture.Webhooks.Upsert(fixture.ctx(), foreign))
}

// delete checks that the deletion of an endpoint also deletes its deliveries, and that the
// deletion of an application deletes its endpoints.
func (suite webhookSuite) delete(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.endpoint(fixture.app, "job.created")
	second := fixture.endpoint(fixture.app, "job.created")
	require.Equal(t, []string{endpoint.ID, second.ID},
		fixture.endpoints(integrations.EndpointFilter{AppID: endpoint.AppID}, "", 10))

	fixture.queue(endpoint)
	require.NoError(t, fixture.Webhooks.Delete(fixture.ctx(), endpoint.OwnerID, endpoint.AppID, endpoint.ID))

	_, err := fixture.Webhooks.Get(fixture.ctx(), integrations.AnyOwner, endpoint.ID)
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

// listener checks that a listener, the temporary endpoint of a command that a developer runs, is
// deleted when its time has passed without an extension.
func (suite webhookSuite) listener(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	usual := fixture.endpoint(fixture.app, "job.created")
	listener := fixture.endpoint(fixture.app, "job.created")

	until := fixture.clk.Now().Add(time.Minute)
	fixture.change(listener, func(endpoint *integrations.Endpoint) { endpoint.ListeningUntil = &until })

	extended := until.Add(time.Minute)
	fixture.change(listener, func(endpoint *integrations.Endpoint) { endpoint.ListeningUntil = &extended })

	fixture.deleteBefore(integrations.ListenersKind, extended, 10, 0)
	fixture.deleteBefore(integrations.ListenersKind, extended.Add(time.Microsecond), 10, 1)
	require.Equal(t, []string{usual.ID}, fixture.endpoints(integrations.EndpointFilter{AppID: fixture.app.ID}, "", 10))
}

// subscribedEndpoints checks that the active endpoints for an event are found in pages, and
// that a change of events or status is effective at once.
func (suite webhookSuite) subscribedEndpoints(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	first := fixture.endpoint(fixture.app, "job.created", "job.closed")
	second := fixture.endpoint(fixture.app, "job.created")
	third := fixture.endpoint(fixture.createApp(newID()), "job.created")

	// Pages of two.
	created := integrations.EndpointFilter{Event: "job.created"}
	require.Equal(t, []string{first.ID, second.ID}, fixture.endpoints(created, "", 2))
	require.Equal(t, []string{third.ID}, fixture.endpoints(created, second.ID, 2))
	require.Equal(t, []string{first.ID}, fixture.endpoints(integrations.EndpointFilter{Event: "job.closed"}, "", 2))

	// A paused endpoint and one that has ended its subscription are not found.
	fixture.change(second, func(endpoint *integrations.Endpoint) { endpoint.Status = integrations.EndpointPaused })
	fixture.change(first, func(endpoint *integrations.Endpoint) { endpoint.Events = []string{"job.closed"} })
	require.Equal(t, []string{third.ID}, fixture.endpoints(created, "", 10))

	// The first endpoint subscribes again.
	fixture.change(first,
		func(endpoint *integrations.Endpoint) { endpoint.Events = []string{"job.closed", "job.created"} })
	require.Equal(t, []string{first.ID, third.ID}, fixture.endpoints(created, "", 10))
}

// endpointsWithOverdueDeliveries checks that active endpoints with deliveries that have been
// due for a while are found. Listeners are not, because their commands fetch the deliveries themselves.
func (suite webhookSuite) endpointsWithOverdueDeliveries(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	overdue := fixture.endpoint(fixture.app, "job.created")
	dueNow := fixture.endpoint(fixture.app, "job.created")
	paused := fixture.endpoint(fixture.app, "job.created")
	listener := fixture.endpoint(fixture.app, "job.created")

	for _, endpoint := range []integrations.Endpoint{overdue, paused, listener} {
		fixture.queue(endpoint)
	}

	fixture.clk.Advance(time.Minute)
	fixture.queue(dueNow)

	until := fixture.clk.Now().Add(time.Hour)
	fixture.change(listener, func(endpoint *integrations.Endpoint) { endpoint.ListeningUntil = &until })
	fixture.change(paused, func(endpoint *integrations.Endpoint) { endpoint.Status = integrations.EndpointPaused })

	filter := integrations.EndpointFilter{DueBefore: fixture.clk.Now()}
	require.Equal(t, []string{overdue.ID}, fixture.endpoints(filter, "", 10))
	require.Empty(t, fixture.endpoints(filter, overdue.ID, 10), "on the next page")
}

// endpointsOfUsers checks which endpoints get an event about users: those of the users' own
// applications, and those of applications to which one of the users has consented. The event is
// about 504 users, because an event can be about all members of a large organization.
func (suite webhookSuite) endpointsOfUsers(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	const eventType = "application.submitted"
	applicant := newID()
	colleague := newID()
	stranger := newID()

	users := []string{newID(), colleague, newID(), applicant}
	for range 500 {
		users = append(users, newID())
	}

	// Applications of two of the users. An endpoint for another event does not get it.
	byApplicant := fixture.endpoint(fixture.createApp(applicant), eventType)
	byColleague := fixture.endpoint(fixture.createApp(colleague), eventType)
	fixture.endpoint(fixture.createApp(applicant), "job.created")

	// Applications of a stranger: one with the consent of one of the users, and one without.
	allowed, foreign := fixture.createApp(stranger), fixture.createApp(stranger)
	byConsent := fixture.endpoint(allowed, eventType)
	fixture.endpoint(foreign, eventType)
	fixture.createConsent(users[400], allowed.ID, integrations.ApplicationsRead)
	fixture.createConsent(stranger, foreign.ID, integrations.ApplicationsRead)

	want := []string{byApplicant.ID, byColleague.ID, byConsent.ID}
	filter := integrations.EndpointFilter{Event: eventType, UserIDs: users}
	require.Equal(t, want, fixture.endpoints(filter, "", 10))
	require.Equal(t, want[2:], fixture.endpoints(filter, want[1], 10))
	require.Equal(t, want[:1], fixture.endpoints(filter, "", 1))
}
