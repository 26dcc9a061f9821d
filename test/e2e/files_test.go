package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/services"
)

// uploads records the results of uploads of documents. Several goroutines may upload at the same time.
type uploads struct {
	mu        sync.Mutex
	contents  map[*account]map[string]string // of stored documents, by owner and document id
	succeeded int
	refused   int // with 503, when the file store is unavailable
}

// upload uploads a document of the owner, records the result, and returns the status of the response. It
// comes from a new address, because the route limits requests by address.
func (u *uploads) upload(t testing.TB, owner *account, content string) (status int) {
	t.Helper()

	document := object{"intent": "upload-document", "type": "cv", "title": "CV", "content": content}
	response := owner.fromNewAddress().try("POST", "/api/jobseekers/documents", document)

	u.mu.Lock()
	defer u.mu.Unlock()

	switch response.status {
	case http.StatusOK:
		if u.contents[owner] == nil {
			u.contents[owner] = map[string]string{}
		}

		u.contents[owner][response.text("data.document.id")] = content
		u.succeeded++
	case http.StatusServiceUnavailable:
		u.refused++
	default:
		t.Errorf("an upload got the response %d: %s", response.status, response.raw)
	}

	return response.status
}

// count returns the number of results so far. It may be called while uploads are running.
func (u *uploads) count() (succeeded, refused int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.succeeded, u.refused
}

// requireStored requires that every document whose upload succeeded has its content. No upload may be
// running.
func (u *uploads) requireStored(t testing.TB) {
	t.Helper()

	for owner, documents := range u.contents {
		for id, content := range documents {
			document := owner.fromNewAddress().get("/api/jobseekers/documents/" + id).ok(200)
			require.Equal(t, content, document.text("data.document.content"))
		}
	}
}

// TestS3Unavailable_UploadsFailInTimeAndNoneIsLost checks a server whose object storage refuses connections,
// and then one whose object storage hangs. Meanwhile uploads fail with 503 in bounded time, and the server
// stays ready. Afterwards, exports that were requested meanwhile are completed, and all documents whose
// upload succeeded have their content.
func TestS3Unavailable_UploadsFailInTimeAndNoneIsLost(t *testing.T) {
	t.Parallel()

	// The object storage of this test only, and a server that stores its files under the prefix e2e.
	s3 := kit.OwnS3(t)
	server := start(t, t.TempDir(), "LOCUM_FILES_URL="+strings.Replace(s3.URL, "?", "/e2e?", 1),
		"AWS_ACCESS_KEY_ID="+services.S3AccessKey, "AWS_SECRET_ACCESS_KEY="+services.S3SecretKey)
	seeker, employer := server.seeker(t), server.employer(t)
	documents := &uploads{contents: map[*account]map[string]string{}}
	require.Equal(t, 200, documents.upload(t, seeker, "before"))

	// bound is the time in which an upload must fail. A storage that hangs is noticed by timeouts only.
	restart := func() { require.NoError(t, s3.Start()) }
	for _, outage := range []outage{
		{name: "refusing", begin: s3.Kill, end: restart, bound: 15 * time.Second},
		{name: "hanging", begin: s3.Pause, end: s3.Resume, bound: time.Minute},
	} {
		outage.begin()

		// An upload fails, and the server stays ready.
		began := time.Now()

		require.Equal(t, 503, documents.upload(t, seeker, "during "+outage.name), outage.name)
		require.Less(t, time.Since(began), outage.bound, outage.name)
		require.Eventually(t, func() bool {
			readiness := seeker.try("GET", "/readyz", nil)
			return readiness.status == 200 && readiness.text("adapters.files") == "degraded"
		}, waitTimeout, 50*time.Millisecond, "the server is ready without the file store")

		// An export needs the storage for its file, and is completed after the outage.
		export := employer.fromNewAddress().post("/api/employers/exports", object{"kind": "jobs"}).ok(202).text("data.id")

		outage.end()
		require.Eventually(t, func() bool {
			return seeker.try("GET", "/readyz", nil).text("adapters.files") == "ok"
		}, waitTimeout, 50*time.Millisecond, "the file store is not available again")
		require.Equal(t, 200, documents.upload(t, seeker, "after "+outage.name))
		require.Eventually(t, func() bool {
			return employer.get("/api/employers/exports/"+export).ok(200).text("data.status") == "completed"
		}, 3*time.Minute, 200*time.Millisecond, "the export was not retried") // the time between retries grows
		documents.requireStored(t)
	}
}

// TestS3Killed_DuringUploads_NoneIsLost kills the object storage three times while clients upload documents.
// Every document whose upload was reported as successful must have its content afterwards.
func TestS3Killed_DuringUploads_NoneIsLost(t *testing.T) {
	t.Parallel()

	s3 := kit.OwnS3(t)
	server := start(t, t.TempDir(), "LOCUM_FILES_URL="+s3.URL, "AWS_ACCESS_KEY_ID="+services.S3AccessKey,
		"AWS_SECRET_ACCESS_KEY="+services.S3SecretKey)
	documents := &uploads{contents: map[*account]map[string]string{}}

	// Clients upload documents until stop is closed. A user can have a limited number of documents, so that
	// a client continues with a new user after ten.
	const (
		clients          = 4
		documentsPerUser = 10
		outages          = 3
	)

	stop := make(chan struct{})

	var load sync.WaitGroup
	for range clients {
		load.Go(func() {
			for user := 0; ; user++ {
				seeker := server.seeker(t)

				for document := range documentsPerUser {
					select {
					case <-stop:
						return
					default:
						content := fmt.Sprintf("%d.%d %s", user, document, strings.Repeat("I am a nurse. ", 5000))
						documents.upload(t, seeker, content)
					}
				}
			}
		})
	}

	// waitForUploads waits until n more uploads have succeeded.
	waitForUploads := func(n int) {
		t.Helper()

		before, _ := documents.count()
		require.Eventually(t, func() bool {
			now, _ := documents.count()
			return now >= before+n
		}, waitTimeout, 10*time.Millisecond, "uploads do not succeed")
	}

	// Kill and restart the object storage while uploads are running.
	for range outages {
		waitForUploads(5)
		s3.Kill()
		require.NoError(t, s3.Start())
	}

	waitForUploads(1)
	close(stop)
	load.Wait()

	succeeded, refused := documents.count()
	t.Logf("%d uploads succeeded, %d were refused", succeeded, refused)
	documents.requireStored(t)
}
