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

	app, _, err := e.CreateApp(t.Context(), e.developer(t), integrations.AppInput{Name: "Ward Finder"})
	require.NoError(t, err)

	endpoint, secret, err := e.Listen(t.Context(), app, integrations.ListenInput{URL: forwardTo})
	require.NoError(t, err)
	require.Regexp(t, `^whsec_`, secret)

	return app, endpoint
}

// TestListener_Deliveries_AreForwardedByItOnly checks that the service sends nothing to a local
// address, and that a listener forwards to the address that it was started with, even if the
// URL of its endpoint is changed.
func TestListener_Deliveries_AreForwardedByItOnly(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		app, endpoint := env.startListener(t)
		env.publishClosed(t)
		env.work.All(t)
		require.Empty(t, env.sent, "the service does not send deliveries of a listener")

		changedURL := "https://elsewhere.example/"
		_, err := env.ChangeWebhook(t.Context(), auth.Actor{UserID: app.OwnerID},
			integrations.WebhookPath{AppID: app.ID, ID: endpoint.ID},
			integrations.WebhookChange{URL: &changedURL})
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

		env.respond = respondWith(410)
		for range 3 {
			env.publishClosed(t)

			ctx, end := context.WithCancel(t.Context())
			require.NoError(t, env.Forward(ctx, endpoint, func(integrations.Forwarded) { end() }))
			env.work.All(t)
			env.clock.Advance(3 * 24 * time.Hour)
		}

		all, err := env.MyWebhooks(t.Context(), auth.Actor{UserID: app.OwnerID}, app.ID)
		require.NoError(t, err)
		require.Equal(t, integrations.EndpointActive, all[0].Status)
		require.Empty(t, env.mails)
	})
}

// longInactive is a time after which a listener without a heartbeat has expired.
const longInactive = 2 * time.Minute

// TestListener_Expired_IsDeleted checks that the endpoint of a killed listener is deleted when
// it has expired, a minute after the last heartbeat: by the periodic task, or by the next
// listener of the application.
func TestListener_Expired_IsDeleted(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		app, endpoint := env.startListener(t)
		countEndpoints := func() int {
			all, err := env.MyWebhooks(t.Context(), auth.Actor{UserID: app.OwnerID}, app.ID)
			require.NoError(t, err)
			return len(all)
		}

		deleteExpired := func() {
			for _, periodic := range env.Periodic() {
				if periodic.Kind == "integrations.end-listeners" {
					require.NoError(t, periodic.Do(t.Context()))
				}
			}
		}

		deleteExpired()
		require.Equal(t, 1, countEndpoints())
		env.clock.Advance(longInactive)
		deleteExpired()
		require.Zero(t, countEndpoints())
		require.NoError(t, env.EndListening(t.Context(), endpoint), "the endpoint is already deleted")

		_, _, err := env.Listen(t.Context(), app, integrations.ListenInput{URL: forwardTo})
		require.NoError(t, err)
		env.clock.Advance(longInactive)

		_, secret, err := env.Listen(t.Context(), app, integrations.ListenInput{URL: forwardTo})
		require.NoError(t, err)
		require.NotEmpty(t, secret)
		require.Equal(t, 1, countEndpoints(), "the next listener replaces the expired one")
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
		require.NoError(t, env.DeleteWebhook(t.Context(), auth.Actor{UserID: app.OwnerID}, hook))

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
