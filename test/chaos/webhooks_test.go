package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
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

// privateReceivers allows receivers on this machine.
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

// TestWebhooks_ProcessKilled_NothingIsLost checks the same on SQLite with one process.
func TestWebhooks_ProcessKilled_NothingIsLost(t *testing.T) {
	t.Parallel()
	inst := newInstallation(t, "", privateReceivers)
	inst.victims = []victim{inst.process("serve")}
	inst.deliverUnderKills()
}

// subject identifies events of one kind about one object, the unit in which tests
// count.
type subject struct{ kind, id string }

// eventCounts holds how many events of each subject certainly happened, and how
// many more may have happened in requests with an unknown outcome.
type eventCounts struct {
	mu                sync.Mutex
	certain           map[subject]int
	maybe             map[subject]int
	unknownCreations  int // creations of unknown outcome
	accepted, refused int
}

// record counts the response to a change that produces one event.
func (c *eventCounts) record(status int, err error, event subject) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil || status >= 500:
		if event.id == "" {
			c.unknownCreations++
		} else {
			c.maybe[event]++
		}
	case status < 300:
		c.certain[event]++
		c.accepted++
	}
}

// The modes of a receiver: what it does with a delivery.
const (
	// Success, status 500, no response until the mode changes, and a reset connection.
	modeRespond = iota
	modeFail
	modeHang
	modeReset
)

// webhookReceiver is a receiver and the deliveries it got.
type webhookReceiver struct {
	*httptest.Server
	name, app, path string // the id of the application, and the path of the endpoint
	owner           user
	// isAuthorized reports whether the owner may see the applicant's
	// applications.
	isAuthorized func(applicant string) bool
	verifier     *standardwebhooks.Webhook

	mu       sync.Mutex
	mode     int
	released chan struct{}
	bodies   map[string]string  // body by webhook-id
	accepted map[string]subject // answered with success
	problems []string
}

// ServeHTTP checks the signature and the body of a delivery, and responds as the mode says.
func (rec *webhookReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender was killed
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
	if before, again := rec.bodies[id]; again && before != string(raw) {
		rec.problems = append(rec.problems, "another body for "+id)
	}
	rec.bodies[id] = string(raw)
	recordAccepted := func() { rec.accepted[id] = subject{body.Type, body.Data.ID + body.Data.ApplicationID} }
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
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		}
	}
}

// setMode changes how the receiver responds, and releases the requests that it
// holds.
func (rec *webhookReceiver) setMode(mode int) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	close(rec.released)
	rec.mode, rec.released = mode, make(chan struct{})
}

// newReceiver creates an app with one endpoint that subscribes to all events.
func (in *installation) newReceiver(name string, owner user, hears func(applicant string) bool) *webhookReceiver {
	in.t.Helper()
	receiver := &webhookReceiver{
		name:         name,
		owner:        owner,
		isAuthorized: hears,
		released:     make(chan struct{}),
		bodies:       map[string]string{},
		accepted:     map[string]subject{},
	}
	receiver.Server = httptest.NewServer(receiver)
	in.t.Cleanup(func() { receiver.setMode(modeRespond); receiver.Close() })
	receiver.app = in.must(owner, http.MethodPost, "/api/developers/apps", object{
		"name":         name,
		"redirectUris": []string{callback},
	})["app"].(object)["id"].(string)
	made := in.must(owner, http.MethodPost, "/api/developers/apps/"+receiver.app+"/webhooks",
		object{"url": receiver.URL, "events": integrations.EventTypes()})
	receiver.path = "/api/developers/apps/" + receiver.app + "/webhooks/" + made["webhook"].(object)["id"].(string)
	var err error
	receiver.verifier, err = standardwebhooks.NewWebhook(made["secret"].(string))
	require.NoError(in.t, err)
	return receiver
}

// callback is the redirect URI of the apps; no request is sent to it.
const callback = "https://receiver.invalid/callback"

// grantConsent lets the user grant the receiver's app access to applications on
// the consent pages.
func (in *installation) grantConsent(account user, receiver *webhookReceiver) {
	in.t.Helper()
	b := kit.NewBrowser(in.t, in.url, newAddress())
	signedIn := b.SignIn(account.email, password)
	require.Equal(in.t, http.StatusSeeOther, signedIn.Status, signedIn.Text)
	answer := b.Allow("/oauth/authorize?" + url.Values{
		"response_type":         {"code"},
		"client_id":             {receiver.app},
		"redirect_uri":          {callback},
		"scope":                 {string(integrations.ApplicationsRead)},
		"code_challenge":        {oauth2.S256ChallengeFromVerifier(oauth2.GenerateVerifier())},
		"code_challenge_method": {"S256"},
	}.Encode())
	require.Equal(in.t, http.StatusSeeOther, answer.Status, answer.Text)
	require.Contains(in.t, answer.Header.Get("Location"), callback+"?code=")
}

// deliverUnderKills produces events for failing receivers while the victims are
// killed, and then checks the deliveries of each receiver.
func (in *installation) deliverUnderKills() {
	events, kills := 90, 2*len(in.victims)
	if isFull() {
		events, kills = 1000, 8*len(in.victims)
	}
	employer := in.register("/api/auth/register-employer", object{"companyName": "Clinic"})
	seekers := []user{
		in.register("/api/auth/register", object{"userType": "jobseeker"}),
		in.register("/api/auth/register", object{"userType": "jobseeker"}),
	}
	stranger := in.register("/api/auth/register", object{"userType": "jobseeker"})
	consented := in.register("/api/auth/register", object{"userType": "jobseeker"})
	var ids []string
	for _, s := range seekers {
		ids = append(ids, in.must(s, http.MethodGet, "/api/auth/me", nil)["id"].(string))
	}
	isFirst := func(applicant string) bool { return applicant == ids[0] }
	// Each receiver may see other applications: those to the organization, those of one
	// applicant, those of the applicant who has consented, and none.
	receivers := []*webhookReceiver{
		in.newReceiver("organization", employer, func(string) bool { return true }),
		in.newReceiver("applicant", seekers[0], isFirst),
		in.newReceiver("consent", consented, isFirst),
		in.newReceiver("stranger", stranger, func(string) bool { return false }),
	}
	in.grantConsent(seekers[0], receivers[2])

	counts := &eventCounts{certain: map[subject]int{}, maybe: map[subject]int{}}
	applicants := &sync.Map{} // applicant by application
	killsEnded, loadEnded := make(chan struct{}), make(chan struct{})
	go func() { defer close(killsEnded); in.killVictims(kills) }()
	var changers sync.WaitGroup
	changers.Go(func() {
		for !isClosed(loadEnded) {
			receivers[rand.IntN(len(receivers))].setMode(rand.IntN(4))
			pause(300 * time.Millisecond)
		}
	})
	var load sync.WaitGroup
	for range 4 {
		load.Go(func() {
			enough := func() bool { counts.mu.Lock(); defer counts.mu.Unlock(); return counts.accepted >= events }
			for n := 0; !enough() || !isClosed(killsEnded); n++ {
				in.runListing(counts, employer, seekers[n%2], ids[n%2], applicants)
				if enough() {
					pause(200 * time.Millisecond) // until the last is killed
				}
			}
		})
	}
	load.Wait()
	close(loadEnded)
	changers.Wait()
	for _, receiver := range receivers {
		receiver.setMode(modeRespond)
	}
	in.t.Logf("%d changes accepted, %d refused, %d of unknown outcome", counts.accepted, counts.refused, counts.unknownCreations+len(counts.maybe))

	in.waitFannedOut()
	in.waitQuiet()
	for _, receiver := range receivers {
		in.replayFailed(receiver)
	}
	in.waitQuiet()
	for _, receiver := range receivers {
		require.Zero(in.t, in.deliveries(receiver, "pending")+in.deliveries(receiver, "failed"),
			"%s: replays to a working receiver succeed", receiver.name)
		receiver.requireEvents(in.t, counts, applicants)
	}
	bodies := map[string]string{}
	for _, receiver := range receivers {
		for id, body := range receiver.bodies {
			if before, there := bodies[id]; there {
				require.Equal(in.t, before, body, "all receivers get the same body")
			}
			bodies[id] = body
		}
	}
}

// runListing takes a listing from publication to deletion, with one application.
func (in *installation) runListing(counts *eventCounts, employer, seeker user, applicant string, applicants *sync.Map) {
	refused := func(account user, method, path string, body object) {
		if status, _, err := in.call(account, method, path, body); err == nil && status == 400 {
			counts.mu.Lock()
			counts.refused++
			counts.mu.Unlock()
		}
	}
	refused(employer, http.MethodPost, "/api/employers/jobs", object{"title": "", "description": "Days."})
	status, answer, err := in.call(employer, http.MethodPost, "/api/employers/jobs", object{"title": "Nurse", "description": "Days."})
	if err != nil || status >= 300 {
		counts.record(status, err, subject{})
		pause(50 * time.Millisecond)
		return
	}
	job := answer["data"].(object)["id"].(string)
	counts.record(status, nil, subject{"job.created", job})
	put := func(path string, body object, event subject) {
		status, _, err := in.call(employer, http.MethodPut, path, body)
		counts.record(status, err, event)
	}
	put("/api/employers/jobs/"+job, object{"title": fmt.Sprintf("Nurse %x", rand.Uint32())}, subject{"job.updated", job})
	refused(employer, http.MethodPut, "/api/employers/jobs/"+job, object{"title": ""})
	status, answer, err = in.call(seeker, http.MethodPost, "/api/jobseekers/applications", object{"listingId": job})
	if err != nil || status >= 300 {
		counts.record(status, err, subject{})
	} else {
		application := answer["data"].(object)["id"].(string)
		applicants.Store(application, applicant)
		counts.record(status, nil, subject{"application.submitted", application})
		for _, to := range []string{"review", "accepted"} {
			put("/api/employers/applications/"+application, object{"status": to}, subject{"application.status_changed", application})
			refused(employer, http.MethodPut, "/api/employers/applications/"+application, object{"status": "lost"})
		}
	}
	put("/api/employers/jobs/"+job, object{"status": "closed"}, subject{"job.closed", job})
}

// waitFannedOut waits until every event has its deliveries.
func (in *installation) waitFannedOut() {
	in.t.Helper()
	storage := in.openStorage()
	require.Eventually(in.t, func() bool {
		backlogs, events, err := countPending(in.t.Context(), storage)
		isForEvents := func(b task.Backlog) bool { return b.Queue == task.Events }
		return err == nil && events == 0 && !slices.ContainsFunc(backlogs, isForEvents)
	}, 3*time.Minute, 100*time.Millisecond, "not every event was relayed")
}

// waitQuiet waits until no delivery is due for a while: deliveries to working
// receivers have arrived, also those whose worker was killed, and the others have
// failed twice and are retried minutes later. After a long run the
// first deliveries are due again when the last one has failed, so there may be no
// quiet minute before the sixth attempt.
func (in *installation) waitQuiet() {
	in.t.Helper()
	storage := in.openStorage()
	require.Eventually(in.t, func() bool {
		endpoints, err := storage.Integrations.Webhooks.List(in.t.Context(), integrations.AnyOwner,
			integrations.EndpointFilter{}, "", 100)
		for _, endpoint := range endpoints {
			soon, failed := storage.Integrations.Deliveries.ListMessages(in.t.Context(), integrations.AnyOwner,
				endpoint.ID, integrations.MessageFilter{DueBy: time.Now().Add(time.Minute)}, 1)
			if err = errors.Join(err, failed); len(soon) > 0 {
				return false
			}
		}
		return err == nil
	}, 8*time.Minute, 100*time.Millisecond, "not every due delivery was sent")
}

// deliveries returns the number of deliveries with the status in the log of the webhook.
func (in *installation) deliveries(receiver *webhookReceiver, status string) int {
	in.t.Helper()
	return int(
		in.must(receiver.owner, http.MethodGet, receiver.path+"/deliveries?limit=1&status="+status, nil)["pagination"].(object)["total"].(float64),
	)
}

// replayFailed replays each failed delivery once, as an owner does after an outage
// of the receiver. Pending deliveries, whose next attempt may be hours away, are
// failed by pausing the webhook.
func (in *installation) replayFailed(receiver *webhookReceiver) {
	in.t.Helper()
	waiting, failed := in.deliveries(receiver, "pending"), in.deliveries(receiver, "failed")
	require.Zero(in.t, failed, "%s: no delivery has ten attempts", receiver.name)
	in.must(receiver.owner, http.MethodPut, receiver.path, object{"status": "paused"})
	require.Zero(in.t, in.deliveries(receiver, "pending"), receiver.name)
	in.must(receiver.owner, http.MethodPut, receiver.path, object{"status": "active"})
	since, again := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339), 0
	for again < waiting {
		n := int(in.must(receiver.owner, http.MethodPost, receiver.path+"/replay", object{"since": since})["count"].(float64))
		require.Positive(in.t, n, receiver.name)
		again += n
	}
	require.Equal(in.t, waiting, again, receiver.name)
	in.t.Logf("%s: %d deliveries had failed", receiver.name, again)
}

// requireEvents compares the deliveries with the events that happened.
func (rec *webhookReceiver) requireEvents(t *testing.T, counts *eventCounts, applicants *sync.Map) {
	t.Helper()
	rec.mu.Lock()
	defer rec.mu.Unlock()
	require.Empty(t, rec.problems, rec.name)
	got := map[subject]int{}
	for _, event := range rec.accepted {
		got[event]++
	}
	require.Len(t, rec.accepted, len(rec.bodies), "%s: failed deliveries succeeded later", rec.name)
	sees := func(event subject) bool {
		if !strings.HasPrefix(event.kind, "application.") {
			return true
		}
		applicant, known := applicants.Load(event.id)
		return known && rec.isAuthorized(applicant.(string))
	}
	unexpected := 0
	for event, n := range got {
		if counts.certain[event]+counts.maybe[event] == 0 {
			unexpected += n
			require.False(t, rec.name == "stranger" && strings.HasPrefix(event.kind, "application."), "%s: %v", rec.name, event)
			continue
		}
		require.True(t, sees(event), "%s is not authorized to receive %v", rec.name, event)
		require.LessOrEqual(t, n, counts.certain[event]+counts.maybe[event], "%s: %v", rec.name, event)
	}
	require.LessOrEqual(t, unexpected, counts.unknownCreations, "%s: there are no events without a change", rec.name)
	told := 0
	for event := range maps.Keys(counts.certain) {
		if sees(event) {
			told++
			require.GreaterOrEqual(t, got[event], counts.certain[event], "%s: %v", rec.name, event)
		}
	}
	t.Logf("%s: %d events about %d things", rec.name, len(rec.accepted), told)
}
