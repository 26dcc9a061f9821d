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

// TestNewWebhookSecret_IsRandom checks the format of secrets, and that each call returns another one.
func TestNewWebhookSecret_IsRandom(t *testing.T) {
	t.Parallel()

	first, second := newWebhookSecret(), newWebhookSecret()
	require.NotEqual(t, first, second)
	require.Regexp(t, `^whsec_[A-Za-z0-9+/]{43}=$`, first, "32 bytes in base64")
}

// signedBody is the body of the message that the tests of signatures sign.
const signedBody = `{"type":"job.created","data":{"id":"ä"}}`

// signer signs the message with plainVault.
var signer = &Service{Deps: Deps{Vault: plainVault{}}}

// signedHeaders returns the headers of a request with signedBody to the endpoint, signed at the time.
func signedHeaders(t *testing.T, endpoint Endpoint, at time.Time) http.Header {
	t.Helper()

	const eventID = "0193-e"
	outgoing := Outgoing{Delivery: Delivery{EventID: eventID}, Message: Message{Body: signedBody}}
	signature, err := signer.signature(endpoint, outgoing, at)
	require.NoError(t, err)

	return http.Header{
		"Webhook-Id":        {eventID},
		"Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)},
		"Webhook-Signature": {signature},
	}
}

// verifySignature returns the error of the reference library of Standard Webhooks for a request.
func verifySignature(t *testing.T, secret, body string, headers http.Header) error {
	t.Helper()

	verifier, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)

	return verifier.Verify([]byte(body), headers)
}

// TestSign_Request_EqualsStandardWebhooks checks that the reference library of Standard Webhooks accepts
// our signatures. It refuses a changed body and a timestamp of more than five minutes ago.
func TestSign_Request_EqualsStandardWebhooks(t *testing.T) {
	t.Parallel()

	now := time.Now()
	secret := newWebhookSecret()
	headers := signedHeaders(t, Endpoint{Secret: secret}, now)
	require.NoError(t, verifySignature(t, secret, signedBody, headers))
	require.Error(t, verifySignature(t, secret, signedBody+" ", headers), "the body was changed")

	sixMinutesAgo := signedHeaders(t, Endpoint{Secret: secret}, now.Add(-6*time.Minute))
	require.Error(t, verifySignature(t, secret, signedBody, sixMinutesAgo))
}

// TestSign_Rotation_BothSecretsAreValid checks that a request during the rotation of a secret is accepted
// with the current and with the previous secret. When the previous secret has expired, requests are not
// signed with it any more.
func TestSign_Rotation_BothSecretsAreValid(t *testing.T) {
	t.Parallel()

	current, previous, unknown := newWebhookSecret(), newWebhookSecret(), newWebhookSecret()
	now := time.Now()
	previousUntil := now.Add(time.Second)
	endpoint := Endpoint{Secret: current, PreviousSecret: previous, PreviousUntil: &previousUntil}

	headers := signedHeaders(t, endpoint, now)
	require.NoError(t, verifySignature(t, current, signedBody, headers))
	require.NoError(t, verifySignature(t, previous, signedBody, headers))
	require.Error(t, verifySignature(t, unknown, signedBody, headers))

	afterExpiry := signedHeaders(t, endpoint, previousUntil)
	require.Error(t, verifySignature(t, previous, signedBody, afterExpiry))
}

// TestSign_MalformedSecret_ErrorOmitsIt checks that the error for a secret that is not base64 does not
// contain the secret.
func TestSign_MalformedSecret_ErrorOmitsIt(t *testing.T) {
	t.Parallel()

	_, err := signer.signature(Endpoint{Secret: "whsec_?"}, Outgoing{}, time.Now())
	require.Error(t, err)
	require.NotContains(t, err.Error(), "?")
}

// noRetryAfter is the argument of retryDelay for a response without the header Retry-After.
const noRetryAfter = 0

// TestRetryDelay_Schedule_HasJitter checks the delays between attempts: those that Standard Webhooks
// recommends, with a random jitter of up to a fifth. The tenth attempt is the last one.
func TestRetryDelay_Schedule_HasJitter(t *testing.T) {
	t.Parallel()

	schedule := []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
		10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	}
	for i, scheduled := range schedule {
		failedAttempts := i + 1

		// A millisecond more than a fifth, for the rounding of floating-point numbers.
		maxJitter := scheduled.Seconds()/5 + 0.001

		different := map[time.Duration]bool{}
		for range 50 {
			delay, hasNext := retryDelay(failedAttempts, noRetryAfter)
			require.True(t, hasNext)
			require.InDelta(t, scheduled.Seconds(), delay.Seconds(), maxJitter)

			different[delay] = true
		}

		require.Greater(t, len(different), 10, "of 50 delays, as the jitter is random")
	}

	_, hasNext := retryDelay(len(schedule)+1, time.Hour)
	require.False(t, hasNext)
}

// TestRetryDelay_RetryAfter_CanOnlyExtend checks that the header Retry-After of a response can extend a
// delay up to a day, but not shorten it.
func TestRetryDelay_RetryAfter_CanOnlyExtend(t *testing.T) {
	t.Parallel()

	const firstFailure, fourthFailure = 1, 4 // with scheduled delays of 5 seconds and of 2 hours

	delay, _ := retryDelay(firstFailure, time.Hour)
	require.Equal(t, time.Hour, delay)

	delay, _ = retryDelay(firstFailure, 48*time.Hour)
	require.Equal(t, 24*time.Hour, delay, "the maximum")

	delay, _ = retryDelay(fourthFailure, time.Second)
	require.Greater(t, delay, time.Hour, "the scheduled delay less its jitter")
}

// TestAddAttempt_Many_NewestAreKept checks that a delivery keeps its 20 newest attempts, the newest last.
func TestAddAttempt_Many_NewestAreKept(t *testing.T) {
	t.Parallel()

	const attempts, kept = 30, 20

	var delivery Delivery
	for i := range attempts {
		delivery.addAttempt(Attempt{ResponseStatus: i}) // the status serves as the number of the attempt
	}

	require.Len(t, delivery.Attempts, kept)
	require.Equal(t, attempts-kept, delivery.Attempts[0].ResponseStatus)
	require.Equal(t, attempts-1, delivery.Attempts[kept-1].ResponseStatus)
}

// TestAddAttempt_LongResponse_IsTruncated checks that an attempt keeps at most 1,024 bytes of the response,
// and no part of a character.
func TestAddAttempt_LongResponse_IsTruncated(t *testing.T) {
	t.Parallel()

	const maxAnswer = 1_024
	const letter = "ä" // two bytes

	var delivery Delivery
	delivery.addAttempt(Attempt{Answer: strings.Repeat(letter, 600) + "\x00"})
	require.Equal(t, strings.Repeat(letter, maxAnswer/len(letter)), delivery.Attempts[0].Answer)
}

// TestAddAttempt_UnstorableCharacters_AreRemoved checks that characters of a response that databases cannot
// store, the zero byte and invalid UTF-8, are removed.
func TestAddAttempt_UnstorableCharacters_AreRemoved(t *testing.T) {
	t.Parallel()

	var delivery Delivery
	delivery.addAttempt(Attempt{Answer: "x\x00\xff"})
	require.Equal(t, "x", delivery.Attempts[0].Answer)
}
