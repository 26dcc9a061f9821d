package heavy

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestBrowser_Moderation reports a job, takes it down and suspends its employer, with a check
// of every page.
func TestBrowser_Moderation(t *testing.T) {
	s := demoSite(t)
	p := newBrowser(t, s.url, axeCore(t))
	p.sources = map[string]string{}
	p.open("/jobs")
	p.leads(chromedp.Click(`(//main//h3/a)[1]`))
	p.leads(chromedp.Click(`//a[text()="Report this job"]`))
	p.checkPage("report")
	p.do(chromedp.Click(`//input[@value="fees"]`), chromedp.SendKeys(chromedp.CSS("#text"), "They ask for a registration fee."))
	p.press("Send report")
	require.Contains(t, p.text(), "Report sent")
	p.checkPage("report-sent")

	p.open("/register")
	p.do(chromedp.SendKeys(chromedp.CSS("#name"), "Mo Derator"), chromedp.SendKeys(chromedp.CSS("#email"), "mo@example.org"), chromedp.SendKeys(chromedp.CSS("#password"), "Corr3ct-horse"))
	p.press("Create account")
	s.run("admin", "grant", "mo@example.org")
	p.open("/moderation")
	p.checkPage("moderation")
	p.leads(chromedp.Click(`(//main//h2/a)[1]`))
	p.checkPage("moderation-job")
	p.press("Take the job down")
	require.Contains(t, p.text(), "The job is taken down")
	p.checkPage("moderation-job-taken-down")
	p.leads(chromedp.Click(`//p[@class="lead"]/a`))
	p.checkPage("moderation-organization")
	p.press("Suspend")
	require.Contains(t, p.text(), "Suspended")
	p.open("/moderation/decided")
	p.checkPage("moderation-decided")
	p.validateSources()
}
