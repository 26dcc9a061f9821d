package kit

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Browser is a browser without script. It keeps cookies, sends the Origin and
// Sec-Fetch-Site headers as browsers do, and returns each response instead of
// following redirects.
type Browser struct {
	T    testing.TB
	URL  string // of the server
	HTTP *http.Client
	// IP is the client address that a proxy would report, empty for none.
	IP string
	// Site is the Sec-Fetch-Site header of forms, empty for an old browser, which sends none.
	Site string
	// Origin is the Origin header of forms, empty for none.
	Origin string
}

// NewBrowser returns a browser without cookies.
func NewBrowser(t testing.TB, server, ip string) *Browser {
	t.Helper()

	jar, err := cookiejar.New(nil)
	require.NoError(t, err)

	doNotFollow := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

	return &Browser{
		T:    t,
		URL:  server,
		IP:   ip,
		Site: "same-origin",
		HTTP: &http.Client{Jar: jar, CheckRedirect: doNotFollow, Timeout: 20 * time.Second},
	}
}

// Page is the response that a browser shows.
type Page struct {
	Status int
	Header http.Header
	Text   string
}

// Open requests a path of the server; if values is not nil, it posts them as a
// form.
func (b *Browser) Open(method, path string, values url.Values) Page {
	b.T.Helper()

	var body io.Reader
	if values != nil {
		body = strings.NewReader(values.Encode())
	}

	r, err := http.NewRequestWithContext(b.T.Context(), method, b.URL+path, body)
	require.NoError(b.T, err)

	if b.IP != "" {
		r.Header.Set("X-Forwarded-For", b.IP)
	}

	if values != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")

		if b.Site != "" {
			r.Header.Set("Sec-Fetch-Site", b.Site)
			r.Header.Set("Sec-Fetch-Mode", "navigate")
		}

		if b.Origin != "" {
			r.Header.Set("Origin", b.Origin)
		}
	}

	response, err := b.HTTP.Do(r)
	require.NoError(b.T, err)

	defer func() { _ = response.Body.Close() }()

	text, err := io.ReadAll(response.Body)
	require.NoError(b.T, err)

	return Page{Status: response.StatusCode, Header: response.Header, Text: string(text)}
}

// SignIn posts the form of the sign-in page for developers and returns the response.
func (b *Browser) SignIn(email, password string) Page {
	b.T.Helper()
	return b.Open(http.MethodPost, "/developers/sign-in", url.Values{"email": {email}, "password": {password}})
}

// csrfField matches the hidden field with the CSRF token of a session.
var csrfField = regexp.MustCompile(`name="csrf" value="([0-9a-f]+)"`)

// CSRFToken returns the CSRF token of the consent page's form.
func (p Page) CSRFToken(t testing.TB) string {
	t.Helper()

	found := csrfField.FindStringSubmatch(p.Text)
	require.NotNil(t, found, "%d %s", p.Status, p.Text)

	return found[1]
}

// Allow opens the consent page at the path and consents.
func (b *Browser) Allow(path string) Page {
	b.T.Helper()

	consentPage := b.Open(http.MethodGet, path, nil)

	return b.Decide(path, "allow", consentPage.CSRFToken(b.T))
}

// Decide posts the form of the consent page at the path. The decision is "allow" or "deny".
func (b *Browser) Decide(path, decision, csrfToken string) Page {
	b.T.Helper()
	return b.Open(http.MethodPost, path, url.Values{"csrf": {csrfToken}, "decision": {decision}})
}
