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

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/locumhq/locum/test/kit"
)

// TestBrowser_Developer uses the pages for developers in a real browser, from the sign-up to the
// consent of a user: once with a check of every page, and once without JavaScript. Other subtests
// use only the keyboard, and visit the pages that mails link to and those that report errors.
//
// The methods of browser fill in a field (field), press a button (press), follow a link (follow)
// and wait for the next page. checkPage checks the page in several viewports and colour schemes,
// also for accessibility if the browser was created with the script of axe.
func TestBrowser_Developer(t *testing.T) {
	server := site(t)
	axe := axeCore(t)
	t.Run("every page checked", func(t *testing.T) { checkDashboard(t, server, newBrowser(t, server.url, axe)) })

	t.Run("without script", func(t *testing.T) { checkDashboard(t, server, newBrowserWithoutScript(t, server.url)) })

	t.Run("keyboard only", func(t *testing.T) { signUpByKeyboard(t, newBrowser(t, server.url, "")) })
	t.Run("pages of mail links", func(t *testing.T) { checkMailPages(t, newBrowser(t, server.url, axe)) })
	t.Run("error pages", func(t *testing.T) { checkErrorPages(t, newBrowser(t, server.url, axe)) })
}

// password is the password of the accounts that the tests create.
const password = "Night-shift-1"

// fillInSignUp fills in the fields of the form for a new account.
func fillInSignUp(page *browser, email string) {
	page.t.Helper()
	page.field("name", "Sam Lee")
	page.field("email", email)
	page.field("password", password)
}

// checkDashboard does the steps of a developer one after the other: the sign-up, the first call
// with a key, the first verified webhook, and a complete OAuth flow.
func checkDashboard(t *testing.T, server *testServer, page *browser) {
	t.Helper()

	begun := time.Now()

	// The receiver of webhooks refuses requests without a valid signature, and responds to others
	// with receiverStatus. The secret is known when the webhook is registered.
	var webhookSecret atomic.Value
	webhookSecret.Store("")
	var receiverStatus atomic.Int64
	receiverStatus.Store(http.StatusOK)

	receiver := newCallbackServer(t, func(received callback) int {
		verifier, err := standardwebhooks.NewWebhook(webhookSecret.Load().(string))
		if err != nil || verifier.Verify(received.body, received.Header) != nil {
			return http.StatusUnauthorized
		}

		return int(receiverStatus.Load())
	})

	// The client is the developer's site, to which an authorization returns.
	client := newCallbackServer(t, func(callback) int { return http.StatusOK })

	// Sign up.
	page.open("/developers")
	page.waitForAddress("/developers/sign-in?next=%2Fdevelopers")
	page.checkPage("sign-in")
	page.follow("Register")
	require.NotContains(t, page.text(), "Organization", "jobseekers have no organization")
	page.checkPage("sign-up")
	page.check("userType", "employer")
	require.Contains(t, page.text(), "Organization")
	page.check("userType", "jobseeker")

	email := fmt.Sprintf("walk-%d@example.org", time.Now().UnixNano())
	fillInSignUp(page, email)
	page.press("Create account")
	page.waitForAddress("/developers")
	require.Contains(t, page.text(), "Your applications")
	page.checkPage("applications-none")

	// Create an application and a key.
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
	// The test only adds flags with which curl shows no progress and fails on an error status.
	shownCommand := evaluate[string](page, `document.querySelector("pre").innerText`)
	command := strings.Replace(shownCommand, "curl ", "curl -sf ", 1)
	output, err := exec.CommandContext(t.Context(), "bash", "-c", command).CombinedOutput()
	require.NoError(t, err, "%s\n%s", shownCommand, output)
	require.Contains(t, string(output), `"pagination"`)
	t.Logf("the first call after %s", time.Since(begun).Round(time.Millisecond))

	page.open("/developers/apps/" + app)

	// The chart of the application shows the requests and errors of the last 30 days. Store some
	// for each day, so that the chart is checked later.
	for i := range 30 {
		day := time.Now().UTC().AddDate(0, 0, -i-1).Format(time.DateOnly)
		requests, errors := 1000+i*300, 10+i*7
		insert := fmt.Sprintf(
			"INSERT INTO app_usage (app_id, day, requests, errors) VALUES ('%s', '%s', %d, %d) ON CONFLICT DO NOTHING",
			app, day, requests, errors)
		kit.Exec(t, server.postgres.URL, insert)
	}

	// Register a webhook, and send a test event to it.

	page.field("url",
		receiver.URL+"/hooks/a-rather-long-path-that-has-to-be-broken-somewhere/because-it-is-wider-than-a-telephone")
	page.check("events", "job.created")
	page.check("events", "application.status_changed")
	page.press("Add the webhook")

	shownSecret := evaluate[string](page, `document.querySelector("code.secret").innerText`)
	require.True(t, strings.HasPrefix(shownSecret, "whsec_"), shownSecret)
	webhookSecret.Store(shownSecret)
	page.checkPage("webhook-new")
	page.press("Send")
	page.waitForText("Accepted with status 200")
	t.Logf("the first verified webhook after %s", time.Since(begun).Round(time.Millisecond))
	page.checkPage("webhook-delivered")

	// Look at the delivery, and replay it from two pages.
	webhookPage := strings.Split(page.path(), "?")[0]
	page.leads(chromedp.Click(`//main//a[contains(., "What was sent")]`))
	require.Contains(t, page.text(), "webhook-signature: v1,")
	page.checkPage("delivery")

	deliveryID := strings.Split(page.path(), "/deliveries/")[1]
	page.open(webhookPage + "?open=" + deliveryID)
	page.press("Replay")
	page.leads(chromedp.Click(`//main//a[contains(., "What was sent")]`))
	page.press("Replay")
	require.Contains(t, page.text(), "It is sent once more.")
	page.checkPage("delivery-replayed")

	// A replay has the id of the first delivery, so that receivers can ignore it.
	received := receiver.waitFor(3)
	require.Equal(t, received[0].Header.Get("Webhook-Id"), received[1].Header.Get("Webhook-Id"))
	require.Equal(t, received[0].Header.Get("Webhook-Id"), received[2].Header.Get("Webhook-Id"))

	// The receiver fails from now on, which the pages show.
	page.open(webhookPage)
	receiverStatus.Store(http.StatusServiceUnavailable)
	page.press("Send")
	page.waitForText("Answered with status 503")
	require.Contains(t, page.text(), "Active, failing")
	page.checkPage("webhook-failing")
	page.open("/developers/apps/" + app)
	page.do(chromedp.Click(chromedp.CSS("td summary")),
		chromedp.WaitVisible(`//button[normalize-space()="Delete Production"]`))
	page.checkPage("application-used")
	page.open(webhookPage)
	page.press("Pause")
	page.checkPage("webhook-paused")

	// Begin an authorization as a user who is not signed in. The user first refuses the consent,
	// and then gives it.
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
	authorizationURL := config.AuthCodeURL("the state", oauth2.S256ChallengeOption(verifier))

	page.leads(chromedp.Click(`//header//button[normalize-space()="Sign out"]`))
	page.open(authorizationURL)
	page.field("email", email)
	page.field("password", password)
	page.press("Sign in")
	page.waitForAddress("/oauth/authorize")
	page.checkPage("consent")
	page.press("Do not allow")
	page.waitForAddress(client.URL + "/callback?")
	require.Contains(t, page.path(), "error=access_denied")
	page.open(authorizationURL)
	page.press("Allow")
	page.waitForAddress(client.URL + "/callback?")

	callbackURL, err := url.Parse(page.path())
	require.NoError(t, err)
	require.Equal(t, "the state", callbackURL.Query().Get("state"))

	// Exchange the code for a token, and call the API with the token.
	ctx := context.WithValue(t.Context(), oauth2.HTTPClient, http.DefaultClient)
	token, err := config.Exchange(ctx, callbackURL.Query().Get("code"), oauth2.VerifierOption(verifier))
	require.NoError(t, err)

	callWithToken := func() (status int) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.url+"/api/v1/applications", nil)
		require.NoError(t, err)
		token.SetAuthHeader(request)

		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)

		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()

		return response.StatusCode
	}

	require.Equal(t, http.StatusOK, callWithToken())

	// A granted consent is not requested again, not even after a sign-in.
	page.open("/developers/consents")
	page.checkPage("consents")
	page.leads(chromedp.Click(`//header//button[normalize-space()="Sign out"]`))
	page.open(authorizationURL)
	page.field("email", email)
	page.field("password", password)
	page.press("Sign in")
	page.waitForAddress(client.URL + "/callback?")
	require.Contains(t, page.path(), "code=")

	// The user withdraws the consent, which ends the token.
	page.open("/developers/consents")
	page.press("Take this back")
	require.Contains(t, page.text(), "No application may do anything in your name")
	page.checkPage("consents-none")
	require.Equal(t, http.StatusUnauthorized, callWithToken())
	page.requireNoErrors()

	// Look at the list of applications and at the guides.
	page.open("/developers")
	page.checkPage("applications")
	page.open("/docs/guides")

	// The buttons that copy an example need JavaScript. Without it, page.axe is empty.
	if page.axe != "" {
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

// signUpByKeyboard signs up and creates an application with a key, without a mouse. tabTo presses
// Tab until the element has the focus.
func signUpByKeyboard(t *testing.T, page *browser) {
	t.Helper()

	// Sign up as an employer.
	page.open("/developers/sign-up")
	page.key(kb.Tab)
	require.Equal(t, "Skip to main content", evaluate[string](page, "document.activeElement.innerText"))
	page.tabTo(`[name="name"]`)
	page.key("Sam Lee")
	page.tabTo(`[name="email"]`)
	page.key(fmt.Sprintf("keys-%d@example.org", time.Now().UnixNano()))
	page.tabTo(`[name="password"]`)
	page.key(password)
	page.tabTo(`[name="userType"]`)
	page.key(kb.ArrowDown)
	require.True(t, evaluate[bool](page, `document.querySelector('[value="employer"]').checked`))
	page.tabTo(`[name="companyName"]`)
	page.key("St Brigid's Hospital")
	page.tabTo(`main button`)
	page.leads(chromedp.KeyEvent(kb.Enter))
	page.waitForAddress("/developers")

	// Create the application and the key.
	page.tabTo(`main [name="name"]`)
	page.key("Ward Finder")
	page.leads(chromedp.KeyEvent(kb.Enter))
	page.tabTo(`main form[action$="/keys"] [name="name"]`)
	page.key("Production")
	page.tabTo(`main form[action$="/keys"] button`)
	page.leads(chromedp.KeyEvent(kb.Enter))
	require.Contains(t, page.text(), "This is the key")

	// Submit the form for another key twice. The script counts the submissions that the page does
	// not suppress, and sends none.
	submissions := evaluate[int](page, `(() => {
		const form = document.querySelector('form[action$="/keys"]');
		let sent = 0;
		form.addEventListener("submit", (event) => { sent += event.defaultPrevented ? 0 : 1; event.preventDefault(); });
		form.elements.name.value = "Staging";
		form.requestSubmit();
		form.requestSubmit();
		return sent;
	})()`)
	require.Equal(t, 1, submissions, "a second submission is suppressed: its response would not show the key")
	page.requireNoErrors()
}

// checkErrorPages checks the pages that report errors.
func checkErrorPages(t *testing.T, page *browser) {
	t.Helper()

	// A sign-up without an organization.
	page.open("/developers/sign-up")
	fillInSignUp(page, "nobody@example")
	page.check("userType", "employer")
	page.press("Create account")
	require.Contains(t, page.text(), "Organization is required")
	page.checkPage("sign-up-refused")

	// A sign-in to an account that does not exist.
	page.open("/developers/sign-in")
	page.field("email", "nobody@example.org")
	page.field("password", "Night-shift-2")
	page.press("Sign in")
	page.checkPage("sign-in-refused")

	// An application with an invalid redirect address.
	page.open("/developers/sign-up")
	fillInSignUp(page, fmt.Sprintf("refused-%d@example.org", time.Now().UnixNano()))
	page.press("Create account")
	page.waitForAddress("/developers")
	page.field("name", "Ward Finder")
	page.field("redirectUris", "ftp://nowhere.example/")
	page.press("Create application")
	page.checkPage("applications-refused")

	// A webhook with an address that is not public.
	page.field("redirectUris", "https://wardfinder.example.com/callback")
	page.press("Create application")
	page.field("url", "https://10.0.0.1/")
	page.press("Add the webhook")
	page.checkPage("application-webhook-refused")

	// An application that does not exist, and an authorization for one.
	page.open("/developers/apps/nothing")
	page.checkPage("absent")
	page.open("/oauth/authorize?client_id=nonsense&response_type=code")
	page.checkPage("authorize-refused")

	// Browsers report responses with error statuses; these two are expected.
	page.requireNoErrors("400", "404")
}
