package oauth

import (
	"context"
	"embed"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"regexp"

	"github.com/gofiber/fiber/v2"
	"github.com/ory/fosite"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/integrations"
)

//go:embed html
var files embed.FS

var (
	consentPage = pages.Parse(files, "html/consent.html")
	refusalPage = pages.Parse(files, "html/refused.html")
)

// challenge matches an S256 challenge: 256 bits in base64url (RFC 7636 §4.2).
var challenge = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// ScopeText describes a scope for users.
func ScopeText(s integrations.Scope) string {
	switch s {
	case integrations.JobsRead:
		return "See jobs that are open to everybody"
	case integrations.ApplicationsRead:
		return "See the job applications that you can see, with what applicants wrote"
	case integrations.ApplicationsWrite:
		return "Apply for jobs in your name"
	}
	return string(s)
}

// consentView is the data of the consent page.
type consentView struct {
	Client, Owner, Description string
	Scopes                     []string
	Destination                string // the host, or the scheme, of the redirect
	Action                     string
}

type refusalView struct{ Why string }

// authorize handles GET and POST /oauth/authorize. The request is in the query, also when
// the form of the page posts the user's decision.
func (s *Server) authorize(c *fiber.Ctx) error {
	ctx, cancel := context.WithTimeout(context.Background(), web.DefaultTimeout)
	defer cancel()
	query := string(c.Request().URI().QueryString())
	form, err := parseParams(query)
	if err != nil {
		return s.renderRefusal(c, err)
	}
	for name, refusal := range map[string]*fosite.RFC6749Error{"request": fosite.ErrRequestNotSupported, "request_uri": fosite.ErrRequestURINotSupported} {
		if form.Has(name) {
			return s.renderRefusal(c, refusal)
		}
	}
	// The library requires a state of eight characters. Here it is optional, since PKCE
	// protects the response.
	stated := maps.Clone(form)
	stated.Set("state", "long enough")
	made, err := s.fosite.NewAuthorizeRequest(ctx, newLibraryRequest(c, http.MethodGet, stated))
	asked, _ := made.(*fosite.AuthorizeRequest)
	if asked != nil {
		asked.State = form.Get("state")
	}
	// The library compares loopback addresses less strictly.
	if uri := form.Get(formRedirect); uri != "" && asked != nil && asked.Client != nil {
		if to, is := asked.Client.(client); is && !to.app.RedirectsTo(uri) {
			return s.renderRefusal(c, fosite.ErrInvalidRequest.WithHint("The redirect_uri is none of those that are registered."))
		}
	}
	if errors.Is(err, fosite.ErrUnsupportedResponseType) && form.Get("response_type") == "" {
		err = fosite.ErrInvalidRequest.WithHint("response_type is missing.")
	}
	if err != nil {
		return s.rejectRequest(c, asked, err)
	}
	if form.Get(formMethod) != s256 || !challenge.MatchString(form.Get(formChallenge)) {
		return s.rejectRequest(c, asked, fosite.ErrInvalidRequest.WithHint("PKCE is required: code_challenge, of 43 characters, with code_challenge_method=S256."))
	}
	wanted, known := integrations.ScopesOf(asked.RequestedScope)
	if !known {
		return s.rejectRequest(c, asked, fosite.ErrInvalidScope)
	}
	who, err := s.renderer.Viewer(ctx, c)
	if fault.KindOf(err) == fault.Unauthenticated {
		return c.Redirect("/developers/sign-in?next="+url.QueryEscape("/oauth/authorize?"+query), fiber.StatusSeeOther)
	} else if err != nil {
		return err
	}
	app := asked.Client.(client).app //nolint:forcetypeassert // the store returns no other type
	if c.Method() == fiber.MethodPost {
		if !s.renderer.ValidCSRF(c) {
			return s.renderer.RenderForbidden(c)
		}
		if c.FormValue("decision") != "allow" {
			return s.rejectRequest(c, asked, fosite.ErrAccessDenied)
		}
		return s.issueCode(ctx, c, asked, who, wanted)
	}
	remembered, err := s.module.Consented(ctx, who.User.ID, app.ID, wanted)
	if err != nil {
		return err
	}
	if remembered && form.Get("prompt") != "consent" && canSkipConsent(app, asked.RedirectURI) {
		return s.issueCode(ctx, c, asked, who, wanted)
	}
	owner, err := s.module.Owner(ctx, app)
	if err != nil {
		return err
	}
	v := consentView{Client: app.Name, Owner: owner, Description: app.Description, Destination: destination(asked.RedirectURI), Action: "/oauth/authorize?" + query}
	for _, scope := range wanted {
		v.Scopes = append(v.Scopes, ScopeText(scope))
	}
	s.renderer.FormAction(c, origin(asked.RedirectURI))
	return s.renderer.Render(c, fiber.StatusOK, consentPage, who, v)
}

// issueCode records the consent and issues the code.
func (s *Server) issueCode(ctx context.Context, c *fiber.Ctx, asked *fosite.AuthorizeRequest, who *pages.Viewer, wanted []integrations.Scope) error {
	var answer fosite.AuthorizeResponder
	err := s.module.InTransaction(ctx, func(ctx context.Context) (err error) {
		if err := s.module.Consent(ctx, who.Actor(), asked.Client.GetID(), wanted); err != nil {
			return err
		}
		asked.GrantedScope, asked.HandledResponseTypes = names(wanted), nil
		answer, err = s.fosite.NewAuthorizeResponse(ctx, asked, &session{DefaultSession: fosite.DefaultSession{Subject: who.User.ID}})
		return err
	})
	if err != nil {
		return s.rejectRequest(c, asked, err)
	}
	return s.redirect(c, asked, url.Values{"code": {answer.GetCode()}})
}

// rejectRequest returns the error to the client if its redirect URI is valid, else shows it
// to the user.
func (s *Server) rejectRequest(c *fiber.Ctx, asked *fosite.AuthorizeRequest, err error) error {
	if isServerError(err) {
		return err
	}
	if asked == nil || asked.Client == nil || !asked.IsRedirectURIValid() {
		return s.renderRefusal(c, err)
	}
	e := fosite.ErrorToRFC6749Error(err)
	return s.redirect(c, asked, url.Values{"error": {e.ErrorField}, "error_description": {e.GetDescription()}})
}

// redirect redirects the browser to the client, with the issuer (RFC 9207).
func (s *Server) redirect(c *fiber.Ctx, asked *fosite.AuthorizeRequest, answer url.Values) error {
	to := *asked.RedirectURI
	q := to.Query()
	for name, value := range answer {
		q[name] = value
	}
	q.Set("iss", s.issuer)
	if asked.State != "" {
		q.Set("state", asked.State)
	}
	to.RawQuery = q.Encode()
	return c.Redirect(to.String(), fiber.StatusSeeOther)
}

func (s *Server) renderRefusal(c *fiber.Ctx, err error) error {
	e := fosite.ErrorToRFC6749Error(err)
	return s.renderer.Render(c, fiber.StatusBadRequest, refusalPage, nil, refusalView{Why: e.GetDescription()})
}

// canSkipConsent reports whether only the application can receive the redirect. Another
// program may have registered the scheme of a public client, or may listen at its port
// (RFC 8252 §8.6), so that the user has to consent each time.
func canSkipConsent(app integrations.App, redirect *url.URL) bool {
	return !app.Public || redirect.Scheme == "https"
}

func destination(u *url.URL) string {
	if u.Host != "" {
		return u.Host
	}
	return u.Scheme + ":"
}

var plainHost = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]+)?$`)

// origin returns the redirect as a source of a Content-Security-Policy, empty if it has
// no such form.
func origin(u *url.URL) string {
	switch {
	case u.Host == "":
		return u.Scheme + ":"
	case plainHost.MatchString(u.Host):
		return u.Scheme + "://" + u.Host
	case integrations.Loopback(u.Hostname()): // IPv6, which the policy cannot express
		return u.Scheme + ":"
	}
	return ""
}
