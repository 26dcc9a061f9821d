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

// TestSign_EqualsStandardWebhooks checks the signatures with the reference library of Standard
// Webhooks: those of both secrets during a rotation, but not changed bodies, old timestamps and
// expired secrets. An error does not contain the secret.
func TestSign_EqualsStandardWebhooks(t *testing.T) {
	t.Parallel()

	now := time.Now()
	const body = `{"type":"job.created","data":{"id":"ä"}}`
	current := newWebhookSecret()
	previous := newWebhookSecret()
	unknown := newWebhookSecret()

	require.NotEqual(t, current, previous)
	require.Regexp(t, `^whsec_[A-Za-z0-9+/]{43}=$`, current)

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

	// Standard Webhooks tolerates five minutes.
	require.Error(t, verify(current, body, headers(onlyCurrent, now.Add(-400*time.Second))), "the timestamp is old")
	require.Error(t, verify(previous, body, headers(rotating, previousUntil)), "the previous secret has expired")

	_, err := service.signature(Endpoint{Secret: "whsec_?"}, outgoing, now)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "?")
}

// TestRetryDelay_FollowsScheduleAndRetryAfter checks the delays of Standard Webhooks with a
// jitter of a fifth. Retry-After can extend a delay up to a day, but not shorten it.
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
	require.Equal(t, time.Hour, delay)

	delay, _ = retryDelay(1, 48*time.Hour)
	require.Equal(t, 24*time.Hour, delay)

	delay, _ = retryDelay(4, time.Second)
	require.Greater(t, delay, time.Hour, "the retry is not earlier than scheduled")
}

// TestAttempts_NewestKept_ResponsesTruncated checks that a delivery keeps 20 attempts with at
// most 1,024 bytes of each response, of which characters that databases cannot store are
// removed.
func TestAttempts_NewestKept_ResponsesTruncated(t *testing.T) {
	t.Parallel()

	var d Delivery
	for i := range 30 {
		d.addAttempt(Attempt{ResponseStatus: i, Answer: strings.Repeat("ä", 600) + "\x00"})
	}

	require.Len(t, d.Attempts, 20)
	require.Equal(t, 29, d.Attempts[19].ResponseStatus)
	require.Equal(t, strings.Repeat("ä", 512), d.Attempts[0].Answer)
	d.addAttempt(Attempt{Answer: "x\x00\xff"})
	require.Equal(t, "x", d.Attempts[19].Answer)
}
