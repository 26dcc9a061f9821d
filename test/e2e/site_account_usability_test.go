package e2e

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// These tests check what users of the site meet in their account. browser.open returns a page with its status and text.
// browser.show and browser.page require the status 200; show returns the page and page its text. browser.submit posts a
// form and returns the page to which it redirects. page.links returns the addresses of the links with a text.

// TestSite_Filters_WayBackAndAlerts checks the filters of a search. They have a heading and a link back to the results.
// The link that clears them keeps the words and the place of the search. The page names the filters that an alert for
// the search would not have.
func TestSite_Filters_WayBackAndAlerts(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		browser := server.browser(t)

		filtered := browser.show("/jobs?q=nurse&where=Leeds&pay=1&posted=7&sort=date")
		require.Contains(t, filtered.text, `<h2 id="filters">Sort and filter</h2>`)
		require.Contains(t, filtered.text, `<div id="results">`)
		require.Equal(t, []string{"#results"}, filtered.links("Back to the results"))
		require.Equal(t, []string{"/jobs?q=nurse&where=Leeds"}, filtered.links("Clear filters"))
		require.Contains(t, filtered.text, "Alerts do not use these filters: Posted, Pay.")

		plain := browser.show("/jobs?q=nurse&where=Leeds")
		require.Empty(t, plain.links("Clear filters"))
		require.NotContains(t, plain.text, "Alerts do not use")
	})
}

// TestSite_Searches_EmptyKnownAndMuted checks three cases of the form for saved searches: it has no terms, the search is
// saved already, and the user has turned off e-mails in the settings.
func TestSite_Searches_EmptyKnownAndMuted(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		const path = "/account/searches"
		const checkedAlerts = `value="yes" checked` // the box that asks for e-mails about new jobs

		me := server.seeker(t)
		browser := server.signedIn(t, me)
		require.Equal(t, []string{path + "#new"}, browser.show("/account").links("Save a search"))
		require.Contains(t, browser.page(path), checkedAlerts, "a new form asks for e-mails")

		// A search without terms is refused, here and in the form for alerts without an account.
		refused := browser.open("POST", path, url.Values{"name": {"Mine"}})
		require.Equal(t, 400, refused.status)
		require.Contains(t, refused.text, "Enter what or where, or choose a contract.")
		require.NotContains(t, refused.text, checkedAlerts, "the box stays as the user has sent it, not checked")
		require.Contains(t, server.browser(t).open("POST", "/job-alerts", url.Values{"email": {newEmail()}}).text, "Enter what or where")

		// The same search is saved once. Sending it again can only turn its e-mails on, and another name makes it another search.
		search := url.Values{"query": {"Nurse"}, "location": {"Leeds"}}
		require.Contains(t, browser.submit(path, search).text, "The search is saved.")
		require.Contains(t, browser.submit(path, search).text, "You have saved this search already.")
		require.Contains(t, browser.submit(path, with(search, "emailAlerts", "yes")).text, "You will get an e-mail")
		require.Equal(t, 1, strings.Count(browser.page(path), "Turn e-mails off"))
		require.Contains(t, browser.submit(path, with(search, "name", "Second")).text, "The search is saved.")

		// The form of the settings has a box for all e-mails, which is sent unchecked here.
		require.NotContains(t, browser.page(path), "are turned off in")
		browser.submit("/account/settings/preferences", url.Values{"jobAlerts": {"yes"}})
		require.Contains(t, browser.page(path), "E-mails about new jobs are turned off in")
	})
}

// TestSite_Settings_WrongPasswordBesideItsForm checks that a wrong password is reported in the
// section that was sent, and that the page after a deletion confirms it.
func TestSite_Settings_WrongPasswordBesideItsForm(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		for path, user := range map[string]*account{"/account/settings": server.seeker(t), "/employer/settings": server.employer(t)} {
			browser := server.signedIn(t, user)

			wrong := url.Values{"confirm": {"yes"}, "email": {newEmail()}, "currentPassword": {"wrong"}}
			for _, section := range []string{"email", "delete"} {
				refused := browser.open("POST", path+"/"+section, wrong)
				require.Equal(t, 400, refused.status)

				// Two sections of the page have a field for the password. The error links to the field of its own section.
				require.Equal(t, []string{"#currentPassword." + section}, refused.links("Your password is not right"))
				require.Contains(t, refused.text, `id="currentPassword.`+section+`" name="currentPassword"`)
				require.NotContains(t, refused.text, `id="currentPassword-error"`)
			}

			unconfirmed := browser.open("POST", path+"/delete", url.Values{})
			require.Equal(t, []string{"#confirm"}, unconfirmed.links("The confirmation must be ticked"))

			deleted := browser.submit(path+"/delete", url.Values{"confirm": {"yes"}})
			require.Contains(t, deleted.text, "Your account is deleted.")
		}
	})
}

// TestSite_Account_LabelsAndInput checks that errors have the labels of their fields, that a
// refused upload keeps the input, and that a document can stop being the default.
func TestSite_Account_LabelsAndInput(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		browser := server.signedIn(t, server.seeker(t))

		// Errors name the labels of the form, and not the members of the API.
		tooLong := strings.Repeat("x", 201)
		profile := browser.open("POST", "/account/profile",
			url.Values{"name": {"Niamh"}, "currentRole": {tooLong}, "preferredLocation": {tooLong}})
		require.Equal(t, 400, profile.status)
		require.Contains(t, profile.text, "Current role must have")
		require.Contains(t, profile.text, "Where you want to work must have")
		require.Contains(t, browser.open("POST", "/account/profile", url.Values{"salaryMin": {"a lot"}}).text, "Lowest pay a year must be")

		// An upload without a file is refused, and the form shows the box as the user has sent it.
		const documents = "/account/documents"
		const checkedDefault = `name="isDefault" value="yes" checked`

		noFile := formFile{}
		require.NotContains(t, browser.postForm(documents, url.Values{"type": {"cv"}}, noFile).text, checkedDefault)

		withBox := browser.postForm(documents, url.Values{"type": {"cv"}, "isDefault": {"yes"}}, noFile)
		require.Contains(t, withBox.text, checkedDefault)

		// A default document can stop being the default.
		added := browser.postForm(documents, url.Values{"type": {"cv"}, "isDefault": {"yes"}}, pdfFile("cv.pdf"))
		page := browser.page(added.requireRedirect(t, documents))
		require.Contains(t, page, "Remove default")

		id := documentID.FindStringSubmatch(page)[1]
		require.Contains(t, browser.page(documents+"/"+id), "Do not select it for new applications")

		changed := browser.submit(documents+"/"+id+"/default", url.Values{"default": {"no"}})
		require.Contains(t, changed.text, "Make default")
		require.NotContains(t, changed.text, `<span class="badge good">Default</span>`)
	})
}

// TestSite_Account_AppliedAndWithdrawn checks that saved jobs show an application, and that the
// form to withdraw says what happens to an interview.
func TestSite_Account_AppliedAndWithdrawn(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss, me := server.employer(t), server.seeker(t)
		job := boss.listing(nil)
		browser := server.signedIn(t, me)

		browser.submit("/jobs/"+job+"/save", url.Values{})
		require.Equal(t, []string{"/jobs/" + job + "/apply"}, browser.show("/account/saved").links("^Apply"))

		id := me.application(job, nil)
		saved := browser.show("/account/saved")
		require.Empty(t, saved.links("^Apply"))
		require.Contains(t, saved.text, `<span class="badge">Applied</span>`)

		// The page of an application has the form to withdraw. The form mentions an interview only if there is one.
		require.NotContains(t, browser.page("/account/applications/"+id), "Your interview is cancelled.")
		server.signedIn(t, boss).submit("/employer/applications/"+id, url.Values{
			"action":      {"schedule"},
			"scheduledAt": {"2097-03-03T10:00"},
			"location":    {"Ward 7"},
			"interviewer": {"Asha Patel"},
		})
		require.Contains(t, browser.page("/account/applications/"+id), "Your interview is cancelled.")
	})
}
