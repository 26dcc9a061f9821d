package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// keyedOperation is a POST operation whose requests are interrupted and repeated with their
// Idempotency-Key.
type keyedOperation struct {
	who    user
	route  string             // as the route table names it
	path   string             // of the requests
	body   func(n int) object // of the n-th request, different for each n
	status int                // of a successful response
	// isRemote marks operations that call another service, between two transactions. Whether the
	// call took effect is unknown after an interruption, so that a repetition gets 409.
	isRemote bool
	// countEffects counts the effects of the n-th request.
	countEffects func(n int) int
}

// The failpoints at which the process kills itself, in the order in which a request passes them. Their
// values are names in the build of kit.FailingProgram, which kills itself at the failpoint that is set.
const (
	afterClaim    = "begun"  // the key is claimed
	afterEffect   = "effect" // before the commit
	afterResponse = "answer" // the response is stored, before the commit
	beforeSending = "done"   // committed
)

// TestIdempotencyKey_ProcessKilled_ExecutesOnce checks that a request with an Idempotency-Key has one
// effect, although the process is killed while it executes the request, and the client repeats the
// request. Later repetitions get the same status. The process is killed at each step in turn.
func TestIdempotencyKey_ProcessKilled_ExecutesOnce(t *testing.T) {
	t.Parallel()

	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		newInstallation(t, sqlite).requireExecutedOnce()
	})

	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		newInstallation(t, kit.PostgresURL(t)).requireExecutedOnce()
	})
}

// interruption is the n-th request, an operation during which the process is killed at a failpoint.
type interruption struct {
	keyedOperation
	failpoint string
	n         int
}

// requireExecutedOnce kills the process once for each operation and failpoint, repeats each
// request twice, and requires that it has had one effect.
func (inst *installation) requireExecutedOnce() {
	server := inst.process("serve")
	operations := inst.keyedOperations()

	server.kill()

	failpoints := []string{afterEffect, beforeSending}
	if isFull() {
		failpoints = []string{afterClaim, afterEffect, afterResponse, beforeSending}
	}

	var interruptions []interruption
	for _, operation := range operations {
		for _, failpoint := range failpoints {
			// A remote operation never passes afterResponse: its response is stored in a transaction of
			// its own.
			if operation.isRemote && failpoint == afterResponse {
				continue
			}

			interruptions = append(interruptions, interruption{
				keyedOperation: operation,
				failpoint:      failpoint,
				n:              len(interruptions),
			})
		}
	}

	for _, i := range interruptions {
		// The process kills itself during the request, so that the client gets no response.
		stop := inst.serveWithFailpoint(i.failpoint + " POST " + i.route)
		_, _, err := inst.sendOnce(i.keyedOperation, i.n)
		require.Error(inst.t, err, "%s at %s: the process was not killed", i.route, i.failpoint)
		stop()
	}

	inst.process("serve")
	inst.must(operations[0].who, http.MethodGet, "/api/auth/me", nil) // waits for the start

	for _, i := range interruptions {
		inst.requireRepeatable(i)
	}
}

// requireRepeatable repeats an interrupted request twice, and requires the same status each time
// and one effect in total.
func (inst *installation) requireRepeatable(i interruption) {
	t := inst.t
	t.Helper()

	name := fmt.Sprintf("POST %s killed at %s", i.route, i.failpoint)
	var status int
	var message string
	require.Eventually(t, func() bool {
		var err error
		status, message, err = inst.sendOnce(i.keyedOperation, i.n)
		isRunning := message == "A request with this Idempotency-Key is still running"

		return err == nil && !isRunning
	}, time.Minute, 100*time.Millisecond, "no final response to a repetition of %s", name)

	// Whether the call of another service took effect is unknown.
	isUnknown := i.isRemote && i.failpoint == afterEffect
	if isUnknown {
		require.Equal(t, http.StatusConflict, status, name)
	} else {
		require.Equal(t, i.status, status, "%s: %s", name, message)
	}

	require.Equal(t, 1, i.countEffects(i.n), "effects of %s", name)

	// The second repetition gets the stored status and has no further effect.
	statusOfSecond, _, err := inst.sendOnce(i.keyedOperation, i.n)
	require.NoError(t, err)
	require.Equal(t, status, statusOfSecond, "status of the second repetition of %s", name)
	require.Equal(t, 1, i.countEffects(i.n), "effects of %s after two repetitions", name)
}

// serveWithFailpoint starts a server that kills itself at the failpoint, which has the form "NAME
// METHOD ROUTE", and waits until it is ready.
func (inst *installation) serveWithFailpoint(failpoint string) (stop func()) {
	inst.t.Helper()

	cmd := exec.Command(kit.FailingProgram(inst.t), "serve")
	log := inst.openLog("failing")
	cmd.Dir = inst.dir
	cmd.Stderr = log
	cmd.Env = append(slices.Clone(inst.env), "LOCUM_TEST_FAILPOINT="+failpoint)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(inst.t, cmd.Start())

	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = log.Close()
	}

	inst.t.Cleanup(stop)
	require.Eventually(inst.t, func() bool {
		status, _, err := inst.call(user{}, http.MethodGet, "/healthz", nil)
		return err == nil && status == http.StatusOK
	}, time.Minute, 20*time.Millisecond)

	return stop
}

// sendOnce sends the n-th request with its key and returns the error message of the response.
func (inst *installation) sendOnce(o keyedOperation, n int) (status int, message string, err error) {
	raw, err := json.Marshal(o.body(n))
	if err != nil {
		return 0, "", err
	}

	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()

	// The HTTP client would repeat a request with an Idempotency-Key itself. It does not if it cannot
	// read the body a second time, as with this type, which it does not know.
	body := struct{ *bytes.Reader }{bytes.NewReader(raw)}

	request, err := http.NewRequestWithContext(ctx, http.MethodPost, inst.url+o.path, body)
	if err != nil {
		return 0, "", err
	}

	request.ContentLength = int64(len(raw))
	request.Header = http.Header{
		"Authorization":   {"Bearer " + o.who.token},
		"Content-Type":    {"application/json"},
		"X-Forwarded-For": {newAddress()},
		"Idempotency-Key": {fmt.Sprintf("key-%d", n)},
	}

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}

	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Error string `json:"error"`
	}

	return response.StatusCode, answer.Error, json.NewDecoder(response.Body).Decode(&answer)
}

// keyedOperations returns operations of every kind, with the users and objects that they need.
func (inst *installation) keyedOperations() []keyedOperation {
	employer := inst.registerEmployer()
	seeker := inst.registerSeeker()
	title := func(n int) string { return fmt.Sprintf("Staff Nurse %d", n) }
	email := func(n int) string { return fmt.Sprintf("niamh%d@example.org", n) }

	// A user can apply for a listing once, so that each request needs another one.
	const maxRequests = 40

	var listingIDs [maxRequests]string
	for n := range maxRequests {
		listing := object{"title": "Midwife", "description": "Days."}
		listingIDs[n] = inst.must(employer, http.MethodPost, "/api/employers/jobs", listing)["id"].(string)
	}

	created := inst.must(seeker, http.MethodPost, "/api/developers/apps", object{"name": "Rota"})
	appID := created["app"].(object)["id"].(string)
	require.NotEmpty(inst.t, appID)

	keysPath := "/api/developers/apps/" + appID + "/keys"

	return []keyedOperation{
		{
			who:    employer,
			route:  "/api/employers/jobs",
			path:   "/api/employers/jobs",
			status: http.StatusCreated,
			body:   func(n int) object { return object{"title": title(n), "description": "Nights."} },
			countEffects: func(n int) int {
				return countItems(inst.list(employer, "/api/employers/jobs?limit=100", "listings"), "title", title(n))
			},
		},
		{
			who:    seeker,
			route:  "/api/jobseekers/applications",
			path:   "/api/jobseekers/applications",
			status: http.StatusCreated,
			body:   func(n int) object { return object{"listingId": listingIDs[n], "coverLetter": "Dear ward"} },
			countEffects: func(n int) int {
				applications := inst.list(seeker, "/api/jobseekers/applications?limit=100", "applications")
				return countItems(applications, "listingId", listingIDs[n])
			},
		},
		{
			who:    employer,
			route:  "/api/employers/team",
			path:   "/api/employers/team",
			status: http.StatusOK,
			body: func(n int) object {
				return object{"intent": "add-member", "name": "Niamh Byrne", "email": email(n)}
			},
			countEffects: func(n int) int {
				return countItems(inst.list(employer, "/api/employers/team?limit=100", "team"), "email", email(n))
			},
		},
		{
			who:          seeker,
			route:        "/api/developers/apps/:id/keys",
			path:         keysPath,
			status:       http.StatusCreated,
			isRemote:     true,
			body:         func(n int) object { return object{"name": title(n)} },
			countEffects: func(n int) int { return countItems(inst.list(seeker, keysPath, "keys"), "name", title(n)) },
		},
		{
			who:    seeker,
			route:  "/api/jobseekers/search",
			path:   "/api/jobseekers/search",
			status: http.StatusOK,
			body:   func(n int) object { return object{"intent": "save-search", "name": title(n), "query": "nurse"} },
			countEffects: func(n int) int {
				settings := inst.must(seeker, http.MethodGet, "/api/jobseekers/settings", nil)["settings"].(object)
				searches, _ := settings["bookmarks"].(object)["savedSearches"].([]any)
				return countItems(searches, "name", title(n))
			},
		},
		{
			who:      seeker,
			route:    "/api/jobseekers/documents",
			path:     "/api/jobseekers/documents",
			status:   http.StatusOK,
			isRemote: true,
			body: func(n int) object {
				return object{
					"intent":  "upload-document",
					"type":    "cv",
					"title":   title(n),
					"content": "Six years of critical care.",
				}
			},
			countEffects: func(n int) int {
				return countItems(inst.list(seeker, "/api/jobseekers/documents?limit=100", "documents"), "title",
					title(n))
			},
		},
	}
}

// list returns the list at the key of a response's data.
func (inst *installation) list(account user, path, key string) []any {
	inst.t.Helper()

	data := inst.must(account, http.MethodGet, path, nil)
	if bookmarks, isNested := data["bookmarks"].(object); isNested {
		data = bookmarks
	}

	items, _ := data[key].([]any)

	return items
}

// countItems returns the number of items whose field has the value.
func countItems(items []any, field string, want any) (n int) {
	for _, item := range items {
		if item.(object)[field] == want {
			n++
		}
	}

	return n
}
