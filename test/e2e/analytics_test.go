package e2e

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestEmployerAnalytics checks the numbers, statistics and CSV exports of an organization. They count the
// views of a job once for each visitor, and never contain data of another organization.
//
// The organization has three jobs: an active one with six applications, one of each status, a draft and
// an archived one. otherEmployer has another organization.
func TestEmployerAnalytics(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, otherEmployer := server.employer(t), server.employer(t)
		listing := employer.listing(object{
			"title":  "Theatre Nurse",
			"salary": object{"min": 31000, "max": 38500.5, "currency": "GBP"},
		})
		employer.listing(object{"title": "=HYPERLINK(1)", "status": "draft"}) // spreadsheets would execute this title

		archived := employer.listing(object{"title": "Gone"})
		employer.fromNewAddress().delete("/api/employers/jobs/" + archived).ok(200)

		// An application has the status "pending" until the employer changes it. The ids are in the order of
		// the applications.
		var applications []string
		for _, status := range []string{"pending", "review", "interview", "accepted", "rejected", "withdrawn"} {
			id := server.seeker(t).application(listing, nil)

			applications = append(applications, id)
			if status != "pending" {
				employer.fromNewAddress().put("/api/employers/applications/"+id, object{"status": status}).ok(200)
			}
		}

		counts := object{"pending": 1., "review": 1., "interview": 1., "accepted": 1., "rejected": 1., "withdrawn": 1.}

		t.Run("GET /api/employers/analytics", func(t *testing.T) {
			// Three jobs and one application of each status. The other organization has none of them.
			resp := employer.get("/api/employers/analytics").ok(200)
			require.Equal(t,
				object{"total": 3., "active": 1., "draft": 1., "inactive": 0., "closed": 0., "archived": 1.},
				resp.at("data.jobs"))
			require.Equal(t, merge(counts, object{"total": 6.}), resp.at("data.applications"))
			require.Equal(t, 0, otherEmployer.get("/api/employers/analytics").ok(200).integer("data.applications.total"))
			server.guest(t).get("/api/employers/analytics").fails(401, "Unauthorized")
			server.seeker(t).get("/api/employers/analytics").fails(403, "Forbidden")
		})

		t.Run("GET /api/employers/applications/stats", func(t *testing.T) {
			const path = "/api/employers/applications/stats"

			stats := func(query string) *response { return employer.get(path + query).ok(200) }
			require.Equal(t, object{"total": 6., "byStatus": counts}, stats("").at("data"))

			accepted := stats("?status=accepted")
			require.Equal(t, 1, accepted.integer("data.total"))
			require.Equal(t, 1, accepted.integer("data.byStatus.accepted"))
			require.Equal(t, 0, accepted.integer("data.byStatus.pending"))

			// All applications are of today.
			now := time.Now().UTC()
			today := now.Format(time.DateOnly)
			yesterday := now.Add(-24 * time.Hour).Format(time.DateOnly)
			inAnHour := now.Add(time.Hour).Format(time.RFC3339)

			require.Equal(t, 6, stats("?startDate="+yesterday+"&endDate="+today+"&jobId="+listing).integer("data.total"))
			require.Equal(t, 0, stats("?endDate="+yesterday).integer("data.total"))
			require.Equal(t, 0, stats("?startDate="+inAnHour).integer("data.total"))
			require.Equal(t, 0, stats("?jobId="+archived).integer("data.total"))

			// Invalid filters, the job of another organization, and a guest.
			employer.get(path+"?status=hired").fails(400, "Invalid status")
			employer.get(path + "?startDate=soon").invalid("startDate")
			employer.get(path + "?jobId=x").invalid("jobId")
			require.Equal(t, 0, otherEmployer.get(path+"?jobId="+listing).ok(200).integer("data.total"))
			server.guest(t).get(path).fails(401, "Unauthorized")
		})

		t.Run("GET /api/employers/jobs/:id/analytics", func(t *testing.T) {
			path := "/api/employers/jobs/" + listing + "/analytics"
			analytics := employer.get(path).ok(200)
			require.Equal(t, listing, analytics.text("data.jobId"))
			require.Equal(t, "Theatre Nurse", analytics.text("data.title"))
			require.Equal(t, 0, analytics.integer("data.views"))
			require.Equal(t, 0, analytics.integer("data.conversionRate"))
			require.Equal(t, merge(counts, object{"total": 6.}), analytics.at("data.applications"))

			// Views by members of the organization do not count.
			employer.get("/api/listings/" + listing).ok(200)

			// Repeated views by a guest at one address count once, also if the response comes from the cache.
			// Repeated views by a user count once, from whatever address.
			visitor, seeker := server.guest(t), server.seeker(t)
			for range 3 {
				visitor.get("/api/listings/" + listing).ok(200)
				seeker.get("/api/listings/" + listing).ok(200)
				seeker.fromNewAddress().get("/api/listings/" + listing).ok(200)
			}

			const otherGuests = 5
			for range otherGuests {
				server.guest(t).get("/api/listings/" + listing).ok(200)
			}

			otherEmployer.get("/api/listings/" + listing).ok(200)
			visitor.get("/api/listings/"+archived).fails(404, "Listing not found")

			// Views are counted in the background.
			const views = 1 + 1 + otherGuests + 1 // the visitor, the seeker, other guests and the other employer
			require.Eventually(t, func() bool { return employer.get(path).ok(200).integer("data.views") == views },
				waitTimeout, 20*time.Millisecond, "there are not %d views", views)
			require.Equal(t, 100*6/views, employer.get(path).integer("data.conversionRate"), "6 applications in percent of the views")

			_, rows := employer.get("/api/employers/jobs/export?status=active").table(t)
			require.Equal(t, fmt.Sprint(views), rows[0]["views"])
			require.Equal(t, "6", rows[0]["applications"])

			otherEmployer.get(path).fails(404, "Job listing not found")
			employer.get("/api/employers/jobs/nonsense/analytics").fails(404, "Job listing not found")
			server.guest(t).get(path).fails(401, "Unauthorized")
		})

		t.Run("GET /api/employers/jobs/export", func(t *testing.T) {
			columns, rows := employer.get("/api/employers/jobs/export?format=csv").table(t)
			require.Equal(t,
				[]string{
					"id", "title", "department", "company", "location", "contract_type", "status",
					"salary_min", "salary_max", "salary_currency", "views", "applications",
					"posted_at", "application_deadline", "updated_at",
				},
				columns)
			require.Len(t, rows, 3)

			// The newest job is first. The apostrophe keeps spreadsheets from executing the formula.
			require.Equal(t, []string{"Gone", "'=HYPERLINK(1)", "Theatre Nurse"}, column(rows, "title"))

			nurse := rows[2]
			require.Equal(t, "31000", nurse["salary_min"])
			require.Equal(t, "38500.5", nurse["salary_max"])
			require.Equal(t, "GBP", nurse["salary_currency"])
			require.Equal(t, "6", nurse["applications"])

			_, rows = employer.get("/api/employers/jobs/export?status=draft").table(t)
			require.Len(t, rows, 1)

			// Other formats, an unknown status, the other organization and a guest.
			for _, format := range []string{"json", "CSV%20", "xlsx"} {
				employer.get("/api/employers/jobs/export?format="+format).fails(400, "Only CSV format is supported")
			}

			employer.get("/api/employers/jobs/export?status=open").invalid("status")

			_, rows = otherEmployer.get("/api/employers/jobs/export").table(t)
			require.Empty(t, rows)
			server.guest(t).get("/api/employers/jobs/export").fails(401, "Unauthorized")
		})

		t.Run("GET /api/employers/applications/export", func(t *testing.T) {
			columns, rows := employer.get("/api/employers/applications/export").table(t)
			require.Equal(t,
				[]string{
					"id", "job_id", "job_title", "applicant_name", "applicant_email", "status",
					"applied_at", "updated_at", "interview_at", "interview_status", "interview_outcome",
				},
				columns)
			require.Len(t, rows, len(applications))

			newest := rows[0]
			require.Equal(t, applications[len(applications)-1], newest["id"])
			require.Equal(t, listing, newest["job_id"])
			require.Equal(t, "Theatre Nurse", newest["job_title"])
			require.Equal(t, seekerName, newest["applicant_name"])
			require.Equal(t, "withdrawn", newest["status"])

			// Filters apply to the export too. Invalid ones are refused.
			_, rows = employer.get("/api/employers/applications/export?status=accepted&jobId=" + listing).table(t)
			require.Len(t, rows, 1)
			employer.get("/api/employers/applications/export?format=json").fails(400, "Only CSV format is supported")
			employer.get("/api/employers/applications/export?status=hired").fails(400, "Invalid status")

			_, rows = otherEmployer.get("/api/employers/applications/export").table(t)
			require.Empty(t, rows)
			server.guest(t).get("/api/employers/applications/export").fails(401, "Unauthorized")
		})

		t.Run("large CSV response is complete", func(t *testing.T) {
			// A client can create fewer jobs than this in one request, so they are created in batches.
			const (
				batches   = 11
				batchSize = 100 // the maximum
			)

			for batch := range batches {
				var jobs []object
				for i := range batchSize {
					jobs = append(jobs, object{"title": fmt.Sprint("Nurse ", batch, " ", i), "description": "Days."})
				}

				otherEmployer.fromNewAddress().post("/api/employers/jobs/batch", object{"jobs": jobs}).ok(200)
			}

			_, rows := otherEmployer.get("/api/employers/jobs/export").table(t)

			// The export contains each of the 1,100 jobs once.
			exportedIDs := map[string]bool{}
			for _, row := range rows {
				exportedIDs[row["id"]] = true
			}

			require.Len(t, exportedIDs, batches*batchSize)
		})
	})
}

// TestViews_OneAddressVariesItsUserAgent_CountsTwenty checks that at most 20 visitors from one address are
// counted for a listing in a day. Guests at one address count as several visitors if their user agents
// differ, because the staff of a hospital shares an address. The maximum keeps a client from inflating the
// views with invented user agents.
func TestViews_OneAddressVariesItsUserAgent_CountsTwenty(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, visitor := server.employer(t), server.guest(t)

		const (
			userAgents = 60
			maxCounted = 20
		)

		listing := employer.listing(object{"title": "Theatre Nurse"})
		for i := range userAgents {
			request, err := http.NewRequest(http.MethodGet, server.url+"/api/listings/"+listing, nil)
			require.NoError(t, err)
			request.Header.Set("X-Forwarded-For", visitor.ip)
			request.Header.Set("User-Agent", fmt.Sprint("agent ", i))
			require.Equal(t, 200, visitor.do(request).status)
		}

		server.guest(t).get("/api/listings/" + listing).ok(200)

		views := func() int {
			return employer.get("/api/employers/jobs/" + listing + "/analytics").ok(200).integer("data.views")
		}

		// Views are counted in the background. The guest at another address counts too.
		const want = maxCounted + 1
		require.Eventually(t, func() bool { return views() >= want }, waitTimeout, 20*time.Millisecond, "there are not %d views", want)
		require.Equal(t, want, views())
	})
}

// table parses a CSV download. It returns the names of the columns and, for each row, the values by column.
// It requires the headers of a download with the current month in the name of the file, and lines that end
// with CR LF.
func (r *response) table(t *testing.T) (columns []string, rows []map[string]string) {
	t.Helper()
	require.Equal(t, 200, r.status, "%s", r.raw)
	require.Equal(t, "text/csv; charset=utf-8", r.header.Get("Content-Type"))
	require.Regexp(t, `^attachment; filename="locum-[a-z-]+-`+time.Now().UTC().Format("200601")+`\d\d\.csv"$`,
		r.header.Get("Content-Disposition"))

	text := string(r.raw)
	require.Equal(t, strings.Count(text, "\n"), strings.Count(text, "\r\n"), "every line ends with CR LF")

	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)

	columns = lines[0]
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range line {
			row[columns[i]] = cell
		}

		rows = append(rows, row)
	}

	return columns, rows
}
