package heavy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestBrowser_Account does what a clinician does, from the registration to the withdrawal of
// an application: with a check of every page, and again without script.
func TestBrowser_Account(t *testing.T) {
	server := demoSite(t)
	axe := axeCore(t)
	t.Run("every page checked", func(t *testing.T) { visitAccount(t, newBrowser(t, server.url, axe), "niamh@example.org") })
	t.Run("without script", func(t *testing.T) {
		browser := newBrowser(t, server.url, "")
		_, err := chromedp.Call(browser.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		require.NoError(t, err)
		visitAccount(t, browser, "asha@example.org")
	})
	t.Run("progress of uploads", func(t *testing.T) { uploadInBackground(t, newBrowser(t, s.url, axe)) })
}

// pressFor presses the button with the text, and waits until the page contains the words. The
// page may be another one, or have a new part.
func (p *browser) pressFor(button, words string) {
	p.t.Helper()
	p.do(chromedp.Click(`//main//button[normalize-space()="` + button + `"]`))
	require.Eventually(p.t, func() bool { return strings.Contains(p.text(), words) }, 20*time.Second, 50*time.Millisecond, "%q is not on the page", words)
}

// emulateNetwork is Network.emulateNetworkConditions of the DevTools protocol.
var emulateNetwork = cdp.Command[map[string]any, cdp.Empty]{Method: "Network.emulateNetworkConditions"}

// limitUploads limits the speed of uploads in bytes per second, -1 for no limit.
func (p *browser) limitUploads(speed float64) {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, emulateNetwork, map[string]any{"offline": false, "latency": 0, "downloadThroughput": -1, "uploadThroughput": speed})
	require.NoError(p.t, err)
}

// uploadInBackground uploads files over a slow connection.
func uploadInBackground(t *testing.T, p *browser) {
	t.Helper()
	file := func(name, content string) []string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return []string{path}
	}
	large := file("cv.pdf", "%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\n"+strings.Repeat(" ", 2<<20))
	p.open("/register?as=jobseeker")
	signUp(p, "ciara@example.org")
	p.press("Create account")
	p.open("/account/documents")
	p.do(chromedp.SetUploadFiles(chromedp.CSS("#file"), file("cv.exe", "MZ\x00\x01")))
	p.do(chromedp.SendKeys(chromedp.CSS("#title"), "My CV"))
	p.pressFor("Upload", "There is a problem")
	require.True(t, evaluate[bool](p, `document.activeElement.matches(".errors")`))
	require.Contains(t, p.text(), "must be a PDF")
	require.Equal(t, "My CV", evaluate[string](p, `document.querySelector("#title").value`), "the input is kept")
	p.checkPage("my-documents-refused")
	p.do(chromedp.Click(`//a[starts-with(normalize-space(), "File must be a PDF")]`))
	require.Contains(t, p.text(), "There is a problem", "a link within the page")
	p.do(chromedp.SetUploadFiles(chromedp.CSS("#file"), file("cv.pdf", "%PDF-1.7\n"+strings.Repeat(" ", 8<<20))))
	p.pressFor("Upload", "must have at most 7 MB")
	_ = evaluate[chromedp.Void](p, `history.back()`)
	require.Eventually(t, func() bool { return strings.Contains(p.text(), "must be a PDF") }, 20*time.Second, 50*time.Millisecond, "the former page")

	p.open("/account/documents")
	_ = evaluate[chromedp.Void](p, `(() => {
		const status = document.querySelector("form [role=status]"), bar = document.querySelector("form progress");
		sessionStorage.said = "";
		new MutationObserver(() => { sessionStorage.said += status.textContent + (bar.hidden ? "" : " (" + bar.value + ")") + "\n"; }).observe(status, {childList: true});
	})()`)
	p.limitUploads(64 << 10)
	p.do(chromedp.SetUploadFiles(chromedp.CSS("#file"), large))
	p.do(chromedp.Click(`//main//button[normalize-space()="Upload"]`))
	p.do(chromedp.WaitVisible(chromedp.CSS("form progress")))
	p.checkPage("my-documents-upload")
	p.limitUploads(-1)
	require.Eventually(t, func() bool { return strings.Contains(p.text(), "The document is uploaded") }, 20*time.Second, 50*time.Millisecond)
	require.Regexp(t, `(?s)Uploading cv\.pdf: \d+%.*Uploaded\. Checking the file…`, evaluate[string](p, `sessionStorage.said`))
	p.requireNoErrors("400")
}

func visitAccount(t *testing.T, p *browser, email string) {
	t.Helper()
	p.sources = map[string]string{}
	cv := filepath.Join(t.TempDir(), "cv.pdf")
	require.NoError(t, os.WriteFile(cv, []byte("%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\n"), 0o600))
	p.open("/register?as=jobseeker")
	signUp(p, email)
	p.press("Create account")
	p.waitForAddress("/account")
	p.checkPage("account")
	p.leads(chromedp.Click(`//main//button[starts-with(normalize-space(), "Skip the step: Say what you look for") or starts-with(normalize-space(), "Skip")]`))
	require.Contains(t, p.text(), "Skipped")

	p.follow("Documents")
	p.checkPage("my-documents-none")
	p.do(chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{cv}))
	p.press("Upload")
	require.Contains(t, p.text(), "The document is uploaded")
	p.checkPage("my-documents")
	p.leads(chromedp.Click(`(//main//th/a)[1]`))
	p.checkPage("my-document")

	p.open("/jobs?q=nurse")
	p.checkPage("jobs-clinician")
	p.press("Save this search and get e-mail alerts")
	p.checkPage("my-searches")
	p.open("/jobs?q=nurse")
	p.leads(chromedp.Click(`(//main//h3/a)[1]`))
	p.press("Save this job")
	p.checkPage("job-clinician")
	p.follow("Saved")
	p.checkPage("my-jobs")
	p.leads(chromedp.Click(`(//main//h2/a)[1]`))
	p.follow("Apply")
	p.checkPage("apply")
	_ = evaluate[chromedp.Void](p, `document.querySelectorAll("main textarea[required]").forEach(t => { t.value = "12A3456E" })`)
	p.do(chromedp.SendKeys(chromedp.CSS("#coverLetter"), "Six years of critical care."), chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{cv}))
	p.pressFor("Review your application", "Check your application")
	p.checkPage("apply-review")
	p.press("Send application")
	require.Contains(t, p.text(), "Application sent")
	p.checkPage("my-application-sent")
	p.follow("See your application")
	p.checkPage("my-application")
	p.follow("Notifications")
	p.checkPage("my-notifications")
	p.follow("Profile")
	p.field("phone", "1")
	p.press("Save profile")
	p.checkPage("my-profile-problem")
	p.follow("Settings")
	p.checkPage("my-settings")
	p.follow("Applications")
	p.checkPage("my-applications")
	p.leads(chromedp.Click(`(//main//h3/a)[1]`))
	p.do(chromedp.Click(`//summary[normalize-space()="Withdraw your application"]`))
	p.press("Withdraw for good")
	require.Contains(t, p.text(), "Your application is withdrawn")
	p.requireNoErrors("400")
	p.validateSources()
}
