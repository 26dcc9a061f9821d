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
		_, err := chromedp.Call(browser.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		require.NoError(t, err)
		checkDashboard(t, server, browser)
	})
	t.Run("keyboard only", func(t *testing.T) { signUpByKeyboard(t, newBrowser(t, server.url, "")) })
	t.Run("pages of mail links", func(t *testing.T) { checkMailPages(t, newBrowser(t, server.url, axe)) })
	t.Run("error pages", func(t *testing.T) { checkErrorPages(t, newBrowser(t, server.url, axe)) })
}

func signUp(p *browser, email string) {
	p.t.Helper()
	p.field("name", "Sam Lee")
	p.field("email", email)
	p.field("password", "Night-shift-1")
}

func checkDashboard(t *testing.T, server *testServer, p *browser) {
	t.Helper()
	begun := time.Now()
	var secret atomic.Value
	secret.Store("")
	var answers atomic.Int64
	answers.Store(http.StatusOK)
	receiver := newElsewhere(t, func(c callback) int {
		if v, err := standardwebhooks.NewWebhook(secret.Load().(string)); err != nil || v.Verify(c.body, c.Header) != nil {
			return http.StatusUnauthorized
		}
		return int(answers.Load())
	})
	client := newElsewhere(t, func(callback) int { return http.StatusOK })

	p.open("/developers")
	p.waitForAddress("/developers/sign-in?next=%2Fdevelopers")
	p.checkPage("sign-in")
	p.follow("Register")
	require.NotContains(t, p.text(), "Organization", "jobseekers have none")
	p.checkPage("sign-up")
	p.check("userType", "employer")
	require.Contains(t, p.text(), "Organization")
	p.check("userType", "jobseeker")
	email := fmt.Sprintf("walk-%d@example.org", time.Now().UnixNano())
	signUp(p, email)
	p.press("Create account")
	p.waitForAddress("/developers")
	require.Contains(t, p.text(), "Your applications")
	p.checkPage("applications-none")

	p.field("name", "Ward Finder")
	p.field("description", "Finds the ward that suits you, and keeps you posted of new ones.")
	p.field("redirectUris", client.URL+"/callback")
	p.press("Make the application")
	require.Contains(t, p.text(), "It is shown this once")
	app := evaluate[string](p, `document.querySelector("dd code").innerText`)
	clientSecret := evaluate[string](p, `document.querySelector("code.secret").innerText`)
	p.checkPage("application-new")

	p.field("name", "Production")
	p.press("Make a key")
	p.checkPage("application-key")
	paste := evaluate[string](p, `document.querySelector("pre").innerText`)
	out, err := exec.CommandContext(t.Context(), "bash", "-c", strings.Replace(paste, "curl ", "curl -sf ", 1)).CombinedOutput()
	require.NoError(t, err, "%s\n%s", paste, out)
	require.Contains(t, string(out), `"pagination"`)
	t.Logf("the first call after %s", time.Since(begun).Round(time.Millisecond))

	p.open("/developers/apps/" + app)
	for i := range 30 { // what there is after a month of use
		kit.Exec(t, server.pg.URL, fmt.Sprintf("INSERT INTO app_usage (app_id, day, requests, errors) VALUES ('%s', '%s', %d, %d) ON CONFLICT DO NOTHING",
			app, time.Now().UTC().AddDate(0, 0, -i-1).Format(time.DateOnly), 1000+i*300, 10+i*7))
	}
	p.field("url", receiver.URL+"/hooks/a-rather-long-path-that-has-to-be-broken-somewhere/because-it-is-wider-than-a-telephone")
	p.check("events", "job.created")
	p.check("events", "application.status_changed")
	p.press("Add the webhook")
	shown := evaluate[string](p, `document.querySelector("code.secret").innerText`)
	require.True(t, strings.HasPrefix(shown, "whsec_"), shown)
	secret.Store(shown)
	p.checkPage("webhook-new")
	p.press("Send")
	p.waitForText("Accepted with status 200")
	t.Logf("the first verified webhook after %s", time.Since(begun).Round(time.Millisecond))
	p.checkPage("webhook-delivered")
	hook := strings.Split(p.path(), "?")[0]
	p.leads(chromedp.Click(`//main//a[contains(., "What was sent")]`))
	require.Contains(t, p.text(), "webhook-signature: v1,")
	p.checkPage("delivery")
	p.open(hook + "?open=" + strings.Split(p.path(), "/deliveries/")[1])
	p.press("Replay")
	p.leads(chromedp.Click(`//main//a[contains(., "What was sent")]`))
	p.press("Replay")
	require.Contains(t, p.text(), "It is sent once more.")
	p.checkPage("delivery-replayed")
	hits := receiver.waitFor(3)
	require.Equal(t, hits[0].Header.Get("Webhook-Id"), hits[1].Header.Get("Webhook-Id"))
	require.Equal(t, hits[0].Header.Get("Webhook-Id"), hits[2].Header.Get("Webhook-Id"))
	p.open(hook)
	answers.Store(http.StatusServiceUnavailable)
	p.press("Send")
	p.waitForText("Answered with status 503")
	require.Contains(t, p.text(), "Active, failing")
	p.checkPage("webhook-failing")
	p.open("/developers/apps/" + app)
	p.do(chromedp.Click(chromedp.CSS("td summary")), chromedp.WaitVisible(`//button[normalize-space()="Delete Production"]`))
	p.checkPage("application-used")
	p.open(hook)
	p.press("Pause")
	p.checkPage("webhook-paused")

	// Consent, from sign-in to revocation.
	config := oauth2.Config{ClientID: app, ClientSecret: clientSecret, RedirectURL: client.URL + "/callback", Scopes: []string{"jobs:read", "applications:read", "applications:write"},
		Endpoint: oauth2.Endpoint{AuthURL: server.url + "/oauth/authorize", TokenURL: server.url + "/oauth/token", AuthStyle: oauth2.AuthStyleInHeader}}
	verifier := oauth2.GenerateVerifier()
	ask := config.AuthCodeURL("the state", oauth2.S256ChallengeOption(verifier))
	p.leads(chromedp.Click(`//header//button[normalize-space()="Sign out"]`))
	p.open(ask)
	p.field("email", email)
	p.field("password", "Night-shift-1")
	p.press("Sign in")
	p.waitForAddress("/oauth/authorize")
	p.checkPage("consent")
	p.press("Do not allow")
	p.waitForAddress(client.URL + "/callback?")
	require.Contains(t, p.path(), "error=access_denied")
	p.open(ask)
	p.press("Allow")
	p.waitForAddress(client.URL + "/callback?")
	back, err := url.Parse(p.path())
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
	p.open("/developers/consents")
	p.checkPage("consents")
	p.leads(chromedp.Click(`//header//button[normalize-space()="Sign out"]`))
	p.open(ask)
	p.field("email", email)
	p.field("password", "Night-shift-1")
	p.press("Sign in")
	p.waitForAddress(client.URL + "/callback?")
	require.Contains(t, p.path(), "code=")
	p.open("/developers/consents")
	p.press("Take this back")
	require.Contains(t, p.text(), "No application may do anything in your name")
	p.checkPage("consents-none")
	require.Equal(t, 401, call())
	p.requireNoErrors()

	p.open("/developers")
	p.checkPage("applications")
	p.open("/docs/guides")
	if p.axe != "" { // without script there is nothing to press
		p.do(chromedp.Click(`(//main//button[normalize-space()="Copy"])[1]`), chromedp.WaitVisible(`//button[normalize-space()="Copied"]`))
	}
	p.checkPage("guide-quick-start")
	for _, name := range []string{"webhooks", "pages", "limits", "errors", "oauth", "changelog"} {
		p.open("/docs/guides/" + name)
		p.checkPage("guide-" + name)
	}
	p.requireNoErrors()
}

// checkMailPages checks the pages that mails link to.
func checkMailPages(t *testing.T, p *browser) {
	t.Helper()
	p.open("/developers/sign-in")
	p.follow("Forgotten your password?")
	p.checkPage("forgot-password")
	p.field("email", "nobody@example.org")
	p.press("Send me a link")
	require.Contains(t, p.text(), "If the address has an account")
	p.checkPage("forgot-password-sent")
	for _, name := range []string{"reset-password", "verify-email", "accept-invitation"} {
		p.open("/" + name + "?token=loc_mt_nonsense")
		p.checkPage(name)
	}
	p.open("/reset-password?token=loc_mt_nonsense")
	p.field("password", "Night-shift-2")
	p.press("Set password")
	require.Contains(t, p.text(), "This link is not valid any more")
	p.checkPage("reset-password-refused")
}

// signUpByKeyboard signs up and creates an app with a key without a mouse.
func signUpByKeyboard(t *testing.T, p *browser) {
	t.Helper()
	p.open("/developers/sign-up")
	p.key(kb.Tab)
	require.Equal(t, "Skip to main content", evaluate[string](p, "document.activeElement.innerText"))
	p.tabTo(`[name="name"]`)
	p.key("Sam Lee")
	p.tabTo(`[name="email"]`)
	p.key(fmt.Sprintf("keys-%d@example.org", time.Now().UnixNano()))
	p.tabTo(`[name="password"]`)
	p.key("Night-shift-1")
	p.tabTo(`[name="userType"]`)
	p.key(kb.ArrowDown)
	require.True(t, evaluate[bool](p, `document.querySelector('[value="employer"]').checked`))
	p.tabTo(`[name="companyName"]`)
	p.key("St Brigid's Hospital")
	p.tabTo(`main button`)
	p.leads(chromedp.KeyEvent(kb.Enter))
	p.waitForAddress("/developers")
	p.tabTo(`main [name="name"]`)
	p.key("Ward Finder")
	p.leads(chromedp.KeyEvent(kb.Enter))
	p.tabTo(`main form[action$="/keys"] [name="name"]`)
	p.key("Production")
	p.tabTo(`main form[action$="/keys"] button`)
	p.leads(chromedp.KeyEvent(kb.Enter))
	require.Contains(t, p.text(), "This is the key")
	require.Equal(t, 1, evaluate[int](p, `(() => {
		const form = document.querySelector('form[action$="/keys"]');
		let sent = 0;
		form.addEventListener("submit", (event) => { sent += event.defaultPrevented ? 0 : 1; event.preventDefault(); });
		form.elements.name.value = "Staging";
		form.requestSubmit();
		form.requestSubmit();
		return sent;
	})()`), "a second submission is suppressed: its response would not show the key")
	p.requireNoErrors()
}

// checkErrorPages checks the pages that report errors.
func checkErrorPages(t *testing.T, p *browser) {
	t.Helper()
	p.open("/developers/sign-up")
	signUp(p, "nobody@example")
	p.check("userType", "employer")
	p.press("Create account")
	require.Contains(t, p.text(), "Organization is required")
	p.checkPage("sign-up-refused")
	p.open("/developers/sign-in")
	p.field("email", "nobody@example.org")
	p.field("password", "Night-shift-2")
	p.press("Sign in")
	p.checkPage("sign-in-refused")
	p.open("/developers/sign-up")
	signUp(p, fmt.Sprintf("refused-%d@example.org", time.Now().UnixNano()))
	p.press("Create account")
	p.waitForAddress("/developers")
	p.field("name", "Ward Finder")
	p.field("redirectUris", "ftp://nowhere.example/")
	p.press("Make the application")
	p.checkPage("applications-refused")
	p.field("redirectUris", "https://wardfinder.example.com/callback")
	p.press("Make the application")
	p.field("url", "https://10.0.0.1/")
	p.press("Add the webhook")
	p.checkPage("application-webhook-refused")
	p.open("/developers/apps/nothing")
	p.checkPage("absent")
	p.open("/oauth/authorize?client_id=nonsense&response_type=code")
	p.checkPage("authorize-refused")
	p.requireNoErrors("400", "404")
}
