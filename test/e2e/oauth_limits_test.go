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

// callFrom posts the values to an endpoint as the client with the secret, from the IP address.
// Without a secret, it sends the id as a public client does.
func (p *thirdParty) callFrom(t *testing.T, ip, path, secret string, values url.Values) *response {
	t.Helper()

	if secret == "" {
		values.Set("client_id", p.ClientID)
	}

	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.server.url+path, strings.NewReader(values.Encode()))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("X-Forwarded-For", ip)

	if secret != "" {
		request.SetBasicAuth(p.ClientID, secret)
	}

	return (&client{t: t, server: p.server}).do(request)
}

// TestOAuth_GuessedClientSecrets_RateLimited checks that client secrets cannot be guessed: 60
// failures a minute block the client at the address, but not the client elsewhere, other
// clients at the address or public clients.
func TestOAuth_GuessedClientSecrets_RateLimited(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("limited to sixty failures a minute", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, confidentialClient)
			publicParty := server.thirdParty(t, publicClient)
			endpoints := []string{"/oauth/token", "/oauth/introspect", "/oauth/revoke"} // one limit for all of them
			token := party.tokens(t)

			ip := server.guest(t).ip

			// 60 different wrong secrets, at each endpoint in turn, are all refused as wrong.
			for i := range 60 {
				res := party.callFrom(t, ip, endpoints[i%len(endpoints)], "loc_cs_wrong"+strconv.Itoa(i), refreshGrant("x"))
				require.Equal(t, 401, res.status, "%s", res.raw)
				require.Equal(t, "invalid_client", res.text("error"))
			}

			if server.countsLocally() { // the failures may have been counted in two places
				return
			}

			// The right secret is refused too, or the response would confirm a right guess.
			for _, secret := range []string{"wrong", party.ClientSecret} {
				for _, path := range endpoints {
					values := refreshGrant(token.RefreshToken)
					values.Set("token", token.AccessToken)

					refused := party.callFrom(t, ip, path, secret, values)
					require.Equal(t, 429, refused.status, "%s", refused.raw)
					require.Equal(t, "temporarily_unavailable", refused.text("error"))
					require.NotEmpty(t, refused.text("error_description"))
					require.Equal(t, "no-store", refused.header.Get("Cache-Control"))

					wait, err := strconv.Atoi(refused.header.Get("Retry-After"))
					require.NoError(t, err)
					require.GreaterOrEqual(t, wait, 1)
					require.LessOrEqual(t, wait, 60)
				}
			}

			require.True(t, party.isActive(t, token.AccessToken), "nothing was revoked, and from another address the client is not limited")

			otherParty := server.thirdParty(t, nil)
			require.Equal(t, 200,
				otherParty.callFrom(t, ip, "/oauth/introspect", otherParty.ClientSecret, url.Values{"token": {"x"}}).status,
				"another client at the address")

			// Clients at the same address cannot lock out a public client,
			// which has no secret.
			require.Equal(t, 400, publicParty.callFrom(t, ip, "/oauth/token", "", refreshGrant("x")).status)
		})

		t.Run("correct secret is not limited", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, nil)

			ip := server.guest(t).ip
			for range 150 { // more than the 60 failures that are allowed
				res := party.callFrom(t, ip, "/oauth/token", party.ClientSecret, codeGrant("expired", oauth2.GenerateVerifier()))
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
			// The last case sends the header twice, the first time without a value.
			for _, encodings := range [][]string{{"gzip, gzip"}, {"gzip"}, {"br"}, {"", "gzip"}} {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.url+path, bytes.NewReader(bomb.Bytes()))
				require.NoError(t, err)
				request.Header.Set("Content-Type", "application/x-www-form-urlencoded")

				request.Header["Content-Encoding"] = encodings
				res := (&client{t: t, server: server}).do(request)
				require.Equal(t, 400, res.status, "%s %q: %s", path, encodings, res.raw)
				require.Equal(t, "invalid_request", res.text("error"))
			}
		}
	})
}

// zeros is an endless io.Reader of zero bytes.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestOAuth_InvalidRequestOfGuest_SignsInFirst checks that users are not redirected to a
// client, even with an error, before they have signed in.
func TestOAuth_InvalidRequestOfGuest_SignsInFirst(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		party := server.thirdParty(t, nil)
		link := strings.Replace(party.authorizationPath(oauth2.GenerateVerifier()), "response_type=code", "response_type=token", 1)

		// The request has an unsupported response_type, about which a signed-in user would be redirected to the client.
		withoutRedirects := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		res, err := withoutRedirects.Get(server.url + link)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusSeeOther, res.StatusCode)
		require.True(t, strings.HasPrefix(res.Header.Get("Location"), "/developers/sign-in?next="), res.Header.Get("Location"))
	})
}
