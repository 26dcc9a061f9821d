package integrations_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/integrations"
)

// forwardTo is the address that the listener of startListener forwards to.
const forwardTo = "http://localhost:3000/hooks"

// startListener creates an application and a listener, as the command "locum webhooks listen"
// does. A listener has an endpoint, and forwards the deliveries of this endpoint from the
// developer's machine to forwardTo while Forward runs.
func (e *webhookEnv) startListener(t *testing.T) (integrations.App, integrations.Endpoint) {
	t.Helper()

	app := e.createApp(t, e.developer(t))
	endpoint, secret, err := e.Listen(t.Context(), app, integrations.ListenInput{URL: forwardTo})
	require.NoError(t, err)
	require.Regexp(t, `^whsec_`, secret)

	return app, endpoint
}

// ownerOf returns the owner of an application.
func ownerOf(app integrations.App) auth.Actor { return auth.Actor{UserID: app.OwnerID} }

// TestListener_Deliveries_AreForwardedByItOnly checks that the service sends nothing to a local
// address, and that a listener forwards to the address that it was started with, even if the
// URL of its endpoint is changed.
func TestListener_Deliveries_AreForwardedByItOnly(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		app, endpoint := env.startListener(t)
		env.publishClosed(t)
		env.work.All(t)
		require.Empty(t, env.sent, "the service does not send deliveries of a listener")

		// The URL of the endpoint is changed.
		changedURL := "https://elsewhere.example/"
		hook := integrations.WebhookPath{AppID: app.ID, ID: endpoint.ID}
		_, err := env.ChangeWebhook(t.Context(), ownerOf(app), hook, integrations.WebhookChange{URL: &changedURL})
		require.NoError(t, err)

		// Forward calls the function for each delivery. The first call ends it.
		ctx, end := context.WithCancel(t.Context())
		var forwarded integrations.Forwarded
		err = env.Forward(ctx, endpoint, func(f integrations.Forwarded) {
			forwarded = f

			end()
		})
		require.NoError(t, err)
		require.Equal(t, "job.closed", forwarded.Type)
		require.Equal(t, 200, forwarded.Answer.Status)
		require.Len(t, env.sent, 1)
		require.Equal(t, forwardTo, env.sent[0].URL, "the changed URL has no effect")
		require.Equal(t, forwarded.EventID, env.sent[0].Headers["webhook-id"])
	})
}

// TestListener_FailsForDays_IsNotDisabled checks that a developer whose local receiver fails
// gets no warnings, and that the endpoint stays active. An endpoint that is no listener's is
// disabled by the response 410 Gone, and after five days of failures.
func TestListener_FailsForDays_IsNotDisabled(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		app, endpoint := env.startListener(t)

		// Three attempts fail, six days after the first one.
		env.respond = respondWith(410) // Gone
		for range 3 {
			env.publishClosed(t)

			ctx, end := context.WithCancel(t.Context())
			require.NoError(t, env.Forward(ctx, endpoint, func(integrations.Forwarded) { end() }))
			env.work.All(t)
			env.clock.Advance(3 * 24 * time.Hour)
		}

		endpoints, err := env.MyWebhooks(t.Context(), ownerOf(app), app.ID)
		require.NoError(t, err)
		require.Equal(t, integrations.EndpointActive, endpoints[0].Status)
		require.Empty(t, env.mails, "the owner gets no warning")
	})
}

// longInactive is a time after which a listener without a heartbeat has expired.
const longInactive = 2 * time.Minute

// countEndpoints returns the number of the application's endpoints.
func (e *webhookEnv) countEndpoints(t *testing.T, app integrations.App) int {
	t.Helper()

	endpoints, err := e.MyWebhooks(t.Context(), ownerOf(app), app.ID)
	require.NoError(t, err)

	return len(endpoints)
}

// TestListener_Expired_IsDeletedPeriodically checks that a periodic task deletes the endpoint of a killed
// listener when it has expired, a minute after the last heartbeat.
func TestListener_Expired_IsDeletedPeriodically(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		app, endpoint := env.startListener(t)
		env.runPeriodic(t, "integrations.end-listeners")
		require.Equal(t, 1, env.countEndpoints(t, app), "it has not expired")

		env.clock.Advance(longInactive)
		env.runPeriodic(t, "integrations.end-listeners")
		require.Zero(t, env.countEndpoints(t, app))
		require.NoError(t, env.EndListening(t.Context(), endpoint), "the endpoint is already deleted")
	})
}

// TestListener_Expired_IsReplacedByNext checks that the next listener of the application replaces one that
// has expired.
func TestListener_Expired_IsReplacedByNext(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		app, _ := env.startListener(t)
		env.clock.Advance(longInactive)

		_, secret, err := env.Listen(t.Context(), app, integrations.ListenInput{URL: forwardTo})
		require.NoError(t, err)
		require.NotEmpty(t, secret)
		require.Equal(t, 1, env.countEndpoints(t, app))
	})
}

// TestListener_Heartbeat_NoticesDeletedEndpoint checks that a listener continues while its
// endpoint exists, even if the listener has expired meanwhile. It ends with an error at the
// first heartbeat after the endpoint was deleted.
func TestListener_Heartbeat_NoticesDeletedEndpoint(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		app, endpoint := env.startListener(t)
		env.clock.Advance(longInactive)
		env.publishClosed(t)

		// The listener has expired, but its endpoint is not deleted yet.
		ctx, end := context.WithCancel(t.Context())
		require.NoError(t, env.Forward(ctx, endpoint, func(integrations.Forwarded) { end() }))

		hook := integrations.WebhookPath{AppID: app.ID, ID: endpoint.ID}
		require.NoError(t, env.DeleteWebhook(t.Context(), ownerOf(app), hook))

		// The listener is started again, and ends at its next heartbeat.
		ended := make(chan error, 1)
		go func() { ended <- env.Forward(t.Context(), endpoint, func(integrations.Forwarded) {}) }()

		require.Eventually(t, func() bool {
			env.clock.Advance(time.Minute) // the next heartbeat is due

			select {
			case err := <-ended:
				return fault.KindOf(err) == fault.NotFound
			default:
				return false
			}
		}, 10*time.Second, 20*time.Millisecond, "the listener does not end")
	})
}
