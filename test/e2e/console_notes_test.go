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

// TestConsole_NotesAndRatings checks the notes and ratings that the members of an organization give to an
// application. All members see them. Only the author can delete a note. The applicant never sees notes
// and ratings, neither on pages nor in exports.
func TestConsole_NotesAndRatings(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss, jo := server.employer(t), server.seeker(t)
		id := jo.application(boss.listing(object{"title": "Porter"}), nil)
		path := "/employer/applications/" + id

		// Two members of the organization: the boss, and a viewer.
		browser, viewer := server.signedIn(t, boss), server.signedIn(t, boss.inviteMember("viewer"))
		writeNote := func(text string) url.Values { return url.Values{"action": {"write-note"}, "note": {text}} }
		rate := func(rating string) url.Values { return url.Values{"action": {"rate"}, "rating": {rating}} }

		// Both members write a note.
		require.Contains(t, browser.show(path).text, "There are no notes yet.")

		require.Contains(t,
			browser.submit(path, writeNote("Strong\r\n<script>alert(1)</script> references")).text,
			"The note is saved.")

		// The longest note. Browsers send line breaks as CR LF, which count as one character.
		const maxCharacters = 2000
		longest := strings.Repeat("é", maxCharacters-2) + "\r\nn"
		page := viewer.submit(path, writeNote(longest))
		require.Contains(t, page.text, "The note is saved.")
		require.Contains(t, page.text, "Strong\n&lt;script&gt;")
		require.Less(t, strings.Index(page.text, "éé"), strings.Index(page.text, "Strong"), "newest first")

		// A page has a form to delete each note of its reader, and none for other notes.
		require.Len(t, noteID.FindAllString(page.text, -1), 1, "notes that the viewer can delete")

		noteOfBoss := noteID.FindStringSubmatch(browser.show(path).text)[1]
		require.Equal(t, 404, viewer.open("POST", path, url.Values{"action": {"delete-note"}, "id": {noteOfBoss}}).status)

		// A note without text, and one that is too long.
		for _, note := range []string{" ", strings.Repeat("é", maxCharacters+1)} {
			refused := browser.open("POST", path, writeNote(note))
			require.Equal(t, 400, refused.status)
			require.Contains(t, refused.text, `href="#note"`)
			require.Contains(t, refused.text, note, "the input is kept")
		}

		require.Contains(t,
			browser.submit(path, url.Values{"action": {"delete-note"}, "id": {noteOfBoss}}).text,
			"The note is deleted.")
		require.NotContains(t, viewer.show(path).text, "Strong")

		// A page shows 50 notes, and has a link to the page with older notes.
		const pageSize = 50
		for range pageSize + 1 {
			require.Equal(t, 303, browser.open("POST", path, writeNote("Called again")).status)
		}

		first := browser.show(path)
		require.Equal(t, pageSize, strings.Count(first.text, "Called again"))

		older := browser.show(strings.TrimSuffix(first.links("Show older notes")[0], "#team-notes"))
		require.Equal(t, 1, strings.Count(older.text, "Called again"))
		require.Contains(t, older.text, "éé")
		require.Empty(t, older.links("Show older notes"))
		require.Equal(t, 400, browser.open("GET", path+"?notes=nonsense", nil).status)

		// Each member has one rating, from 1 to 5, and pages show the mean. A second one replaces the first.
		require.Contains(t, browser.submit(path, rate("5")).text, "5 of 5 (1 rating)")
		require.Contains(t, viewer.submit(path, rate("2")).text, "3.5 of 5 (2 ratings)")
		require.Contains(t, browser.submit(path, rate("3")).text, `value="3" selected`)

		for _, invalid := range []string{"", "0", "6", "x"} {
			require.Equal(t, 400, browser.open("POST", path, rate(invalid)).status)
		}

		for _, list := range []string{"/employer/applications", "/employer/applications/board"} {
			require.Contains(t, viewer.show(list).text, "2.5 of 5 (2 ratings)")
		}

		// The applicant sees none of it: neither in the API, nor on pages, nor in exports.
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

		// A withdrawn application cannot get notes and ratings.
		jo.delete("/api/jobseekers/applications/" + id).ok(200)
		require.Equal(t, 409, browser.open("POST", path, writeNote("Sad")).status)
		require.Equal(t, 409, browser.open("POST", path, rate("5")).status)
		require.NotContains(t, browser.show(path).text, "Save note")
	})
}

// TestConsole_NotesAndRatings_OfOthers_AreForbidden checks every action on notes and ratings with each kind
// of user who lacks the permission, and with requests that another site forges.
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

		// A form of another site, as the header Sec-Fetch-Site says.
		crossSite := server.signedIn(t, boss)
		crossSite.Site = "cross-site"

		// A form of an old browser, which sends neither Sec-Fetch-Site nor Origin, needs the CSRF token.
		withoutToken := server.signedIn(t, boss)
		withoutToken.Site, withoutToken.Origin = "", ""

		for _, values := range []url.Values{
			{"action": {"write-note"}, "note": {"x"}},
			{"action": {"delete-note"}, "id": {note}},
			{"action": {"rate"}, "rating": {"1"}},
			{"action": {"remove-rating"}},
		} {
			for name, test := range map[string]struct {
				browser    *browser
				wantStatus int
			}{
				"clinician":          {browser: seeker, wantStatus: 403},
				"without permission": {browser: withoutPermission, wantStatus: 403},
				"other organization": {browser: otherOrganization, wantStatus: 404},
				"cross-site":         {browser: crossSite, wantStatus: 403},
				"no CSRF token":      {browser: withoutToken, wantStatus: 403},
				"guest":              {browser: server.browser(t), wantStatus: 303},
			} {
				require.Equal(t, test.wantStatus, test.browser.open("POST", path, values).status, "%s: %v", name, values)
			}
		}

		// Nothing was changed.
		page := author.show(path)
		require.Contains(t, page.text, "Private")
		require.Contains(t, page.text, "4 of 5 (1 rating)")
	})
}
