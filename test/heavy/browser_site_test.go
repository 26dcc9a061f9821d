package heavy

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// demoSite returns a server with demo data.
func demoSite(t *testing.T) *testServer {
	t.Helper()
	s := newTestServer(t)
	at := kit.Address(t)
	s.env = []string{"LOCUM_HTTP_ADDR=" + at, "LOCUM_HTTP_PUBLIC_URL=http://" + at}
	s.run("seed", "--listings", "200")
	s.serve()
	return s
}

// TestBrowser_Site does what visitors do, in a real browser: with a check of every page, and
// again without script.
func TestBrowser_Site(t *testing.T) {
	s := demoSite(t)
	axe := axeCore(t)
	t.Run("every page checked", func(t *testing.T) { visitSite(t, newBrowser(t, s.url, axe)) })
	t.Run("without script", func(t *testing.T) {
		p := newBrowser(t, s.url, "")
		_, err := chromedp.Call(p.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		require.NoError(t, err)
		visitSite(t, p)
	})
	t.Run("suggestions", func(t *testing.T) {
		p := newBrowser(t, s.url, "")
		p.open("/")
		p.do(chromedp.SendKeys(chromedp.CSS("#where"), "Lee"), chromedp.WaitReady(`#where-suggestions option[value^="Leeds"]`))
		p.open("/jobs?q=nurse&where=Leeds")
		p.leads(chromedp.Click(`(//main//h3/a)[1]`))
		p.open("/")
		require.Contains(t, p.text(), "Recently viewed")
		p.requireNoErrors()
	})
}

func visitSite(t *testing.T, p *browser) {
	t.Helper()
	p.open("/")
	p.checkPage("home")
	p.do(chromedp.SendKeys(chromedp.CSS("#q"), "nusre"), chromedp.SendKeys(chromedp.CSS("#where"), "LS1 4DY"))
	p.press("Search")
	require.Contains(t, p.text(), "Showing results for nurse")
	require.Contains(t, p.text(), "mile")
	p.checkPage("jobs")
	p.leads(chromedp.Click(`//ul[contains(@class,"chips")]//a[contains(., "Where")]`))
	require.NotContains(t, p.path(), "where")
	p.leads(chromedp.Click(`(//main//h3/a)[1]`))
	p.checkPage("job")
	p.leads(chromedp.Click(`//article//p[@class="lead"]/a`))
	require.Contains(t, p.text(), "open job")
	p.checkPage("employer")
	p.open("/jobs?q=podiatrist+-podiatrist")
	p.checkPage("jobs-none")
	p.open("/jobs?contract=eternal")
	p.checkPage("jobs-refused")
	p.open("/jobs/nothing")
	p.checkPage("job-absent")
	p.requireNoErrors("400", "404")
}
