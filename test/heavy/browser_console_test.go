package heavy

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// demoPassword returns the password of a demo account.
func (s *testServer) demoPassword(email string) string {
	s.t.Helper()
	output, err := os.ReadFile(filepath.Join(s.dir, "data", "demo.txt"))
	require.NoError(s.t, err)
	found := regexp.MustCompile(regexp.QuoteMeta(email) + `\s+(\S+)`).FindSubmatch(output)
	require.NotNil(s.t, found, "%s", output)
	return string(found[1])
}

// invitationToken waits for an invitation to the address and returns its token.
func (s *testServer) invitationToken(email string) (token string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		files, _ := filepath.Glob(filepath.Join(s.dir, "data", "mail", "*.eml"))
		for _, f := range files {
			raw, _ := os.ReadFile(f)
			if text := string(raw); strings.Contains(text, email) {
				token = regexp.MustCompile(`(?m)^loc_mt_\w+`).FindString(text)
			}
		}
		return token != ""
	}, 20*time.Second, 50*time.Millisecond)
	return token
}

// TestBrowser_Console does what employers do, in a real browser: with a check of every page,
// and again without script.
func TestBrowser_Console(t *testing.T) {
	server := demoSite(t)
	axe := axeCore(t)
	t.Run("every page checked", func(t *testing.T) { useConsole(t, server, newBrowser(t, server.url, axe)) })
	t.Run("without script", func(t *testing.T) {
		browser := newBrowser(t, server.url, "")
		_, err := chromedp.Call(browser.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		require.NoError(t, err)
		useConsole(t, server, browser)
	})
	t.Run("documents of applicants", func(t *testing.T) { readDocuments(t, s, axe) })
	t.Run("times in the zone of the browser", func(t *testing.T) { readTimes(t, s) })
	t.Run("suggestions and progress", func(t *testing.T) {
		browser := newBrowser(t, server.url, "")
		signInEmployer(server, browser)
		browser.open("/employer/jobs/new")
		browser.do(chromedp.SendKeys(chromedp.CSS("#location"), "Lee"), chromedp.WaitReady(`#location-suggestions option[value^="Leeds"]`))
		browser.open("/employer/exports")
		browser.press("Start the export")
		browser.do(chromedp.WaitVisible(`//a[normalize-space()="Download"]`))
		browser.requireNoErrors()
	})
}

func signInEmployer(server *testServer, p *browser) {
	const email = "employer@locum.example"
	p.open("/employer")
	p.leads(chromedp.Click(`//main//a[normalize-space()="Sign in"]`))
	p.field("email", email)
	p.field("password", server.demoPassword(email))
	p.press("Sign in")
	p.waitForAddress("/employer")
}

func useConsole(t *testing.T, server *testServer, p *browser) {
	t.Helper()
	p.sources = map[string]string{}
	p.open("/employer")
	p.checkPage("employers")
	signInEmployer(server, p)
	require.Contains(t, p.text(), "Next interviews")
	p.checkPage("console-overview")
	postJob(t, p)
	handleApplications(t, p)
	p.follow("Interviews")
	p.checkPage("console-interviews")
	p.follow("Analytics")
	p.checkPage("console-analytics")
	p.follow("Exports")
	p.checkPage("console-exports")
	p.press("Start the export")
	p.waitForText("Download")
	p.checkPage("console-export")
	p.follow("Organization")
	p.field("website", "ftp://nowhere")
	p.press("Save")
	require.Contains(t, p.text(), "There is a problem")
	p.checkPage("console-organization-refused")
	inviteColleague(t, server, p)
	p.requireNoErrors("400", "403", "404")
	p.validateSources()
}

func postJob(t *testing.T, p *browser) {
	t.Helper()
	p.follow("Jobs")
	p.checkPage("console-jobs")
	p.follow("Post a job")
	p.field("title", "Night Sister, Paediatrics")
	p.field("salary.min", "a lot")
	p.field("description", "Nights on a 12-bed ward.\n\n## You will\n\n- lead the shift\n- teach")
	p.press("Preview")
	require.Contains(t, p.text(), "Lowest pay must be a number")
	p.checkPage("console-posting-refused")
	p.field("salary.min", "41,500")
	p.field("questions.0.text", "Your NMC PIN?")
	p.press("Preview")
	require.Contains(t, p.text(), "Nothing is saved yet")
	p.checkPage("console-preview")
	p.press("Go back and edit")
	p.field("location", "Leeds")
	p.press("Preview")
	p.press("Publish")
	require.Contains(t, p.text(), "The job is published.")
	p.checkPage("console-job")
	p.follow("Edit")
	p.checkPage("console-edit")
	p.open("/employer/jobs?status=active")
	p.do(chromedp.Click(`(//tbody//input[@type="checkbox"])[1]`))
	p.press("Close")
	require.Contains(t, p.text(), "The jobs are closed.")
	p.press("Archive")
	require.Contains(t, p.text(), "Select at least one job")
	p.checkPage("console-jobs-refused")
}

func handleApplications(t *testing.T, p *browser) {
	t.Helper()
	p.follow("Applications")
	p.checkPage("console-applications")
	p.follow("Show them on a board")
	p.checkPage("console-board")
	p.leads(chromedp.Click(`(//div[@class="board"]/div[1]//h3/a)[1]`))
	p.checkPage("console-application")
	p.follow("Move to review")
	p.checkPage("console-decision")
	p.press("Move to review")
	require.Contains(t, p.text(), "the message is on its way")
	p.do(chromedp.Click(`//summary[normalize-space()="Schedule an interview"]`))
	p.field("location", "Ward 7")
	p.field("interviewer", "Asha Patel")
	p.do(chromedp.SetAttributeValue(chromedp.CSS("#scheduledAt"), "value", "2099-03-03T10:00"))
	p.press("Schedule")
	require.Contains(t, p.text(), "3 Mar 2099, 10:00 UTC")
	p.field("note", "Strong references.\nPrefers nights.")
	p.press("Save note")
	require.Contains(t, p.text(), "The note is saved.")
	p.do(chromedp.SetAttributeValue(chromedp.CSS(`#rating option[value="4"]`), "selected", "selected"))
	p.press("Save rating")
	require.Contains(t, p.text(), "4 of 5 (1 rating)")
	p.checkPage("console-application-interview")
	p.open("/employer/applications/board")
	require.Contains(t, p.text(), "Rating: 4 of 5")
	p.checkPage("console-board-rated")
}

func inviteColleague(t *testing.T, server *testServer, p *browser) {
	t.Helper()
	email := fmt.Sprintf("colleague-%d@example.org", time.Now().UnixNano())
	p.follow("Team")
	p.checkPage("console-team")
	p.field("name", "Tom Okafor")
	p.field("email", email)
	p.check("role", "viewer")
	p.press("Send the invitation")
	require.Contains(t, p.text(), "The invitation is on its way.")
	p.leads(chromedp.Click(`(//main//th[@scope="row"]/a[normalize-space()="Tom Okafor"])[last()]`))
	p.checkPage("console-member")
	token := server.invitationToken(email)
	p.open("/accept-invitation?token=" + token)
	require.Contains(t, p.text(), "This invitation is for another account")
	p.checkPage("invitation-other")
	p.leads(chromedp.Click(`//header//button[normalize-space()="Sign out"]`))
	p.open("/accept-invitation?token=" + token)
	p.checkPage("invitation")
	p.field("password", "Night-shift-1")
	p.press("Create account and join")
	require.Contains(t, p.text(), "You have joined the team.")
	p.checkPage("console-viewer")
	p.open("/employer/jobs/new")
	require.Contains(t, p.text(), "You cannot open this page")
	p.requireNoErrors("403")
	p.checkPage("console-refused")
}
