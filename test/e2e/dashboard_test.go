package e2e

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	appLink   = regexp.MustCompile(`/developers/apps/[0-9a-f-]{36}`)
	shownOnce = regexp.MustCompile(`<code class="secret">(loc_(?:cs|live)_[0-9A-Za-z]+)</code>`)
)

func TestTheDashboardKeepsApplicationsWithoutScript(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		t.Run("what a developer does from the first application to the first call, and to its end", func(t *testing.T) {
			t.Parallel()
			me := w.seeker(t)
			b := w.signedIn(t, me)
			require.Contains(t, b.open("GET", "/developers", nil).text, "A new application")

			made := b.open("POST", "/developers/apps", url.Values{"name": {`Ward <b>"Finder"</b>`}, "redirectUris": {"https://a.example.com/cb\r\n\r\n http://127.0.0.1/cb "}})
			require.Equal(t, 200, made.status)
			require.Equal(t, "no-store", made.header.Get("Cache-Control"))
			secret := shownOnce.FindStringSubmatch(made.text)
			require.NotNil(t, secret, made.text)
			require.NotContains(t, made.text, "<b>")
			path := appLink.FindString(made.text)
			one := b.open("GET", path, nil)
			require.Contains(t, html.UnescapeString(one.text), `Ward <b>"Finder"</b>`)
			require.Contains(t, one.text, "https://a.example.com/cb\nhttp://127.0.0.1/cb")
			require.NotContains(t, one.text, secret[1])

			keyed := b.open("POST", path+"/keys", url.Values{"name": {"Production"}})
			key := shownOnce.FindStringSubmatch(keyed.text)
			require.NotNil(t, key, keyed.text)
			call := func() int {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/api/v1/jobs", nil)
				require.NoError(t, err)
				r.Header.Set("X-API-Key", key[1])
				answer, err := http.DefaultClient.Do(r)
				require.NoError(t, err)
				_ = answer.Body.Close()
				return answer.StatusCode
			}
			require.Equal(t, 200, call())
			require.Contains(t, b.open("GET", path, nil).text, "59 of 60 are left")

			require.Equal(t, 303, b.open("POST", path, url.Values{"name": {"Bed Finder"}, "description": {"Finds beds"}, "redirectUris": {""}}).status)
			require.Contains(t, b.open("GET", "/developers", nil).text, "Bed Finder")
			wrong := b.open("POST", path, url.Values{"name": {"Bed Finder"}, "redirectUris": {"ftp://x"}})
			require.Equal(t, 400, wrong.status)
			require.Contains(t, wrong.text, "Redirect addresses must be")
			require.Equal(t, 400, b.open("POST", path+"/keys", url.Values{"name": {" "}}).status)
			require.Equal(t, 400, b.open("POST", "/developers/apps", url.Values{"name": {""}}).status)

			require.Equal(t, 400, b.open("POST", path+"/plan", url.Values{"plan": {"professional"}, "paymentMethodId": {"pm_card_declined"}}).status)
			require.Equal(t, 303, b.open("POST", path+"/plan", url.Values{"plan": {"professional"}, "paymentMethodId": {"pm_card_visa"}}).status)
			require.Contains(t, b.open("GET", path, nil).text, "of 300 are left")
			rotated := shownOnce.FindStringSubmatch(b.open("POST", path+"/secret", url.Values{}).text)
			require.NotNil(t, rotated)
			require.NotEqual(t, secret[1], rotated[1])

			end := regexp.MustCompile(`/developers/apps/[0-9a-f-]+/keys/[0-9a-f-]+/delete`).FindString(b.open("GET", path, nil).text)
			require.Equal(t, 303, b.open("POST", end, url.Values{}).status)
			require.Equal(t, 401, call())
			require.Equal(t, 303, b.open("POST", path+"/delete", url.Values{}).status)
			require.Equal(t, 404, b.open("GET", path, nil).status)
		})
		t.Run("somebody else's application is not there, and nobody acts from another site or without signing in", func(t *testing.T) {
			t.Parallel()
			mine := w.signedIn(t, w.seeker(t))
			path := appLink.FindString(mine.open("POST", "/developers/apps", url.Values{"name": {"Mine"}}).text)
			other := w.signedIn(t, w.employer(t))
			require.NotContains(t, other.open("GET", "/developers", nil).text, "Mine")
			for _, at := range []string{path, path + "/secret", path + "/keys", path + "/plan", path + "/delete", "/developers/apps/nonsense"} {
				values := url.Values{"name": {"Theirs"}, "plan": {"free"}}
				require.Equal(t, 404, other.open("POST", at, values).status, at)
				if strings.HasPrefix(at, path) {
					other.site = "cross-site"
					require.Equal(t, 403, other.open("POST", at, values).status, at)
					other.site = "same-origin"
				}
				away := w.browser(t).open("POST", at, values)
				require.Equal(t, 303, away.status, at)
				require.Contains(t, away.header.Get("Location"), "/developers/sign-in")
			}
			require.Equal(t, 404, other.open("GET", path, nil).status)
			require.Contains(t, mine.open("GET", path, nil).text, "<h1>Mine</h1>")
			require.Equal(t, "/developers/sign-in?next="+url.QueryEscape(path), w.browser(t).open("GET", path, nil).header.Get("Location"))
		})
	})
}
