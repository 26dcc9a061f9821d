// Package pages renders the web pages of the service: their layout, browser sessions, and
// the protection against cross-site request forgery. The pages work without scripts.
package pages

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"html/template"
	"maps"
	"net/url"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
)

// Renderer renders pages. It protects them by sessions, and by checks of the site from which a form
// was sent. Fields have the meaning of the Options of the same name unless their comment says more.
type Renderer struct {
	identity     *identity.Service
	integrations *integrations.Service
	scopeText    func(integrations.Scope) string
	clientIP     func(*fiber.Ctx) string
	takeLimit    func(ctx context.Context, c *fiber.Ctx, operation string) error
	publicURL    *url.URL
	brand        Brand
	hasSite      bool // Options.Site
	embedOrigins []string
	navs         map[string]SubNav // Options.Navs and developerNav
	notices      map[string]string // Options.Notices, and the message for the key secondFactorOff
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
	// Navs maps the path of the first page of a part of the site, such as /account, to the navigation
	// of the part.
	Navs map[string]SubNav
	// Notices maps keys to messages such as "The note is saved." After a form, the response is
	// a redirect to a page with the key in the query parameter done. That page shows the message.
	Notices map[string]string
}

// New returns a Renderer.
func New(identityService *identity.Service, integrationsService *integrations.Service, options Options) (*Renderer, error) {
	publicURL, err := url.Parse(options.PublicURL)
	if err != nil {
		return nil, err
	}

	navs := map[string]SubNav{developersPath: developerNav}
	maps.Copy(navs, options.Navs)

	notices := map[string]string{secondFactorOff: "Two-step sign-in is off."}
	maps.Copy(notices, options.Notices)

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
		notices:      notices,
	}, nil
}

// TakeLimit counts a request towards a rate limit, see Options.TakeLimit.
func (r *Renderer) TakeLimit(ctx context.Context, c *fiber.Ctx, operation string) error {
	return r.takeLimit(ctx, c, operation)
}

// Brand returns the name and the appearance of the service.
func (r *Renderer) Brand() Brand { return r.brand }

// Add registers the pages that do not depend on the site: the pages for sign-in, sign-up, two-step
// sign-in and OAuth consents, the pages to which e-mails link, and the assets.
func (r *Renderer) Add(app *fiber.App) {
	r.addAssets(app)
	r.addLinkPages(app)
	r.addInvitationPage(app)
	r.addSecondFactorPages(app)

	// The pages for developers have their own sign-in, which leads back to them.
	for _, prefix := range []string{"", "/developers"} {
		app.Get(prefix+"/sign-in", r.Guard, r.showSignIn)
		app.Post(prefix+"/sign-in", r.Guard, r.signIn)
		app.Post(prefix+"/sign-out", r.Guard, r.signOut)
	}

	for _, path := range []string{"/register", "/developers/sign-up"} {
		app.Get(path, r.Guard, r.showSignUp)
		app.Post(path, r.Guard, r.signUp)
	}

	r.Get(app, "/developers/consents", r.consents)
	r.Post(app, "/developers/consents/:clientId/withdraw", r.withdraw)
}

// Render renders a page. viewer is nil for guests, and view becomes Page.View.
func (r *Renderer) Render(c *fiber.Ctx, status int, page *template.Template, viewer *Viewer, view any) error {
	p := Page{
		Viewer:  viewer,
		Path:    c.Path(),
		Brand:   r.brand,
		View:    view,
		session: c.Cookies(r.cookieName()),
		hasSite: r.hasSite,
		navs:    r.navs,
	}
	if status == fiber.StatusOK {
		p.Notice = r.notices[c.Query("done")]
	}

	// Render the page to a buffer first: if that fails, nothing of the page has been sent yet.
	var b bytes.Buffer
	if err := page.ExecuteTemplate(&b, "layout.html", p); err != nil {
		return err
	}

	c.Status(status).Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)

	return c.Send(b.Bytes())
}

// errorView is the data of the error page. Exactly one field is set. It depends on the kind of the error,
// and selects the text of the page.
type errorView struct {
	Message     string // the message of an error that the user can correct
	IsMissing   bool   // no page has the address
	IsTemporary bool   // the service is unavailable
	RequestID   string // the id of a request with an internal error, by which operators find the error in the log
}

// RenderError renders an error page if Guard, SetHeaders or ExpectPage has marked the request as one
// for a page. Otherwise isPage is false, and the caller renders the error.
func RenderError(c *fiber.Ctx, status int, err *fault.Error) (isPage bool, _ error) {
	r := rendererOf(c)
	if r == nil {
		return false, nil
	}

	var v errorView
	switch err.Kind {
	case fault.NotFound:
		v.IsMissing = true
	case fault.Unavailable:
		v.IsTemporary = true
	case fault.Internal:
		v.RequestID = c.GetRespHeader(fiber.HeaderXRequestID)
	default:
		v.Message = err.Message
	}

	return true, r.Render(c, status, errorPage, nil, v)
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
func (r *Renderer) RenderMessage(c *fiber.Ctx, status int, m Message) error {
	return r.Render(c, status, messagePage, nil, m)
}

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

	secondFactorPage = Parse(files, "html/two-step.html")
)

// Parse parses a page template, which is executed with a Page. The template defines the parts of the
// layout "title" and "main", and may define "head" and "nav". It can use
//   - the templates "time", "exact time" and "date" for timestamps,
//   - the template "problem" for a *Problem,
//   - the template "field" for a Field, which the functions field and choices return,
//   - the function once for an idempotency key, in forms that must not be executed twice.
//
// Each form with the method POST must begin with {{$.CSRF}}.
func Parse(files embed.FS, names ...string) *template.Template {
	return template.Must(template.Must(layout.Clone()).ParseFS(files, names...))
}

// formatNumber formats a number with commas between groups of three digits, such as 10,000.
func formatNumber(n int) string {
	const groupSize = 3

	formatted := strconv.Itoa(n)
	for i := len(formatted) - groupSize; i > 0; i -= groupSize {
		isAfterMinus := formatted[i-1] == '-'
		if isAfterMinus {
			break
		}

		formatted = formatted[:i] + "," + formatted[i:]
	}

	return formatted
}
