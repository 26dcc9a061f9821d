package e2e

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSessions checks that a user sees all sessions, of the API and of browsers, and can end
// one, the current one included, or all others.
func TestSessions(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("GET /api/auth/sessions", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)
			server.seeker(t) // has a session that the list must not contain

			phone := me.signIn(password)
			browser := server.signedIn(t, me)
			list := me.get("/api/auth/sessions").ok(200)
			require.Len(t, list.list("data.sessions"), 3)
			require.Equal(t, 3.0, list.number("data.pagination.total"))
			require.Equal(t,
				[]string{"browser", "createdAt", "current", "expiresAt", "id", "lastUsedAt", "network", "userAgent"},
				list.memberNames("data.sessions.0"))
			require.Equal(t, object{"browser": true, "current": false},
				list.pick("data.sessions.0", "browser", "current"), "the newest first")
			require.Equal(t, object{"browser": false, "current": false}, list.pick("data.sessions.1", "browser", "current"))
			require.Equal(t, object{"browser": false, "current": true}, list.pick("data.sessions.2", "browser", "current"))

			expiry := func(i int) time.Duration {
				used, err := time.Parse(time.RFC3339, list.text(fmt.Sprintf("data.sessions.%d.lastUsedAt", i)))
				require.NoError(t, err)

				expires, err := time.Parse(time.RFC3339, list.text(fmt.Sprintf("data.sessions.%d.expiresAt", i)))
				require.NoError(t, err)

				return expires.Sub(used)
			}

			require.Equal(t, 12*time.Hour, expiry(0), "a browser session without further use")
			require.Equal(t, 7*24*time.Hour, expiry(1), "an API session without further use")
			require.Regexp(t, `\.0/24$`, list.text("data.sessions.1.network"), "the network and not the host")

			next := me.get("/api/auth/sessions?limit=2").ok(200).text("data.nextCursor")
			require.Equal(t, list.text("data.sessions.2.id"),
				me.get("/api/auth/sessions?limit=2&cursor="+next).ok(200).text("data.sessions.0.id"))

			// A sign-out ends the session of the API or of the browser, so that only the own one is left.
			phone.post("/api/auth/logout", nil).ok(200)
			browser.open("POST", "/developers/sign-out", url.Values{})
			require.Len(t, me.get("/api/auth/sessions").ok(200).list("data.sessions"), 1)
			server.guest(t).get("/api/auth/sessions").fails(401, "Unauthorized")
		})

		t.Run("DELETE /api/auth/sessions/:id", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)
			other := server.seeker(t)
			phone := me.signIn(password)
			browser := server.signedIn(t, me)
			list := me.get("/api/auth/sessions").ok(200) // the newest first
			browserSession := list.text("data.sessions.0.id")
			phoneSession := list.text("data.sessions.1.id")
			ownSession := list.text("data.sessions.2.id")

			// Another user cannot end the session. Its owner can, once.
			other.delete("/api/auth/sessions/"+phoneSession).fails(404, "Session not found")
			phone.get("/api/auth/me").ok(200)
			me.delete("/api/auth/sessions/" + phoneSession).ok(200)
			phone.requireSignedOut(t)
			me.delete("/api/auth/sessions/"+phoneSession).fails(404, "Session not found")
			me.delete("/api/auth/sessions/nonsense").fails(404, "Session not found")

			// Other sessions are not affected.
			require.Equal(t, 200, browser.open("GET", "/developers", nil).status)
			me.delete("/api/auth/sessions/" + browserSession).ok(200)
			require.Equal(t, 303, browser.open("GET", "/developers", nil).status)

			// The current session can be ended as well.
			me.delete("/api/auth/sessions/" + ownSession).ok(200)
			me.requireSignedOut(t)
		})

		t.Run("DELETE /api/auth/sessions", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)
			other := server.seeker(t)
			phone := me.signIn(password)
			browser := server.signedIn(t, me)

			// All sessions of the user end except the current one, and no other user's does.
			me.delete("/api/auth/sessions").ok(200)
			phone.requireSignedOut(t)
			require.Equal(t, 303, browser.open("GET", "/developers", nil).status)
			me.get("/api/auth/me").ok(200)
			other.get("/api/auth/me").ok(200)
			server.guest(t).delete("/api/auth/sessions").fails(401, "Unauthorized")
		})
	})
}
