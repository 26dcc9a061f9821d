package heavy

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestBrowser_Documentation_TriesOAuth checks that developers can try the API on its page in the
// documentation: it opens the consent page in a window, exchanges the code, and calls the API
// with the token.
func TestBrowser_Documentation_TriesOAuth(t *testing.T) {
	server := site(t)
	browser := newBrowser(t, server.url, axeCore(t))
	redirectURI := server.url + "/docs/developer/oauth2-redirect.html" // of the page itself

	// A developer registers an application.
	browser.open("/developers/sign-up")
	fillInSignUp(browser, fmt.Sprintf("docs-%d@example.org", time.Now().UnixNano()))
	browser.press("Create account")
	browser.waitForAddress("/developers")
	browser.field("name", "Ward Finder")
	browser.field("redirectUris", redirectURI)
	browser.press("Create application")

	id := evaluate[string](browser, `document.querySelector("dd code").innerText`)
	secret := evaluate[string](browser, `document.querySelector("code.secret").innerText`)

	// The dialog of the documentation asks for the credentials of the application and for scopes.
	browser.follow("Developer API")
	browser.do(chromedp.Click(chromedp.CSS(`.btn.authorize`)), chromedp.WaitVisible(`#client_id_authorizationCode`))
	require.Contains(t, browser.text(), redirectURI, "the dialog names the redirect URI to register")
	browser.picture("docs-authorize")
	browser.checkDarkScheme("docs-authorize")
	browser.do(
		chromedp.SendKeys(chromedp.CSS(`#client_id_authorizationCode`), id),
		chromedp.SendKeys(chromedp.CSS(`#client_secret_authorizationCode`), secret),
		chromedp.Click(`//label[@for="jobs:read-authorizationCode-checkbox-oauth"]`),
	)

	// The consent page opens in a window, in which the developer allows the access.
	opened := chromedp.WaitNewTarget(browser.ctx,
		func(info *target.Info) bool { return info.URL != "" && info.URL != "about:blank" })
	browser.do(chromedp.Click(`//div[contains(@class,"auth-container")][.//*[@id="client_id_authorizationCode"]]` +
		`//button[contains(@class,"authorize")]`))

	window, closeWindow := chromedp.NewContext(browser.ctx, chromedp.WithTargetID(<-opened))
	defer closeWindow()

	require.NoError(t, chromedp.Do(window, chromedp.Click(`//button[normalize-space()="Allow"]`)))

	// With the token, the dialog shows the button Logout. The button after it closes the dialog.
	browser.do(chromedp.Click(
		`//div[contains(@class,"auth-container")]//button[normalize-space()="Logout"]/following-sibling::button`))

	// The developer calls GET /v1/jobs with the token, and the page shows the response.
	browser.do(
		chromedp.Click(chromedp.CSS(`#operations-Jobs-getV1Jobs button.opblock-summary-control`)),
		chromedp.Click(chromedp.CSS(`button.try-out__btn`)),
		chromedp.Click(chromedp.CSS(`button.execute`)),
		chromedp.WaitVisible(`.live-responses-table .response-col_status`),
	)
	require.Contains(t, evaluate[string](browser, `document.querySelector(".live-responses-table").innerText`),
		`"pagination"`)
	require.Contains(t, evaluate[string](browser, `document.querySelector(".curl-command").innerText`),
		"Authorization: Bearer loc_at_")
	browser.picture("docs-tried")

	// The schema of the response, and the page on a small screen.
	browser.do(chromedp.Click(chromedp.CSS(`#operations-Jobs-getV1Jobs .responses-inner .tab li:last-of-type button`)))
	browser.checkDarkScheme("docs-schema")
	browser.do(chromedp.EmulateViewport(360, 800))
	browser.picture("docs-narrow")
	browser.requireNoErrors()
}
