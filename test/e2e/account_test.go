package e2e

import (
	"bytes"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// documentID matches a link to a document, with its id.
var documentID = regexp.MustCompile(`/account/documents/([0-9a-f-]{36})"`)

// TestAccount_Apply_WithDocuments follows an application of a clinician through the pages of the site: the
// form with questions and a file, the review, the interview and the withdrawal. Input is shown as text,
// and no other user sees any of it.
//
// The form is sent with a step: "review" shows the application without sending it, "edit" leads back to
// the form, and "send" applies.
func TestAccount_Apply_WithDocuments(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss, me := server.employer(t), server.seeker(t)
		job := boss.listing(object{
			"title": "Staff Nurse <b>ICU</b>",
			"questions": []object{
				{"id": "pin", "text": "Your NMC PIN?", "required": true},
				{"id": "why", "text": "Why us?"},
			},
		})
		browser := server.signedIn(t, me)
		path := "/jobs/" + job + "/apply"

		// The form is for signed-in users. It is refused without a required answer, and with a file that is
		// not a document.
		require.Contains(t, server.browser(t).open("GET", path, nil).requireRedirect(t, "/sign-in?next="), url.QueryEscape(path))
		require.Contains(t, browser.page("/jobs/"+job), path)

		form := browser.page(path)
		for _, want := range []string{"Your NMC PIN?", "at most 7 MB", `enctype="multipart/form-data"`, "Staff Nurse &lt;b&gt;"} {
			require.Contains(t, form, want)
		}

		refused := browser.postForm(path, url.Values{"step": {"review"}, "coverLetter": {"Dear <i>ward</i>"}}, formFile{})
		require.Equal(t, 400, refused.status)
		require.Contains(t, refused.text, "must answer every required question")
		require.Contains(t, refused.text, "Dear &lt;i&gt;ward&lt;/i&gt;", "the input is kept")

		refused = browser.postForm(path,
			url.Values{"step": {"review"}, "answer-0": {"12A3456E"}, "type": {"cv"}},
			formFile{field: "file", name: "cv.exe", content: "MZ\x00\x01"}) // the header of Windows executables
		require.Equal(t, 400, refused.status)
		require.Contains(t, refused.text, "must be a PDF")
		require.Contains(t, refused.text, "12A3456E")

		// The review uploads the file, shows the application and sends nothing.
		review := browser.postForm(path,
			url.Values{"step": {"review"}, "answer-0": {"12A3456E"}, "coverLetter": {"Dear <i>ward</i>"}, "type": {"cv"}},
			formFile{field: "file", name: "Zoë <b>CV.pdf", content: somePDF})
		require.Equal(t, 200, review.status, review.text)

		for _, want := range []string{"Check your application", "12A3456E", "Dear &lt;i&gt;ward", "Zoë &lt;b&gt;CV", "No answer"} {
			require.Contains(t, review.text, want)
		}

		require.Empty(t, boss.get("/api/employers/applications").ok(200).list("data.applications"), "nothing is sent yet")

		match := regexp.MustCompile(`name="documentIds" value="([0-9a-f-]{36})"`).FindStringSubmatch(review.text)
		require.NotNil(t, match, review.text)

		document := match[1]
		input := url.Values{"answer-0": {"12A3456E"}, "coverLetter": {"Dear ward"}, "documentIds": {document}}

		// The review leads back to the form, in which the uploaded document is selected.
		edited := browser.postForm(path, with(input, "step", "edit"), formFile{})
		require.Regexp(t, document+`" checked`, edited.text)

		// The application is sent. The applicant gets one e-mail, and the employer a copy of the document.
		sent := browser.postForm(path, with(input, "step", "send"), formFile{}).requireRedirect(t, "/sent")
		require.Contains(t, browser.page(sent), "Application sent")
		require.EventuallyWithT(t,
			func(c *assert.CollectT) { assert.Len(c, server.messagesTo(t, me.email, "Application sent"), 1) },
			20*time.Second, 50*time.Millisecond)

		received := boss.get("/api/employers/applications").ok(200).text("data.applications.0.id")
		documents := boss.get("/api/employers/applications/" + received + "/documents").ok(200)
		require.Equal(t, somePDF,
			string(boss.get("/api/employers/applications/"+received+"/documents/"+documents.text("data.documents.0.id")).raw))

		// The clinician can apply once for a job.
		require.Contains(t, browser.page(path), "You have applied for this job already")
		require.Contains(t, browser.page("/jobs/"+job), "You have applied for this job")
		require.Equal(t, 409, browser.postForm(path, with(input, "step", "send"), formFile{}).status)
		require.Contains(t, browser.page("/account"), "Staff Nurse &lt;b&gt;")

		// The employer schedules an interview. The page of the application shows it, without the notes. The
		// applicant gets an e-mail, a notification, and a file for calendars (RFC 5545).
		detail := "/account/applications/" + received
		boss.fromNewAddress().
			post("/api/employers/applications/"+received+"/interview", appointment(object{
				"location": "Ward 7, <i>first floor</i>",
				"notes":    "Ask about gaps", // for the organization only
			})).
			ok(200)

		text := browser.page(detail)
		for _, want := range []string{"Ward 7, &lt;i&gt;", "interview.ics", "Your NMC PIN?", "12A3456E", "You applied."} {
			require.Contains(t, text, want)
		}

		require.NotContains(t, text, "Ask about gaps")
		require.Contains(t, server.waitForMail(t, me.email, "Subject: Interview"), detail)

		// The notification links to the page of the application, and appears after a background task.
		invited := func() bool {
			return strings.Contains(browser.page("/account/notifications"), `value="`+detail+`">You are invited to an interview`)
		}
		require.Eventually(t, invited, 10*time.Second, 20*time.Millisecond)

		calendar := browser.open("GET", detail+"/interview.ics", nil)
		require.Equal(t, "text/calendar; charset=utf-8", calendar.header.Get("Content-Type"))
		require.Contains(t, calendar.text, "METHOD:PUBLISH\r\n")

		// The applicant can download the document that was sent.
		file := regexp.MustCompile(detail + `/documents/[0-9a-f-]{36}`).FindString(text)
		download := browser.open("GET", file, nil)
		require.Equal(t, somePDF, download.text)
		require.Contains(t, download.header.Get("Content-Disposition"), "attachment")
		require.Contains(t, download.header.Get("Content-Security-Policy"), "sandbox")

		// Other users see none of it. Another clinician must not learn that the application exists. An
		// employer has no such pages.
		other := server.signedIn(t, server.seeker(t))
		for _, private := range []string{detail, detail + "/sent", detail + "/interview.ics", file} {
			require.Equal(t, 404, other.open("GET", private, nil).status, private)
			require.Equal(t, 403, server.signedIn(t, boss).open("GET", private, nil).status, private)
		}

		require.Equal(t, 404, other.open("POST", detail+"/withdraw", url.Values{}).status)

		// Forms of another site are refused. Browsers say so in the header Sec-Fetch-Site, which Site sets.
		browser.Site = "cross-site"
		require.Equal(t, 403, browser.open("POST", detail+"/withdraw", url.Values{}).status)
		require.Equal(t, 403, browser.postForm(path, with(input, "step", "send"), formFile{}).status)

		// An old browser sends no Sec-Fetch-Site, so that its form needs the CSRF token.
		browser.Site = ""
		require.Equal(t, 403, browser.postForm(path, with(input, "step", "edit"), formFile{}).status, "without the token")

		token := regexp.MustCompile(`name="csrf" value="([0-9a-f]+)"`).FindStringSubmatch(text)[1]
		require.Equal(t, 200, browser.postForm(path, with(with(input, "step", "edit"), "csrf", token), formFile{}).status)

		// The withdrawal is final. It cancels the interview and deletes the employer's copy of the document.
		browser.Site = "same-origin"
		withdrawn := browser.open("POST", detail+"/withdraw", url.Values{}).
			requireRedirect(t, "/account/applications?done=withdrawn")
		require.Contains(t, browser.page(withdrawn), "is withdrawn")

		for _, shown := range []string{browser.page("/account/applications"), browser.page(detail)} {
			require.Contains(t, shown, `<span class="badge bad">Withdrawn</span>`)
		}

		require.Contains(t, browser.page(detail), "You withdrew your application.")
		require.NotContains(t, browser.page(detail), "Withdraw for good")
		require.Equal(t, 404, browser.open("POST", detail+"/withdraw", url.Values{}).status)
		require.Equal(t, 404, browser.open("GET", detail+"/interview.ics", nil).status)
		require.Contains(t, server.waitForMail(t, boss.email, "Application withdrawn: Staff Nurse"), "interview")
		require.Empty(t, boss.get("/api/employers/applications/"+received+"/documents").ok(200).list("data.documents"))
	})
}

// TestAccount_ChangingDocuments_HasTheLimitOfTheAPI checks that the pages have the limit of the API: ten
// uploads and changes of documents in 15 minutes from one address, whatever they change.
func TestAccount_ChangingDocuments_HasTheLimitOfTheAPI(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		me := server.seeker(t)
		const path = "/account/documents"
		browser := server.signedIn(t, me)
		browser.postForm(path, url.Values{"type": {"cv"}}, pdfFile("CV.pdf")).requireRedirect(t, path)

		document := path + "/" + documentID.FindStringSubmatch(browser.page(path))[1]

		// One upload, five changes of the default and four of the title are ten requests.
		for range 5 {
			browser.open("POST", document+"/default", url.Values{}).requireRedirect(t, path)
		}

		for range 4 {
			browser.postForm(document, url.Values{"title": {"My CV"}}, formFile{}).requireRedirect(t, path)
		}

		// Every further change is refused. The document can still be seen.
		require.Equal(t, 429, browser.postForm(document, url.Values{"title": {"CV"}}, formFile{}).status)
		require.Equal(t, 429, browser.open("POST", document+"/default", url.Values{}).status)
		require.Equal(t, 429, browser.open("POST", document+"/delete", url.Values{}).status)
		require.Contains(t, browser.page(path), "My CV")
	})
}

// TestAccount_Documents checks the upload, replacement and deletion of documents on the site. A
// file is refused by its content and not by its name, and other users get 404.
func TestAccount_Documents(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		me := server.seeker(t)
		browser := server.signedIn(t, me)
		const path = "/account/documents"
		require.Contains(t, browser.page(path), "You have no documents yet")

		// Each upload is refused with a message.
		cv := url.Values{"type": {"cv"}}

		pdfOfSize := func(bytes int) formFile {
			return formFile{field: "file", name: "cv.pdf", content: somePDF + strings.Repeat(" ", bytes)}
		}
		for name, test := range map[string]struct {
			values  url.Values
			file    formFile // no file by default
			message string
		}{
			"no file": {
				values:  cv,
				message: "File is required",
			},
			"no type": {
				file:    pdfFile("cv.pdf"),
				message: "Type is required",
			},
			"empty": {
				values:  cv,
				file:    formFile{field: "file", name: "cv.pdf"},
				message: "File is empty",
			},
			"HTML": {
				values:  cv,
				file:    formFile{field: "file", name: "cv.png", content: "\xff<script>"},
				message: "must be a PDF",
			},
			"over 7 MB, the limit of a document": {
				values:  cv,
				file:    pdfOfSize(8 << 20),
				message: "at most 7 MB",
			},
			"over 10 MB, the limit of a body": {
				values:  cv,
				file:    pdfOfSize(11 << 20),
				message: "too large",
			},
			"long name": {
				values:  cv,
				file:    pdfFile(strings.Repeat("x", 300) + ".pdf"),
				message: "must have at most 255",
			},
		} {
			refused := server.signedIn(t, me).postForm(path, test.values, test.file)
			require.Equal(t, 400, refused.status, name)
			require.Contains(t, refused.text, test.message, name)
		}

		// A valid upload.
		added := browser.postForm(path, url.Values{"type": {"cv"}, "isDefault": {"yes"}}, pdfFile("My <b>CV.pdf"))
		text := browser.page(added.requireRedirect(t, path))
		require.Contains(t, text, "The document is uploaded")
		require.Contains(t, text, "My &lt;b&gt;CV")
		require.Contains(t, text, "Default")

		// The stored document has the type of its content. Its download is an attachment, so that browsers do not show it.
		id := documentID.FindStringSubmatch(text)[1]
		stored := me.get("/api/jobseekers/documents/" + id).ok(200)
		require.Equal(t, "application/pdf", stored.text("data.document.mediaType"))

		download := browser.open("GET", path+"/"+id+"/file", nil)
		require.Equal(t, somePDF, download.text)
		require.Contains(t, download.header.Get("Content-Disposition"), "attachment")

		// Title and file are replaced.
		replaced := browser.postForm(path+"/"+id, url.Values{"title": {"CV 2031"}},
			formFile{field: "file", name: "cv.txt", content: "I am a nurse.\n"})
		require.Contains(t, browser.page(replaced.requireRedirect(t, path)), "CV 2031")
		require.Equal(t, "I am a nurse.\n", browser.open("GET", path+"/"+id+"/file", nil).text)

		// Another document becomes the default.
		addedSecond := browser.postForm(path, url.Values{"type": {"cv"}, "title": {"Second"}}, pdfFile("b.pdf"))
		second := documentID.FindStringSubmatch(browser.page(addedSecond.requireRedirect(t, path)))[1]
		browser.open("POST", path+"/"+second+"/default", url.Values{}).requireRedirect(t, path)
		require.Equal(t, true, me.get("/api/jobseekers/documents/"+second).ok(200).at("data.document.isDefault"))

		// Other clinicians get 404, guests are redirected to the sign-in, and employers get 403.
		other := server.signedIn(t, server.seeker(t))
		for _, action := range []string{"/default", "/delete"} {
			require.Equal(t, 404, other.open("POST", path+"/"+id+action, url.Values{}).status, action)
		}

		require.Equal(t, 404, other.open("GET", path+"/"+id, nil).status)
		require.Equal(t, 404, other.open("GET", path+"/"+id+"/file", nil).status)
		require.Equal(t, 404, other.postForm(path+"/"+id, url.Values{"title": {"Mine"}}, formFile{}).status)
		server.browser(t).postForm(path, cv, pdfFile("cv.pdf")).requireRedirect(t, "/sign-in")

		employer := server.signedIn(t, server.employer(t))
		require.Equal(t, 403, employer.postForm(path, cv, pdfFile("cv.pdf")).status)

		deleted := browser.open("POST", path+"/"+id+"/delete", url.Values{})
		require.Contains(t, browser.page(deleted.requireRedirect(t, path)), "is deleted")
		me.get("/api/jobseekers/documents/"+id).fails(404, "Document not found")
	})
}

// TestAccount_JobsAndSearches checks saved jobs, saved searches and notifications on the site. A user who
// changes an item of another user gets 404, as if the item did not exist.
func TestAccount_JobsAndSearches(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss, me := server.employer(t), server.seeker(t)
		job := boss.listing(object{"title": "Ward Sister", "location": "Leeds"})
		browser, other := server.signedIn(t, me), server.signedIn(t, server.seeker(t))

		// A job is saved from its page.
		saving := browser.open("POST", "/jobs/"+job+"/save", url.Values{})
		require.Contains(t, browser.page(saving.requireRedirect(t, "/jobs/"+job)), "The job is saved")

		// Saving the job again is no error. An unknown job is one, and guests have no button to save jobs.
		browser.open("POST", "/jobs/"+job+"/save", url.Values{}).requireRedirect(t, "/jobs/"+job)
		require.Equal(t, 404, browser.open("POST", "/jobs/"+nowhere+"/save", url.Values{}).status)
		require.NotContains(t, server.browser(t).page("/jobs/"+job), "Save this job")

		saved := regexp.MustCompile(`/account/saved/[0-9a-f-]{36}`).FindString(browser.page("/account/saved"))
		require.NotEmpty(t, saved)

		// A saved job has a note, which is shown as text and limited in length, and only its owner can remove the job.
		noted := browser.open("POST", saved+"/note", url.Values{"notes": {"Ask about <nights>"}})
		require.Contains(t, browser.page(noted.requireRedirect(t, "/account/saved")), "Ask about &lt;nights&gt;")

		const maxNotes = 2000 // characters
		require.Equal(t, 400, browser.open("POST", saved+"/note", url.Values{"notes": {strings.Repeat("x", maxNotes+1)}}).status)
		require.Equal(t, 404, other.open("POST", saved+"/remove", url.Values{}).status)
		browser.open("POST", saved+"/remove", url.Values{}).requireRedirect(t, "/account/saved")
		require.Contains(t, browser.page("/account/saved"), "You have not saved any jobs")

		// A search is saved from the page of its results, and then its e-mails are turned off.
		require.Contains(t, browser.page("/jobs?q=nurse&where=Leeds"), "Save this search")
		require.NotContains(t, server.browser(t).page("/jobs?q=nurse"), "Save this search")

		search := url.Values{"query": {"nurse"}, "location": {"Leeds"}, "emailAlerts": {"yes"}}
		searches := browser.page(browser.open("POST", "/account/searches", search).requireRedirect(t, "/account/searches"))
		require.Contains(t, searches, "/jobs?q=nurse&amp;where=Leeds")
		require.Contains(t, searches, "E-mails on")

		// A search without any criterion would match every job and is refused.
		withoutCriteria := url.Values{"name": {"Nothing"}}
		require.Equal(t, 400, browser.open("POST", "/account/searches", withoutCriteria).status)

		searchPath := regexp.MustCompile(`/account/searches/[0-9a-f-]{36}`).FindString(searches)
		turnedOff := browser.open("POST", searchPath+"/alerts", url.Values{"alerts": {"off"}})
		require.Contains(t, browser.page(turnedOff.requireRedirect(t, "/account/searches")), "E-mails off")
		require.Equal(t, 404, other.open("POST", searchPath+"/alerts", url.Values{"alerts": {"on"}}).status)
		require.Equal(t, 404, other.open("POST", searchPath+"/delete", url.Values{}).status)
		browser.open("POST", searchPath+"/delete", url.Values{}).requireRedirect(t, "/account/searches")
		require.Contains(t, browser.page("/account/searches"), "You have no saved searches")

		// A change of an application's status notifies the applicant.
		application := me.application(job, nil)
		boss.fromNewAddress().put("/api/employers/applications/"+application, object{"status": "review"}).ok(200)

		notification := "/account/notifications/" + me.waitForNotification("Ward Sister")

		require.Contains(t, browser.page("/account/notifications"), "Ward Sister")
		require.Equal(t, 404, other.open("POST", notification+"/read", url.Values{}).status)
		require.Equal(t, 404, other.open("POST", notification+"/delete", url.Values{}).status)
		browser.open("POST", notification+"/read", url.Values{}).requireRedirect(t, "/account/notifications")
		require.Contains(t, browser.page("/account/notifications"), "Mark as new")

		// The link of a new notification is a form, which marks the notification as read and redirects to the
		// path in next. The form redirects to no other host.
		browser.open("POST", notification+"/read", url.Values{"read": {"no"}}).requireRedirect(t, "/account/notifications")
		require.Contains(t, browser.page("/account/notifications"), `name="next" value="/account/applications/`+application+`"`)
		browser.open("POST", notification+"/read", url.Values{"next": {"//evil.invalid/"}}).
			requireRedirect(t, "/account/notifications")
		browser.open("POST", notification+"/read", url.Values{"next": {"/account/applications/" + application}}).
			requireRedirect(t, "/account/applications/"+application)
		require.Contains(t, browser.page("/account/notifications"), "Mark as new")
		browser.open("POST", notification+"/delete", url.Values{}).requireRedirect(t, "/account/notifications")
		require.Contains(t, browser.page("/account/applications"), "In review")
	})
}

// TestAccount_ProfileAndSettings checks the profile of a clinician, every section of the settings, and the
// exports. At the end the account is deleted. An invalid value is refused with a link to its field.
func TestAccount_ProfileAndSettings(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		me := server.seeker(t)
		browser := server.signedIn(t, me)
		require.Contains(t, browser.page("/account"), "Get ready to apply")

		// The first page lists steps before the first application, which can be skipped.
		browser.open("POST", "/account/steps/first-search", url.Values{}).requireRedirect(t, "/account")
		require.Contains(t, browser.page("/account"), "Skipped")

		// The saved profile fills the form. Text is shown as text, and the amount is normalized.
		profile := url.Values{
			"name":            {"Niamh <b>Byrne</b>"},
			"currentRole":     {"Staff nurse"},
			"locationRadius":  {"25"},
			"salaryMin":       {"£36,000"},
			"employmentTypes": {"permanent", "bank"},
			"showProfile":     {"yes"},
		}
		saved := browser.open("POST", "/account/profile", profile)
		require.Contains(t, browser.page(saved.requireRedirect(t, "/account/profile")), "Your profile is saved")

		text := browser.page("/account/profile")
		for _, want := range []string{"Niamh &lt;b&gt;", `value="36000"`, `value="25"`, `value="bank" checked`, `value="yes" checked`} {
			require.Contains(t, text, want)
		}

		// An invalid phone number and an invalid amount are refused, with a link to the field.
		refused := browser.open("POST", "/account/profile", with(profile, "phone", "1"))
		require.Equal(t, 400, refused.status)
		require.Contains(t, refused.text, `href="#phone"`)
		require.Contains(t, browser.open("POST", "/account/profile", with(profile, "salaryMin", "a lot")).text, `href="#salaryMin"`)

		// postSettings sends the form of a section. A successful one redirects with a notice.
		postSettings := func(section string, values url.Values) pageView {
			return browser.open("POST", "/account/settings/"+section, values)
		}
		postSettings("preferences", url.Values{"jobAlerts": {"yes"}}).requireRedirect(t, "preferences-saved")

		// The form above was sent without the box for e-mails, as browsers do when a box is not checked.
		require.Equal(t, false, me.get("/api/jobseekers/settings").ok(200).at("data.settings.preferences.notifications.email"))

		// The sections for the address and the password.
		const newPassword = "Other-shift-1"

		newAddress := newEmail()
		postSettings("email", url.Values{"email": {newAddress}}).requireRedirect(t, "email-requested")
		require.Contains(t, browser.page("/account/settings"), newAddress)
		require.Equal(t, 400, postSettings("email", url.Values{"email": {"nonsense"}}).status)
		require.Contains(t,
			postSettings("password", url.Values{"currentPassword": {"wrong"}, "newPassword": {newPassword}}).text,
			"is not right")
		require.Equal(t, 404, postSettings("session", url.Values{"session": {nowhere}}).status)
		require.Equal(t, 404, postSettings("nonsense", url.Values{}).status)

		// The form ends all other sessions, such as that of another browser.
		otherBrowser := server.signedIn(t, me)
		postSettings("sessions", url.Values{}).requireRedirect(t, "sessions-ended")
		otherBrowser.open("GET", "/account", nil).requireRedirect(t, "/sign-in")
		postSettings("password", url.Values{"currentPassword": {password}, "newPassword": {newPassword}}).
			requireRedirect(t, "password-changed")

		// Both exports are CSV files. An unknown kind of export is not found.
		for _, kind := range []string{"profile", "applications"} {
			export := browser.open("GET", "/account/export/"+kind, nil)
			require.Equal(t, 200, export.status)
			require.Contains(t, export.header.Get("Content-Disposition"), ".csv")
		}

		require.Equal(t, 404, browser.open("GET", "/account/export/nonsense", nil).status)

		// The deletion of the account needs the box to confirm it. A form of another site is refused.
		require.Contains(t, postSettings("delete", url.Values{}).text, `href="#confirm"`)

		browser.Site = "cross-site"

		require.Equal(t, 403, postSettings("delete", url.Values{"confirm": {"yes"}}).status)

		browser.Site = "same-origin"

		postSettings("delete", url.Values{"confirm": {"yes"}}).requireRedirect(t, "/")
		browser.open("GET", "/account", nil).requireRedirect(t, "/sign-in")
	})
}

// TestAccount_OtherUsers_AreRefused checks that guests are redirected to the sign-in page and
// employers get 403 on the pages of clinicians.
func TestAccount_OtherUsers_AreRefused(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.signedIn(t, server.employer(t))
		for _, path := range []string{
			"/account", "/account/applications", "/account/documents", "/account/saved",
			"/account/searches", "/account/notifications", "/account/profile", "/account/settings",
		} {
			server.browser(t).open("GET", path, nil).requireRedirect(t, "/sign-in?next="+url.QueryEscape(path))

			refused := boss.open("GET", path, nil)
			require.Equal(t, 403, refused.status, path)
			require.Contains(t, refused.text, "for clinicians")
		}

		// Forms of clinicians.
		for _, path := range []string{
			"/account/profile", "/account/settings/delete", "/account/searches", "/jobs/" + nowhere + "/save",
		} {
			require.Equal(t, 403, boss.open("POST", path, url.Values{}).status, path)
			server.browser(t).open("POST", path, url.Values{}).requireRedirect(t, "/sign-in")
		}
	})
}

// formFile is a file of a form. The zero value stands for no file.
type formFile struct {
	field   string // the name of the field in the form
	name    string
	content string
}

// postForm posts a form as multipart/form-data, with the file unless its field is empty.
func (b *browser) postForm(path string, values url.Values, file formFile) pageView {
	b.T.Helper()
	var body bytes.Buffer

	form := multipart.NewWriter(&body)
	for name, valuesOfField := range values {
		for _, value := range valuesOfField {
			require.NoError(b.T, form.WriteField(name, value))
		}
	}

	if file.field != "" {
		part, err := form.CreateFormFile(file.field, file.name)
		require.NoError(b.T, err)

		_, err = io.WriteString(part, file.content)
		require.NoError(b.T, err)
	}

	require.NoError(b.T, form.Close())

	request, err := http.NewRequestWithContext(b.T.Context(), http.MethodPost, b.URL+path, &body)
	require.NoError(b.T, err)
	request.Header.Set("Content-Type", form.FormDataContentType())
	request.Header.Set("X-Forwarded-For", b.IP)

	if b.Site != "" {
		request.Header.Set("Sec-Fetch-Site", b.Site)
	}

	response, err := b.HTTP.Do(request)
	require.NoError(b.T, err)

	defer func() { _ = response.Body.Close() }()

	text, err := io.ReadAll(response.Body)
	require.NoError(b.T, err)
	require.Less(b.T, response.StatusCode, 500, "no request of a browser may fail the server: %s\n%s", text, b.server.log)

	return pageView{status: response.StatusCode, header: response.Header, text: string(text)}
}

// page opens a page, requires status 200 and returns its HTML.
func (b *browser) page(path string) string {
	b.T.Helper()
	return b.show(path).text
}

// pdfFile returns a PDF file for the field of forms with a document.
func pdfFile(name string) formFile {
	return formFile{field: "file", name: name, content: somePDF}
}

// requireRedirect requires a redirect to a location that contains the path, and returns the
// location.
func (p pageView) requireRedirect(t testing.TB, path string) string {
	t.Helper()
	require.Equal(t, 303, p.status, p.text)
	require.Contains(t, p.header.Get("Location"), path)

	return p.header.Get("Location")
}

// with returns a copy of the values in which name has the value.
func with(values url.Values, name, value string) url.Values {
	changed := maps.Clone(values)
	changed.Set(name, value)
	return changed
}
