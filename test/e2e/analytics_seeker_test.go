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
			require.Equal(
				t,
				object{
					"applications": object{"total": 0.0, "pending": 0.0},
					"bookmarks":    object{"savedJobs": 0.0},
					"profile":      object{"completion": 0.0},
				},
				seeker.get(path).ok(200).at("data.analytics"),
			)
			listing := employer.listing(nil)
			seeker.application(listing, nil)
			reviewed := seeker.application(employer.listing(nil), nil)
			tracked := seeker.application(employer.listing(nil), nil)
			gone := seeker.application(employer.listing(nil), nil)
			employer.fromNewAddress().put("/api/employers/applications/"+reviewed, object{"status": "review"}).ok(200)
			seeker.put("/api/jobseekers/applications/"+tracked, object{"status": "in-progress"}).ok(200)
			seeker.delete("/api/jobseekers/applications/" + gone).ok(200)
			seeker.post("/api/jobseekers/saved", object{"listingId": listing}).ok(201)
			seeker.document(nil)
			resp := seeker.get(path).ok(200)
			require.Equal(
				t,
				object{
					"applications": object{"total": 3.0, "pending": 1.0},
					"bookmarks":    object{"savedJobs": 1.0},
					// The CV is one of ten properties that count 10 % each.
					"profile": object{"completion": 10.0},
				},
				resp.at("data.analytics"),
			)
			require.InDelta(t, 3, seeker.get("/api/jobseekers/applications").ok(200).number("data.pagination.total"), 0)
			server.guest(t).get(path).fails(401, "Unauthorized")
		})
	})
}

// TestApplicationMails_Off_NotificationRemains checks that a user without e-mails still gets
// the notification on the site.
func TestApplicationMails_Off_NotificationRemains(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, quiet, other := server.employer(t), server.seeker(t), server.seeker(t)
		listing := employer.listing(object{"title": "Theatre Nurse"})
		quiet.put("/api/jobseekers/settings", object{"intent": "update-notifications", "email": false}).ok(200)
		for _, who := range []*account{quiet, other} {
			employer.fromNewAddress().put("/api/employers/applications/"+who.application(listing, nil), object{"status": "review"}).ok(200)
			who.waitForNotifications(1)
		}
		// An e-mail to quiet would have been sent before this one.
		server.waitForMail(t, other.email, "Your application: Theatre Nurse")
		server.requireNoMail(t, quiet.email, "Your application")
	})
}

// TestApplicantProfile_Visible_EmployerSeesIt checks that an employer sees an applicant's
// profile only with the applicant's consent, showProfile, and never the expected pay and phone
// number.
func TestApplicantProfile_Visible_EmployerSeesIt(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, jo, shy := server.employer(t), server.seeker(t), server.seeker(t)
		listing := employer.listing(nil)
		for _, who := range []*account{jo, shy} {
			who.put("/api/jobseekers/profile", object{
				"intent":  "update-profile",
				"profile": object{"bio": "Twelve years in theatre.", "location": "Leeds", "phone": "+44 20 7946 0000", "salaryMin": 40000},
			}).
				ok(200)
		}
		jo.put("/api/jobseekers/settings", object{"intent": "update-privacy", "showProfile": true}).ok(200)
		profile := func(who *account) any {
			return employer.get("/api/employers/applications/" + who.application(listing, nil)).
				ok(200).
				at("data.application.applicantProfile")
		}
		require.Equal(t,
			object{"bio": "Twelve years in theatre.", "location": "Leeds", "specialty": "", "currentRole": "", "experience": ""},
			profile(jo), "pay and phone number are hidden")
		require.Nil(t, profile(shy))
	})
}

// TestOnboarding_Intent_ComesFirst checks that the routes with an intent report a missing or
// unknown intent before other errors, since the intent decides which members a body has.
func TestOnboarding_Intent_ComesFirst(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		seeker := server.seeker(t)
		for path, wrong := range map[string]object{
			"/api/jobseekers/billing":   {"planId": 5},
			"/api/jobseekers/dashboard": {"action": true},
			"/api/jobseekers/search":    {"contractType": "often"},
			"/api/jobseekers/documents": {"type": "photo"},
		} {
			t.Run("POST "+path, func(t *testing.T) {
				seeker.fromNewAddress().post(path, wrong).fails(400, "Intent is required")
				seeker.fromNewAddress().post(path, object{"intent": "nonsense"}).invalid("intent")
				seeker.fromNewAddress().post(path, object{"intent": 5}).invalid("intent")
			})
		}
	})
}
