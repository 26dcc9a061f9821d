package e2e

import (
	"html"
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	// appLink matches the path of an app's page.
	appLink = regexp.MustCompile(`/developers/apps/[0-9a-f-]{36}`)
	// keyDeletion matches the path of the form that deletes an API key.
	keyDeletion = regexp.MustCompile(`/developers/apps/[0-9a-f-]{36}/keys/[0-9a-f-]{36}/delete`)
	// onceField matches the hidden field of a form with a random value. The server executes only one of
	// several equal forms with the same value, as a double click sends them.
	onceField = regexp.MustCompile(`name="once" value="([A-Z2-7]{26})"`)
	// shownOnce matches a client secret or an API key, which is shown only when it is created.
	shownOnce = regexp.MustCompile(`<code class="secret">(loc_(?:cs|live)_[0-9A-Za-z]+)</code>`)
)

// secretOn returns the client secret or API key that the page shows.
func secretOn(t *testing.T, page pageView) string {
	t.Helper()

	shown := shownOnce.FindStringSubmatch(page.text)
	require.NotNil(t, shown, page.text)

	return shown[1]
}

// newAppPath creates an app with the form of the dashboard, and returns the path of its page.
func (b *browser) newAppPath(name string) string {
	b.T.Helper()
	return appLink.FindString(b.open("POST", "/developers/apps", url.Values{"name": {name}}).text)
}

// requirePostRefused sends a form for a resource that is not the signed-in user's, and requires that the
// resource is not found. It requires that the form is refused from another site, and that a signed-out
// user is redirected to the sign-in.
func (b *browser) requirePostRefused(path string, values url.Values) {
	b.T.Helper()
	require.Equal(b.T, 404, b.open("POST", path, values).status, path)

	b.Site = "cross-site"
	require.Equal(b.T, 403, b.open("POST", path, values).status, path)

	b.Site = "same-origin"
	signedOut := b.server.browser(b.T).open("POST", path, values)
	require.Equal(b.T, 303, signedOut.status, path)
	require.Contains(b.T, signedOut.header.Get("Location"), "/developers/sign-in")
}

// TestDashboard_Applications_WithoutScript checks the dashboard on which developers manage their apps, whose
// forms need no script. The subtests check the life cycle of an app with its keys and plan, secrets that
// are shown once, forms that are executed once, and users who must not use a form.
func TestDashboard_Applications_WithoutScript(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("life cycle of an app", func(t *testing.T) {
			t.Parallel()

			app := createAppOnDashboard(t, server)
			app.createKey()
			app.change()
			app.requireInvalidInputRefused()
			app.choosePlan()
			app.replaceSecret()
			app.deleteKey()
			app.delete()
		})

		t.Run("repeated form is executed once", func(t *testing.T) {
			t.Parallel()

			browser := server.signedIn(t, server.seeker(t))

			// A new app.
			dashboard := browser.open("GET", "/developers", nil)
			newApp := url.Values{"name": {"Ward Finder"}, "once": {onceOn(t, dashboard)}}
			appCreated := browser.requireExecutedOnce("/developers/apps", newApp)
			require.Len(t, appLink.FindAllString(browser.open("GET", "/developers", nil).text, -1), 1)

			// A form with other values is another request, and so is the same form of another user.
			newApp.Set("name", "Bed Finder")
			require.Equal(t, 200, browser.open("POST", "/developers/apps", newApp).status)

			otherUsersBrowser := server.signedIn(t, server.seeker(t))
			require.Equal(t, 200, otherUsersBrowser.open("POST", "/developers/apps", newApp).status)

			// A new API key. A refused form is not an execution.
			path := appLink.FindString(appCreated.text)
			require.Equal(t, 400, browser.open("POST", path+"/keys", url.Values{"name": {""}, "once": {"x"}}).status)

			newKey := url.Values{"name": {"Production"}, "once": {onceOn(t, appCreated)}}
			keyCreated := browser.requireExecutedOnce(path+"/keys", newKey)
			require.Len(t, keyDeletion.FindAllString(browser.open("GET", path, nil).text, -1), 1)

			// A new secret of the app.
			secretReplaced := browser.requireExecutedOnce(path+"/secret", url.Values{"once": {onceOn(t, keyCreated)}})

			// A new webhook, and a new secret of the webhook.
			newWebhook := url.Values{
				"url":    {"https://x.example/"},
				"events": {"job.closed"},
				"once":   {onceOn(t, secretReplaced)},
			}
			webhookCreated := browser.requireExecutedOnce(path+"/webhooks", newWebhook)
			require.Len(t, hookLink.FindAllString(browser.open("GET", path, nil).text, -1), 1)

			webhookPath := hookLink.FindString(webhookCreated.text)
			browser.requireExecutedOnce(webhookPath+"/secret", url.Values{"once": {onceOn(t, webhookCreated)}})
		})

		t.Run("form of another user, another site or a signed-out user is refused", func(t *testing.T) {
			t.Parallel()

			owner, other := server.signedIn(t, server.seeker(t)), server.signedIn(t, server.employer(t))
			path := owner.newAppPath("Mine")

			require.NotContains(t, other.open("GET", "/developers", nil).text, "Mine")

			values := url.Values{"name": {"Theirs"}, "plan": {"free"}}
			for _, form := range []string{
				path, path + "/secret", path + "/keys", path + "/plan", path + "/delete",
				"/developers/apps/nonsense",
			} {
				other.requirePostRefused(form, values)
			}

			require.Equal(t, 404, other.open("GET", path, nil).status)
			require.Contains(t, owner.open("GET", path, nil).text, "<h1>Mine</h1>")

			signedOut := server.browser(t).open("GET", path, nil)
			require.Equal(t, "/developers/sign-in?next="+url.QueryEscape(path), signedOut.header.Get("Location"))
		})
	})
}

// onceOn returns the value of the hidden field that identifies the next form of the page. The form is executed
// once, however often it is sent with this value.
func onceOn(t *testing.T, page pageView) string {
	t.Helper()

	field := onceField.FindStringSubmatch(page.text)
	require.NotNil(t, field, page.text)

	return field[1]
}

// requireExecutedOnce sends a form twice at the same time, as a double click does, and a third time,
// as a reload does. It requires that the form is executed once, and returns the response of the
// execution. The others redirect to the page of the new resource, which does not show its secret.
func (b *browser) requireExecutedOnce(path string, form url.Values) (executed pageView) {
	b.T.Helper()

	responses := make(chan pageView, 2)
	for range 2 {
		go func() { responses <- b.open("POST", path, form) }()
	}

	// The responses are in any order.
	executed, repeated := <-responses, <-responses
	if executed.status != 200 {
		executed, repeated = repeated, executed
	}

	require.Equal(b.T, 200, executed.status, executed.text)

	reloaded := b.open("POST", path, form)
	createdAt := regexp.QuoteMeta(executed.header.Get("Content-Location"))

	for _, repetition := range []pageView{repeated, reloaded} {
		require.Regexp(b.T, createdAt+`\?notice=again$`, repetition.header.Get("Location"))

		page := b.follow(repetition)
		require.Contains(b.T, page.text, "This was done before")
		require.NotRegexp(b.T, shownOnce, page.text)
		require.NotRegexp(b.T, hookSecret, page.text)
	}

	return executed
}

// dashboardApp is an app on the dashboard of its developer. Its methods are the steps of the subtest "life cycle of
// an app".
type dashboardApp struct {
	t       *testing.T
	server  *testServer
	browser *browser // of the developer

	path         string // of the page of the app
	clientSecret string // with which the app was created
	apiKey       string
}

// createAppOnDashboard creates an app. It requires that the secret is on the page after the form only, and that the
// name is escaped.
func createAppOnDashboard(t *testing.T, server *testServer) *dashboardApp {
	t.Helper()

	browser := server.signedIn(t, server.seeker(t))
	require.Contains(t, browser.open("GET", "/developers", nil).text, "New application")

	created := browser.open("POST", "/developers/apps", url.Values{
		"name":         {`Ward <b>"Finder"</b>`},
		"redirectUris": {"https://a.example.com/cb\r\n\r\n http://127.0.0.1/cb "},
	})
	require.Equal(t, 200, created.status)
	require.Equal(t, "no-store", created.header.Get("Cache-Control"))
	require.NotContains(t, created.text, "<b>")

	clientSecret := secretOn(t, created)

	path := appLink.FindString(created.text)
	page := browser.open("GET", path, nil)
	require.Contains(t, html.UnescapeString(page.text), `Ward <b>"Finder"</b>`)
	require.Contains(t, page.text, "https://a.example.com/cb\nhttp://127.0.0.1/cb")
	require.NotContains(t, page.text, clientSecret)

	return &dashboardApp{t: t, server: server, browser: browser, path: path, clientSecret: clientSecret}
}

// statusWithKey returns the status of a request to the API with the key of the app.
func (a *dashboardApp) statusWithKey() int {
	a.t.Helper()
	return a.server.guest(a.t).withKey(a.apiKey).get("/api/v1/jobs").status
}

// createKey creates an API key, and uses it for one of the 60 requests a minute of the free plan.
func (a *dashboardApp) createKey() {
	a.t.Helper()

	a.apiKey = secretOn(a.t, a.browser.open("POST", a.path+"/keys", url.Values{"name": {"Production"}}))
	require.Equal(a.t, 200, a.statusWithKey())
	require.Contains(a.t, a.browser.open("GET", a.path, nil).text, "59 of 60 are left")
}

// change changes the name and the other values of the app.
func (a *dashboardApp) change() {
	a.t.Helper()

	values := url.Values{"name": {"Bed Finder"}, "description": {"Finds beds"}, "redirectUris": {""}}
	require.Equal(a.t, 303, a.browser.open("POST", a.path, values).status)
	require.Contains(a.t, a.browser.open("GET", "/developers", nil).text, "Bed Finder")
}

// requireInvalidInputRefused requires that an address that is no redirect URI, a key without a name and an app
// without a name are refused.
func (a *dashboardApp) requireInvalidInputRefused() {
	a.t.Helper()

	refused := a.browser.open("POST", a.path, url.Values{"name": {"Bed Finder"}, "redirectUris": {"ftp://x"}})
	require.Equal(a.t, 400, refused.status)
	require.Contains(a.t, refused.text, "Redirect addresses must be")
	require.Equal(a.t, 400, a.browser.open("POST", a.path+"/keys", url.Values{"name": {" "}}).status)
	require.Equal(a.t, 400, a.browser.open("POST", "/developers/apps", url.Values{"name": {""}}).status)
}

// choosePlan changes the plan, which needs a payment. The tests' payment provider is a sandbox that declines the
// method pm_card_declined.
func (a *dashboardApp) choosePlan() {
	a.t.Helper()

	pay := func(paymentMethod string) (status int) {
		form := url.Values{"plan": {"professional"}, "paymentMethodId": {paymentMethod}}
		return a.browser.open("POST", a.path+"/plan", form).status
	}
	require.Equal(a.t, 400, pay("pm_card_declined"))
	require.Equal(a.t, 303, pay("pm_card_visa"))
	require.Contains(a.t, a.browser.open("GET", a.path, nil).text, "of 300 are left")
}

// replaceSecret replaces the client secret by another one.
func (a *dashboardApp) replaceSecret() {
	a.t.Helper()

	newSecret := secretOn(a.t, a.browser.open("POST", a.path+"/secret", url.Values{}))
	require.NotEqual(a.t, a.clientSecret, newSecret)
}

// deleteKey deletes the API key, which is refused afterwards.
func (a *dashboardApp) deleteKey() {
	a.t.Helper()

	form := keyDeletion.FindString(a.browser.open("GET", a.path, nil).text)
	require.Equal(a.t, 303, a.browser.open("POST", form, url.Values{}).status)
	require.Equal(a.t, 401, a.statusWithKey())
}

// delete deletes the app.
func (a *dashboardApp) delete() {
	a.t.Helper()
	require.Equal(a.t, 303, a.browser.open("POST", a.path+"/delete", url.Values{}).status)
	require.Equal(a.t, 404, a.browser.open("GET", a.path, nil).status)
}
