package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// saveSearch saves a search and returns its id.
func (a *account) saveSearch(search object) string {
	a.t.Helper()

	body := merge(search, object{"intent": "save-search"})

	return a.post("/api/jobseekers/search", body).ok(200).text("data.savedSearches.0.id")
}

// TestJobseekerSavedSearches checks the intents of POST /api/jobseekers/search: saving
// searches, at most 50 for a user, changing the preferences of searches, and deleting only
// one's own searches.
func TestJobseekerSavedSearches(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		seeker, other := server.seeker(t), server.seeker(t)
		theirs := other.saveSearch(object{"query": "porter"})

		t.Run("POST /api/jobseekers/search save-search", func(t *testing.T) {
			resp := seeker.post("/api/jobseekers/search", object{
				"intent":       "save-search",
				"name":         "ICU",
				"query":        "icu nurse",
				"location":     "Leeds",
				"contractType": "permanent",
				"emailAlerts":  true,
			}).
				ok(200)
			require.Equal(t, "save-search", resp.text("data.intent"))
			require.NotEmpty(t, resp.text("message"))
			require.Len(t, resp.list("data.savedSearches"), 1)

			for field, want := range map[string]any{
				"name":         "ICU",
				"query":        "icu nurse",
				"location":     "Leeds",
				"contractType": "permanent",
				"emailAlerts":  true,
			} {
				require.Equal(t, want, resp.at("data.savedSearches.0."+field), field)
			}

			resp = seeker.post("/api/jobseekers/search", object{"intent": "save-search", "query": "midwife", "location": "York"}).ok(200)
			require.Equal(t, "midwife, York", resp.text("data.savedSearches.0.name"), "a search without a name is named after its terms")
			require.Equal(t, false, resp.at("data.savedSearches.0.emailAlerts"))
			require.Equal(t, "ICU", resp.text("data.savedSearches.1.name"))

			for field, body := range map[string]object{
				// A search without any criterion would match every job.
				"query":        {"name": "everything"},
				"name":         {"query": "x", "name": strings.Repeat("é", 201)},
				"location":     {"location": strings.Repeat("é", 201)},
				"contractType": {"query": "x", "contractType": "forever"},
				"emailAlerts":  {"query": "x", "emailAlerts": "yes"},
			} {
				body["intent"] = "save-search"
				seeker.post("/api/jobseekers/search", body).invalid(field)
			}
		})

		t.Run("POST /api/jobseekers/search requires an intent", func(t *testing.T) {
			seeker.post("/api/jobseekers/search", object{"query": "nurse"}).fails(400, "Intent is required")
			seeker.post("/api/jobseekers/search", object{"intent": "dance"}).invalid("intent")
			server.employer(t).post("/api/jobseekers/search", object{"intent": "save-search", "query": "x"}).fails(403, "Forbidden")
			server.guest(t).post("/api/jobseekers/search", object{"intent": "save-search", "query": "x"}).fails(401, "Unauthorized")
		})

		t.Run("POST /api/jobseekers/search update-search-preferences", func(t *testing.T) {
			a := seeker.post("/api/jobseekers/search", object{
				"intent":            "update-search-preferences",
				"preferredLocation": "Leeds",
				"employmentTypes":   []string{"full-time", "permanent"},
			}).
				ok(200)
			require.Equal(t, "update-search-preferences", a.text("data.intent"))
			require.Len(t, a.list("data.savedSearches"), 2)
			seeker.post("/api/jobseekers/search", object{"intent": "update-search-preferences", "employmentTypes": []string{"sometimes"}}).
				invalid("employmentTypes.0")
			seeker.post("/api/jobseekers/search", object{"intent": "update-search-preferences", "employmentTypes": "bank"}).
				invalid("employmentTypes")
		})

		t.Run("POST /api/jobseekers/search delete-search", func(t *testing.T) {
			id := seeker.saveSearch(object{"query": "radiographer"})
			a := seeker.post("/api/jobseekers/search", object{"intent": "delete-search", "searchId": id}).ok(200)
			require.Len(t, a.list("data.savedSearches"), 2)

			for _, absent := range []string{id, theirs, nowhere, "nonsense"} {
				seeker.post("/api/jobseekers/search", object{"intent": "delete-search", "searchId": absent}).
					fails(404, "Saved search not found")
			}

			seeker.post("/api/jobseekers/search", object{"intent": "delete-search"}).invalid("searchId")
			require.Equal(t, "Deleted the search radiographer",
				seeker.get("/api/jobseekers/activity").ok(200).text("data.activities.0.description"))
		})

		t.Run("POST /api/jobseekers/search limit of 50", func(t *testing.T) {
			collector := server.seeker(t)
			for i := range 50 {
				collector.saveSearch(object{"query": fmt.Sprint("nurse ", i)})
			}

			collector.post("/api/jobseekers/search", object{"intent": "save-search", "query": "one more"}).fails(400, "Maximum 50 saved searches")
		})
	})
}

// unsubscribeLink matches the link in an alert that ends the alerts of its searches.
var unsubscribeLink = regexp.MustCompile(`/unsubscribe\?token=[A-Za-z0-9._~%-]+`)

// TestAlerts_MisspeltSearch_MatchesWhatSearchFinds checks that alerts read a saved search as
// the search does: they correct its spelling and places, but store it as it was written.
func TestAlerts_MisspeltSearch_MatchesWhatSearchFinds(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, seeker := server.employer(t), server.seeker(t)
		const misspelt = "physiotherpist -remote leesd" // -remote excludes listings with the word
		saved := seeker.post("/api/jobseekers/search",
			object{"intent": "save-search", "name": "Physio", "query": misspelt}).ok(200)
		require.Equal(t, misspelt, saved.text("data.savedSearches.0.query"))
		employer.listing(object{"title": "Physiotherapist in York", "location": "York"})
		employer.listing(object{"title": "Band 6 Physiotherapist", "location": "Leeds"})
		require.Equal(t, "A new job for your search Physio: Band 6 Physiotherapist", seeker.waitForNotifications(1)[0].message)
	})
}

// TestAlerts_NewListing_SendsDigest checks that a new listing notifies the users whose saved
// searches it matches, that only searches with emailAlerts send an e-mail, and that its link
// unsubscribes without signing in.
func TestAlerts_NewListing_SendsDigest(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, seeker, other := server.employer(t), server.seeker(t), server.seeker(t)
		employer.listing(object{"title": "Perfusionist before", "location": "Leeds"}) // before the search is saved
		seeker.saveSearch(object{"name": "Heart-lung", "query": "perfusionist", "location": "Leeds", "emailAlerts": true})
		other.saveSearch(object{"name": "By the sea", "query": "perfusionist", "location": "Brighton", "emailAlerts": true})
		other.saveSearch(object{"name": "Anywhere", "query": "perfusionists"})

		// savedSearches changes no preferences and returns the user's searches, newest first.
		savedSearches := func(user *account) *response {
			return user.post("/api/jobseekers/search", object{"intent": "update-search-preferences"}).ok(200)
		}

		employer.listing(object{"title": "Perfusionist draft", "location": "Leeds", "status": "draft"})
		employer.listing(object{"title": "Senior Perfusionist", "location": "Leeds"})

		notes := seeker.waitForNotifications(1)
		require.Equal(t, "job-alert", notes[0].kind)
		require.Equal(t, "A new job for your search Heart-lung: Senior Perfusionist", notes[0].message)
		require.Equal(t, "A new job for your search Anywhere: Senior Perfusionist", other.waitForNotifications(1)[0].message)

		message := server.waitForMail(t, seeker.email, "1 new job matches your saved searches")
		require.Contains(t, message, "Senior Perfusionist")
		require.Contains(t, message, "Heart-lung")
		require.NotContains(t, message, "draft")
		require.NotContains(t, message, "before")

		// The header of RFC 8058, with which mail programs offer to unsubscribe.
		require.Contains(t, message, "List-Unsubscribe-Post: List-Unsubscribe=One-Click")

		link := unsubscribeLink.FindString(unfold(message))
		require.NotEmpty(t, link, "%s", message)

		// Scanners of e-mails open every link, so that GET only shows the form.
		t.Run("GET /unsubscribe changes nothing", func(t *testing.T) {
			page := server.guest(t).try(http.MethodGet, link, nil)
			require.Equal(t, 200, page.status)
			require.Contains(t, string(page.raw), `method="post"`)
			require.Contains(t, page.header.Get("Content-Security-Policy"), "form-action 'self'")
			require.Equal(t, true, savedSearches(seeker).at("data.savedSearches.0.emailAlerts"))
			require.Equal(t, 400, server.guest(t).try(http.MethodGet, "/unsubscribe", nil).status)

			script := url.QueryEscape(`"><script>alert(1)</script>`)
			refused := server.guest(t).try(http.MethodGet, "/unsubscribe?token="+script, nil)
			require.NotContains(t, string(refused.raw), "<script>")
		})

		t.Run("POST /unsubscribe works with one click and without signing in", func(t *testing.T) {
			// unsubscribe sends the request of a mail program and returns the status.
			unsubscribe := func(path string) int {
				response, err := http.PostForm(server.url+path, url.Values{"List-Unsubscribe": {"One-Click"}})
				require.NoError(t, err)

				_ = response.Body.Close()

				return response.StatusCode
			}

			require.Equal(t, 200, unsubscribe(link))
			require.Equal(t, false, savedSearches(seeker).at("data.savedSearches.0.emailAlerts"))
			require.Equal(t, true, savedSearches(other).at("data.savedSearches.1.emailAlerts"),
				"searches of other users are not changed")

			for _, path := range []string{
				"/unsubscribe",
				"/unsubscribe?token=nonsense",
				"/unsubscribe?token=" + seeker.token, // an access token
				link + "x",
			} {
				require.Equal(t, 400, unsubscribe(path), path)
			}
		})

		t.Run("notifications continue after unsubscribing from e-mails", func(t *testing.T) {
			employer.listing(object{"title": "Junior Perfusionist", "location": "Leeds"})
			require.Contains(t, seeker.waitForNotifications(2)[0].message, "Junior Perfusionist")
			require.Len(t, other.waitForNotifications(2), 2)
		})
	})
}

// TestUnsubscribe_InvitationLink_EndsInvitations checks that the link in an invitation ends the
// invitations of every organization to the address, also of a person without an account. The
// tokens of alerts and of invitations are not interchangeable.
func TestUnsubscribe_InvitationLink_EndsInvitations(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		recipient := newEmail()
		invitation := object{"intent": "add-member", "name": "Niamh Byrne", "email": recipient}
		server.employer(t).post("/api/employers/team", invitation).ok(200)

		message := unfold(server.waitForMail(t, recipient, "Join "))
		link := regexp.MustCompile(`/unsubscribe\?invitations=[A-Za-z0-9._~%-]+`).FindString(message)
		require.NotEmpty(t, link, "%s", message)

		page := server.guest(t).try(http.MethodGet, link, nil)
		require.Equal(t, 200, page.status)
		require.Contains(t, string(page.raw), "End the invitations?")

		asLinkOfAlert := strings.Replace(link, "invitations", "token", 1)
		for path, want := range map[string]int{link: 200, link + "x": 400, asLinkOfAlert: 400} {
			require.Equal(t, want, server.guest(t).try(http.MethodPost, path, form{}).status, path)
		}

		other := server.employer(t)
		other.post("/api/employers/team", invitation).ok(200)
		other.post("/api/employers/team", object{"intent": "add-member", "name": "Jo Byrne", "email": "jo-" + recipient}).ok(200)

		// A second e-mail to recipient would have been sent before this one.
		server.waitForMail(t, "jo-"+recipient, "Subject: Join ")
		require.Len(t, server.messagesTo(t, "To: \"Niamh Byrne\" <"+recipient+">", "Subject: Join "), 1)
	})
}

// unfold joins the folded header lines and the quoted-printable lines of an e-mail.
func unfold(message string) string {
	return strings.NewReplacer("\r\n ", "", "\n ", "", "=\r\n", "", "=\n", "", "=3D", "=").Replace(message)
}
