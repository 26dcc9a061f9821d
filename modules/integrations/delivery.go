package integrations

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	mathrand "math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DeliveryStatus is the status of a delivery.
type DeliveryStatus string

// The statuses of a delivery.
const (
	Pending   DeliveryStatus = "pending"
	Succeeded DeliveryStatus = "succeeded"
	Failed    DeliveryStatus = "failed"
)

// Message is an event in the form that receivers get. The body is rendered once, so that
// all receivers get the same bytes at every attempt.
type Message struct {
	EventID string
	Type    string
	Body    string // JSON
	// OrganizationID and ApplicantID identify the organization and the applicant of the
	// job application that the event is about. They are empty for other events.
	OrganizationID string
	ApplicantID    string
	CreatedAt      time.Time
}

// Delivery is the delivery of a message to an endpoint.
type Delivery struct {
	ID         string
	EndpointID string
	OwnerID    string
	EventID    string
	Type       string
	Status     DeliveryStatus
	// Attempt is the number of attempts and postponements so far, including those that are no longer in
	// Attempts. A postponement is an attempt that an error of the service prevented.
	Attempt int
	// Tries is the number of attempts since the delivery was created or last replayed, without
	// postponements. The retry schedule depends on it.
	Tries int
	// Attempts are the latest attempts, the newest last, at most maxStoredAttempts.
	Attempts []Attempt
	// NextAt is the time of the next attempt, nil if no attempt follows.
	NextAt *time.Time
	// FailedAt is the time at which the delivery failed for good, or nil.
	FailedAt  *time.Time
	CreatedAt time.Time
}

// Attempt is the result of one attempt to send a delivery.
type Attempt struct {
	At time.Time `json:"at"`
	// ResponseStatus is the HTTP status, 0 without a response.
	ResponseStatus int `json:"status"`
	// Error is the class of the failure, empty for none.
	Error      string `json:"error"`
	DurationMs int64  `json:"ms"`
	// Answer is the beginning of the response body.
	Answer string `json:"answer"`
}

// The limits of the stored data of a delivery.
const (
	maxStoredAttempts = 20
	maxStoredAnswer   = 1_024 // bytes
	logRetention      = 30 * 24 * time.Hour
)

// addAttempt appends an attempt and removes attempts beyond maxStoredAttempts.
func (d *Delivery) addAttempt(a Attempt) {
	a.Answer = a.Answer[:min(len(a.Answer), maxStoredAnswer)]

	// The answer may be binary or cut within a character; databases cannot store such text.
	a.Answer = strings.ReplaceAll(strings.ToValidUTF8(a.Answer, ""), "\x00", "")
	d.Attempts = append(d.Attempts, a)

	excess := max(0, len(d.Attempts)-maxStoredAttempts)
	d.Attempts = d.Attempts[excess:]
}

// retries is the retry schedule: the delays after the first and each further failed attempt. The
// specification Standard Webhooks recommends this schedule.
var retries = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// Retries returns the delays after the first and each further failed attempt. The actual
// delays vary by a fifth.
func Retries() []time.Duration { return slices.Clone(retries) }

// maxRetryAfter is the longest delay that a receiver can request with Retry-After.
const maxRetryAfter = 24 * time.Hour

// retryDelay returns the delay after the given number of tries. The last one has failed. It is the
// delay of the schedule, changed by up to a fifth at random, or retryAfter if that is longer. The
// randomness spreads the retries of deliveries that failed at the same time. retryDelay returns
// false if the schedule has no further attempt.
func retryDelay(tries int, retryAfter time.Duration) (delay time.Duration, hasNext bool) {
	if tries > len(retries) {
		return 0, false
	}

	delay = retries[tries-1]
	fifth := int64(delay / 5)
	jitter := mathrand.Int64N(2*fifth+1) - fifth //nolint:gosec // from -fifth to fifth; needs no secrecy
	delay += time.Duration(jitter)

	return max(delay, min(retryAfter, maxRetryAfter)), true
}

const (
	webhookSecretPrefix = "whsec_"
	webhookSecretBytes  = 32
	// rotationOverlap is the time for which messages are signed with the previous secret
	// as well as with the new one.
	rotationOverlap = 24 * time.Hour
)

// newWebhookSecret returns a random secret for an endpoint (Standard Webhooks).
func newWebhookSecret() string {
	var random [webhookSecretBytes]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand)
	return webhookSecretPrefix + base64.StdEncoding.EncodeToString(random[:])
}

// signature returns the value of the header webhook-signature: a signature with each secret
// of the endpoint that is valid at the given time, separated by spaces. After a rotation of
// the secret there are two, until rotationOverlap has passed.
func (s *Service) signature(e Endpoint, out Outgoing, at time.Time) (string, error) {
	encryptedSecrets := []string{e.Secret}
	if e.PreviousUntil != nil && e.PreviousUntil.After(at) {
		encryptedSecrets = append(encryptedSecrets, e.PreviousSecret)
	}

	var signatures []string
	for _, ciphertext := range encryptedSecrets {
		secret, err := s.Vault.Decrypt(ciphertext, e.ID)
		if err != nil {
			return "", err
		}

		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, webhookSecretPrefix))
		if err != nil {
			return "", errors.New("the secret of an endpoint is damaged")
		}

		// The signed text is webhook-id.webhook-timestamp.body (Standard Webhooks).
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(out.EventID + "." + strconv.FormatInt(at.Unix(), 10) + "." + out.Message.Body))

		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}

	return strings.Join(signatures, " "), nil
}
