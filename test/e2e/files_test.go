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

// uploads records the results of uploads of documents.
type uploads struct {
	mu        sync.Mutex
	contents  map[*account]map[string]string // of stored documents, by owner and document id
	succeeded int
	refused   int // with 503, when the file store is unavailable
}

// upload uploads a document of the owner and records the result.
func (u *uploads) upload(t testing.TB, owner *account, content string) (status int) {
	t.Helper()

	document := object{"intent": "upload-document", "type": "cv", "title": "CV", "content": content}
	answer := owner.fromNewAddress().try("POST", "/api/jobseekers/documents", document)

	u.mu.Lock()
	defer u.mu.Unlock()

	switch answer.status {
	case http.StatusOK:
		if u.contents[owner] == nil {
			u.contents[owner] = map[string]string{}
		}

		u.contents[owner][answer.text("data.document.id")] = content
		u.succeeded++
	case http.StatusServiceUnavailable:
		u.refused++
	default:
		t.Errorf("an upload got the response %d: %s", answer.status, answer.raw)
	}

	return answer.status
}

// count returns the results so far, while uploads are running.
func (u *uploads) count() (succeeded, refused int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.succeeded, u.refused
}

// requireStored requires that every uploaded document can be downloaded.
func (u *uploads) requireStored(t testing.TB) {
	t.Helper()

	for owner, documents := range u.contents {
		for id, content := range documents {
			document := owner.fromNewAddress().get("/api/jobseekers/documents/" + id).ok(200)
			require.Equal(t, content, document.text("data.document.content"))
		}
	}
}

// TestS3Unavailable_UploadsFailInTimeAndNoneIsLost checks that uploads fail with 503 in bounded
// time while the object storage refuses connections or hangs, that the server stays ready, and
// that exports of that time are completed afterwards.
func TestS3Unavailable_UploadsFailInTimeAndNoneIsLost(t *testing.T) {
	t.Parallel()

	s3 := kit.OwnS3(t)
	server := start(t, t.TempDir(), "LOCUM_FILES_URL="+strings.Replace(s3.URL, "?", "/e2e?", 1),
		"AWS_ACCESS_KEY_ID="+services.S3AccessKey, "AWS_SECRET_ACCESS_KEY="+services.S3SecretKey)
	seeker, employer := server.seeker(t), server.employer(t)
	u := &uploads{contents: map[*account]map[string]string{}}
	require.Equal(t, 200, u.upload(t, seeker, "before"))

	restart := func() { require.NoError(t, s3.Start()) }
	for _, outage := range []outage{
		{name: "refusing", begin: s3.Kill, end: restart, bound: 15 * time.Second},
		{name: "hanging", begin: s3.Pause, end: s3.Resume, bound: time.Minute},
	} {
		outage.begin()

		// An upload fails, and the server stays ready.
		began := time.Now()

		require.Equal(t, 503, u.upload(t, seeker, "during "+outage.name), outage.name)
		require.Less(t, time.Since(began), outage.bound, outage.name)
		require.Eventually(t, func() bool {
			readiness := seeker.try("GET", "/readyz", nil)
			return readiness.status == 200 && readiness.text("adapters.files") == "degraded"
		}, waitTimeout, 50*time.Millisecond, "the server is ready without the file store")

		// An export that is requested now is completed after the outage.
		export := employer.fromNewAddress().post("/api/employers/exports", object{"kind": "jobs"}).ok(202).text("data.id")

		outage.end()
		require.Eventually(t, func() bool {
			return seeker.try("GET", "/readyz", nil).text("adapters.files") == "ok"
		}, waitTimeout, 50*time.Millisecond)
		require.Equal(t, 200, u.upload(t, seeker, "after "+outage.name))
		require.Eventually(t, func() bool {
			return employer.get("/api/employers/exports/"+export).ok(200).text("data.status") == "completed"
		}, 3*time.Minute, 200*time.Millisecond, "the export was not retried")
		u.requireStored(t)
	}
}

// TestS3Killed_DuringUploads_NoneIsLost checks that every upload that was reported as
// successful can be downloaded after the object storage was killed three times under load.
func TestS3Killed_DuringUploads_NoneIsLost(t *testing.T) {
	t.Parallel()

	s3 := kit.OwnS3(t)
	server := start(t, t.TempDir(), "LOCUM_FILES_URL="+s3.URL, "AWS_ACCESS_KEY_ID="+services.S3AccessKey,
		"AWS_SECRET_ACCESS_KEY="+services.S3SecretKey)
	u := &uploads{contents: map[*account]map[string]string{}}

	// Four clients upload documents until stop is closed. Each user uploads ten, since their number
	// is limited.
	stop := make(chan struct{})

	var load sync.WaitGroup
	for range 4 {
		load.Go(func() {
			for user := 0; ; user++ {
				seeker := server.seeker(t)

				for document := range 10 {
					select {
					case <-stop:
						return
					default:
						u.upload(t, seeker, fmt.Sprintf("%d.%d %s", user, document, strings.Repeat("I am a nurse. ", 5000)))
					}
				}
			}
		})
	}

	waitForUploads := func(more int) {
		t.Helper()

		before, _ := u.count()
		require.Eventually(t, func() bool {
			now, _ := u.count()
			return now >= before+more
		}, waitTimeout, 10*time.Millisecond)
	}

	// Kill the object storage three times while uploads succeed.
	for range 3 {
		waitForUploads(5)
		s3.Kill()
		require.NoError(t, s3.Start())
	}

	waitForUploads(1)
	close(stop)
	load.Wait()

	succeeded, refused := u.count()
	t.Logf("%d uploads succeeded, %d were refused", succeeded, refused)
	u.requireStored(t)
}
