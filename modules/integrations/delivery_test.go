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
	now, body := time.Now(), `{"type":"job.created","data":{"id":"ä"}}`
	one, two, other := newWebhookSecret(), newWebhookSecret(), newWebhookSecret()
	require.NotEqual(t, one, two)
	require.Regexp(t, `^whsec_[A-Za-z0-9+/]{43}=$`, one)
	s, until := &Service{Deps: Deps{Vault: plainVault{}}}, now.Add(time.Second)
	delivery := func(body string) Outgoing {
		return Outgoing{Delivery: Delivery{EventID: "0193-e"}, Message: Message{Body: body}}
	}
	headers := func(at time.Time, secrets ...string) http.Header {
		signature, err := s.signature(
			Endpoint{Secret: secrets[0], PreviousSecret: secrets[len(secrets)-1], PreviousUntil: &until},
			delivery(body),
			at,
		)
		require.NoError(t, err)
		return http.Header{
			"Webhook-Id":        {"0193-e"},
			"Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)},
			"Webhook-Signature": {signature},
		}
	}
	verify := func(secret, body string, h http.Header) error {
		v, err := standardwebhooks.NewWebhook(secret)
		require.NoError(t, err)
		return v.Verify([]byte(body), h)
	}
	require.NoError(t, verify(one, body, headers(now, one)))
	both := headers(now, one, two)
	require.NoError(t, verify(one, body, both), "both secrets are valid")
	require.NoError(t, verify(two, body, both))
	require.Error(t, verify(other, body, both))
	require.Error(t, verify(one, body+" ", headers(now, one)), "tampered with")
	require.Error(t, verify(one, body, headers(now.Add(-400*time.Second), one)), "old")
	require.Error(t, verify(two, body, headers(until, one, two)), "the previous secret has expired")
	_, err := s.signature(Endpoint{Secret: "whsec_?"}, delivery(body), now)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "?")
}

// TestRetryDelay_FollowsScheduleAndRetryAfter checks the delays of Standard Webhooks with a
// jitter of a fifth. Retry-After can extend a delay up to a day, but not shorten it.
func TestRetryDelay_FollowsScheduleAndRetryAfter(t *testing.T) {
	t.Parallel()
	for i, wait := range []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
		10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	} {
		seen := map[time.Duration]bool{}
		for range 50 {
			got, more := retryDelay(i+1, 0)
			require.True(t, more)
			require.InDelta(t, wait.Seconds(), got.Seconds(), wait.Seconds()/5+0.001)
			seen[got] = true
		}
		require.Greater(t, len(seen), 10, "jitter")
	}
	_, more := retryDelay(10, time.Hour)
	require.False(t, more)
	got, _ := retryDelay(1, time.Hour)
	require.Equal(t, time.Hour, got)
	got, _ = retryDelay(1, 48*time.Hour)
	require.Equal(t, 24*time.Hour, got)
	got, _ = retryDelay(4, time.Second)
	require.Greater(t, got, time.Hour, "the retry is not earlier than scheduled")
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
