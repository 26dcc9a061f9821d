package heavy

import (
	"bytes"
	"encoding/csv"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// exportedApplications is the number of applications in the export.
	exportedApplications = 200_000
	// maxExportMemory is the maximum additional memory of the server while it writes and sends
	// the export.
	maxExportMemory = 64 << 20
)

// TestExport_WorkerKilled_FileIsComplete checks that an export whose process was killed
// continues by itself and contains each row once, that no partial file can be downloaded, and
// that memory does not grow with the number of rows.
func TestExport_WorkerKilled_FileIsComplete(t *testing.T) {
	server := newLargeServer(t)
	server.up()
	t.Cleanup(server.kill)

	server.token = server.registerEmployer()
	listing := server.call("POST", "/api/employers/jobs", map[string]any{
		"title":       "=cmd|' /C calc'!A0",
		"description": "Days and nights on a ward.",
	})["id"].(string)
	server.exec(`INSERT INTO users (id, email, email_key, name, kind, status, password_hash, created_at, updated_at, version)
		SELECT md5('user' || n)::uuid, 'seeker' || n || '@example.org', 'seeker' || n || '@example.org', 'Seeker ' || n, 'jobseeker', 'active', 'none', now(), now(), 1
		FROM generate_series(1, $1::int) n`, exportedApplications)
	server.exec(
		`INSERT INTO applications (id, listing_id, organization_id, applicant_id, status, tracker, tracker_color, cover_letter, answers, applied_at, changed_at)
		SELECT md5('application' || n)::uuid, l.id, l.organization_id, md5('user' || n)::uuid, 'pending', '', '', repeat('Dear all ', 50), '[]', now(), now()
		FROM generate_series(1, $1::int) n, listings l WHERE l.id = $2`,
		exportedApplications,
		listing,
	)
	server.exec("ANALYZE")

	// The server is killed when it has written a tenth of the rows.
	id := server.call("POST", "/api/employers/exports", map[string]any{"kind": "applications"})["id"].(string)
	state := func() map[string]any { return server.call("GET", "/api/employers/exports/"+id, nil) }
	require.Eventually(t, func() bool { return state()["rowsDone"].(float64) > exportedApplications/10 }, time.Minute,
		5*time.Millisecond)

	halfway := state()
	require.Equal(t, "running", halfway["status"])
	require.EqualValues(t, exportedApplications, halfway["rowsTotal"])
	require.Nil(t, halfway["url"])
	server.kill()

	files, err := filepath.Glob(filepath.Join(server.dir, "data/files/exports/*/*"))
	require.NoError(t, err)
	require.Empty(t, files, "an incomplete export cannot be downloaded")

	// The restarted server continues the export.
	server.up()

	peakBefore := server.peak()
	restarted := time.Now()

	require.Eventually(t, func() bool { return state()["status"] == "completed" }, 3*time.Minute, 50*time.Millisecond)

	done := state()
	require.EqualValues(t, exportedApplications, done["rowsDone"])
	t.Logf("%d rows, %s after the restart", exportedApplications, time.Since(restarted).Round(time.Second/10))

	// The link names the public host, which is the server of the test here.
	link := regexp.MustCompile(`^https?://[^/]+`).ReplaceAllString(done["url"].(string), server.url)
	server.requireCompleteExport(link)

	additionalMemory := server.peak() - peakBefore
	t.Logf("%d MiB of additional memory", additionalMemory>>20)
	require.Less(t, additionalMemory, maxExportMemory)

	// The user gets one e-mail, although the export was started twice.
	countReadyMails := func() (n int) {
		mails, err := filepath.Glob(filepath.Join(server.dir, "data/mail/*"))
		require.NoError(t, err)

		for _, path := range mails {
			raw, err := os.ReadFile(path)
			require.NoError(t, err)

			if bytes.Contains(raw, []byte("Subject: Your export is ready")) {
				n++
			}
		}

		return n
	}

	require.Eventually(t, func() bool { return countReadyMails() == 1 }, time.Minute, 50*time.Millisecond)
}

// requireCompleteExport downloads the export and requires that it contains each application once. It reads row by row,
// so that the test needs little memory.
func (s *alertServer) requireCompleteExport(link string) {
	t := s.t
	t.Helper()

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
	require.NoError(t, err)

	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)

	defer func() { _ = response.Body.Close() }()

	require.Equal(t, 200, response.StatusCode)

	table := csv.NewReader(response.Body)
	table.ReuseRecord = true

	_, err = table.Read() // the header
	require.NoError(t, err)

	const idColumn, jobColumn, nameColumn = 0, 2, 4

	seenIDs := make(map[string]bool, exportedApplications)
	for {
		row, err := table.Read()
		if err == io.EOF {
			break
		}

		require.NoError(t, err)

		id := strings.Clone(row[idColumn]) // a copy, because the reader reuses the row
		require.False(t, seenIDs[id])

		seenIDs[id] = true

		// The title of the job is a formula, which the quote makes a text in spreadsheets.
		require.Equal(t, "'=cmd|' /C calc'!A0", row[jobColumn])
		require.NotEmpty(t, row[nameColumn])
	}

	require.Len(t, seenIDs, exportedApplications)
}
