package kit

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v85/webhook"
)

// Kinds of test cards, for Stripe.NewMethod.
const (
	CardGood     = "good"     // accepted for every payment
	CardRefused  = "refused"  // declined when it is attached to a customer
	CardExpiring = "expiring" // declined when the payer is not present (off_session)
	CardSecure   = "secure"   // requires 3-D Secure for each payment
)

// StripeSecret is the signing secret of the webhooks that Stripe.SignedEvent returns.
const StripeSecret = "whsec_test"

// object is a JSON object of the API.
type object = map[string]any

// Stripe is a fake of the part of Stripe's API that the payments adapter uses: customers,
// payment methods, payment intents with their states, idempotency keys, declines and
// 3-D Secure. Requests and responses have the form of the published API.
type Stripe struct {
	URL string
	// Requests are the received requests, as "METHOD /path".
	Requests []string
	// MirrorURL is the URL of another server that validates requests, or empty. Every
	// request is also sent there; the test fails if that server rejects a request.
	MirrorURL string

	t               testing.TB
	now             func() time.Time
	mu              sync.Mutex
	lastID          int
	objectsByID     map[string]object
	responsesByKey  map[string]storedResponse // by idempotency key
	dropsPerRequest map[string]int            // responses to drop, by "METHOD /path"
}

// storedResponse is the response to a request with an idempotency key. Its status is 0 while
// the request is in progress.
type storedResponse struct {
	request string
	status  int
	body    object
}

// NewStripe starts a fake of Stripe. The function now sets the creation time of its objects.
func NewStripe(t testing.TB, now func() time.Time) *Stripe {
	s := &Stripe{
		t:               t,
		now:             now,
		objectsByID:     map[string]object{},
		responsesByKey:  map[string]storedResponse{},
		dropsPerRequest: map[string]int{},
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)

	s.URL = server.URL

	return s
}

// NewMethod creates a payment method and returns its id. The kind is one of the Card
// constants.
func (s *Stripe) NewMethod(kind string) string {
	s.mu.Lock()
	defer s.mu.Unlock()

	method := s.create("pm", "payment_method", object{
		"type":     "card",
		"customer": nil,
		"card":     object{"brand": "visa", "last4": "4242", "exp_month": 12, "exp_year": 2040},
	})
	method["kind"] = kind

	return method["id"].(string)
}

// DropResponses closes the connection instead of responding to the next n requests of the
// form "METHOD /path". The requests still take effect.
func (s *Stripe) DropResponses(request string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.dropsPerRequest[request] = n
}

// Intents returns the payment intents of a charge, newest first.
func (s *Stripe) Intents(chargeKey string) []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listIntents(hasMetadata("locum_charge", chargeKey))
}

// Count returns the number of stored objects whose ids have the prefix.
func (s *Stripe) Count(prefix string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for id := range s.objectsByID {
		if strings.HasPrefix(id, prefix+"_") {
			n++
		}
	}

	return n
}

// FinishAuthentication ends the 3-D Secure authentication of a charge and sets the status of
// its payment intent: succeeded, processing, or requires_payment_method if the payer did not
// authenticate.
func (s *Stripe) FinishAuthentication(chargeKey, status string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, intent := range s.listIntents(hasMetadata("locum_charge", chargeKey)) {
		if intent["status"] != "requires_action" && intent["status"] != "processing" {
			s.t.Errorf("payment intent %s is not pending: its status is %s", intent["id"], intent["status"])
		}

		intent["status"], intent["next_action"] = status, nil
		if status == "requires_payment_method" {
			intent["last_payment_error"] = object{"type": "card_error", "code": "payment_intent_authentication_failure"}
		}
	}
}

// SignedEvent returns the body and the signature of a webhook about the payment intent of a
// charge. Without such an intent, the event is about the balance.
func (s *Stripe) SignedEvent(eventType, chargeKey, secret string) (body []byte, signature string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++

	event := object{
		"id":          fmt.Sprintf("evt_%d", s.lastID),
		"object":      "event",
		"type":        eventType,
		"api_version": "2026-03-25.dahlia",
		"data":        object{"object": object{"object": "balance"}},
	}
	for _, intent := range s.listIntents(hasMetadata("locum_charge", chargeKey)) {
		event["data"] = object{"object": maps.Clone(intent)}
	}

	body, err := json.Marshal(event)
	if err != nil {
		s.t.Error(err)
	}

	signed := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{
		Payload:   body,
		Secret:    secret,
		Timestamp: s.now(),
	})

	return body, signed.Header
}

// DeleteIdempotencyKeys deletes all idempotency keys. Stripe deletes a key after a day.
func (s *Stripe) DeleteIdempotencyKeys() {
	s.mu.Lock()
	defer s.mu.Unlock()

	clear(s.responsesByKey)
}

// ChargeKey returns the key of the charge for which a payment intent was created.
func (s *Stripe) ChargeKey(intentID string) string {
	s.mu.Lock()
	defer s.mu.Unlock()

	key, _ := s.objectsByID[intentID]["metadata"].(object)["locum_charge"].(string)

	return key
}

// CountOwned returns the number of objects whose ids have the prefix and that belong to the
// owner, which is user:ID or application:ID.
func (s *Stripe) CountOwned(prefix, owner string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for id, o := range s.objectsByID {
		if strings.HasPrefix(id, prefix+"_") && hasMetadata("locum_owner", owner)(o) {
			n++
		}
	}

	return n
}
