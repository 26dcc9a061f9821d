package heavy

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// browser is a Chromium of one user. It enforces the content security policy and
// the other security headers of the pages.
type browser struct {
	t    *testing.T
	site string          // the URL of the server, without a slash at the end
	ctx  context.Context //nolint:containedctx // it is the browser
	axe  string          // the source of axe-core, which checks accessibility; empty to skip all checks of pages
	seen map[string]bool

	// sources are the pages that checkPage has loaded again, by name, nil to collect none.
	sources map[string]string

	mu           sync.Mutex
	errorReports []string // messages of the browser's console
}

// newBrowser starts a browser. Pages are checked for accessibility unless axe is
// empty.
func newBrowser(t *testing.T, site, axe string) *browser {
	t.Helper()

	chromium := kit.Chromium(t)

	options := append(
		chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium.Program),
		chromedp.Env(chromium.Env...),
		chromedp.WindowSize(1280, 900),
	)
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}

	ctx, end := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(end)

	ctx, end = chromedp.NewContext(ctx)
	t.Cleanup(end)

	ctx, end = context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(end)

	page := &browser{t: t, site: site, ctx: ctx, axe: axe, seen: map[string]bool{}}
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("about:blank")))
	require.NoError(t, chromedp.Listen(ctx, func(event any) {
		page.mu.Lock()
		defer page.mu.Unlock()

		switch e := event.(type) {
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError || e.Entry.Source == log.EntrySourceSecurity {
				page.errorReports = append(page.errorReports, string(e.Entry.Source)+": "+e.Entry.Text+" "+e.Entry.URL)
			}
		case *runtime.EventExceptionThrown:
			page.errorReports = append(page.errorReports, e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			page.errorReports = append(page.errorReports, "console."+string(e.Type))
		}
	}))

	_, err := chromedp.Call(ctx, log.Enable, cdp.Empty{})
	require.NoError(t, err)

	return page
}

// newBrowserWithoutScript starts a browser in which JavaScript is disabled. It does not check pages
// for accessibility, because axe is a script.
func newBrowserWithoutScript(t *testing.T, site string) *browser {
	t.Helper()

	const noAxe = ""

	page := newBrowser(t, site, noAxe)
	_, err := chromedp.Call(page.ctx, emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{Value: true})
	require.NoError(t, err)

	return page
}

// requireNoErrors requires that the browser has reported no errors since the last check, except
// for responses with the expected statuses, such as those of pages that list invalid fields.
func (b *browser) requireNoErrors(expectedStatuses ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()

	for _, report := range b.errorReports {
		isExpected := slices.ContainsFunc(expectedStatuses, func(status string) bool {
			return strings.Contains(report, "Failed to load resource") && strings.Contains(report, "status of "+status)
		})
		require.True(b.t, isExpected, report)
	}

	b.errorReports = nil
}

// errors returns what the browser has reported since the last check.
func (b *browser) errors() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.errorReports)
}

// do executes the steps, such as clicks, within 20 seconds.
func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()

	ctx, end := context.WithTimeout(b.ctx, 20*time.Second)
	defer end()

	err := chromedp.Do(ctx, steps...)
	if err != nil {
		location, _ := chromedp.Run(b.ctx, chromedp.Location())
		require.NoError(b.t, err, "at %s\n%s", location, b.text())
	}
}

// open opens a path of the site, or a URL.
func (b *browser) open(path string) {
	b.t.Helper()

	if strings.HasPrefix(path, "/") {
		path = b.site + path
	}

	b.do(chromedp.Navigate(path))
}

// evaluate returns the value of an expression on the page.
func evaluate[T any](page *browser, expression string) T {
	page.t.Helper()

	ctx, end := context.WithTimeout(page.ctx, 60*time.Second)
	defer end()

	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(page.t, err)

	return out
}

// text returns the visible text of the page.
func (b *browser) text() string {
	text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.body.innerText"))
	return text
}

// path returns the path and query of the page, or its URL if it is on another site.
func (b *browser) path() string {
	b.t.Helper()

	location, err := chromedp.Run(b.ctx, chromedp.Location())
	require.NoError(b.t, err)

	return strings.TrimPrefix(location, b.site)
}

// field fills in the form field with the name.
func (b *browser) field(name, value string) {
	b.t.Helper()

	// A page may have several forms, some of them collapsed.
	selector := `main form:has(button) [name="` + name + `"]:not([type=hidden])`
	_ = evaluate[chromedp.Void](b, "document.querySelector("+strconv.Quote(selector)+").value = ''")
	b.do(chromedp.SendKeys(chromedp.CSS(selector), value))
}

// check clicks the checkbox or radio button with the name and the value.
func (b *browser) check(name, value string) {
	b.t.Helper()
	b.do(chromedp.Click(chromedp.CSS(`main [name="` + name + `"][value="` + value + `"]`)))
}

// press presses the button with the text, which leads to another page.
func (b *browser) press(text string) {
	b.t.Helper()
	b.leads(chromedp.Click(`//main//button[normalize-space()="` + text + `"]`))
}

// follow follows the link with the text.
func (b *browser) follow(text string) {
	b.t.Helper()
	b.leads(chromedp.Click(`//a[normalize-space()="` + text + `"]`))
}

// leads executes a step that leads to another page, and waits for the response.
func (b *browser) leads(step chromedp.Action[chromedp.Void]) {
	b.t.Helper()

	ctx, end := context.WithTimeout(b.ctx, 20*time.Second)
	defer end()

	if _, err := chromedp.RunResponse(ctx, step); err != nil {
		require.NoError(b.t, err, "at %s\n%s", b.path(), b.text())
	}
}

// waitForAddress waits until the page at the address is loaded, with any query or
// with one that has the prefix. Redirects may lead there.
func (b *browser) waitForAddress(address string) {
	b.t.Helper()

	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()

	for deadline := time.Now().Add(20 * time.Second); ; <-again.C {
		// Chromium refuses to evaluate while it navigates to another page.
		location, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](
			`document.readyState === "complete" ? location.href : "a page that is loading"`))
		path := strings.TrimPrefix(location, b.site)
		rest, hasPrefix := strings.CutPrefix(path, address)

		isThere := hasPrefix && (rest == "" || strings.HasPrefix(rest, "?") || strings.Contains(address, "?"))
		if err == nil && isThere {
			return
		}

		require.True(b.t, time.Now().Before(deadline), "is at %s, not at %s: %v\n%s", path, address, err, b.text())
	}
}

// waitForText waits until the page contains the text. The page updates itself for
// a short time only; after that it is reloaded.
func (b *browser) waitForText(text string) {
	b.t.Helper()

	attempts := time.NewTicker(200 * time.Millisecond)
	defer attempts.Stop()

	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(b.text(), text); <-attempts.C {
		require.True(b.t, time.Now().Before(deadline), "%q is not on the page: %s", text, b.text())
		b.open(b.path())
	}
}

// key sends keystrokes.
func (b *browser) key(keys string) { b.t.Helper(); b.do(chromedp.KeyEvent(keys)) }

// tabTo presses Tab until the element has the focus, and checks at each step that
// the focus is visible.
func (b *browser) tabTo(selector string) {
	b.t.Helper()

	for range 80 {
		b.key(kb.Tab)
		require.True(b.t, evaluate[bool](b, `(() => {
			const element = document.activeElement;
			if (!element || element === document.body) return true;
			const style = getComputedStyle(element);
			return element.matches(":focus-visible") && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
		})()`), "the focus is not visible")

		if evaluate[bool](b,
			`!!document.activeElement && document.activeElement.matches(`+strconv.Quote(selector)+`)`) {
			return
		}
	}

	require.Fail(b.t, "the Tab key does not reach "+selector)
}

// views are the viewports and colour schemes in which pages are checked.
var views = []struct {
	name, scheme string
	width        int64
}{
	{name: "light", scheme: "light", width: 1280},
	{name: "dark", scheme: "dark", width: 1280},
	{name: "narrow", scheme: "light", width: 320},
	{name: "narrow-dark", scheme: "dark", width: 320},
}

// checkPage checks the page in every viewport and colour scheme, and saves
// screenshots if LOCUM_TEST_SCREENSHOTS names a folder.
func (b *browser) checkPage(name string) {
	b.t.Helper()
	b.requireNoErrors("400", "401", "404", "409")

	if b.axe == "" {
		return
	}

	require.False(b.t, b.seen[name], name) // screenshots have the names of pages

	b.seen[name] = true
	for _, l := range views {
		b.scheme(l.scheme)
		b.do(chromedp.EmulateViewport(l.width, 800))
		require.LessOrEqual(b.t, evaluate[int](b, "document.documentElement.scrollWidth"), int(l.width),
			"%s, %s is scrolled sideways", name, l.name)
		require.Empty(b.t,
			b.violations(`{type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}`),
			"%s, %s", name, l.name)
		b.picture(name + "-" + l.name)
	}

	b.scheme("")
	b.do(chromedp.EmulateViewport(1280, 800))

	if b.sources != nil && evaluate[int](b,
		`performance.getEntriesByType("navigation")[0].responseStatus`) == http.StatusOK {
		b.sources[name] = evaluate[string](b, `fetch(location.href).then((response) => response.text())`)
	}
}

// validateSources checks the HTML of the pages that checkPage has loaded.
func (b *browser) validateSources() {
	b.t.Helper()

	if b.axe == "" {
		return // without script, pages are not loaded again
	}

	require.NotEmpty(b.t, b.sources)
	validateHTML(b.t, b.sources)
}

// checkDarkScheme checks the dark scheme of a page whose light scheme is not
// ours, in wide and narrow viewports.
func (b *browser) checkDarkScheme(name string) {
	b.t.Helper()
	b.scheme("dark")

	for _, l := range views {
		if l.scheme == "dark" {
			b.do(chromedp.EmulateViewport(l.width, 800))
			require.Empty(b.t, b.violations(`{type: "rule", values: ["color-contrast"]}`), "%s, %s", name, l.name)
			b.picture(name + "-" + l.name)
		}
	}

	b.scheme("")
	b.do(chromedp.EmulateViewport(1280, 800))
}

// scheme emulates the prefers-color-scheme of the user; an empty value resets it.
func (b *browser) scheme(name string) {
	b.t.Helper()

	media := emulation.SetEmulatedMediaParams{}
	if name != "" {
		media.Features = []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}
	}

	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media)
	require.NoError(b.t, err)
}

// violation is a violation of an axe rule by some elements.
type violation struct {
	ID    string
	Help  string
	Nodes []struct{ HTML, FailureSummary string }
}

// violations returns the violations that axe finds on the page by the rules.
func (b *browser) violations(rules string) (out []violation) {
	b.t.Helper()

	_ = evaluate[chromedp.Void](b, b.axe+";0")

	// Running transitions have intermediate colours whose contrast does not
	// matter.
	const arrived = `Promise.all(document.getAnimations().filter(a => a instanceof CSSTransition).map(a => a.finished.catch(() => {})))`
	raw := evaluate[string](b,
		arrived+`.then(() => axe.run(document, {runOnly: `+rules+`})).then(r => JSON.stringify(r.violations))`)
	require.NoError(b.t, json.Unmarshal([]byte(raw), &out))

	return out
}

// axeCore returns the source of axe-core, which checks accessibility.
func axeCore(t *testing.T) string {
	t.Helper()

	axe, err := os.ReadFile(filepath.Join(installNPM(t, kit.Tool(t, "npm"), "browser"), "node_modules", "axe-core",
		"axe.min.js"))
	require.NoError(t, err)

	return string(axe)
}

// picture saves a screenshot of the page if screenshots are requested.
func (b *browser) picture(name string) {
	b.t.Helper()

	if dir := os.Getenv("LOCUM_TEST_SCREENSHOTS"); dir != "" {
		picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
		require.NoError(b.t, err)
		require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600))
	}
}

// site starts the built program with its own address as public URL.
func site(t *testing.T) *testServer {
	t.Helper()

	server := newTestServer(t)
	address := kit.Address(t)
	server.env = []string{
		"LOCUM_HTTP_ADDR=" + address,
		"LOCUM_HTTP_PUBLIC_URL=http://" + address,
		"LOCUM_WEBHOOKS_ALLOW_PRIVATE_NETWORKS=true",
	}
	server.serve()

	return server
}

// callbackServer is a server on this machine that records the requests it receives: that of an
// OAuth client, or a receiver of webhooks.
type callbackServer struct {
	*httptest.Server
	t        *testing.T
	mu       sync.Mutex
	received []callback
}

// requests returns the requests so far.
func (s *callbackServer) requests() []callback {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.received)
}

// waitFor waits until n requests have arrived, and requires that there are no more.
func (s *callbackServer) waitFor(n int) []callback {
	require.Eventually(s.t, func() bool { return len(s.requests()) >= n }, 20*time.Second, 20*time.Millisecond)

	received := s.requests()
	require.Len(s.t, received, n)

	return received
}

// callback is a request with its body.
type callback struct {
	*http.Request
	body []byte
}

// newCallbackServer starts a callbackServer. respond returns the status of each response.
func newCallbackServer(t *testing.T, respond func(r callback) int) *callbackServer {
	t.Helper()

	s := &callbackServer{t: t}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		request := callback{r, body}
		status := respond(request)

		s.mu.Lock()
		s.received = append(s.received, request)
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)

		if status == http.StatusOK {
			_, _ = w.Write([]byte(`<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>Back</title><p>Thanks`))
		}
	}))
	t.Cleanup(s.Close)

	return s
}
