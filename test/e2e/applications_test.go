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

// TestJobseekerApplications checks the applicant's side: one application per listing, answers
// to required questions, a private note of the progress, and a withdrawal that is final.
func TestJobseekerApplications(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, seeker := server.employer(t), server.seeker(t)
		t.Run("POST /api/jobseekers/applications", func(t *testing.T) {
			listing := employer.listing(nil)
			resp := seeker.fromNewAddress().
				post("/api/jobseekers/applications", object{"listingId": listing, "coverLetter": "Dear all"}).
				ok(201)
			require.Equal(t, listing, resp.text("data.listingId"))
			require.Equal(t, "pending", resp.text("data.status"))

			applied, err := time.Parse(time.RFC3339, resp.text("data.appliedAt"))
			require.NoError(t, err)
			require.WithinDuration(t, time.Now(), applied, time.Minute)
			require.True(t, strings.HasSuffix(resp.text("data.appliedAt"), "Z"))
			seeker.fromNewAddress().
				post("/api/jobseekers/applications", object{"listingId": listing}).
				fails(400, "Already applied to this position")

			for _, absent := range []string{nowhere, "nonsense", employer.listing(object{"status": "draft"})} {
				seeker.fromNewAddress().post("/api/jobseekers/applications", object{"listingId": absent}).fails(404, "Listing not found")
			}

			s := seeker.fromNewAddress()
			s.post("/api/jobseekers/applications", object{}).invalid("listingId")
			s.post("/api/jobseekers/applications", object{"listingId": 5}).invalid("listingId")
			s.post("/api/jobseekers/applications", object{"listingId": listing, "coverLetter": strings.Repeat("x", 20_001)}).
				invalid("coverLetter")
			employer.fromNewAddress().post("/api/jobseekers/applications", object{"listingId": listing}).fails(403, "Forbidden")
			server.guest(t).post("/api/jobseekers/applications", object{"listingId": listing}).fails(401, "Unauthorized")
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
			s := seeker.fromNewAddress()
			s.post("/api/jobseekers/applications", object{"listingId": listing}).invalid("answers")
			s.post("/api/jobseekers/applications", object{
				"listingId": listing,
				"answers":   []object{{"question_id": "pin", "answer": "x"}, {"question_id": "age", "answer": "40"}},
			}).
				invalid("answers.1.question_id")
			s.post("/api/jobseekers/applications", object{"listingId": listing, "answers": "none"}).invalid("answers")

			id := seeker.application(listing, object{"answers": []object{{"question_id": "pin", "answer": "12A3456E"}}})
			require.Equal(t, "12A3456E", seeker.get("/api/jobseekers/applications/"+id).ok(200).text("data.application.answers.0.answer"))
		})

		t.Run("POST /api/jobseekers/applications is limited by address", func(t *testing.T) {
			s := seeker.fromNewAddress()
			for range 10 {
				s.post("/api/jobseekers/applications", object{}).invalid("listingId")
			}

			a := s.post("/api/jobseekers/applications", object{}).fails(429, "Rate limit exceeded")
			require.NotEmpty(t, a.header.Get("Retry-After"))
		})

		t.Run("GET /api/jobseekers/applications", func(t *testing.T) {
			s := server.seeker(t)

			var ids []string
			for i := range 3 {
				ids = append(ids, s.application(employer.listing(object{"title": fmt.Sprint("Midwife ", i)}), nil))
			}

			resp := s.get("/api/jobseekers/applications?limit=2").ok(200)
			require.Len(t, resp.list("data.applications"), 2)
			require.Equal(t, ids[2], resp.text("data.applications.0.id"))
			require.Equal(t, "Midwife 2", resp.text("data.applications.0.jobTitle"))
			require.Equal(t, "pending", resp.text("data.applications.0.status"))
			require.NotEmpty(t, resp.text("data.applications.0.listingId"))
			require.NotEmpty(t, resp.text("data.applications.0.appliedAt"))
			require.Equal(t,
				object{"total": 3., "page": 1., "limit": 2., "totalPages": 2., "hasNext": true, "hasPrev": false},
				resp.at("data.pagination"))

			last := s.get("/api/jobseekers/applications?limit=2&cursor=" + resp.text("data.nextCursor")).ok(200)
			require.Equal(t, ids[0], last.text("data.applications.0.id"))

			last = s.get("/api/jobseekers/applications?limit=2&page=2").ok(200)
			require.Equal(t,
				object{"total": 3., "page": 2., "limit": 2., "totalPages": 2., "hasNext": false, "hasPrev": true},
				last.at("data.pagination"))
			s.get("/api/jobseekers/applications?page=0").invalid("page")
			s.get("/api/jobseekers/applications?cursor=x").invalid("cursor")
			employer.get("/api/jobseekers/applications").fails(403, "Forbidden")
		})

		t.Run("PUT /api/jobseekers/applications/:id sets the applicant's note", func(t *testing.T) {
			id := seeker.application(employer.listing(nil), nil)
			path := "/api/jobseekers/applications/" + id

			// The status "in-progress" and its color are the applicant's own note: the
			// employer sees neither, and the employer's next change replaces the note.
			a := seeker.put(path, object{"status": "in-progress", "statusColor": "bg-amber-100 text-amber-800"}).ok(200)
			require.Equal(t, id, a.text("data.application.id"))
			require.Equal(t, "in-progress", a.text("data.application.status"))
			require.Equal(t, "in-progress", seeker.get(path).ok(200).text("data.application.status"))
			require.Equal(t, "pending", employer.get("/api/employers/applications/"+id).ok(200).text("data.application.status"))
			require.NotContains(t, string(employer.get("/api/employers/applications/"+id).raw), "amber")
			seeker.put(path, object{"status": "interview"}).invalid("status")
			employer.fromNewAddress().put("/api/employers/applications/"+id, object{"status": "interview"}).ok(200)
			require.Equal(t, "interview", seeker.get(path).ok(200).text("data.application.status"))
			server.seeker(t).put(path, object{"status": "completed"}).fails(404, "Application not found")
		})

		t.Run("DELETE /api/jobseekers/applications/:id is final", func(t *testing.T) {
			listing := employer.listing(nil)
			id := seeker.application(listing, nil)
			path := "/api/jobseekers/applications/" + id
			server.seeker(t).delete(path).fails(404, "Application not found")
			require.Equal(t, id, seeker.delete(path).ok(200).text("data.id"))
			seeker.delete(path).fails(404, "Application not found")
			seeker.get(path).fails(404, "Application not found")
			seeker.put(path, object{"status": "completed"}).fails(404, "Application not found")
			seeker.fromNewAddress().
				post("/api/jobseekers/applications", object{"listingId": listing}).
				fails(400, "Already applied to this position")

			a := employer.get("/api/employers/applications/" + id).ok(200)
			require.Equal(t, "withdrawn", a.text("data.application.status"))
			require.Equal(t, "jobseeker", a.text("data.application.timeline.1.actor"))
			employer.fromNewAddress().put("/api/employers/applications/"+id, object{"status": "accepted"}).fails(400, "Invalid status")
		})

		t.Run("GET /api/jobseekers/applications/:id", func(t *testing.T) {
			listing := employer.listing(nil)
			id := seeker.application(listing, object{"coverLetter": "Dear all"})
			resp := seeker.get("/api/jobseekers/applications/" + id).ok(200)
			require.Equal(t, listing, resp.text("data.application.jobId"))
			require.Equal(t, listing, resp.text("data.application.listingId"))
			require.Equal(t, "Staff Nurse", resp.text("data.application.jobTitle"))
			require.Equal(t, "Dear all", resp.text("data.application.coverLetter"))
			require.Len(t, resp.list("data.application.timeline"), 1)
			require.Nil(t, resp.at("data.application.timeline.0.from"))

			for _, absent := range []string{nowhere, "nonsense"} {
				seeker.get("/api/jobseekers/applications/"+absent).fails(404, "Application not found")
			}

			server.seeker(t).get("/api/jobseekers/applications/"+id).fails(404, "Application not found")
		})
	})
}

// TestEmployerApplications checks the employer's side: only the organization of a listing sees
// and decides its applications, one by one or in batches in which a bad item does not affect
// the others.
func TestEmployerApplications(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, rival, seeker := server.employer(t), server.employer(t), server.seeker(t)
		listing := employer.listing(object{"title": "Radiographer"})
		id := seeker.application(listing, object{"coverLetter": "Dear all"})
		t.Run("GET /api/employers/applications", func(t *testing.T) {
			resp := employer.get("/api/employers/applications").ok(200)
			require.Len(t, resp.list("data.applications"), 1)
			require.Equal(t, id, resp.text("data.applications.0.id"))
			require.Equal(t, listing, resp.text("data.applications.0.jobId"))
			require.Equal(t, "Radiographer", resp.text("data.applications.0.jobTitle"))
			require.Equal(t, "pending", resp.text("data.applications.0.status"))
			require.Equal(t, seeker.email, resp.text("data.applications.0.applicantEmail"))
			require.Equal(t, object{"total": 1., "page": 1., "limit": 20., "totalPages": 1.}, resp.at("data.pagination"))
			require.Empty(t, rival.get("/api/employers/applications").ok(200).list("data.applications"))
			seeker.get("/api/employers/applications").fails(403, "Forbidden")
			server.guest(t).get("/api/employers/applications").fails(401, "Unauthorized")
		})

		t.Run("GET /api/employers/applications/:id", func(t *testing.T) {
			a := employer.get("/api/employers/applications/" + id).ok(200)
			require.Equal(t, listing, a.text("data.application.jobId"))
			require.Equal(t, seeker.email, a.text("data.application.applicantEmail"))
			require.Equal(t, "Niamh Byrne", a.text("data.application.applicantName"))
			require.Equal(t, "Dear all", a.text("data.application.coverLetter"))
			rival.get("/api/employers/applications/"+id).fails(404, "Application not found")
			employer.get("/api/employers/applications/x").fails(404, "Application not found")
		})

		t.Run("PUT /api/employers/applications/:id", func(t *testing.T) {
			path := "/api/employers/applications/" + id
			a := employer.fromNewAddress().put(path, object{"status": "review"}).ok(200)
			require.Equal(t, id, a.text("data.id"))
			require.Equal(t, "review", a.text("data.status"))
			employer.fromNewAddress().put(path, object{"status": "review"}).ok(200)
			require.Len(t, employer.get(path).ok(200).list("data.application.timeline"), 2, "the same status again is no change")
			employer.fromNewAddress().put(path, object{"status": "completed"}).fails(400, "Invalid status")
			employer.fromNewAddress().put(path, object{}).fails(400, "Invalid status")

			for _, odd := range []any{nil, 5, true, []string{"review"}, object{}} {
				employer.fromNewAddress().put(path, object{"status": odd}).fails(400, "Invalid status")
			}

			rival.fromNewAddress().put(path, object{"status": "review"}).fails(404, "Application not found")

			c := employer.fromNewAddress()
			for range 10 {
				c.put(path, object{"status": "review"}).ok(200)
			}

			c.put("/api/employers/applications/"+nowhere, object{"status": "review"}).fails(429, "Rate limit exceeded")
		})

		t.Run("DELETE /api/employers/applications/:id", func(t *testing.T) {
			other := seeker.application(employer.listing(nil), nil)
			path := "/api/employers/applications/" + other
			rival.fromNewAddress().delete(path).fails(404, "Application not found")
			require.Equal(t, other, employer.fromNewAddress().delete(path).ok(200).text("data.id"))
			require.Equal(t, "withdrawn", seeker.get("/api/jobseekers/applications/"+other).ok(200).text("data.application.status"))

			// Only the applicant's own withdrawal is final.
			employer.fromNewAddress().put(path, object{"status": "accepted"}).ok(200)
		})

		t.Run("POST /api/employers/applications/batch", func(t *testing.T) {
			foreign := seeker.application(rival.listing(nil), nil)
			resp := employer.post("/api/employers/applications/batch", object{"applications": []object{
				{"id": id, "status": "interview"}, {"id": foreign, "status": "accepted"}, {"id": nowhere, "status": "accepted"},
				{"id": id, "status": "hired"}, {"id": id, "status": "accepted"},
			}}).ok(200)

			// The items are applied in their order, and the same application may occur twice.
			require.Equal(t, []any{object{"id": id, "status": "interview"}, object{"id": id, "status": "accepted"}}, resp.at("data.updated"))
			require.Equal(t, []any{
				object{"appUpdate": object{"id": foreign, "status": "accepted"}, "error": "Application not found"},
				object{"appUpdate": object{"id": nowhere, "status": "accepted"}, "error": "Application not found"},
				object{"appUpdate": object{"id": id, "status": "hired"}, "error": "Invalid status"},
			}, resp.at("data.failed"))
			require.Contains(t, resp.text("message"), "2")
			require.Contains(t, resp.text("message"), "3")
			require.Equal(t, "pending", rival.get("/api/employers/applications/"+foreign).ok(200).text("data.application.status"))

			resp = employer.post("/api/employers/applications/batch", object{"applications": []any{
				7,
				nil,
				object{"id": 5},
				object{"id": id, "status": 5},
				object{},
				object{"id": id, "status": "review", "note": "kept as sent"},
				"x",
			}}).
				ok(200)
			require.Equal(t, []any{object{"id": id, "status": "review"}}, resp.at("data.updated"),
				"an invalid item does not affect the others")
			require.Equal(t, []any{
				object{"appUpdate": 7., "error": "item must be a JSON object"},
				object{"appUpdate": nil, "error": "item must be a JSON object"},
				object{"appUpdate": object{"id": 5.}, "error": "id must be a string"},
				object{"appUpdate": object{"id": id, "status": 5.}, "error": "status must be a string"},
				object{"appUpdate": object{}, "error": "Application not found"},
				object{"appUpdate": "x", "error": "item must be a JSON object"},
			}, resp.at("data.failed"))

			long := object{"id": strings.Repeat("x", 5_000), "status": "review"}
			require.Less(t,
				len(employer.post("/api/employers/applications/batch", object{"applications": []object{long}}).ok(200).raw),
				1_000, "a response is stored for a day")

			many := make([]object, 101)
			for i := range many {
				many[i] = object{"id": id, "status": "review"}
			}

			employer.post("/api/employers/applications/batch", object{"applications": many}).
				fails(400, "Maximum 100 applications per batch request")
			employer.post("/api/employers/applications/batch", object{"applications": many[:100]}).ok(200)
			employer.post("/api/employers/applications/batch", object{"applications": []object{}}).ok(200)
			employer.post("/api/employers/applications/batch", object{}).invalid("applications")
			employer.post("/api/employers/applications/batch", object{"applications": "all"}).invalid("applications")
			seeker.post("/api/employers/applications/batch", object{"applications": many[:1]}).fails(403, "Forbidden")
		})
	})
}

// TestApplicantProfile_Visible_EmployerSeesIt checks that an employer sees an applicant's
// profile only with the applicant's consent, showProfile, and never the expected pay and phone
// number.
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
