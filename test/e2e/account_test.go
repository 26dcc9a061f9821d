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
// form with questions and a file, the review, the interview and the withdrawal. Each step is a method of
// siteApplication, whose name says what it checks. The steps depend on each other.
func TestAccount_Apply_WithDocuments(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		application := newSiteApplication(t, server)

		// The form, which has three steps: "review" shows the application without sending it, "edit" leads
		// back to the form, and "send" applies.
		application.requireFormIsForSignedInUsers()
		application.requireFormShowsQuestions()
		application.requireRequiredAnswers()
		application.requireFileOfKnownType()
		application.reviewUploadsTheFile()
		application.editSelectsTheUploadedFile()
		application.send()
		application.requireEmployerGetsTheFile()
		application.requireSecondApplicationRefused()

		// The page of the sent application.
		application.scheduleInterview()
		application.requireInvitationOnPageAndInMessages()
		application.requireCalendarFile()
		application.requireDownloadOfSentDocument()
		application.requireHiddenFromOtherUsers()
		application.requireFormsOfOtherSitesRefused()
		application.requireCSRFTokenOfOldBrowsers()
		application.withdraw()
		application.requireWithdrawalIsFinal()
		application.requireWithdrawalEndsInterviewAndCopies()
	})
}

// siteApplication is an application with one document that a clinician writes and sends on the site. Its
// methods are the steps of TestAccount_Apply_WithDocuments.
type siteApplication struct {
	t                   *testing.T
	server              *testServer
	employer, clinician *account
	browser             *browser // of the clinician, signed in

	// Paths of pages. The job has a required question and an optional one.
	jobPage, form string

	// input is the valid input of the form. It contains the document after the review.
	input url.Values

	// These are set after the application is sent: the path of its page, the path of its received documents
	// in the API for employers, and the path at which the clinician downloads the sent document.
	page, receivedDocuments, download string
}

// pinNumber is the answer to the required question of the job.
const pinNumber = "12A3456E"

// newSiteApplication creates the job and the clinician. Titles, names and letters in the test contain HTML,
// which the pages must show as text.
func newSiteApplication(t *testing.T, server *testServer) *siteApplication {
	t.Helper()

	employer, clinician := server.employer(t), server.seeker(t)
	job := employer.listing(object{
		"title": "Staff Nurse <b>ICU</b>",
		"questions": []object{
			{"id": "pin", "text": "Your NMC PIN?", "required": true},
			{"id": "why", "text": "Why us?"},
		},
	})

	return &siteApplication{
		t:         t,
		server:    server,
		employer:  employer,
		clinician: clinician,
		browser:   server.signedIn(t, clinician),
		jobPage:   "/jobs/" + job,
		form:      "/jobs/" + job + "/apply",
		input:     url.Values{"answer-0": {pinNumber}, "coverLetter": {"Dear ward"}},
	}
}

// requireContainsAll requires that the text contains each of the strings.
func requireContainsAll(t testing.TB, text string, wanted ...string) {
	t.Helper()

	for _, want := range wanted {
		require.Contains(t, text, want)
	}
}

// postStep posts the input of the form with the step "review", "edit" or "send", without a file.
func (a *siteApplication) postStep(step string) pageView {
	a.t.Helper()
	return a.browser.postForm(a.form, with(a.input, "step", step), formFile{})
}

// requireFormIsForSignedInUsers requires that guests are redirected to the sign-in, which leads back to the
// form, and that the page of the job links to the form for the clinician.
func (a *siteApplication) requireFormIsForSignedInUsers() {
	a.t.Helper()

	asGuest := a.server.browser(a.t).open("GET", a.form, nil)
	signIn := asGuest.requireRedirect(a.t, "/sign-in?next=")
	require.Contains(a.t, signIn, url.QueryEscape(a.form))

	require.Contains(a.t, a.browser.page(a.jobPage), a.form)
}

// requireFormShowsQuestions requires the parts of the empty form.
func (a *siteApplication) requireFormShowsQuestions() {
	a.t.Helper()
	requireContainsAll(a.t, a.browser.page(a.form),
		"Your NMC PIN?", "at most 7 MB", `enctype="multipart/form-data"`, "Staff Nurse &lt;b&gt;")
}

// requireRequiredAnswers requires that the form is refused without the answer to a required question, and
// keeps the other input.
func (a *siteApplication) requireRequiredAnswers() {
	a.t.Helper()

	withoutAnswer := url.Values{"step": {"review"}, "coverLetter": {"Dear <i>ward</i>"}}
	refused := a.browser.postForm(a.form, withoutAnswer, formFile{})
	require.Equal(a.t, 400, refused.status)
	require.Contains(a.t, refused.text, "must answer every required question")
	require.Contains(a.t, refused.text, "Dear &lt;i&gt;ward&lt;/i&gt;", "the input is kept")
}

// requireFileOfKnownType requires that the form is refused with a file that is not a document, and keeps the
// other input.
func (a *siteApplication) requireFileOfKnownType() {
	a.t.Helper()

	values := url.Values{"step": {"review"}, "answer-0": {pinNumber}, "type": {"cv"}}
	program := formFile{field: "file", name: "cv.exe", content: "MZ\x00\x01"} // the header of Windows executables
	refused := a.browser.postForm(a.form, values, program)
	require.Equal(a.t, 400, refused.status)
	require.Contains(a.t, refused.text, "must be a PDF")
	require.Contains(a.t, refused.text, pinNumber, "the input is kept")
}

// reviewUploadsTheFile requires that the review uploads the file and shows the application, and that nothing
// is sent yet. It adds the document to the input.
func (a *siteApplication) reviewUploadsTheFile() {
	a.t.Helper()

	values := url.Values{
		"step":        {"review"},
		"answer-0":    {pinNumber},
		"coverLetter": {"Dear <i>ward</i>"},
		"type":        {"cv"},
	}
	review := a.browser.postForm(a.form, values, pdfFile("Zoë <b>CV.pdf"))
	require.Equal(a.t, 200, review.status, review.text)
	requireContainsAll(a.t, review.text,
		"Check your application", pinNumber, "Dear &lt;i&gt;ward", "Zoë &lt;b&gt;CV", "No answer")

	require.Empty(a.t, a.employer.get("/api/employers/applications").ok(200).list("data.applications"), "nothing is sent yet")

	document := regexp.MustCompile(`name="documentIds" value="([0-9a-f-]{36})"`).FindStringSubmatch(review.text)
	require.NotNil(a.t, document, review.text)
	a.input.Set("documentIds", document[1])
}

// editSelectsTheUploadedFile requires that the review leads back to the form, in which the uploaded document
// is selected.
func (a *siteApplication) editSelectsTheUploadedFile() {
	a.t.Helper()
	require.Regexp(a.t, a.input.Get("documentIds")+`" checked`, a.postStep("edit").text)
}

// send sends the application. It requires a page and one e-mail for the clinician, and that the employer has
// received the application.
func (a *siteApplication) send() {
	a.t.Helper()

	sentPage := a.postStep("send").requireRedirect(a.t, "/sent")
	require.Contains(a.t, a.browser.page(sentPage), "Application sent")

	require.EventuallyWithT(a.t,
		func(c *assert.CollectT) {
			assert.Len(c, a.server.messagesTo(a.t, a.clinician.email, "Application sent"), 1)
		},
		20*time.Second, 50*time.Millisecond)

	id := a.employer.get("/api/employers/applications").ok(200).text("data.applications.0.id")
	a.page = "/account/applications/" + id
	a.receivedDocuments = "/api/employers/applications/" + id + "/documents"
}

// requireEmployerGetsTheFile requires that the employer has a copy of the document.
func (a *siteApplication) requireEmployerGetsTheFile() {
	a.t.Helper()

	received := a.employer.get(a.receivedDocuments).ok(200).text("data.documents.0.id")
	file := a.employer.get(a.receivedDocuments + "/" + received)
	require.Equal(a.t, somePDF, string(file.raw))
}

// requireSecondApplicationRefused requires that the clinician can apply once for a job.
func (a *siteApplication) requireSecondApplicationRefused() {
	a.t.Helper()
	require.Contains(a.t, a.browser.page(a.form), "You have applied for this job already")
	require.Contains(a.t, a.browser.page(a.jobPage), "You have applied for this job")
	require.Equal(a.t, 409, a.postStep("send").status)
	require.Contains(a.t, a.browser.page("/account"), "Staff Nurse &lt;b&gt;")
}

// interviewNotes are for the organization only.
const interviewNotes = "Ask about gaps"

// scheduleInterview schedules an interview as the employer.
func (a *siteApplication) scheduleInterview() {
	a.t.Helper()

	applicationPath := strings.TrimSuffix(a.receivedDocuments, "/documents")
	interview := appointment(object{"location": "Ward 7, <i>first floor</i>", "notes": interviewNotes})
	a.employer.fromNewAddress().post(applicationPath+"/interview", interview).ok(200)
}

// requireInvitationOnPageAndInMessages requires that the page of the application shows the interview without
// the notes of the employer. An e-mail and a notification link to the page.
func (a *siteApplication) requireInvitationOnPageAndInMessages() {
	a.t.Helper()

	text := a.browser.page(a.page)
	requireContainsAll(a.t, text, "Ward 7, &lt;i&gt;", "interview.ics", "Your NMC PIN?", pinNumber, "You applied.")
	require.NotContains(a.t, text, interviewNotes)

	require.Contains(a.t, a.server.waitForMail(a.t, a.clinician.email, "Subject: Interview"), a.page)

	// A background task creates the notification.
	isNotified := func() bool {
		linkWithText := `value="` + a.page + `">You are invited to an interview`
		return strings.Contains(a.browser.page("/account/notifications"), linkWithText)
	}
	require.Eventually(a.t, isNotified, 10*time.Second, 20*time.Millisecond)
}

// requireCalendarFile requires the interview as a file for calendars (RFC 5545).
func (a *siteApplication) requireCalendarFile() {
	a.t.Helper()

	calendar := a.browser.open("GET", a.page+"/interview.ics", nil)
	require.Equal(a.t, "text/calendar; charset=utf-8", calendar.header.Get("Content-Type"))
	require.Contains(a.t, calendar.text, "METHOD:PUBLISH\r\n")
}

// requireDownloadOfSentDocument requires that the clinician can download the sent document, as a file that
// browsers do not show.
func (a *siteApplication) requireDownloadOfSentDocument() {
	a.t.Helper()

	a.download = regexp.MustCompile(a.page + `/documents/[0-9a-f-]{36}`).FindString(a.browser.page(a.page))
	file := a.browser.open("GET", a.download, nil)
	require.Equal(a.t, somePDF, file.text)
	require.Contains(a.t, file.header.Get("Content-Disposition"), "attachment")
	require.Contains(a.t, file.header.Get("Content-Security-Policy"), "sandbox")
}

// requireHiddenFromOtherUsers requires 404 for another clinician, who must not learn that the application
// exists, and 403 for an employer, who has no such pages.
func (a *siteApplication) requireHiddenFromOtherUsers() {
	a.t.Helper()

	otherClinician := a.server.signedIn(a.t, a.server.seeker(a.t))
	for _, private := range []string{a.page, a.page + "/sent", a.page + "/interview.ics", a.download} {
		require.Equal(a.t, 404, otherClinician.open("GET", private, nil).status, private)

		asEmployer := a.server.signedIn(a.t, a.employer)
		require.Equal(a.t, 403, asEmployer.open("GET", private, nil).status, private)
	}

	require.Equal(a.t, 404, otherClinician.open("POST", a.page+"/withdraw", url.Values{}).status)
}

// requireFormsOfOtherSitesRefused requires that forms of other sites are refused. Browsers report them in the
// header Sec-Fetch-Site, which the field Site sets.
func (a *siteApplication) requireFormsOfOtherSitesRefused() {
	a.t.Helper()

	a.browser.Site = "cross-site"
	require.Equal(a.t, 403, a.browser.open("POST", a.page+"/withdraw", url.Values{}).status)
	require.Equal(a.t, 403, a.postStep("send").status)

	a.browser.Site = "same-origin"
}

// requireCSRFTokenOfOldBrowsers requires that a form needs the CSRF token of the session if the browser is an
// old one, which sends no Sec-Fetch-Site.
func (a *siteApplication) requireCSRFTokenOfOldBrowsers() {
	a.t.Helper()

	a.browser.Site = ""
	require.Equal(a.t, 403, a.postStep("edit").status, "without the token")

	token := regexp.MustCompile(`name="csrf" value="([0-9a-f]+)"`).FindStringSubmatch(a.browser.page(a.page))[1]
	withToken := with(with(a.input, "step", "edit"), "csrf", token)
	require.Equal(a.t, 200, a.browser.postForm(a.form, withToken, formFile{}).status)

	a.browser.Site = "same-origin"
}

// withdraw withdraws the application, and requires that the list and the page of the application show it.
func (a *siteApplication) withdraw() {
	a.t.Helper()

	withdrawn := a.browser.open("POST", a.page+"/withdraw", url.Values{})
	require.Contains(a.t,
		a.browser.pageAfterRedirect(withdrawn, "/account/applications?done=withdrawn"), "is withdrawn")

	for _, path := range []string{"/account/applications", a.page} {
		require.Contains(a.t, a.browser.page(path), `<span class="badge bad">Withdrawn</span>`)
	}

	require.Contains(a.t, a.browser.page(a.page), "You withdrew your application.")
}

// requireWithdrawalIsFinal requires that the application can't be withdrawn again.
func (a *siteApplication) requireWithdrawalIsFinal() {
	a.t.Helper()
	require.NotContains(a.t, a.browser.page(a.page), "Withdraw for good")
	require.Equal(a.t, 404, a.browser.open("POST", a.page+"/withdraw", url.Values{}).status)
}

// requireWithdrawalEndsInterviewAndCopies requires that the withdrawal has cancelled the interview, informed
// the employer by e-mail, and deleted the employer's copy of the document.
func (a *siteApplication) requireWithdrawalEndsInterviewAndCopies() {
	a.t.Helper()
	require.Equal(a.t, 404, a.browser.open("GET", a.page+"/interview.ics", nil).status)
	require.Contains(a.t,
		a.server.waitForMail(a.t, a.employer.email, "Application withdrawn: Staff Nurse"), "interview")
	require.Empty(a.t, a.employer.get(a.receivedDocuments).ok(200).list("data.documents"))
}

// TestAccount_ChangingDocuments_HasTheLimitOfTheAPI checks that the pages have the limit of the API: ten
// uploads and changes of documents in 15 minutes from one address, whatever they change.
func TestAccount_ChangingDocuments_HasTheLimitOfTheAPI(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		browser := server.signedIn(t, server.seeker(t))

		// One upload, five changes of the default and four of the title are ten requests.
		uploaded := browser.postForm(documentsPath, url.Values{"type": {"cv"}}, pdfFile("CV.pdf"))
		document := documentsPath + "/" + documentID.FindStringSubmatch(browser.pageAfterRedirect(uploaded, documentsPath))[1]

		for range 5 {
			browser.open("POST", document+"/default", url.Values{}).requireRedirect(t, documentsPath)
		}

		for range 4 {
			browser.postForm(document, url.Values{"title": {"My CV"}}, formFile{}).requireRedirect(t, documentsPath)
		}

		// Every further change is refused. The document can still be seen.
		require.Equal(t, 429, browser.postForm(document, url.Values{"title": {"CV"}}, formFile{}).status)
		require.Equal(t, 429, browser.open("POST", document+"/default", url.Values{}).status)
		require.Equal(t, 429, browser.open("POST", document+"/delete", url.Values{}).status)
		require.Contains(t, browser.page(documentsPath), "My CV")
	})
}

// documentsPath is the page with the documents of a clinician. The pages of documents are below it.
const documentsPath = "/account/documents"

// TestAccount_Documents_InvalidUploads_AreRefused checks that an upload is refused with a message if its input
// is incomplete, or if the file is too large or not a document. The content of the file decides, not its
// name.
func TestAccount_Documents_InvalidUploads_AreRefused(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		clinician := server.seeker(t)
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
			// A sign-in for each upload, because the number of uploads from one address is limited.
			refused := server.signedIn(t, clinician).postForm(documentsPath, test.values, test.file)
			require.Equal(t, 400, refused.status, name)
			require.Contains(t, refused.text, test.message, name)
		}

		require.Contains(t, server.signedIn(t, clinician).page(documentsPath), "You have no documents yet")
	})
}

// TestAccount_Documents checks the documents of a clinician on the site, from the upload to the deletion.
func TestAccount_Documents(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		clinician := server.seeker(t)
		browser := server.signedIn(t, clinician)
		cv := url.Values{"type": {"cv"}}

		require.Contains(t, browser.page(documentsPath), "You have no documents yet")

		// Upload a document.
		added := browser.postForm(documentsPath, url.Values{"type": {"cv"}, "isDefault": {"yes"}}, pdfFile("My <b>CV.pdf"))
		text := browser.pageAfterRedirect(added, documentsPath)
		requireContainsAll(t, text, "The document is uploaded", "My &lt;b&gt;CV", "Default")

		id := documentID.FindStringSubmatch(text)[1]
		document := documentsPath + "/" + id

		t.Run("stored with the type of the content, downloaded as an attachment", func(t *testing.T) {
			stored := clinician.get("/api/jobseekers/documents/" + id).ok(200)
			require.Equal(t, "application/pdf", stored.text("data.document.mediaType"))

			download := browser.open("GET", document+"/file", nil)
			require.Equal(t, somePDF, download.text)
			require.Contains(t, download.header.Get("Content-Disposition"), "attachment")
		})

		t.Run("title and file are replaced", func(t *testing.T) {
			newFile := formFile{field: "file", name: "cv.txt", content: "I am a nurse.\n"}
			replaced := browser.postForm(document, url.Values{"title": {"CV 2031"}}, newFile)
			require.Contains(t, browser.pageAfterRedirect(replaced, documentsPath), "CV 2031")
			require.Equal(t, newFile.content, browser.open("GET", document+"/file", nil).text)
		})

		t.Run("another document becomes the default", func(t *testing.T) {
			added := browser.postForm(documentsPath, url.Values{"type": {"cv"}, "title": {"Second"}}, pdfFile("b.pdf"))
			second := documentID.FindStringSubmatch(browser.pageAfterRedirect(added, documentsPath))[1]

			browser.open("POST", documentsPath+"/"+second+"/default", url.Values{}).requireRedirect(t, documentsPath)
			require.Equal(t, true, clinician.get("/api/jobseekers/documents/"+second).ok(200).at("data.document.isDefault"))
		})

		t.Run("other clinicians get 404", func(t *testing.T) {
			other := server.signedIn(t, server.seeker(t))
			for _, action := range []string{"/default", "/delete"} {
				require.Equal(t, 404, other.open("POST", document+action, url.Values{}).status, action)
			}

			require.Equal(t, 404, other.open("GET", document, nil).status)
			require.Equal(t, 404, other.open("GET", document+"/file", nil).status)
			require.Equal(t, 404, other.postForm(document, url.Values{"title": {"Mine"}}, formFile{}).status)
		})

		t.Run("guests are redirected to the sign-in, employers get 403", func(t *testing.T) {
			server.browser(t).postForm(documentsPath, cv, pdfFile("cv.pdf")).requireRedirect(t, "/sign-in")

			employer := server.signedIn(t, server.employer(t))
			require.Equal(t, 403, employer.postForm(documentsPath, cv, pdfFile("cv.pdf")).status)
		})

		t.Run("deletion", func(t *testing.T) {
			deleted := browser.open("POST", document+"/delete", url.Values{})
			require.Contains(t, browser.pageAfterRedirect(deleted, documentsPath), "is deleted")
			clinician.get("/api/jobseekers/documents/"+id).fails(404, "Document not found")
		})
	})
}

// TestAccount_JobsAndSearches checks saved jobs, saved searches and notifications on the site. A user who
// changes an item of another user gets 404, as if the item did not exist.
func TestAccount_JobsAndSearches(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, clinician := server.employer(t), server.seeker(t)
		job := employer.listing(object{"title": "Ward Sister", "location": "Leeds"})
		browser, other := server.signedIn(t, clinician), server.signedIn(t, server.seeker(t))

		t.Run("saved jobs", func(t *testing.T) { testSavedJobs(t, browser, other, job) })
		t.Run("saved searches", func(t *testing.T) { testSavedSearches(t, browser, other) })
		t.Run("notifications", func(t *testing.T) { testNotifications(t, employer, clinician, browser, other, job) })
	})
}

// testSavedJobs saves the job with the browser of its user, writes a note about it and removes it. The
// other browser is one of another clinician.
func testSavedJobs(t *testing.T, browser, other *browser, job string) {
	t.Helper()

	jobPage := "/jobs/" + job
	guest := browser.server.browser(t)

	// A job is saved from its page. Saving it again is no error.
	saving := browser.open("POST", jobPage+"/save", url.Values{})
	require.Contains(t, browser.pageAfterRedirect(saving, jobPage), "The job is saved")
	browser.open("POST", jobPage+"/save", url.Values{}).requireRedirect(t, jobPage)

	// An unknown job is not found, and guests have no button to save jobs.
	require.Equal(t, 404, browser.open("POST", "/jobs/"+nowhere+"/save", url.Values{}).status)
	require.NotContains(t, guest.page(jobPage), "Save this job")

	const list = "/account/saved"

	saved := regexp.MustCompile(list + `/[0-9a-f-]{36}`).FindString(browser.page(list))
	require.NotEmpty(t, saved)

	// A saved job has a note, which is shown as text and limited in length.
	noted := browser.open("POST", saved+"/note", url.Values{"notes": {"Ask about <nights>"}})
	require.Contains(t, browser.pageAfterRedirect(noted, list), "Ask about &lt;nights&gt;")

	const maxNotes = 2000 // characters

	tooLong := url.Values{"notes": {strings.Repeat("x", maxNotes+1)}}
	require.Equal(t, 400, browser.open("POST", saved+"/note", tooLong).status)

	// Only the user who saved the job can remove it.
	require.Equal(t, 404, other.open("POST", saved+"/remove", url.Values{}).status)

	removed := browser.open("POST", saved+"/remove", url.Values{})
	require.Contains(t, browser.pageAfterRedirect(removed, list), "You have not saved any jobs")
}

// testSavedSearches saves a search with the browser of its user, turns its e-mails off and deletes it. The
// other browser is one of another clinician.
func testSavedSearches(t *testing.T, browser, other *browser) {
	t.Helper()

	guest := browser.server.browser(t)
	const list = "/account/searches"

	// A search is saved from the page of its results, on which guests have no form to save it.
	require.Contains(t, browser.page("/jobs?q=nurse&where=Leeds"), "Save this search")
	require.NotContains(t, guest.page("/jobs?q=nurse"), "Save this search")

	criteria := url.Values{"query": {"nurse"}, "location": {"Leeds"}, "emailAlerts": {"yes"}}
	searches := browser.pageAfterRedirect(browser.open("POST", list, criteria), list)
	require.Contains(t, searches, "/jobs?q=nurse&amp;where=Leeds")
	require.Contains(t, searches, "E-mails on")

	// A search without any criterion would match every job and is refused.
	withoutCriteria := url.Values{"name": {"Nothing"}}
	require.Equal(t, 400, browser.open("POST", list, withoutCriteria).status)

	// Only the user who saved the search can turn its e-mails off or delete it.
	search := regexp.MustCompile(list + `/[0-9a-f-]{36}`).FindString(searches)
	turnedOff := browser.open("POST", search+"/alerts", url.Values{"alerts": {"off"}})
	require.Contains(t, browser.pageAfterRedirect(turnedOff, list), "E-mails off")
	require.Equal(t, 404, other.open("POST", search+"/alerts", url.Values{"alerts": {"on"}}).status)

	require.Equal(t, 404, other.open("POST", search+"/delete", url.Values{}).status)

	deleted := browser.open("POST", search+"/delete", url.Values{})
	require.Contains(t, browser.pageAfterRedirect(deleted, list), "You have no saved searches")
}

// testNotifications causes a notification of the clinician, by a change of the status of an application for
// the job, and checks the forms of the notification. The other browser is one of another clinician.
func testNotifications(t *testing.T, employer, clinician *account, browser, other *browser, job string) {
	t.Helper()

	const (
		list     = "/account/notifications"
		readMark = "Mark as new" // the button of a notification that was read
	)

	application := clinician.application(job, nil)
	applicationPage := "/account/applications/" + application

	employer.fromNewAddress().put("/api/employers/applications/"+application, object{"status": "review"}).ok(200)

	notification := list + "/" + clinician.waitForNotification("Ward Sister")
	require.Contains(t, browser.page(list), "Ward Sister")

	// Another user can neither read nor delete it.
	require.Equal(t, 404, other.open("POST", notification+"/read", url.Values{}).status)
	require.Equal(t, 404, other.open("POST", notification+"/delete", url.Values{}).status)

	// The user marks it as read, and then as new.
	markedAsRead := browser.open("POST", notification+"/read", url.Values{})
	require.Contains(t, browser.pageAfterRedirect(markedAsRead, list), readMark)

	markedAsNew := browser.open("POST", notification+"/read", url.Values{"read": {"no"}})
	afterMark := browser.pageAfterRedirect(markedAsNew, list)

	// The link of a new notification is a form, which marks the notification as read and redirects to the
	// path in next: here the page of the application.
	require.Contains(t, afterMark, `name="next" value="`+applicationPage+`"`)

	// The form redirects to no other host, but to the list.
	toOtherHost := browser.open("POST", notification+"/read", url.Values{"next": {"//evil.invalid/"}})
	toOtherHost.requireRedirect(t, list)

	toApplication := browser.open("POST", notification+"/read", url.Values{"next": {applicationPage}})
	toApplication.requireRedirect(t, applicationPage)
	require.Contains(t, browser.page(list), readMark)

	// Delete the notification. The application keeps its status.
	browser.open("POST", notification+"/delete", url.Values{}).requireRedirect(t, list)
	require.Contains(t, browser.page("/account/applications"), "In review")
}

// TestAccount_ProfileAndSettings checks the profile of a clinician, every section of the settings, and the
// exports. At the end the account is deleted. An invalid value is refused with a link to its field.
func TestAccount_ProfileAndSettings(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		clinician := server.seeker(t)
		browser := server.signedIn(t, clinician)

		// postSettings sends the form of a section. A successful one redirects with a notice.
		postSettings := func(section string, values url.Values) pageView {
			return browser.open("POST", "/account/settings/"+section, values)
		}

		t.Run("first steps can be skipped", func(t *testing.T) {
			require.Contains(t, browser.page("/account"), "Get ready to apply")

			skipped := browser.open("POST", "/account/steps/first-search", url.Values{})
			require.Contains(t, browser.pageAfterRedirect(skipped, "/account"), "Skipped")
		})

		profile := url.Values{
			"name":            {"Niamh <b>Byrne</b>"},
			"currentRole":     {"Staff nurse"},
			"locationRadius":  {"25"},
			"salaryMin":       {"£36,000"},
			"employmentTypes": {"permanent", "bank"},
			"showProfile":     {"yes"},
		}

		t.Run("saved profile fills the form", func(t *testing.T) {
			saved := browser.open("POST", "/account/profile", profile)
			require.Contains(t, browser.pageAfterRedirect(saved, "/account/profile"), "Your profile is saved")

			// Text is shown as text, and the amount is normalized.
			requireContainsAll(t, browser.page("/account/profile"),
				"Niamh &lt;b&gt;", `value="36000"`, `value="25"`, `value="bank" checked`, `value="yes" checked`)
		})

		t.Run("invalid phone number and amount", func(t *testing.T) {
			refused := browser.open("POST", "/account/profile", with(profile, "phone", "1"))
			require.Equal(t, 400, refused.status)
			require.Contains(t, refused.text, `href="#phone"`)

			refused = browser.open("POST", "/account/profile", with(profile, "salaryMin", "a lot"))
			require.Contains(t, refused.text, `href="#salaryMin"`)
		})

		t.Run("unchecked boxes of the preferences", func(t *testing.T) {
			postSettings("preferences", url.Values{"jobAlerts": {"yes"}}).requireRedirect(t, "preferences-saved")

			// The form was sent without the box for e-mails, as browsers do when a box is not checked.
			settings := clinician.get("/api/jobseekers/settings").ok(200)
			require.Equal(t, false, settings.at("data.settings.preferences.notifications.email"))
		})

		t.Run("new e-mail address", func(t *testing.T) {
			address := newEmail()
			postSettings("email", url.Values{"email": {address}}).requireRedirect(t, "email-requested")
			require.Contains(t, browser.page("/account/settings"), address)
			require.Equal(t, 400, postSettings("email", url.Values{"email": {"nonsense"}}).status)
		})

		t.Run("unknown session and section", func(t *testing.T) {
			require.Equal(t, 404, postSettings("session", url.Values{"session": {nowhere}}).status)
			require.Equal(t, 404, postSettings("nonsense", url.Values{}).status)
		})

		t.Run("all other sessions are ended", func(t *testing.T) {
			otherBrowser := server.signedIn(t, clinician)
			postSettings("sessions", url.Values{}).requireRedirect(t, "sessions-ended")
			otherBrowser.open("GET", "/account", nil).requireRedirect(t, "/sign-in")
		})

		t.Run("new password needs the current one", func(t *testing.T) {
			const newPassword = "Other-shift-1"

			refused := postSettings("password", url.Values{"currentPassword": {"wrong"}, "newPassword": {newPassword}})
			require.Contains(t, refused.text, "is not right")

			changed := postSettings("password", url.Values{"currentPassword": {password}, "newPassword": {newPassword}})
			changed.requireRedirect(t, "password-changed")
		})

		t.Run("exports are CSV files", func(t *testing.T) {
			for _, kind := range []string{"profile", "applications"} {
				export := browser.open("GET", "/account/export/"+kind, nil)
				require.Equal(t, 200, export.status)
				require.Contains(t, export.header.Get("Content-Disposition"), ".csv")
			}

			require.Equal(t, 404, browser.open("GET", "/account/export/nonsense", nil).status)
		})

		t.Run("deletion of the account needs its box and the own site", func(t *testing.T) {
			require.Contains(t, postSettings("delete", url.Values{}).text, `href="#confirm"`)

			confirmed := url.Values{"confirm": {"yes"}}

			browser.Site = "cross-site"

			require.Equal(t, 403, postSettings("delete", confirmed).status)

			browser.Site = "same-origin"

			postSettings("delete", confirmed).requireRedirect(t, "/")
			browser.open("GET", "/account", nil).requireRedirect(t, "/sign-in")
		})
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

// pageAfterRedirect requires that the response to a form redirects to a location that contains the path. It
// opens the location and returns its HTML.
func (b *browser) pageAfterRedirect(form pageView, path string) string {
	b.T.Helper()
	return b.page(form.requireRedirect(b.T, path))
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
