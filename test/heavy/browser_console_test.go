package heavy

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// demoPassword returns the password of a demo account.
func (s *testServer) demoPassword(email string) string {
	s.t.Helper()

	kept, err := os.ReadFile(filepath.Join(s.dir, "data", "demo.txt"))
	require.NoError(s.t, err)

	found := regexp.MustCompile(regexp.QuoteMeta(email) + `\s+(\S+)`).FindSubmatch(kept)
	require.NotNil(s.t, found, "%s", kept)

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

	t.Run("without script", func(t *testing.T) { useConsole(t, server, newBrowserWithoutScript(t, server.url)) })

	t.Run("documents of applicants", func(t *testing.T) { readDocuments(t, server, axe) })
	t.Run("times in the zone of the browser", func(t *testing.T) { readTimes(t, server) })

	t.Run("suggestions and progress", func(t *testing.T) {
		page := newBrowser(t, server.url, "")
		signInEmployer(server, page)
		page.open("/employer/jobs/new")

		// The script suggests places while the user types.
		page.do(chromedp.SendKeys(chromedp.CSS("#location"), "Lee"),
			chromedp.WaitReady(`#location-suggestions option[value^="Leeds"]`))
		page.open("/employer/exports")
		page.press("Start the export")

		// The page of the export updates itself: the link appears without a reload.
		page.do(chromedp.WaitVisible(`//a[normalize-space()="Download"]`))
		page.requireNoErrors()
	})
}

// signInEmployer signs in as the employer of the demo data.
func signInEmployer(server *testServer, page *browser) {
	const email = "employer@locum.example"

	page.open("/employer")
	page.leads(chromedp.Click(`//main//a[normalize-space()="Sign in"]`))
	page.field("email", email)
	page.field("password", server.demoPassword(email))
	page.press("Sign in")
	page.waitForAddress("/employer")
}

// useConsole opens every page for employers and uses its forms.
func useConsole(t *testing.T, server *testServer, page *browser) {
	t.Helper()

	page.sources = map[string]string{}
	page.open("/employer")
	page.checkPage("employers")
	signInEmployer(server, page)
	require.Contains(t, page.text(), "Next interviews")
	page.checkPage("console-overview")
	postJob(t, page)
	handleApplications(t, page)
	page.follow("Interviews")
	page.checkPage("console-interviews")
	page.follow("Analytics")
	page.checkPage("console-analytics")
	page.follow("Exports")
	page.checkPage("console-exports")
	page.press("Start the export")
	page.waitForText("Download")
	page.checkPage("console-export")
	page.follow("Organization")
	page.field("website", "ftp://nowhere")
	page.press("Save")
	require.Contains(t, page.text(), "There is a problem")
	page.checkPage("console-organization-refused")
	page.follow("Settings")
	page.checkPage("console-settings")
	inviteColleague(t, server, page)

	// The statuses of the pages above that refuse a request.
	page.requireNoErrors("400", "403", "404")
	page.validateSources()
}

// postJob corrects, previews and publishes a job, and closes several jobs at once.
func postJob(t *testing.T, page *browser) {
	t.Helper()
	page.follow("Jobs")
	page.checkPage("console-jobs")
	page.follow("Post a job")

	// A job with a salary that is no number is refused, and can be corrected.
	page.field("title", "Night Sister, Paediatrics")
	page.field("salary.min", "a lot")
	page.field("description", "Nights on a 12-bed ward.\n\n## You will\n\n- lead the shift\n- teach")
	page.press("Preview")
	require.Contains(t, page.text(), "Lowest pay must be a number")
	page.checkPage("console-posting-refused")
	page.field("salary.min", "41,500")
	page.field("questions.0.text", "Your NMC PIN?")
	page.press("Preview")
	require.Contains(t, page.text(), "Nothing is saved yet")
	page.checkPage("console-preview")

	// The preview leads back to the form, and then to the publication.
	page.press("Go back and edit")
	page.field("location", "Leeds")
	page.press("Preview")
	page.press("Publish")
	require.Contains(t, page.text(), "The job is published.")
	page.checkPage("console-job")
	page.follow("Edit")
	page.checkPage("console-edit")

	// Close the first job of the list. Without a selection, the buttons of the list are refused.
	page.open("/employer/jobs?status=active")
	page.do(chromedp.Click(`(//tbody//input[@type="checkbox"])[1]`))
	page.press("Close")
	require.Contains(t, page.text(), "The jobs are closed.")
	page.press("Archive")
	require.Contains(t, page.text(), "Select at least one job")
	page.checkPage("console-jobs-refused")
}

// handleApplications moves an application to review, schedules an interview and rates the
// applicant.
func handleApplications(t *testing.T, page *browser) {
	t.Helper()
	page.follow("Applications")
	page.checkPage("console-applications")
	page.follow("Show them on a board")
	page.checkPage("console-board")
	page.leads(chromedp.Click(`(//div[@class="board"]/div[1]//h3/a)[1]`))
	page.checkPage("console-application")

	// The decision has a drafted message, which is sent with it.
	page.follow("Move to review")
	page.checkPage("console-decision")
	page.press("Move to review")
	require.Contains(t, page.text(), "the message is on its way")

	// Schedule an interview, in a part of the page that is collapsed at first.
	page.do(chromedp.Click(`//summary[normalize-space()="Schedule an interview"]`))
	page.field("location", "Ward 7")
	page.field("interviewer", "Asha Patel")
	page.do(chromedp.SetAttributeValue(chromedp.CSS("#scheduledAt"), "value", "2099-03-03T10:00"))
	page.press("Schedule")
	require.Contains(t, page.text(), "3 Mar 2099, 10:00 UTC")

	// Write a note and give a rating, which the board shows.
	page.field("note", "Strong references.\nPrefers nights.")
	page.press("Save note")
	require.Contains(t, page.text(), "The note is saved.")
	page.do(chromedp.SetAttributeValue(chromedp.CSS(`#rating option[value="4"]`), "selected", "selected"))
	page.press("Save rating")
	require.Contains(t, page.text(), "4 of 5 (1 rating)")
	page.checkPage("console-application-interview")
	page.open("/employer/applications/board")
	require.Contains(t, page.text(), "Rating: 4 of 5")
	page.checkPage("console-board-rated")
}

// inviteColleague invites a member, who accepts with a new account. The role viewer may not post
// jobs.
func inviteColleague(t *testing.T, server *testServer, page *browser) {
	t.Helper()

	email := fmt.Sprintf("colleague-%d@example.org", time.Now().UnixNano())

	page.follow("Team")
	page.checkPage("console-team")
	page.follow("Audit log")
	page.checkPage("console-audit")
	page.follow("Team")
	page.field("name", "Tom Okafor")
	page.field("email", email)
	page.check("role", "viewer")
	page.press("Send the invitation")
	require.Contains(t, page.text(), "The invitation is on its way.")
	page.leads(chromedp.Click(`(//main//th[@scope="row"]/a[normalize-space()="Tom Okafor"])[last()]`))
	page.checkPage("console-member")

	// The invitation is for another account than the signed-in one. The invited user accepts it with a new account.
	token := server.invitationToken(email)
	page.open("/accept-invitation?token=" + token)
	require.Contains(t, page.text(), "This invitation is for another account")
	page.checkPage("invitation-other")
	page.leads(chromedp.Click(`//header//button[normalize-space()="Sign out"]`))
	page.open("/accept-invitation?token=" + token)
	page.checkPage("invitation")
	page.field("password", "Night-shift-1")
	page.press("Create account and join")
	require.Contains(t, page.text(), "You have joined the team.")
	page.checkPage("console-viewer")
	page.open("/employer/jobs/new")
	require.Contains(t, page.text(), "You cannot open this page")
	page.requireNoErrors("403")
	page.checkPage("console-refused")
}
