package e2e

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pageRoute is a page or a form of the site. Its path has a valid id, which no resource has, in place of
// each parameter.
type pageRoute struct {
	method, path string
	// needsSession is set for a page or form of signed-in users.
	needsSession bool
}

// pathParameter matches a parameter in the path of a route.
var pathParameter = regexp.MustCompile(`:[A-Za-z]+`)

// pageRoutes returns the pages and forms of the site, from the output of `locum routes`. A line has the
// method, the path and the access of a route: "page" is for signed-in users of the site, "none" for
// everyone.
//
// The result does not contain endpoints that programs use as well, which authenticate each request by a
// secret in it.
func (s *testServer) pageRoutes(t testing.TB) (routes []pageRoute) {
	t.Helper()

	for line := range strings.Lines(s.run(t, "routes")) {
		columns := strings.Fields(line)

		method, path, access := columns[0], columns[1], columns[2]
		isOfSite := (method == "GET" || method == "POST") && (access == "none" || access == "page")
		isForPrograms := path == "/unsubscribe" || strings.HasPrefix(path, "/api/") || strings.Contains(path, "*")

		if isOfSite && !isForPrograms {
			routes = append(routes, pageRoute{
				method:       method,
				path:         pathParameter.ReplaceAllString(path, nowhere),
				needsSession: access == "page",
			})
		}
	}

	return routes
}

// TestPages_EveryForm_RefusesOtherSites checks that every form refuses requests that other sites make a
// browser send, before the server does anything else. Browsers say where a request comes from in the
// headers Sec-Fetch-Site and Origin, which the fields Site and Origin of the tests' browser set. A
// request without both, from an old browser, needs the CSRF token of its session.
func TestPages_EveryForm_RefusesOtherSites(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		guest, seeker := server.browser(t), server.signedIn(t, server.seeker(t))
		boss, moderator := server.signedIn(t, server.employer(t)), server.signedIn(t, server.moderator(t))

		var forms []string
		for _, route := range server.pageRoutes(t) {
			if route.method != "POST" {
				continue
			}

			forms = append(forms, route.path)
			for _, user := range []*browser{guest, seeker, boss, moderator} {
				for _, headers := range []struct{ site, origin string }{
					{site: "cross-site"},
					{site: "same-site"}, // another host of the same domain
					{site: "none"},      // an address that the user entered, which never sends a form
					{site: "cross-site", origin: server.url},
					{origin: "https://evil.example"},
					{origin: "null"},
					{origin: server.url + ".evil.example"},
				} {
					user.Site, user.Origin = headers.site, headers.origin
					require.Equal(t, 403, user.open("POST", route.path, url.Values{}).status, "%s %+v", route.path, headers)
				}

				user.Site, user.Origin = "", ""
				if user == guest {
					continue // has no session that another site could use
				}

				// No token, and a wrong one.
				for _, token := range []string{"", strings.Repeat("0", 64)} {
					refused := user.open("POST", route.path, url.Values{"csrf": {token}})
					require.Equal(t, 403, refused.status, "%s without the CSRF token", route.path)
				}
			}
		}

		// The list of routes was read completely: it contains forms of each kind of user.
		for _, known := range []string{"/sign-in", "/account/documents", "/employer/team", "/two-step-sign-in/turn-off"} {
			require.Contains(t, forms, known, "the list of routes has no such form")
		}
	})
}

// TestPages_EveryPage_RefusesOtherKindsOfUsers checks every page and form of signed-in users. Guests are
// redirected to the sign-in. Clinicians and employers cannot open the pages of each other and of
// moderators. No cache may store a page of a signed-in user.
func TestPages_EveryPage_RefusesOtherKindsOfUsers(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		guest, seeker, boss := server.browser(t), server.signedIn(t, server.seeker(t)), server.signedIn(t, server.employer(t))

		// isBelow reports whether the path is one of the sections or a page in it.
		isBelow := func(path string, sections ...string) bool {
			for _, section := range sections {
				if path == section || strings.HasPrefix(path, section+"/") {
					return true
				}
			}

			return false
		}

		for _, route := range server.pageRoutes(t) {
			if !route.needsSession {
				continue
			}

			var values url.Values // nil for a page
			if route.method == "POST" {
				values = url.Values{}
			}

			open := func(user *browser) pageView { return user.open(route.method, route.path, values) }

			// The pages of OAuth check the client before the user. This request names no client.
			if !isBelow(route.path, "/oauth") {
				redirect := open(guest)
				require.Equal(t, 303, redirect.status, "%s %s", route.method, route.path)
				require.Contains(t, redirect.header.Get("Location"), "/sign-in?next=", route.path)
				require.Equal(t, "no-store", redirect.header.Get("Cache-Control"), route.path)
			}

			var forbiddenUsers []*browser
			switch {
			case isBelow(route.path, "/moderation"):
				forbiddenUsers = []*browser{seeker, boss}
			case isBelow(route.path, "/employer"):
				forbiddenUsers = []*browser{seeker}
			case isBelow(route.path, "/account", "/jobs"):
				forbiddenUsers = []*browser{boss}
			}

			for _, user := range forbiddenUsers {
				require.Equal(t, 403, open(user).status, "%s %s", route.method, route.path)
			}

			if route.method == "GET" {
				require.Equal(t, "no-store", open(seeker).header.Get("Cache-Control"), route.path)
				require.Equal(t, "no-store", open(boss).header.Get("Cache-Control"), route.path)
			}
		}
	})
}

// TestPages_OtherOwners_AreRefused checks the pages of exports and the forms of sessions with the ids of
// resources that exist, but belong to another organization or user. Such a resource is not found, or
// forbidden for a colleague without the permission.
func TestPages_OtherOwners_AreRefused(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss, jo := server.employer(t), server.seeker(t)
		own, colleague := server.signedIn(t, boss), server.signedIn(t, boss.inviteMember("admin"))
		otherEmployer, otherSeeker := server.signedIn(t, server.employer(t)), server.signedIn(t, server.seeker(t))

		started := own.open("POST", "/employer/exports", url.Values{"kind": {"applications"}})
		export := started.requireRedirect(t, "/employer/exports/")

		// An admin of the organization can open the export. Another organization neither finds nor lists it.
		require.Equal(t, 200, colleague.open("GET", export, nil).status)
		require.Equal(t, 404, otherEmployer.open("GET", export, nil).status)
		require.NotContains(t, otherEmployer.show("/employer/exports").text, export)

		// A member who may post jobs, but not read the applications that the export contains.
		poster := server.signedIn(t, server.addMember(t, boss,
			object{"jobs": object{"create": true, "update": true}, "applications": object{"view": false, "update": false}}))
		require.Equal(t, 403, poster.open("GET", export, nil).status, "without the permission to read applications")
		require.NotContains(t, poster.show("/employer/exports").text, export)

		// The forms end a session. A user cannot end the session of another user.
		for _, test := range []struct {
			owner      *account
			path       string
			otherUsers []*browser
		}{
			{owner: boss, path: "/employer/settings/session", otherUsers: []*browser{colleague, otherEmployer}},
			{owner: jo, path: "/account/settings/session", otherUsers: []*browser{otherSeeker}},
		} {
			session := test.owner.get("/api/auth/sessions").ok(200).text("data.sessions.0.id")
			for _, other := range test.otherUsers {
				require.Equal(t, 404, other.open("POST", test.path, url.Values{"session": {session}}).status, test.path)
			}

			test.owner.get("/api/auth/me").ok(200) // the owner is still signed in
		}
	})
}

// TestExportLink_LockedAccount_IsRefused checks the link to the file of an export, which works without
// signing in. It does not work while the account that created the export is locked. Operators lock and
// unlock accounts with `locum users`.
func TestExportLink_LockedAccount_IsRefused(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		id := boss.post("/api/employers/exports", object{"kind": "applications"}).ok(202).text("data.id")

		// The export is built in the background, and has a link once it is completed.
		var export *response
		isCompleted := func() bool {
			export = boss.get("/api/employers/exports/" + id).ok(200)
			return export.text("data.status") == "completed"
		}
		require.Eventually(t, isCompleted, waitTimeout, 20*time.Millisecond, "the export is not completed")

		link := pathAndQuery(t, export.text("data.url"))
		open := func() *response { return server.guest(t).get(link) }
		require.Equal(t, 200, open().status)
		server.run(t, "users", "lock", boss.email)
		open().fails(403, "Forbidden")
		server.run(t, "users", "unlock", boss.email)
		require.Equal(t, 200, open().status)
	})
}
