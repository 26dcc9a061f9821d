package integrations_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// webhookEnv is testEnv with a receiver of webhooks. It also implements integrations.Sender and
// Postings, auth.Vault and mail.Mailer.
type webhookEnv struct {
	*testEnv
	mu         sync.Mutex                                    // guards sent, and is locked while respond runs
	respond    func(p integrations.Post) integrations.Answer // the receiver
	sent       []integrations.Post                           // the requests to the receiver
	mails      []string                                      // the subjects of sent messages
	visibility map[string]integrations.Visibility            // the job applications that accounts may see, by user
}

// Post implements integrations.Sender. It holds the lock while the receiver responds.
func (e *webhookEnv) Post(_ context.Context, m integrations.Post) integrations.Answer {
	e.mu.Lock()
	defer e.mu.Unlock()

	e.sent = append(e.sent, m)

	return e.respond(m)
}

// Send implements mail.Mailer.
func (e *webhookEnv) Send(_ context.Context, m mail.Message) error {
	e.mails = append(e.mails, m.Subject)
	return nil
}

// Encrypt implements auth.Vault. The ciphertext is the owner followed by the secret.
func (e *webhookEnv) Encrypt(secret, owner string) (string, error) { return owner + secret, nil }

// Decrypt implements auth.Vault.
func (e *webhookEnv) Decrypt(ciphertext, owner string) (string, error) {
	return ciphertext[len(owner):], nil
}

// View implements integrations.Postings.
func (e *webhookEnv) View(_ context.Context, listing json.RawMessage) (v integrations.JobView, err error) {
	return v, json.Unmarshal(listing, &v)
}

// Visibility implements integrations.Accounts.
func (e *webhookEnv) Visibility(_ context.Context, userID string) (integrations.Visibility, error) {
	return e.visibility[userID], nil
}

// withWebhooks runs the test on SQLite and on Postgres, with a receiver that responds with 200.
func withWebhooks(t *testing.T, test func(t *testing.T, env *webhookEnv)) {
	t.Parallel()
	stores.Each(t, func(t *testing.T, open func(testing.TB, clock.Clock) adapters.Storage) {
		env := &webhookEnv{
			testEnv:    &testEnv{clock: kit.NewClock(), inactive: map[string]bool{}},
			visibility: map[string]integrations.Visibility{},
			respond:    respondWith(200),
		}
		env.store = open(t, env.clock)
		deps := env.deps()
		deps.Accounts = env
		deps.Sender = env
		deps.Vault = env
		deps.Postings = env
		deps.Mailer = env
		deps.PublicURL = "https://jobs.example.org"
		env.Service = integrations.New(deps)
		subscriptions := []event.Subscription{
			event.OnEnvelope("publish-closed", env.PublishJobClosed),
			event.OnEnvelope("publish-submitted", env.PublishSubmitted),
			event.On("integrations.sign-out", env.OnPasswordChanged),
			event.On("integrations.sign-out-programs", env.OnProgramsSignedOut),
		}
		env.work = kit.NewWork(t, env.store, env.clock, subscriptions, env.Handlers()...)
		test(t, env)
	})
}

// respondWith returns a receiver that responds with the status.
func respondWith(status int) func(integrations.Post) integrations.Answer {
	return func(integrations.Post) integrations.Answer { return integrations.Answer{Status: status} }
}

// createWebhook creates an application of the user with a webhook for the events.
func (e *webhookEnv) createWebhook(t *testing.T, by auth.Actor, events ...string) integrations.WebhookPath {
	t.Helper()

	a, _, err := e.CreateApp(t.Context(), by, integrations.AppInput{Name: "Ward Finder"})
	require.NoError(t, err)

	endpoint, _, err := e.CreateWebhook(
		t.Context(),
		by,
		a.ID,
		integrations.WebhookInput{URL: "https://receiver.example/", Events: events},
	)
	require.NoError(t, err)

	return integrations.WebhookPath{AppID: a.ID, ID: endpoint.ID}
}

// deliveries returns the deliveries to the webhook, the newest first.
func (e *webhookEnv) deliveries(t *testing.T, by auth.Actor, hook integrations.WebhookPath) []integrations.Delivery {
	t.Helper()

	r, err := e.MyDeliveries(t.Context(), by, hook, "", page.Request{Number: 1, Size: 50})
	require.NoError(t, err)

	return r.Items
}

// TestDeliver_Fails_RetriedForThreeDaysWithSameBody checks that a failing delivery is attempted
// ten times with the same id and body, of which the owner is warned after a day, and that it
// can be replayed afterwards.
func TestDeliver_Fails_RetriedForThreeDaysWithSameBody(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		me := env.developer(t)
		hook := env.createWebhook(t, me, "job.closed")
		env.respond = respondWith(500)
		env.publishClosed(t)

		begun := env.clock.Now()
		for attempt := 1; attempt < 10; attempt++ {
			d := env.deliveries(t, me, hook)[0]
			require.Equal(t, integrations.Pending, d.Status)
			require.Len(t, d.Attempts, attempt)
			env.clock.Advance(d.NextAt.Sub(env.clock.Now()))
			env.work.All(t)
		}

		d := env.deliveries(t, me, hook)[0]
		require.Equal(t, integrations.Failed, d.Status)
		require.Nil(t, d.NextAt)
		require.Len(t, d.Attempts, 10)

		// The nine delays between the ten attempts add up to 75.6 hours, with a jitter of a fifth.
		require.InDelta(t, 75.6, env.clock.Now().Sub(begun).Hours(), 15.2)

		for i, sent := range env.sent {
			require.Equal(t, env.sent[0].Body, sent.Body)
			require.Equal(t, d.EventID, sent.Headers["webhook-id"])

			if i > 0 { // each attempt is signed anew
				require.NotEqual(t, env.sent[0].Headers["webhook-timestamp"], sent.Headers["webhook-timestamp"])
			}
		}

		require.Equal(t, []string{"A webhook of Ward Finder is not being delivered"}, env.mails, "once, after a day")

		env.respond = respondWith(204)
		n, err := env.ReplayFailed(t.Context(), me, hook, begun.Add(-time.Hour))
		require.NoError(t, err)
		require.Equal(t, 1, n)
		env.work.All(t)
		require.Equal(t, integrations.Succeeded, env.deliveries(t, me, hook)[0].Status)
		require.Equal(t, env.sent[0].Body, env.sent[len(env.sent)-1].Body)
	})
}

// TestDeliver_FailsForFiveDays_DisablesEndpoint checks that an endpoint without a success for
// five days is disabled: its pending deliveries fail, and new events are not sent to it.
func TestDeliver_FailsForFiveDays_DisablesEndpoint(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		me := env.developer(t)
		hook := env.createWebhook(t, me, "job.closed")
		env.respond = respondWith(503)
		until := env.clock.Now().Add(5*24*time.Hour - time.Minute)
		status := func() integrations.EndpointStatus {
			e, err := env.MyWebhook(t.Context(), me, hook)
			require.NoError(t, err)
			return e.Status
		}

		for env.clock.Now().Before(until) {
			env.publishClosed(t)
			require.Equal(t, integrations.EndpointActive, status())
			env.clock.Advance(23 * time.Hour)
		}

		env.work.All(t)

		// The first failure after the limit disables the endpoint.
		env.publishClosed(t)
		require.Equal(t, integrations.EndpointDisabled, status())
		require.Equal(
			t,
			[]string{"A webhook of Ward Finder is not being delivered", "A webhook of Ward Finder was disabled"},
			env.mails,
		)

		for _, delivery := range env.deliveries(t, me, hook) {
			require.NotEqual(t, integrations.Pending, delivery.Status)
		}

		sent := len(env.sent)
		env.publishClosed(t)
		require.Len(t, env.sent, sent)
	})
}

// TestFanOut_Application_OnlyAuthorizedReceive checks that an event about a job application is
// sent only with the consent of a user who may see it, with the scope applications:read, and
// that the permission is checked again before each attempt.
func TestFanOut_Application_OnlyAuthorizedReceive(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		owner := env.developer(t)
		applicant := env.developer(t)
		stranger := env.developer(t)
		organization := stores.NewID()
		env.visibility[applicant.UserID] = integrations.Visibility{ApplicantID: applicant.UserID}
		hook := env.createWebhook(t, owner, "application.submitted")
		submit := func() {
			env.recordEvent(
				t,
				event.ApplicationSubmitted{
					ApplicationID:  stores.NewID(),
					JobID:          stores.NewID(),
					OrganizationID: organization,
					CandidateID:    applicant.UserID,
					SubmittedAt:    env.clock.Now(),
				},
			)
		}

		submit()
		require.Empty(t, env.sent, "the owner of the webhook may not see the application")
		require.NoError(t, env.Consent(t.Context(), applicant, hook.AppID, []integrations.Scope{integrations.JobsRead}))
		submit()
		require.Empty(t, env.sent, "another scope")
		require.NoError(t, env.Consent(t.Context(), stranger, hook.AppID, []integrations.Scope{integrations.ApplicationsRead}))
		submit()
		require.Empty(t, env.sent, "another user's consent")
		require.NoError(t, env.Consent(t.Context(), applicant, hook.AppID, []integrations.Scope{integrations.ApplicationsRead}))

		env.respond = respondWith(500)

		submit()
		require.Len(t, env.sent, 1)

		shownBody := func() string {
			newest := env.deliveries(t, owner, hook)[0]
			delivery, err := env.MyDelivery(t.Context(), owner, hook, newest.ID)
			require.NoError(t, err)

			return delivery.Body
		}

		require.Contains(t, shownBody(), applicant.UserID)
		require.NoError(t, env.WithdrawConsent(t.Context(), applicant, hook.AppID))
		env.clock.Advance(time.Hour)
		env.work.All(t)
		require.Len(t, env.sent, 1, "consent was withdrawn before the next attempt")
		require.Empty(t, shownBody(), "the body of an unsent delivery is not shown without consent")
		require.Equal(t, integrations.Failed, env.deliveries(t, owner, hook)[0].Status)
	})
}

// TestFanOut_Listing_IsThatOfEvent checks that a webhook contains the listing as it was at the
// time of the event, or null if it was too large for the event.
func TestFanOut_Listing_IsThatOfEvent(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		env.createWebhook(t, env.developer(t), "job.closed")
		env.recordEvent(
			t,
			event.JobClosed{JobID: stores.NewID(), OrganizationID: stores.NewID(), Listing: json.RawMessage(`{"title":"Nurse"}`)},
		)
		require.Contains(t, env.sent[0].Body, `"title":"Nurse"`)
		env.publishClosed(t)
		require.Contains(t, env.sent[1].Body, `"job":null`, "it was too large for the event")
	})
}

// TestFanOut_BodyTooLong_OmitsListing checks that a body has at most 20,480 bytes. A listing
// that does not fit is sent with its id only.
func TestFanOut_BodyTooLong_OmitsListing(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		env.createWebhook(t, env.developer(t), "job.closed")

		// body returns the body that is sent for a listing with the description.
		body := func(description string) string {
			listing, err := json.Marshal(integrations.JobView{Title: "Nurse", Description: description})
			require.NoError(t, err)
			env.recordEvent(t, event.JobClosed{JobID: stores.NewID(), OrganizationID: stores.NewID(), Listing: listing})

			return env.sent[len(env.sent)-1].Body
		}

		require.Contains(t, body(strings.Repeat("x", 19_000)), `"title":"Nurse"`)

		// Characters count in their escaped form: < is \u003c in JSON.
		for _, long := range []string{strings.Repeat("x", 20_480), strings.Repeat("<", 4_000)} {
			shortened := body(long)
			require.Contains(t, shortened, `"job":null`)
			require.Less(t, len(shortened), 20_480)
		}
	})
}

// TestDeliver_URLChangedDuringAttempt_ResultIgnored checks that the response 410 Gone of the
// old URL does not disable an endpoint whose URL was changed meanwhile.
func TestDeliver_URLChangedDuringAttempt_ResultIgnored(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		me := env.developer(t)
		hook := env.createWebhook(t, me, "job.closed")
		next := "https://other.example/"
		env.respond = func(integrations.Post) integrations.Answer {
			_, err := env.ChangeWebhook(context.Background(), me, hook, integrations.WebhookChange{URL: &next})
			if err != nil {
				return integrations.Answer{Error: err.Error()}
			}

			return integrations.Answer{Status: 410, Error: "status"}
		}

		env.publishClosed(t)

		endpoint, err := env.MyWebhook(t.Context(), me, hook)
		require.NoError(t, err)
		require.Equal(t, next, endpoint.URL)
		require.Equal(t, integrations.EndpointActive, endpoint.Status)
		require.Nil(t, endpoint.FailingSince)
		require.Equal(t, integrations.Pending, env.deliveries(t, me, hook)[0].Status, "the delivery goes to the new URL")
	})
}

// TestReplay_TooMany_RateLimited checks that test events and replays of an account share one
// limit, because each sends requests to a server that the account has chosen.
func TestReplay_TooMany_RateLimited(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		me, other := env.developer(t), env.developer(t)
		hook := env.createWebhook(t, me, "job.closed")
		hookOfOther := env.createWebhook(t, other, "job.closed")
		delivery, err := env.TestWebhook(t.Context(), me, hook, integrations.TestInput{})
		require.NoError(t, err)

		sendTest := func() error {
			_, err := env.TestWebhook(t.Context(), me, hook, integrations.TestInput{})
			return err
		}

		replayOne := func() error {
			_, err := env.ReplayDelivery(t.Context(), me, hook, delivery.ID)
			return err
		}

		replayFailed := func() error {
			_, err := env.ReplayFailed(t.Context(), me, hook, env.clock.Now())
			return err
		}

		// The test event above is the first request, replayFailed the last that is allowed.
		for range integrations.SendsAMinute - 2 {
			_, err := env.ReplayDelivery(t.Context(), me, integrations.WebhookPath{}, delivery.ID)
			require.Equal(t, fault.NotFound, fault.KindOf(err), "refused requests count, too")
		}

		require.NoError(t, replayFailed())

		for _, send := range []func() error{sendTest, replayOne, replayFailed} {
			err := send()
			require.ErrorIs(t, err, fault.ErrRateLimit)
			require.Equal(t, time.Minute, fault.Of(err).RetryAfter)
		}

		require.Len(t, env.deliveries(t, me, hook), 1)

		_, err = env.TestWebhook(t.Context(), other, hookOfOther, integrations.TestInput{})
		require.NoError(t, err, "each account has its own limit")
		env.clock.Advance(time.Minute)

		for _, send := range []func() error{sendTest, replayOne, replayFailed} {
			require.NoError(t, send())
		}
	})
}
