package e2e

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConsole_PostingJobs follows a job through the console: form, preview, draft, publication,
// changes of its status, and the actions on several jobs. Refused forms keep their input and
// link each error to its field.
func TestConsole_PostingJobs(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		browser := server.signedIn(t, boss)
		require.Contains(t, browser.show("/employer").text, "Post a job")
		require.Contains(t, browser.show("/employer/jobs").text, "You have not posted any jobs yet.")
		require.Contains(t, browser.show("/employer/jobs/new").text, "Questions to applicants")

		// A refused form links each error to its field and keeps the input.
		refused := browser.open("POST", "/employer/jobs/new", jobForm("publish", url.Values{
			"title":               {" "},
			"salary.min":          {"a lot"},
			"requirements":        {"x\n" + strings.Repeat("y", 501)}, // a line is too long
			"applicationDeadline": {"soon"},
		}))
		require.Equal(t, 400, refused.status)

		for _, want := range []string{
			`href="#title"`, `href="#salary.min"`, "Lowest pay must be a number",
			`href="#requirements"`, "in line 2", `href="#applicationDeadline"`, "No agency",
			"Your NMC PIN?",
		} {
			require.Contains(t, refused.visibleText(), want)
		}

		for _, action := range []string{"preview", "save", "publish"} {
			past := browser.open("POST", "/employer/jobs/new", jobForm(action, url.Values{"applicationDeadline": {"2020-01-31"}}))
			require.Equal(t, 400, past.status, action)
			require.Contains(t, past.text, "Closing date must not be in the past")
		}

		// The button for another question works without script.
		withThirdQuestion := browser.open("POST", "/employer/jobs/new", jobForm("more", nil))
		require.Equal(t, 200, withThirdQuestion.status)
		require.Contains(t, withThirdQuestion.text, `name="questions.2.text"`)

		// A preview shows the job without saving it.
		preview := browser.open("POST", "/employer/jobs/new", jobForm("preview", nil))
		require.Equal(t, 200, preview.status, preview.text)

		for _, want := range []string{
			"<li>Give medicines</li>", "<strong>No agency</strong>", "£36,000 to £44,000 a year",
			"Nothing is saved yet", `name="title" value="Staff Nurse, ICU"`,
		} {
			require.Contains(t, preview.text, want)
		}

		require.Contains(t, browser.show("/employer/jobs").text, "You have not posted any jobs yet.")

		// A draft has no public page until it is published.
		draft := browser.submit("/employer/jobs/new", jobForm("save", nil))
		require.Contains(t, draft.text, "The draft is saved.")

		path := ownJobPath.FindString(draft.text)
		publicPath := strings.TrimPrefix(path, "/employer")
		require.Equal(t, 404, server.browser(t).open("GET", publicPath, nil).status)
		require.Contains(t, browser.show(path+"/preview").text, "<li>ALS</li>")

		form := browser.show(path + "/edit").text
		for _, want := range []string{
			`value="36000"`, "NMC PIN\nALS", `value="Your NMC PIN?"`,
			`name="questions.0.required" value="yes" checked`, `value="2099-03-01"`,
		} {
			require.Contains(t, form, want)
		}

		question := regexp.MustCompile(`name="questions.0.id" value="([^"]+)"`).FindStringSubmatch(form)
		require.NotNil(t, question, form)

		published := browser.submit(path+"/edit", jobForm("publish", url.Values{
			"questions.1.id": {question[1]},
			"title":          {"Sister, ICU"},
		}))
		require.Contains(t, published.text, "The job is published.")

		// A question keeps its id, to which the answers of applicants refer.
		require.Contains(t, browser.show(path+"/edit").text, `value="`+question[1]+`"`)
		require.Contains(t, server.browser(t).show(publicPath).text, "Sister, ICU")

		// Renewing moves the deadline by days; the form changes its day only.
		deadline := func() any {
			return boss.get("/api/employers" + publicPath).ok(200).at("data.job.applicationDeadline")
		}
		original := deadline()

		require.Contains(t, browser.submit(path, url.Values{"action": {"renew"}, "durationDays": {"30"}}).text, "The job is renewed.")

		renewed := deadline()
		require.NotEqual(t, original, renewed)

		saved := browser.submit(path+"/edit", jobForm("save", url.Values{"applicationDeadline": {"2099-03-31"}}))
		require.Contains(t, saved.text, "The changes are saved.")
		require.Equal(t, renewed, deadline(), "the time of the day stays")

		// The buttons on the page of the job change its status.
		require.Contains(t, browser.show(path).text, "Renewing moves the closing date by this time.")

		for _, change := range []struct{ action, status string }{
			{action: "pause", status: "Paused"},
			{action: "publish", status: "Published"},
			{action: "close", status: "Closed"},
			{action: "archive", status: "Archived"},
			{action: "restore", status: "Published"},
		} {
			changed := browser.submit(path, url.Values{"action": {change.action}})
			require.Contains(t, changed.text, `">`+change.status+`</span>`, change.action)
			require.Equal(t, change.status != "Published", strings.Contains(changed.text, "and publishes the job again."), change.action)
		}

		duplicate := browser.submit(path, url.Values{"action": {"duplicate"}})
		require.Contains(t, duplicate.text, "(Copy)")
		require.NotContains(t, duplicate.text, "We do not know the place")
		require.Contains(t, duplicate.text, `">Draft</span>`)

		expired := "/employer/jobs/" + boss.listing(object{"applicationDeadline": "2020-01-31", "location": "Nowhereville"})
		require.Contains(t, browser.show(expired).text, "We do not know the place “Nowhereville”")

		// A job that has expired can be changed with its old date, but not published.
		unchanged := jobForm("save", url.Values{"applicationDeadline": {"2020-01-31"}})
		require.Contains(t, browser.submit(expired+"/edit", unchanged).text, "The changes are saved.")
		unchanged.Set("action", "publish")
		require.Equal(t, 400, browser.open("POST", expired+"/edit", unchanged).status)

		refused = browser.open("POST", expired, url.Values{"action": {"publish"}})
		require.Equal(t, 400, refused.status)
		require.Contains(t, refused.text, "The closing date has passed")
		require.Equal(t, 400, browser.open("POST", path, url.Values{"action": {"renew"}, "durationDays": {"9999"}}).status)
		require.Equal(t, 400, browser.open("POST", path, url.Values{}).status, "without an action")

		// The list has actions for the selected jobs.
		require.Equal(t, 400, browser.open("POST", "/employer/jobs", url.Values{"action": {"close"}}).status, "without jobs")

		ids := []string{strings.TrimPrefix(publicPath, "/jobs/")}
		require.Contains(t,
			browser.submit("/employer/jobs?status=active", url.Values{"action": {"close"}, "id": ids}).text,
			"The jobs are closed.")
		require.Contains(t, browser.show("/employer/jobs?status=closed").text, path)
		require.NotContains(t, browser.show("/employer/jobs?status=active").text, path)
		require.Contains(t, browser.submit("/employer/jobs", url.Values{"action": {"renew"}, "id": ids}).text, "renewed for 30 days")
		require.Contains(t, browser.submit("/employer/jobs", url.Values{"action": {"archive"}, "id": ids}).text, "The jobs are archived.")

		notAJob := boss.id
		refused = browser.open("POST", "/employer/jobs", url.Values{"action": {"close"}, "id": {ids[0], notAJob}})
		require.Equal(t, 400, refused.status)
		require.Contains(t, refused.text, "Some of the jobs were not changed")
	})
}

// TestConsole_Jobs_ManyArePaged checks that 30 jobs are on two pages, each job once.
func TestConsole_Jobs_ManyArePaged(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		for range 30 {
			boss.listing(nil)
		}

		browser := server.signedIn(t, boss)
		first := browser.show("/employer/jobs")
		second := browser.show(first.links("Show more")[0])

		seen := map[string]bool{}
		for _, page := range []pageView{first, second} {
			for _, path := range ownJobPath.FindAllString(page.text, -1) {
				seen[path] = true
			}
		}

		require.Len(t, seen, 30)
	})
}

// TestConsole_PostingJobs_HasTheLimitOfTheAPI checks that the form has the limit of POST
// /api/employers/jobs, ten requests in 15 minutes, and keeps the input when it is exceeded.
func TestConsole_PostingJobs_HasTheLimitOfTheAPI(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		browser := server.signedIn(t, server.employer(t))
		for range 10 {
			require.Equal(t, 303, browser.open("POST", "/employer/jobs/new", jobForm("save", nil)).status)
		}

		limited := browser.open("POST", "/employer/jobs/new", jobForm("save", nil))
		require.Equal(t, 429, limited.status)
		require.Contains(t, limited.text, "Staff Nurse, ICU", "the input is kept")
	})
}

// TestConsole_Decisions_HaveTheLimitsOfTheAPI checks that a change of an application's status
// counts towards the limit of the API, also as a part of scheduling an interview. Forms for
// several applications use the batch operation.
func TestConsole_Decisions_HaveTheLimitsOfTheAPI(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		id := server.seeker(t).application(boss.listing(nil), nil)
		browser := server.signedIn(t, boss)
		path := "/employer/applications/" + id

		// Without a message, the form is invalid; such requests count too.
		decide := url.Values{"action": {"decide"}, "status": {"rejected"}, "send": {"yes"}, "subject": {"Hello"}}
		for range 10 {
			require.Equal(t, 400, browser.open("POST", path, decide).status)
		}

		limited := browser.open("POST", path, decide)
		require.Equal(t, 429, limited.status)
		require.Contains(t, limited.text, "please try again in 15 minutes")
		require.Contains(t, limited.text, `value="Hello"`)

		interview := url.Values{
			"action":      {"schedule"},
			"scheduledAt": {"2099-03-03T10:00"},
			"location":    {"Ward 7"},
			"interviewer": {"Asha Patel"},
			"move":        {"yes"},
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

// TestConsole_Applications follows an application through the console: list, board, decision
// with a message, interview and withdrawal. Nothing is changed or sent unless the whole form is
// valid.
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
		server.seeker(t).application(boss.listing(object{"title": "Porter"}), nil)

		browser := server.signedIn(t, boss)
		path := "/employer/applications/" + id

		// The list, with its filters, and the board.
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

		moved := browser.submit("/employer/applications/board?job="+job, url.Values{"id": {id}, "to": {"review"}})
		require.Contains(t, moved.text, "The applications are moved.")
		require.Contains(t,
			browser.submit("/employer/applications?status=review", url.Values{"id": {id}, "to": {"interview"}}).text,
			"The applications are moved.")
		require.Equal(t, 400, browser.open("POST", "/employer/applications", url.Values{"to": {"review"}}).status)
		require.Equal(t, 400, browser.open("POST", "/employer/applications", url.Values{"id": {id}, "to": {"eternal"}}).status)

		// The page drafts a message that the employer can edit.
		draft := browser.show(path + "?to=accepted")
		require.Contains(t, draft.text, "We are pleased to offer you the post of Staff Nurse, ICU.")

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

		// The job of an accepted applicant can be closed once.
		setStatus := func(status string) { boss.put("/api/employers/jobs/"+job, object{"status": status}).ok(200) }
		setStatus("closed")
		require.NotContains(t, browser.show(path).text, "Is the post filled?")
		setStatus("active")

		require.Contains(t, browser.submit(path, url.Values{"action": {"decide"}, "status": {"review"}}).text, "The status is changed.")

		// An interview is scheduled, which may also move the application, changed, completed and
		// cancelled.
		interview := url.Values{
			"action":      {"schedule"},
			"scheduledAt": {"2099-03-03T10:00"},
			"location":    {"Ward 7"},
			"interviewer": {"Asha Patel"},
			"notes":       {"Ask about nights"},
		}
		invalidTime := url.Values{"action": {"schedule"}, "scheduledAt": {"tomorrow"}, "location": {"Ward 7"}}
		require.Equal(t, 400, browser.open("POST", path, invalidTime).status)
		interview.Set("scheduledAt", "2020-03-03T10:00")

		past := browser.open("POST", path, interview)
		require.Equal(t, 400, past.status)
		require.Contains(t, past.text, "Date and time must not be in the past")

		// The box that also moves the application is checked by default, but was not sent.
		require.NotContains(t, past.text, `name="move" value="yes" checked`, "the input is kept")
		require.Contains(t, browser.show(path).text, `name="move" value="yes" checked`)
		interview.Set("scheduledAt", "2099-03-03T10:00")
		interview.Set("move", "yes")

		scheduled := browser.submit(path, interview).text
		require.Contains(t, scheduled, "3 Mar 2099, 10:00 UTC")
		require.Contains(t, scheduled, "Moved from In review to Interview")
		interview.Del("move")
		require.Contains(t, browser.show("/employer").text, "3 Mar 2099, 10:00 UTC")
		interview.Set("action", "reschedule")
		interview.Set("location", "Ward 9")
		require.Contains(t, browser.submit(path, interview).text, "Ward 9")

		completed := browser.submit(path, url.Values{"action": {"complete"}, "outcome": {"pass"}})
		require.Contains(t, completed.text, "The result of the interview is recorded.")
		require.Contains(t, completed.text, "Completed, passed")
		require.Contains(t, browser.submit(path, interview).text, "Completed", "the details of a past interview can be changed")
		interview.Set("action", "schedule")
		browser.submit(path, interview)
		require.Contains(t, browser.submit(path, url.Values{"action": {"cancel"}}).text, "The interview is cancelled.")
		require.Contains(t, browser.show("/employer/interviews?status=cancelled").text, "Ward 9")
		require.NotContains(t, browser.show("/employer/interviews?status=scheduled").text, "Ward 9")

		require.Equal(t, 400, browser.open("POST", path, url.Values{"action": {"contact"}, "subject": {""}}).status)
		require.Contains(t,
			browser.submit(path, url.Values{"action": {"contact"}, "subject": {"Documents"}, "message": {"Please bring them."}}).text,
			"The message is on its way.")
		require.Contains(t, browser.show(path).text, "Please bring them.", "colleagues see what was sent")
		require.Equal(t, 400, browser.open("POST", path, url.Values{}).status, "without an action")

		jo.delete("/api/jobseekers/applications/" + id).ok(200)

		withdrawn := browser.show(path)
		require.Contains(t, withdrawn.text, "The applicant has withdrawn this application.")
		require.NotContains(t, withdrawn.text, "No answer")
		require.NotContains(t, withdrawn.text, "?to=")
		require.Equal(t, 400, browser.open("POST", path, url.Values{"action": {"decide"}, "status": {"review"}}).status)
		require.Contains(t, browser.show("/employer/analytics").text, "Applications received in the last 12 weeks")
		require.Contains(t, browser.show("/employer/jobs/"+job).text, "Applications per 100 views")
	})
}

// TestConsole_ExportsTeamAndOrganization checks exports, the team and the organization in the
// console: an export is built in the background, the last admin cannot leave, and names are
// shown as text.
func TestConsole_ExportsTeamAndOrganization(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		boss.listing(object{"title": "Porter"})

		browser := server.signedIn(t, boss)

		require.Equal(t, 400, browser.open("POST", "/employer/exports", url.Values{"kind": {"everything"}}).status)
		require.Equal(t, 400, browser.open("POST", "/employer/exports", url.Values{"kind": {"applications"}, "startDate": {"soon"}}).status)

		started := browser.open("POST", "/employer/exports", url.Values{"kind": {"jobs"}})
		ready := browser.waitForText(started, "Download")
		file, err := url.Parse(ready.links("Download")[0])
		require.NoError(t, err)
		require.Contains(t, browser.show(file.RequestURI()).text, "Porter")
		require.Contains(t, browser.show("/employer/exports").text, "Completed")

		email := newEmail()

		require.Equal(t, 400, browser.open("POST", "/employer/team", url.Values{
			"name":  {""},
			"email": {"x"},
			"role":  {"recruiter"},
		}).status)
		require.Contains(t,
			browser.submit("/employer/team", url.Values{"name": {"Tom Okafor"}, "email": {email}, "role": {"viewer"}}).text,
			"The invitation is on its way.")
		require.Equal(t, 409,
			browser.open("POST", "/employer/team", url.Values{"name": {"Tom Okafor"}, "email": {email}, "role": {"viewer"}}).status)

		log := browser.show(browser.show("/employer/team").links("Audit log")[0])
		require.Contains(t, log.text, `<th scope="row">Export created`)
		require.Contains(t, log.text, boss.email)

		invitations := browser.show("/employer/audit?action=member.invited").text
		require.Contains(t, invitations, `<th scope="row">Member invited`)
		require.NotContains(t, invitations, `<th scope="row">Export created`)
		require.Contains(t, browser.show("/employer/audit?action=unknown").text, "There are no entries.")

		member := browser.show("/employer/team").links("Tom Okafor")[0]
		require.Contains(t, browser.show(member).text, "Invited until")
		require.Contains(t,
			browser.submit(member, url.Values{"action": {"role"}, "role": {"recruiter"}}).text,
			"The role is changed")
		require.Contains(t,
			browser.submit(member, url.Values{"action": {"permissions"}, "applications.view": {"yes"}}).text,
			`name="applications.view" value="yes" checked`)

		self := "/employer/team/" + boss.id
		require.Equal(t, 409, browser.open("POST", self, url.Values{"action": {"role"}, "role": {"viewer"}}).status,
			"the last admin stays one")
		require.Equal(t, 409, browser.open("POST", self, url.Values{"action": {"remove"}}).status,
			"the last admin cannot leave")
		require.Contains(t, browser.submit(member, url.Values{"action": {"remove"}}).text, "not in the team any more")
		require.NotContains(t, browser.show("/employer/team").text, "Tom Okafor")

		require.Equal(t, 400, browser.open("POST", "/employer/organization", url.Values{"name": {""}, "website": {"ftp://x"}}).status)

		require.Equal(t,
			400,
			browser.open(
				"POST",
				"/employer/organization",
				url.Values{"name": {"St Brigid's"}, "website": {"https://example.org/\u202egro.elpmaxe"}},
			).status,
			"direction marks",
		)
		require.Contains(t, browser.show("/employer/organization").text, "Not verified")
		require.Contains(t, browser.show("/employer/organization").text, "confirms an e-mail address at the domain of its website")

		changed := browser.submit("/employer/organization",
			url.Values{"name": {`St Brigid's <b>Clinic</b>`}, "website": {"https://example.org"}})
		require.Contains(t, changed.visibleText(), `<h1>St Brigid's <b>Clinic</b></h1>`)
		require.NotContains(t, changed.text, "<b>")
	})
}

// consolePages contains the pages of the console, each with the status for members who may only
// read applications. JOB, APPLICATION and MEMBER are replaced by ids.
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

// consoleForms contains a valid form for the pages of the console, with the placeholders of
// consolePages.
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

// TestConsole_ForbiddenUsers checks every page and form of the console as every kind of user
// without the permission: 403 for a missing permission, 404 for another organization, whose
// resources must not be revealed, and a redirect for guests.
func TestConsole_ForbiddenUsers(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss, jo := server.employer(t), server.seeker(t)
		job := boss.listing(nil)
		placeholders := strings.NewReplacer("JOB", job, "APPLICATION", jo.application(job, nil), "MEMBER", boss.id)
		replaceInForm := func(form url.Values) url.Values {
			replaced := url.Values{}
			for name, values := range form {
				for _, value := range values {
					replaced.Add(name, placeholders.Replace(value))
				}
			}

			return replaced
		}

		viewer := server.signedIn(t, boss.inviteMember("viewer"))
		withoutPermissions := server.signedIn(t, server.addMember(t, boss, object{
			"jobs":         object{"create": false, "update": false},
			"applications": object{"view": false, "update": false},
		}))
		seeker := server.signedIn(t, jo)
		otherOrganization := server.signedIn(t, server.employer(t))

		guest := server.browser(t)
		for template, want := range consolePages {
			path := placeholders.Replace(template)
			hasID := path != template
			require.Equal(t, want, viewer.open("GET", path, nil).status, path)

			refused := seeker.open("GET", path, nil)
			require.Equal(t, 403, refused.status, path)
			require.Contains(t, refused.text, "You are signed in as a clinician", path)

			if path != "/employer/organization" && path != "/employer/settings" { // every member has these
				require.Equal(t, 403, withoutPermissions.open("GET", path, nil).status, path)
			}

			if hasID {
				require.Equal(t, 404, otherOrganization.open("GET", path, nil).status, path)
			}

			if path != "/employer" { // for guests, an introduction to the site
				require.Equal(t, "/sign-in?next="+url.QueryEscape(path), guest.open("GET", path, nil).header.Get("Location"))
			}
		}

		for template, templateForm := range consoleForms {
			path := placeholders.Replace(template)
			hasID := path != template

			form := replaceInForm(templateForm)
			for name, user := range map[string]*browser{
				"viewer":              viewer,
				"without permissions": withoutPermissions,
				"seeker":              seeker,
			} {
				require.Equal(t, 403, user.open("POST", path, form).status, "%s %s", path, name)
			}

			if hasID {
				require.Equal(t, 404, otherOrganization.open("POST", path, form).status, path)
			}

			guest.open("POST", path, form).requireRedirect(t, "/sign-in")

			forged := server.signedIn(t, boss)
			forged.Site = "cross-site"
			require.Equal(t, 403, forged.open("POST", path, form).status, path)

			// Without the headers of new browsers, a form needs the CSRF token.
			forged.Site = ""
			forged.Origin = ""
			require.Equal(t, 403, forged.open("POST", path, form).status, "%s without a CSRF token", path)
		}

		require.Equal(t, "active", boss.get("/api/employers/jobs/"+job).ok(200).text("data.job.status"))

		overview := viewer.show("/employer")
		require.NotContains(t, overview.text, "/employer/jobs/new")
		require.NotContains(t, viewer.show("/employer/jobs/"+job).text, "Archive")
		require.NotContains(t, viewer.show("/employer/team").text, "Send the invitation")
		require.NotContains(t, withoutPermissions.open("GET", "/employer", nil).text, `href="/employer/jobs"`)
		require.Contains(t, guest.show("/employer").text, "/register?as=employer")
		require.Equal(t, 404, otherOrganization.open("GET", "/employer/exports/"+job, nil).status)
	})
}

// TestConsole_StoredScript_IsText checks that text of users is escaped on every page of the
// console, in attributes too.
func TestConsole_StoredScript_IsText(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		// It would end an attribute, run a script, and be evaluated in a template that is
		// executed twice.
		const wicked = `"><script>alert(1)</script>{{.}}`
		boss, jo := server.employer(t), server.seeker(t)
		jo.put("/api/jobseekers/profile", object{
			"intent": "update-profile",
			"profile": object{
				"firstName":   wicked,
				"lastName":    wicked,
				"bio":         wicked,
				"specialty":   wicked,
				"currentRole": wicked,
			},
		}).ok(200)
		boss.put("/api/employers/organization", object{"name": wicked, "description": wicked, "industry": wicked}).ok(200)

		browser := server.signedIn(t, boss)
		form := jobForm("publish", url.Values{
			"title":                {wicked},
			"description":          {wicked},
			"location":             {wicked},
			"department":           {wicked},
			"specialty":            {wicked},
			"requirements":         {wicked},
			"benefits":             {wicked},
			"questions.1.text":     {wicked},
			"questions.1.id":       {"pin"},
			"questions.1.required": {},
		})
		published := browser.submit("/employer/jobs/new", form)
		pages := []pageView{published}
		job := strings.TrimPrefix(ownJobPath.FindString(published.text), "/employer/jobs/")
		id := jo.application(job, object{
			"coverLetter": wicked,
			"answers":     []object{{"question_id": "pin", "answer": wicked}},
		})
		interview := url.Values{
			"action":      {"schedule"},
			"scheduledAt": {"2099-03-03T10:00"},
			"location":    {wicked},
			"interviewer": {wicked},
			"notes":       {wicked},
		}
		pages = append(pages, browser.submit("/employer/applications/"+id, interview))

		form.Set("action", "preview")

		pages = append(pages, browser.open("POST", "/employer/jobs/new", form))
		form.Set("salary.min", wicked)

		pages = append(pages,
			browser.open("POST", "/employer/jobs/new", form),
			browser.open("POST", "/employer/team", url.Values{"name": {wicked}, "email": {wicked}, "role": {wicked}}),
			browser.open("POST", "/employer/exports", url.Values{"kind": {wicked}, "startDate": {wicked}}))
		for _, path := range []string{
			"",
			"/jobs",
			"/jobs?status=" + url.QueryEscape(wicked),
			"/jobs/" + job,
			"/jobs/" + job + "/edit",
			"/jobs/" + job + "/preview",
			"/applications",
			"/applications?status=" + url.QueryEscape(wicked),
			"/applications/board",
			"/applications/" + id + "?to=rejected",
			"/applications/" + id + "?to=" + url.QueryEscape(wicked),
			"/interviews",
			"/analytics",
			"/exports",
			"/team",
			"/organization",
		} {
			pages = append(pages, browser.open("GET", "/employer"+path, nil))
		}

		for i, page := range pages {
			require.NotContains(t, page.text, "<script>alert", "page %d", i)
			require.NotContains(t, page.text, `value="">`+"<", "page %d", i)

			// The text is repeated a few times on each page: no page is larger than 150 KiB.
			require.LessOrEqual(t, len(page.text), 150<<10)
		}
	})
}

// jobForm returns the values of the form for a job with the button action, as a browser sends
// them: amounts and line breaks in the user's spelling, and an empty question.
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
