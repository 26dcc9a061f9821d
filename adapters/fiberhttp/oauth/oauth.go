// Package oauth implements the authorization server: authorization codes with PKCE S256
// (RFC 6749, 7636), refresh tokens that rotate, revocation (RFC 7009),
// introspection (RFC 7662) and metadata (RFC 8414, 9207). The library fosite
// implements the protocol; the module integrations decides what is issued.
package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/ory/fosite"
	"github.com/ory/fosite/compose"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/integrations"
)

const (
	grantCode    = "authorization_code"
	grantRefresh = "refresh_token"
)

// Server is the authorization server.
type Server struct {
	module        *integrations.Service
	renderer      *pages.Renderer
	issuer        string
	limitFailures FailureLimiter
	log           *slog.Logger
	fosite        *fosite.Fosite
}

// FailureLimiter is called for each client that authenticated with a secret, or failed to
// authenticate. It returns fault.ErrRateLimit after too many failures.
type FailureLimiter func(ctx context.Context, c *fiber.Ctx, client string, failed bool) error

// New returns the server. The issuer is the public URL of the service.
func New(module *integrations.Service, renderer *pages.Renderer, issuer string, guess FailureLimiter, log *slog.Logger) *Server {
	config := &fosite.Config{
		EnforcePKCE:                true,
		ScopeStrategy:              fosite.ExactScopeStrategy,
		AuthorizeCodeLifespan:      integrations.CodeLife,
		AccessTokenLifespan:        integrations.AccessLife,
		RefreshTokenLifespan:       integrations.RefreshLife,
		RefreshTokenScopes:         []string{}, // every code returns one
		SanitationWhiteList:        []string{formRedirect, formChallenge, formMethod},
		ClientSecretsHasher:        secrets{},
		OmitRedirectScopeParam:     true,
		SendDebugMessagesToClients: false,
	}
	provider, _ := compose.Compose(config, store{module}, tokens{},
		compose.OAuth2AuthorizeExplicitFactory, compose.OAuth2RefreshTokenGrantFactory, compose.OAuth2PKCEFactory,
		compose.OAuth2TokenIntrospectionFactory, compose.OAuth2TokenRevocationFactory).(*fosite.Fosite)
	return &Server{module: module, renderer: renderer, issuer: issuer, limitFailures: guess, log: log, fosite: provider}
}

// Add serves the endpoints.
func (s *Server) Add(app *fiber.App) {
	app.Get("/.well-known/oauth-authorization-server", allowAnyOrigin, s.metadata)
	for path, handle := range map[string]func(context.Context, *fiber.Ctx, url.Values) error{
		"/oauth/token": s.token, "/oauth/revoke": s.revoke, "/oauth/introspect": s.introspect,
	} {
		app.Post(path, allowAnyOrigin, s.handleForm(handle)).Name("client")
		app.Options(path, allowAnyOrigin, func(c *fiber.Ctx) error { return c.SendStatus(fiber.StatusNoContent) })
	}
	app.Get("/oauth/authorize", s.renderer.Guard, s.authorize).Name(pages.Session)
	app.Post("/oauth/authorize", s.renderer.Guard, s.authorize).Name(pages.Session)
}

// allowAnyOrigin allows cross-origin calls of browser applications. These endpoints ignore
// cookies.
func allowAnyOrigin(c *fiber.Ctx) error {
	c.Set(fiber.HeaderAccessControlAllowOrigin, "*")
	if c.Method() == fiber.MethodOptions {
		c.Set(fiber.HeaderAccessControlAllowMethods, "POST")
		c.Set(fiber.HeaderAccessControlAllowHeaders, "Authorization, Content-Type")
		c.Set(fiber.HeaderAccessControlMaxAge, "86400")
	}
	return c.Next()
}

func (s *Server) metadata(c *fiber.Ctx) error {
	c.Set(fiber.HeaderCacheControl, "public, max-age=3600")
	secret := []string{"client_secret_basic", "client_secret_post"}
	return send(c, fiber.StatusOK, map[string]any{
		"issuer":                                         s.issuer,
		"authorization_endpoint":                         s.issuer + "/oauth/authorize",
		"token_endpoint":                                 s.issuer + "/oauth/token",
		"revocation_endpoint":                            s.issuer + "/oauth/revoke",
		"introspection_endpoint":                         s.issuer + "/oauth/introspect",
		"scopes_supported":                               integrations.Scopes(),
		"response_types_supported":                       []string{"code"},
		"response_modes_supported":                       []string{"query"},
		"grant_types_supported":                          []string{grantCode, grantRefresh},
		"token_endpoint_auth_methods_supported":          append(secret, "none"),
		"revocation_endpoint_auth_methods_supported":     append(secret, "none"),
		"introspection_endpoint_auth_methods_supported":  secret,
		"code_challenge_methods_supported":               []string{s256},
		"authorization_response_iss_parameter_supported": true,
		"service_documentation":                          s.issuer + "/docs/guides",
	})
}

const maxForm = 64 << 10

// handleForm parses the form of a client, calls handle and renders errors.
func (s *Server) handleForm(handle func(context.Context, *fiber.Ctx, url.Values) error) fiber.Handler {
	return func(c *fiber.Ctx) error {
		ctx, cancel := context.WithTimeout(context.Background(), web.DefaultTimeout)
		defer cancel()
		form, err := parseForm(c)
		if err == nil {
			err = handle(ctx, c, form)
		}
		if err != nil {
			return s.renderError(c, err)
		}
		return nil
	}
}

func parseForm(c *fiber.Ctx) (url.Values, error) {
	kind, _, _ := strings.Cut(c.Get(fiber.HeaderContentType), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), fiber.MIMEApplicationForm) {
		return nil, fosite.ErrInvalidRequest.WithHint("The body has to be application/x-www-form-urlencoded.")
	}
	if len(c.Body()) > maxForm || c.Get(fiber.HeaderContentEncoding) != "" {
		return nil, fosite.ErrInvalidRequest.WithHint("The body is too large or encoded.")
	}
	return parseParams(string(c.Body()))
}

// parseParams parses parameters, which must not be repeated (RFC 6749 §3.1, §3.2).
func parseParams(text string) (url.Values, error) {
	values, err := url.ParseQuery(text)
	if err != nil {
		return nil, fosite.ErrInvalidRequest.WithHint("The parameters cannot be read.")
	}
	for _, list := range values {
		if len(list) > 1 {
			return nil, fosite.ErrInvalidRequest.WithHint("A parameter is there more than once.")
		}
	}
	return values, nil
}

// newLibraryRequest returns the request for the library, which reads only the form and the
// Authorization header.
func newLibraryRequest(c *fiber.Ctx, method string, form url.Values) *http.Request {
	header := http.Header{}
	if credentials := c.Get(fiber.HeaderAuthorization); credentials != "" {
		header.Set(fiber.HeaderAuthorization, credentials)
	}
	return &http.Request{Method: method, URL: &url.URL{}, Header: header, Form: form, PostForm: form, Body: http.NoBody}
}

// authenticate returns the client. Only failures are counted, since all users of a client
// may share an address.
func (s *Server) authenticate(ctx context.Context, c *fiber.Ctx, form url.Values) (fosite.Client, error) {
	if err := checkSingleMethod(c.Get(fiber.HeaderAuthorization), form); err != nil {
		return nil, err // no authentication was attempted
	}
	who, err := s.authenticateClient(ctx, c, form)
	if err != nil && isServerError(err) || err == nil && who.IsPublic() {
		return who, err
	}
	if over := s.limitFailures(ctx, c, clientName(c.Get(fiber.HeaderAuthorization), form), err != nil); over != nil {
		return nil, over
	}
	return who, err
}

// checkSingleMethod rejects authentication in both the header and the body (RFC 6749 §2.3).
// With the header, the body may have a client_id if it is the same.
func checkSingleMethod(credentials string, form url.Values) error {
	if scheme, _, _ := strings.Cut(credentials, " "); !strings.EqualFold(scheme, "Basic") {
		return nil
	}
	if form.Get("client_secret") != "" {
		return fosite.ErrInvalidRequest.WithHint("The client has to authenticate in the Authorization header or in the body, not in both.")
	}
	if name := clientName(credentials, nil); name != "" && form.Get("client_id") != "" && name != form.Get("client_id") {
		return fosite.ErrInvalidRequest.WithHint("The client_id in the body is another than that of the Authorization header.")
	}
	return nil
}

// clientName returns the client_id of the Authorization header, else that of the form.
func clientName(credentials string, form url.Values) string {
	header := http.Request{Header: http.Header{fiber.HeaderAuthorization: {credentials}}}
	if name, _, ok := header.BasicAuth(); ok {
		name, _ = url.QueryUnescape(name) // a malformed name matches no client
		return name
	}
	return form.Get("client_id")
}

func (s *Server) authenticateClient(ctx context.Context, c *fiber.Ctx, form url.Values) (fosite.Client, error) {
	if form.Has("client_assertion") || form.Has("client_assertion_type") {
		return nil, fosite.ErrInvalidClient.WithHint("Clients authenticate with client_secret_basic or client_secret_post.")
	}
	if c.Get(fiber.HeaderAuthorization) == "" && form.Get("client_id") == "" {
		return nil, fosite.ErrInvalidClient.WithHint("The client has to say who it is.")
	}
	return s.fosite.AuthenticateClient(ctx, newLibraryRequest(c, http.MethodPost, form), form)
}

// token handles POST /oauth/token.
func (s *Server) token(ctx context.Context, c *fiber.Ctx, form url.Values) error {
	// Before the transaction, so that invalid clients do not occupy one.
	if _, err := s.authenticate(ctx, c, form); err != nil {
		return err
	}
	required := "grant_type"
	switch form.Get("grant_type") {
	case "":
	case grantCode:
		required = "code"
	case grantRefresh:
		required = "refresh_token"
	default:
		return fosite.ErrUnsupportedGrantType
	}
	if form.Get(required) == "" {
		return fosite.ErrInvalidRequest.WithHint(required + " is missing.")
	}
	var answer fosite.AccessResponder
	var refused error
	life := integrations.AccessLife
	err := s.module.InTransaction(ctx, func(ctx context.Context) error {
		answer, refused = nil, nil
		asked, err := s.fosite.NewAccessRequest(ctx, newLibraryRequest(c, http.MethodPost, form), &session{})
		if err != nil {
			if isServerError(err) {
				return err
			}
			refused = err // what it revoked is committed
			return nil
		}
		r, _ := asked.(*fosite.AccessRequest)
		if form.Get("grant_type") == grantRefresh && !narrowScopes(r, strings.Fields(form.Get("scope"))) {
			refused = fosite.ErrInvalidScope.WithHint("A refresh can have fewer scopes, not others.")
			return nil
		}
		answer, err = s.fosite.NewAccessResponse(ctx, r)
		return err
	})
	switch {
	case err != nil:
		return err
	case refused != nil:
		return refused
	}
	answer.SetExpiresIn(life)
	answer.SetTokenType("Bearer")
	c.Set(fiber.HeaderPragma, "no-cache")
	return send(c, fiber.StatusOK, answer.ToMap())
}

// revoke handles POST /oauth/revoke (RFC 7009): any token of an authorization revokes all
// of its tokens. For an unknown token, or one of another client, the response is the same
// and nothing is revoked.
func (s *Server) revoke(ctx context.Context, c *fiber.Ctx, form url.Values) error {
	if _, err := s.authenticate(ctx, c, form); err != nil {
		return err
	}
	if form.Get("token") == "" {
		return fosite.ErrInvalidRequest.WithHint("token is missing.")
	}
	err := s.fosite.NewRevocationRequest(ctx, newLibraryRequest(c, http.MethodPost, form))
	if err != nil && !errors.Is(err, fosite.ErrUnauthorizedClient) {
		return err
	}
	return c.SendStatus(fiber.StatusOK)
}

// introspect handles POST /oauth/introspect (RFC 7662) for confidential clients and their
// own tokens.
func (s *Server) introspect(ctx context.Context, c *fiber.Ctx, form url.Values) error {
	who, err := s.authenticate(ctx, c, form)
	if err != nil {
		return err
	}
	if who.IsPublic() {
		return fosite.ErrInvalidClient.WithHint("Only clients with a secret can introspect.")
	}
	token := form.Get("token")
	if token == "" {
		return fosite.ErrInvalidRequest.WithHint("token is missing.")
	}
	use, found, err := s.fosite.IntrospectToken(ctx, token, fosite.TokenUse(form.Get("token_type_hint")), &session{})
	if err != nil && isServerError(err) {
		return err
	}
	if err != nil || found.GetClient().GetID() != who.GetID() {
		return send(c, fiber.StatusOK, map[string]any{"active": false})
	}
	about, _ := found.GetSession().(*session)
	answer := map[string]any{
		"active": true, "client_id": who.GetID(), "sub": about.grant.UserID, "iss": s.issuer,
		"scope": strings.Join(found.GetGrantedScopes(), " "), "iat": about.token.IssuedAt.Unix(), "exp": about.token.ExpiresAt.Unix(),
	}
	if use == fosite.AccessToken {
		answer["token_type"] = "Bearer"
	}
	return send(c, fiber.StatusOK, answer)
}

// isServerError reports whether the error is caused by the server and not by the client.
func isServerError(err error) bool {
	var f *fault.Error
	if errors.As(err, &f) && (f.Kind == fault.Unavailable || f.Kind == fault.Internal) {
		return true
	}
	var e *fosite.RFC6749Error
	return !errors.As(err, &e) || e.CodeField >= http.StatusInternalServerError
}

// renderError renders an error (RFC 6749 §5.2).
func (s *Server) renderError(c *fiber.Ctx, err error) error {
	var f *fault.Error
	if errors.As(err, &f) && (f.Kind == fault.Unavailable || f.Kind == fault.TooMany) {
		// The standard has no better code for either.
		status := fiber.StatusServiceUnavailable
		if f.Kind == fault.TooMany {
			status = fiber.StatusTooManyRequests
		}
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(max(1, int((f.RetryAfter+time.Second-1)/time.Second))))
		return send(c, status, map[string]any{"error": fosite.ErrTemporarilyUnavailable.ErrorField, "error_description": f.Message})
	}
	if isServerError(err) {
		return s.renderServerError(c, err)
	}
	e := fosite.ErrorToRFC6749Error(err)
	if e.CodeField == fiber.StatusUnauthorized { // RFC 9110 §15.5.2, for every authentication method
		c.Set(fiber.HeaderWWWAuthenticate, `Basic realm="locum"`)
	}
	return send(c, e.CodeField, map[string]any{"error": e.ErrorField, "error_description": e.GetDescription()})
}

func (s *Server) renderServerError(c *fiber.Ctx, err error) error {
	s.log.Error("request failed", "request_id", c.GetRespHeader(fiber.HeaderXRequestID), "method", c.Method(), "path", c.Path(), "error", err)
	return send(c, fiber.StatusInternalServerError, map[string]any{"error": fosite.ErrServerError.ErrorField, "error_description": "Internal server error"})
}

func send(c *fiber.Ctx, status int, body any) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return err
	}
	c.Status(status).Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Send(b.Bytes())
}
