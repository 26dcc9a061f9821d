package e2e

import (
	"encoding/csv"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestExports checks exports of an organization's jobs and applications to CSV. An export is built in the
// background. Once it is completed, it has a link to the file, which works for an hour without signing
// in. Spreadsheets must not execute a value of the file as a formula.
func TestExports(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, seeker := server.employer(t), server.seeker(t)
		formula := `=HYPERLINK("http://evil")` // a spreadsheet would execute it
		job := employer.listing(object{"title": formula})
		application := seeker.application(job, nil)

		// waitUntilCompleted waits until the export with the id is completed, and returns its status.
		waitUntilCompleted := func(export string) (status *response) {
			t.Helper()
			require.Eventually(t, func() bool {
				status = employer.get("/api/employers/exports/" + export).ok(200)
				return status.text("data.status") == "completed"
			}, waitTimeout, 20*time.Millisecond, "the export is not completed")

			return status
		}

		// download gets the file of a link as a guest, and returns the response and the rows of the file.
		// The first row has the names of the columns.
		download := func(link string) (file *response, rows [][]string) {
			t.Helper()

			file = server.guest(t).get(pathAndQuery(t, link))
			require.Equal(t, 200, file.status, "%s", file.raw)

			rows, err := csv.NewReader(strings.NewReader(string(file.raw))).ReadAll()
			require.NoError(t, err)

			return file, rows
		}

		t.Run("POST /api/employers/exports", func(t *testing.T) {
			created := employer.post("/api/employers/exports", object{"kind": "applications"}).ok(202)
			require.Equal(t, "queued", created.text("data.status"))

			// The export has the one application, and a link that works for an hour.
			export := created.text("data.id")
			completed := waitUntilCompleted(export)
			require.Equal(t, 1, completed.integer("data.rowsDone"))
			require.Equal(t, 1, completed.integer("data.rowsTotal"))

			expiresAt, err := time.Parse(time.RFC3339, completed.text("data.expiresAt"))
			require.NoError(t, err)
			require.WithinDuration(t, time.Now().Add(time.Hour), expiresAt, time.Minute, "the minute is for a busy machine")

			// Browsers save the file under this name. Browsers and proxies must not cache it.
			file, rows := download(completed.text("data.url"))
			require.Equal(t, "text/csv; charset=utf-8", file.header.Get("Content-Type"))
			require.Regexp(t, `^attachment; filename="locum-applications-\d{8}\.csv"$`, file.header.Get("Content-Disposition"))
			require.Equal(t, "no-store", file.header.Get("Cache-Control"))

			// RFC 4180 ends lines with CRLF. The apostrophe makes spreadsheets show the formula as text.
			require.Contains(t, string(file.raw), "\r\n")
			require.Equal(t, []string{application, job, "'" + formula}, rows[1][:3], "ids of the application and the job, and its title")

			const emailColumn = 4
			require.Equal(t, seeker.email, rows[1][emailColumn])

			// The e-mail to the employer has a link to the same file.
			mail := server.waitForMail(t, employer.email, "Your export is ready")
			link := regexp.MustCompile(`http\S+/file\?token=\S+`).FindString(mail)
			_, rows = download(link)
			require.Len(t, rows, 2, "the names of the columns and the application")

			// No token, a wrong one, and the token of another export.
			for _, refused := range []string{
				"/api/employers/exports/" + export + "/file",
				"/api/employers/exports/" + export + "/file?token=x",
				strings.Replace(pathAndQuery(t, link), export, nowhere, 1),
			} {
				server.guest(t).get(refused).fails(401, "Unauthorized")
			}
		})

		t.Run("POST /api/employers/exports with filters", func(t *testing.T) {
			employer.listing(object{"title": "Porter", "status": "draft"})

			// The organization has two listings, of which only the draft is exported.
			created := employer.post("/api/employers/exports", object{"kind": "jobs", "filters": object{"status": "draft"}}).ok(202)
			completed := waitUntilCompleted(created.text("data.id"))
			_, rows := download(completed.text("data.url"))
			require.Len(t, rows, 2, "the names of the columns and the draft")

			const titleColumn = 1
			require.Equal(t, "Porter", rows[1][titleColumn])

			// Invalid kinds and filters.
			employer.post("/api/employers/exports", object{"kind": "people"}).invalid("kind")
			employer.post("/api/employers/exports", object{}).invalid("kind")
			employer.post("/api/employers/exports", object{"kind": "applications", "filters": object{"jobId": "x"}}).
				invalid("filters.jobId")
			employer.post("/api/employers/exports", object{"kind": "jobs", "filters": 5}).invalid("filters")
		})

		t.Run("GET /api/employers/exports/:id and GET /api/employers/exports/:id/file", func(t *testing.T) {
			for _, absent := range []string{nowhere, "nonsense"} {
				employer.get("/api/employers/exports/"+absent).fails(404, "Export not found")
			}
		})
	})
}

// pathAndQuery returns the path and query of a link.
func pathAndQuery(t *testing.T, link string) string {
	t.Helper()

	parsed, err := url.Parse(link)
	require.NoError(t, err)

	return parsed.RequestURI()
}
