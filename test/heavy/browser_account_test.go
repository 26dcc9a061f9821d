package heavy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestBrowser_Account does what a clinician does, from the registration to the withdrawal of
// an application: once with an accessibility check of every page, and once without script. Then it checks the script
// of uploads.
func TestBrowser_Account(t *testing.T) {
	server := demoSite(t)
	axe := axeCore(t)
	t.Run("every page checked",
		func(t *testing.T) { visitAccount(t, newBrowser(t, server.url, axe), "niamh@example.org") })

	t.Run("without script", func(t *testing.T) { visitAccount(t, newBrowserWithoutScript(t, server.url), "asha@example.org") })

	t.Run("progress of uploads", func(t *testing.T) { uploadInBackground(t, newBrowser(t, server.url, axe)) })
}

// pressFor presses the button with the text, and waits until the page contains the words. The
// page may be another one, or have a new part.
func (b *browser) pressFor(button, words string) {
	b.t.Helper()
	b.do(chromedp.Click(`//main//button[normalize-space()="` + button + `"]`))
	require.Eventually(b.t, func() bool { return strings.Contains(b.text(), words) }, 20*time.Second,
		50*time.Millisecond, "%q is not on the page", words)
}

// emulateNetwork is Network.emulateNetworkConditions of the DevTools protocol.
var emulateNetwork = cdp.Command[map[string]any, cdp.Empty]{Method: "Network.emulateNetworkConditions"}

// limitUploads limits the speed of uploads in bytes per second, -1 for no limit.
func (b *browser) limitUploads(speed float64) {
	b.t.Helper()

	_, err := chromedp.Call(b.ctx, emulateNetwork,
		map[string]any{"offline": false, "latency": 0, "downloadThroughput": -1, "uploadThroughput": speed})
	require.NoError(b.t, err)
}

// uploadInBackground checks the script of the upload: files that are refused keep the input, the
// history of the browser works, and the progress of an upload is announced to screen readers.
func uploadInBackground(t *testing.T, page *browser) {
	t.Helper()

	// file returns the path of a new file, as a list.
	file := func(name, content string) []string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return []string{path}
	}

	large := file("cv.pdf", "%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\n"+strings.Repeat(" ", 2<<20))

	page.open("/register?as=jobseeker")
	fillInSignUp(page, "ciara@example.org")
	page.press("Create account")

	// A file of a type that is not allowed: the page shows the problem and keeps the title.
	page.open("/account/documents")
	page.do(chromedp.SetUploadFiles(chromedp.CSS("#file"), file("cv.exe", "MZ\x00\x01")))
	page.do(chromedp.SendKeys(chromedp.CSS("#title"), "My CV"))
	page.pressFor("Upload", "There is a problem")
	require.True(t, evaluate[bool](page, `document.activeElement.matches(".errors")`))
	require.Contains(t, page.text(), "must be a PDF")
	require.Equal(t, "My CV", evaluate[string](page, `document.querySelector("#title").value`), "the input is kept")
	page.checkPage("my-documents-refused")
	page.do(chromedp.Click(`//a[starts-with(normalize-space(), "File must be a PDF")]`))
	require.Contains(t, page.text(), "There is a problem", "a link within the page")

	// 8 MiB are above the limit of a document, which the script checks before it sends the file.
	page.do(chromedp.SetUploadFiles(chromedp.CSS("#file"), file("cv.pdf", "%PDF-1.7\n"+strings.Repeat(" ", 8<<20))))
	page.pressFor("Upload", "must have at most 7 MB")

	// The back button leads to the page with the first problem.
	_ = evaluate[chromedp.Void](page, `history.back()`)
	require.Eventually(t, func() bool { return strings.Contains(page.text(), "must be a PDF") },
		20*time.Second, 50*time.Millisecond, "the former page")

	// A slow upload. The announcements of its progress are recorded in the session storage, because the browser
	// opens another page after the upload.
	page.open("/account/documents")

	_ = evaluate[chromedp.Void](page, `(() => {
		const status = document.querySelector("form [role=status]"), bar = document.querySelector("form progress");
		sessionStorage.announced = "";
		const record = () => {
			sessionStorage.announced += status.textContent + (bar.hidden ? "" : " (" + bar.value + ")") + "\n";
		};
		new MutationObserver(record).observe(status, {childList: true});
	})()`)
	page.limitUploads(64 << 10)
	page.do(chromedp.SetUploadFiles(chromedp.CSS("#file"), large))
	page.do(chromedp.Click(`//main//button[normalize-space()="Upload"]`))
	page.do(chromedp.WaitVisible(chromedp.CSS("form progress")))
	page.checkPage("my-documents-upload")
	page.limitUploads(-1)
	require.Eventually(t, func() bool { return strings.Contains(page.text(), "The document is uploaded") },
		20*time.Second, 50*time.Millisecond)
	require.Regexp(t, `(?s)Uploading cv\.pdf: \d+%.*Uploaded\. Checking the file…`,
		evaluate[string](page, `sessionStorage.announced`))
	page.requireNoErrors("400") // of the refused file
}

// visitAccount registers a clinician with the e-mail address, who uploads a document, saves a
// search and a job, applies, and withdraws the application.
func visitAccount(t *testing.T, page *browser, email string) {
	t.Helper()

	page.sources = map[string]string{} // collects the HTML of the pages, for validateSources
	cv := filepath.Join(t.TempDir(), "cv.pdf")
	require.NoError(t, os.WriteFile(cv, []byte("%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\n"), 0o600))

	// Registration and the first steps.
	page.open("/register?as=jobseeker")
	fillInSignUp(page, email)
	page.press("Create account")
	page.waitForAddress("/account")
	page.checkPage("account")
	page.leads(chromedp.Click(`//main//button[starts-with(normalize-space(), "Skip")]`))
	require.Contains(t, page.text(), "Skipped")

	// A document.
	page.follow("Documents")
	page.checkPage("my-documents-none")
	page.do(chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{cv}))
	page.press("Upload")
	require.Contains(t, page.text(), "The document is uploaded")
	page.checkPage("my-documents")
	page.leads(chromedp.Click(`(//main//th/a)[1]`))
	page.checkPage("my-document")

	// A saved search and a saved job.
	page.open("/jobs?q=nurse")
	page.checkPage("jobs-clinician")
	page.press("Save this search and get e-mail alerts")
	page.checkPage("my-searches")
	page.open("/jobs?q=nurse")
	page.leads(chromedp.Click(`(//main//h3/a)[1]`))
	page.press("Save this job")
	page.checkPage("job-clinician")
	page.follow("Saved")
	page.checkPage("my-jobs")

	// An application, with an answer to each question that requires one.
	page.leads(chromedp.Click(`(//main//h2/a)[1]`))
	page.follow("Apply")
	page.checkPage("apply")

	_ = evaluate[chromedp.Void](page,
		`document.querySelectorAll("main textarea[required]").forEach(t => { t.value = "12A3456E" })`)
	page.do(
		chromedp.SendKeys(chromedp.CSS("#coverLetter"), "Six years of critical care."),
		chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{cv}),
	)
	page.pressFor("Review your application", "Check your application")
	page.checkPage("apply-review")
	page.press("Send application")
	require.Contains(t, page.text(), "Application sent")
	page.checkPage("my-application-sent")
	page.follow("See your application")
	page.checkPage("my-application")

	// The other pages of the account. One character is no phone number.
	page.follow("Notifications")
	page.checkPage("my-notifications")
	page.follow("Profile")
	page.field("phone", "1")
	page.press("Save profile")
	page.checkPage("my-profile-problem")
	page.follow("Settings")
	page.checkPage("my-settings")
	page.follow("Set up two-step sign-in")
	page.checkPage("two-step-sign-in")
	page.press("Set up two-step sign-in")
	page.checkPage("two-step-sign-in-code")

	// The withdrawal.
	page.open("/account/settings")
	page.follow("Applications")
	page.checkPage("my-applications")
	page.leads(chromedp.Click(`(//main//h3/a)[1]`))
	page.do(chromedp.Click(`//summary[normalize-space()="Withdraw your application"]`))
	page.press("Withdraw for good")
	require.Contains(t, page.text(), "Your application is withdrawn")
	page.requireNoErrors("400") // of the phone number
	page.validateSources()
}
