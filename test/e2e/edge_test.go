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

// TestSIGTERM_Serving_UnreadyBeforeClosed checks that a server that is terminated first reports
// that it is not ready and still serves, so that load balancers stop sending requests before it
// closes.
func TestSIGTERM_Serving_UnreadyBeforeClosed(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		require.Equal(t, 200, server.guest(t).try("GET", "/readyz", nil).status)

		// For the 3 s of LOCUM_HTTP_DRAIN the server is unready and still serves.
		require.NoError(t, server.cmd.Process.Signal(syscall.SIGTERM))
		require.Eventually(t, func() bool {
			ready := server.guest(t).try("GET", "/readyz", nil)
			return ready.status == 503 && ready.text("adapters.server") == "stopping"
		}, 2*time.Second, 5*time.Millisecond)
		server.guest(t).get("/api/listings").ok(200)

		// Then it accepts no connection.
		server.stop(t)

		_, err := http.Get(server.url + "/readyz")
		require.Error(t, err)
	}, "LOCUM_HTTP_DRAIN=3s")
}

// TestStart_HTTPSWithoutTrustedProxies_Warned checks the warning for a likely mistake: behind a
// TLS proxy that is not trusted, all clients have the address of the proxy and share its rate
// limits.
func TestStart_HTTPSWithoutTrustedProxies_Warned(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		require.Contains(t, server.log.String(), "http.trusted_proxies is empty")

		ready := server.guest(t).try("GET", "/readyz", nil)
		require.Equal(t, 200, ready.status)
		require.Equal(t, "degraded", ready.text("adapters.trusted_proxies"))
	}, "LOCUM_HTTP_PUBLIC_URL=https://jobs.example.org", "LOCUM_HTTP_TRUSTED_PROXIES=")
}

// TestFiles_Written_NotForOtherUsers checks that other users of the machine cannot read the
// files that the server writes, such as the database, documents and e-mails.
func TestFiles_Written_NotForOtherUsers(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		// The server writes its data, a document and e-mails.
		employer, seeker := server.employer(t), server.seeker(t)
		listing := employer.listing(object{"title": "Nurse"})
		seeker.application(listing, nil)
		seeker.post("/api/jobseekers/documents", object{
			"intent":   "upload-document",
			"type":     "cv",
			"title":    "CV",
			"fileName": "cv.txt",
			"content":  "Text",
		}).
			ok(200)
		require.Eventually(t, func() bool {
			mails, err := filepath.Glob(filepath.Join(server.dir, "data/mail/*"))
			return err == nil && len(mails) > 0
		}, waitTimeout, 20*time.Millisecond)

		const othersMay fs.FileMode = 0o077 // the permissions of users other than the owner of a file
		var accessible []string
		require.NoError(t, filepath.WalkDir(server.dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // the server may delete a listed file
				return err
			}

			// The test made the directory itself.
			info, err := os.Stat(path)
			if err == nil && path != server.dir && info.Mode().Perm()&othersMay != 0 {
				accessible = append(accessible, strings.TrimPrefix(path, server.dir)+" "+info.Mode().String())
			}

			return nil
		}))
		require.Empty(t, accessible)
	})
}
