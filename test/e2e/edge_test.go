package e2e

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSIGTERM_Serving_UnreadyBeforeClosed(t *testing.T) {
	onEachSetup(t, func(t *testing.T, w *testServer) {
		require.Equal(t, 200, w.guest(t).try("GET", "/readyz", nil).status)
		require.NoError(t, w.cmd.Process.Signal(syscall.SIGTERM))
		require.Eventually(t, func() bool {
			a := w.guest(t).try("GET", "/readyz", nil)
			return a.status == 503 && a.text("adapters.server") == "stopping"
		}, 2*time.Second, 5*time.Millisecond)
		w.guest(t).get("/api/listings").ok(200)
		w.stop(t)
		_, err := http.Get(w.url + "/readyz")
		require.Error(t, err)
	}, "LOCUM_HTTP_DRAIN=3s")
}

func TestStart_HTTPSWithoutTrustedProxies_Warned(t *testing.T) {
	onEachSetup(t, func(t *testing.T, w *testServer) {
		require.Contains(t, w.log.String(), "http.trusted_proxies is empty")
		a := w.guest(t).try("GET", "/readyz", nil)
		require.Equal(t, 200, a.status)
		require.Equal(t, "degraded", a.text("adapters.trusted_proxies"))
	}, "LOCUM_HTTP_PUBLIC_URL=https://jobs.example.org", "LOCUM_HTTP_TRUSTED_PROXIES=")
}

// All files that the server writes are accessible to its user only.
func TestFiles_Written_NotForOtherUsers(t *testing.T) {
	onEachSetup(t, func(t *testing.T, w *testServer) {
		employer, seeker := w.employer(t), w.seeker(t)
		listing := employer.listing(object{"title": "Nurse"})
		seeker.application(listing, nil)
		seeker.post("/api/jobseekers/documents", object{"intent": "upload-document", "type": "cv", "title": "CV", "fileName": "cv.txt", "content": "Text"}).ok(200)
		require.Eventually(t, func() bool {
			mails, err := filepath.Glob(filepath.Join(w.dir, "data/mail/*"))
			return err == nil && len(mails) > 0
		}, waitTimeout, 20*time.Millisecond)
		var wrong []string
		require.NoError(t, filepath.WalkDir(w.dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // the server may delete a listed file
				return err
			}
			info, err := os.Stat(path)
			if err == nil && path != w.dir && info.Mode().Perm()&0o077 != 0 {
				wrong = append(wrong, strings.TrimPrefix(path, w.dir)+" "+info.Mode().String())
			}
			return nil
		}))
		require.Empty(t, wrong)
	})
}
