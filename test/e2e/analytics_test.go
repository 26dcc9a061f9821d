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

// table requires a CSV download, with CR LF line ends and the current month in its file name,
// and parses it into its header and its rows by column.
func (r *response) table(t *testing.T) (columns []string, rows []map[string]string) {
	t.Helper()
	require.Equal(t, 200, r.status, "%s", r.raw)
	require.Equal(t, "text/csv; charset=utf-8", r.header.Get("Content-Type"))
	require.Regexp(t, `^attachment; filename="locum-[a-z-]+-`+time.Now().UTC().Format("200601")+`\d\d\.csv"$`,
		r.header.Get("Content-Disposition"))
	require.Equal(t, strings.Count(string(r.raw), "\n"), strings.Count(string(r.raw), "\r\n"))
	all, err := csv.NewReader(strings.NewReader(string(r.raw))).ReadAll()
	require.NoError(t, err)
	for _, line := range all[1:] {
		row := map[string]string{}
		for i, cell := range line {
			row[all[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return all[0], rows
}

// TestEmployerAnalytics checks the numbers, statistics and CSV exports of an organization: they
// count views once per visitor, and never contain another organization's data.
func TestEmployerAnalytics(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, stranger := server.employer(t), server.employer(t)
		listing := employer.listing(object{"title": "Theatre Nurse", "salary": object{"min": 31000, "max": 38500.5, "currency": "GBP"}})
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
		with := func(o object, key string, value any) object {
			out := object{key: value}
			for k, v := range o {
				out[k] = v
			}
			return out
		}

		t.Run("GET /api/employers/analytics", func(t *testing.T) {
			resp := employer.get("/api/employers/analytics").ok(200)
			require.Equal(t,
				object{"total": 3., "active": 1., "draft": 1., "inactive": 0., "closed": 0., "archived": 1.},
				resp.at("data.jobs"))
			require.Equal(t, with(counts, "total", 6.), resp.at("data.applications"))
			require.InDelta(t, 0, stranger.get("/api/employers/analytics").ok(200).number("data.applications.total"), 0)
			server.guest(t).get("/api/employers/analytics").fails(401, "Unauthorized")
			server.seeker(t).get("/api/employers/analytics").fails(403, "Forbidden")
		})
		t.Run("GET /api/employers/applications/stats", func(t *testing.T) {
			stats := func(query string) *response { return employer.get("/api/employers/applications/stats" + query).ok(200) }
			require.Equal(t, object{"total": 6., "byStatus": counts}, stats("").at("data"))
			a := stats("?status=accepted")
			require.InDelta(t, 1, a.number("data.total"), 0)
			require.InDelta(t, 1, a.number("data.byStatus.accepted"), 0)
			require.InDelta(t, 0, a.number("data.byStatus.pending"), 0)
			today := time.Now().UTC().Format(time.DateOnly)
			yesterday := time.Now().UTC().Add(-24 * time.Hour).Format(time.DateOnly)
			require.InDelta(t, 6, stats("?startDate="+yesterday+"&endDate="+today+"&jobId="+listing).number("data.total"), 0)
			require.InDelta(t, 0, stats("?endDate="+yesterday).number("data.total"), 0)
			require.InDelta(t, 0, stats("?startDate="+time.Now().UTC().Add(time.Hour).Format(time.RFC3339)).number("data.total"), 0)
			require.InDelta(t, 0, stats("?jobId="+archived).number("data.total"), 0)
			employer.get("/api/employers/applications/stats?status=hired").fails(400, "Invalid status")
			employer.get("/api/employers/applications/stats?startDate=soon").invalid("startDate")
			employer.get("/api/employers/applications/stats?jobId=x").invalid("jobId")
			require.InDelta(t, 0, stranger.get("/api/employers/applications/stats?jobId="+listing).ok(200).number("data.total"), 0)
			server.guest(t).get("/api/employers/applications/stats").fails(401, "Unauthorized")
		})
		t.Run("GET /api/employers/jobs/:id/analytics", func(t *testing.T) {
			path := "/api/employers/jobs/" + listing + "/analytics"
			a := employer.get(path).ok(200)
			require.Equal(t, listing, a.text("data.jobId"))
			require.Equal(t, "Theatre Nurse", a.text("data.title"))
			require.InDelta(t, 0, a.number("data.views"), 0)
			require.InDelta(t, 0, a.number("data.conversionRate"), 0)
			require.Equal(t, with(counts, "total", 6.), a.at("data.applications"))

			employer.get("/api/listings/" + listing).ok(200) // views by the organization do not count
			visitor, seeker := server.guest(t), server.seeker(t)
			for range 3 { // a visitor counts once, also when the cache responds
				visitor.get("/api/listings/" + listing).ok(200)
				seeker.get("/api/listings/" + listing).ok(200)                  // a user counts once, at any address
				seeker.fromNewAddress().get("/api/listings/" + listing).ok(200) // recognized by the account
			}
			for range 5 {
				server.guest(t).get("/api/listings/" + listing).ok(200)
			}
			stranger.get("/api/listings/" + listing).ok(200)
			visitor.get("/api/listings/"+archived).fails(404, "Listing not found")
			// The visitor, the seeker, five guests and the other employer.
			require.Eventually(t, func() bool { return employer.get(path).ok(200).number("data.views") == 8 },
				waitTimeout, 20*time.Millisecond)
			require.InDelta(t, 75, employer.get(path).number("data.conversionRate"), 0) // 6 applications of 8 views
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
			require.Equal(t, []string{"Gone", "'=HYPERLINK(1)", "Theatre Nurse"},
				[]string{rows[0]["title"], rows[1]["title"], rows[2]["title"]})
			require.Equal(t, []string{"31000", "38500.5", "GBP", "6"},
				[]string{rows[2]["salary_min"], rows[2]["salary_max"], rows[2]["salary_currency"], rows[2]["applications"]})
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
			require.Equal(t, applications[5], rows[0]["id"])
			require.Equal(t, []string{listing, "Theatre Nurse", "Niamh Byrne", "withdrawn"},
				[]string{rows[0]["job_id"], rows[0]["job_title"], rows[0]["applicant_name"], rows[0]["status"]})
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
		views := func() float64 {
			return employer.get("/api/employers/jobs/" + listing + "/analytics").ok(200).number("data.views")
		}
		// 20 and the guest at another address.
		require.Eventually(t, func() bool { return views() >= 21 }, waitTimeout, 20*time.Millisecond)
		require.InDelta(t, 21, views(), 0)
	})
}
