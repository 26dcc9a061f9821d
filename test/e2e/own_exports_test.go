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
		const formula = "=1+1" // a spreadsheet would execute it

		// The seeker has two applications and a withdrawn one, and another user has one.
		employer, seeker, otherSeeker := server.employer(t), server.seeker(t), server.seeker(t)
		applicationWithFormula := seeker.application(employer.listing(object{"title": formula}), nil)
		midwifeListing := employer.listing(object{"title": "Midwife"})
		midwifeApplication := seeker.application(midwifeListing, nil)
		employer.put("/api/employers/applications/"+midwifeApplication, object{"status": "review"}).ok(200)

		withdrawn := seeker.application(employer.listing(nil), nil)
		seeker.delete("/api/jobseekers/applications/" + withdrawn).ok(200)
		otherSeeker.application(midwifeListing, nil)

		t.Run("GET /api/jobseekers/export/applications", func(t *testing.T) {
			const path = "/api/jobseekers/export/applications"

			// JSON is the default. The newest application is the first.
			for _, query := range []string{"", "?format=json"} {
				export := seeker.get(path + query).ok(200)
				require.Len(t, export.list("data.applications"), 2)
				require.Equal(t, midwifeApplication, export.text("data.applications.0.id"))
				require.Equal(t, "Midwife", export.text("data.applications.0.jobTitle"))
				require.Equal(t, "review", export.text("data.applications.0.status"))
				require.Equal(t, organizationName, export.text("data.applications.0.company"))
				require.Equal(t, applicationWithFormula, export.text("data.applications.1.id"))
			}

			// The rows of the CSV have the same order. A formula begins with an apostrophe, which makes it text.
			columns, rows := seeker.get(path + "?format=csv").table(t)
			require.Equal(t, "id,listing_id,job_title,company,status,applied_at", strings.Join(columns, ","))
			require.Len(t, rows, 2)

			for column, want := range map[string]string{
				"id":         midwifeApplication,
				"listing_id": midwifeListing,
				"job_title":  "Midwife",
				"company":    organizationName,
				"status":     "review",
			} {
				require.Equal(t, want, rows[0][column], column)
			}

			require.Equal(t, "'"+formula, rows[1]["job_title"])

			seeker.get(path + "?format=xml").invalid("format")

			// A jobseeker without applications gets an empty list. Guests and employers have no such export.
			require.Empty(t, server.seeker(t).get(path).ok(200).list("data.applications"))
			server.guest(t).get(path).fails(401, "Unauthorized")
			employer.get(path).fails(403, "Forbidden")
		})

		t.Run("GET /api/jobseekers/export/profile", func(t *testing.T) {
			const path = "/api/jobseekers/export/profile"

			seeker.put("/api/jobseekers/profile", object{
				"intent": "update-profile",
				"profile": object{
					"bio":             formula,
					"location":        "Leeds",
					"salaryMin":       30000,
					"employmentTypes": []string{"bank", "full-time"},
				},
			}).
				ok(200)

			// JSON is the default.
			export := seeker.get(path).ok(200)
			require.Equal(t, seeker.id, export.text("data.profile.uuid"))
			require.Equal(t, seeker.email, export.text("data.profile.email"))
			require.Equal(t, seekerName, export.text("data.profile.profile.name"))
			require.Equal(t, "Leeds", export.text("data.profile.profile.location"))

			// The CSV has one row, in which the formula is text.
			_, rows := seeker.get(path + "?format=csv").table(t)
			require.Len(t, rows, 1)

			for column, want := range map[string]string{
				"uuid":             seeker.id,
				"email":            seeker.email,
				"name":             seekerName,
				"bio":              "'" + formula,
				"salary_min":       "30000",
				"employment_types": "bank, full-time",
			} {
				require.Equal(t, want, rows[0][column], column)
			}

			seeker.get(path + "?format=").invalid("format") // empty is not the default

			// Guests and employers have no profile of a jobseeker.
			server.guest(t).get(path).fails(401, "Unauthorized")
			employer.get(path).fails(403, "Forbidden")
		})
	})
}
