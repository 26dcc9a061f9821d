package heavy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// demoSite returns a server with demo data and 200 listings. The settings are environment
// variables.
func demoSite(t *testing.T, settings ...string) *testServer {
	t.Helper()

	server := newTestServer(t)
	address := kit.Address(t)
	server.env = append([]string{"LOCUM_HTTP_ADDR=" + address, "LOCUM_HTTP_PUBLIC_URL=http://" + address}, settings...)
	server.run("seed", "--listings", "200")
	server.serve()

	return server
}

// TestBrowser_Site does what visitors do, in a real browser: with a check of every page, and
// again without script.
func TestBrowser_Site(t *testing.T) {
	hospital := newHospitalSite(t)
	server := demoSite(t, "LOCUM_SITE_EMBED_ORIGINS="+hospital.origin())
	axe := axeCore(t)
	t.Run("every page checked", func(t *testing.T) { visitSite(t, newBrowser(t, server.url, axe)) })

	t.Run("without script", func(t *testing.T) { visitSite(t, newBrowserWithoutScript(t, server.url)) })

	t.Run("valid HTML", func(t *testing.T) { validatePages(t, server.url) })
	t.Run("job alerts",
		func(t *testing.T) { receiveJobAlerts(t, server, newBrowser(t, server.url, axe), "alerts@example.org") })

	t.Run("job alerts without script", func(t *testing.T) {
		receiveJobAlerts(t, server, newBrowserWithoutScript(t, server.url), "alerts-without-script@example.org")
	})

	t.Run("jobs on another site", func(t *testing.T) { showOnOtherSite(t, server, hospital) })

	t.Run("suggestions", func(t *testing.T) {
		page := newBrowser(t, server.url, "")
		page.open("/")

		// The script suggests places while the user types.
		page.do(chromedp.SendKeys(chromedp.CSS("#where"), "Lee"),
			chromedp.WaitReady(`#where-suggestions option[value^="Leeds"]`))

		// A job that was opened is on the home page afterwards.
		page.open("/jobs?q=nurse&where=Leeds")
		page.leads(chromedp.Click(`(//main//h3/a)[1]`))
		page.open("/")
		require.Contains(t, page.text(), "Recently viewed")
		page.requireNoErrors()
	})
}

// validatePages checks the HTML of pages for guests.
func validatePages(t *testing.T, site string) {
	t.Helper()

	get := func(path string) string {
		response, err := http.Get(site + path)
		require.NoError(t, err)

		defer func() { _ = response.Body.Close() }()

		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)

		return string(body)
	}

	job := regexp.MustCompile(`/jobs/[0-9a-f-]{36}/[a-z0-9-]+`).FindString(get("/jobs"))
	employer := regexp.MustCompile(`/employers/[a-z0-9-]+`).FindString(get(job))

	// Pages without a valid id or token are checked, too: their HTML is that of errors.
	sources := map[string]string{}
	for _, path := range []string{
		"/", "/jobs", "/jobs?q=nurse&where=Leeds", "/jobs?q=nusre", "/jobs?contract=eternal", job, employer, employer + "/embed", "/jobs/nothing", "/job-alerts", "/help", "/privacy", "/job-alerts/confirm?token=x", "/sign-in",
		"/register", "/forgot-password", "/request-verification", "/verify-email?token=x", "/reset-password?token=x", "/unsubscribe?token=x", "/problems/not_found", "/docs/guides/quick-start",
	} {
		sources[path] = get(path)
	}

	validateHTML(t, sources)
}

// validateHTML checks the HTML of pages with html-validate, and their size. The sources are by the names of
// the pages.
func validateHTML(t *testing.T, sources map[string]string) {
	t.Helper()

	tools := installNPM(t, kit.Tool(t, "npm"), "browser")
	require.NoError(
		t,
		os.WriteFile(
			filepath.Join(tools, ".htmlvalidate.json"),
			[]byte(`{"root": true, "extends": ["html-validate:standard"], "rules": {"form-dup-name": "off", "long-title": "off"}}`),
			0o600,
		),
	)

	var files []string
	for name, source := range sources {
		require.Less(t, len(source), 75<<10, "%s: with the style sheet and the script less than 150 KB", name)

		file := filepath.Join(tools, url.PathEscape(name)+".html")
		require.NoError(t, os.WriteFile(file, []byte(source), 0o600))

		files = append(files, file)
	}

	cmd := exec.CommandContext(t.Context(), filepath.Join(tools, "node_modules", ".bin", "html-validate"), files...)
	cmd.Dir = tools
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// receiveJobAlerts asks for job alerts without an account, confirms the address, gets an
// e-mail about a new job, and ends the alerts.
func receiveJobAlerts(t *testing.T, server *testServer, page *browser, address string) {
	t.Helper()

	page.sources = map[string]string{}

	// The visitor asks for alerts, and confirms the address with the link in the e-mail.
	page.open("/jobs?q=perfusionist&where=Truro")
	page.follow("Get job alerts for this search")
	page.checkPage("job-alert")
	page.field("email", address)
	page.press("Send me a link to confirm")
	require.Contains(t, page.text(), "We have sent a link to "+address)
	page.checkPage("job-alert-sent")
	page.open(server.mailedLink(address, "/job-alerts/confirm?token="))
	page.checkPage("job-alert-confirm")
	page.press("Confirm job alert")
	require.Contains(t, page.text(), "Your job alert is on")
	page.checkPage("job-alert-on")

	// A new job that matches the search causes an e-mail, whose link ends the alerts.
	server.postDemoJob(map[string]any{"title": "Perfusionist", "location": "Truro", "description": "Days and nights."})
	page.open(server.mailedLink(address, "/unsubscribe?alerts="))
	page.checkPage("job-alert-end")
	page.press("Stop the e-mails")
	require.Contains(t, page.text(), "Your job alerts and your address are deleted.")
	page.checkPage("job-alert-ended")
	page.validateSources()
	page.requireNoErrors()
}

// postDemoJob posts a job of the demo employer.
func (s *testServer) postDemoJob(job map[string]any) {
	s.t.Helper()
	const email = "employer@locum.example"
	var signedIn struct {
		Data struct{ AccessToken string }
	}
	s.post("/api/auth/login", map[string]any{"email": email, "password": s.demoPassword(email)}, "", &signedIn)
	s.post("/api/employers/jobs", job, signedIn.Data.AccessToken, nil)
}

// post sends a request to the API and decodes the response into out, unless that is nil.
func (s *testServer) post(path string, body any, token string, out any) {
	s.t.Helper()

	raw, err := json.Marshal(body)
	require.NoError(s.t, err)

	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, bytes.NewReader(raw))
	require.NoError(s.t, err)
	request.Header.Set("Content-Type", "application/json")

	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}

	response, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)

	defer func() { _ = response.Body.Close() }()

	require.Less(s.t, response.StatusCode, 300)

	if out != nil {
		require.NoError(s.t, json.NewDecoder(response.Body).Decode(out))
	}
}

// mailedLink waits for an e-mail to the address with a link, and returns the path of the
// link.
func (s *testServer) mailedLink(address, prefix string) (path string) {
	s.t.Helper()

	link := regexp.MustCompile(regexp.QuoteMeta(prefix) + `[A-Za-z0-9._~%-]+`)
	require.Eventually(s.t, func() bool {
		files, _ := filepath.Glob(filepath.Join(s.dir, "data", "mail", "*.eml"))
		for _, file := range files {
			raw, _ := os.ReadFile(file)

			message := strings.NewReplacer("=\r\n", "", "=\n", "", "=3D", "=").Replace(string(raw))
			if strings.Contains(message, address) && path == "" {
				path = link.FindString(message)
			}
		}

		return path != ""
	}, 30*time.Second, 50*time.Millisecond, "no e-mail to %s with %s", address, prefix)

	return path
}

// hospitalSite is a site whose pages show the jobs of an employer with the widget.
type hospitalSite struct {
	*httptest.Server
	// board is the address of the job board, and employer the last part of its page's path.
	board, employer string
}

// newHospitalSite starts a site on which every page has the widget.
func newHospitalSite(t *testing.T) *hospitalSite {
	t.Helper()

	h := &hospitalSite{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")

		_, _ = fmt.Fprintf(w,
			`<!doctype html><title>Hospital</title><script src="%s/widget.js" data-employer="%s" async></script>`,
			h.board, h.employer)
	}))
	t.Cleanup(h.Close)

	return h
}

// origin returns the address of the site with the host localhost, which may show jobs. With the
// host 127.0.0.1 the same site may not.
func (h *hospitalSite) origin() string { return strings.Replace(h.URL, "127.0.0.1", "localhost", 1) }

// showOnOtherSite shows the jobs of an employer on a page of a site that may do so, and of
// one that may not.
func showOnOtherSite(t *testing.T, server *testServer, hospital *hospitalSite) {
	t.Helper()

	page := newBrowser(t, server.url, "")
	page.open("/jobs")
	page.leads(chromedp.Click(`(//main//h3/a)[1]`))
	page.leads(chromedp.Click(`//article//p[@class="lead"]/a`))

	hospital.board, hospital.employer = server.url, strings.TrimPrefix(page.path(), "/employers/")

	// The frame may have been loaded before the listener exists, so it is loaded again.
	const isLoaded = `new Promise((resolve) => { const frame = document.querySelector("iframe"); frame.addEventListener("load", () => resolve(true)); frame.src = frame.src; })`

	// The allowed address shows the frame, and the browser reports no error.
	page.open(hospital.origin())
	page.do(chromedp.WaitReady(chromedp.CSS(`iframe[title="Open jobs"]`)))
	require.True(t, evaluate[bool](page, isLoaded))
	page.requireNoErrors()

	// The other address of the same site does not: the browser reports a violation of the policy of the frame.
	page.open(hospital.URL)
	page.do(chromedp.WaitReady(chromedp.CSS(`iframe[title="Open jobs"]`)))
	require.True(t, evaluate[bool](page, isLoaded))
	require.Eventually(t,
		func() bool { return strings.Contains(strings.Join(page.errors(), "\n"), "frame-ancestors") },
		20*time.Second, 50*time.Millisecond)
}

// visitSite searches, and opens a job and an employer, and pages that have no results or do not
// exist.
func visitSite(t *testing.T, page *browser) {
	t.Helper()
	page.open("/")
	page.checkPage("home")

	// A search with a misspelt word and a postcode is corrected, and shows distances.
	page.do(chromedp.SendKeys(chromedp.CSS("#q"), "nusre"), chromedp.SendKeys(chromedp.CSS("#where"), "LS1 4DY"))
	page.press("Search")
	require.Contains(t, page.text(), "Showing results for nurse")
	require.Contains(t, page.text(), "mile")
	page.checkPage("jobs")

	// Remove the place from the search, and open the first job and its employer.
	page.leads(chromedp.Click(`//ul[contains(@class,"chips")]//a[contains(., "Where")]`))
	require.NotContains(t, page.path(), "where")
	page.leads(chromedp.Click(`(//main//h3/a)[1]`))
	page.checkPage("job")
	page.leads(chromedp.Click(`//article//p[@class="lead"]/a`))
	require.Contains(t, page.text(), "open job")
	page.checkPage("employer")

	// A search that excludes its own word has no results.
	page.open("/jobs?q=podiatrist+-podiatrist")
	page.checkPage("jobs-none")

	// A search for an unknown contract type is refused, and an unknown job has a page with an error.
	page.open("/jobs?contract=eternal")
	page.checkPage("jobs-refused")
	page.open("/jobs/nothing")
	page.checkPage("job-absent")
	page.requireNoErrors("400", "404")
}
