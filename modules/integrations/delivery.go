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

// DeliveryStatus is where a delivery stands.
type DeliveryStatus string

// The statuses of a delivery.
const (
	Pending   DeliveryStatus = "pending"
	Succeeded DeliveryStatus = "succeeded"
	Failed    DeliveryStatus = "failed"
)

// Message is an event as receivers get it. Its body is made once, and every
// receiver gets the same bytes at every attempt.
type Message struct {
	EventID string
	Type    string
	Body    string // JSON
	// OrganizationID and ApplicantID are whose application it tells of, empty for
	// other things.
	OrganizationID string
	ApplicantID    string
	CreatedAt      time.Time
}

// Delivery is one event on its way to one endpoint.
type Delivery struct {
	ID         string
	EndpointID string
	OwnerID    string
	EventID    string
	Type       string
	Status     DeliveryStatus
	// Attempt counts the attempts since the beginning, and how often one was put off;
	// Tries counts those since the last replay, which the schedule goes by.
	Attempt int
	Tries   int
	// Attempts are the newest attempts, the oldest of them first.
	Attempts []Attempt
	// NextAt is when the next attempt is due, nil if there is none.
	NextAt *time.Time
	// FailedAt is when it failed for good, nil if it has not.
	FailedAt  *time.Time
	CreatedAt time.Time
}

// Attempt is how an attempt ended.
type Attempt struct {
	At time.Time `json:"at"`
	// ResponseStatus is the HTTP status of the answer, 0 without one.
	ResponseStatus int `json:"status"`
	// Error is the class of what went wrong, empty for nothing.
	Error      string `json:"error"`
	DurationMs int64  `json:"ms"`
	// Answer is the beginning of what the receiver said.
	Answer string `json:"answer"`
}

// The bounds of what is kept of a delivery.
const (
	attemptsKept = 20
	answerKept   = 1_024 // bytes
	logKept      = 30 * 24 * time.Hour
)

// add notes an attempt.
func (d *Delivery) add(a Attempt) {
	if len(a.Answer) > answerKept {
		a.Answer = a.Answer[:answerKept]
	}
	a.Answer = strings.ReplaceAll(strings.ToValidUTF8(a.Answer, ""), "\x00", "")
	d.Attempts = append(d.Attempts, a)
	if len(d.Attempts) > attemptsKept {
		d.Attempts = d.Attempts[len(d.Attempts)-attemptsKept:]
	}
}

// retries are the pauses after attempts that failed (Standard Webhooks).
var retries = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// Retries are the pauses after attempts that failed, give or take a fifth, the
// first one first.
func Retries() []time.Duration { return slices.Clone(retries) }

// mostRetryAfter is how long a receiver may ask to be left alone.
const mostRetryAfter = 24 * time.Hour

// pause is how long to wait after so many tries, false if that was the last. It
// is the schedule's, give or take a fifth, or longer if the receiver asks for it.
func pause(tries int, asked time.Duration) (time.Duration, bool) {
	if tries > len(retries) {
		return 0, false
	}
	wait := retries[tries-1]
	fifth := int64(wait / 5)
	wait += time.Duration(mathrand.Int64N(2*fifth+1) - fifth) //nolint:gosec // jitter needs no secrecy
	return max(wait, min(asked, mostRetryAfter)), true
}

const (
	hookPrefix  = "whsec_"
	hookRandom  = 32 // bytes
	bothSignFor = 24 * time.Hour
)

// newHookSecret mints the secret of an endpoint (Standard Webhooks).
func newHookSecret() string {
	var random [hookRandom]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand)
	return hookPrefix + base64.StdEncoding.EncodeToString(random[:])
}

// sign is the value of the header webhook-signature: one signature for each
// secret.
func sign(secrets []string, eventID string, at time.Time, body string) (string, error) {
	out := make([]string, len(secrets))
	for i, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, hookPrefix))
		if err != nil {
			return "", errors.New("the secret of an endpoint is damaged")
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(eventID + "." + strconv.FormatInt(at.Unix(), 10) + "." + body))
		out[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(out, " "), nil
}
