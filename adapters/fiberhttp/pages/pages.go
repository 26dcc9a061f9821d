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
		"number": number, "once": rand.Text, "asset": assetPath, "field": newField, "choices": withChoices, "signIn": signInPath, "register": registerPath, "signOut": signOutPath,
	}).ParseFS(files, "html/layout.html", "html/parts.html"))
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

// number formats a number with separators, such as 10,000.
func number(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Parse parses a page template, which defines "title" and "main" and may define "head" and
// "nav". It is executed with a Page. It can use the templates "time", "exact time" and
// "date", "problem" for a *Problem, "field" for a Field, which the functions field and
// choices return, and the function once for the key of a form that is executed once. Each
// form with POST begins with {{$.CSRF}}.
func Parse(files embed.FS, names ...string) *template.Template {
	return template.Must(template.Must(layout.Clone()).ParseFS(files, names...))
}

// Brand is the name and the look of the service on pages.
type Brand struct {
	Name string
	// Logo is the image that is shown in place of the name, nil for none. LogoType is its
	// media type.
	Logo     []byte
	LogoType string
	// Colour is the main colour in light mode, such as #0b5f66, empty for the default.
	Colour string
	// Contact is an e-mail address for questions, empty for none.
	Contact string
	// Links are further links at the end of each page.
	Links []Link
}

// Link is a link to a page.
type Link struct{ Path, Text string }

// Page is the data of a template.
type Page struct {
	// Viewer is the signed-in user, nil for none.
	Viewer *Viewer
	// Path is the path of the page.
	Path  string
	Brand Brand
	// Notice is the result of the form that led to this page, empty for none.
	Notice string
	// View is the data of this page.
	View any

	session string
	hasSite bool
	navs    map[string]SubNav
}

// HomePath is the path of the name of the service.
func (p Page) HomePath() string {
	if p.hasSite {
		return "/"
	}
	return Home
}

// Nav returns the links at the top of the page.
func (p Page) Nav() []Link {
	switch {
	case !p.hasSite && p.Viewer == nil:
		return []Link{{"/docs", "Interface"}, {"/docs/guides", "Guides"}, {signInPath(p.Path), "Sign in"}}
	case !p.hasSite:
		return []Link{{Home, "Developers"}, {"/docs", "Interface"}, {"/docs/guides", "Guides"}}
	case p.Viewer == nil && (p.Path == signInPath(p.Path) || p.Path == registerPath(p.Path)):
		// These pages link to each other with the page that follows.
		return []Link{{"/jobs", "Find jobs"}, {"/employer", "For employers"}}
	case p.Viewer == nil:
		return []Link{{"/jobs", "Find jobs"}, {"/employer", "For employers"}, {signInPath(p.Path), "Sign in"}, {registerPath(p.Path), "Register"}}
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

// SubNav is a second row of links.
type SubNav struct {
	Name  string
	Links []Link
	// LinksFor returns the links for the viewer, in place of Links, unless it is nil.
	LinksFor func(who *Viewer) []Link
}

// developerNav are the links of the pages for developers.
var developerNav = SubNav{Name: "Developers", Links: []Link{{Home, "Applications"}, {"/developers/consents", "What you allow"}, {"/docs/developer", "Interface"}, {"/docs/guides", "Guides"}}}

// SubNav returns the second row of links, nil for none.
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

// FooterLinks returns the links at the end of the page.
func (p Page) FooterLinks() []Link {
	return append(slices.Clone(p.Brand.Links), Link{"/developers", "Developers"}, Link{"/docs/guides", "Guides"}, Link{"/docs/developer", "Developer interface"}, Link{"/docs", "API reference"})
}

// CSRF returns the field that each form with POST has: a token of the session against
// cross-site request forgery. It is empty without a session.
func (p Page) CSRF() template.HTML {
	if p.session == "" {
		return ""
	}
	return template.HTML(`<input type="hidden" name="csrf" value="` + csrfToken(p.session) + `">`) //nolint:gosec // hexadecimal digits
}

// AriaCurrent returns the attribute aria-current for a link to the path, if the page is at
// or below it. Pages below the first link of a row are not below that link.
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
	identity  *identity.Service
	module    *integrations.Service
	scopeText func(integrations.Scope) string
	clientIP  func(*fiber.Ctx) string
	takeLimit func(ctx context.Context, c *fiber.Ctx, operation string) error
	publicURL *url.URL
	brand     Brand
	hasSite   bool
	navs      map[string]SubNav
	notices   map[string]string
}

// Options configure a Renderer.
type Options struct {
	PublicURL string
	// ClientIP returns the address of the client.
	ClientIP func(*fiber.Ctx) string
	// TakeLimit counts a call for the limit of the operation, METHOD /path, and the
	// request's address. Over the limit it returns fault.ErrRateLimit.
	TakeLimit func(ctx context.Context, c *fiber.Ctx, operation string) error
	// ScopeText describes a scope for users.
	ScopeText func(integrations.Scope) string
	Brand     Brand
	// Site is set if the site for clinicians and employers is served.
	Site bool
	// Navs are the second rows of links, by the path below which they are shown.
	Navs map[string]SubNav
	// Notices are the messages after a form, by the value of the parameter done.
	Notices map[string]string
}

// New returns a Renderer.
func New(i *identity.Service, module *integrations.Service, o Options) (*Renderer, error) {
	u, err := url.Parse(o.PublicURL)
	navs := map[string]SubNav{Home: developerNav}
	maps.Copy(navs, o.Navs)
	return &Renderer{identity: i, module: module, scopeText: o.ScopeText, clientIP: o.ClientIP, takeLimit: o.TakeLimit, publicURL: u, brand: o.Brand, hasSite: o.Site, navs: navs, notices: o.Notices}, err
}

// TakeLimit counts a call for the limit of the operation, METHOD /path, and the request's
// address. Over the limit it returns fault.ErrRateLimit.
func (f *Renderer) TakeLimit(ctx context.Context, c *fiber.Ctx, operation string) error {
	return f.takeLimit(ctx, c, operation)
}

// Brand returns the name and the look of the service.
func (f *Renderer) Brand() Brand { return f.brand }

// Add serves the pages for sign-in, sign-up and consents.
func (f *Renderer) Add(app *fiber.App) {
	f.addAssets(app)
	f.addLinkPages(app)
	f.addInvitationPage(app)
	// The paths below /developers are those of earlier versions.
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

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"

// Guard is the middleware of every page: it sets security headers, and rejects forms that
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

// SetHeaders is Guard for forms that other programs send, too, with a secret of their own.
func (f *Renderer) SetHeaders(c *fiber.Ctx) error {
	f.setHeaders(c)
	return c.Next()
}

func (f *Renderer) setHeaders(c *fiber.Ctx) {
	c.Locals(rendererKey, f)
	c.Set(fiber.HeaderContentSecurityPolicy, policy)
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
		return c.Cookies(f.cookie()) == "" || f.ValidCSRF(c)
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	if f.isHTTPS() && u.Scheme != "https" {
		return false // can be forged on the network
	}
	return strings.EqualFold(u.Host, f.publicURL.Host) || strings.EqualFold(u.Host, string(c.Context().Host()))
}

// rendererKey is the local with the Renderer of a request for a page.
const rendererKey = "locum.pages"

// errorView is the data of the error page, one of these: Message for errors that the user
// can correct, Soon for temporary ones, or Reference, the request id in the log.
type errorView struct {
	Message   string
	Soon      bool
	Reference string
}

// RenderError renders an error page if the request is for a page, and reports whether it
// is.
func RenderError(c *fiber.Ctx, status int, err *fault.Error) (bool, error) {
	f, is := c.Locals(rendererKey).(*Renderer)
	if !is {
		return false, nil
	}
	var v errorView
	switch err.Kind {
	case fault.Unavailable:
		v.Soon = true
	case fault.Internal:
		v.Reference = c.GetRespHeader(fiber.HeaderXRequestID)
	default:
		v.Message = err.Message
	}
	return true, f.Render(c, status, errorPage, nil, v)
}

// RenderForbidden answers a form that was not sent from a page of this service.
func (f *Renderer) RenderForbidden(c *fiber.Ctx) error {
	return f.Render(c, fiber.StatusForbidden, forbiddenPage, nil, nil)
}

// FormAction allows one more target for the redirects of forms: a source of a
// Content-Security-Policy.
func (f *Renderer) FormAction(c *fiber.Ctx, source string) {
	c.Set(fiber.HeaderContentSecurityPolicy, strings.TrimSpace(policy+" "+source))
}

// Render renders a page.
func (f *Renderer) Render(c *fiber.Ctx, status int, page *template.Template, who *Viewer, view any) error {
	p := Page{Viewer: who, Path: c.Path(), Brand: f.brand, View: view, session: c.Cookies(f.cookie()), hasSite: f.hasSite, navs: f.navs}
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
	session := c.Cookies(f.cookie())
	return session != "" && subtle.ConstantTimeCompare([]byte(csrfToken(session)), []byte(c.FormValue("csrf"))) == 1
}

func csrfToken(session string) string {
	mac := hmac.New(sha256.New, []byte(session))
	mac.Write([]byte("form"))
	return hex.EncodeToString(mac.Sum(nil))
}

// Message is a page of a few sentences.
type Message struct {
	Title, Text string
	// Code is an error code that the page explains, empty for none.
	Code string
	// Button is the label of a form that posts to the page itself, empty for none.
	Button string
	// Action is the address of the form.
	Action string
}

// RenderMessage renders a Message for everyone.
func (f *Renderer) RenderMessage(c *fiber.Ctx, status int, m Message) error {
	return f.Render(c, status, messagePage, nil, m)
}

// Session is the name of routes that need a browser session.
const Session = "page session"

// Handler handles a request of a signed-in user.
type Handler func(ctx context.Context, c *fiber.Ctx, who *Viewer) error

// Get serves a page to signed-in users.
func (f *Renderer) Get(app *fiber.App, path string, handle Handler) {
	app.Get(path, f.Guard, f.requireSignIn(handle)).Name(Session)
}

// Post handles a form of signed-in users.
func (f *Renderer) Post(app *fiber.App, path string, handle Handler) {
	app.Post(path, f.Guard, f.requireSignIn(handle)).Name(Session)
}

// UploadSession is the name of routes of forms with files.
const UploadSession = "page session, with files"

// PostFiles handles a form of signed-in users that may contain files, of at most UploadBody
// bytes.
func (f *Renderer) PostFiles(app *fiber.App, path string, handle Handler) {
	app.Post(path, f.Guard, f.requireSignIn(handle)).Name(UploadSession)
}

// Public serves a page to everyone. The viewer is nil for guests.
func (f *Renderer) Public(app *fiber.App, path string, handle Handler) {
	app.Get(path, f.Guard, f.withViewer(handle))
}

func (f *Renderer) withViewer(handle Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		ctx, cancel := f.requestContext(c)
		defer cancel()
		who, err := f.Viewer(ctx, c)
		if err != nil && !isUnauthenticated(err) {
			return err
		}
		return handle(ctx, c, who)
	}
}

// requireSignIn redirects to the sign-in page if the user is not signed in, and back
// afterwards.
func (f *Renderer) requireSignIn(handle Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		ctx, cancel := f.requestContext(c)
		defer cancel()
		who, err := f.Viewer(ctx, c)
		if isUnauthenticated(err) {
			next := ""
			switch {
			case c.Method() == fiber.MethodGet:
				next = c.OriginalURL()
			case isForDevelopers(c):
				next = Home
			}
			return c.Redirect(signInPath(c.Path())+"?next="+url.QueryEscape(next), fiber.StatusSeeOther)
		} else if err != nil {
			return err
		}
		return handle(ctx, c, who)
	}
}
