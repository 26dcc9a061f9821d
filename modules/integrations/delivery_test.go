package integrations

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
)

// plainVault stores secrets as they are.
type plainVault struct{}

func (plainVault) Encrypt(secret, _ string) (string, error)     { return secret, nil }
func (plainVault) Decrypt(ciphertext, _ string) (string, error) { return ciphertext, nil }

// TestSign_EqualsStandardWebhooks checks that the reference library of Standard Webhooks
// accepts our signatures. During a rotation it accepts them with the current and with the
// previous secret. It refuses a changed body, an old timestamp, and a previous secret that has
// expired. An error of ours does not contain the secret.
func TestSign_EqualsStandardWebhooks(t *testing.T) {
	t.Parallel()

	now := time.Now()
	const body = `{"type":"job.created","data":{"id":"ä"}}`
	current := newWebhookSecret()
	previous := newWebhookSecret()
	unknown := newWebhookSecret()

	require.NotEqual(t, current, previous)
	require.Regexp(t, `^whsec_[A-Za-z0-9+/]{43}=$`, current, "32 bytes in base64")

	service := &Service{Deps: Deps{Vault: plainVault{}}}
	previousUntil := now.Add(time.Second)
	outgoing := Outgoing{Delivery: Delivery{EventID: "0193-e"}, Message: Message{Body: body}}
	onlyCurrent := Endpoint{Secret: current}
	rotating := Endpoint{Secret: current, PreviousSecret: previous, PreviousUntil: &previousUntil}

	// headers returns the headers of a request that is signed at the time.
	headers := func(endpoint Endpoint, at time.Time) http.Header {
		signature, err := service.signature(endpoint, outgoing, at)
		require.NoError(t, err)

		return http.Header{
			"Webhook-Id":        {"0193-e"},
			"Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)},
			"Webhook-Signature": {signature},
		}
	}

	verify := func(secret, body string, h http.Header) error {
		verifier, err := standardwebhooks.NewWebhook(secret)
		require.NoError(t, err)
		return verifier.Verify([]byte(body), h)
	}
	require.NoError(t, verify(current, body, headers(onlyCurrent, now)))

	duringRotation := headers(rotating, now)
	require.NoError(t, verify(current, body, duringRotation))
	require.NoError(t, verify(previous, body, duringRotation))
	require.Error(t, verify(unknown, body, duringRotation))
	require.Error(t, verify(current, body+" ", headers(onlyCurrent, now)), "the body was changed")

	// Standard Webhooks tolerates timestamps of up to five minutes ago.
	tooOld := now.Add(-6 * time.Minute)
	require.Error(t, verify(current, body, headers(onlyCurrent, tooOld)), "the timestamp is old")
	require.Error(t, verify(previous, body, headers(rotating, previousUntil)), "the previous secret has expired")

	_, err := service.signature(Endpoint{Secret: "whsec_?"}, outgoing, now)
	require.Error(t, err, "the secret is not base64")
	require.NotContains(t, err.Error(), "?")
}

// TestRetryDelay_FollowsScheduleAndRetryAfter checks the delays between attempts: those that
// Standard Webhooks recommends, with a random jitter of up to a fifth. The header Retry-After
// of a response can extend a delay up to a day, but not shorten it.
func TestRetryDelay_FollowsScheduleAndRetryAfter(t *testing.T) {
	t.Parallel()

	const noRetryAfter = 0
	for i, scheduled := range []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
		10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	} {
		failedAttempts := i + 1

		delays := map[time.Duration]bool{}
		for range 50 {
			delay, more := retryDelay(failedAttempts, noRetryAfter)
			require.True(t, more)

			// A millisecond more than a fifth, for the rounding of floating-point numbers.
			require.InDelta(t, scheduled.Seconds(), delay.Seconds(), scheduled.Seconds()/5+0.001)

			delays[delay] = true
		}

		require.Greater(t, len(delays), 10, "the jitter is random")
	}

	_, more := retryDelay(10, time.Hour)
	require.False(t, more, "the tenth attempt is the last")

	delay, _ := retryDelay(1, time.Hour)
	require.Equal(t, time.Hour, delay, "Retry-After is longer than the scheduled 5 seconds")

	delay, _ = retryDelay(1, 48*time.Hour)
	require.Equal(t, 24*time.Hour, delay, "Retry-After is longer than a day")

	delay, _ = retryDelay(4, time.Second)
	require.Greater(t, delay, time.Hour, "Retry-After is shorter than the scheduled 2 hours")
}

// TestAttempts_NewestKept_ResponsesTruncated checks that a delivery keeps its 20 newest
// attempts, with at most 1,024 bytes of each response. Characters that databases cannot store,
// as the zero byte and invalid UTF-8, are removed from the response.
func TestAttempts_NewestKept_ResponsesTruncated(t *testing.T) {
	t.Parallel()

	const attempts, kept, maxAnswer = 30, 20, 1_024
	const letter = "ä" // two bytes
	var delivery Delivery

	for i := range attempts {
		numbered := i // the status serves as the number of the attempt
		delivery.addAttempt(Attempt{ResponseStatus: numbered, Answer: strings.Repeat(letter, 600) + "\x00"})
	}

	require.Len(t, delivery.Attempts, kept)
	require.Equal(t, attempts-1, delivery.Attempts[kept-1].ResponseStatus, "the newest attempt is the last")
	require.Equal(t, strings.Repeat(letter, maxAnswer/len(letter)), delivery.Attempts[0].Answer)

	delivery.addAttempt(Attempt{Answer: "x\x00\xff"})
	require.Equal(t, "x", delivery.Attempts[kept-1].Answer)
}
