// Package pages is the frame of the service's web pages: how they look, who is
// signed in by a cookie, and what keeps others from acting in their name. The
// pages work without script.
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
	"net/url"
	"regexp"
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
	layout        = template.Must(template.New("layout.html").Funcs(template.FuncMap{"number": number, "once": rand.Text}).ParseFS(files, "html/layout.html", "html/parts.html"))
	signInPage    = Parse(files, "html/sign-in.html")
	signUpPage    = Parse(files, "html/sign-up.html")
	onwardPage    = Parse(files, "html/onward.html")
	forbiddenPage = Parse(files, "html/forbidden.html")
	troublePage   = Parse(files, "html/trouble.html")
	consentsPage  = Parse(files, "html/consents.html")
)

// number is a whole number as people read it, 10,000.
func number(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Parse reads a page, which defines "title" and "main" and may define "head",
// "nav" and "corner", which is beside the name of the service. It gets a Page.
// Beside what it defines there are "when" for moments, "problem" for a *Problem
// and the function once, which names a form that is to be sent once.
func Parse(files embed.FS, names ...string) *template.Template {
	return template.Must(template.Must(layout.Clone()).ParseFS(files, names...))
}

// Page is what a template gets.
type Page struct {
	// Viewer is who is signed in, nil for nobody.
	Viewer *Viewer
	// Path is where the page is.
	Path string
	// View is the page's own.
	View any
}

// In is what says in a list of links that the page is the one at the path, or
// below it.
func (p Page) In(path string) template.HTMLAttr {
	switch {
	case p.Path == path:
		return `aria-current="page"`
	case strings.HasPrefix(p.Path, path+"/"):
		return `aria-current="true"`
	}
	return ""
}

// Frame makes and guards pages.
type Frame struct {
	identity  *identity.Service
	module    *integrations.Service
	words     func(integrations.Scope) string
	clientIP  func(*fiber.Ctx) string
	spend     func(ctx context.Context, c *fiber.Ctx, operation string) error
	publicURL *url.URL
}

// Options are what the frame needs beside the services.
type Options struct {
	PublicURL string
	// ClientIP is the address that a request comes from.
	ClientIP func(*fiber.Ctx) string
	// Spend takes one call from what the request's address has left of the
	// operation, METHOD /path, or is fault.ErrRateLimit.
	Spend func(ctx context.Context, c *fiber.Ctx, operation string) error
	// Words are what a scope allows, for people.
	Words func(integrations.Scope) string
}

// New makes the frame.
func New(i *identity.Service, module *integrations.Service, o Options) (*Frame, error) {
	u, err := url.Parse(o.PublicURL)
	return &Frame{identity: i, module: module, words: o.Words, clientIP: o.ClientIP, spend: o.Spend, publicURL: u}, err
}

// Add serves the pages that belong to the frame.
func (f *Frame) Add(app *fiber.App) {
	for name, kind := range map[string]string{"style.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml", "script.js": "text/javascript; charset=utf-8"} {
		file, _ := files.ReadFile(name) // embedded: it is there
		app.Get("/developers/"+name, func(c *fiber.Ctx) error {
			c.Set(fiber.HeaderContentType, kind)
			c.Set(fiber.HeaderCacheControl, "public, max-age=300")
			return c.Send(file)
		})
	}
	app.Get("/developers/sign-in", f.Guard, f.askSignIn)
	app.Post("/developers/sign-in", f.Guard, f.signIn)
	app.Get("/developers/sign-up", f.Guard, f.askSignUp)
	app.Post("/developers/sign-up", f.Guard, f.signUp)
	app.Post("/developers/sign-out", f.Guard, f.signOut)
	f.Get(app, "/developers/consents", f.consents)
	f.Post(app, "/developers/consents/:clientId/withdraw", f.withdraw)
}

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"

// Guard is around every page: it sets what browsers have to keep to, and refuses
// what was not sent from a page of ours.
func (f *Frame) Guard(c *fiber.Ctx) error {
	c.Locals(frameKey, f)
	c.Set(fiber.HeaderContentSecurityPolicy, policy)
	c.Set(fiber.HeaderXFrameOptions, "DENY") // for browsers that do not know frame-ancestors
	c.Set("Cross-Origin-Opener-Policy", "same-origin")
	// Other hosts hear of no address. But with no-referrer a browser that sends no
	// Sec-Fetch-Site, as over http, would not say either that a form is our own.
	c.Set(fiber.HeaderReferrerPolicy, "same-origin")
	c.Set(fiber.HeaderPermissionsPolicy, "camera=(), geolocation=(), microphone=(), payment=()")
	switch c.Method() {
	case fiber.MethodGet, fiber.MethodHead:
	default:
		if !f.sameOrigin(c) {
			return f.Forbid(c)
		}
	}
	return c.Next()
}

// sameOrigin reports whether a page of ours sent the request, which browsers
// tell and no page can change. Where that is not told, by programs, the form has to
// be one that the session was shown.
func (f *Frame) sameOrigin(c *fiber.Ctx) bool {
	if site := c.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	origin := c.Get(fiber.HeaderOrigin)
	if origin == "" {
		return c.Cookies(f.cookie()) == "" || f.Shown(c)
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	if f.secure() && u.Scheme != "https" {
		return false // whoever is on the way can be that
	}
	return strings.EqualFold(u.Host, f.publicURL.Host) || strings.EqualFold(u.Host, string(c.Context().Host()))
}

// frameKey is where a request for a page has its frame.
const frameKey = "locum.pages"

// troubleView is what a page that failed says, one of these: Message of what the
// caller can mend, Soon if waiting may help, or Reference, by which the fault is
// found in the log.
type troubleView struct {
	Message   string
	Soon      bool
	Reference string
}

// Trouble answers a request for a page with one that says what went wrong, and
// reports whether it was for a page.
func Trouble(c *fiber.Ctx, status int, err *fault.Error) (bool, error) {
	f, is := c.Locals(frameKey).(*Frame)
	if !is {
		return false, nil
	}
	var v troubleView
	switch err.Kind {
	case fault.Unavailable:
		v.Soon = true
	case fault.Internal:
		v.Reference = c.GetRespHeader(fiber.HeaderXRequestID)
	default:
		v.Message = err.Message
	}
	return true, f.Show(c, status, troublePage, nil, v)
}

// Forbid answers what was not sent from a page of ours.
func (f *Frame) Forbid(c *fiber.Ctx) error {
	return f.Show(c, fiber.StatusForbidden, forbiddenPage, nil, nil)
}

// FormAction lets the forms of the page that is shown lead to one more place,
// which is a source of a Content-Security-Policy.
func (f *Frame) FormAction(c *fiber.Ctx, source string) {
	c.Set(fiber.HeaderContentSecurityPolicy, strings.TrimSpace(policy+" "+source))
}

// Show answers with a page.
func (f *Frame) Show(c *fiber.Ctx, status int, page *template.Template, who *Viewer, view any) error {
	var b bytes.Buffer
	if err := page.ExecuteTemplate(&b, "layout.html", Page{Viewer: who, Path: c.Path(), View: view}); err != nil {
		return err
	}
	c.Status(status).Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	shown := b.Bytes()
	if session := c.Cookies(f.cookie()); session != "" {
		shown = form.ReplaceAll(shown, []byte("$0<input type=\"hidden\" name=\"csrf\" value=\""+secretOf(session)+"\">"))
	}
	return c.Send(shown)
}

// form is where a form begins that does something. What users wrote is escaped and
// is none.
var form = regexp.MustCompile(`<form method="post"[^>]*>`)

// Shown reports whether the form that was sent is one that the session was shown:
// each has a secret that only pages of this very session know.
func (f *Frame) Shown(c *fiber.Ctx) bool {
	session := c.Cookies(f.cookie())
	return session != "" && subtle.ConstantTimeCompare([]byte(secretOf(session)), []byte(c.FormValue("csrf"))) == 1
}

func secretOf(session string) string {
	mac := hmac.New(sha256.New, []byte(session))
	mac.Write([]byte("form"))
	return hex.EncodeToString(mac.Sum(nil))
}

// Session is the name of routes for who is signed in on the pages.
const Session = "page session"

// Handle answers who is signed in.
type Handle func(ctx context.Context, c *fiber.Ctx, who *Viewer) error

// Get serves a page to who is signed in.
func (f *Frame) Get(app *fiber.App, path string, handle Handle) {
	app.Get(path, f.Guard, f.signedIn(handle)).Name(Session)
}

// Post takes a form from who is signed in.
func (f *Frame) Post(app *fiber.App, path string, handle Handle) {
	app.Post(path, f.Guard, f.signedIn(handle)).Name(Session)
}

// signedIn leads who is not signed in to do so, and then back.
func (f *Frame) signedIn(handle Handle) fiber.Handler {
	return func(c *fiber.Ctx) error {
		ctx, cancel := f.bounded(c)
		defer cancel()
		who, err := f.Viewer(ctx, c)
		if isNobody(err) {
			next := Home
			if c.Method() == fiber.MethodGet {
				next = c.OriginalURL()
			}
			return c.Redirect("/developers/sign-in?next="+url.QueryEscape(next), fiber.StatusSeeOther)
		} else if err != nil {
			return err
		}
		return handle(ctx, c, who)
	}
}
