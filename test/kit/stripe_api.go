package kit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ServeHTTP implements http.Handler.
func (s *Stripe) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer sk_test_") {
		s.send(w, http.StatusUnauthorized, errorBody("invalid_request_error", "api_key_invalid", noFields))
		return
	}

	if err := r.ParseForm(); err != nil {
		s.t.Error(err)
	}

	s.sendToMirror(r)

	status, body := s.handleIdempotently(r)
	if s.recordRequest(r.Method + " " + r.URL.Path) {
		panic(http.ErrAbortHandler) // closes the connection
	}

	s.send(w, status, body)
}

// recordRequest stores a request in Requests and reports whether its response is to be
// dropped.
func (s *Stripe) recordRequest(request string) (isDropped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.Requests = append(s.Requests, request)
	if s.dropsPerRequest[request] == 0 {
		return false
	}

	s.dropsPerRequest[request]--

	return true
}

// sendToMirror sends a copy of the request to MirrorURL. The test fails if the server there
// rejects the request.
func (s *Stripe) sendToMirror(r *http.Request) {
	if s.MirrorURL == "" {
		return
	}

	target, content := s.MirrorURL+r.URL.Path, r.PostForm.Encode()
	if r.URL.RawQuery != "" {
		target += "?" + r.URL.RawQuery
	}

	mirrored, err := http.NewRequest(r.Method, target, strings.NewReader(content))
	if err != nil {
		s.t.Error(err)
		return
	}

	mirrored.Header = r.Header.Clone()

	response, err := http.DefaultClient.Do(mirrored)
	if err != nil {
		s.t.Error(err)
		return
	}

	defer func() { _ = response.Body.Close() }()

	responseBody, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= http.StatusBadRequest {
		s.t.Errorf("the mirror rejects %s %s %s: %s %v", r.Method, r.URL, content, responseBody, err)
	}
}

// send responds with JSON.
func (s *Stripe) send(w http.ResponseWriter, status int, body object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)

	if err := json.NewEncoder(w).Encode(body); err != nil {
		s.t.Log(err) // the client has closed the connection
	}
}

// deepCopy returns a copy that later changes of the object do not affect.
func (s *Stripe) deepCopy(body object) (copied object) {
	text, err := json.Marshal(body)
	if err != nil {
		s.t.Error(err)
		return nil
	}

	if err := json.Unmarshal(text, &copied); err != nil {
		s.t.Error(err)
	}

	return copied
}

// noFields stands for no additional fields of an error.
var noFields object

// errorBody returns the body of an error response with additional fields.
func errorBody(errorType, code string, fields object) object {
	details := object{"type": errorType, "code": code, "message": code}
	maps.Copy(details, fields)
	return object{"error": details}
}

// handleIdempotently handles a request at most once for each idempotency key. A repeated
// request gets the stored response.
func (s *Stripe) handleIdempotently(r *http.Request) (status int, body object) {
	key := r.Header.Get("Idempotency-Key")
	if r.Method != http.MethodPost || key == "" {
		return s.handle(r)
	}

	// The first request reserves the key, with a response that has no status yet.
	request := r.URL.Path + "?" + r.Form.Encode()

	s.mu.Lock()

	stored, isKnown := s.responsesByKey[key]
	if !isKnown {
		s.responsesByKey[key] = storedResponse{request: request}
	}

	s.mu.Unlock()

	isInProgress := isKnown && stored.status == 0

	switch {
	case isKnown && stored.request != request:
		return http.StatusBadRequest, errorBody("idempotency_error", "", noFields)
	case isInProgress:
		return http.StatusConflict, errorBody("invalid_request_error", "idempotency_key_in_use", noFields)
	case isKnown:
		return stored.status, stored.body
	}

	status, body = s.handle(r)
	s.mu.Lock()
	s.responsesByKey[key] = storedResponse{request: request, status: status, body: body}
	s.mu.Unlock()

	return status, body
}

var (
	// stripePath matches /v1/COLLECTION, /v1/COLLECTION/ID and /v1/COLLECTION/ID/OPERATION.
	stripePath = regexp.MustCompile(`^/v1/(\w+)(?:/(\w+))?(?:/(\w+))?$`)
	// stripeQuery matches a search query, such as metadata['name']:'value'.
	stripeQuery = regexp.MustCompile(`^metadata\['(\w+)'\]:'([\w:-]+)'$`)
)

// handle executes a request and returns a copy of its response.
func (s *Stripe) handle(r *http.Request) (status int, body object) {
	s.mu.Lock()
	defer s.mu.Unlock()

	path := stripePath.FindStringSubmatch(r.URL.Path)
	if path == nil {
		s.t.Errorf("unexpected request %s %s", r.Method, r.URL)
		return http.StatusNotFound, errorBody("invalid_request_error", "", noFields)
	}

	collection, id, action := path[1], path[2], path[3]
	status, body = s.execute(r.Method+" "+collection+" "+operation(id, action), id, r.Form)

	return status, s.deepCopy(body)
}

// operation returns what a request does with its collection, by the parts of its path: an empty string lists or
// creates, "search" searches, "one" addresses an object, and other words are actions on an object.
func operation(id, action string) string {
	switch {
	case id == "search" || id == "":
		return id
	case action != "":
		return action
	}

	return "one"
}

// execute executes a request, which has the form "METHOD COLLECTION OPERATION".
func (s *Stripe) execute(request, id string, form url.Values) (status int, body object) {
	switch request {
	case "GET balance ":
		return http.StatusOK, object{"object": "balance"}
	case "POST customers ":
		return http.StatusOK, s.create("cus", "customer", object{"metadata": metadata(form)})
	case "POST setup_intents ":
		return http.StatusOK, s.createSetupIntent(form)
	case "POST payment_intents ":
		return s.createPaymentIntent(form)
	case "GET payment_intents ":
		since, _ := strconv.ParseInt(form.Get("created[gte]"), 10, 64)

		return http.StatusOK, listBody(s.listIntents(func(intent object) bool {
			return intent["customer"] == form.Get("customer") && intent["created"].(int64) >= since
		}))
	case "GET payment_intents search":
		return http.StatusOK, listBody(s.listIntents(parseQuery(form.Get("query"))))
	case "GET customers search":
		return http.StatusOK, listBody(s.listObjects("cus", parseQuery(form.Get("query"))))
	}

	o, exists := s.objectsByID[id]
	if !exists {
		return http.StatusNotFound, errorBody("invalid_request_error", "resource_missing", noFields)
	}

	return s.executeOnObject(request, o, form)
}

// executeOnObject executes a request that addresses an existing object.
func (s *Stripe) executeOnObject(request string, o object, form url.Values) (status int, body object) {
	switch request {
	case "DELETE customers one":
		return http.StatusOK, s.deleteCustomer(o["id"].(string))
	case "GET payment_methods one", "GET payment_intents one":
		return http.StatusOK, o
	case "POST payment_methods attach":
		return s.attach(o, form.Get("customer"))
	case "POST payment_intents confirm":
		return s.confirm(o, form)
	case "POST payment_intents cancel":
		return cancel(o)
	}

	s.t.Errorf("unexpected request %s", request)

	return http.StatusNotFound, errorBody("invalid_request_error", "resource_missing", noFields)
}

// createSetupIntent creates an intent to store a method, which waits for the method.
func (s *Stripe) createSetupIntent(form url.Values) object {
	intent := s.create("seti", "setup_intent", object{
		"status":   "requires_payment_method",
		"usage":    form.Get("usage"),
		"customer": form.Get("customer"),
	})
	intent["client_secret"] = intent["id"].(string) + "_secret_x"

	return intent
}

// deleteCustomer deletes a customer and detaches the customer's payment methods.
func (s *Stripe) deleteCustomer(id string) object {
	delete(s.objectsByID, id)

	for _, o := range s.objectsByID {
		if o["object"] == "payment_method" && o["customer"] == id {
			o["customer"] = nil
		}
	}

	return object{"id": id, "object": "customer", "deleted": true}
}

// attach attaches a payment method to a customer.
func (s *Stripe) attach(method object, customerID string) (status int, body object) {
	switch {
	case s.objectsByID[customerID] == nil:
		return http.StatusBadRequest, errorBody("invalid_request_error", "resource_missing", noFields)
	case method["kind"] == CardRefused:
		return http.StatusPaymentRequired, errorBody("card_error", "card_declined", noFields)
	}

	method["customer"] = customerID

	return http.StatusOK, method
}

// createPaymentIntent creates a payment intent and confirms it.
func (s *Stripe) createPaymentIntent(form url.Values) (status int, body object) {
	method := s.objectsByID[form.Get("payment_method")]
	amount, err := strconv.Atoi(form.Get("amount"))

	isAttached := method != nil && method["customer"] == form.Get("customer")
	hasAmount := err == nil && amount > 0 && form.Get("currency") == "gbp"
	isConfirmed := form.Get("confirm") == "true"

	if !isAttached || !hasAmount || !isConfirmed {
		return http.StatusBadRequest, errorBody("invalid_request_error", "parameter_invalid", noFields)
	}

	intent := s.create("pi", "payment_intent", object{
		"amount":      amount,
		"currency":    form.Get("currency"),
		"customer":    form.Get("customer"),
		"metadata":    metadata(form),
		"description": form.Get("description"),
		"status":      "requires_confirmation",
	})
	intent["client_secret"] = intent["id"].(string) + "_secret_x"

	return s.confirm(intent, form)
}

// confirm charges the card. The kind of card determines the new status of the intent.
func (s *Stripe) confirm(intent object, form url.Values) (status int, body object) {
	if intent["status"] != "requires_confirmation" && intent["status"] != "requires_payment_method" {
		return http.StatusBadRequest, errorBody("invalid_request_error", "payment_intent_unexpected_state", noFields)
	}

	method := s.objectsByID[form.Get("payment_method")]

	isPayerAbsent := form.Get("off_session") == "true"
	switch {
	case method["kind"] == CardExpiring && isPayerAbsent:
		return decline(intent, "card_declined")
	case method["kind"] == CardSecure && isPayerAbsent:
		return decline(intent, "authentication_required")
	case method["kind"] == CardSecure:
		redirect := object{"url": s.URL + "/3ds/" + intent["id"].(string), "return_url": form.Get("return_url")}
		intent["status"], intent["last_payment_error"] = "requires_action", nil
		intent["next_action"] = object{"type": "redirect_to_url", "redirect_to_url": redirect}
	default:
		intent["status"] = "succeeded"
	}

	return http.StatusOK, intent
}

// decline records that the card was declined for the reason in code.
func decline(intent object, code string) (status int, body object) {
	intent["status"] = "requires_payment_method"
	intent["last_payment_error"] = object{"type": "card_error", "code": code}
	return http.StatusPaymentRequired, errorBody("card_error", code, object{"payment_intent": intent})
}

// cancel cancels a payment, unless it is too late.
func cancel(intent object) (status int, body object) {
	switch intent["status"] {
	case "succeeded", "processing", "canceled":
		return http.StatusBadRequest, errorBody("invalid_request_error", "payment_intent_unexpected_state", noFields)
	}

	intent["status"], intent["next_action"] = "canceled", nil

	return http.StatusOK, intent
}

// parseQuery returns the predicate of a search query. An invalid query matches no object.
func parseQuery(query string) func(object) bool {
	match := stripeQuery.FindStringSubmatch(query)
	if match == nil {
		return func(object) bool { return false }
	}

	key, value := match[1], match[2]

	return hasMetadata(key, value)
}

// hasMetadata matches objects with the value in their metadata.
func hasMetadata(key, value string) func(object) bool {
	return func(o object) bool {
		metadata, hasAny := o["metadata"].(object)
		return hasAny && metadata[key] == value
	}
}

// listBody returns the body of a response with a list.
func listBody(data []object) object {
	if data == nil {
		data = []object{} // encoded as [] and not as null
	}

	return object{"object": "list", "has_more": false, "data": data}
}

// metadata returns the form fields metadata[KEY].
func metadata(form url.Values) object {
	byKey := object{}
	for name, values := range form {
		if key, isMetadata := strings.CutPrefix(name, "metadata["); isMetadata {
			byKey[strings.TrimSuffix(key, "]")] = values[0]
		}
	}

	return byKey
}

// create stores a new object with the next id.
func (s *Stripe) create(idPrefix, objectType string, o object) object {
	s.lastID++
	o["id"] = fmt.Sprintf("%s_%d", idPrefix, s.lastID)
	o["object"] = objectType
	o["created"] = s.now().Unix()
	s.objectsByID[o["id"].(string)] = o

	return o
}

// listObjects returns the objects that match; their ids begin with the prefix.
func (s *Stripe) listObjects(idPrefix string, matches func(object) bool) (found []object) {
	for id, o := range s.objectsByID {
		if strings.HasPrefix(id, idPrefix+"_") && matches(o) {
			found = append(found, o)
		}
	}

	return found
}

// listIntents returns the payment intents that match, newest first.
func (s *Stripe) listIntents(matches func(object) bool) []object {
	intents := s.listObjects("pi", matches)

	// The ids end with increasing numbers. The number of the longer id is higher: pi_10 is newer than pi_9.
	slices.SortFunc(intents, func(a, b object) int {
		idA, idB := a["id"].(string), b["id"].(string)
		return cmp.Or(len(idB)-len(idA), strings.Compare(idB, idA))
	})

	return intents
}
