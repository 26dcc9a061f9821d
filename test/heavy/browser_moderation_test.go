package heavy

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestBrowser_Moderation reports a job, takes it down and suspends its employer, with a check
// of every page.
func TestBrowser_Moderation(t *testing.T) {
	server := demoSite(t)
	page := newBrowser(t, server.url, axeCore(t))
	page.sources = map[string]string{}
	page.open("/jobs")
	page.leads(chromedp.Click(`(//main//h3/a)[1]`))
	page.leads(chromedp.Click(`//a[text()="Report this job"]`))
	page.checkPage("report")
	page.do(chromedp.Click(`//input[@value="fees"]`),
		chromedp.SendKeys(chromedp.CSS("#text"), "They ask for a registration fee."))
	page.press("Send report")
	require.Contains(t, page.text(), "Report sent")
	page.checkPage("report-sent")

	page.open("/register")
	page.do(
		chromedp.SendKeys(chromedp.CSS("#name"), "Mo Derator"),
		chromedp.SendKeys(chromedp.CSS("#email"), "mo@example.org"),
		chromedp.SendKeys(chromedp.CSS("#password"), "Corr3ct-horse"),
	)
	page.press("Create account")

	// Only an operator can make a user a moderator.
	server.run("admin", "grant", "mo@example.org")
	page.open("/moderation")
	page.checkPage("moderation")
	page.leads(chromedp.Click(`(//main//h2/a)[1]`))
	page.checkPage("moderation-job")
	page.press("Take the job down")
	require.Contains(t, page.text(), "The job is taken down")
	page.checkPage("moderation-job-taken-down")
	page.leads(chromedp.Click(`//p[@class="lead"]/a`))
	page.checkPage("moderation-organization")
	page.press("Suspend")
	require.Contains(t, page.text(), "Suspended")
	page.open("/moderation/decided")
	page.checkPage("moderation-decided")
	page.validateSources()
}
