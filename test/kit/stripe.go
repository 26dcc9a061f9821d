package kit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v85/webhook"
)

// The kinds of card of Stripe.NewMethod.
const (
	CardGood     = "good"
	CardRefused  = "refused"  // declined when it is attached
	CardExpiring = "expiring" // declined when the payer is not present
	CardSecure   = "secure"   // needs 3-D Secure for each payment
)

// StripeSecret signs the webhooks of Stripe.
const StripeSecret = "whsec_test"

type object = map[string]any

// Stripe is a server with the part of Stripe's API that payments use, with the states
// of payment intents, idempotency keys, declines and 3-D Secure. Requests and answers
// have the form of the published API.
type Stripe struct {
	URL string

	t       testing.TB
	mu      sync.Mutex
	next    int
	now     func() time.Time
	objects map[string]object   // by id
	answers map[string]answered // by idempotency key
	lose    map[string]int      // answers to lose, by method and path
	// Requests are the methods and paths of the requests.
	Requests []string
	// MirrorURL is a server to which every request is sent as well, and which has to
	// accept it, if it is not empty.
	MirrorURL string
}

// answered is the stored answer to a request with an idempotency key.
type answered struct {
	request string
	status  int
	body    object
}

// NewStripe starts a server whose objects are created at the time of now.
func NewStripe(t testing.TB, now func() time.Time) *Stripe {
	s := &Stripe{t: t, now: now, objects: map[string]object{}, answers: map[string]answered{}, lose: map[string]int{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// NewMethod creates a payment method that is a card of the kind.
func (s *Stripe) NewMethod(kind string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.create("pm", "payment_method",
		object{"type": "card", "customer": nil, "card": object{"brand": "visa", "last4": "4242", "exp_month": 12, "exp_year": 2040}})
	m["kind"] = kind
	return m["id"].(string)
}

// Lose loses the answers to the next n requests with the method and path, which take
// effect.
func (s *Stripe) Lose(request string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose[request] = n
}

// Intents returns the payment intents of a charge, the newest first.
func (s *Stripe) Intents(key string) []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.intents(func(i object) bool { return i["metadata"].(object)["locum_charge"] == key })
}

// Count returns the number of stored objects whose ids have the prefix.
func (s *Stripe) Count(prefix string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.objects {
		if strings.HasPrefix(id, prefix+"_") {
			n++
		}
	}
	return n
}

// Finish ends the 3-D Secure of a charge: its intent becomes succeeded, processing,
// or, if the payer did not authenticate, requires_payment_method.
func (s *Stripe) Finish(key, status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.intents(func(i object) bool { return i["metadata"].(object)["locum_charge"] == key }) {
		if i["status"] != "requires_action" && i["status"] != "processing" {
			s.t.Errorf("payment intent %s does not wait: %s", i["id"], i["status"])
		}
		i["status"], i["next_action"] = status, nil
		if status == "requires_payment_method" {
			i["last_payment_error"] = object{"type": "card_error", "code": "payment_intent_authentication_failure"}
		}
	}
}

// Event returns the body of a webhook about the intent of a charge, and its signature.
func (s *Stripe) Event(kind, key, secret string) (body []byte, signature string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	event := object{
		"id":          fmt.Sprintf("evt_%d", s.next),
		"object":      "event",
		"type":        kind,
		"api_version": "2026-03-25.dahlia",
		"data":        object{"object": object{"object": "balance"}},
	}
	for _, i := range s.intents(func(i object) bool { return i["metadata"].(object)["locum_charge"] == key }) {
		event["data"] = object{"object": maps.Clone(i)}
	}
	body, err := json.Marshal(event)
	if err != nil {
		s.t.Error(err)
	}
	return body, webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: body, Secret: secret, Timestamp: s.now()}).Header
}

func (s *Stripe) create(prefix, kind string, o object) object {
	s.next++
	o["id"], o["object"], o["created"] = fmt.Sprintf("%s_%d", prefix, s.next), kind, s.now().Unix()
	s.objects[o["id"].(string)] = o
	return o
}

func (s *Stripe) intents(match func(object) bool) (out []object) {
	for id, o := range s.objects {
		if strings.HasPrefix(id, "pi_") && match(o) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b object) int {
		return len(b["id"].(string)) - len(a["id"].(string)) + cmp.Compare(b["id"].(string), a["id"].(string))
	})
	return out
}

// ServeHTTP implements http.Handler.
func (s *Stripe) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer sk_test_") {
		s.send(w, http.StatusUnauthorized, problem("invalid_request_error", "api_key_invalid", nil))
		return
	}
	if err := r.ParseForm(); err != nil {
		s.t.Error(err)
	}
	s.mirror(r)
	status, body := s.once(r)
	s.mu.Lock()
	request := r.Method + " " + r.URL.Path
	s.Requests = append(s.Requests, request)
	lost := s.lose[request] > 0
	if lost {
		s.lose[request]--
	}
	s.mu.Unlock()
	if lost {
		panic(http.ErrAbortHandler)
	}
	s.send(w, status, body)
}

// mirror sends a request to the other server.
func (s *Stripe) mirror(r *http.Request) {
	if s.MirrorURL == "" {
		return
	}
	target, content := s.MirrorURL+r.URL.Path, r.PostForm.Encode()
	if r.URL.RawQuery != "" {
		target += "?" + r.URL.RawQuery
	}
	again, err := http.NewRequest(r.Method, target, strings.NewReader(content))
	if err != nil {
		s.t.Error(err)
		return
	}
	again.Header = r.Header.Clone()
	response, err := http.DefaultClient.Do(again)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= http.StatusBadRequest {
		s.t.Errorf("%s %s %s is refused: %s %v", r.Method, r.URL, content, answer, err)
	}
}

func (s *Stripe) send(w http.ResponseWriter, status int, body object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		s.t.Log(err) // the client has left
	}
}

// copied returns what a client reads of the object at the time.
func (s *Stripe) copied(body object) (out object) {
	text, err := json.Marshal(body)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		s.t.Error(err)
	}
	return out
}

func problem(kind, code string, more object) object {
	e := object{"type": kind, "code": code, "message": code}
	maps.Copy(e, more)
	return object{"error": e}
}

// once returns the stored response if the idempotency key of the request is
// known.
func (s *Stripe) once(r *http.Request) (int, object) {
	key := r.Header.Get("Idempotency-Key")
	if r.Method != http.MethodPost || key == "" {
		return s.answer(r)
	}
	request := r.URL.Path + "?" + r.Form.Encode()
	s.mu.Lock()
	before, known := s.answers[key]
	if !known {
		s.answers[key] = answered{request: request}
	}
	s.mu.Unlock()
	switch {
	case known && before.request != request:
		return http.StatusBadRequest, problem("idempotency_error", "", nil)
	case known && before.status == 0:
		return http.StatusConflict, problem("invalid_request_error", "idempotency_key_in_use", nil)
	case known:
		return before.status, before.body
	}
	status, body := s.answer(r)
	s.mu.Lock()
	s.answers[key] = answered{request: request, status: status, body: body}
	s.mu.Unlock()
	return status, body
}

var (
	stripePath  = regexp.MustCompile(`^/v1/(\w+)(?:/(\w+))?(?:/(\w+))?$`)
	stripeQuery = regexp.MustCompile(`^metadata\['(\w+)'\]:'([\w:-]+)'$`)
)

// answer returns a copy of the answer to a request.
func (s *Stripe) answer(r *http.Request) (int, object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := stripePath.FindStringSubmatch(r.URL.Path)
	if path == nil {
		s.t.Errorf("unexpected request %s %s", r.Method, r.URL)
		return http.StatusNotFound, problem("invalid_request_error", "", nil)
	}
	status, body := s.act(r.Method+" "+path[1]+" "+action(path), path[2], r.Form)
	return status, s.copied(body)
}

// action returns what a path addresses: the collection, an object, or the name of
// an operation on it.
func action(path []string) string {
	switch {
	case path[2] == "search" || path[2] == "":
		return path[2]
	case path[3] != "":
		return path[3]
	}
	return "one"
}

func (s *Stripe) act(request, id string, form url.Values) (int, object) {
	missing := problem("invalid_request_error", "resource_missing", nil)
	o, found := s.objects[id]
	switch request {
	case "GET balance ":
		return 200, object{"object": "balance"}
	case "POST customers ":
		return 200, s.create("cus", "customer", object{"metadata": metadata(form)})
	case "POST setup_intents ":
		i := s.create("seti", "setup_intent",
			object{"status": "requires_payment_method", "usage": form.Get("usage"), "customer": form.Get("customer")})
		i["client_secret"] = i["id"].(string) + "_secret_x"
		return 200, i
	case "POST payment_intents ":
		return s.pay(form)
	case "GET payment_intents ":
		return 200, list(s.intents(func(i object) bool {
			since, _ := strconv.ParseInt(form.Get("created[gte]"), 10, 64)
			return i["customer"] == form.Get("customer") && i["created"].(int64) >= since
		}))
	case "GET payment_intents search":
		return 200, list(s.intents(matches(form.Get("query"))))
	case "GET customers search":
		var all []object
		for id, o := range s.objects {
			if strings.HasPrefix(id, "cus_") && matches(form.Get("query"))(o) {
				all = append(all, o)
			}
		}
		return 200, list(all)
	}
	if !found {
		return http.StatusNotFound, missing
	}
	switch request {
	case "DELETE customers one":
		delete(s.objects, id)
		for _, m := range s.objects {
			if m["object"] == "payment_method" && m["customer"] == id {
				m["customer"] = nil
			}
		}
		return 200, object{"id": id, "object": "customer", "deleted": true}
	case "GET payment_methods one", "GET payment_intents one":
		return 200, o
	case "POST payment_methods attach":
		switch {
		case s.objects[form.Get("customer")] == nil:
			return http.StatusBadRequest, missing
		case o["kind"] == CardRefused:
			return http.StatusPaymentRequired, problem("card_error", "card_declined", nil)
		}
		o["customer"] = form.Get("customer")
		return 200, o
	case "POST payment_intents confirm":
		return s.confirm(o, form)
	case "POST payment_intents cancel":
		if o["status"] == "succeeded" || o["status"] == "processing" || o["status"] == "canceled" {
			return http.StatusBadRequest, problem("invalid_request_error", "payment_intent_unexpected_state", nil)
		}
		o["status"], o["next_action"] = "canceled", nil
		return 200, o
	}
	s.t.Errorf("unexpected request %s", request)
	return http.StatusNotFound, missing
}

func matches(query string) func(object) bool {
	m := stripeQuery.FindStringSubmatch(query)
	return func(o object) bool { return m != nil && o["metadata"].(object)[m[1]] == m[2] }
}

func list(data []object) object {
	if data == nil {
		data = []object{}
	}
	return object{"object": "list", "has_more": false, "data": data}
}

func metadata(form url.Values) object {
	out := object{}
	for name, values := range form {
		if key, ok := strings.CutPrefix(name, "metadata["); ok {
			out[strings.TrimSuffix(key, "]")] = values[0]
		}
	}
	return out
}

// pay creates a payment intent and confirms it.
func (s *Stripe) pay(form url.Values) (int, object) {
	m := s.objects[form.Get("payment_method")]
	amount, err := strconv.Atoi(form.Get("amount"))
	if m == nil || m["customer"] != form.Get("customer") || err != nil || amount < 1 || form.Get("confirm") != "true" ||
		form.Get("currency") != "gbp" {
		return http.StatusBadRequest, problem("invalid_request_error", "parameter_invalid", nil)
	}
	i := s.create(
		"pi",
		"payment_intent",
		object{
			"amount":      amount,
			"currency":    form.Get("currency"),
			"customer":    form.Get("customer"),
			"metadata":    metadata(form),
			"description": form.Get("description"),
			"status":      "requires_confirmation",
		},
	)
	i["client_secret"] = i["id"].(string) + "_secret_x"
	return s.confirm(i, form)
}

// confirm moves an intent to the state that follows from the card.
func (s *Stripe) confirm(i object, form url.Values) (int, object) {
	m, absent := s.objects[form.Get("payment_method")], form.Get("off_session") == "true"
	refuse := func(code string) (int, object) {
		i["status"], i["last_payment_error"] = "requires_payment_method", object{"type": "card_error", "code": code}
		return http.StatusPaymentRequired, problem("card_error", code, object{"payment_intent": i})
	}
	switch {
	case i["status"] != "requires_confirmation" && i["status"] != "requires_payment_method":
		return http.StatusBadRequest, problem("invalid_request_error", "payment_intent_unexpected_state", nil)
	case m["kind"] == CardExpiring && absent:
		return refuse("card_declined")
	case m["kind"] == CardSecure && absent:
		return refuse("authentication_required")
	case m["kind"] == CardSecure:
		i["status"], i["last_payment_error"] = "requires_action", nil
		i["next_action"] = object{
			"type":            "redirect_to_url",
			"redirect_to_url": object{"url": s.URL + "/3ds/" + i["id"].(string), "return_url": form.Get("return_url")},
		}
		return 200, i
	}
	i["status"] = "succeeded"
	return 200, i
}

// ForgetKeys deletes the idempotency keys, as Stripe does after a day.
func (s *Stripe) ForgetKeys() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.answers)
}

// KeyOf returns the key of the charge of a payment intent.
func (s *Stripe) KeyOf(intent string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, _ := s.objects[intent]["metadata"].(object)["locum_charge"].(string)
	return key
}

// CountOwned returns the number of objects with the prefix that belong to the owner,
// user:ID or application:ID.
func (s *Stripe) CountOwned(prefix, owner string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, o := range s.objects {
		if m, ok := o["metadata"].(object); ok && strings.HasPrefix(id, prefix+"_") && m["locum_owner"] == owner {
			n++
		}
	}
	return n
}
