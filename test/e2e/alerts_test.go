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

// saveSearch saves a search and returns its id. The response lists the user's searches, newest
// first, so that the new one is the first.
func (a *account) saveSearch(search object) string {
	a.t.Helper()

	body := merge(search, object{"intent": "save-search"})

	return a.post("/api/jobseekers/search", body).ok(200).text("data.savedSearches.0.id")
}

// TestJobseekerSavedSearches checks the operations of POST /api/jobseekers/search. The member
// intent of the body names the operation: save-search, update-search-preferences or
// delete-search. Each response lists the user's saved searches, newest first.
//
// A user can have at most 50 searches, and can delete only their own. The subtests share a
// user, whose searches remain from one subtest to the next.
func TestJobseekerSavedSearches(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		seeker, other := server.seeker(t), server.seeker(t)
		searchOfOther := other.saveSearch(object{"query": "porter"})

		t.Run("POST /api/jobseekers/search save-search", func(t *testing.T) {
			saved := seeker.post("/api/jobseekers/search", object{
				"intent":       "save-search",
				"name":         "ICU",
				"query":        "icu nurse",
				"location":     "Leeds",
				"contractType": "permanent",
				"emailAlerts":  true,
			}).
				ok(200)
			require.Equal(t, "save-search", saved.text("data.intent"))
			require.NotEmpty(t, saved.text("message"))
			require.Len(t, saved.list("data.savedSearches"), 1)

			for field, want := range map[string]any{
				"name":         "ICU",
				"query":        "icu nurse",
				"location":     "Leeds",
				"contractType": "permanent",
				"emailAlerts":  true,
			} {
				require.Equal(t, want, saved.at("data.savedSearches.0."+field), field)
			}

			withoutName := object{"intent": "save-search", "query": "midwife", "location": "York"}
			saved = seeker.post("/api/jobseekers/search", withoutName).ok(200)
			require.Equal(t, "midwife, York", saved.text("data.savedSearches.0.name"), "a search without a name is named after its terms")
			require.Equal(t, false, saved.at("data.savedSearches.0.emailAlerts"), "alerts by e-mail are off by default")
			require.Equal(t, "ICU", saved.text("data.savedSearches.1.name"), "the older search follows the new one")

			tooLong := strings.Repeat("é", 200+1) // texts have at most 200 characters, whatever their bytes
			for invalidField, body := range map[string]object{
				// A search without any criterion would match every job.
				"query":        {"name": "everything"},
				"name":         {"query": "x", "name": tooLong},
				"location":     {"location": tooLong},
				"contractType": {"query": "x", "contractType": "forever"},
				"emailAlerts":  {"query": "x", "emailAlerts": "yes"},
			} {
				body["intent"] = "save-search"
				seeker.post("/api/jobseekers/search", body).invalid(invalidField)
			}
		})

		t.Run("POST /api/jobseekers/search requires an intent", func(t *testing.T) {
			seeker.post("/api/jobseekers/search", object{"query": "nurse"}).fails(400, "Intent is required")
			seeker.post("/api/jobseekers/search", object{"intent": "dance"}).invalid("intent")
			server.employer(t).post("/api/jobseekers/search", object{"intent": "save-search", "query": "x"}).fails(403, "Forbidden")
			server.guest(t).post("/api/jobseekers/search", object{"intent": "save-search", "query": "x"}).fails(401, "Unauthorized")
		})

		t.Run("POST /api/jobseekers/search update-search-preferences", func(t *testing.T) {
			updated := seeker.post("/api/jobseekers/search", object{
				"intent":            "update-search-preferences",
				"preferredLocation": "Leeds",
				"employmentTypes":   []string{"full-time", "permanent"},
			}).
				ok(200)
			require.Equal(t, "update-search-preferences", updated.text("data.intent"))
			require.Len(t, updated.list("data.savedSearches"), 2, "the searches of the first subtest remain")
			seeker.post("/api/jobseekers/search", object{"intent": "update-search-preferences", "employmentTypes": []string{"sometimes"}}).
				invalid("employmentTypes.0")
			seeker.post("/api/jobseekers/search", object{"intent": "update-search-preferences", "employmentTypes": "bank"}).
				invalid("employmentTypes")
		})

		t.Run("POST /api/jobseekers/search delete-search", func(t *testing.T) {
			id := seeker.saveSearch(object{"query": "radiographer"})
			deleted := seeker.post("/api/jobseekers/search", object{"intent": "delete-search", "searchId": id}).ok(200)
			require.Len(t, deleted.list("data.savedSearches"), 2, "the searches of the first subtest remain")

			// A deleted search, one of another user, and ids that no search has.
			for _, absent := range []string{id, searchOfOther, nowhere, "nonsense"} {
				seeker.post("/api/jobseekers/search", object{"intent": "delete-search", "searchId": absent}).
					fails(404, "Saved search not found")
			}

			seeker.post("/api/jobseekers/search", object{"intent": "delete-search"}).invalid("searchId")
			require.Equal(t, "Deleted the search radiographer",
				seeker.get("/api/jobseekers/activity").ok(200).text("data.activities.0.description"))
		})

		t.Run("POST /api/jobseekers/search limit of 50", func(t *testing.T) {
			collector := server.seeker(t)
			const maxSearches = 50

			for i := range maxSearches {
				collector.saveSearch(object{"query": fmt.Sprint("nurse ", i)})
			}

			collector.post("/api/jobseekers/search", object{"intent": "save-search", "query": "one more"}).
				fails(400, "Maximum 50 saved searches")
		})
	})
}

// unsubscribeLink matches the link in an alert that ends the alerts of its searches.
var unsubscribeLink = regexp.MustCompile(`/unsubscribe\?token=[A-Za-z0-9._~%-]+`)

// TestAlerts_MisspeltSearch_MatchesWhatSearchFinds checks that a misspelt saved search matches
// the new listings that a search for the same words would find. Words and places are corrected,
// but the text of the search is stored as the user wrote it.
func TestAlerts_MisspeltSearch_MatchesWhatSearchFinds(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, seeker := server.employer(t), server.seeker(t)

		const misspelt = "physiotherpist -remote leesd" // -remote excludes listings with that word

		saved := seeker.post("/api/jobseekers/search",
			object{"intent": "save-search", "name": "Physio", "query": misspelt}).ok(200)
		require.Equal(t, misspelt, saved.text("data.savedSearches.0.query"))

		// The first listing is in another place; only the second one matches.
		employer.listing(object{"title": "Physiotherapist in York", "location": "York"})
		employer.listing(object{"title": "Band 6 Physiotherapist", "location": "Leeds"})
		require.Equal(t, "A new job for your search Physio: Band 6 Physiotherapist", seeker.waitForNotifications(1)[0].message)
	})
}

// TestAlerts_NewListing_SendsDigest checks the alerts about a new listing. Each user whose saved
// search matches the listing gets a notification on the site. Users whose search has emailAlerts
// also get an e-mail, the digest, which lists the new jobs of their searches. The digest contains a
// link that ends the e-mails without signing in; the notifications continue.
//
// The server sends both in the background, soon after the listing is published.
func TestAlerts_NewListing_SendsDigest(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, seeker, other := server.employer(t), server.seeker(t), server.seeker(t)

		// A listing that is older than the searches causes no alerts.
		employer.listing(object{"title": "Perfusionist before", "location": "Leeds"})

		seeker.saveSearch(object{"name": "Heart-lung", "query": "perfusionist", "location": "Leeds", "emailAlerts": true})
		other.saveSearch(object{"name": "By the sea", "query": "perfusionist", "location": "Brighton", "emailAlerts": true})
		other.saveSearch(object{"name": "Anywhere", "query": "perfusionists"})

		// savedSearches returns the response with the user's searches, newest first. The operation
		// gets no preferences and so changes nothing.
		savedSearches := func(user *account) *response {
			return user.post("/api/jobseekers/search", object{"intent": "update-search-preferences"}).ok(200)
		}

		// A draft is not public and causes no alerts. The second listing does.
		employer.listing(object{"title": "Perfusionist draft", "location": "Leeds", "status": "draft"})
		employer.listing(object{"title": "Senior Perfusionist", "location": "Leeds"})

		// The search "Anywhere" matches without a place; "By the sea" is for another place.
		alert := seeker.waitForNotifications(1)[0]
		require.Equal(t, "job-alert", alert.kind)
		require.Equal(t, "A new job for your search Heart-lung: Senior Perfusionist", alert.message)
		require.Equal(t, "A new job for your search Anywhere: Senior Perfusionist", other.waitForNotifications(1)[0].message)

		digest := server.waitForMail(t, seeker.email, "1 new job matches your saved searches")
		require.Contains(t, digest, "Senior Perfusionist")
		require.Contains(t, digest, "Heart-lung")
		require.NotContains(t, digest, "draft", "the listing Perfusionist draft is not in the digest")
		require.NotContains(t, digest, "before", "the listing Perfusionist before is not in the digest")

		// Mail programs that find the header of RFC 8058 offer to unsubscribe.
		require.Contains(t, digest, "List-Unsubscribe-Post: List-Unsubscribe=One-Click")

		link := unsubscribeLink.FindString(unfold(digest))
		require.NotEmpty(t, link, "%s", digest)

		// Programs that scan e-mails open every link. GET must therefore only show the form that
		// unsubscribes.
		t.Run("GET /unsubscribe changes nothing", func(t *testing.T) {
			page := server.guest(t).try(http.MethodGet, link, nil)
			require.Equal(t, 200, page.status)
			require.Contains(t, string(page.raw), `method="post"`)
			require.Contains(t, page.header.Get("Content-Security-Policy"), "form-action 'self'")
			require.Equal(t, true, savedSearches(seeker).at("data.savedSearches.0.emailAlerts"))
			require.Equal(t, 400, server.guest(t).try(http.MethodGet, "/unsubscribe", nil).status, "without a token")

			script := url.QueryEscape(`"><script>alert(1)</script>`)
			refused := server.guest(t).try(http.MethodGet, "/unsubscribe?token="+script, nil)
			require.NotContains(t, string(refused.raw), "<script>", "the token is not shown as HTML")
		})

		t.Run("POST /unsubscribe works with one click and without signing in", func(t *testing.T) {
			// unsubscribe sends the one-click request of a mail program and returns the status.
			unsubscribe := func(path string) int {
				response, err := http.PostForm(server.url+path, url.Values{"List-Unsubscribe": {"One-Click"}})
				require.NoError(t, err)

				_ = response.Body.Close()

				return response.StatusCode
			}

			require.Equal(t, 200, unsubscribe(link))
			require.Equal(t, false, savedSearches(seeker).at("data.savedSearches.0.emailAlerts"))

			// The search "By the sea" is older than "Anywhere", which has no alerts by e-mail.
			require.Equal(t, true, savedSearches(other).at("data.savedSearches.1.emailAlerts"),
				"searches of other users are not changed")

			for _, path := range []string{
				"/unsubscribe",
				"/unsubscribe?token=nonsense",
				"/unsubscribe?token=" + seeker.token, // an access token does not unsubscribe
				link + "x",                           // a token that was changed
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

// TestUnsubscribe_InvitationLink_EndsInvitations checks the link in the e-mail that invites a
// person to a team. The link ends the invitations from every organization to the address. The
// person needs no account. The link is not valid as a link of an alert.
func TestUnsubscribe_InvitationLink_EndsInvitations(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		recipient := newEmail()
		invitation := object{"intent": "add-member", "name": "Niamh Byrne", "email": recipient}
		server.employer(t).post("/api/employers/team", invitation).ok(200)

		firstMail := unfold(server.waitForMail(t, recipient, "Join "))
		link := regexp.MustCompile(`/unsubscribe\?invitations=[A-Za-z0-9._~%-]+`).FindString(firstMail)
		require.NotEmpty(t, link, "%s", firstMail)

		page := server.guest(t).try(http.MethodGet, link, nil)
		require.Equal(t, 200, page.status)
		require.Contains(t, string(page.raw), "End the invitations?")

		// The link works. A changed token, and the token in the link of an alert, are refused.
		asLinkOfAlert := strings.Replace(link, "invitations", "token", 1)
		for path, wantStatus := range map[string]int{link: 200, link + "x": 400, asLinkOfAlert: 400} {
			require.Equal(t, wantStatus, server.guest(t).try(http.MethodPost, path, form{}).status, path)
		}

		// Another organization invites the recipient, and then a second person.
		secondPerson := "jo-" + recipient
		otherEmployer := server.employer(t)
		otherEmployer.post("/api/employers/team", invitation).ok(200)
		otherEmployer.post("/api/employers/team", object{"intent": "add-member", "name": "Jo Byrne", "email": secondPerson}).ok(200)

		// A second e-mail to the recipient would have been sent before the one to the second person.
		// The full To line is needed because the address of the second person contains the recipient's.
		server.waitForMail(t, secondPerson, "Subject: Join ")
		require.Len(t, server.messagesTo(t, "To: \"Niamh Byrne\" <"+recipient+">", "Subject: Join "), 1)
	})
}

// unfold joins the lines that an e-mail divides, so that a long link is found as a whole. A
// folded header continues on a line that begins with a space (RFC 5322 §2.2.3). A line of a
// quoted-printable body that ends with "=" continues on the next, and "=3D" is "=" (RFC 2045 §6.7).
func unfold(message string) string {
	return strings.NewReplacer(
		"\r\n ", "", "\n ", "",
		"=\r\n", "", "=\n", "",
		"=3D", "=",
	).Replace(message)
}
