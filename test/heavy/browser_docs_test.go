package heavy

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// The page of the developer API runs the OAuth flow: it opens the consent page in
// a window, exchanges the code, and calls the API with the token.
func TestBrowser_Documentation_TriesOAuth(t *testing.T) {
	s := site(t)
	p := newBrowser(t, s.url, axeCore(t))
	back := s.url + "/docs/developer/oauth2-redirect.html"
	p.open("/developers/sign-up")
	signUp(p, fmt.Sprintf("docs-%d@example.org", time.Now().UnixNano()))
	p.press("Create account")
	p.waitForAddress("/developers")
	p.field("name", "Ward Finder")
	p.field("redirectUris", back)
	p.press("Make the application")
	id := evaluate[string](p, `document.querySelector("dd code").innerText`)
	secret := evaluate[string](p, `document.querySelector("code.secret").innerText`)

	p.follow("Interface")
	p.do(chromedp.Click(chromedp.CSS(`.btn.authorize`)), chromedp.WaitVisible(`#client_id_authorizationCode`))
	require.Contains(t, p.text(), back, "what to register is said there")
	p.picture("docs-authorize")
	p.checkDarkScheme("docs-authorize")
	p.do(chromedp.SendKeys(chromedp.CSS(`#client_id_authorizationCode`), id), chromedp.SendKeys(chromedp.CSS(`#client_secret_authorizationCode`), secret),
		chromedp.Click(`//label[@for="jobs:read-authorizationCode-checkbox-oauth"]`))
	opened := chromedp.WaitNewTarget(p.ctx, func(i *target.Info) bool { return i.URL != "" && i.URL != "about:blank" })
	p.do(chromedp.Click(`//div[contains(@class,"auth-container")][.//*[@id="client_id_authorizationCode"]]//button[contains(@class,"authorize")]`))
	window, end := chromedp.NewContext(p.ctx, chromedp.WithTargetID(<-opened))
	defer end()
	require.NoError(t, chromedp.Do(window, chromedp.Click(`//button[normalize-space()="Allow"]`)))
	p.do(chromedp.Click(`//div[contains(@class,"auth-container")]//button[normalize-space()="Logout"]/following-sibling::button`))
	p.do(chromedp.Click(chromedp.CSS(`#operations-Jobs-getV1Jobs button.opblock-summary-control`)), chromedp.Click(chromedp.CSS(`button.try-out__btn`)), chromedp.Click(chromedp.CSS(`button.execute`)), chromedp.WaitVisible(`.live-responses-table .response-col_status`))
	require.Contains(t, evaluate[string](p, `document.querySelector(".live-responses-table").innerText`), `"pagination"`)
	require.Contains(t, evaluate[string](p, `document.querySelector(".curl-command").innerText`), "Authorization: Bearer loc_at_")
	p.picture("docs-tried")
	p.do(chromedp.Click(chromedp.CSS(`#operations-Jobs-getV1Jobs .responses-inner .tab li:last-of-type button`)))
	p.checkDarkScheme("docs-schema")
	p.do(chromedp.EmulateViewport(360, 800))
	p.picture("docs-narrow")
	p.requireNoErrors()
}
