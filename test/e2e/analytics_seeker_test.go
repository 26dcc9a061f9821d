package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJobseekerAnalytics checks the numbers of a jobseeker's overview: withdrawn applications
// do not count, and an application is pending until the employer or the applicant changes its
// status.
func TestJobseekerAnalytics(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("GET /api/jobseekers/analytics", func(t *testing.T) {
			const path = "/api/jobseekers/analytics"
			seeker, employer := server.seeker(t), server.employer(t)
			require.Equal(t,
				object{
					"applications": object{"total": 0.0, "pending": 0.0},
					"bookmarks":    object{"savedJobs": 0.0},
					"profile":      object{"completion": 0.0},
				},
				seeker.get(path).ok(200).at("data.analytics"))

			listing := employer.listing(nil)
			seeker.application(listing, nil) // stays pending

			reviewed := seeker.application(employer.listing(nil), nil)
			tracked := seeker.application(employer.listing(nil), nil)
			withdrawn := seeker.application(employer.listing(nil), nil)
			employer.fromNewAddress().put("/api/employers/applications/"+reviewed, object{"status": "review"}).ok(200)
			seeker.put("/api/jobseekers/applications/"+tracked, object{"status": "in-progress"}).ok(200)
			seeker.delete("/api/jobseekers/applications/" + withdrawn).ok(200)
			seeker.post("/api/jobseekers/saved", object{"listingId": listing}).ok(201)
			seeker.document(nil)
			require.Equal(t,
				object{
					"applications": object{"total": 3.0, "pending": 1.0},
					"bookmarks":    object{"savedJobs": 1.0},
					// The document, a CV, is one of ten parts of a profile that count 10 % each.
					"profile": object{"completion": 10.0},
				},
				seeker.get(path).ok(200).at("data.analytics"))

			list := seeker.get("/api/jobseekers/applications").ok(200)
			require.Equal(t, 3, list.integer("data.pagination.total"), "the list has the same total")
			server.guest(t).get(path).fails(401, "Unauthorized")
		})
	})
}
