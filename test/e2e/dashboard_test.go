package e2e

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// appLink matches the path of an app, onceField the random value of a form that makes it
// idempotent, and shownOnce a secret that is shown only when it is created.
var (
	appLink   = regexp.MustCompile(`/developers/apps/[0-9a-f-]{36}`)
	onceField = regexp.MustCompile(`name="once" value="([A-Z2-7]{26})"`)
	shownOnce = regexp.MustCompile(`<code class="secret">(loc_(?:cs|live)_[0-9A-Za-z]+)</code>`)
)

// requirePostRefused requires that the form is not found for the signed-in user,
// is refused from another site, and redirects a signed-out user to sign in.
func (b *browser) requirePostRefused(path string, values url.Values) {
	b.T.Helper()
	require.Equal(b.T, 404, b.open("POST", path, values).status, path)

	b.Site = "cross-site"
	require.Equal(b.T, 403, b.open("POST", path, values).status, path)

	b.Site = "same-origin"
	away := b.server.browser(b.T).open("POST", path, values)
	require.Equal(b.T, 303, away.status, path)
	require.Contains(b.T, away.header.Get("Location"), "/developers/sign-in")
}

// TestDashboard_Applications_WithoutScript checks the developers' dashboard with plain forms:
// the life cycle of an app with its keys and plan, secrets that are shown once, and forms that
// are executed once.
func TestDashboard_Applications_WithoutScript(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("life cycle of an app", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)
			browser := server.signedIn(t, me)
			require.Contains(t, browser.open("GET", "/developers", nil).text, "A new application")

			made := browser.open("POST", "/developers/apps",
				url.Values{"name": {`Ward <b>"Finder"</b>`}, "redirectUris": {"https://a.example.com/cb\r\n\r\n http://127.0.0.1/cb "}})
			require.Equal(t, 200, made.status)
			require.Equal(t, "no-store", made.header.Get("Cache-Control"))

			secret := shownOnce.FindStringSubmatch(made.text)
			require.NotNil(t, secret, made.text)
			require.NotContains(t, made.text, "<b>")

			path := appLink.FindString(made.text)
			one := browser.open("GET", path, nil)
			require.Contains(t, html.UnescapeString(one.text), `Ward <b>"Finder"</b>`)
			require.Contains(t, one.text, "https://a.example.com/cb\nhttp://127.0.0.1/cb")
			require.NotContains(t, one.text, secret[1]) // it is shown only once

			keyed := browser.open("POST", path+"/keys", url.Values{"name": {"Production"}})
			key := shownOnce.FindStringSubmatch(keyed.text)
			require.NotNil(t, key, keyed.text)

			call := func() int {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.url+"/api/v1/jobs", nil)
				require.NoError(t, err)
				r.Header.Set("X-API-Key", key[1])

				answer, err := http.DefaultClient.Do(r)
				require.NoError(t, err)

				_ = answer.Body.Close()

				return answer.StatusCode
			}

			require.Equal(t, 200, call())

			// One of the plan's 60 requests per minute was used by call.
			require.Contains(t, browser.open("GET", path, nil).text, "59 of 60 are left")

			require.Equal(t, 303,
				browser.open("POST", path, url.Values{"name": {"Bed Finder"}, "description": {"Finds beds"}, "redirectUris": {""}}).status)
			require.Contains(t, browser.open("GET", "/developers", nil).text, "Bed Finder")

			wrong := browser.open("POST", path, url.Values{"name": {"Bed Finder"}, "redirectUris": {"ftp://x"}})
			require.Equal(t, 400, wrong.status)
			require.Contains(t, wrong.text, "Redirect addresses must be")
			require.Equal(t, 400, browser.open("POST", path+"/keys", url.Values{"name": {" "}}).status)
			require.Equal(t, 400, browser.open("POST", "/developers/apps", url.Values{"name": {""}}).status)

			require.Equal(t, 400,
				browser.open("POST", path+"/plan", url.Values{"plan": {"professional"}, "paymentMethodId": {"pm_card_declined"}}).status)
			require.Equal(t, 303,
				browser.open("POST", path+"/plan", url.Values{"plan": {"professional"}, "paymentMethodId": {"pm_card_visa"}}).status)
			require.Contains(t, browser.open("GET", path, nil).text, "of 300 are left")

			rotated := shownOnce.FindStringSubmatch(browser.open("POST", path+"/secret", url.Values{}).text)
			require.NotNil(t, rotated)
			require.NotEqual(t, secret[1], rotated[1])

			end := regexp.MustCompile(`/developers/apps/[0-9a-f-]+/keys/[0-9a-f-]+/delete`).FindString(browser.open("GET", path, nil).text)
			require.Equal(t, 303, browser.open("POST", end, url.Values{}).status)
			require.Equal(t, 401, call())
			require.Equal(t, 303, browser.open("POST", path+"/delete", url.Values{}).status)
			require.Equal(t, 404, browser.open("GET", path, nil).status)
		})

		t.Run("repeated form is executed once", func(t *testing.T) {
			t.Parallel()

			browser := server.signedIn(t, server.seeker(t))
			name := func(page pageView) string {
				found := onceField.FindStringSubmatch(page.text)
				require.NotNil(t, found, page.text)
				return found[1]
			}

			twice := func(at string, values url.Values) (made pageView) {
				t.Helper()

				answers := make(chan pageView, 2) // a double click
				for range 2 {
					go func() { answers <- browser.open("POST", at, values) }()
				}

				made, again := <-answers, <-answers
				if made.status != 200 {
					made, again = again, made
				}

				require.Equal(t, 200, made.status, made.text)

				// The other click, and a reload of the page.
				for _, again := range []pageView{again, browser.open("POST", at, values)} {
					require.Regexp(t, regexp.QuoteMeta(made.header.Get("Content-Location"))+`\?notice=again$`, again.header.Get("Location"))

					page := browser.follow(again)
					require.Contains(t, page.text, "This was done before")
					require.NotRegexp(t, shownOnce, page.text)
					require.NotRegexp(t, hookSecret, page.text)
				}

				return made
			}

			form := url.Values{"name": {"Ward Finder"}, "once": {name(browser.open("GET", "/developers", nil))}}
			made := twice("/developers/apps", form)

			require.Len(t, appLink.FindAllString(browser.open("GET", "/developers", nil).text, -1), 1)
			form.Set("name", "Bed Finder")
			require.Equal(t, 200, browser.open("POST", "/developers/apps", form).status, "a form with other values is another request")

			path := appLink.FindString(made.text)
			require.Equal(t, 400, browser.open("POST", path+"/keys", url.Values{"name": {""}, "once": {"x"}}).status)

			keyed := twice(path+"/keys", url.Values{"name": {"Production"}, "once": {name(made)}})
			require.Len(t, regexp.MustCompile(`/keys/[0-9a-f-]+/delete"`).FindAllString(browser.open("GET", path, nil).text, -1), 1)

			first := twice(path+"/secret", url.Values{"once": {name(keyed)}})
			hooked := twice(path+"/webhooks", url.Values{"url": {"https://x.example/"}, "events": {"job.closed"}, "once": {name(first)}})
			require.Len(t, hookLink.FindAllString(browser.open("GET", path, nil).text, -1), 1)
			twice(hookLink.FindString(hooked.text)+"/secret", url.Values{"once": {name(hooked)}})

			other := server.signedIn(t, server.seeker(t))
			require.Equal(t, 200, other.open("POST", "/developers/apps", form).status, "other users' forms are separate")
		})

		t.Run("other user's app, other site, signed out", func(t *testing.T) {
			t.Parallel()

			mine := server.signedIn(t, server.seeker(t))
			path := appLink.FindString(mine.open("POST", "/developers/apps", url.Values{"name": {"Mine"}}).text)
			other := server.signedIn(t, server.employer(t))
			require.NotContains(t, other.open("GET", "/developers", nil).text, "Mine")

			for _, at := range []string{
				path, path + "/secret", path + "/keys", path + "/plan", path + "/delete",
				"/developers/apps/nonsense",
			} {
				values := url.Values{"name": {"Theirs"}, "plan": {"free"}}
				other.requirePostRefused(at, values)
			}

			require.Equal(t, 404, other.open("GET", path, nil).status)
			require.Contains(t, mine.open("GET", path, nil).text, "<h1>Mine</h1>")
			require.Equal(t, "/developers/sign-in?next="+url.QueryEscape(path),
				server.browser(t).open("GET", path, nil).header.Get("Location"))
		})
	})
}
