package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// appointment returns the body of a request that schedules an interview, with the members of more. The
// time is in British summer time, one hour ahead of UTC, which begins on this day.
func appointment(more object) object {
	body := object{"scheduledAt": "2027-03-28T10:30:00+01:00", "location": "Ward 3", "interviewer": "Dr. Byrne"}
	for name, value := range more {
		body[name] = value
	}

	return body
}

// TestInterviews checks that an employer schedules, moves, completes and lists interviews. The applicant
// gets e-mails with a calendar entry, and never sees the employer's notes. E-mails are sent in the
// background, soon after the request.
//
// The subtests follow the interview of one application: it is scheduled, and then moved and completed.
func TestInterviews(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, seeker := server.employer(t), server.seeker(t)
		job := employer.listing(object{"title": "Theatre Nurse"})
		id := seeker.application(job, nil)
		path := "/api/employers/applications/" + id + "/interview"

		t.Run("PUT /api/employers/applications/:id/interview before one is scheduled", func(t *testing.T) {
			employer.put(path, object{"status": "completed"}).fails(404, "Interview not found")
			require.Nil(t, employer.get("/api/employers/applications/"+id).ok(200).at("data.application.interview"))
		})

		t.Run("POST /api/employers/applications/:id/interview", func(t *testing.T) {
			scheduled := employer.post(path, appointment(object{
				"notes":       "Portfolio, please",
				"interviewer": "Dr.\u200b Byrne", // the invisible character is removed
			})).ok(200)
			require.Equal(t, id, scheduled.text("data.applicationId"))

			want := object{
				"scheduledAt": "2027-03-28T09:30:00Z", // in UTC
				"location":    "Ward 3",
				"interviewer": "Dr. Byrne",
				"notes":       "Portfolio, please",
				"status":      "scheduled",
				"outcome":     "pending",
			}
			require.Equal(t, want, scheduled.at("data.interview"))
			require.Equal(t, want, employer.get("/api/employers/applications/"+id).ok(200).at("data.application.interview"))
			require.Equal(t, want, employer.get("/api/employers/applications").ok(200).at("data.applications.0.interview"))
			require.NotContains(t, string(seeker.get("/api/jobseekers/applications/"+id).raw), "Portfolio", "notes are the employer's own")

			// Mail programs offer to add the attached entry to the calendar.
			mail := server.waitForMail(t, seeker.email, "Interview: Theatre Nurse")
			require.Contains(t, mail, "text/calendar; method=REQUEST")

			// Unknown applications, and members that are missing, empty or of another type.
			for _, absent := range []string{nowhere, "nonsense"} {
				employer.post("/api/employers/applications/"+absent+"/interview", appointment(nil)).fails(404, "Application not found")
			}

			for _, field := range []string{"scheduledAt", "location", "interviewer"} {
				employer.post(path, appointment(object{field: nil})).invalid(field)
				employer.post(path, appointment(object{field: ""})).invalid(field)
				employer.post(path, appointment(object{field: 5})).invalid(field)
			}

			withoutTimeZone := "2027-03-28T10:30:00"
			employer.post(path, appointment(object{"scheduledAt": withoutTimeZone})).invalid("scheduledAt")
		})

		t.Run("PUT /api/employers/applications/:id/interview", func(t *testing.T) {
			moved := employer.put(path, object{"scheduledAt": "2027-03-29T08:00:00.000Z", "location": "Ward 4"}).ok(200)
			require.Equal(t, id, moved.text("data.applicationId"))
			require.Equal(t, "2027-03-29T08:00:00Z", moved.text("data.interview.scheduledAt"))
			require.Equal(t, "Dr. Byrne", moved.text("data.interview.interviewer"), "a member that is not sent is unchanged")
			server.waitForMail(t, seeker.email, "Changed interview: Theatre Nurse")

			require.Equal(t, "fail",
				employer.put(path, object{"status": "completed", "outcome": "fail"}).ok(200).text("data.interview.outcome"))
			employer.put(path, object{"status": "later"}).invalid("status")
			employer.put(path, object{"outcome": "maybe"}).invalid("outcome")
			employer.put(path, object{"location": ""}).invalid("location")
		})

		t.Run("GET /api/employers/interviews", func(t *testing.T) {
			other := seeker.application(employer.listing(nil), nil)
			employer.post("/api/employers/applications/"+other+"/interview", appointment(nil)).ok(200)

			// The newest interview is first.
			all := employer.get("/api/employers/interviews").ok(200)
			require.Equal(t, 2, all.integer("data.total"))
			require.Equal(t, other, all.text("data.interviews.0.applicationId"))

			completed := employer.get("/api/employers/interviews?status=completed").ok(200)
			require.Equal(t, 1, completed.integer("data.total"))

			for field, want := range map[string]string{
				"applicationId":  id,
				"jobId":          job,
				"jobTitle":       "Theatre Nurse",
				"applicantEmail": seeker.email,
				"status":         "completed",
			} {
				require.Equal(t, want, completed.text("data.interviews.0."+field), field)
			}

			require.NotEmpty(t, completed.text("data.interviews.0.applicantName"))
			require.Equal(t, "Ward 4", completed.text("data.interviews.0.interview.location"))
			require.Equal(t, "2027-03-29T08:00:00Z", completed.text("data.interviews.0.interview.scheduledAt"))
			require.Empty(t, employer.get("/api/employers/interviews?status=cancelled").ok(200).list("data.interviews"))
			employer.get("/api/employers/interviews?status=lost").invalid("status")
			require.Empty(t, server.employer(t).get("/api/employers/interviews").ok(200).list("data.interviews"))
		})

		t.Run("POST /api/employers/applications/:id/contact", func(t *testing.T) {
			contactPath := "/api/employers/applications/" + id + "/contact"
			sent := employer.post(contactPath, object{"subject": "Your papers", "message": "Please send them."}).ok(200)
			require.Equal(t, "queued", sent.text("message"))
			require.Equal(t, object{"to": seeker.email, "subject": "Your papers"}, sent.at("data"))

			mail := server.waitForMail(t, seeker.email, "Your papers")
			require.Contains(t, mail, "> Please send them.", "the employer's text is quoted")
			require.Contains(t, mail, employer.email, "a reply goes to the member who wrote the message")

			employer.post("/api/employers/applications/"+nowhere+"/contact", object{"subject": "x", "message": "y"}).
				fails(404, "Application not found")
			employer.post(contactPath, object{"message": "y"}).invalid("subject")
			employer.post(contactPath, object{"subject": "x"}).invalid("message")
		})

		t.Run("withdrawal of an application cancels its interview", func(t *testing.T) {
			withdrawn := seeker.application(employer.listing(nil), nil)
			path := "/api/employers/applications/" + withdrawn + "/interview"
			employer.post(path, appointment(nil)).ok(200)
			seeker.delete("/api/jobseekers/applications/" + withdrawn).ok(200)
			server.waitForMail(t, seeker.email, "Cancelled interview: Staff Nurse")
			employer.post(path, appointment(nil)).fails(409, "The applicant has withdrawn this application")
		})
	})
}
