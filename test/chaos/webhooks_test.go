package chaos

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit"
)

// privateReceivers is a setting of the program that allows receivers on this machine.
const privateReceivers = "LOCUM_WEBHOOKS_ALLOW_PRIVATE_NETWORKS=true"

// TestWebhooks_ServerAndWorkerKilled_NothingIsLost checks that each authorized receiver gets
// each event at least once, with the same id and body each time, while the server and the worker
// are killed and the receivers fail. PostgreSQL and Redis are used but keep running.
func TestWebhooks_ServerAndWorkerKilled_NothingIsLost(t *testing.T) {
	t.Parallel()

	inst := newInstallation(t, kit.PostgresURL(t), "LOCUM_QUEUE_URL="+kit.OwnRedis(t).URL, privateReceivers)
	inst.victims = []victim{inst.process("serve"), inst.process("worker")}
	inst.deliverUnderKills()
}

// TestWebhooks_SingleProcessKilled_NothingIsLost checks that each authorized receiver gets each
// event at least once, with the same id and body each time, on SQLite, where one process serves
// requests and sends webhooks, while this process is killed and the receivers fail.
func TestWebhooks_SingleProcessKilled_NothingIsLost(t *testing.T) {
	t.Parallel()

	inst := newInstallation(t, sqlite, privateReceivers)
	inst.victims = []victim{inst.process("serve")}
	inst.deliverUnderKills()
}

// eventKey identifies events of one type about one object, a listing or an application. There may be several
// such events, for example two changes of the status of an application. The test counts them by key.
type eventKey struct{ eventType, objectID string }

// eventCounts holds how many events with each key certainly happened, and how many more may have happened in
// requests with an unknown outcome.
type eventCounts struct {
	mu               sync.Mutex
	certain          map[eventKey]int
	maybe            map[eventKey]int
	unknownCreations int // creations with an unknown outcome, whose objects have no known id
	accepted         int // accepted requests
	refused          int // requests with invalid input, which were refused and produce no event
}

// record counts the response to a request that produces one event if it succeeds. The object id of the key is
// empty for a creation that did not succeed.
func (c *eventCounts) record(status int, err error, key eventKey) {
	c.mu.Lock()
	defer c.mu.Unlock()

	// The server may have been killed after it had stored the change.
	isUnknown := err != nil || status >= 500
	isSuccess := err == nil && status < 300

	switch {
	case isUnknown && key.objectID == "":
		c.unknownCreations++
	case isUnknown:
		c.maybe[key]++
	case isSuccess:
		c.certain[key]++
		c.accepted++
	default: // the server has refused the request, which produces no event
	}
}

// The modes of a receiver: what it does with a delivery.
const (
	modeRespond = iota // success
	modeFail           // status 500
	modeHang           // no response until the mode changes, then success
	modeReset          // reset connection
	modes              // the number of modes
)

// webhookReceiver is the server of a webhook endpoint, with the deliveries that it got. The header
// webhook-id of a delivery is the id of its event. Repeated deliveries have the same id.
type webhookReceiver struct {
	*httptest.Server
	name  string
	appID string
	path  string // of the webhook endpoint in the API
	owner user
	// isAuthorized reports whether the owner may see the applicant's applications.
	isAuthorized func(applicantID string) bool
	verifier     *standardwebhooks.Webhook

	mu       sync.Mutex
	mode     int
	released chan struct{}       // closed when the mode changes
	bodies   map[string]string   // of all deliveries, by webhook-id
	accepted map[string]eventKey // the events of successful deliveries, by webhook-id
	problems []string            // why deliveries are invalid
}

// ServeHTTP checks the signature and the body of a delivery, and responds as the mode says.
func (rec *webhookReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender was killed and has not sent the whole body
	}

	var body struct {
		Type string
		Data struct {
			ID            string
			ApplicationID string `json:"application_id"`
			CandidateID   string `json:"candidate_id"`
		}
	}
	id := r.Header.Get("webhook-id")

	rec.mu.Lock()

	mode, released := rec.mode, rec.released
	if err := rec.verifier.Verify(raw, r.Header); err != nil {
		rec.problems = append(rec.problems, "not signed: "+err.Error())
	}

	if err := json.Unmarshal(raw, &body); err != nil {
		rec.problems = append(rec.problems, err.Error())
	}

	if previous, isRepeated := rec.bodies[id]; isRepeated && previous != string(raw) {
		rec.problems = append(rec.problems, "another body for "+id)
	}

	rec.bodies[id] = string(raw)

	// An event about an application has its id in another field than an event about a listing.
	objectID := body.Data.ID
	if body.Data.ApplicationID != "" {
		objectID = body.Data.ApplicationID
	}

	recordAccepted := func() { rec.accepted[id] = eventKey{eventType: body.Type, objectID: objectID} }
	if mode == modeRespond {
		recordAccepted()
	}

	rec.mu.Unlock()

	switch mode {
	case modeFail:
		w.WriteHeader(http.StatusInternalServerError)
	case modeHang:
		select {
		case <-released: // the response is a success after all
			rec.mu.Lock()
			recordAccepted()
			rec.mu.Unlock()
		case <-r.Context().Done():
		}
	case modeReset:
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = conn.(*net.TCPConn).SetLinger(0) // Close then resets the connection
			_ = conn.Close()
		}
	}
}

// setMode changes how the receiver responds, and releases the requests that it has not responded to
// yet (modeHang).
func (rec *webhookReceiver) setMode(mode int) {
	rec.mu.Lock()
	defer rec.mu.Unlock()

	close(rec.released)

	rec.mode = mode
	rec.released = make(chan struct{})
}

// newReceiver starts a receiver and creates the owner's app with one endpoint that subscribes to
// all events.
func (inst *installation) newReceiver(
	name string, owner user, isAuthorized func(applicantID string) bool,
) *webhookReceiver {
	inst.t.Helper()

	receiver := &webhookReceiver{
		name:         name,
		owner:        owner,
		isAuthorized: isAuthorized,
		released:     make(chan struct{}),
		bodies:       map[string]string{},
		accepted:     map[string]eventKey{},
	}
	receiver.Server = httptest.NewServer(receiver)
	inst.t.Cleanup(func() {
		receiver.setMode(modeRespond) // Close waits for the requests that the receiver holds
		receiver.Close()
	})

	app := object{"name": name, "redirectUris": []string{callback}}
	receiver.appID = inst.must(owner, http.MethodPost, "/api/developers/apps", app)["app"].(object)["id"].(string)
	webhooksPath := "/api/developers/apps/" + receiver.appID + "/webhooks"
	created := inst.must(owner, http.MethodPost, webhooksPath,
		object{"url": receiver.URL, "events": integrations.EventTypes()})
	receiver.path = webhooksPath + "/" + created["webhook"].(object)["id"].(string)
	var err error
	receiver.verifier, err = standardwebhooks.NewWebhook(created["secret"].(string))
	require.NoError(inst.t, err)

	return receiver
}

// callback is the redirect URI of the apps; no request is sent to it.
const callback = "https://receiver.invalid/callback"

// grantConsent lets the user grant the receiver's app access to applications on
// the consent pages.
func (inst *installation) grantConsent(account user, receiver *webhookReceiver) {
	inst.t.Helper()

	browser := kit.NewBrowser(inst.t, inst.url, newAddress())
	signedIn := browser.SignIn(account.email, password)
	require.Equal(inst.t, http.StatusSeeOther, signedIn.Status, signedIn.Text)

	consented := browser.Allow("/oauth/authorize?" + url.Values{
		"response_type":         {"code"},
		"client_id":             {receiver.appID},
		"redirect_uri":          {callback},
		"scope":                 {string(integrations.ApplicationsRead)},
		"code_challenge":        {oauth2.S256ChallengeFromVerifier(oauth2.GenerateVerifier())},
		"code_challenge_method": {"S256"},
	}.Encode())
	require.Equal(inst.t, http.StatusSeeOther, consented.Status, consented.Text)
	require.Contains(inst.t, consented.Header.Get("Location"), callback+"?code=")
}

// deliverUnderKills produces events for failing receivers while the victims are
// killed, and then checks the deliveries of each receiver.
func (inst *installation) deliverUnderKills() {
	// The short form is for every run of the tests. isFull reports the long one, which `make chaos` runs.
	minAccepted, killsPerVictim := 90, 2
	if isFull() {
		minAccepted, killsPerVictim = 1000, 8
	}

	employer := inst.registerEmployer()
	applicants := []applicant{inst.registerApplicant(), inst.registerApplicant()}
	isFirst := func(applicantID string) bool { return applicantID == applicants[0].id }

	// The owner of each receiver may see other applications: the organization those of both applicants to its
	// listings, the first applicant the own ones, the owner of an app to which the first applicant consents the
	// same ones, and the stranger none.
	ofAll := func(string) bool { return true }
	ofNone := func(string) bool { return false }

	withConsent := inst.newReceiver("consent", inst.registerSeeker(), isFirst)
	inst.grantConsent(applicants[0].user, withConsent)

	receivers := []*webhookReceiver{
		inst.newReceiver("organization", employer, ofAll),
		inst.newReceiver("applicant", applicants[0].user, isFirst),
		withConsent,
		inst.newReceiver("stranger", inst.registerSeeker(), ofNone),
	}

	counts := &eventCounts{certain: map[eventKey]int{}, maybe: map[eventKey]int{}}
	applicantIDs := &sync.Map{} // by application id

	// Three activities run at the same time: kills, changes of the receivers' modes, and requests that cause events.
	killsEnded := make(chan struct{})
	go func() {
		defer close(killsEnded)

		inst.killVictims(killsPerVictim * len(inst.victims))
	}()

	loadEnded := make(chan struct{})
	var changingModes sync.WaitGroup
	changingModes.Go(func() {
		for !isClosed(loadEnded) {
			receivers[rand.IntN(len(receivers))].setMode(rand.IntN(modes))
			pause(300 * time.Millisecond)
		}
	})

	const workers = 4

	var load sync.WaitGroup
	for range workers {
		load.Go(func() {
			needsMore := func() bool { return counts.acceptedSoFar() < minAccepted || !isClosed(killsEnded) }
			for n := 0; needsMore(); n++ {
				inst.runListing(counts, employer, applicants[n%len(applicants)], applicantIDs)

				if counts.acceptedSoFar() >= minAccepted {
					pause(200 * time.Millisecond) // no more load than necessary until the last kill
				}
			}
		})
	}

	// The load ends after the last kill. Then all receivers work again.
	load.Wait()
	close(loadEnded)
	changingModes.Wait()

	for _, receiver := range receivers {
		receiver.setMode(modeRespond)
	}

	inst.t.Logf("%d changes accepted, %d refused, %d of unknown outcome",
		counts.accepted, counts.refused, counts.unknownCreations+len(counts.maybe))
	inst.requireDeliveries(receivers, counts, applicantIDs)
}

// requireDeliveries waits for the deliveries and replays those that have failed. Then it requires that
// each receiver got the events that its owner may see, and that all receivers got the same body of an
// event.
func (inst *installation) requireDeliveries(
	receivers []*webhookReceiver, counts *eventCounts, applicantIDs *sync.Map,
) {
	inst.t.Helper()
	inst.waitFannedOut()
	inst.waitUntilNoneDue()

	for _, receiver := range receivers {
		inst.replayFailed(receiver)
	}

	inst.waitUntilNoneDue()

	for _, receiver := range receivers {
		require.Zero(inst.t, inst.countDeliveries(receiver, "pending")+inst.countDeliveries(receiver, "failed"),
			"%s: replays to a working receiver succeed", receiver.name)
		receiver.requireEvents(inst.t, counts, applicantIDs)
	}

	bodies := map[string]string{} // by webhook-id
	for _, receiver := range receivers {
		for id, body := range receiver.bodies {
			if other, isKnown := bodies[id]; isKnown {
				require.Equal(inst.t, other, body, "all receivers get the same body")
			}

			bodies[id] = body
		}
	}
}

// applicant is a jobseeker with the id of the account.
type applicant struct {
	user
	id string
}

// registerApplicant creates the account of a jobseeker and returns its id, too.
func (inst *installation) registerApplicant() applicant {
	inst.t.Helper()

	account := inst.registerSeeker()

	return applicant{user: account, id: inst.must(account, http.MethodGet, "/api/auth/me", nil)["id"].(string)}
}

// acceptedSoFar returns the number of accepted requests.
func (c *eventCounts) acceptedSoFar() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.accepted
}

// runListing publishes a listing, changes it, applies for it, decides on the application and
// closes the listing. It sends invalid requests in between, which must produce no event.
func (inst *installation) runListing(
	counts *eventCounts, employer user, applicant applicant, applicantIDs *sync.Map,
) {
	requestInvalid := func(method, path string, input object) {
		status, _, err := inst.call(employer, method, path, input)
		if err == nil && status == http.StatusBadRequest {
			counts.mu.Lock()
			counts.refused++
			counts.mu.Unlock()
		}
	}

	put := func(path string, input object, key eventKey) {
		status, _, err := inst.call(employer, http.MethodPut, path, input)
		counts.record(status, err, key)
	}

	requestInvalid(http.MethodPost, "/api/employers/jobs", object{"title": "", "description": "Days."})

	listing := object{"title": "Nurse", "description": "Days."}

	status, body, err := inst.call(employer, http.MethodPost, "/api/employers/jobs", listing)
	if err != nil || status >= 300 {
		counts.record(status, err, eventKey{})
		pause(50 * time.Millisecond)
		return
	}

	jobID := body["data"].(object)["id"].(string)
	jobPath := "/api/employers/jobs/" + jobID
	counts.record(status, nil, eventKey{eventType: "job.created", objectID: jobID})

	newTitle := fmt.Sprintf("Nurse %x", rand.Uint32())
	put(jobPath, object{"title": newTitle}, eventKey{eventType: "job.updated", objectID: jobID})
	requestInvalid(http.MethodPut, jobPath, object{"title": ""})

	status, body, err = inst.call(applicant.user, http.MethodPost, "/api/jobseekers/applications",
		object{"listingId": jobID})
	if err != nil || status >= 300 {
		counts.record(status, err, eventKey{})
	} else {
		applicationID := body["data"].(object)["id"].(string)
		applicationPath := "/api/employers/applications/" + applicationID
		applicantIDs.Store(applicationID, applicant.id)
		counts.record(status, nil, eventKey{eventType: "application.submitted", objectID: applicationID})

		statusChanged := eventKey{eventType: "application.status_changed", objectID: applicationID}
		for _, to := range []string{"review", "accepted"} {
			put(applicationPath, object{"status": to}, statusChanged)
			requestInvalid(http.MethodPut, applicationPath, object{"status": "lost"})
		}
	}

	put(jobPath, object{"status": "closed"}, eventKey{eventType: "job.closed", objectID: jobID})
}

// waitFannedOut waits until every event has its deliveries: one for each endpoint that subscribes to it and
// may receive it. Tasks in the queue task.Events create them. So there must be no event in the outbox and
// no task in that queue.
func (inst *installation) waitFannedOut() {
	inst.t.Helper()

	storage := inst.openStorage()
	require.Eventually(inst.t, func() bool {
		backlogs, events, err := countPending(inst.t.Context(), storage)
		isForEvents := func(b task.Backlog) bool { return b.Queue == task.Events }
		return err == nil && events == 0 && !slices.ContainsFunc(backlogs, isForEvents)
	}, 3*time.Minute, 100*time.Millisecond, "not every event was relayed")
}

// waitUntilNoneDue waits until no delivery is due within the next minute. Then all deliveries to working
// receivers have arrived, including those whose worker was killed during an attempt. All other deliveries have
// failed at least twice, because only the attempt after the second failure is minutes away.
//
// The full test needs the long timeout. Its deliveries begin over many minutes, so that the first ones are due
// again when the last ones have failed twice. The time between two attempts grows with each attempt. In the
// worst case, no delivery is due for a minute only after the sixth attempts.
func (inst *installation) waitUntilNoneDue() {
	inst.t.Helper()

	storage := inst.openStorage()
	require.Eventually(inst.t, func() bool {
		const firstPage = ""

		endpoints, err := storage.Integrations.Webhooks.List(inst.t.Context(), integrations.AnyOwner,
			integrations.EndpointFilter{}, firstPage, 100)
		if err != nil {
			return false
		}

		for _, endpoint := range endpoints {
			due, err := storage.Integrations.Deliveries.ListMessages(inst.t.Context(), integrations.AnyOwner,
				endpoint.ID, integrations.MessageFilter{DueBy: time.Now().Add(time.Minute)}, 1)
			if err != nil || len(due) > 0 {
				return false
			}
		}

		return true
	}, 8*time.Minute, 100*time.Millisecond, "not every due delivery was sent")
}

// countDeliveries returns the number of deliveries with the status in the log of the webhook.
func (inst *installation) countDeliveries(receiver *webhookReceiver, status string) int {
	inst.t.Helper()

	list := inst.must(receiver.owner, http.MethodGet, receiver.path+"/deliveries?limit=1&status="+status, nil)

	return int(list["pagination"].(object)["total"].(float64))
}

// replayFailed replays each delivery that the receiver has not accepted, once, as an owner does after an
// outage of the receiver. Such deliveries are pending, and their next attempt may be due in hours. Only failed
// deliveries can be replayed. So replayFailed first pauses the webhook, which makes pending deliveries failed
// ones.
func (inst *installation) replayFailed(receiver *webhookReceiver) {
	inst.t.Helper()

	// A delivery fails by itself after ten attempts, for which the test is too short.
	pending := inst.countDeliveries(receiver, "pending")
	require.Zero(inst.t, inst.countDeliveries(receiver, "failed"), "%s: no delivery has ten attempts", receiver.name)
	inst.must(receiver.owner, http.MethodPut, receiver.path, object{"status": "paused"})
	require.Zero(inst.t, inst.countDeliveries(receiver, "pending"), receiver.name)
	inst.must(receiver.owner, http.MethodPut, receiver.path, object{"status": "active"})

	since := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339) // before the test

	// Each request replays a limited number of deliveries and returns this number. Their sum must be the
	// number of all: a higher sum would mean that a delivery was replayed twice.
	replayed := 0
	for replayed < pending {
		response := inst.must(receiver.owner, http.MethodPost, receiver.path+"/replay", object{"since": since})
		count := int(response["count"].(float64))
		require.Positive(inst.t, count, receiver.name)

		replayed += count
	}

	require.Equal(inst.t, pending, replayed, receiver.name)
	inst.t.Logf("%s: %d deliveries had failed", receiver.name, replayed)
}

// requireEvents requires three things of the events that the receiver got. It got every event that certainly
// happened and that its owner may see. It got no event that its owner may not see. It got no more events
// than may have happened.
func (rec *webhookReceiver) requireEvents(t *testing.T, counts *eventCounts, applicantIDs *sync.Map) {
	t.Helper()
	rec.mu.Lock()
	defer rec.mu.Unlock()

	// Each delivery was valid, and each one that ever arrived was accepted in the end.
	require.Empty(t, rec.problems, rec.name)
	require.Len(t, rec.accepted, len(rec.bodies), "%s: failed deliveries succeeded later", rec.name)

	received := map[eventKey]int{}
	for _, key := range rec.accepted {
		received[key]++
	}

	isAuthorized := func(key eventKey) bool {
		if !key.isAboutApplication() {
			return true // listings are public
		}

		applicantID, isKnown := applicantIDs.Load(key.objectID)

		return isKnown && rec.isAuthorized(applicantID.(string))
	}

	// Check the received events: each of them may have happened, and the owner may see it.
	ofUnknownCreations := 0
	for key, n := range received {
		possible := counts.certain[key] + counts.maybe[key]
		if possible == 0 {
			// No request is known for this key. So its object was created by a request without a response.
			// The test does not know the applicant of such an object, but the stranger may see none at all.
			ofUnknownCreations += n

			isLeak := rec.name == "stranger" && key.isAboutApplication()
			require.False(t, isLeak, "the stranger is not authorized to receive %v", key)
			continue
		}

		require.True(t, isAuthorized(key), "%s is not authorized to receive %v", rec.name, key)
		require.LessOrEqual(t, n, possible, "%s received more events than happened: %v", rec.name, key)
	}

	require.LessOrEqual(t, ofUnknownCreations, counts.unknownCreations, "%s: events without a change", rec.name)

	// Check that no event is missing that certainly happened and that the owner may see.
	keys := 0
	for key, n := range counts.certain {
		if isAuthorized(key) {
			keys++

			require.GreaterOrEqual(t, received[key], n, "%s did not receive all events: %v", rec.name, key)
		}
	}

	t.Logf("%s: %d events, of %d keys that it may see", rec.name, len(rec.accepted), keys)
}

// isAboutApplication reports whether the events are about an application, not about a listing.
func (k eventKey) isAboutApplication() bool { return strings.HasPrefix(k.eventType, "application.") }
