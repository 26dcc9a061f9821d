package conformance

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

// An endpoint is the URL of a receiver, to which an application has its webhooks sent. A message is the webhook
// of one event. A delivery is the sending of a message to one endpoint: it is pending until an attempt succeeds
// or the last attempt fails.

// createEndpoint stores an active endpoint of the application, which subscribes to the events.
func (f *integrationsFixture) createEndpoint(app integrations.App, events ...string) integrations.Endpoint {
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

// changeEndpoint applies fn to the stored endpoint in a transaction.
func (f *integrationsFixture) changeEndpoint(endpoint integrations.Endpoint, fn func(endpoint *integrations.Endpoint)) {
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

// fromStart is the empty id after which the first page of a list begins.
const fromStart = ""

// listEndpoints returns the ids of at most n endpoints that the filter selects, after the endpoint with the id after.
func (f *integrationsFixture) listEndpoints(filter integrations.EndpointFilter, after string, n int) []string {
	f.t.Helper()

	found, err := f.Webhooks.List(f.ctx(), integrations.AnyOwner, filter, after, n)
	require.NoError(f.t, err)

	ids := []string{}
	for _, endpoint := range found {
		ids = append(ids, endpoint.ID)
	}

	return ids
}

// newDelivery returns a pending delivery of the event's message, which is due now. It stores neither of them.
func (f *integrationsFixture) newDelivery(endpoint integrations.Endpoint, eventID string) integrations.Delivery {
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

// enqueueNew stores a new message with a delivery to the endpoint, which is due now.
func (f *integrationsFixture) enqueueNew(endpoint integrations.Endpoint) integrations.Delivery {
	f.t.Helper()

	delivery := f.newDelivery(endpoint, newID())
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

// firstDue returns the delivery that is due and has been for longest, or nil if none is due. It does not claim the
// delivery: a second call returns the same one.
func (f *integrationsFixture) firstDue(endpoint integrations.Endpoint) *integrations.Outgoing {
	f.t.Helper()

	due := f.listDue(endpoint, 1)
	if len(due) == 0 {
		return nil
	}

	return &due[0]
}

// listDue returns at most n deliveries that are due, those that have been due for longest first.
func (f *integrationsFixture) listDue(endpoint integrations.Endpoint, n int) []integrations.Outgoing {
	f.t.Helper()
	return f.listMessages(endpoint, integrations.MessageFilter{DueBy: f.clk.Now()}, n)
}

// listMessages returns at most n deliveries that the filter selects, with their messages.
func (f *integrationsFixture) listMessages(
	endpoint integrations.Endpoint, filter integrations.MessageFilter, n int,
) []integrations.Outgoing {
	f.t.Helper()

	found, err := f.Deliveries.ListMessages(f.ctx(), integrations.AnyOwner, endpoint.ID, filter, n)
	require.NoError(f.t, err)

	return found
}

// recordResult stores the final result of an attempt, success or failure, and reports whether it was stored. The storage
// ignores a result if another one of the same attempt is stored.
func (f *integrationsFixture) recordResult(outgoing *integrations.Outgoing, status integrations.DeliveryStatus) bool {
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

// recordRetry stores that an attempt of the delivery has failed, and that the next attempt is due at the time.
func (f *integrationsFixture) recordRetry(outgoing integrations.Outgoing, at time.Time) {
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

// anyStatus is the empty status of a delivery. It selects deliveries with any status.
const anyStatus = integrations.DeliveryStatus("")

// listLog returns the deliveries to the endpoint that have the status, the newest first.
func (f *integrationsFixture) listLog(
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

// upsertAndGet checks that all fields are stored, and that Upsert fails for an endpoint with an outdated version. Get
// returns the endpoint to its owner, and to the service, which reads endpoints of any owner.
func (suite webhookSuite) upsertAndGet(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)

	endpoint := fixture.createEndpoint(fixture.app, "job.created", "job.closed")
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

// otherOwner checks that an endpoint can be neither read, listed, changed nor deleted with the id of another owner. It
// cannot be deleted with the id of another application of its owner either.
func (suite webhookSuite) otherOwner(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.createEndpoint(fixture.app, "job.created")
	foreignApp := fixture.createApp(newID())
	ownOtherApp := fixture.createApp(fixture.app.OwnerID)

	for _, ownerID := range []string{foreignApp.OwnerID, ""} {
		_, err := fixture.Webhooks.Get(fixture.ctx(), ownerID, endpoint.ID)
		require.ErrorIs(t, err, integrations.ErrWebhookNotFound)

		const limit = 10
		found, err := fixture.Webhooks.List(fixture.ctx(), ownerID, integrations.EndpointFilter{AppID: endpoint.AppID},
			fromStart, limit)
		require.NoError(t, err)
		require.Empty(t, found)
	}

	// A deletion needs both the owner and the application of the endpoint.
	for _, app := range []integrations.App{
		foreignApp,
		{OwnerID: foreignApp.OwnerID, ID: endpoint.AppID}, // only the application is right
		ownOtherApp, // only the owner is right
	} {
		require.ErrorIs(t, fixture.Webhooks.Delete(fixture.ctx(), app.OwnerID, app.ID, endpoint.ID),
			integrations.ErrWebhookNotFound)
	}

	// The stored endpoint with another owner.
	stolen := endpoint
	stolen.OwnerID = foreignApp.OwnerID
	require.Error(t, fixture.Webhooks.Upsert(fixture.ctx(), stolen))
}

// delete checks that the deletion of an endpoint also deletes its deliveries, and not another endpoint of the
// application. The deletion of an application deletes its endpoints.
func (suite webhookSuite) delete(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.createEndpoint(fixture.app, "job.created")
	second := fixture.createEndpoint(fixture.app, "job.created")
	ofApp := integrations.EndpointFilter{AppID: fixture.app.ID}
	require.Equal(t, []string{endpoint.ID, second.ID}, fixture.listEndpoints(ofApp, fromStart, wholeList))

	// The endpoint and its delivery are deleted.
	fixture.enqueueNew(endpoint)
	require.NoError(t, fixture.Webhooks.Delete(fixture.ctx(), endpoint.OwnerID, endpoint.AppID, endpoint.ID))

	_, err := fixture.Webhooks.Get(fixture.ctx(), integrations.AnyOwner, endpoint.ID)
	require.ErrorIs(t, err, integrations.ErrWebhookNotFound)
	require.Empty(t, fixture.listLog(endpoint, anyStatus).Items)
	require.Equal(t, []string{second.ID}, fixture.listEndpoints(ofApp, fromStart, wholeList))

	// The application is deleted.
	require.NoError(t, fixture.Apps.Delete(fixture.ctx(), fixture.app.OwnerID, fixture.app.ID))

	_, err = fixture.Webhooks.Get(fixture.ctx(), integrations.AnyOwner, second.ID)
	require.ErrorIs(t, err, integrations.ErrWebhookNotFound, "deleted with its application")
}

// concurrentChanges checks that Get in a transaction locks the endpoint, so that none of ten concurrent changes is lost.
// Each change appends a letter to the URL.
func (suite webhookSuite) concurrentChanges(t *testing.T) {
	const changes = 10

	fixture := newIntegrationsFixture(t, suite.open)
	endpoint := fixture.createEndpoint(fixture.app, "job.created")
	runConcurrently(t, changes, func(int) error {
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
	require.Equal(t, endpoint.URL+strings.Repeat("x", changes), stored.URL)
}

// listener checks that a listener is deleted when its time has passed. A listener is the temporary endpoint of a command
// that a developer runs. The command extends the time as long as it runs. Other endpoints stay.
func (suite webhookSuite) listener(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	usual := fixture.createEndpoint(fixture.app, "job.created")
	listener := fixture.createEndpoint(fixture.app, "job.created")

	until := fixture.clk.Now().Add(time.Minute)
	fixture.changeEndpoint(listener, func(endpoint *integrations.Endpoint) { endpoint.ListeningUntil = &until })

	extended := until.Add(time.Minute)
	fixture.changeEndpoint(listener, func(endpoint *integrations.Endpoint) { endpoint.ListeningUntil = &extended })

	// Nothing is deleted at the extended time, and the listener a microsecond later.
	const limit = 10
	fixture.deleteBefore(integrations.ListenersKind, extended, limit, 0)
	fixture.deleteBefore(integrations.ListenersKind, extended.Add(time.Microsecond), limit, 1)
	require.Equal(t, []string{usual.ID},
		fixture.listEndpoints(integrations.EndpointFilter{AppID: fixture.app.ID}, fromStart, limit))
}

// subscribedEndpoints checks that pages contain the active endpoints that subscribe to an event. A change of the events
// or the status of an endpoint is effective at once.
func (suite webhookSuite) subscribedEndpoints(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	first := fixture.createEndpoint(fixture.app, "job.created", "job.closed")
	second := fixture.createEndpoint(fixture.app, "job.created")
	third := fixture.createEndpoint(fixture.createApp(newID()), "job.created")

	// Pages of two.
	created := integrations.EndpointFilter{Event: "job.created"}
	closed := integrations.EndpointFilter{Event: "job.closed"}

	const pageSize = 2

	require.Equal(t, []string{first.ID, second.ID}, fixture.listEndpoints(created, fromStart, pageSize))
	require.Equal(t, []string{third.ID}, fixture.listEndpoints(created, second.ID, pageSize))
	require.Equal(t, []string{first.ID}, fixture.listEndpoints(closed, fromStart, pageSize))

	// A paused endpoint and one that has ended its subscription are not found.
	fixture.changeEndpoint(second, func(endpoint *integrations.Endpoint) { endpoint.Status = integrations.EndpointPaused })
	fixture.changeEndpoint(first, func(endpoint *integrations.Endpoint) { endpoint.Events = []string{"job.closed"} })
	require.Equal(t, []string{third.ID}, fixture.listEndpoints(created, fromStart, wholeList))

	// The first endpoint subscribes again.
	fixture.changeEndpoint(first,
		func(endpoint *integrations.Endpoint) { endpoint.Events = []string{"job.closed", "job.created"} })
	require.Equal(t, []string{first.ID, third.ID}, fixture.listEndpoints(created, fromStart, wholeList))
}

// endpointsWithOverdueDeliveries checks that the filter DueBefore selects active endpoints with a delivery that was due
// before its time. It does not select listeners, because their commands fetch the deliveries themselves.
func (suite webhookSuite) endpointsWithOverdueDeliveries(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	overdue := fixture.createEndpoint(fixture.app, "job.created")
	dueNow := fixture.createEndpoint(fixture.app, "job.created")
	paused := fixture.createEndpoint(fixture.app, "job.created")
	listener := fixture.createEndpoint(fixture.app, "job.created")

	for _, endpoint := range []integrations.Endpoint{overdue, paused, listener} {
		fixture.enqueueNew(endpoint)
	}

	// A minute later, another delivery is enqueued, and two of the endpoints become a listener and a paused one.
	fixture.clk.Advance(time.Minute)
	fixture.enqueueNew(dueNow)

	until := fixture.clk.Now().Add(time.Hour)
	fixture.changeEndpoint(listener, func(endpoint *integrations.Endpoint) { endpoint.ListeningUntil = &until })
	fixture.changeEndpoint(paused, func(endpoint *integrations.Endpoint) { endpoint.Status = integrations.EndpointPaused })

	filter := integrations.EndpointFilter{DueBefore: fixture.clk.Now()}
	require.Equal(t, []string{overdue.ID}, fixture.listEndpoints(filter, fromStart, wholeList))
	require.Empty(t, fixture.listEndpoints(filter, overdue.ID, wholeList), "on the next page")
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

	users := append([]string{newID(), colleague, newID(), applicant}, newIDs(500)...)

	// Applications of two of the users. An endpoint that subscribes to another event does not get this one.
	byApplicant := fixture.createEndpoint(fixture.createApp(applicant), eventType)
	byColleague := fixture.createEndpoint(fixture.createApp(colleague), eventType)
	fixture.createEndpoint(fixture.createApp(applicant), "job.created")

	// Applications of a stranger: one with the consent of one of the users, and one with the consent of the stranger
	// only.
	allowed, foreign := fixture.createApp(stranger), fixture.createApp(stranger)
	byConsent := fixture.createEndpoint(allowed, eventType)
	fixture.createEndpoint(foreign, eventType)

	consenting := users[400] // far behind, if a storage selects the users in parts
	fixture.createConsent(consenting, allowed.ID, integrations.ApplicationsRead)
	fixture.createConsent(stranger, foreign.ID, integrations.ApplicationsRead)

	// The whole list, its end, and its beginning.
	filter := integrations.EndpointFilter{Event: eventType, UserIDs: users}
	require.Equal(t, []string{byApplicant.ID, byColleague.ID, byConsent.ID}, fixture.listEndpoints(filter, fromStart, wholeList))
	require.Equal(t, []string{byConsent.ID}, fixture.listEndpoints(filter, byColleague.ID, wholeList))
	require.Equal(t, []string{byApplicant.ID}, fixture.listEndpoints(filter, fromStart, 1))
}
