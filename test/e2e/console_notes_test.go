package e2e

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// noteID matches the field of the form that deletes a note.
var noteID = regexp.MustCompile(`name="id" value="([0-9a-f-]{36})"`)

// TestConsole_NotesAndRatings checks that the team shares notes and ratings of an application,
// each deletable by its author only, and that the applicant never sees them, neither on pages
// nor in exports.
func TestConsole_NotesAndRatings(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss, jo := server.employer(t), server.seeker(t)
		id := jo.application(boss.listing(object{"title": "Porter"}), nil)
		path := "/employer/applications/" + id
		browser, viewer := server.signedIn(t, boss), server.signedIn(t, boss.inviteMember("viewer"))
		require.Contains(t, browser.show(path).text, "There are no notes yet.")

		require.Contains(t,
			browser.submit(path, url.Values{"action": {"write-note"}, "note": {"Strong\r\n<script>alert(1)</script> references"}}).text,
			"The note is saved.")

		// 2,000 characters: browsers send line breaks as CR LF, which count as one.
		page := viewer.submit(path, url.Values{"action": {"write-note"}, "note": {strings.Repeat("é", 1998) + "\r\nn"}})
		require.Contains(t, page.text, "The note is saved.")
		require.Contains(t, page.text, "Strong\n&lt;script&gt;")
		require.Less(t, strings.Index(page.text, "éé"), strings.Index(page.text, "Strong"), "newest first")
		require.Len(t, noteID.FindAllString(page.text, -1), 1, "one's own note can be deleted")

		noteOfBoss := noteID.FindStringSubmatch(browser.show(path).text)[1]
		require.Equal(t, 404, viewer.open("POST", path, url.Values{"action": {"delete-note"}, "id": {noteOfBoss}}).status)

		for _, note := range []string{" ", strings.Repeat("é", 2001)} {
			refused := browser.open("POST", path, url.Values{"action": {"write-note"}, "note": {note}})
			require.Equal(t, 400, refused.status)
			require.Contains(t, refused.text, `href="#note"`)
			require.Contains(t, refused.text, note, "the input is kept")
		}

		require.Contains(t, browser.submit(path, url.Values{"action": {"delete-note"}, "id": {noteOfBoss}}).text, "The note is deleted.")
		require.NotContains(t, viewer.show(path).text, "Strong")

		// A page shows 50 notes.
		for range 51 {
			require.Equal(t, 303, browser.open("POST", path, url.Values{"action": {"write-note"}, "note": {"Called again"}}).status)
		}

		first := browser.show(path)
		require.Equal(t, 50, strings.Count(first.text, "Called again"))

		older := browser.show(strings.TrimSuffix(first.links("Show older notes")[0], "#team-notes"))
		require.Equal(t, 1, strings.Count(older.text, "Called again"))
		require.Contains(t, older.text, "éé")
		require.Empty(t, older.links("Show older notes"))
		require.Equal(t, 400, browser.open("GET", path+"?notes=nonsense", nil).status)

		require.Contains(t, browser.submit(path, url.Values{"action": {"rate"}, "rating": {"5"}}).text, "5 of 5 (1 rating)")
		require.Contains(t, viewer.submit(path, url.Values{"action": {"rate"}, "rating": {"2"}}).text, "3.5 of 5 (2 ratings)")
		require.Contains(t, browser.submit(path, url.Values{"action": {"rate"}, "rating": {"3"}}).text, `value="3" selected`)

		for _, rating := range []string{"", "0", "6", "x"} {
			require.Equal(t, 400, browser.open("POST", path, url.Values{"action": {"rate"}, "rating": {rating}}).status)
		}

		for _, list := range []string{"/employer/applications", "/employer/applications/board"} {
			require.Contains(t, viewer.show(list).text, "2.5 of 5 (2 ratings)")
		}

		// Everything that the applicant can see of the application.
		applicant := server.signedIn(t, jo)
		shown := fmt.Sprint(jo.get("/api/jobseekers/applications/" + id).ok(200).body)
		shown += applicant.show("/account/applications/" + id).text
		shown += applicant.show("/account/applications").text
		shown += applicant.open("GET", "/account/export/applications", nil).text
		shown += applicant.open("GET", "/account/export/profile", nil).text
		require.Contains(t, shown, "Porter")

		for _, secret := range []string{"Called again", "2.5", "of 5"} {
			require.NotContains(t, shown, secret)
		}

		require.Contains(t, viewer.submit(path, url.Values{"action": {"remove-rating"}}).text, "3 of 5 (1 rating)")
		jo.delete("/api/jobseekers/applications/" + id).ok(200)
		require.Equal(t, 409, browser.open("POST", path, url.Values{"action": {"write-note"}, "note": {"Sad"}}).status)
		require.Equal(t, 409, browser.open("POST", path, url.Values{"action": {"rate"}, "rating": {"5"}}).status)
		require.NotContains(t, browser.show(path).text, "Save note")
	})
}

// TestConsole_NotesAndRatings_OfOthers_AreForbidden checks every action on notes and ratings as
// every kind of user without the permission, and by forged requests.
func TestConsole_NotesAndRatings_OfOthers_AreForbidden(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss, jo := server.employer(t), server.seeker(t)
		path := "/employer/applications/" + jo.application(boss.listing(nil), nil)
		author := server.signedIn(t, boss)
		noted := author.submit(path, url.Values{"action": {"write-note"}, "note": {"Private"}})
		note := noteID.FindStringSubmatch(noted.text)[1]

		author.submit(path, url.Values{"action": {"rate"}, "rating": {"4"}})

		seeker := server.signedIn(t, jo)
		withoutPermission := server.signedIn(t, server.addMember(t, boss, object{
			"jobs":         object{"create": true, "update": true},
			"applications": object{"view": false, "update": false},
		}))
		otherOrganization := server.signedIn(t, server.employer(t))
		crossSite := server.signedIn(t, boss)
		crossSite.Site = "cross-site"

		// Without the headers of new browsers, a form needs the CSRF token.
		withoutToken := server.signedIn(t, boss)
		withoutToken.Site = ""

		withoutToken.Origin = ""
		for _, values := range []url.Values{
			{"action": {"write-note"}, "note": {"x"}},
			{"action": {"delete-note"}, "id": {note}},
			{"action": {"rate"}, "rating": {"1"}},
			{"action": {"remove-rating"}},
		} {
			for name, test := range map[string]struct {
				browser *browser
				status  int
			}{
				"clinician":          {browser: seeker, status: 403},
				"without permission": {browser: withoutPermission, status: 403},
				"other organization": {browser: otherOrganization, status: 404},
				"cross-site":         {browser: crossSite, status: 403},
				"no CSRF token":      {browser: withoutToken, status: 403},
				"guest":              {browser: server.browser(t), status: 303},
			} {
				require.Equal(t, test.status, test.browser.open("POST", path, values).status, "%s: %v", name, values)
			}
		}

		page := author.show(path)
		require.Contains(t, page.text, "Private")
		require.Contains(t, page.text, "4 of 5 (1 rating)")
	})
}
