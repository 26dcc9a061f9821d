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

// TestEmployerAnalytics checks the numbers, statistics and CSV exports of an organization: they
// count views once per visitor, and never contain another organization's data.
func TestEmployerAnalytics(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, stranger := server.employer(t), server.employer(t)
		listing := employer.listing(object{
			"title":  "Theatre Nurse",
			"salary": object{"min": 31000, "max": 38500.5, "currency": "GBP"},
		})
		employer.listing(object{"title": "=HYPERLINK(1)", "status": "draft"}) // spreadsheets would execute it

		archived := employer.listing(object{"title": "Gone"})
		employer.fromNewAddress().delete("/api/employers/jobs/" + archived).ok(200)

		var applications []string
		for _, status := range []string{"", "review", "interview", "accepted", "rejected", "withdrawn"} {
			id := server.seeker(t).application(listing, nil)

			applications = append(applications, id)
			if status != "" {
				employer.fromNewAddress().put("/api/employers/applications/"+id, object{"status": status}).ok(200)
			}
		}

		counts := object{"pending": 1., "review": 1., "interview": 1., "accepted": 1., "rejected": 1., "withdrawn": 1.}

		t.Run("GET /api/employers/analytics", func(t *testing.T) {
			resp := employer.get("/api/employers/analytics").ok(200)
			require.Equal(t,
				object{"total": 3., "active": 1., "draft": 1., "inactive": 0., "closed": 0., "archived": 1.},
				resp.at("data.jobs"))
			require.Equal(t, merge(counts, object{"total": 6.}), resp.at("data.applications"))
			require.Equal(t, 0, stranger.get("/api/employers/analytics").ok(200).integer("data.applications.total"))
			server.guest(t).get("/api/employers/analytics").fails(401, "Unauthorized")
			server.seeker(t).get("/api/employers/analytics").fails(403, "Forbidden")
		})

		t.Run("GET /api/employers/applications/stats", func(t *testing.T) {
			stats := func(query string) *response { return employer.get("/api/employers/applications/stats" + query).ok(200) }
			require.Equal(t, object{"total": 6., "byStatus": counts}, stats("").at("data"))

			accepted := stats("?status=accepted")
			require.Equal(t, 1, accepted.integer("data.total"))
			require.Equal(t, 1, accepted.integer("data.byStatus.accepted"))
			require.Equal(t, 0, accepted.integer("data.byStatus.pending"))

			today := time.Now().UTC().Format(time.DateOnly)
			yesterday := time.Now().UTC().Add(-24 * time.Hour).Format(time.DateOnly)
			require.Equal(t, 6, stats("?startDate="+yesterday+"&endDate="+today+"&jobId="+listing).integer("data.total"))
			require.Equal(t, 0, stats("?endDate="+yesterday).integer("data.total"))
			require.Equal(t, 0, stats("?startDate="+time.Now().UTC().Add(time.Hour).Format(time.RFC3339)).integer("data.total"))
			require.Equal(t, 0, stats("?jobId="+archived).integer("data.total"))
			employer.get("/api/employers/applications/stats?status=hired").fails(400, "Invalid status")
			employer.get("/api/employers/applications/stats?startDate=soon").invalid("startDate")
			employer.get("/api/employers/applications/stats?jobId=x").invalid("jobId")
			require.Equal(t, 0, stranger.get("/api/employers/applications/stats?jobId="+listing).ok(200).integer("data.total"))
			server.guest(t).get("/api/employers/applications/stats").fails(401, "Unauthorized")
		})

		t.Run("GET /api/employers/jobs/:id/analytics", func(t *testing.T) {
			path := "/api/employers/jobs/" + listing + "/analytics"
			analytics := employer.get(path).ok(200)
			require.Equal(t, listing, analytics.text("data.jobId"))
			require.Equal(t, "Theatre Nurse", analytics.text("data.title"))
			require.Equal(t, 0, analytics.integer("data.views"))
			require.Equal(t, 0, analytics.integer("data.conversionRate"))
			require.Equal(t, merge(counts, object{"total": 6.}), analytics.at("data.applications"))

			employer.get("/api/listings/" + listing).ok(200) // views by the organization do not count

			visitor, seeker := server.guest(t), server.seeker(t)

			// A visitor counts once, also when the cache responds, and a user at any address.
			for range 3 {
				visitor.get("/api/listings/" + listing).ok(200)
				seeker.get("/api/listings/" + listing).ok(200)
				seeker.fromNewAddress().get("/api/listings/" + listing).ok(200)
			}

			for range 5 {
				server.guest(t).get("/api/listings/" + listing).ok(200)
			}

			stranger.get("/api/listings/" + listing).ok(200)
			visitor.get("/api/listings/"+archived).fails(404, "Listing not found")

			// The visitor, the seeker, five guests and the other employer.
			require.Eventually(t, func() bool { return employer.get(path).ok(200).number("data.views") == 8 },
				waitTimeout, 20*time.Millisecond)
			require.Equal(t, 75, employer.get(path).integer("data.conversionRate"), "6 applications of 8 views")

			_, rows := employer.get("/api/employers/jobs/export?status=active").table(t)
			require.Equal(t, "8", rows[0]["views"])
			require.Equal(t, "6", rows[0]["applications"])

			stranger.get(path).fails(404, "Job listing not found")
			employer.get("/api/employers/jobs/nonsense/analytics").fails(404, "Job listing not found")
			server.guest(t).get(path).fails(401, "Unauthorized")
		})

		t.Run("GET /api/employers/jobs/export", func(t *testing.T) {
			columns, rows := employer.get("/api/employers/jobs/export?format=csv").table(t)
			require.Equal(t,
				"id,title,department,company,location,contract_type,status,salary_min,salary_max,salary_currency,views,applications,posted_at,application_deadline,updated_at",
				strings.Join(columns, ","))
			require.Len(t, rows, 3)

			// The apostrophe keeps spreadsheets from executing the formula.
			require.Equal(t, []string{"Gone", "'=HYPERLINK(1)", "Theatre Nurse"}, column(rows, "title"))

			nurse := rows[2]
			require.Equal(t, "31000", nurse["salary_min"])
			require.Equal(t, "38500.5", nurse["salary_max"])
			require.Equal(t, "GBP", nurse["salary_currency"])
			require.Equal(t, "6", nurse["applications"])

			_, rows = employer.get("/api/employers/jobs/export?status=draft").table(t)
			require.Len(t, rows, 1)

			for _, format := range []string{"json", "CSV%20", "xlsx"} {
				employer.get("/api/employers/jobs/export?format="+format).fails(400, "Only CSV format is supported")
			}

			employer.get("/api/employers/jobs/export?status=open").invalid("status")

			_, rows = stranger.get("/api/employers/jobs/export").table(t)
			require.Empty(t, rows)
			server.guest(t).get("/api/employers/jobs/export").fails(401, "Unauthorized")
		})

		t.Run("GET /api/employers/applications/export", func(t *testing.T) {
			columns, rows := employer.get("/api/employers/applications/export").table(t)
			require.Equal(t,
				"id,job_id,job_title,applicant_name,applicant_email,status,applied_at,updated_at,interview_at,interview_status,interview_outcome",
				strings.Join(columns, ","))
			require.Len(t, rows, 6)

			newest := rows[0]
			require.Equal(t, applications[5], newest["id"])
			require.Equal(t, listing, newest["job_id"])
			require.Equal(t, "Theatre Nurse", newest["job_title"])
			require.Equal(t, "Niamh Byrne", newest["applicant_name"])
			require.Equal(t, "withdrawn", newest["status"])

			_, rows = employer.get("/api/employers/applications/export?status=accepted&jobId=" + listing).table(t)
			require.Len(t, rows, 1)
			employer.get("/api/employers/applications/export?format=json").fails(400, "Only CSV format is supported")
			employer.get("/api/employers/applications/export?status=hired").fails(400, "Invalid status")

			_, rows = stranger.get("/api/employers/applications/export").table(t)
			require.Empty(t, rows)
			server.guest(t).get("/api/employers/applications/export").fails(401, "Unauthorized")
		})

		t.Run("large CSV response is complete", func(t *testing.T) {
			// 1,100 jobs, created in batches of the maximum size.
			for batch := range 11 {
				var jobs []object
				for i := range 100 {
					jobs = append(jobs, object{"title": fmt.Sprint("Nurse ", batch, " ", i), "description": "Days."})
				}

				stranger.fromNewAddress().post("/api/employers/jobs/batch", object{"jobs": jobs}).ok(200)
			}

			_, rows := stranger.get("/api/employers/jobs/export").table(t)

			seen := map[string]bool{}
			for _, r := range rows {
				seen[r["id"]] = true
			}

			require.Len(t, seen, 1100)
		})
	})
}

// TestViews_OneAddressVariesItsUserAgent_CountsTwenty checks that at most 20 visitors from one
// address count per listing and day. The staff of a hospital shares an address, but a client
// must not inflate the views with new user agents.
func TestViews_OneAddressVariesItsUserAgent_CountsTwenty(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, visitor := server.employer(t), server.guest(t)

		listing := employer.listing(object{"title": "Theatre Nurse"})
		for i := range 60 {
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

		// 20 and the guest at another address.
		require.Eventually(t, func() bool { return views() >= 21 }, waitTimeout, 20*time.Millisecond)
		require.Equal(t, 21, views())
	})
}

// table requires a CSV download, with CR LF line ends and the current month in its file name,
// and parses it into its header and its rows by column.
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
