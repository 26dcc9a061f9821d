package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// nowhere is a valid id that no resource has.
const nowhere = "0195a1b2-0000-7000-8000-000000000001"

// TestJobseekerApplications checks the operations of applicants. A jobseeker applies once for a listing and
// answers its required questions. The applicant can note the progress, which the employer does not see.
// A withdrawal is final.
//
// employer.listing and seeker.application post a listing and apply for it, and return the id. They replace
// default members by those of their argument.
func TestJobseekerApplications(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, seeker := server.employer(t), server.seeker(t)
		t.Run("POST /api/jobseekers/applications", func(t *testing.T) {
			const path = "/api/jobseekers/applications"

			// Requests come from new addresses, because the route is limited by address.
			listing := employer.listing(nil)
			applied := seeker.fromNewAddress().post(path, object{"listingId": listing, "coverLetter": "Dear all"}).ok(201)
			require.Equal(t, listing, applied.text("data.listingId"))
			require.Equal(t, "pending", applied.text("data.status"))

			appliedAt, err := time.Parse(time.RFC3339, applied.text("data.appliedAt"))
			require.NoError(t, err)
			require.WithinDuration(t, time.Now(), appliedAt, time.Minute)
			require.True(t, strings.HasSuffix(applied.text("data.appliedAt"), "Z"), "times are in UTC")

			// The user has applied for the first listing already. The user cannot find the others: an id that no
			// listing has, a text that is no id, and a draft.
			seeker.fromNewAddress().post(path, object{"listingId": listing}).fails(400, "Already applied to this position")

			for _, absent := range []string{nowhere, "nonsense", employer.listing(object{"status": "draft"})} {
				seeker.fromNewAddress().post(path, object{"listingId": absent}).fails(404, "Listing not found")
			}

			// Invalid bodies.
			client := seeker.fromNewAddress()
			client.post(path, object{}).invalid("listingId")
			client.post(path, object{"listingId": 5}).invalid("listingId")

			const maxCoverLetter = 20_000 // characters
			client.post(path, object{"listingId": listing, "coverLetter": strings.Repeat("x", maxCoverLetter+1)}).invalid("coverLetter")

			// Users who are not jobseekers.
			employer.fromNewAddress().post(path, object{"listingId": listing}).fails(403, "Forbidden")
			server.guest(t).post(path, object{"listingId": listing}).fails(401, "Unauthorized")
		})

		t.Run("POST /api/jobseekers/applications requires answers", func(t *testing.T) {
			listing := employer.listing(
				object{
					"questions": []object{
						{"id": "pin", "text": "Your NMC PIN?", "required": true},
						{"id": "car", "text": "Do you drive?", "required": false},
					},
				},
			)

			// The answer to the required question is missing, an answer is to a question that the listing does
			// not have, and the answers are not a list.
			client := seeker.fromNewAddress()
			client.post("/api/jobseekers/applications", object{"listingId": listing}).invalid("answers")
			client.post("/api/jobseekers/applications", object{
				"listingId": listing,
				"answers":   []object{{"question_id": "pin", "answer": "x"}, {"question_id": "age", "answer": "40"}},
			}).
				invalid("answers.1.question_id")
			client.post("/api/jobseekers/applications", object{"listingId": listing, "answers": "none"}).invalid("answers")

			id := seeker.application(listing, object{"answers": []object{{"question_id": "pin", "answer": "12A3456E"}}})
			require.Equal(t, "12A3456E", seeker.get("/api/jobseekers/applications/"+id).ok(200).text("data.application.answers.0.answer"))
		})

		t.Run("POST /api/jobseekers/applications is limited by address", func(t *testing.T) {
			client := seeker.fromNewAddress()
			const maxRequests = 10 // from one address in 15 minutes, valid or not

			for range maxRequests {
				client.post("/api/jobseekers/applications", object{}).invalid("listingId")
			}

			limited := client.post("/api/jobseekers/applications", object{}).fails(429, "Rate limit exceeded")
			require.NotEmpty(t, limited.header.Get("Retry-After"))
		})

		t.Run("GET /api/jobseekers/applications", func(t *testing.T) {
			const path = "/api/jobseekers/applications"

			// There are three applications, so that the second page of two has one.
			applicant := server.seeker(t) // without the applications of other subtests

			var ids []string
			for i := range 3 {
				ids = append(ids, applicant.application(employer.listing(object{"title": fmt.Sprint("Midwife ", i)}), nil))
			}

			// The newest application is the first.
			firstPage := applicant.get(path + "?limit=2").ok(200)
			require.Len(t, firstPage.list("data.applications"), 2)
			require.Equal(t, ids[2], firstPage.text("data.applications.0.id"))
			require.Equal(t, "Midwife 2", firstPage.text("data.applications.0.jobTitle"))
			require.Equal(t, "pending", firstPage.text("data.applications.0.status"))
			require.NotEmpty(t, firstPage.text("data.applications.0.listingId"))
			require.NotEmpty(t, firstPage.text("data.applications.0.appliedAt"))
			require.Equal(t,
				object{"total": 3., "page": 1., "limit": 2., "totalPages": 2., "hasNext": true, "hasPrev": false},
				firstPage.at("data.pagination"))

			// The second page by its cursor and by its number.
			byCursor := applicant.get(path + "?limit=2&cursor=" + firstPage.text("data.nextCursor")).ok(200)
			require.Equal(t, ids[0], byCursor.text("data.applications.0.id"))

			byNumber := applicant.get(path + "?limit=2&page=2").ok(200)
			require.Equal(t,
				object{"total": 3., "page": 2., "limit": 2., "totalPages": 2., "hasNext": false, "hasPrev": true},
				byNumber.at("data.pagination"))

			// Invalid pages, and a user who is no jobseeker.
			applicant.get(path + "?page=0").invalid("page")
			applicant.get(path + "?cursor=x").invalid("cursor")
			employer.get(path).fails(403, "Forbidden")
		})

		t.Run("PUT /api/jobseekers/applications/:id sets the applicant's note", func(t *testing.T) {
			id := seeker.application(employer.listing(nil), nil)
			path := "/api/jobseekers/applications/" + id

			pathOfEmployer := "/api/employers/applications/" + id

			// The status "in-progress" and its color are the applicant's own note: only the applicant sees it.
			noted := seeker.put(path, object{"status": "in-progress", "statusColor": "bg-amber-100 text-amber-800"}).ok(200)
			require.Equal(t, id, noted.text("data.application.id"))
			require.Equal(t, "in-progress", noted.text("data.application.status"))
			require.Equal(t, "in-progress", seeker.get(path).ok(200).text("data.application.status"))

			seenByEmployer := employer.get(pathOfEmployer).ok(200)
			require.Equal(t, "pending", seenByEmployer.text("data.application.status"))
			require.NotContains(t, string(seenByEmployer.raw), "amber")

			// The applicant cannot set a status of the employer, and the employer's next change replaces the note.
			seeker.put(path, object{"status": "interview"}).invalid("status")
			employer.fromNewAddress().put(pathOfEmployer, object{"status": "interview"}).ok(200)
			require.Equal(t, "interview", seeker.get(path).ok(200).text("data.application.status"))

			server.seeker(t).put(path, object{"status": "completed"}).fails(404, "Application not found")
		})

		t.Run("DELETE /api/jobseekers/applications/:id is final", func(t *testing.T) {
			listing := employer.listing(nil)
			id := seeker.application(listing, nil)
			path := "/api/jobseekers/applications/" + id

			// Another jobseeker does not find the application. Its applicant can withdraw it.
			server.seeker(t).delete(path).fails(404, "Application not found")
			require.Equal(t, id, seeker.delete(path).ok(200).text("data.id"))

			// The applicant does not find the withdrawn application any more, and cannot apply again.
			seeker.delete(path).fails(404, "Application not found")
			seeker.get(path).fails(404, "Application not found")
			seeker.put(path, object{"status": "completed"}).fails(404, "Application not found")
			seeker.fromNewAddress().
				post("/api/jobseekers/applications", object{"listingId": listing}).
				fails(400, "Already applied to this position")

			// The employer sees the withdrawal, and cannot change it.
			seenByEmployer := employer.get("/api/employers/applications/" + id).ok(200)
			require.Equal(t, "withdrawn", seenByEmployer.text("data.application.status"))
			require.Equal(t, "jobseeker", seenByEmployer.text("data.application.timeline.1.actor"))
			employer.fromNewAddress().put("/api/employers/applications/"+id, object{"status": "accepted"}).fails(400, "Invalid status")
		})

		t.Run("GET /api/jobseekers/applications/:id", func(t *testing.T) {
			listing := employer.listing(nil)
			id := seeker.application(listing, object{"coverLetter": "Dear all"})
			application := seeker.get("/api/jobseekers/applications/" + id).ok(200)
			require.Equal(t, listing, application.text("data.application.jobId"))
			require.Equal(t, listing, application.text("data.application.listingId"))
			require.Equal(t, "Staff Nurse", application.text("data.application.jobTitle"))
			require.Equal(t, "Dear all", application.text("data.application.coverLetter"))

			// The first change of status, to "pending", has no earlier status.
			require.Len(t, application.list("data.application.timeline"), 1)
			require.Nil(t, application.at("data.application.timeline.0.from"))

			for _, absent := range []string{nowhere, "nonsense"} {
				seeker.get("/api/jobseekers/applications/"+absent).fails(404, "Application not found")
			}

			server.seeker(t).get("/api/jobseekers/applications/"+id).fails(404, "Application not found")
		})
	})
}

// TestEmployerApplications checks the operations of employers. Only the organization of a listing sees its
// applications and changes their status, one by one or in batches. An invalid item of a batch does not
// affect the other items. The rival is the admin of another organization.
func TestEmployerApplications(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, rival, seeker := server.employer(t), server.employer(t), server.seeker(t)
		listing := employer.listing(object{"title": "Radiographer"})
		id := seeker.application(listing, object{"coverLetter": "Dear all"})

		t.Run("GET /api/employers/applications", func(t *testing.T) {
			list := employer.get("/api/employers/applications").ok(200)
			require.Len(t, list.list("data.applications"), 1)
			require.Equal(t, id, list.text("data.applications.0.id"))
			require.Equal(t, listing, list.text("data.applications.0.jobId"))
			require.Equal(t, "Radiographer", list.text("data.applications.0.jobTitle"))
			require.Equal(t, "pending", list.text("data.applications.0.status"))
			require.Equal(t, seeker.email, list.text("data.applications.0.applicantEmail"))
			require.Equal(t, object{"total": 1., "page": 1., "limit": 20., "totalPages": 1.}, list.at("data.pagination"))

			// Another organization's admin, a jobseeker and a guest.
			require.Empty(t, rival.get("/api/employers/applications").ok(200).list("data.applications"))
			seeker.get("/api/employers/applications").fails(403, "Forbidden")
			server.guest(t).get("/api/employers/applications").fails(401, "Unauthorized")
		})

		t.Run("GET /api/employers/applications/:id", func(t *testing.T) {
			application := employer.get("/api/employers/applications/" + id).ok(200)
			require.Equal(t, listing, application.text("data.application.jobId"))
			require.Equal(t, seeker.email, application.text("data.application.applicantEmail"))
			require.Equal(t, seekerName, application.text("data.application.applicantName"))
			require.Equal(t, "Dear all", application.text("data.application.coverLetter"))
			rival.get("/api/employers/applications/"+id).fails(404, "Application not found")
			employer.get("/api/employers/applications/x").fails(404, "Application not found")
		})

		t.Run("PUT /api/employers/applications/:id", func(t *testing.T) {
			path := "/api/employers/applications/" + id

			// Requests come from new addresses, because the route is limited by address.
			changed := employer.fromNewAddress().put(path, object{"status": "review"}).ok(200)
			require.Equal(t, id, changed.text("data.id"))
			require.Equal(t, "review", changed.text("data.status"))

			employer.fromNewAddress().put(path, object{"status": "review"}).ok(200)
			require.Len(t, employer.get(path).ok(200).list("data.application.timeline"), 2, "the same status again is no change")

			// The status "completed" is for the applicant's note only. The other requests have no status, or a
			// value of another type.
			employer.fromNewAddress().put(path, object{"status": "completed"}).fails(400, "Invalid status")
			employer.fromNewAddress().put(path, object{}).fails(400, "Invalid status")

			for _, noText := range []any{nil, 5, true, []string{"review"}, object{}} {
				employer.fromNewAddress().put(path, object{"status": noText}).fails(400, "Invalid status")
			}

			rival.fromNewAddress().put(path, object{"status": "review"}).fails(404, "Application not found")

			// The limit of an address counts the requests about all applications.
			const maxRequests = 10 // from one address in 15 minutes
			client := employer.fromNewAddress()

			for range maxRequests {
				client.put(path, object{"status": "review"}).ok(200)
			}

			client.put("/api/employers/applications/"+nowhere, object{"status": "review"}).fails(429, "Rate limit exceeded")
		})

		t.Run("DELETE /api/employers/applications/:id", func(t *testing.T) {
			withdrawn := seeker.application(employer.listing(nil), nil)
			path := "/api/employers/applications/" + withdrawn
			rival.fromNewAddress().delete(path).fails(404, "Application not found")
			require.Equal(t, withdrawn, employer.fromNewAddress().delete(path).ok(200).text("data.id"))
			require.Equal(t, "withdrawn", seeker.get("/api/jobseekers/applications/"+withdrawn).ok(200).text("data.application.status"))

			// The employer's withdrawal is not final, unlike the applicant's own one.
			employer.fromNewAddress().put(path, object{"status": "accepted"}).ok(200)
		})

		t.Run("POST /api/employers/applications/batch", func(t *testing.T) {
			foreign := seeker.application(rival.listing(nil), nil)
			updated := employer.post(applicationBatchPath, object{"applications": []object{
				{"id": id, "status": "interview"},
				{"id": foreign, "status": "accepted"},
				{"id": nowhere, "status": "accepted"},
				{"id": id, "status": "hired"},
				{"id": id, "status": "accepted"},
			}}).ok(200)

			// The items are applied in their order, and the same application may occur twice.
			require.Equal(t,
				[]any{object{"id": id, "status": "interview"}, object{"id": id, "status": "accepted"}},
				updated.at("data.updated"))
			require.Equal(t, []any{
				object{"appUpdate": object{"id": foreign, "status": "accepted"}, "error": "Application not found"},
				object{"appUpdate": object{"id": nowhere, "status": "accepted"}, "error": "Application not found"},
				object{"appUpdate": object{"id": id, "status": "hired"}, "error": "Invalid status"},
			}, updated.at("data.failed"))
			require.Contains(t, updated.text("message"), "2", "the number of updated items")
			require.Contains(t, updated.text("message"), "3", "the number of failed items")
			require.Equal(t, "pending", rival.get("/api/employers/applications/"+foreign).ok(200).text("data.application.status"))
		})

		t.Run("POST /api/employers/applications/batch items of other types", func(t *testing.T) {
			// One item is valid. The others have other types than the documented ones, and do not affect it.
			mixed := employer.post(applicationBatchPath, object{"applications": []any{
				7,
				nil,
				object{"id": 5},
				object{"id": id, "status": 5},
				object{},
				object{"id": id, "status": "review", "note": "kept as sent"},
				"x",
			}}).
				ok(200)
			require.Equal(t, []any{object{"id": id, "status": "review"}}, mixed.at("data.updated"))
			require.Equal(t, []any{
				object{"appUpdate": 7., "error": "item must be a JSON object"},
				object{"appUpdate": nil, "error": "item must be a JSON object"},
				object{"appUpdate": object{"id": 5.}, "error": "id must be a string"},
				object{"appUpdate": object{"id": id, "status": 5.}, "error": "status must be a string"},
				object{"appUpdate": object{}, "error": "Application not found"},
				object{"appUpdate": "x", "error": "item must be a JSON object"},
			}, mixed.at("data.failed"))
		})

		t.Run("POST /api/employers/applications/batch shortens long values", func(t *testing.T) {
			// The response repeats the items that failed. It is stored for a day.
			long := object{"id": strings.Repeat("x", 5_000), "status": "review"}
			failed := employer.post(applicationBatchPath, object{"applications": []object{long}}).ok(200)
			require.Less(t, len(failed.raw), 1_000)
		})

		t.Run("POST /api/employers/applications/batch limits, bodies and users", func(t *testing.T) {
			// A batch may have 100 items, or none.
			const maxItems = 100
			tooMany := make([]object, maxItems+1)

			for i := range tooMany {
				tooMany[i] = object{"id": id, "status": "review"}
			}

			employer.post(applicationBatchPath, object{"applications": tooMany}).
				fails(400, "Maximum 100 applications per batch request")
			employer.post(applicationBatchPath, object{"applications": tooMany[:maxItems]}).ok(200)
			employer.post(applicationBatchPath, object{"applications": []object{}}).ok(200)

			// Invalid bodies, and a user who is not an employer.
			employer.post(applicationBatchPath, object{}).invalid("applications")
			employer.post(applicationBatchPath, object{"applications": "all"}).invalid("applications")
			seeker.post(applicationBatchPath, object{"applications": tooMany[:1]}).fails(403, "Forbidden")
		})
	})
}

// applicationBatchPath is the path of the operation that changes the status of several applications.
const applicationBatchPath = "/api/employers/applications/batch"

// TestApplicantProfile_Visible_EmployerSeesIt checks that an employer sees the profile of an applicant only
// with the applicant's consent, which is the setting showProfile. The employer never sees the expected pay
// and the phone number.
func TestApplicantProfile_Visible_EmployerSeesIt(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer := server.employer(t)
		visible, hidden := server.seeker(t), server.seeker(t)
		listing := employer.listing(nil)

		for _, seeker := range []*account{visible, hidden} {
			seeker.put("/api/jobseekers/profile", object{
				"intent": "update-profile",
				"profile": object{
					"bio":       "Twelve years in theatre.",
					"location":  "Leeds",
					"phone":     "+44 20 7946 0000",
					"salaryMin": 40000,
				},
			}).ok(200)
		}

		visible.put("/api/jobseekers/settings", object{"intent": "update-privacy", "showProfile": true}).ok(200)

		// Both users have the same profile, and only one of them has consented.
		profileSeenByEmployer := func(seeker *account) any {
			application := seeker.application(listing, nil)
			return employer.get("/api/employers/applications/" + application).ok(200).at("data.application.applicantProfile")
		}

		require.Equal(t,
			object{
				"bio":         "Twelve years in theatre.",
				"location":    "Leeds",
				"specialty":   "",
				"currentRole": "",
				"experience":  "",
			},
			profileSeenByEmployer(visible), "pay and phone number are hidden")
		require.Nil(t, profileSeenByEmployer(hidden))
	})
}
