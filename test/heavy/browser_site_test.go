package heavy

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
	t.Run("valid HTML", func(t *testing.T) { validatePages(t, s.url) })
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

// validatePages checks the HTML of pages for guests with html-validate.
func validatePages(t *testing.T, site string) {
	t.Helper()
	tools := installNPM(t, kit.Tool(t, "npm"), "browser")
	require.NoError(t, os.WriteFile(filepath.Join(tools, ".htmlvalidate.json"), []byte(`{"root": true, "extends": ["html-validate:standard"], "rules": {"form-dup-name": "off", "long-title": "off"}}`), 0o600))
	get := func(path string) string {
		response, err := http.Get(site + path)
		require.NoError(t, err)
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Less(t, len(body), 75<<10, path) // with the style sheet and the script less than 150 KB
		return string(body)
	}
	job := regexp.MustCompile(`/jobs/[0-9a-f-]{36}/[a-z0-9-]+`).FindString(get("/jobs"))
	employer := regexp.MustCompile(`/employers/[a-z0-9-]+`).FindString(get(job))
	arguments := []string{}
	for i, path := range []string{
		"/", "/jobs", "/jobs?q=nurse&where=Leeds", "/jobs?q=nusre", "/jobs?contract=eternal", job, employer, "/jobs/nothing", "/sign-in", "/register", "/forgot-password",
		"/verify-email?token=x", "/reset-password?token=x", "/unsubscribe?token=x", "/problems/not_found", "/docs/guides/quick-start",
	} {
		file := filepath.Join(tools, fmt.Sprintf("page-%d.html", i))
		require.NoError(t, os.WriteFile(file, []byte(get(path)), 0o600))
		arguments = append(arguments, file)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(tools, "node_modules", ".bin", "html-validate"), arguments...)
	cmd.Dir = tools
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
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
