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
	back := server.url + "/docs/developer/oauth2-redirect.html"

	browser.open("/developers/sign-up")
	signUp(browser, fmt.Sprintf("docs-%d@example.org", time.Now().UnixNano()))
	browser.press("Create account")
	browser.waitForAddress("/developers")
	browser.field("name", "Ward Finder")
	browser.field("redirectUris", back)
	browser.press("Create application")

	id := evaluate[string](browser, `document.querySelector("dd code").innerText`)
	secret := evaluate[string](browser, `document.querySelector("code.secret").innerText`)

	browser.follow("Developer API")
	browser.do(chromedp.Click(chromedp.CSS(`.btn.authorize`)), chromedp.WaitVisible(`#client_id_authorizationCode`))
	require.Contains(t, browser.text(), back, "what to register is said there")
	browser.picture("docs-authorize")
	browser.checkDarkScheme("docs-authorize")
	browser.do(
		chromedp.SendKeys(chromedp.CSS(`#client_id_authorizationCode`), id),
		chromedp.SendKeys(chromedp.CSS(`#client_secret_authorizationCode`), secret),
		chromedp.Click(`//label[@for="jobs:read-authorizationCode-checkbox-oauth"]`),
	)

	opened := chromedp.WaitNewTarget(browser.ctx,
		func(i *target.Info) bool { return i.URL != "" && i.URL != "about:blank" })
	browser.do(
		chromedp.Click(
			`//div[contains(@class,"auth-container")][.//*[@id="client_id_authorizationCode"]]//button[contains(@class,"authorize")]`,
		),
	)

	window, end := chromedp.NewContext(browser.ctx, chromedp.WithTargetID(<-opened))
	defer end()

	require.NoError(t, chromedp.Do(window, chromedp.Click(`//button[normalize-space()="Allow"]`)))
	browser.do(chromedp.Click(`//div[contains(@class,"auth-container")]//button[normalize-space()="Logout"]/following-sibling::button`))
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
	browser.do(chromedp.Click(chromedp.CSS(`#operations-Jobs-getV1Jobs .responses-inner .tab li:last-of-type button`)))
	browser.checkDarkScheme("docs-schema")
	browser.do(chromedp.EmulateViewport(360, 800))
	browser.picture("docs-narrow")
	browser.requireNoErrors()
}
