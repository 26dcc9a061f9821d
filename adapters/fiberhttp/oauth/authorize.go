package oauth

import (
	"context"
	"embed"
	"errors"
	"maps"
	"net/url"
	"regexp"

	"github.com/gofiber/fiber/v2"

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

// consentView is the data of the consent page, on which a user decides whether an application may
// access the account.
type consentView struct {
	Client, Owner, Description string   // the names of the application and of its developer, and what it does
	Scopes                     []string // descriptions of what the application may do
	Destination                string   // host of the redirect URI, or its scheme for native applications
	// Action is the path to which the form is sent. It is the path of the request with its query.
	Action string
}

// refusalView is the data of the page that explains an invalid request. The page is shown if the
// request has no valid redirect URI, to which the error could be sent.
type refusalView struct{ Why string }

// authorize handles GET and POST /oauth/authorize, to which an application sends its users. GET shows
// the consent page, whose form posts the decision of the user. If the user has consented before,
// the page is omitted. At the end the user is redirected to the application, with an authorization code
// or an error. The parameters of the application are in the query for both methods.
func (s *Server) authorize(c *fiber.Ctx) error {
	ctx, cancel := context.WithTimeout(context.Background(), web.DefaultTimeout)
	defer cancel()

	query := string(c.Request().URI().QueryString())

	params, err := parseParams(query)
	if err != nil {
		return s.reject(c, integrations.AuthorizationRequest{}, err)
	}

	r, invalid := s.integrations.ParseAuthorization(ctx, params)
	if invalid != nil && r.Redirect == nil {
		return s.reject(c, r, invalid) // a page, not a redirect
	}

	// Users must sign in before any redirect to a client, including redirects with an error.
	// Otherwise a link to this host could lead to any client's site (RFC 9700 §4.11.2).
	viewer, err := s.renderer.Viewer(ctx, c)

	switch {
	case fault.KindOf(err) == fault.Unauthenticated:
		return c.Redirect("/developers/sign-in?next="+url.QueryEscape("/oauth/authorize?"+query), fiber.StatusSeeOther)
	case err != nil:
		return err
	case invalid != nil:
		return s.reject(c, r, invalid)
	case c.Method() == fiber.MethodPost:
		return s.applyDecision(ctx, c, viewer, r)
	}

	// ApproveAgain succeeds without a page if an earlier consent covers the request.
	code, err := s.integrations.ApproveAgain(ctx, viewer.Actor(), r)

	needsConsent := errors.Is(err, integrations.ErrConsentNotFound)
	if needsConsent {
		return s.showConsent(ctx, c, viewer, r, query)
	}

	return s.redirectWithCode(c, r, code, err)
}

// applyDecision handles the form of the consent page.
func (s *Server) applyDecision(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, r integrations.AuthorizationRequest) error {
	if !s.renderer.ValidCSRF(c) {
		return s.renderer.RenderForbidden(c)
	}

	if c.FormValue("decision") != "allow" {
		return s.reject(c, r, integrations.ErrAccessDenied)
	}

	code, err := s.integrations.Approve(ctx, viewer.Actor(), r)

	return s.redirectWithCode(c, r, code, err)
}

// showConsent renders the consent page. Its form is sent to the same path with the same query.
func (s *Server) showConsent(
	ctx context.Context,
	c *fiber.Ctx,
	viewer *pages.Viewer,
	r integrations.AuthorizationRequest,
	query string,
) error {
	owner, err := s.integrations.Owner(ctx, r.App)
	if err != nil {
		return err
	}

	v := consentView{
		Client:      r.App.Name,
		Owner:       owner,
		Description: r.App.Description,
		Destination: destination(r.Redirect),
		Action:      "/oauth/authorize?" + query,
	}
	for _, scope := range r.Scopes {
		v.Scopes = append(v.Scopes, ScopeText(scope))
	}

	// The response to the form redirects to the client, which the policy of pages forbids by default.
	s.renderer.FormAction(c, policySource(r.Redirect))

	return s.renderer.Render(c, fiber.StatusOK, consentPage, viewer, v)
}

// redirectWithCode redirects to the client with the authorization code. code and err are the results of
// an approval: if err is not nil, redirectWithCode returns err.
func (s *Server) redirectWithCode(c *fiber.Ctx, r integrations.AuthorizationRequest, code string, err error) error {
	if err != nil {
		return err
	}

	return s.redirect(c, r, url.Values{"code": {code}})
}

// reject reports an invalid request: it redirects to the client with the error if the redirect
// URI is valid, and shows the error to the user otherwise. It returns other errors, for example
// of the database.
func (s *Server) reject(c *fiber.Ctx, r integrations.AuthorizationRequest, err error) error {
	f := fault.Of(err)
	switch {
	case f.Kind != fault.Invalid:
		return err
	case r.Redirect == nil:
		return s.renderer.Render(c, fiber.StatusBadRequest, refusalPage, nil, refusalView{Why: f.Message})
	}

	return s.redirect(c, r, url.Values{"error": {f.Code}, "error_description": {f.Message}})
}

// redirect redirects the browser to the redirect URI of the client. It adds the answer, the issuer
// (RFC 9207) and the client's own state to the query of the URI.
func (s *Server) redirect(c *fiber.Ctx, r integrations.AuthorizationRequest, answer url.Values) error {
	target := *r.Redirect
	q := target.Query()
	maps.Copy(q, answer)
	q.Set("iss", s.issuer)

	if r.State != "" {
		q.Set("state", r.State)
	}

	target.RawQuery = q.Encode()

	return c.Redirect(target.String(), fiber.StatusSeeOther)
}

// destination returns the host to which the user is redirected, for the consent page.
func destination(u *url.URL) string {
	if u.Host != "" {
		return u.Host
	}

	return u.Scheme + ":" // a native application, such as com.example.app:
}

// plainHost matches hosts that a Content-Security-Policy may contain as they are.
var plainHost = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]+)?$`)

// policySource returns the origin of the redirect URI as a source expression of a
// Content-Security-Policy. It is empty if the policy cannot express the origin.
func policySource(u *url.URL) string {
	switch {
	case u.Host == "": // a native application
		return u.Scheme + ":"
	case plainHost.MatchString(u.Host):
		return u.Scheme + "://" + u.Host
	case integrations.Loopback(u.Hostname()): // the IPv6 address [::1], for which only the scheme can be allowed
		return u.Scheme + ":"
	}

	return ""
}
