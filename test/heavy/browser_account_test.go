package heavy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestBrowser_Account does what a clinician does, from the registration to the withdrawal of
// an application: with a check of every page, and again without script.
func TestBrowser_Account(t *testing.T) {
	s := demoSite(t)
	axe := axeCore(t)
	t.Run("every page checked", func(t *testing.T) { visitAccount(t, newBrowser(t, s.url, axe), "niamh@example.org") })
	t.Run("without script", func(t *testing.T) {
		p := newBrowser(t, s.url, "")
		_, err := chromedp.Call(p.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		require.NoError(t, err)
		visitAccount(t, p, "asha@example.org")
	})
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
	p.press("Review your application")
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
