package heavy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/locumhq/locum/test/kit"
)

// TestBrowser_Developer does what a developer does, from sign-up to consent, in a
// real browser: with a check of every page, and again without script.
func TestBrowser_Developer(t *testing.T) {
	server := site(t)
	axe := axeCore(t)
	t.Run("every page checked", func(t *testing.T) { checkDashboard(t, server, newBrowser(t, server.url, axe)) })

	t.Run("without script", func(t *testing.T) {
		browser := newBrowser(t, server.url, "")
		_, err := chromedp.Call(browser.ctx, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: true})
		require.NoError(t, err)
		checkDashboard(t, server, browser)
	})

	t.Run("keyboard only", func(t *testing.T) { signUpByKeyboard(t, newBrowser(t, server.url, "")) })
	t.Run("pages of mail links", func(t *testing.T) { checkMailPages(t, newBrowser(t, server.url, axe)) })
	t.Run("error pages", func(t *testing.T) { checkErrorPages(t, newBrowser(t, server.url, axe)) })
}

// signUp fills in the fields of the form for a new account.
func signUp(page *browser, email string) {
	page.t.Helper()
	page.field("name", "Sam Lee")
	page.field("email", email)
	page.field("password", "Night-shift-1")
}

// checkDashboard walks from the sign-up to the first call with a key, the first verified
// webhook, and a complete OAuth flow.
func checkDashboard(t *testing.T, server *testServer, page *browser) {
	t.Helper()

	begun := time.Now()
	var secret atomic.Value
	secret.Store("")
	var answers atomic.Int64
	answers.Store(http.StatusOK)

	// The receiver accepts only deliveries with a valid signature. answers is its status for
	// them.
	receiver := newCallbackServer(t, func(c callback) int {
		if v, err := standardwebhooks.NewWebhook(secret.Load().(string)); err != nil || v.Verify(c.body,
			c.Header) != nil {
			return http.StatusUnauthorized
		}

		return int(answers.Load())
	})

	client := newCallbackServer(t, func(callback) int { return http.StatusOK })

	page.open("/developers")
	page.waitForAddress("/developers/sign-in?next=%2Fdevelopers")
	page.checkPage("sign-in")
	page.follow("Register")
	require.NotContains(t, page.text(), "Organization", "jobseekers have none")
	page.checkPage("sign-up")
	page.check("userType", "employer")
	require.Contains(t, page.text(), "Organization")
	page.check("userType", "jobseeker")

	email := fmt.Sprintf("walk-%d@example.org", time.Now().UnixNano())
	signUp(page, email)
	page.press("Create account")
	page.waitForAddress("/developers")
	require.Contains(t, page.text(), "Your applications")
	page.checkPage("applications-none")

	page.field("name", "Ward Finder")
	page.field("description", "Finds the ward that suits you, and keeps you posted of new ones.")
	page.field("redirectUris", client.URL+"/callback")
	page.press("Create application")
	require.Contains(t, page.text(), "It is shown this once")

	app := evaluate[string](page, `document.querySelector("dd code").innerText`)
	clientSecret := evaluate[string](page, `document.querySelector("code.secret").innerText`)
	page.checkPage("application-new")

	page.field("name", "Production")
	page.press("Create key")
	page.checkPage("application-key")

	// The page shows a command that developers paste into a terminal. It must work unchanged.
	paste := evaluate[string](page, `document.querySelector("pre").innerText`)
	out, err := exec.CommandContext(t.Context(), "bash", "-c",
		strings.Replace(paste, "curl ", "curl -sf ", 1)).CombinedOutput()
	require.NoError(t, err, "%s\n%s", paste, out)
	require.Contains(t, string(out), `"pagination"`)
	t.Logf("the first call after %s", time.Since(begun).Round(time.Millisecond))

	page.open("/developers/apps/" + app)

	for i := range 30 { // a row for each day of the chart
		kit.Exec(
			t,
			server.postgres.URL,
			fmt.Sprintf("INSERT INTO app_usage (app_id, day, requests, errors) VALUES ('%s', '%s', %d, %d) ON CONFLICT DO NOTHING",
				app, time.Now().UTC().AddDate(0, 0, -i-1).Format(time.DateOnly), 1000+i*300, 10+i*7),
		)
	}

	page.field("url",
		receiver.URL+"/hooks/a-rather-long-path-that-has-to-be-broken-somewhere/because-it-is-wider-than-a-telephone")
	page.check("events", "job.created")
	page.check("events", "application.status_changed")
	page.press("Add the webhook")

	shown := evaluate[string](page, `document.querySelector("code.secret").innerText`)
	require.True(t, strings.HasPrefix(shown, "whsec_"), shown)
	secret.Store(shown)
	page.checkPage("webhook-new")
	page.press("Send")
	page.waitForText("Accepted with status 200")
	t.Logf("the first verified webhook after %s", time.Since(begun).Round(time.Millisecond))
	page.checkPage("webhook-delivered")

	hook := strings.Split(page.path(), "?")[0]
	page.leads(chromedp.Click(`//main//a[contains(., "What was sent")]`))
	require.Contains(t, page.text(), "webhook-signature: v1,")
	page.checkPage("delivery")
	page.open(hook + "?open=" + strings.Split(page.path(), "/deliveries/")[1])
	page.press("Replay")
	page.leads(chromedp.Click(`//main//a[contains(., "What was sent")]`))
	page.press("Replay")
	require.Contains(t, page.text(), "It is sent once more.")
	page.checkPage("delivery-replayed")

	// A replay has the id of the first delivery, so that receivers can ignore it.
	hits := receiver.waitFor(3)
	require.Equal(t, hits[0].Header.Get("Webhook-Id"), hits[1].Header.Get("Webhook-Id"))
	require.Equal(t, hits[0].Header.Get("Webhook-Id"), hits[2].Header.Get("Webhook-Id"))
	page.open(hook)
	answers.Store(http.StatusServiceUnavailable)
	page.press("Send")
	page.waitForText("Answered with status 503")
	require.Contains(t, page.text(), "Active, failing")
	page.checkPage("webhook-failing")
	page.open("/developers/apps/" + app)
	page.do(chromedp.Click(chromedp.CSS("td summary")),
		chromedp.WaitVisible(`//button[normalize-space()="Delete Production"]`))
	page.checkPage("application-used")
	page.open(hook)
	page.press("Pause")
	page.checkPage("webhook-paused")

	// Consent, from sign-in to revocation.
	config := oauth2.Config{
		ClientID:     app,
		ClientSecret: clientSecret,
		RedirectURL:  client.URL + "/callback",
		Scopes:       []string{"jobs:read", "applications:read", "applications:write"},
		Endpoint: oauth2.Endpoint{
			AuthURL:   server.url + "/oauth/authorize",
			TokenURL:  server.url + "/oauth/token",
			AuthStyle: oauth2.AuthStyleInHeader,
		},
	}
	verifier := oauth2.GenerateVerifier()
	ask := config.AuthCodeURL("the state", oauth2.S256ChallengeOption(verifier))

	page.leads(chromedp.Click(`//header//button[normalize-space()="Sign out"]`))
	page.open(ask)
	page.field("email", email)
	page.field("password", "Night-shift-1")
	page.press("Sign in")
	page.waitForAddress("/oauth/authorize")
	page.checkPage("consent")
	page.press("Do not allow")
	page.waitForAddress(client.URL + "/callback?")
	require.Contains(t, page.path(), "error=access_denied")
	page.open(ask)
	page.press("Allow")
	page.waitForAddress(client.URL + "/callback?")

	back, err := url.Parse(page.path())
	require.NoError(t, err)
	require.Equal(t, "the state", back.Query().Get("state"))

	ctx := context.WithValue(t.Context(), oauth2.HTTPClient, http.DefaultClient)
	token, err := config.Exchange(ctx, back.Query().Get("code"), oauth2.VerifierOption(verifier))
	require.NoError(t, err)

	call := func() int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.url+"/api/v1/applications", nil)
		require.NoError(t, err)
		token.SetAuthHeader(r)

		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)

		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()

		return answer.StatusCode
	}

	require.Equal(t, 200, call())

	// A granted consent is not requested again, not even after a sign-in.
	page.open("/developers/consents")
	page.checkPage("consents")
	page.leads(chromedp.Click(`//header//button[normalize-space()="Sign out"]`))
	page.open(ask)
	page.field("email", email)
	page.field("password", "Night-shift-1")
	page.press("Sign in")
	page.waitForAddress(client.URL + "/callback?")
	require.Contains(t, page.path(), "code=")
	page.open("/developers/consents")
	page.press("Take this back")
	require.Contains(t, page.text(), "No application may do anything in your name")
	page.checkPage("consents-none")
	require.Equal(t, 401, call())
	page.requireNoErrors()

	page.open("/developers")
	page.checkPage("applications")
	page.open("/docs/guides")

	if page.axe != "" { // without script there is nothing to press
		page.do(
			chromedp.Click(`(//main//button[normalize-space()="Copy"])[1]`),
			chromedp.WaitVisible(`//button[normalize-space()="Copied"]`),
		)
	}

	page.checkPage("guide-quick-start")

	for _, name := range []string{"webhooks", "pages", "limits", "errors", "oauth", "changelog"} {
		page.open("/docs/guides/" + name)
		page.checkPage("guide-" + name)
	}

	page.requireNoErrors()
}

// checkMailPages checks the pages that mails link to.
func checkMailPages(t *testing.T, page *browser) {
	t.Helper()
	page.open("/developers/sign-in")
	page.follow("Forgotten your password?")
	page.checkPage("forgot-password")
	page.field("email", "nobody@example.org")
	page.press("Send me a link")

	// The response is the same for an address without an account, which must not be revealed.
	require.Contains(t, page.text(), "If the address has an account")
	page.checkPage("forgot-password-sent")

	for _, name := range []string{"reset-password", "verify-email", "accept-invitation"} {
		page.open("/" + name + "?token=loc_mt_nonsense")
		page.checkPage(name)
	}

	page.open("/reset-password?token=loc_mt_nonsense")
	page.field("password", "Night-shift-2")
	page.press("Set password")
	require.Contains(t, page.text(), "This link is not valid any more")
	page.checkPage("reset-password-refused")
}

// signUpByKeyboard signs up and creates an app with a key without a mouse.
func signUpByKeyboard(t *testing.T, page *browser) {
	t.Helper()
	page.open("/developers/sign-up")
	page.key(kb.Tab)
	require.Equal(t, "Skip to main content", evaluate[string](page, "document.activeElement.innerText"))
	page.tabTo(`[name="name"]`)
	page.key("Sam Lee")
	page.tabTo(`[name="email"]`)
	page.key(fmt.Sprintf("keys-%d@example.org", time.Now().UnixNano()))
	page.tabTo(`[name="password"]`)
	page.key("Night-shift-1")
	page.tabTo(`[name="userType"]`)
	page.key(kb.ArrowDown)
	require.True(t, evaluate[bool](page, `document.querySelector('[value="employer"]').checked`))
	page.tabTo(`[name="companyName"]`)
	page.key("St Brigid's Hospital")
	page.tabTo(`main button`)
	page.leads(chromedp.KeyEvent(kb.Enter))
	page.waitForAddress("/developers")
	page.tabTo(`main [name="name"]`)
	page.key("Ward Finder")
	page.leads(chromedp.KeyEvent(kb.Enter))
	page.tabTo(`main form[action$="/keys"] [name="name"]`)
	page.key("Production")
	page.tabTo(`main form[action$="/keys"] button`)
	page.leads(chromedp.KeyEvent(kb.Enter))
	require.Contains(t, page.text(), "This is the key")
	require.Equal(t, 1, evaluate[int](page, `(() => {
		const form = document.querySelector('form[action$="/keys"]');
		let sent = 0;
		form.addEventListener("submit", (event) => { sent += event.defaultPrevented ? 0 : 1; event.preventDefault(); });
		form.elements.name.value = "Staging";
		form.requestSubmit();
		form.requestSubmit();
		return sent;
	})()`), "a second submission is suppressed: its response would not show the key")
	page.requireNoErrors()
}

// checkErrorPages checks the pages that report errors.
func checkErrorPages(t *testing.T, page *browser) {
	t.Helper()
	page.open("/developers/sign-up")
	signUp(page, "nobody@example")
	page.check("userType", "employer")
	page.press("Create account")
	require.Contains(t, page.text(), "Organization is required")
	page.checkPage("sign-up-refused")
	page.open("/developers/sign-in")
	page.field("email", "nobody@example.org")
	page.field("password", "Night-shift-2")
	page.press("Sign in")
	page.checkPage("sign-in-refused")
	page.open("/developers/sign-up")
	signUp(page, fmt.Sprintf("refused-%d@example.org", time.Now().UnixNano()))
	page.press("Create account")
	page.waitForAddress("/developers")
	page.field("name", "Ward Finder")
	page.field("redirectUris", "ftp://nowhere.example/")
	page.press("Create application")
	page.checkPage("applications-refused")
	page.field("redirectUris", "https://wardfinder.example.com/callback")
	page.press("Create application")
	page.field("url", "https://10.0.0.1/")
	page.press("Add the webhook")
	page.checkPage("application-webhook-refused")
	page.open("/developers/apps/nothing")
	page.checkPage("absent")
	page.open("/oauth/authorize?client_id=nonsense&response_type=code")
	page.checkPage("authorize-refused")
	page.requireNoErrors("400", "404")
}
