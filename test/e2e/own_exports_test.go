package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJobseekerExports checks the exports of a jobseeker's own data as JSON and CSV: without
// withdrawn applications, without data of others, and with formulas escaped for spreadsheets.
func TestJobseekerExports(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, seeker, other := server.employer(t), server.seeker(t), server.seeker(t)
		first := seeker.application(employer.listing(object{"title": "=1+1"}), nil)
		listing := employer.listing(object{"title": "Midwife"})
		second := seeker.application(listing, nil)
		deleted := seeker.application(employer.listing(nil), nil)
		seeker.delete("/api/jobseekers/applications/" + deleted).ok(200)
		employer.fromNewAddress().put("/api/employers/applications/"+second, object{"status": "review"}).ok(200)
		other.application(listing, nil)

		t.Run("GET /api/jobseekers/export/applications", func(t *testing.T) {
			for _, query := range []string{"", "?format=json"} {
				res := seeker.get("/api/jobseekers/export/applications" + query).ok(200)
				require.Len(t, res.list("data.applications"), 2)
				require.Equal(t, second, res.text("data.applications.0.id"))
				require.Equal(t, "Midwife", res.text("data.applications.0.jobTitle"))
				require.Equal(t, "review", res.text("data.applications.0.status"))
				require.Equal(t, "St Brigid's Hospital", res.text("data.applications.0.company"))
				require.Equal(t, first, res.text("data.applications.1.id"))
			}

			columns, rows := seeker.get("/api/jobseekers/export/applications?format=csv").table(t)
			require.Equal(t, "id,listing_id,job_title,company,status,applied_at", strings.Join(columns, ","))
			require.Len(t, rows, 2)
			require.Equal(t, []string{second, listing, "Midwife", "St Brigid's Hospital", "review"},
				[]string{rows[0]["id"], rows[0]["listing_id"], rows[0]["job_title"], rows[0]["company"], rows[0]["status"]})
			require.Equal(t, "'=1+1", rows[1]["job_title"])
			seeker.get("/api/jobseekers/export/applications?format=xml").invalid("format")
			require.Empty(t, server.seeker(t).get("/api/jobseekers/export/applications").ok(200).list("data.applications"))
			server.guest(t).get("/api/jobseekers/export/applications").fails(401, "Unauthorized")
			employer.get("/api/jobseekers/export/applications").fails(403, "Forbidden")
		})

		t.Run("GET /api/jobseekers/export/profile", func(t *testing.T) {
			seeker.fromNewAddress().
				put("/api/jobseekers/profile", object{
					"intent": "update-profile",
					"profile": object{
						"bio":             "=evil()",
						"location":        "Leeds",
						"salaryMin":       30000,
						"employmentTypes": []string{"bank", "full-time"},
					},
				}).
				ok(200)

			res := seeker.get("/api/jobseekers/export/profile").ok(200)
			require.Equal(t, seeker.id, res.text("data.profile.uuid"))
			require.Equal(t, seeker.email, res.text("data.profile.email"))
			require.Equal(t, "Niamh Byrne", res.text("data.profile.profile.name"))
			require.Equal(t, "Leeds", res.text("data.profile.profile.location"))

			_, rows := seeker.get("/api/jobseekers/export/profile?format=csv").table(t)
			require.Len(t, rows, 1)
			require.Equal(
				t,
				[]string{seeker.id, seeker.email, "Niamh Byrne", "'=evil()", "30000", "bank, full-time"},
				[]string{
					rows[0]["uuid"],
					rows[0]["email"],
					rows[0]["name"],
					rows[0]["bio"],
					rows[0]["salary_min"],
					rows[0]["employment_types"],
				},
			)
			seeker.get("/api/jobseekers/export/profile?format=").invalid("format")
			server.guest(t).get("/api/jobseekers/export/profile").fails(401, "Unauthorized")
			employer.get("/api/jobseekers/export/profile").fails(403, "Forbidden")
		})
	})
}
