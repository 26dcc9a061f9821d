package e2e

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConsole_Interviews_NextFirst checks that the page lists interviews by their date, and not
// by when they were arranged.
func TestConsole_Interviews_NextFirst(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		browser := server.signedIn(t, boss)

		job := boss.listing(nil)
		for _, interview := range []struct{ at, place string }{ // in the order in which they are arranged
			{"2098-03-03T10:00", "Ward second"},
			{"2097-03-03T10:00", "Ward first"},
			{"2099-03-03T10:00", "Ward third"},
		} {
			id := server.seeker(t).application(job, nil)
			browser.submit("/employer/applications/"+id, url.Values{
				"action":      {"schedule"},
				"scheduledAt": {interview.at},
				"location":    {interview.place},
				"interviewer": {"Asha Patel"},
			})
		}

		text := browser.show("/employer/interviews").text
		first, second, third := strings.Index(text, "Ward first"), strings.Index(text, "Ward second"), strings.Index(text, "Ward third")
		require.Positive(t, first, "the page does not show the first interview")
		require.Less(t, first, second, "the first interview is not before the second")
		require.Less(t, second, third, "the second interview is not before the third")

		// An unknown state, and a page after the last one.
		require.Equal(t, 400, browser.open("GET", "/employer/interviews?status=eternal", nil).status)
		require.NotContains(t, browser.show("/employer/interviews?page=9").text, "Ward")
	})
}

// TestSite_JobPage_SharesAndSaves checks the page of a job: guests can share the job and sign in to save it, and jobseekers
// can save it. The page lists similar jobs without the explanations that results of a search have.
func TestSite_JobPage_SharesAndSaves(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		job := boss.listing(object{"title": "Staff Nurse, Band 5"})
		boss.listing(object{"title": "Staff Nurse"})

		browser := server.browser(t)
		page := browser.show("/jobs/" + job)
		require.Equal(t, []string{"/sign-in?next=/jobs/" + job}, page.links("Sign in to save this job"))
		require.Contains(t, page.text, `href="mailto:?subject=Staff%20Nurse%2c%20Band%205,%20St%20Brigid`)
		require.Contains(t, page.text, "Similar jobs")
		require.NotContains(t, page.text, "Why it is not an exact match")
		require.Contains(t, server.signedIn(t, server.seeker(t)).show("/jobs/"+job).text, "Save this job</button>")
	})
}

// TestSite_Account_ExplainsItself checks three pages of the account that explain a state: the page of an unknown
// application, the settings of the sign-in, and the review of an application without documents.
func TestSite_Account_ExplainsItself(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		browser := server.signedIn(t, server.seeker(t))
		missing := browser.open("GET", "/account/applications/nonsense", nil)
		require.Equal(t, 404, missing.status)
		require.Contains(t, missing.text, "<h1>Page not found</h1>")

		settings := browser.show("/account/settings").text
		require.Contains(t, settings, "Set up two-step sign-in")
		require.Contains(t, settings, `<span class="badge">Off</span>`)
		require.Contains(t, browser.show("/account/documents").text, `name="isDefault" value="yes" checked`)

		job := server.employer(t).listing(nil)
		review := browser.open("POST", "/jobs/"+job+"/apply", url.Values{"step": {"review"}})
		require.Equal(t, 200, review.status)
		require.Contains(t, review.text, "You are not sending a CV or other documents.")
	})
}

// TestSite_Apply_GuestSignIn checks that the sign-in page tells a guest what it is for.
func TestSite_Apply_GuestSignIn(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		job := server.employer(t).listing(nil)
		browser := server.browser(t)
		require.Contains(t, browser.show("/sign-in?next=/jobs/"+job+"/apply").text, "Sign in to apply for this job.")
		require.NotContains(t, browser.show("/sign-in").text, "Sign in to apply")
	})
}

// TestMails_ConfirmAddress_TokenComesLast checks the order of the e-mail that confirms an address. The link is first,
// because every reader needs it. The section for developers is after it, because only programs use its token.
func TestMails_ConfirmAddress_TokenComesLast(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		seeker := server.seeker(t)
		message := server.waitForMail(t, seeker.email, "/verify-email?token=")

		link := strings.Index(message, "/verify-email?token=")
		hint := strings.Index(message, "Only for developers")
		require.Positive(t, hint, "the e-mail has no section for developers")
		require.Less(t, link, hint, "the section for developers is before the link")
	})
}
