package e2e

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
)

// at calls an endpoint as the client from the IP address. Without a secret, it sends the id as
// a public client does.
func (p *thirdParty) at(t *testing.T, ip, path, secret string, values url.Values) *response {
	t.Helper()
	if secret == "" {
		values.Set("client_id", p.ClientID)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.server.url+path, strings.NewReader(values.Encode()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Forwarded-For", ip)
	if secret != "" {
		r.SetBasicAuth(p.ClientID, secret)
	}
	return (&client{t: t, server: p.server}).do(r)
}

// TestOAuth_GuessedClientSecrets_RateLimited checks that client secrets cannot be guessed: 60
// failures a minute block the client at the address, but not the client elsewhere, other
// clients at the address or public clients.
func TestOAuth_GuessedClientSecrets_RateLimited(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("limited to sixty failures a minute", func(t *testing.T) {
			t.Parallel()
			party, device := server.thirdParty(t, nil), server.thirdParty(t, object{"public": true})
			token := party.tokens(t)
			ip := server.guest(t).ip
			for i := range 60 {
				path := []string{"/oauth/token", "/oauth/introspect", "/oauth/revoke"}[i%3]
				res := party.at(t, ip, path, "loc_cs_wrong"+strconv.Itoa(i), refreshGrant("x"))
				require.Equal(t, 401, res.status, "%s", res.raw)
				require.Equal(t, "invalid_client", res.text("error"))
			}
			if server.countsLocally() { // the failures may have been counted in two places
				return
			}
			// The right secret is refused too, or the response would confirm a right guess.
			for _, secret := range []string{"wrong", party.ClientSecret} {
				for _, path := range []string{"/oauth/token", "/oauth/introspect", "/oauth/revoke"} {
					values := refreshGrant(token.RefreshToken)
					values.Set("token", token.AccessToken)
					over := party.at(t, ip, path, secret, values)
					require.Equal(t, 429, over.status, "%s", over.raw)
					require.Equal(t, "temporarily_unavailable", over.text("error"))
					require.NotEmpty(t, over.text("error_description"))
					require.Equal(t, "no-store", over.header.Get("Cache-Control"))
					wait, err := strconv.Atoi(over.header.Get("Retry-After"))
					require.NoError(t, err)
					require.True(t, wait >= 1 && wait <= 60, "%d", wait)
				}
			}
			require.True(t, party.isActive(t, token.AccessToken), "nothing was revoked, and elsewhere the client goes on")
			other := server.thirdParty(t, nil)
			require.Equal(t, 200,
				other.at(t, ip, "/oauth/introspect", other.ClientSecret, url.Values{"token": {"x"}}).status,
				"another client at the address")
			// Clients at the same address cannot lock out a public client,
			// which has no secret.
			require.Equal(t, 400, device.at(t, ip, "/oauth/token", "", refreshGrant("x")).status)
		})
		t.Run("correct secret is not limited", func(t *testing.T) {
			t.Parallel()
			p := server.thirdParty(t, nil)
			ip := server.guest(t).ip
			for range 150 {
				res := p.at(t, ip, "/oauth/token", p.ClientSecret, codeGrant("expired", oauth2.GenerateVerifier()))
				require.Equal(t, 400, res.status, "%s", res.raw)
				require.Equal(t, "invalid_grant", res.text("error"))
			}
		})
	})
}

// TestOAuth_EncodedForm_RefusedUnread checks that forms with a Content-Encoding are refused.
// The libraries of the server decode a form with any encoding and without a limit: some hundred
// bytes would take gigabytes of memory.
func TestOAuth_EncodedForm_RefusedUnread(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		// 100 MiB of zeros, compressed twice into less than 10 KiB.
		var bomb bytes.Buffer
		outer := gzip.NewWriter(&bomb)
		inner := gzip.NewWriter(outer)
		_, err := io.CopyN(inner, zeros{}, 100<<20)
		require.NoError(t, err)
		require.NoError(t, errors.Join(inner.Close(), outer.Close()))
		require.Less(t, bomb.Len(), 10<<10)
		for _, path := range []string{"/oauth/token", "/oauth/revoke", "/oauth/introspect"} {
			for _, encodings := range [][]string{{"gzip, gzip"}, {"gzip"}, {"br"}, {"", "gzip"}} {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.url+path, bytes.NewReader(bomb.Bytes()))
				require.NoError(t, err)
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				r.Header["Content-Encoding"] = encodings
				res := (&client{t: t, server: server}).do(r)
				require.Equal(t, 400, res.status, "%s %q: %s", path, encodings, res.raw)
				require.Equal(t, "invalid_request", res.text("error"))
			}
		}
	})
}

// zeros is an endless io.Reader of zero bytes.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestOAuth_InvalidRequestOfGuest_SignsInFirst checks that users are not redirected to a
// client, even with an error, before they have signed in.
func TestOAuth_InvalidRequestOfGuest_SignsInFirst(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		p := server.thirdParty(t, nil)
		link := strings.Replace(p.authorizationPath(oauth2.GenerateVerifier()), "response_type=code", "response_type=token", 1)
		browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		res, err := browser.Get(server.url + link)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusSeeOther, res.StatusCode)
		require.True(t, strings.HasPrefix(res.Header.Get("Location"), "/developers/sign-in?next="), res.Header.Get("Location"))
	})
}
