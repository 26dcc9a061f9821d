// Package pages renders the web pages of the service: their layout, browser sessions, and
// the protection against cross-site request forgery. The pages work without scripts.
package pages

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"encoding/hex"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
)

//go:embed html style.css icon.svg script.js
var files embed.FS

var (
	layout = template.Must(template.New("layout.html").Funcs(template.FuncMap{
		"number":   formatNumber,
		"once":     rand.Text,
		"asset":    assetPath,
		"field":    newField,
		"choices":  withChoices,
		"signIn":   signInPath,
		"register": registerPath,
		"signOut":  signOutPath,
	}).ParseFS(files, "html/layout.html", "html/embed.html", "html/parts.html"))
	signInPage    = Parse(files, "html/sign-in.html")
	signUpPage    = Parse(files, "html/sign-up.html")
	redirectPage  = Parse(files, "html/redirect.html")
	forbiddenPage = Parse(files, "html/forbidden.html")
	errorPage     = Parse(files, "html/error.html")
	consentsPage  = Parse(files, "html/consents.html")
	linkTemplate  = Parse(files, "html/link.html")
	messagePage   = Parse(files, "html/message.html")
	invitePage    = Parse(files, "html/invitation.html")
)

// formatNumber formats a number with separators, such as 10,000.
func formatNumber(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Parse parses a page template, which is executed with a Page. The template defines "title"
// and "main", and may define "head" and "nav". It can use
//   - the templates "time", "exact time" and "date" for timestamps,
//   - the template "problem" for a *Problem,
//   - the template "field" for a Field, which the functions field and choices return,
//   - the function once for an idempotency key, in forms that must not be executed twice.
//
// Each form with the method POST begins with {{$.CSRF}}.
func Parse(files embed.FS, names ...string) *template.Template {
	return template.Must(template.Must(layout.Clone()).ParseFS(files, names...))
}

// Brand is the name and the appearance of the service on pages. All fields but Name may be
// empty.
type Brand struct {
	Name string
	// Logo is the image that is shown in place of the name.
	Logo []byte
	// LogoType is the media type of Logo.
	LogoType string
	// Colour is the main colour in light mode, such as #0b5f66.
	Colour string
	// Contact is an e-mail address for questions.
	Contact string
	// Links are added to the footer of each page.
	Links []Link
}

// Link is a link to a page.
type Link struct{ Path, Text string }

// Page is the data with which the template of a page is executed.
type Page struct {
	// Viewer is the signed-in user, nil for none.
	Viewer *Viewer
	// Path is the path of the page.
	Path  string
	Brand Brand
	// Notice is a message about the form that led to this page. It may be empty.
	Notice string
	// View is the data of this page.
	View any

	session string
	hasSite bool
	navs    map[string]SubNav
}

// HomePath returns the path to which the name of the service links.
func (p Page) HomePath() string {
	if p.hasSite {
		return "/"
	}
	return Home
}

// Nav returns the main navigation.
func (p Page) Nav() []Link {
	switch {
	case !p.hasSite && p.Viewer == nil:
		return []Link{{"/docs", "Interface"}, {"/docs/guides", "Guides"}, {signInPath(p.Path), "Sign in"}}
	case !p.hasSite:
		return []Link{{Home, "Developers"}, {"/docs", "Interface"}, {"/docs/guides", "Guides"}}
	case p.Viewer == nil && (p.Path == signInPath(p.Path) || p.Path == registerPath(p.Path)):
		// The pages for sign-in and registration link to each other themselves, and keep the
		// address to which the user is redirected afterwards.
		return []Link{{"/jobs", "Find jobs"}, {"/employer", "For employers"}}
	case p.Viewer == nil:
		return []Link{
			{"/jobs", "Find jobs"},
			{"/employer", "For employers"},
			{signInPath(p.Path), "Sign in"},
			{registerPath(p.Path), "Register"},
		}
	}
	actor, links := p.Viewer.Actor(), []Link{{"/jobs", "Find jobs"}}
	if actor.Seeker {
		links = append(links, Link{"/account", "My account"})
	}
	if !actor.Seeker || actor.OrganizationID != "" {
		links = append(links, Link{"/employer", "Employer console"})
	}
	if actor.Moderator {
		links = append(links, Link{"/moderation", "Moderation"})
	}
	return links
}

// SubNav is the navigation of a part of the site, in a second row below the main navigation.
type SubNav struct {
	Name  string
	Links []Link
	// LinksFor returns the links for the viewer. If it is set, Links is not used.
	LinksFor func(viewer *Viewer) []Link
}

// developerNav is the navigation of the pages for developers.
var developerNav = SubNav{
	Name: "Developers",
	Links: []Link{
		{Home, "Applications"},
		{"/developers/consents", "What you allow"},
		{"/docs/developer", "Interface"},
		{"/docs/guides", "Guides"},
	},
}

// SubNav returns the navigation of the part that the page belongs to, nil for none.
func (p Page) SubNav() *SubNav {
	for path, nav := range p.navs {
		if p.Viewer != nil && (p.Path == path || strings.HasPrefix(p.Path, path+"/")) {
			if nav.LinksFor != nil {
				nav.Links = nav.LinksFor(p.Viewer)
			}
			if len(nav.Links) == 0 {
				return nil
			}
			return &nav
		}
	}
	return nil
}

// FooterLinks returns the links of the footer.
func (p Page) FooterLinks() []Link {
	return append(
		slices.Clone(p.Brand.Links),
		Link{"/developers", "Developers"},
		Link{"/docs/guides", "Guides"},
		Link{"/docs/developer", "Developer interface"},
		Link{"/docs", "API reference"},
	)
}

// CSRF returns the hidden field that protects a form against cross-site request forgery: a
// token that is derived from the session. It is empty without a session.
func (p Page) CSRF() template.HTML {
	if p.session == "" {
		return ""
	}
	return template.HTML(`<input type="hidden" name="csrf" value="` + csrfToken(p.session) + `">`) //nolint:gosec // hexadecimal digits
}

// AriaCurrent returns the attribute aria-current for a link to the path: "page" on this page,
// "true" on pages below it. The first link of a SubNav, such as /account, is not marked on
// pages below it, because these have their own links.
func (p Page) AriaCurrent(path string) template.HTMLAttr {
	_, isFirst := p.navs[path]
	switch {
	case p.Path == path:
		return `aria-current="page"`
	case strings.HasPrefix(p.Path, path+"/") && !isFirst:
		return `aria-current="true"`
	}
	return ""
}

// Renderer renders and protects pages.
type Renderer struct {
	identity     *identity.Service
	integrations *integrations.Service
	scopeText    func(integrations.Scope) string
	clientIP     func(*fiber.Ctx) string
	takeLimit    func(ctx context.Context, c *fiber.Ctx, operation string) error
	publicURL    *url.URL
	brand        Brand
	hasSite      bool
	embedOrigins []string
	navs         map[string]SubNav
	notices      map[string]string
}

// Options configure a Renderer.
type Options struct {
	PublicURL string
	// ClientIP returns the address of the client.
	ClientIP func(*fiber.Ctx) string
	// TakeLimit counts a request from the client's address towards the rate limit of an API
	// operation, such as "POST /api/auth/login". Over the limit it returns
	// fault.ErrRateLimit.
	TakeLimit func(ctx context.Context, c *fiber.Ctx, operation string) error
	// ScopeText describes a scope for users.
	ScopeText func(integrations.Scope) string
	Brand     Brand
	// Site is set if the site for clinicians and employers is served.
	Site bool
	// EmbedOrigins are the origins whose pages may show embedded pages in a frame: origins
	// such as https://www.example.org, or * for all.
	EmbedOrigins []string
	// Navs maps the path of a part of the site to its navigation.
	Navs map[string]SubNav
	// Notices maps the values of the query parameter done, with which a form redirects, to
	// the messages that the next page shows.
	Notices map[string]string
}

// New returns a Renderer.
func New(identityService *identity.Service, integrationsService *integrations.Service, options Options) (*Renderer, error) {
	publicURL, err := url.Parse(options.PublicURL)
	navs := map[string]SubNav{Home: developerNav}
	maps.Copy(navs, options.Navs)
	return &Renderer{
		identity:     identityService,
		integrations: integrationsService,
		scopeText:    options.ScopeText,
		clientIP:     options.ClientIP,
		takeLimit:    options.TakeLimit,
		publicURL:    publicURL,
		brand:        options.Brand,
		hasSite:      options.Site,
		embedOrigins: options.EmbedOrigins,
		navs:         navs,
		notices:      options.Notices,
	}, err
}

// TakeLimit counts a request towards a rate limit, see Options.TakeLimit.
func (f *Renderer) TakeLimit(ctx context.Context, c *fiber.Ctx, operation string) error {
	return f.takeLimit(ctx, c, operation)
}

// Brand returns the name and the appearance of the service.
func (f *Renderer) Brand() Brand { return f.brand }

// Add registers the pages for sign-in, sign-up and consents, the pages to which e-mails link,
// and the assets.
func (f *Renderer) Add(app *fiber.App) {
	f.addAssets(app)
	f.addLinkPages(app)
	f.addInvitationPage(app)
	// Earlier versions had these pages below /developers only.
	for _, prefix := range []string{"", "/developers"} {
		app.Get(prefix+"/sign-in", f.Guard, f.showSignIn)
		app.Post(prefix+"/sign-in", f.Guard, f.signIn)
		app.Post(prefix+"/sign-out", f.Guard, f.signOut)
	}
	for _, path := range []string{"/register", "/developers/sign-up"} {
		app.Get(path, f.Guard, f.showSignUp)
		app.Post(path, f.Guard, f.signUp)
	}
	f.Get(app, "/developers/consents", f.consents)
	f.Post(app, "/developers/consents/:clientId/withdraw", f.withdraw)
}

const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"

// Guard is the middleware of every page. It sets security headers and rejects forms that
// were not sent from a page of this service.
func (f *Renderer) Guard(c *fiber.Ctx) error {
	f.setHeaders(c)
	switch c.Method() {
	case fiber.MethodGet, fiber.MethodHead:
	default:
		if !f.sameOrigin(c) {
			return f.RenderForbidden(c)
		}
	}
	return c.Next()
}

// SetHeaders is the middleware for endpoints that API clients use as well as browsers. It
// sets the headers of Guard, but accepts requests of any origin: these endpoints authenticate
// each request with a secret in it.
func (f *Renderer) SetHeaders(c *fiber.Ctx) error {
	f.setHeaders(c)
	return c.Next()
}

func (f *Renderer) setHeaders(c *fiber.Ctx) {
	c.Locals(rendererKey, f)
	c.Set(fiber.HeaderContentSecurityPolicy, contentSecurityPolicy)
	c.Set(fiber.HeaderXFrameOptions, "DENY") // for browsers without frame-ancestors
	c.Set("Cross-Origin-Opener-Policy", "same-origin")
	// Other hosts get no Referer. With no-referrer, browsers that send no Sec-Fetch-Site, as
	// over http, would not send the Origin of our own forms either.
	c.Set(fiber.HeaderReferrerPolicy, "same-origin")
	c.Set(fiber.HeaderPermissionsPolicy, "camera=(), geolocation=(), microphone=(), payment=()")
}

// sameOrigin reports whether a page of this service sent the request, by headers that
// browsers set and pages cannot change. A request without them must have a valid CSRF
// token if it has a session.
func (f *Renderer) sameOrigin(c *fiber.Ctx) bool {
	if site := c.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	origin := c.Get(fiber.HeaderOrigin)
	if origin == "" {
		return c.Cookies(f.cookieName()) == "" || f.ValidCSRF(c)
	}
	originURL, err := url.Parse(origin)
	if err != nil || originURL.Host == "" {
		return false
	}
	if f.isHTTPS() && originURL.Scheme != "https" {
		return false // an attacker on the network can forge pages of an http origin
	}
	return strings.EqualFold(originURL.Host, f.publicURL.Host) || strings.EqualFold(originURL.Host, string(c.Context().Host()))
}

// rendererKey is the local with the Renderer of a request for a page.
const rendererKey = "locum.pages"

// errorView is the data of the error page. One field is set: Message for errors that the user
// can correct, IsTemporary for an unavailable service, or RequestID for internal errors,
// which the log contains with this id.
type errorView struct {
	Message     string
	IsTemporary bool
	RequestID   string
}

// RenderError renders an error page if Guard or SetHeaders has marked the request as one for
// a page. It reports whether that is so; if not, the caller renders the error.
func RenderError(c *fiber.Ctx, status int, err *fault.Error) (bool, error) {
	f, isPage := c.Locals(rendererKey).(*Renderer)
	if !isPage {
		return false, nil
	}
	var v errorView
	switch err.Kind {
	case fault.Unavailable:
		v.IsTemporary = true
	case fault.Internal:
		v.RequestID = c.GetRespHeader(fiber.HeaderXRequestID)
	default:
		v.Message = err.Message
	}
	return true, f.Render(c, status, errorPage, nil, v)
}

// ExpectPage lets RenderError render a page although no page has the path of the request.
func (f *Renderer) ExpectPage(c *fiber.Ctx) { f.setHeaders(c) }

// RenderForbidden renders the page for a form that was not sent from a page of this service.
func (f *Renderer) RenderForbidden(c *fiber.Ctx) error {
	return f.Render(c, fiber.StatusForbidden, forbiddenPage, nil, nil)
}

// FormAction lets forms of the page redirect to another host: source is a source expression
// of the policy form-action, which ends contentSecurityPolicy.
func (f *Renderer) FormAction(c *fiber.Ctx, source string) {
	c.Set(fiber.HeaderContentSecurityPolicy, strings.TrimSpace(contentSecurityPolicy+" "+source))
}

// Render renders a page. viewer is nil for guests, and view becomes Page.View.
func (f *Renderer) Render(c *fiber.Ctx, status int, page *template.Template, viewer *Viewer, view any) error {
	p := Page{
		Viewer:  viewer,
		Path:    c.Path(),
		Brand:   f.brand,
		View:    view,
		session: c.Cookies(f.cookieName()),
		hasSite: f.hasSite,
		navs:    f.navs,
	}
	if status == fiber.StatusOK {
		p.Notice = f.notices[c.Query("done")]
	}
	var b bytes.Buffer
	if err := page.ExecuteTemplate(&b, "layout.html", p); err != nil {
		return err
	}
	c.Status(status).Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	return c.Send(b.Bytes())
}

// ValidCSRF reports whether the form has the CSRF token of the session.
func (f *Renderer) ValidCSRF(c *fiber.Ctx) bool {
	session := c.Cookies(f.cookieName())
	return session != "" && subtle.ConstantTimeCompare([]byte(csrfToken(session)), []byte(c.FormValue("csrf"))) == 1
}

func csrfToken(session string) string {
	mac := hmac.New(sha256.New, []byte(session))
	mac.Write([]byte("form"))
	return hex.EncodeToString(mac.Sum(nil))
}

// Message is a page with a few sentences, and optionally a form that consists of a button.
type Message struct {
	Title, Text string
	// Code is the error code of the API that the page explains, empty for none.
	Code string
	// Button is the label of the button, empty for no form.
	Button string
	// Action is the path to which the form is sent.
	Action string
	// Next is a link below the text, empty for none.
	Next Link
}

// RenderMessage renders a Message without the navigation of a signed-in user.
func (f *Renderer) RenderMessage(c *fiber.Ctx, status int, m Message) error {
	return f.Render(c, status, messagePage, nil, m)
}

// Session is the name of the Fiber routes that need a browser session.
const Session = "page session"

// Handler handles a request for a page. viewer is the signed-in user; on public pages it is
// nil for guests.
type Handler func(ctx context.Context, c *fiber.Ctx, viewer *Viewer) error

// Get serves a page to signed-in users.
func (f *Renderer) Get(app *fiber.App, path string, handle Handler) {
	app.Get(path, f.Guard, f.requireSignIn(handle)).Name(Session)
}

// Post handles a form of signed-in users.
func (f *Renderer) Post(app *fiber.App, path string, handle Handler) {
	app.Post(path, f.Guard, f.requireSignIn(handle)).Name(Session)
}

// UploadSession is the name of the Fiber routes that need a browser session and accept files.
const UploadSession = "page session, with files"

// PostFiles handles a form of signed-in users that may contain files. The body may have at
// most MaxUploadBody bytes.
func (f *Renderer) PostFiles(app *fiber.App, path string, handle Handler) {
	app.Post(path, f.Guard, f.requireSignIn(handle)).Name(UploadSession)
}

// Public serves a page to everyone. The viewer is nil for guests.
func (f *Renderer) Public(app *fiber.App, path string, handle Handler) {
	app.Get(path, f.Guard, f.withViewer(handle))
}

// withViewer calls handle for everyone, with the viewer nil for guests.
func (f *Renderer) withViewer(handle Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		ctx, cancel := f.requestContext(c)
		defer cancel()
		viewer, err := f.Viewer(ctx, c)
		if err != nil && !isUnauthenticated(err) {
			return err
		}
		return handle(ctx, c, viewer)
	}
}

// requireSignIn calls handle for signed-in users. It redirects guests to the sign-in page,
// which leads back to the requested page, or to the first page after a form.
func (f *Renderer) requireSignIn(handle Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		ctx, cancel := f.requestContext(c)
		defer cancel()
		viewer, err := f.Viewer(ctx, c)
		if isUnauthenticated(err) {
			next := ""
			switch {
			case c.Method() == fiber.MethodGet:
				next = c.OriginalURL()
			case isDeveloperPage(c):
				next = Home
			}
			return c.Redirect(signInPath(c.Path())+"?next="+url.QueryEscape(next), fiber.StatusSeeOther)
		} else if err != nil {
			return err
		}
		return handle(ctx, c, viewer)
	}
}
