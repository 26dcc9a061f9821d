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

// Message is an event in the form that receivers get. The body is rendered once: all
// receivers get the same bytes at every attempt.
type Message struct {
	EventID string
	Type    string
	Body    string // JSON
	// OrganizationID and ApplicantID are those of the job application that the event is
	// about, empty for other events.
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
	// Attempt counts all attempts and postponements. Tries counts the attempts since the
	// last replay, on which the retry schedule depends.
	Attempt int
	Tries   int
	// Attempts are the latest attempts in their order.
	Attempts []Attempt
	// NextAt is when the next attempt is due, nil without one.
	NextAt *time.Time
	// FailedAt is when the delivery failed finally, nil if it has not.
	FailedAt  *time.Time
	CreatedAt time.Time
}

// Attempt is the result of an attempt.
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

// The limits of what is stored of a delivery.
const (
	maxStoredAttempts = 20
	maxStoredAnswer   = 1_024 // bytes
	logRetention      = 30 * 24 * time.Hour
)

// add appends an attempt.
func (d *Delivery) add(a Attempt) {
	a.Answer = a.Answer[:min(len(a.Answer), maxStoredAnswer)]
	a.Answer = strings.ReplaceAll(strings.ToValidUTF8(a.Answer, ""), "\x00", "")
	d.Attempts = append(d.Attempts, a)
	d.Attempts = d.Attempts[max(0, len(d.Attempts)-maxStoredAttempts):]
}

// retries are the delays after failed attempts (Standard Webhooks).
var retries = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// Retries returns the delays after failed attempts in their order; each varies by a
// fifth.
func Retries() []time.Duration { return slices.Clone(retries) }

// maxRetryAfter is the longest delay that a receiver can ask for.
const maxRetryAfter = 24 * time.Hour

// retryDelay returns the delay after the given number of tries, false if that was the
// last one. It is that of the schedule, plus or minus a fifth, or a longer one that
// the receiver asks for.
func retryDelay(tries int, retryAfter time.Duration) (time.Duration, bool) {
	if tries > len(retries) {
		return 0, false
	}
	wait := retries[tries-1]
	fifth := int64(wait / 5)
	wait += time.Duration(mathrand.Int64N(2*fifth+1) - fifth) //nolint:gosec // jitter needs no secrecy
	return max(wait, min(retryAfter, maxRetryAfter)), true
}

const (
	hookPrefix = "whsec_"
	hookRandom = 32 // bytes
	// rotationOverlap is how long the previous secret signs beside a new one.
	rotationOverlap = 24 * time.Hour
)

// newHookSecret returns a random secret of an endpoint (Standard Webhooks).
func newHookSecret() string {
	var random [hookRandom]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand)
	return hookPrefix + base64.StdEncoding.EncodeToString(random[:])
}

// signature returns the value of the header webhook-signature: a signature for each
// secret of the endpoint that signs at the time.
func (s *Service) signature(e Endpoint, c Outgoing, at time.Time) (string, error) {
	encrypted := []string{e.Secret}
	if e.PreviousUntil != nil && e.PreviousUntil.After(at) {
		encrypted = append(encrypted, e.PreviousSecret)
	}
	var out []string
	for _, ciphertext := range encrypted {
		secret, err := s.Vault.Decrypt(ciphertext, e.ID)
		if err != nil {
			return "", err
		}
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, hookPrefix))
		if err != nil {
			return "", errors.New("the secret of an endpoint is damaged")
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(c.EventID + "." + strconv.FormatInt(at.Unix(), 10) + "." + c.Message.Body))
		out = append(out, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(out, " "), nil
}
