package e2e

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConsole_PostingJobs checks how an employer posts and changes jobs in the console, the pages
// of the site for employers. jobForm, at the end of this file, returns the values of a valid form
// for a job; its first argument is the button with which the form is sent.
func TestConsole_PostingJobs(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("invalid form keeps its input and links errors to fields", func(t *testing.T) {
			browser := server.signedIn(t, server.employer(t))
			require.Contains(t, browser.show("/employer").text, "Post a job")
			require.Contains(t, browser.show("/employer/jobs").text, "You have not posted any jobs yet.")
			require.Contains(t, browser.show("/employer/jobs/new").text, "Questions to applicants")

			const maxLineLength = 500
			invalid := browser.open("POST", "/employer/jobs/new", jobForm("publish", url.Values{
				"title":               {" "},
				"salary.min":          {"a lot"},
				"requirements":        {"x\n" + strings.Repeat("y", maxLineLength+1)},
				"applicationDeadline": {"soon"},
			}))
			require.Equal(t, 400, invalid.status)

			for _, want := range []string{
				// The errors, with links to their fields.
				`href="#title"`, `href="#salary.min"`, "Lowest pay must be a number",
				`href="#requirements"`, "in line 2", `href="#applicationDeadline"`,
				// The description and the question of the form.
				"No agency", "Your NMC PIN?",
			} {
				require.Contains(t, invalid.visibleText(), want)
			}

			// Every button refuses a closing date in the past for a new job.
			for _, button := range []string{"preview", "save", "publish"} {
				past := browser.open("POST", "/employer/jobs/new", jobForm(button, url.Values{"applicationDeadline": {"2020-01-31"}}))
				require.Equal(t, 400, past.status, button)
				require.Contains(t, past.text, "Closing date must not be in the past")
			}
		})

		t.Run("button for another question works without script", func(t *testing.T) {
			browser := server.signedIn(t, server.employer(t))

			// The form has two questions, so that the third has the number 2.
			withThirdQuestion := browser.open("POST", "/employer/jobs/new", jobForm("more", nil))
			require.Equal(t, 200, withThirdQuestion.status)
			require.Contains(t, withThirdQuestion.text, `name="questions.2.text"`)
		})

		t.Run("preview shows the job and saves nothing", func(t *testing.T) {
			browser := server.signedIn(t, server.employer(t))
			preview := browser.open("POST", "/employer/jobs/new", jobForm("preview", nil))
			require.Equal(t, 200, preview.status, preview.text)

			for _, want := range []string{
				"<li>Give medicines</li>", "<strong>No agency</strong>", "£36,000 to £44,000 a year",
				"Nothing is saved yet", `name="title" value="Staff Nurse, ICU"`,
			} {
				require.Contains(t, preview.text, want)
			}

			require.Contains(t, browser.show("/employer/jobs").text, "You have not posted any jobs yet.")
		})

		t.Run("draft is public once it is published", func(t *testing.T) {
			boss := server.employer(t)
			browser := server.signedIn(t, boss)

			draft := browser.submit("/employer/jobs/new", jobForm("save", nil))
			require.Contains(t, draft.text, "The draft is saved.")

			path := ownJobPath.FindString(draft.text)
			publicPath := strings.TrimPrefix(path, "/employer")

			// The draft has no public page, but the employer can preview it.
			require.Equal(t, 404, server.browser(t).open("GET", publicPath, nil).status)
			require.Contains(t, browser.show(path+"/preview").text, "<li>ALS</li>")

			// The form to edit the draft contains what was saved, without the empty question.
			form := browser.show(path + "/edit").text
			for _, want := range []string{
				`value="36000"`, "NMC PIN\nALS", `value="Your NMC PIN?"`,
				`name="questions.0.required" value="yes" checked`, `value="2099-03-01"`,
			} {
				require.Contains(t, form, want)
			}

			match := regexp.MustCompile(`name="questions.0.id" value="([^"]+)"`).FindStringSubmatch(form)
			require.NotNil(t, match, form)

			questionID := match[1]
			published := browser.submit(path+"/edit", jobForm("publish", url.Values{
				"questions.1.id": {questionID},
				"title":          {"Sister, ICU"},
			}))
			require.Contains(t, published.text, "The job is published.")

			// The answers of applicants refer to the id of a question, so that a question keeps its id.
			require.Contains(t, browser.show(path+"/edit").text, `value="`+questionID+`"`)
			require.Contains(t, server.browser(t).show(publicPath).text, "Sister, ICU")

			// A deadline has a time of day. Renewing moves the deadline by days, and the form changes
			// its day only.
			deadline := func() any {
				return boss.get("/api/employers" + publicPath).ok(200).at("data.job.applicationDeadline")
			}
			original := deadline()

			require.Contains(t, browser.submit(path, url.Values{"action": {"renew"}, "durationDays": {"30"}}).text, "The job is renewed.")

			renewed := deadline()
			require.NotEqual(t, original, renewed)

			// The day that the job is renewed to, 30 days after 2099-03-01.
			saved := browser.submit(path+"/edit", jobForm("save", url.Values{"applicationDeadline": {"2099-03-31"}}))
			require.Contains(t, saved.text, "The changes are saved.")
			require.Equal(t, renewed, deadline(), "the time of day stays")
			require.Equal(t, 400,
				browser.open("POST", path, url.Values{"action": {"renew"}, "durationDays": {"9999"}}).status,
				"too many days")
		})

		t.Run("buttons change the status of a job", func(t *testing.T) {
			boss := server.employer(t)
			browser := server.signedIn(t, boss)
			path := "/employer/jobs/" + boss.listing(object{"location": "Leeds", "applicationDeadline": "2099-03-01"})
			require.Contains(t, browser.show(path).text, "Renewing moves the closing date by this time.")

			for _, change := range []struct{ action, wantStatus string }{
				{action: "pause", wantStatus: "Paused"},
				{action: "publish", wantStatus: "Published"},
				{action: "close", wantStatus: "Closed"},
				{action: "archive", wantStatus: "Archived"},
				{action: "restore", wantStatus: "Published"},
			} {
				changed := browser.submit(path, url.Values{"action": {change.action}})
				require.Contains(t, changed.text, `">`+change.wantStatus+`</span>`, change.action)

				// Renewing a job that is not public also publishes it, which the page says.
				renewingPublishes := change.wantStatus != "Published"
				require.Equal(t, renewingPublishes, strings.Contains(changed.text, "and publishes the job again."), change.action)
			}

			require.Equal(t, 400, browser.open("POST", path, url.Values{}).status, "without an action")

			// A duplicate is a draft. Its page has no warning about the place, because Leeds is known.
			duplicate := browser.submit(path, url.Values{"action": {"duplicate"}})
			require.Contains(t, duplicate.text, "(Copy)")
			require.NotContains(t, duplicate.text, "We do not know the place")
			require.Contains(t, duplicate.text, `">Draft</span>`)
		})

		t.Run("expired job keeps its date but cannot be published", func(t *testing.T) {
			boss := server.employer(t)
			browser := server.signedIn(t, boss)
			path := "/employer/jobs/" + boss.listing(object{"applicationDeadline": "2020-01-31", "location": "Nowhereville"})
			require.Contains(t, browser.show(path).text, "We do not know the place “Nowhereville”")

			withOldDate := jobForm("save", url.Values{"applicationDeadline": {"2020-01-31"}})
			require.Contains(t, browser.submit(path+"/edit", withOldDate).text, "The changes are saved.")

			// The form and the button refuse the publication.
			withOldDate.Set("action", "publish")
			require.Equal(t, 400, browser.open("POST", path+"/edit", withOldDate).status)

			refused := browser.open("POST", path, url.Values{"action": {"publish"}})
			require.Equal(t, 400, refused.status)
			require.Contains(t, refused.text, "The closing date has passed")
		})

		t.Run("list changes the selected jobs", func(t *testing.T) {
			boss := server.employer(t)
			browser := server.signedIn(t, boss)
			require.Equal(t, 400, browser.open("POST", "/employer/jobs", url.Values{"action": {"close"}}).status, "without jobs")

			id := boss.listing(nil)
			path := "/employer/jobs/" + id
			require.Contains(t,
				browser.submit("/employer/jobs?status=active", url.Values{"action": {"close"}, "id": {id}}).text,
				"The jobs are closed.")
			require.Contains(t, browser.show("/employer/jobs?status=closed").text, path)
			require.NotContains(t, browser.show("/employer/jobs?status=active").text, path)
			require.NotContains(t, browser.show("/employer/jobs?status=%00%ff").text, path)
			require.Contains(t,
				browser.submit("/employer/jobs", url.Values{"action": {"renew"}, "id": {id}}).text,
				"renewed for 30 days")
			require.Contains(t,
				browser.submit("/employer/jobs", url.Values{"action": {"archive"}, "id": {id}}).text,
				"The jobs are archived.")

			notAJob := boss.id

			// The id of a user is no job: the page reports that a part of the selection was not changed.
			refused := browser.open("POST", "/employer/jobs", url.Values{"action": {"close"}, "id": {id, notAJob}})
			require.Equal(t, 400, refused.status)
			require.Contains(t, refused.text, "Some of the jobs were not changed")
		})
	})
}

// TestConsole_Jobs_ManyArePaged checks that the list shows 30 jobs on two pages, each job once. The
// link "Show more" leads to the second page.
func TestConsole_Jobs_ManyArePaged(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)

		const jobs = 30
		for range jobs {
			boss.listing(nil)
		}

		browser := server.signedIn(t, boss)

		// The two pages together contain each job. The map counts a path once, although a page links to a job several times.
		first := browser.show("/employer/jobs")
		second := browser.show(first.links("Show more")[0])

		seen := map[string]bool{}
		for _, page := range []pageView{first, second} {
			for _, path := range ownJobPath.FindAllString(page.text, -1) {
				seen[path] = true
			}
		}

		require.Len(t, seen, jobs)
	})
}

// maxRequestsByAddress is how often one address may post a job, or change the status of an
// application, in 15 minutes. The API and the forms of the console count together.
const maxRequestsByAddress = 10

// TestConsole_PostingJobs_HasTheLimitOfTheAPI checks that the form has the limit of POST
// /api/employers/jobs, and keeps the input when the limit is exceeded. A browser of the tests
// sends all its requests from one address.
func TestConsole_PostingJobs_HasTheLimitOfTheAPI(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		browser := server.signedIn(t, server.employer(t))
		for range maxRequestsByAddress {
			require.Equal(t, 303, browser.open("POST", "/employer/jobs/new", jobForm("save", nil)).status)
		}

		limited := browser.open("POST", "/employer/jobs/new", jobForm("save", nil))
		require.Equal(t, 429, limited.status)
		require.Contains(t, limited.text, "Staff Nurse, ICU", "the input is kept")
	})
}

// TestConsole_Decisions_HaveTheLimitsOfTheAPI checks that a change of an application's status
// counts towards the limit of the API. Scheduling an interview counts if its form also changes the
// status. Forms for several applications use the batch operation of the API, which has no such limit.
func TestConsole_Decisions_HaveTheLimitsOfTheAPI(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		id := server.seeker(t).application(boss.listing(nil), nil)
		browser := server.signedIn(t, boss)
		path := "/employer/applications/" + id

		// The form has a subject but no message and is invalid. Invalid requests count too.
		withoutMessage := url.Values{"action": {"decide"}, "status": {"rejected"}, "send": {"yes"}, "subject": {"Hello"}}
		for range maxRequestsByAddress {
			require.Equal(t, 400, browser.open("POST", path, withoutMessage).status)
		}

		limited := browser.open("POST", path, withoutMessage)
		require.Equal(t, 429, limited.status)
		require.Contains(t, limited.text, "please try again in 15 minutes")
		require.Contains(t, limited.text, `value="Hello"`, "the input is kept")

		interview := url.Values{
			"action":      {"schedule"},
			"scheduledAt": {"2099-03-03T10:00"},
			"location":    {"Ward 7"},
			"interviewer": {"Asha Patel"},
			"move":        {"yes"}, // to the status "interview"
		}
		require.Equal(t, 429, browser.open("POST", path, interview).status, "the form also changes the status")
		interview.Del("move")
		require.Equal(t, 303, browser.open("POST", path, interview).status, "the form does not change the status")

		for _, list := range []string{"/employer/applications", "/employer/applications/board"} {
			moved := browser.open("POST", list, url.Values{"id": {id}, "to": {"review"}})
			require.Equal(t, 303, moved.status, "the batch operation has no limit")
		}
	})
}

// TestConsole_Applications follows one application through the console: list, board, decision
// with a message, interview and withdrawal. Nothing is changed or sent unless the whole form is
// valid. Each subtest continues with the application as the one before has left it.
func TestConsole_Applications(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss, jo := server.employer(t), server.seeker(t)
		job := boss.listing(object{
			"title": "Staff Nurse, ICU",
			"questions": []object{
				{"id": "pin", "text": "Your NMC PIN?", "required": true},
				{"id": "start", "text": "When can you start?"},
			},
		})
		id := jo.application(job, object{
			"coverLetter": "Six years\nof <script>alert(1)</script> care.",
			"answers":     []object{{"question_id": "pin", "answer": "12A3456E"}},
		})
		path := "/employer/applications/" + id

		// An application for another job, which the filters of the list must hide.
		server.seeker(t).application(boss.listing(object{"title": "Porter"}), nil)

		t.Run("lists are filtered and the page shows the answers", func(t *testing.T) {
			browser := server.signedIn(t, boss)
			require.Contains(t, browser.show("/employer").text, path)
			require.Contains(t, browser.show("/employer/applications").text, "Porter")

			filtered := browser.show("/employer/applications?job=" + job)
			require.Contains(t, filtered.text, path)
			require.NotContains(t, filtered.text, "<td data-label=\"Job\">Porter")
			require.NotContains(t, browser.show("/employer/applications?status=review").text, path)
			require.Contains(t, browser.show("/employer/applications/board").text, path)
			require.Equal(t, 400, browser.open("GET", "/employer/applications?status=eternal", nil).status)

			notAJob := boss.id
			require.Equal(t, 404, browser.open("GET", "/employer/applications?job="+notAJob, nil).status)

			page := browser.show(path)
			for _, want := range []string{
				"Your NMC PIN?", "12A3456E", "When can you start?", "No answer", "Six years\nof &lt;script&gt;", jo.email, "Applied",
				path + "?to=rejected#decision",
			} {
				require.Contains(t, page.text, want)
			}
		})

		t.Run("board and list move the selected applications", func(t *testing.T) {
			browser := server.signedIn(t, boss)
			moved := browser.submit("/employer/applications/board?job="+job, url.Values{"id": {id}, "to": {"review"}})
			require.Contains(t, moved.text, "The applications are moved.")
			require.Contains(t,
				browser.submit("/employer/applications?status=review", url.Values{"id": {id}, "to": {"interview"}}).text,
				"The applications are moved.")

			withoutApplications := url.Values{"to": {"review"}}
			toUnknownStatus := url.Values{"id": {id}, "to": {"eternal"}}

			require.Equal(t, 400, browser.open("POST", "/employer/applications", withoutApplications).status)
			require.Equal(t, 400, browser.open("POST", "/employer/applications", toUnknownStatus).status)
		})

		t.Run("decision changes the status and sends the message", func(t *testing.T) {
			browser := server.signedIn(t, boss)

			// The page drafts a message that the employer can edit.
			draft := browser.show(path + "?to=accepted")
			require.Contains(t, draft.text, "We are pleased to offer you the post of Staff Nurse, ICU.")

			// A decision with an empty message is refused as a whole: the status stays and the subject is kept.
			withoutMessage := browser.open("POST", path, url.Values{
				"action":  {"decide"},
				"status":  {"accepted"},
				"send":    {"yes"},
				"subject": {"Our offer"},
				"message": {""},
			})
			require.Equal(t, 400, withoutMessage.status)
			require.Contains(t, withoutMessage.text, `value="Our offer"`)
			require.Equal(t, "interview",
				boss.get("/api/employers/applications/"+id).ok(200).text("data.application.status"),
				"nothing is changed without the message")

			// With a message the decision changes the status, offers to close the job, and mails the message.
			accepted := browser.submit(path, url.Values{
				"action":  {"decide"},
				"status":  {"accepted"},
				"send":    {"yes"},
				"subject": {"Our offer"},
				"message": {"Welcome."},
			})
			require.Contains(t, accepted.text, "the message is on its way")
			require.Contains(t, accepted.text, "Moved from Interview to Accepted")
			require.Equal(t, []string{"/employer/jobs/" + job}, accepted.links("Close the job"))
			require.Contains(t, server.waitForMail(t, jo.email, "Our offer"), "Welcome.")

			// For an accepted applicant, the page offers to close the job while the job is open.
			setJobStatus := func(status string) { boss.put("/api/employers/jobs/"+job, object{"status": status}).ok(200) }
			setJobStatus("closed")
			require.NotContains(t, browser.show(path).text, "Is the post filled?")
			setJobStatus("active")

			require.Contains(t,
				browser.submit(path, url.Values{"action": {"decide"}, "status": {"review"}}).text,
				"The status is changed.")
		})

		t.Run("interview is scheduled, changed, completed and cancelled", func(t *testing.T) {
			browser := server.signedIn(t, boss)

			// A time that is no date, and a date in the past, are refused.
			invalidTime := url.Values{"action": {"schedule"}, "scheduledAt": {"tomorrow"}, "location": {"Ward 7"}}
			require.Equal(t, 400, browser.open("POST", path, invalidTime).status)

			interview := url.Values{
				"action":      {"schedule"},
				"scheduledAt": {"2020-03-03T10:00"},
				"location":    {"Ward 7"},
				"interviewer": {"Asha Patel"},
				"notes":       {"Ask about nights"},
			}
			past := browser.open("POST", path, interview)
			require.Equal(t, 400, past.status)
			require.Contains(t, past.text, "Date and time must not be in the past")

			// The box that also moves the application is checked by default. The refused form was sent
			// without it, and shows the box as it was sent.
			require.NotContains(t, past.text, `name="move" value="yes" checked`, "the input is kept")
			require.Contains(t, browser.show(path).text, `name="move" value="yes" checked`)

			// Schedule the interview and move the application.
			interview.Set("scheduledAt", "2099-03-03T10:00")
			interview.Set("move", "yes")

			scheduled := browser.submit(path, interview).text
			require.Contains(t, scheduled, "3 Mar 2099, 10:00 UTC")
			require.Contains(t, scheduled, "Moved from In review to Interview")
			require.Contains(t, browser.show("/employer").text, "3 Mar 2099, 10:00 UTC")

			// Change the place.
			interview.Del("move")
			interview.Set("action", "reschedule")
			interview.Set("location", "Ward 9")
			require.Contains(t, browser.submit(path, interview).text, "Ward 9")

			// Record the result.
			completed := browser.submit(path, url.Values{"action": {"complete"}, "outcome": {"pass"}})
			require.Contains(t, completed.text, "The result of the interview is recorded.")
			require.Contains(t, completed.text, "Completed, passed")
			require.Contains(t, browser.submit(path, interview).text, "Completed", "the details of a past interview can be changed")

			// Schedule a second interview and cancel it.
			interview.Set("action", "schedule")
			browser.submit(path, interview)
			require.Contains(t, browser.submit(path, url.Values{"action": {"cancel"}}).text, "The interview is cancelled.")
			require.Contains(t, browser.show("/employer/interviews?status=cancelled").text, "Ward 9")
			require.NotContains(t, browser.show("/employer/interviews?status=scheduled").text, "Ward 9")
		})

		t.Run("message to the applicant needs a subject and is shown on the page", func(t *testing.T) {
			browser := server.signedIn(t, boss)
			require.Equal(t, 400, browser.open("POST", path, url.Values{"action": {"contact"}, "subject": {""}}).status)
			require.Contains(t,
				browser.submit(path, url.Values{"action": {"contact"}, "subject": {"Documents"}, "message": {"Please bring them."}}).text,
				"The message is on its way.")
			require.Contains(t, browser.show(path).text, "Please bring them.", "the page shows what was sent")
			require.Equal(t, 400, browser.open("POST", path, url.Values{}).status, "without an action")
		})

		t.Run("withdrawn application hides the answers and cannot be changed", func(t *testing.T) {
			jo.in(t).delete("/api/jobseekers/applications/" + id).ok(200)

			browser := server.signedIn(t, boss)
			withdrawn := browser.show(path)
			require.Contains(t, withdrawn.text, "The applicant has withdrawn this application.")
			require.NotContains(t, withdrawn.text, "No answer", "the answers are hidden")
			require.NotContains(t, withdrawn.text, "?to=", "there are no links to decisions")
			require.Equal(t, 400, browser.open("POST", path, url.Values{"action": {"decide"}, "status": {"review"}}).status)
			require.Contains(t, browser.show("/employer/analytics").text, "Applications received in the last 12 weeks")
			require.Contains(t, browser.show("/employer/jobs/"+job).text, "Applications per 100 views")
		})
	})
}

// TestConsole_ExportsTeamAndOrganization checks four parts of the console for employers: exports,
// the audit log, the team and the organization. An export is built in the background. The last admin
// of an organization cannot leave. Names are shown as text.
func TestConsole_ExportsTeamAndOrganization(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		boss.listing(object{"title": "Porter"})

		t.Run("export is built and downloaded", func(t *testing.T) {
			browser := server.signedIn(t, boss)

			// An unknown kind and an invalid date are refused, so that no export begins.
			unknownKind := url.Values{"kind": {"everything"}}
			invalidDate := url.Values{"kind": {"applications"}, "startDate": {"soon"}}

			require.Equal(t, 400, browser.open("POST", "/employer/exports", unknownKind).status)
			require.Equal(t, 400, browser.open("POST", "/employer/exports", invalidDate).status)

			// The page of the export has the link once the file is built.
			started := browser.open("POST", "/employer/exports", url.Values{"kind": {"jobs"}})
			ready := browser.waitForText(started, "Download")
			file, err := url.Parse(ready.links("Download")[0])
			require.NoError(t, err)
			require.Contains(t, browser.show(file.RequestURI()).text, "Porter")
			require.Contains(t, browser.show("/employer/exports").text, "Completed")
		})

		t.Run("member is invited once", func(t *testing.T) {
			browser := server.signedIn(t, boss)
			invalid := url.Values{"name": {""}, "email": {"x"}, "role": {"recruiter"}}
			require.Equal(t, 400, browser.open("POST", "/employer/team", invalid).status)

			invitation := url.Values{"name": {"Tom Okafor"}, "email": {newEmail()}, "role": {"viewer"}}
			require.Contains(t, browser.submit("/employer/team", invitation).text, "The invitation is on its way.")
			require.Equal(t, 409, browser.open("POST", "/employer/team", invitation).status, "is invited already")
		})

		// The log contains the export and the invitation of the subtests above.
		t.Run("audit log is filtered by action", func(t *testing.T) {
			browser := server.signedIn(t, boss)
			log := browser.show(browser.show("/employer/team").links("Audit log")[0])
			require.Contains(t, log.text, `<th scope="row">Export created`)
			require.Contains(t, log.text, boss.email)

			invitations := browser.show("/employer/audit?action=member.invited").text
			require.Contains(t, invitations, `<th scope="row">Member invited`)
			require.NotContains(t, invitations, `<th scope="row">Export created`)
			require.Contains(t, browser.show("/employer/audit?action=unknown").text, "There are no entries.")
			require.Equal(t, 200, browser.open("GET", "/employer/audit?action=%00%ff", nil).status)
			require.Equal(t, 400, browser.open("GET", "/employer/audit?after=%00%ff", nil).status)
		})

		t.Run("member is changed and removed but not the last admin", func(t *testing.T) {
			browser := server.signedIn(t, boss)

			// The invited member gets another role, and then a permission of their own.
			member := browser.show("/employer/team").links("Tom Okafor")[0]
			require.Contains(t, browser.show(member).text, "Invited until")
			require.Contains(t,
				browser.submit(member, url.Values{"action": {"role"}, "role": {"recruiter"}}).text,
				"The role is changed")
			require.Contains(t,
				browser.submit(member, url.Values{"action": {"permissions"}, "applications.view": {"yes"}}).text,
				`name="applications.view" value="yes" checked`)

			// The only admin can neither give up the role nor leave. The invited member can be removed.
			lastAdmin := "/employer/team/" + boss.id
			require.Equal(t, 409, browser.open("POST", lastAdmin, url.Values{"action": {"role"}, "role": {"viewer"}}).status,
				"the last admin keeps the role")
			require.Equal(t, 409, browser.open("POST", lastAdmin, url.Values{"action": {"remove"}}).status,
				"the last admin cannot leave")
			require.Contains(t, browser.submit(member, url.Values{"action": {"remove"}}).text, "not in the team any more")
			require.NotContains(t, browser.show("/employer/team").text, "Tom Okafor")
		})

		t.Run("organization is changed and its name is shown as text", func(t *testing.T) {
			browser := server.signedIn(t, boss)
			const path = "/employer/organization"

			// An empty name together with a website that has no HTTP address is refused.
			require.Equal(t, 400, browser.open("POST", path, url.Values{"name": {""}, "website": {"ftp://x"}}).status)

			// U+202E reverses the direction of text, so that the address would look like another.
			reversed := url.Values{"name": {"St Brigid's"}, "website": {"https://example.org/\u202egro.elpmaxe"}}
			require.Equal(t, 400, browser.open("POST", path, reversed).status, "direction marks")

			page := browser.show(path).text
			require.Contains(t, page, "Not verified")
			require.Contains(t, page, "confirms an e-mail address at the domain of its website")

			changed := browser.submit(path, url.Values{"name": {`St Brigid's <b>Clinic</b>`}, "website": {"https://example.org"}})
			require.Contains(t, changed.visibleText(), `<h1>St Brigid's <b>Clinic</b></h1>`)
			require.NotContains(t, changed.text, "<b>")
		})
	})
}

// consolePages contains the pages of the console, each with the status for viewers: members who may
// only read applications. The placeholders JOB, APPLICATION and MEMBER are replaced by ids.
var consolePages = map[string]int{
	"/employer":                          200,
	"/employer/jobs":                     200,
	"/employer/jobs/new":                 403,
	"/employer/jobs/JOB":                 200,
	"/employer/jobs/JOB/preview":         200,
	"/employer/jobs/JOB/edit":            403,
	"/employer/applications":             200,
	"/employer/applications/board":       200,
	"/employer/applications/APPLICATION": 200,
	"/employer/interviews":               200,
	"/employer/analytics":                200,
	"/employer/exports":                  200,
	"/employer/team":                     200,
	"/employer/audit":                    403,
	"/employer/team/MEMBER":              200,
	"/employer/organization":             200,
	"/employer/settings":                 200,
}

// consoleForms contains a valid form for each page of the console that has one. Paths and values
// contain the same placeholders as consolePages.
var consoleForms = map[string]url.Values{
	"/employer/jobs": {
		"action": {"archive"},
		"id":     {"JOB"},
	},
	"/employer/jobs/new":      jobForm("publish", nil),
	"/employer/jobs/JOB":      {"action": {"archive"}},
	"/employer/jobs/JOB/edit": jobForm("save", nil),
	"/employer/applications": {
		"id": {"APPLICATION"},
		"to": {"rejected"},
	},
	"/employer/applications/board":       {"id": {"APPLICATION"}, "to": {"rejected"}},
	"/employer/applications/APPLICATION": {"action": {"decide"}, "status": {"rejected"}},
	"/employer/team": {
		"name":  {"X"},
		"email": {"x@example.org"},
		"role":  {"admin"},
	},
	"/employer/team/MEMBER":  {"action": {"role"}, "role": {"admin"}},
	"/employer/organization": {"name": {"Mine"}},
}

// consoleUsers are the users of TestConsole_ForbiddenUsers, with an organization that has a job and an
// application for it. Each browser but the last belongs to a user who lacks a permission.
type consoleUsers struct {
	server   *testServer
	employer *account // the admin of the organization
	job      string
	// placeholders replaces JOB, APPLICATION and MEMBER in the paths and forms of the console by ids.
	placeholders *strings.Replacer

	viewer, withoutPermissions *browser // members of the organization
	seeker                     *browser // the applicant
	otherOrganization          *browser // an admin of another organization
	guest                      *browser
}

// newConsoleUsers registers the users and creates the job and the application.
func newConsoleUsers(t *testing.T, server *testServer) *consoleUsers {
	t.Helper()

	employer, applicant := server.employer(t), server.seeker(t)
	job := employer.listing(nil)
	application := applicant.application(job, nil)

	return &consoleUsers{
		server:       server,
		employer:     employer,
		job:          job,
		placeholders: strings.NewReplacer("JOB", job, "APPLICATION", application, "MEMBER", employer.id),
		viewer:       server.signedIn(t, employer.inviteMember("viewer")),
		withoutPermissions: server.signedIn(t, server.addMember(t, employer, object{
			"jobs":         object{"create": false, "update": false},
			"applications": object{"view": false, "update": false},
		})),
		seeker:            server.signedIn(t, applicant),
		otherOrganization: server.signedIn(t, server.employer(t)),
		guest:             server.browser(t),
	}
}

// TestConsole_ForbiddenUsers sends every page and form of the console as every kind of user who
// lacks the permission. The status is 403 for a missing permission. It is 404 for members of another
// organization, who must not learn that the resource exists. Guests are redirected to the sign-in.
func TestConsole_ForbiddenUsers(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		users := newConsoleUsers(t, server)

		for template, statusForViewer := range consolePages {
			t.Run("GET "+template, func(t *testing.T) { users.checkPage(t, template, statusForViewer) })
		}

		for template, form := range consoleForms {
			t.Run("POST "+template, func(t *testing.T) { users.checkForm(t, template, form) })
		}

		t.Run("no form has archived the job", func(t *testing.T) {
			require.Equal(t, "active", users.employer.get("/api/employers/jobs/"+users.job).ok(200).text("data.job.status"))
		})

		t.Run("pages show no links and buttons that the user may not use", func(t *testing.T) {
			require.NotContains(t, users.viewer.show("/employer").text, "/employer/jobs/new")
			require.NotContains(t, users.viewer.show("/employer/jobs/"+users.job).text, "Archive")
			require.NotContains(t, users.viewer.show("/employer/team").text, "Send the invitation")
			require.NotContains(t, users.withoutPermissions.open("GET", "/employer", nil).text, `href="/employer/jobs"`)
			require.Contains(t, users.guest.show("/employer").text, "/register?as=employer")
		})

		t.Run("id of a job is no export", func(t *testing.T) {
			require.Equal(t, 404, users.otherOrganization.open("GET", "/employer/exports/"+users.job, nil).status)
		})
	})
}

// checkPage opens a page as every user. The viewer gets the given status.
func (u *consoleUsers) checkPage(t *testing.T, template string, statusForViewer int) {
	t.Helper()

	path := u.placeholders.Replace(template)
	require.Equal(t, statusForViewer, u.viewer.open("GET", path, nil).status)

	// A clinician gets none of the pages.
	refused := u.seeker.open("GET", path, nil)
	require.Equal(t, 403, refused.status)
	require.Contains(t, refused.text, "You are signed in as a clinician")

	// A member without permissions is refused, except on the two pages that are for every member.
	isForEveryMember := path == "/employer/organization" || path == "/employer/settings"
	if !isForEveryMember {
		require.Equal(t, 403, u.withoutPermissions.open("GET", path, nil).status)
	}

	hasID := path != template
	if hasID {
		require.Equal(t, 404, u.otherOrganization.open("GET", path, nil).status)
	}

	isForGuests := path == "/employer" // which introduces the site to them
	if !isForGuests {
		asGuest := u.guest.open("GET", path, nil)
		require.Equal(t, "/sign-in?next="+url.QueryEscape(path), asGuest.header.Get("Location"))
	}
}

// checkForm sends a form as every user. None of these users may send a form of the console, not even the
// viewer, who sees most pages.
func (u *consoleUsers) checkForm(t *testing.T, template string, templateForm url.Values) {
	t.Helper()

	path := u.placeholders.Replace(template)

	form := url.Values{}
	for name, values := range templateForm {
		for _, value := range values {
			form.Add(name, u.placeholders.Replace(value))
		}
	}

	require.Equal(t, 403, u.viewer.open("POST", path, form).status, "viewer")
	require.Equal(t, 403, u.withoutPermissions.open("POST", path, form).status, "without permissions")
	require.Equal(t, 403, u.seeker.open("POST", path, form).status, "seeker")

	hasID := path != template
	if hasID {
		require.Equal(t, 404, u.otherOrganization.open("POST", path, form).status)
	}

	u.guest.open("POST", path, form).requireRedirect(t, "/sign-in")

	// A form that another site sends with the session of the employer is refused. Browsers say
	// where a form comes from in the header Sec-Fetch-Site, which Site sets.
	forged := u.server.signedIn(t, u.employer)
	forged.Site = "cross-site"
	require.Equal(t, 403, forged.open("POST", path, form).status, "of another site")

	// Old browsers send neither this header nor Origin. Their forms need the CSRF token, which
	// this form lacks.
	forged.Site = ""
	forged.Origin = ""
	require.Equal(t, 403, forged.open("POST", path, form).status, "without a CSRF token")
}

// wickedText would be executed if a page showed it without escaping. The quotation mark would end an attribute,
// the script would run, and the action {{.}} would be replaced by a template that is executed twice.
const wickedText = `"><script>alert(1)</script>{{.}}`

// TestConsole_StoredScript_IsText checks that text of users is escaped on every page of the
// console, in attributes too.
func TestConsole_StoredScript_IsText(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, applicant := server.employer(t), server.seeker(t)
		applicant.put("/api/jobseekers/profile", object{
			"intent": "update-profile",
			"profile": object{
				"firstName":   wickedText,
				"lastName":    wickedText,
				"bio":         wickedText,
				"specialty":   wickedText,
				"currentRole": wickedText,
			},
		}).ok(200)
		employer.put("/api/employers/organization",
			object{"name": wickedText, "description": wickedText, "industry": wickedText}).ok(200)

		browser := server.signedIn(t, employer)

		t.Run("pages after valid forms", func(t *testing.T) {
			requireWickedTextEscaped(t, browser.submit("/employer/jobs/new", wickedJobForm("publish")))
			requireWickedTextEscaped(t, browser.open("POST", "/employer/jobs/new", wickedJobForm("preview")))
		})

		job := strings.TrimPrefix(ownJobPath.FindString(browser.show("/employer/jobs").text), "/employer/jobs/")
		id := applicant.application(job, object{
			"coverLetter": wickedText,
			"answers":     []object{{"question_id": "pin", "answer": wickedText}},
		})

		t.Run("page of an interview", func(t *testing.T) {
			requireWickedTextEscaped(t, browser.submit("/employer/applications/"+id, url.Values{
				"action":      {"schedule"},
				"scheduledAt": {"2099-03-03T10:00"},
				"location":    {wickedText},
				"interviewer": {wickedText},
				"notes":       {wickedText},
			}))
		})

		t.Run("pages of refused forms, which repeat the input", func(t *testing.T) {
			invalidJob := with(wickedJobForm("preview"), "salary.min", wickedText)
			requireWickedTextEscaped(t, browser.open("POST", "/employer/jobs/new", invalidJob))
			requireWickedTextEscaped(t, browser.open("POST", "/employer/team",
				url.Values{"name": {wickedText}, "email": {wickedText}, "role": {wickedText}}))
			requireWickedTextEscaped(t, browser.open("POST", "/employer/exports",
				url.Values{"kind": {wickedText}, "startDate": {wickedText}}))
		})

		// All other pages of the console.
		for _, path := range []string{
			"",
			"/jobs",
			"/jobs?status=" + url.QueryEscape(wickedText),
			"/jobs/" + job,
			"/jobs/" + job + "/edit",
			"/jobs/" + job + "/preview",
			"/applications",
			"/applications?status=" + url.QueryEscape(wickedText),
			"/applications/board",
			"/applications/" + id + "?to=rejected",
			"/applications/" + id + "?to=" + url.QueryEscape(wickedText),
			"/interviews",
			"/analytics",
			"/exports",
			"/team",
			"/organization",
		} {
			t.Run("GET /employer"+path, func(t *testing.T) {
				requireWickedTextEscaped(t, browser.open("GET", "/employer"+path, nil))
			})
		}
	})
}

// wickedJobForm returns the form for a job all of whose texts are wickedText. The action is the name of the
// button.
func wickedJobForm(action string) url.Values {
	return jobForm(action, url.Values{
		"title":                {wickedText},
		"description":          {wickedText},
		"location":             {wickedText},
		"department":           {wickedText},
		"specialty":            {wickedText},
		"requirements":         {wickedText},
		"benefits":             {wickedText},
		"questions.1.text":     {wickedText},
		"questions.1.id":       {"pin"},
		"questions.1.required": {},
	})
}

// requireWickedTextEscaped requires that the page contains wickedText neither as HTML nor as the end of an
// attribute, and that no template has executed it.
func requireWickedTextEscaped(t *testing.T, page pageView) {
	t.Helper()
	require.NotContains(t, page.text, "<script>alert")
	require.NotContains(t, page.text, `value=""><`, "the text ends an attribute")

	// A page repeats the text a few times only. A template that repeats itself would exceed this size.
	const maxPageSize = 150 << 10
	require.LessOrEqual(t, len(page.text), maxPageSize, "the page is too large")
}

// jobForm returns the values of a valid form for a job, replaced by those of more. The action is the
// name of the button: preview, save, publish, or more for another question. The values are as a
// browser sends them: amounts and line breaks as the user wrote them. The first question is empty
// and is not stored, so that the second one becomes the first of the job.
func jobForm(action string, more url.Values) url.Values {
	form := url.Values{
		"title":                {"Staff Nurse, ICU"},
		"description":          {"Days and nights.\n\n- Give medicines\n\n**No agency**"},
		"location":             {"Leeds"},
		"contractType":         {"permanent"},
		"salary.min":           {"£36,000"},
		"salary.max":           {"44000"},
		"salary.currency":      {"GBP"},
		"salary.period":        {"year"},
		"requirements":         {"NMC PIN\r\n\r\nALS"},
		"questions.0.text":     {""},
		"questions.1.text":     {"Your NMC PIN?"},
		"questions.1.required": {"yes"},
		"applicationDeadline":  {"2099-03-01"},
		"action":               {action},
	}
	for name, values := range more {
		form[name] = values
	}

	return form
}

// submit posts a form, requires a redirect to a page with status 200, and returns the page.
func (b *browser) submit(path string, values url.Values) pageView {
	b.T.Helper()

	page := b.follow(b.open("POST", path, values))
	require.Equal(b.T, 200, page.status, page.text)

	return page
}

// show opens a page and requires status 200.
func (b *browser) show(path string) pageView {
	b.T.Helper()

	page := b.open("GET", path, nil)
	require.Equal(b.T, 200, page.status, page.text)

	return page
}

// ownJobPath matches the path of a job in the console.
var ownJobPath = regexp.MustCompile(`/employer/jobs/[0-9a-f-]{36}`)
