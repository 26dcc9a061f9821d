// Package oauth implements the HTTP endpoints of the OAuth authorization server: authorization codes
// with PKCE S256 (RFC 6749, 7636), refresh tokens that are replaced at each use, revocation (RFC 7009),
// introspection (RFC 7662) and metadata (RFC 8414, 9207). The package parses requests and renders
// responses. The module integrations decides about them.
//
// A client of OAuth is an application (integrations.App) that a developer has registered. It is
// public if it cannot keep a secret, such as an application in a browser, and otherwise confidential.
package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/modules/integrations"
)

// The grant types of the token endpoint.
const (
	grantCode    = "authorization_code"
	grantRefresh = "refresh_token"
)

// Server is the authorization server.
type Server struct {
	integrations  *integrations.Service
	renderer      *pages.Renderer
	issuer        string // the public URL of the service
	limitFailures FailureLimiter
	log           *slog.Logger
}

// FailureLimiter limits the failed authentications of a client. It is called for each request of a
// client that has authenticated with a secret. It is also called, with hasFailed set, for each
// request whose authentication has failed. It returns fault.ErrRateLimit after too many failures.
// clientID is empty if the request contains no valid id.
type FailureLimiter func(ctx context.Context, c *fiber.Ctx, clientID string, hasFailed bool) error

// New returns the server. The issuer is the public URL of the service.
func New(
	module *integrations.Service,
	renderer *pages.Renderer,
	issuer string,
	limitFailures FailureLimiter,
	log *slog.Logger,
) *Server {
	return &Server{integrations: module, renderer: renderer, issuer: issuer, limitFailures: limitFailures, log: log}
}

// Add registers the endpoints: those for programs of the client, and the page on which a user allows
// the client to access the account.
func (s *Server) Add(app *fiber.App) {
	app.Get("/.well-known/oauth-authorization-server", allowAnyOrigin, s.metadata)

	for path, handle := range map[string]formHandler{
		"/oauth/token":      s.token,
		"/oauth/revoke":     s.revoke,
		"/oauth/introspect": s.introspect,
	} {
		app.Post(path, allowAnyOrigin, s.handleForm(handle)).Name("client")
		app.Options(path, allowAnyOrigin, func(c *fiber.Ctx) error { return c.SendStatus(fiber.StatusNoContent) })
	}

	app.Get("/oauth/authorize", s.renderer.Guard, s.authorize).Name(pages.Session)
	app.Post("/oauth/authorize", s.renderer.Guard, s.authorize).Name(pages.Session)
}

// allowAnyOrigin is the middleware that allows cross-origin requests from browser applications. That is
// safe because these endpoints ignore cookies.
func allowAnyOrigin(c *fiber.Ctx) error {
	c.Set(fiber.HeaderAccessControlAllowOrigin, "*")

	if c.Method() == fiber.MethodOptions {
		c.Set(fiber.HeaderAccessControlAllowMethods, "POST")
		c.Set(fiber.HeaderAccessControlAllowHeaders, "Authorization, Content-Type")
		c.Set(fiber.HeaderAccessControlMaxAge, "86400") // a day, in seconds
	}

	return c.Next()
}

// metadata handles GET /.well-known/oauth-authorization-server (RFC 8414).
func (s *Server) metadata(c *fiber.Ctx) error {
	c.Set(fiber.HeaderCacheControl, "public, max-age=3600")

	// Confidential clients send their secret in the Authorization header or in the form. Public
	// clients use the method "none". They cannot introspect tokens.
	secretMethods := []string{"client_secret_basic", "client_secret_post"}
	allMethods := append(slices.Clone(secretMethods), "none")

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
		"token_endpoint_auth_methods_supported":          allMethods,
		"revocation_endpoint_auth_methods_supported":     allMethods,
		"introspection_endpoint_auth_methods_supported":  secretMethods,
		"code_challenge_methods_supported":               []string{"S256"},
		"authorization_response_iss_parameter_supported": true,
		"service_documentation":                          s.issuer + "/docs/guides",
	})
}

// maxFormBody is the maximum size of a form. A token request is far below it.
const maxFormBody = 64 << 10

// formHandler handles the form of an authenticated client.
type formHandler func(ctx context.Context, c *fiber.Ctx, client integrations.App, form url.Values) error

// handleForm parses the form, authenticates the client, calls handle and renders errors.
func (s *Server) handleForm(handle formHandler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		ctx, cancel := context.WithTimeout(context.Background(), web.DefaultTimeout)
		defer cancel()

		form, err := parseForm(c)
		if err != nil {
			return s.renderError(c, err)
		}

		client, err := s.authenticate(ctx, c, form)
		if err != nil {
			return s.renderError(c, err)
		}

		if err := handle(ctx, c, client, form); err != nil {
			return s.renderError(c, err)
		}

		return nil
	}
}

// parseForm parses the body of a request, which must be a form (RFC 6749 §4.1.3).
func parseForm(c *fiber.Ctx) (url.Values, error) {
	kind, _, _ := strings.Cut(c.Get(fiber.HeaderContentType), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), fiber.MIMEApplicationForm) {
		return nil, integrations.InvalidRequest("The body has to be application/x-www-form-urlencoded.")
	}

	body := c.Request().Body() // not c.Body(), which decodes any Content-Encoding without a limit
	isEncoded := len(c.Request().Header.PeekAll(fiber.HeaderContentEncoding)) > 0

	if len(body) > maxFormBody || isEncoded {
		return nil, integrations.InvalidRequest("The body is too large or encoded.")
	}

	return parseParams(string(body))
}

// parseParams parses the parameters in a form or a query. They must not be repeated (RFC 6749 §3.1, §3.2).
func parseParams(text string) (url.Values, error) {
	values, err := url.ParseQuery(text)
	if err != nil {
		return nil, integrations.InvalidRequest("The parameters cannot be read.")
	}

	for _, list := range values {
		if len(list) > 1 {
			return nil, integrations.InvalidRequest("A parameter is there more than once.")
		}
	}

	return values, nil
}

// requireParam returns the parameter, or an error if it is missing.
func requireParam(form url.Values, name string) (string, error) {
	if form.Get(name) == "" {
		return "", integrations.InvalidRequest(name + " is missing.")
	}

	return form.Get(name), nil
}

// parseCredentials returns the id and the secret of the client, which are in the Authorization header or
// in the form, but not in both (RFC 6749 §2.3). The secret is empty for public clients.
func parseCredentials(header string, form url.Values) (clientID, secret string, err error) {
	// Assertions (RFC 7521) are a method of authentication that this server does not support.
	if form.Has("client_assertion") || form.Has("client_assertion_type") {
		return "", "", integrations.ErrInvalidClient
	}

	scheme, _, _ := strings.Cut(header, " ")
	if isBasic := strings.EqualFold(scheme, "Basic"); !isBasic {
		return form.Get("client_id"), form.Get("client_secret"), nil
	}

	r := http.Request{Header: http.Header{fiber.HeaderAuthorization: {header}}}

	// OAuth encodes both values as in a form before the encoding of Basic (RFC 6749 §2.3.1).
	encodedID, encodedSecret, isValid := r.BasicAuth()
	clientID, idErr := url.QueryUnescape(encodedID)
	secret, secretErr := url.QueryUnescape(encodedSecret)

	switch named := form.Get("client_id"); {
	case !isValid || idErr != nil || secretErr != nil:
		err = integrations.InvalidRequest("The Authorization header cannot be read.")
	case form.Get("client_secret") != "":
		err = integrations.InvalidRequest("The client has to authenticate in the Authorization header or in the body, not in both.")
	case named != "" && named != clientID:
		err = integrations.InvalidRequest("The client_id in the body is another than that of the Authorization header.")
	}

	return clientID, secret, err
}

// authenticate returns the client that sends the request. Failed authentications are limited. Successful
// ones are not, because a client may send the requests of all its users from one address.
func (s *Server) authenticate(ctx context.Context, c *fiber.Ctx, form url.Values) (integrations.App, error) {
	headers := c.Request().Header.PeekAll(fiber.HeaderAuthorization)
	if len(headers) > 1 {
		return integrations.App{}, integrations.InvalidRequest("The Authorization header is there more than once.")
	}

	header := string(bytes.Join(headers, nil)) // the only header, or empty

	clientID, secret, err := parseCredentials(header, form)
	if err != nil {
		return integrations.App{}, err
	}

	client, err := s.integrations.AuthenticateClient(ctx, clientID, secret)

	isFailure := errors.Is(err, integrations.ErrInvalidClient)
	if err != nil && !isFailure {
		return integrations.App{}, err
	}

	// Over the limit, even a client with the correct secret gets an error. Otherwise the limit would not
	// protect the secret, because the attempts could go on until one succeeds.
	if isFailure || !client.Public {
		canonicalID, _ := id.Canonical(clientID) // the same for each spelling of an id; empty for invalid ids
		if err := s.limitFailures(ctx, c, canonicalID, isFailure); err != nil {
			return integrations.App{}, err
		}
	}

	return client, err
}

// token handles POST /oauth/token.
func (s *Server) token(ctx context.Context, c *fiber.Ctx, client integrations.App, form url.Values) error {
	issued, err := s.issueTokens(ctx, client, form)
	if err != nil {
		return err
	}

	c.Set(fiber.HeaderPragma, "no-cache")

	return send(c, fiber.StatusOK, map[string]any{
		"access_token":  issued.Access,
		"token_type":    "Bearer",
		"expires_in":    int(issued.ExpiresIn.Seconds()),
		"refresh_token": issued.Refresh,
		"scope":         scopeText(issued.Scopes),
	})
}

// issueTokens issues an access token and a refresh token for the authorization code or the previous
// refresh token in the form.
func (s *Server) issueTokens(ctx context.Context, client integrations.App, form url.Values) (integrations.TokenPair, error) {
	grant, err := requireParam(form, "grant_type")
	if err != nil {
		return integrations.TokenPair{}, err
	}

	switch grant {
	case grantCode:
		code, err := requireParam(form, "code")
		if err != nil {
			return integrations.TokenPair{}, err
		}

		return s.integrations.ExchangeCode(ctx, client, code, form.Get("redirect_uri"), form.Get("code_verifier"))
	case grantRefresh:
		token, err := requireParam(form, "refresh_token")
		if err != nil {
			return integrations.TokenPair{}, err
		}

		return s.integrations.Refresh(ctx, client, token, form.Get("scope"))
	}

	return integrations.TokenPair{}, fault.New(fault.Invalid, "unsupported_grant_type",
		"The grant_type has to be authorization_code or refresh_token.")
}

// scopeText returns the names of the scopes, separated by spaces (RFC 6749 §3.3).
func scopeText(scopes []integrations.Scope) string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}

	return strings.Join(names, " ")
}

// revoke handles POST /oauth/revoke (RFC 7009). For unknown tokens and tokens of other clients
// the response is also 200, but nothing is revoked.
func (s *Server) revoke(ctx context.Context, c *fiber.Ctx, client integrations.App, form url.Values) error {
	token, err := requireParam(form, "token")
	if err != nil {
		return err
	}

	if err := s.integrations.Revoke(ctx, client, token); err != nil {
		return err
	}

	return c.SendStatus(fiber.StatusOK)
}

// introspect handles POST /oauth/introspect (RFC 7662). Only confidential clients may call it,
// for their own tokens.
func (s *Server) introspect(ctx context.Context, c *fiber.Ctx, client integrations.App, form url.Values) error {
	if client.Public {
		return integrations.ErrInvalidClient
	}

	token, err := requireParam(form, "token")
	if err != nil {
		return err
	}

	t, isActive, err := s.integrations.Introspect(ctx, client, token)
	if err != nil {
		return err
	}

	if !isActive {
		return send(c, fiber.StatusOK, map[string]any{"active": false})
	}

	description := map[string]any{
		"active":    true,
		"client_id": client.ID,
		"sub":       t.Grant.UserID,
		"iss":       s.issuer,
		"scope":     scopeText(t.Token.Scopes),
		"iat":       t.Token.IssuedAt.Unix(),
		"exp":       t.Token.ExpiresAt.Unix(),
	}
	if t.Token.Kind == integrations.Access {
		description["token_type"] = "Bearer" // refresh tokens have no type
	}

	return send(c, fiber.StatusOK, description)
}

// renderError renders an error as JSON (RFC 6749 §5.2). It logs the cause of an internal error, which
// the response does not contain.
func (s *Server) renderError(c *fiber.Ctx, err error) error {
	f := fault.Of(err)

	status, code := fiber.StatusBadRequest, f.Code
	switch f.Kind {
	case fault.Invalid: // 400 with the code of the fault
	case fault.Unauthenticated: // RFC 9110 §15.5.2 requires WWW-Authenticate
		status = fiber.StatusUnauthorized

		c.Set(fiber.HeaderWWWAuthenticate, `Basic realm="locum"`)
	case fault.TooMany, fault.Unavailable: // the standard has no better code for either
		status, code = fiber.StatusServiceUnavailable, "temporarily_unavailable"
		if f.Kind == fault.TooMany {
			status = fiber.StatusTooManyRequests
		}

		seconds := int((f.RetryAfter + time.Second - 1) / time.Second) // rounded up
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(max(1, seconds)))
	default:
		s.log.Error(
			"request failed",
			"request_id", c.GetRespHeader(fiber.HeaderXRequestID),
			"method", c.Method(),
			"path", c.Path(),
			"error", err,
		)

		status = fiber.StatusInternalServerError
		code = "server_error"
		f = fault.ErrInternal
	}

	return send(c, status, map[string]any{"error": code, "error_description": f.Message})
}

// send sends body as JSON. Characters such as & in URLs are not escaped.
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
