package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// keyedOperation is a writing operation that is interrupted and retried with its key.
type keyedOperation struct {
	who       user
	operation string // as the route table names it, after POST
	path      string
	body      func(n int) object // of the n-th request, which no other resembles
	status    int
	// remote operations return 409 after an interruption between their
	// transactions.
	remote bool
	// effects counts the effects of the n-th request.
	effects func(n int) int
}

// failpoints are where the process is killed, in the order in which a request
// passes them: after the claim; after the effect and after the response is
// stored, both before the commit; and before the response is sent.
var failpoints = []string{"begun", "effect", "answer", "done"}

// TestIdempotencyKey_KilledBetweenEffectAndAnswer_ExecutesOnce checks that a request with an
// Idempotency-Key has one effect, although the process is killed at each step of it and the
// client repeats it, and that later repetitions get the same status.
func TestIdempotencyKey_KilledBetweenEffectAndAnswer_ExecutesOnce(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		newInstallation(t, "").interruptKeyed()
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		newInstallation(t, kit.PostgresURL(t)).interruptKeyed()
	})
}

// interruptKeyed kills the process once for each operation and failpoint, and then repeats each
// request twice.
func (in *installation) interruptKeyed() {
	t := in.t
	server := in.process("serve")
	operations := in.keyedOperations()
	server.kill()

	type attempt struct {
		keyedOperation
		point string
		n     int
	}
	var attempts []attempt
	killedAt := failpoints
	if !isFull() {
		killedAt = []string{"effect", "done"}
	}
	for _, o := range operations {
		for _, point := range killedAt {
			if o.remote && point == "answer" {
				continue // its answer has a transaction of its own
			}
			attempts = append(attempts, attempt{o, point, len(attempts)})
		}
	}
	for _, a := range attempts {
		stop := in.serveWithFailpoint(a.point + " POST " + a.operation)
		_, _, err := in.send(a.keyedOperation, a.n)
		require.Error(t, err, "%s at %s: the process was not killed", a.operation, a.point)
		stop()
	}

	in.process("serve")
	in.must(operations[0].who, http.MethodGet, "/api/auth/me", nil) // waits for the start
	for _, a := range attempts {
		name := fmt.Sprintf("POST %s killed at %s", a.operation, a.point)
		var status int
		var code string
		require.Eventually(t, func() bool {
			var err error
			status, code, err = in.send(a.keyedOperation, a.n)
			return err == nil && code != "A request with this Idempotency-Key is still running"
		}, time.Minute, 100*time.Millisecond, name)
		// The result of a remote operation is not known after the crash, so the server refuses to
		// execute it again.
		if a.remote && a.point == "effect" {
			require.Equal(t, http.StatusConflict, status, name)
		} else {
			require.Equal(t, a.status, status, "%s: %s", name, code)
		}
		require.Equal(t, 1, a.effects(a.n), name)
		again, _, err := in.send(a.keyedOperation, a.n)
		require.NoError(t, err)
		require.Equal(t, status, again, name)
		require.Equal(t, 1, a.effects(a.n), name)
	}
}

// serveWithFailpoint starts a server that exits at the failpoint, and waits until
// it is ready.
func (in *installation) serveWithFailpoint(point string) (stop func()) {
	in.t.Helper()
	cmd := exec.Command(kit.FailingProgram(in.t), "serve")
	log, err := os.OpenFile(filepath.Join(in.dir, "failing.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(in.t, err)
	cmd.Dir, cmd.Stderr = in.dir, log
	cmd.Env = append(slices.Clone(in.env), "LOCUM_TEST_FAILPOINT="+point)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(in.t, cmd.Start())
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = log.Close()
	}
	in.t.Cleanup(stop)
	require.Eventually(in.t, func() bool {
		status, _, err := in.call(user{}, http.MethodGet, "/healthz", nil)
		return err == nil && status == http.StatusOK
	}, time.Minute, 20*time.Millisecond)
	return stop
}

// send sends the n-th request with its key, once: net/http would retry a request
// with this header. message is the error in the response.
func (in *installation) send(k keyedOperation, n int) (status int, message string, err error) {
	raw, err := json.Marshal(k.body(n))
	if err != nil {
		return 0, "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	// net/http cannot read a body of an unknown type a second time, so that it does not retry.
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, in.url+k.path, struct{ *bytes.Reader }{bytes.NewReader(raw)})
	if err != nil {
		return 0, "", err
	}
	request.ContentLength = int64(len(raw))
	request.Header = http.Header{
		"Authorization":   {"Bearer " + k.who.token},
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

// keyedOperations returns operations of every kind with what they need.
func (in *installation) keyedOperations() []keyedOperation {
	t := in.t
	employer := in.register("/api/auth/register-employer", object{"companyName": "St Brigid's"})
	seeker := in.register("/api/auth/register", object{"userType": "jobseeker"})
	// list returns the items of a list in the API, and count those of them whose field has the
	// value.
	list := func(account user, path, key string) []any {
		data := in.must(account, http.MethodGet, path, nil)
		if inner, ok := data["bookmarks"].(object); ok {
			data = inner
		}
		items, _ := data[key].([]any)
		return items
	}
	count := func(items []any, field string, want any) (n int) {
		for _, item := range items {
			if item.(object)[field] == want {
				n++
			}
		}
		return n
	}
	title := func(n int) string { return fmt.Sprintf("Staff Nurse %d", n) }
	titled := func(n int) object { return object{"title": title(n), "description": "Nights."} }
	// A user can apply for a listing once, so that each request needs another one.
	listings := map[int]string{}
	for n := range 40 {
		listings[n] = in.must(employer, http.MethodPost, "/api/employers/jobs", object{
			"title":       "Midwife",
			"description": "Days.",
		})["id"].(string)
	}
	app := in.must(seeker, http.MethodPost, "/api/developers/apps", object{"name": "Rota"})["app"].(object)["id"].(string)
	require.NotEmpty(t, app)
	return []keyedOperation{
		{who: employer, operation: "/api/employers/jobs", path: "/api/employers/jobs", body: titled, status: 201,
			effects: func(n int) int {
				return count(list(employer, "/api/employers/jobs?limit=100", "listings"), "title", title(n))
			}},
		{who: seeker, operation: "/api/jobseekers/applications", path: "/api/jobseekers/applications", status: 201,
			body: func(n int) object { return object{"listingId": listings[n], "coverLetter": "Dear ward"} },
			effects: func(n int) int {
				return count(list(seeker, "/api/jobseekers/applications?limit=100", "applications"), "listingId", listings[n])
			}},
		{who: employer, operation: "/api/employers/team", path: "/api/employers/team", status: 200,
			body: func(n int) object {
				return object{"intent": "add-member", "name": "Niamh Byrne", "email": fmt.Sprintf("niamh%d@example.org", n)}
			},
			effects: func(n int) int {
				return count(list(employer, "/api/employers/team?limit=100", "team"), "email", fmt.Sprintf("niamh%d@example.org", n))
			}},
		{
			who:       seeker,
			operation: "/api/developers/apps/:id/keys",
			path:      "/api/developers/apps/" + app + "/keys",
			status:    201,
			remote:    true,
			body:      func(n int) object { return object{"name": title(n)} },
			effects: func(n int) int {
				return count(list(seeker, "/api/developers/apps/"+app+"/keys", "keys"), "name", title(n))
			},
		},
		{who: seeker, operation: "/api/jobseekers/search", path: "/api/jobseekers/search", status: 200,
			body: func(n int) object { return object{"intent": "save-search", "name": title(n), "query": "nurse"} },
			effects: func(n int) int {
				settings := in.must(seeker, http.MethodGet, "/api/jobseekers/settings", nil)["settings"].(object)
				searches, _ := settings["bookmarks"].(object)["savedSearches"].([]any)
				return count(searches, "name", title(n))
			}},
		{
			who:       seeker,
			operation: "/api/jobseekers/documents",
			path:      "/api/jobseekers/documents",
			status:    200,
			remote:    true,
			body: func(n int) object {
				return object{"intent": "upload-document", "type": "cv", "title": title(n), "content": "Six years of critical care."}
			},
			effects: func(n int) int {
				return count(list(seeker, "/api/jobseekers/documents?limit=100", "documents"), "title", title(n))
			},
		},
	}
}
