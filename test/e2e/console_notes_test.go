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

// maxNoteCharacters is the limit of a note. Browsers send line breaks as CR LF, which count as one character.
const maxNoteCharacters = 2000

// TestConsole_NotesAndRatings checks the notes and ratings that the members of an organization give to an
// application. All members see them. Only the author can delete a note. The applicant never sees notes
// and ratings, neither on pages nor in exports. Each subtest continues with the notes and ratings that the one
// before has left.
func TestConsole_NotesAndRatings(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, applicant := server.employer(t), server.seeker(t)
		id := applicant.application(employer.listing(object{"title": "Porter"}), nil)
		path := "/employer/applications/" + id

		// Two members of the organization: the admin, and a viewer.
		admin, viewer := server.signedIn(t, employer), server.signedIn(t, employer.inviteMember("viewer"))
		writeNote := func(text string) url.Values { return url.Values{"action": {"write-note"}, "note": {text}} }
		deleteNote := func(id string) url.Values { return url.Values{"action": {"delete-note"}, "id": {id}} }
		rate := func(rating string) url.Values { return url.Values{"action": {"rate"}, "rating": {rating}} }

		t.Run("members see all notes as text, newest first", func(t *testing.T) {
			require.Contains(t, admin.show(path).text, "There are no notes yet.")

			first := admin.submit(path, writeNote("Strong\r\n<script>alert(1)</script> references"))
			require.Contains(t, first.text, "The note is saved.")

			longest := strings.Repeat("é", maxNoteCharacters-2) + "\r\nn"
			both := viewer.submit(path, writeNote(longest))
			require.Contains(t, both.text, "The note is saved.")
			require.Contains(t, both.text, "Strong\n&lt;script&gt;")
			require.Less(t, strings.Index(both.text, "éé"), strings.Index(both.text, "Strong"))
		})

		t.Run("note without text, and one that is too long", func(t *testing.T) {
			for _, note := range []string{" ", strings.Repeat("é", maxNoteCharacters+1)} {
				refused := admin.open("POST", path, writeNote(note))
				require.Equal(t, 400, refused.status)
				require.Contains(t, refused.text, `href="#note"`)
				require.Contains(t, refused.text, note, "the input is kept")
			}
		})

		t.Run("only the author can delete a note", func(t *testing.T) {
			// A page has a form to delete each note of its reader, and none for other notes.
			require.Len(t, noteID.FindAllString(viewer.show(path).text, -1), 1, "notes that the viewer can delete")

			noteOfAdmin := noteID.FindStringSubmatch(admin.show(path).text)[1]
			require.Equal(t, 404, viewer.open("POST", path, deleteNote(noteOfAdmin)).status)
			require.Contains(t, admin.submit(path, deleteNote(noteOfAdmin)).text, "The note is deleted.")
			require.NotContains(t, viewer.show(path).text, "Strong")
		})

		t.Run("page shows 50 notes and a link to older ones", func(t *testing.T) {
			const pageSize = 50
			for range pageSize + 1 {
				require.Equal(t, 303, admin.open("POST", path, writeNote("Called again")).status)
			}

			first := admin.show(path)
			require.Equal(t, pageSize, strings.Count(first.text, "Called again"))

			older := admin.show(strings.TrimSuffix(first.links("Show older notes")[0], "#team-notes"))
			require.Equal(t, 1, strings.Count(older.text, "Called again"))
			require.Contains(t, older.text, "éé")
			require.Empty(t, older.links("Show older notes"))
			require.Equal(t, 400, admin.open("GET", path+"?notes=nonsense", nil).status)
		})

		t.Run("each member has one rating from 1 to 5, and pages show the mean", func(t *testing.T) {
			require.Contains(t, admin.submit(path, rate("5")).text, "5 of 5 (1 rating)")
			require.Contains(t, viewer.submit(path, rate("2")).text, "3.5 of 5 (2 ratings)")
			require.Contains(t, admin.submit(path, rate("3")).text, `value="3" selected`, "it replaces the rating 5")

			for _, invalid := range []string{"", "0", "6", "x"} {
				require.Equal(t, 400, admin.open("POST", path, rate(invalid)).status)
			}

			for _, list := range []string{"/employer/applications", "/employer/applications/board"} {
				require.Contains(t, viewer.show(list).text, "2.5 of 5 (2 ratings)")
			}
		})

		t.Run("applicant sees none of it in the API, on pages and in exports", func(t *testing.T) {
			browser := server.signedIn(t, applicant)
			shown := fmt.Sprint(applicant.get("/api/jobseekers/applications/" + id).ok(200).body)
			shown += browser.show("/account/applications/" + id).text
			shown += browser.show("/account/applications").text
			shown += browser.open("GET", "/account/export/applications", nil).text
			shown += browser.open("GET", "/account/export/profile", nil).text
			require.Contains(t, shown, "Porter")

			for _, secret := range []string{"Called again", "2.5", "of 5"} {
				require.NotContains(t, shown, secret)
			}
		})

		t.Run("rating is removed", func(t *testing.T) {
			require.Contains(t, viewer.submit(path, url.Values{"action": {"remove-rating"}}).text, "3 of 5 (1 rating)")
		})

		t.Run("withdrawn application gets no notes and ratings", func(t *testing.T) {
			applicant.delete("/api/jobseekers/applications/" + id).ok(200)
			require.Equal(t, 409, admin.open("POST", path, writeNote("Sad")).status)
			require.Equal(t, 409, admin.open("POST", path, rate("5")).status)
			require.NotContains(t, admin.show(path).text, "Save note")
		})
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
