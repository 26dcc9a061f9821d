package e2e

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pageRoute is a route of the server that is not in an interface, with a valid id in place of
// each parameter.
type pageRoute struct {
	method, path string
	// hasSession is set for a page or form of signed-in users.
	hasSession bool
}

// pathParameter matches a parameter in the path of a route.
var pathParameter = regexp.MustCompile(`:[A-Za-z]+`)

// pageRoutes returns the pages and forms that `locum routes` lists. It omits endpoints that
// programs use as well, which authenticate each request with a secret in it.
func (s *testServer) pageRoutes(t testing.TB) (out []pageRoute) {
	t.Helper()

	for line := range strings.Lines(s.run(t, "routes")) {
		columns := strings.Fields(line)

		method, path, access := columns[0], columns[1], columns[2]
		switch {
		case method != "GET" && method != "POST", access != "none" && access != "page":
			continue
		case path == "/unsubscribe", strings.HasPrefix(path, "/api/"), strings.Contains(path, "*"):
			continue
		}

		out = append(out, pageRoute{method, pathParameter.ReplaceAllString(path, nowhere), access == "page"})
	}

	return out
}

// TestPages_EveryForm_RefusesOtherSites checks that every form refuses requests of other sites,
// and those of a session without its CSRF token, before it does anything else.
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
			for _, b := range []*browser{guest, seeker, boss, moderator} {
				for _, sent := range [][2]string{
					{"cross-site", ""}, {"same-site", ""}, {"none", ""}, {"cross-site", server.url},
					{"", "https://evil.example"}, {"", "null"}, {"", server.url + ".evil.example"},
				} {
					b.Site, b.Origin = sent[0], sent[1]
					require.Equal(t, 403, b.open("POST", route.path, url.Values{}).status, "%s %s", route.path, sent)
				}

				b.Site, b.Origin = "", ""
				if b == guest {
					continue // has no session that another site could use
				}

				for _, token := range []string{"", strings.Repeat("0", 64)} {
					refused := b.open("POST", route.path, url.Values{"csrf": {token}})
					require.Equal(t, 403, refused.status, "%s without the CSRF token", route.path)
				}
			}
		}

		for _, known := range []string{"/sign-in", "/account/documents", "/employer/team", "/two-step-sign-in/turn-off"} {
			require.Contains(t, forms, known)
		}
	})
}

// TestPages_EveryPage_RefusesOtherKindsOfUsers checks that guests are redirected from every
// page of signed-in users, that clinicians, employers and moderators cannot open the pages of
// each other, and that no cache may store a page of a signed-in user.
func TestPages_EveryPage_RefusesOtherKindsOfUsers(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		guest, seeker, boss := server.browser(t), server.signedIn(t, server.seeker(t)), server.signedIn(t, server.employer(t))
		isBelow := func(path string, parts ...string) bool {
			for _, part := range parts {
				if path == part || strings.HasPrefix(path, part+"/") {
					return true
				}
			}

			return false
		}

		for _, route := range server.pageRoutes(t) {
			if !route.hasSession {
				continue
			}

			var values url.Values
			if route.method == "POST" {
				values = url.Values{}
			}

			open := func(b *browser) pageView { return b.open(route.method, route.path, values) }
			if !isBelow(route.path, "/oauth") { // without a valid client there is no redirect
				away := open(guest)
				require.Equal(t, 303, away.status, "%s %s", route.method, route.path)
				require.Contains(t, away.header.Get("Location"), "/sign-in?next=", route.path)
				require.Equal(t, "no-store", away.header.Get("Cache-Control"), route.path)
			}

			var refused []*browser
			switch {
			case isBelow(route.path, "/moderation"):
				refused = []*browser{seeker, boss}
			case isBelow(route.path, "/employer"):
				refused = []*browser{seeker}
			case isBelow(route.path, "/account", "/jobs"):
				refused = []*browser{boss}
			}

			for _, b := range refused {
				require.Equal(t, 403, open(b).status, "%s %s", route.method, route.path)
			}

			if route.method == "GET" {
				require.Equal(t, "no-store", open(seeker).header.Get("Cache-Control"), route.path)
				require.Equal(t, "no-store", open(boss).header.Get("Cache-Control"), route.path)
			}
		}
	})
}

// TestPages_OtherOwners_AreRefused checks pages and forms with the ids of resources that exist
// but belong to another organization or user: exports and sessions.
func TestPages_OtherOwners_AreRefused(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss, jo := server.employer(t), server.seeker(t)
		own, colleague := server.signedIn(t, boss), server.signedIn(t, boss.inviteMember("admin"))
		foreign, seeker := server.signedIn(t, server.employer(t)), server.signedIn(t, server.seeker(t))

		started := own.open("POST", "/employer/exports", url.Values{"kind": {"applications"}})
		export := started.requireRedirect(t, "/employer/exports/")
		require.Equal(t, 200, colleague.open("GET", export, nil).status)
		require.Equal(t, 404, foreign.open("GET", export, nil).status)
		require.NotContains(t, foreign.show("/employer/exports").text, export)

		poster := server.signedIn(t, server.addMember(t, boss,
			object{"jobs": object{"create": true, "update": true}, "applications": object{"view": false, "update": false}}))
		require.Equal(t, 403, poster.open("GET", export, nil).status, "without the permission to read applications")
		require.NotContains(t, poster.show("/employer/exports").text, export)

		for _, c := range []struct {
			owner *account
			path  string
			other []*browser
		}{
			{boss, "/employer/settings/session", []*browser{colleague, foreign}},
			{jo, "/account/settings/session", []*browser{seeker}},
		} {
			session := c.owner.get("/api/auth/sessions").ok(200).text("data.sessions.0.id")
			for _, b := range c.other {
				require.Equal(t, 404, b.open("POST", c.path, url.Values{"session": {session}}).status, c.path)
			}

			c.owner.get("/api/auth/me").ok(200)
		}
	})
}

// TestExportLink_LockedAccount_IsRefused checks that the link to a file of an export does not
// work while the account for which it was created is locked.
func TestExportLink_LockedAccount_IsRefused(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		id := boss.post("/api/employers/exports", object{"kind": "applications"}).ok(202).text("data.id")
		var link *url.URL
		require.Eventually(t, func() bool {
			export := boss.get("/api/employers/exports/" + id).ok(200)
			if export.text("data.status") != "completed" {
				return false
			}

			var err error
			link, err = url.Parse(export.text("data.url"))

			return err == nil
		}, waitTimeout, 20*time.Millisecond)

		open := func() *response { return server.guest(t).get(link.RequestURI()) }
		require.Equal(t, 200, open().status)
		server.run(t, "users", "lock", boss.email)
		open().fails(403, "Forbidden")
		server.run(t, "users", "unlock", boss.email)
		require.Equal(t, 200, open().status)
	})
}
