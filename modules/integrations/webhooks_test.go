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

// webhookEnv is testEnv with a receiver of webhooks: respond is called instead of an HTTP
// request. For this purpose webhookEnv also implements the ports integrations.Sender,
// integrations.Postings, auth.Vault and mail.Mailer.
type webhookEnv struct {
	*testEnv
	mu         sync.Mutex                                    // guards sent, and is locked while respond runs
	respond    func(p integrations.Post) integrations.Answer // the receiver
	sent       []integrations.Post                           // the requests to the receiver, the oldest first
	mails      []string                                      // the subjects of the mails to owners of webhooks
	visibility map[string]integrations.Visibility            // the job applications that accounts may see, by user id
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

// receiverURL is the URL of the webhooks that createWebhook creates.
const receiverURL = "https://receiver.example/"

// createWebhook creates an application of the user with a webhook for the events.
func (e *webhookEnv) createWebhook(t *testing.T, by auth.Actor, events ...string) integrations.WebhookPath {
	t.Helper()

	app := e.createApp(t, by)
	input := integrations.WebhookInput{URL: receiverURL, Events: events}
	endpoint, _, err := e.CreateWebhook(t.Context(), by, app.ID, input) // and its secret
	require.NoError(t, err)

	return integrations.WebhookPath{AppID: app.ID, ID: endpoint.ID}
}

// deliveries returns the deliveries to the webhook, the newest first.
func (e *webhookEnv) deliveries(t *testing.T, by auth.Actor, hook integrations.WebhookPath) []integrations.Delivery {
	t.Helper()

	const anyStatus = ""
	listed, err := e.MyDeliveries(t.Context(), by, hook, anyStatus, page.Request{Number: 1, Size: 50})
	require.NoError(t, err)

	return listed.Items
}

// TestDeliver_Fails_RetriedForThreeDaysWithSameBody checks a delivery whose attempts all fail.
// It is attempted ten times, each time with the same id and body. The owner is warned once, by
// mail, after a day of failures. After the last attempt the owner can replay the delivery.
func TestDeliver_Fails_RetriedForThreeDaysWithSameBody(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		me := env.developer(t)
		hook := env.createWebhook(t, me, "job.closed")
		env.respond = respondWith(500)
		env.publishClosed(t)

		const maxAttempts = 10
		begun := env.clock.Now()

		// The first attempt has failed. Each iteration makes the next one.
		for failures := 1; failures < maxAttempts; failures++ {
			pending := env.deliveries(t, me, hook)[0]
			require.Equal(t, integrations.Pending, pending.Status)
			require.Len(t, pending.Attempts, failures)

			untilNext := pending.NextAt.Sub(env.clock.Now())
			env.clock.Advance(untilNext)
			env.work.All(t)
		}

		failed := env.deliveries(t, me, hook)[0]
		require.Equal(t, integrations.Failed, failed.Status)
		require.Nil(t, failed.NextAt)
		require.Len(t, failed.Attempts, maxAttempts)

		// The nine delays between the ten attempts are 5 s, 5 min, 30 min and 2, 5, 10, 14, 20
		// and 24 h. Each has a jitter of up to a fifth.
		const (
			scheduledHours = 5./3600 + 5./60 + 30./60 + 2 + 5 + 10 + 14 + 20 + 24
			maxJitter      = scheduledHours / 5
		)

		require.InDelta(t, scheduledHours, env.clock.Now().Sub(begun).Hours(), maxJitter)

		// All attempts have the same id and body. Each is signed anew, with its own time.
		timestamps := map[string]bool{}
		for _, sent := range env.sent {
			require.Equal(t, env.sent[0].Body, sent.Body)
			require.Equal(t, failed.EventID, sent.Headers["webhook-id"])

			timestamps[sent.Headers["webhook-timestamp"]] = true
		}

		require.Len(t, timestamps, maxAttempts)

		require.Equal(t, []string{"A webhook of Ward Finder is not being delivered"}, env.mails, "the owner gets one warning")

		// The receiver works again, and the owner replays what has failed in the last days.
		env.respond = respondWith(204)
		replayed, err := env.ReplayFailed(t.Context(), me, hook, begun.Add(-time.Hour))
		require.NoError(t, err)
		require.Equal(t, 1, replayed)
		env.work.All(t)
		require.Equal(t, integrations.Succeeded, env.deliveries(t, me, hook)[0].Status)
		require.Equal(t, env.sent[0].Body, env.sent[len(env.sent)-1].Body)
	})
}

// TestDeliver_FailsForFiveDays_DisablesEndpoint checks that an endpoint without a successful
// attempt for five days is disabled. Its pending deliveries become failed ones, and new events
// are not sent to it. The owner gets a mail after a day, and another when it is disabled.
func TestDeliver_FailsForFiveDays_DisablesEndpoint(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		me := env.developer(t)
		hook := env.createWebhook(t, me, "job.closed")
		env.respond = respondWith(503)
		almostFiveDaysLater := env.clock.Now().Add(5*24*time.Hour - time.Minute)
		status := func() integrations.EndpointStatus {
			endpoint, err := env.MyWebhook(t.Context(), me, hook)
			require.NoError(t, err)

			return endpoint.Status
		}

		// Nearly every day, another event cannot be sent.
		for env.clock.Now().Before(almostFiveDaysLater) {
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

		// Later events are not sent.
		sentBefore := len(env.sent)
		env.publishClosed(t)
		require.Len(t, env.sent, sentBefore, "a disabled endpoint gets no new events")
	})
}

// TestFanOut_Application_OnlyAuthorizedReceive checks who receives an event about a job
// application. The webhook of another user receives the event only if a user who may see the
// job application, here the applicant, has consented to the webhook's application with the scope
// applications:read.
func TestFanOut_Application_OnlyAuthorizedReceive(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		owner, applicant, stranger := env.developer(t), env.developer(t), env.developer(t)
		env.visibility[applicant.UserID] = integrations.Visibility{ApplicantID: applicant.UserID}
		hook := env.createWebhook(t, owner, "application.submitted")

		// submit records a new job application, and returns the number of requests that were sent so far.
		submit := func() int {
			env.recordSubmitted(t, stores.NewID(), applicant.UserID)
			return len(env.sent)
		}

		consent := func(by auth.Actor, scope integrations.Scope) {
			t.Helper()
			require.NoError(t, env.Consent(t.Context(), by, hook.AppID, []integrations.Scope{scope}))
		}

		require.Zero(t, submit(), "the owner of the webhook may not see the application")

		consent(applicant, integrations.JobsRead)
		require.Zero(t, submit(), "the applicant has consented to another scope only")

		consent(stranger, integrations.ApplicationsRead)
		require.Zero(t, submit(), "the other user, who has consented, may not see the application")

		consent(applicant, integrations.ApplicationsRead)
		require.Equal(t, 1, submit(), "the applicant has consented")
	})
}

// recordSubmitted records an event about a job application to the organization, and handles it.
func (e *webhookEnv) recordSubmitted(t *testing.T, organizationID, applicantID string) {
	t.Helper()
	e.recordEvent(t, event.ApplicationSubmitted{
		ApplicationID:  stores.NewID(),
		JobID:          stores.NewID(),
		OrganizationID: organizationID,
		CandidateID:    applicantID,
		SubmittedAt:    e.clock.Now(),
	})
}

// TestDeliver_ConsentWithdrawn_NextAttemptIsNotMade checks that the consent is checked again before each
// attempt. After the applicant has withdrawn it, the delivery has failed, and the owner of the webhook does
// not see its body any more.
func TestDeliver_ConsentWithdrawn_NextAttemptIsNotMade(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		owner, applicant := env.developer(t), env.developer(t)
		env.visibility[applicant.UserID] = integrations.Visibility{ApplicantID: applicant.UserID}
		hook := env.createWebhook(t, owner, "application.submitted")
		require.NoError(t, env.Consent(t.Context(), applicant, hook.AppID, []integrations.Scope{integrations.ApplicationsRead}))

		// shownBody returns the body of the newest delivery, as it is shown to the owner.
		shownBody := func() string {
			newest := env.deliveries(t, owner, hook)[0]
			delivery, err := env.MyDelivery(t.Context(), owner, hook, newest.ID)
			require.NoError(t, err)

			return delivery.Body
		}

		// The first attempt fails, so that another one is pending.
		env.respond = respondWith(500)
		env.recordSubmitted(t, stores.NewID(), applicant.UserID)
		require.Len(t, env.sent, 1)
		require.Contains(t, shownBody(), applicant.UserID)

		// The applicant withdraws the consent before the next attempt.
		require.NoError(t, env.WithdrawConsent(t.Context(), applicant, hook.AppID))
		env.clock.Advance(time.Hour)
		env.work.All(t)
		require.Len(t, env.sent, 1)
		require.Empty(t, shownBody())
		require.Equal(t, integrations.Failed, env.deliveries(t, owner, hook)[0].Status)
	})
}

// TestFanOut_Listing_IsThatOfEvent checks that the body of a webhook contains the listing that
// the event contains. Events omit a listing that is too large for them; the body then contains
// null instead of the listing.
func TestFanOut_Listing_IsThatOfEvent(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		env.createWebhook(t, env.developer(t), "job.closed")

		listing := json.RawMessage(`{"title":"Nurse"}`)
		env.recordEvent(t, event.JobClosed{JobID: stores.NewID(), OrganizationID: stores.NewID(), Listing: listing})
		require.Contains(t, env.sent[0].Body, `"title":"Nurse"`)

		env.publishClosed(t) // an event without a listing
		require.Contains(t, env.sent[1].Body, `"job":null`)
	})
}

// TestFanOut_BodyTooLong_OmitsListing checks that a body has at most 20,480 bytes. If the
// listing does not fit, the body contains the id of the job and null instead of the listing.
func TestFanOut_BodyTooLong_OmitsListing(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		env.createWebhook(t, env.developer(t), "job.closed")

		const maxBody = 20_480

		// body returns the body that is sent for a listing with the description.
		body := func(description string) string {
			listing, err := json.Marshal(integrations.JobView{Title: "Nurse", Description: description})
			require.NoError(t, err)
			env.recordEvent(t, event.JobClosed{JobID: stores.NewID(), OrganizationID: stores.NewID(), Listing: listing})

			return env.sent[len(env.sent)-1].Body
		}

		require.Contains(t, body(strings.Repeat("x", 19_000)), `"title":"Nurse"`, "it fits with the other fields")

		// Characters count in their escaped form: < is \u003c in JSON, so that 4,000 of them
		// are 24,000 bytes.
		for _, long := range []string{strings.Repeat("x", maxBody), strings.Repeat("<", 4_000)} {
			shortened := body(long)
			require.Contains(t, shortened, `"job":null`)
			require.LessOrEqual(t, len(shortened), maxBody)
		}
	})
}

// TestDeliver_URLChangedDuringAttempt_ResultIgnored changes the URL of an endpoint during an
// attempt. The old URL responds with 410 Gone, which otherwise disables an endpoint. The test
// checks that the endpoint with the new URL remains active.
func TestDeliver_URLChangedDuringAttempt_ResultIgnored(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		me := env.developer(t)
		hook := env.createWebhook(t, me, "job.closed")
		newURL := "https://other.example/"
		env.respond = func(integrations.Post) integrations.Answer {
			_, err := env.ChangeWebhook(t.Context(), me, hook, integrations.WebhookChange{URL: &newURL})
			if err != nil {
				return integrations.Answer{Error: err.Error()}
			}

			return integrations.Answer{Status: 410, Error: "status"}
		}

		env.publishClosed(t)

		endpoint, err := env.MyWebhook(t.Context(), me, hook)
		require.NoError(t, err)
		require.Equal(t, newURL, endpoint.URL)
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

		// The test event above is the first request of this minute. The loop makes all others
		// but one, with replays of a webhook that does not exist: they count, too.
		var unknownWebhook integrations.WebhookPath
		for range integrations.SendsAMinute - 2 {
			_, err := env.ReplayDelivery(t.Context(), me, unknownWebhook, delivery.ID)
			require.Equal(t, fault.NotFound, fault.KindOf(err))
		}

		require.NoError(t, replayFailed(), "the last request that is allowed")

		for _, send := range []func() error{sendTest, replayOne, replayFailed} {
			err := send()
			require.ErrorIs(t, err, fault.ErrRateLimit)
			require.Equal(t, time.Minute, fault.Of(err).RetryAfter)
		}

		require.Len(t, env.deliveries(t, me, hook), 1, "refused requests add no delivery")

		_, err = env.TestWebhook(t.Context(), other, hookOfOther, integrations.TestInput{})
		require.NoError(t, err, "each account has its own limit")

		// A minute later, all of them are accepted.
		env.clock.Advance(time.Minute)

		for _, send := range []func() error{sendTest, replayOne, replayFailed} {
			require.NoError(t, send())
		}
	})
}
