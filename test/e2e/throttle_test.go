package e2e

import (
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/web"
)

// The server limits failed sign-ins of a network (an IPv4 /24) and of an account. These tests exhaust the limit of a
// network.

// useUpNetwork sends as many failed sign-ins from the client's network as the limit allows in 15 minutes, each to another
// account.
func (c *client) useUpNetwork() {
	const maxFailures, senders = 100, 10
	var calls sync.WaitGroup

	for range senders {
		calls.Go(func() {
			for range maxFailures / senders {
				c.post("/api/auth/login", object{"email": newEmail(), "password": wrongPassword}).fails(401, "Invalid email or password")
			}
		})
	}

	calls.Wait()
}

// TestConfirm_NetworkOverItsLimit_ServesKnownDevice checks that an attacker in the same network
// cannot keep a user from confirming the password in a browser in which the user has signed in
// before.
func TestConfirm_NetworkOverItsLimit_ServesKnownDevice(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		person := server.seeker(t)
		client := server.guest(t)
		browser := server.signedIn(t, person)
		client.ip = browser.IP
		client.useUpNetwork()

		refused := client.post("/api/auth/login", object{"email": person.email, "password": wrongPassword}).untilLimited()
		require.Equal(t, http.StatusTooManyRequests, refused.status)

		// The same network and account, but a browser with the cookie of a device that has signed in.
		created := browser.open(http.MethodPost, "/developers/apps", url.Values{"name": {"Ward Finder"}, "currentPassword": {password}})
		require.Regexp(t, appLink, created.text)
	})
}

// TestSignIn_NetworkOverItsLimit_ServesOthers checks that the limit of a network refuses only
// accounts with a recent failure, because many users of a hospital share an address.
func TestSignIn_NetworkOverItsLimit_ServesOthers(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		credentials := object{"email": newEmail(), "password": wrongPassword}
		client := server.guest(t)
		client.useUpNetwork()

		refused := client.post("/api/auth/login", credentials).untilLimited()
		require.Equal(t, http.StatusTooManyRequests, refused.status)
		require.NotEmpty(t, refused.header.Get("Retry-After"))

		// An account without a failure can sign in from the same network.
		client.post("/api/auth/login", object{"email": server.seeker(t).email, "password": password}).ok(200)
	})
}

// TestSignIn_Succeeds_MarksTheDevice checks the cookie by which the server recognizes a device on which a user has signed
// in. The API and the pages set the cookie for 180 days. A failed sign-in does not set it.
func TestSignIn_Succeeds_MarksTheDevice(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		// deviceCookie returns the device cookie that a response sets, or nil.
		deviceCookie := func(header http.Header) *http.Cookie {
			for _, cookie := range (&http.Response{Header: header}).Cookies() {
				if cookie.Name == web.DeviceCookieName {
					return cookie
				}
			}

			return nil
		}

		person := server.seeker(t)
		signedIn := server.guest(t).post("/api/auth/login", object{"email": person.email, "password": password}).ok(200)
		page := server.browser(t).open(http.MethodPost, "/developers/sign-in", url.Values{"email": {person.email}, "password": {password}})
		require.Equal(t, 303, page.status)

		for _, header := range []http.Header{signedIn.header, page.header} {
			set := deviceCookie(header)
			require.NotNil(t, set, "no device cookie")
			require.Equal(t, 180*24*3600, set.MaxAge, "180 days in seconds")
			require.True(t, set.HttpOnly)
			require.Equal(t, http.SameSiteLaxMode, set.SameSite)
			require.NotContains(t, set.Value, person.email)
		}

		refused := server.guest(t).
			post("/api/auth/login", object{"email": person.email, "password": wrongPassword}).
			fails(401, "Invalid email or password")
		require.Nil(t, deviceCookie(refused.header))
	})
}
