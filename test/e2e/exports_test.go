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

// TestExports checks exports, which are built in the background: status, a link that works for
// a limited time without signing in, CSV that spreadsheets do not execute, and filters.
func TestExports(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, seeker := server.employer(t), server.seeker(t)
		job := employer.listing(object{"title": "=HYPERLINK(\"http://evil\")"})
		id := seeker.application(job, nil)

		// done waits for the export and returns its status, and fetch downloads a link as a
		// guest.
		done := func(path string) *response {
			t.Helper()
			var a *response
			require.Eventually(t, func() bool {
				a = employer.get(path).ok(200)
				return a.text("data.status") == "completed"
			}, waitTimeout, 20*time.Millisecond)

			return a
		}

		fetch := func(link string) (*response, [][]string) {
			t.Helper()

			u, err := url.Parse(link)
			require.NoError(t, err)

			file := server.guest(t).get(u.RequestURI())
			require.Equal(t, 200, file.status, "%s", file.raw)

			rows, err := csv.NewReader(strings.NewReader(string(file.raw))).ReadAll()
			require.NoError(t, err)

			return file, rows
		}

		t.Run("POST /api/employers/exports", func(t *testing.T) {
			resp := employer.post("/api/employers/exports", object{"kind": "applications"}).ok(202)
			require.Equal(t, "queued", resp.text("data.status"))

			got := done("/api/employers/exports/" + resp.text("data.id"))
			require.Equal(t, 1., got.number("data.rowsDone"))
			require.Equal(t, 1., got.number("data.rowsTotal"))

			expires, err := time.Parse(time.RFC3339, got.text("data.expiresAt"))
			require.NoError(t, err)
			require.WithinDuration(t, time.Now().Add(time.Hour), expires, time.Minute)

			file, rows := fetch(got.text("data.url"))
			require.Equal(t, "text/csv; charset=utf-8", file.header.Get("Content-Type"))
			require.Regexp(t, `^attachment; filename="locum-applications-\d{8}\.csv"$`, file.header.Get("Content-Disposition"))
			require.Equal(t, "no-store", file.header.Get("Cache-Control"))
			require.Equal(t, []string{id, job, "'=HYPERLINK(\"http://evil\")"}, rows[1][:3], "formulas are escaped")
			require.Equal(t, seeker.email, rows[1][4])
			require.Contains(t, string(file.raw), "\r\n")

			mail := server.waitForMail(t, employer.email, "Your export is ready")
			link := regexp.MustCompile(`http\S+/file\?token=\S+`).FindString(mail)
			_, rows = fetch(link)
			require.Len(t, rows, 2)

			for _, wrong := range []string{
				"/api/employers/exports/" + resp.text("data.id") + "/file",
				"/api/employers/exports/" + resp.text("data.id") + "/file?token=x",
				strings.Replace(mustPath(t, link), resp.text("data.id"), nowhere, 1),
			} {
				server.guest(t).get(wrong).fails(401, "Unauthorized")
			}
		})

		t.Run("POST /api/employers/exports with filters", func(t *testing.T) {
			employer.listing(object{"title": "Porter", "status": "draft"})

			a := employer.post("/api/employers/exports", object{"kind": "jobs", "filters": object{"status": "draft"}}).ok(202)
			_, rows := fetch(done("/api/employers/exports/" + a.text("data.id")).text("data.url"))
			require.Len(t, rows, 2)
			require.Equal(t, "Porter", rows[1][1])
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

// mustPath returns the path and query of a link.
func mustPath(t *testing.T, link string) string {
	t.Helper()

	u, err := url.Parse(link)
	require.NoError(t, err)

	return u.RequestURI()
}
