package pages

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// contentSecurityPolicy restricts pages to resources of this server. It must end with the directive
// form-action, because FormAction appends another host to that directive.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; manifest-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"

// Guard is the middleware of every page. It sets security headers and rejects forms that
// were not sent from a page of this service.
func (r *Renderer) Guard(c *fiber.Ctx) error {
	r.setHeaders(c)

	isForm := c.Method() != fiber.MethodGet && c.Method() != fiber.MethodHead
	if isForm && !r.sameOrigin(c) {
		return r.RenderForbidden(c)
	}

	return c.Next()
}

// SetHeaders is the middleware for endpoints that API clients use as well as browsers. It
// sets the headers of Guard, but accepts requests of any origin: these endpoints authenticate
// each request with a secret in it.
func (r *Renderer) SetHeaders(c *fiber.Ctx) error {
	r.setHeaders(c)
	return c.Next()
}

// setHeaders marks the request as one for a page and sets the security headers of pages.
func (r *Renderer) setHeaders(c *fiber.Ctx) {
	c.Locals(rendererKey{}, r)
	c.Set(fiber.HeaderContentSecurityPolicy, contentSecurityPolicy)
	c.Set(fiber.HeaderXFrameOptions, "DENY") // for browsers without frame-ancestors
	c.Set("Cross-Origin-Opener-Policy", "same-origin")

	// Other hosts get no Referer. The stricter policy no-referrer is not possible: with it,
	// browsers send no valid Origin with our own forms. sameOrigin needs this header if a browser
	// sends no Sec-Fetch-Site, for example over http.
	c.Set(fiber.HeaderReferrerPolicy, "same-origin")
	c.Set(fiber.HeaderPermissionsPolicy, "camera=(), geolocation=(), microphone=(), payment=()")
}

// ExpectPage marks the request as one for a page, so that RenderError renders a page although no page
// has the path of the request.
func (r *Renderer) ExpectPage(c *fiber.Ctx) { r.setHeaders(c) }

// sameOrigin reports whether a page of this service sent the request. It uses the headers
// Sec-Fetch-Site and Origin, which browsers set and pages cannot change. A request with neither of
// them is accepted if it has no session, or a valid CSRF token.
func (r *Renderer) sameOrigin(c *fiber.Ctx) bool {
	if site := c.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}

	origin := c.Get(fiber.HeaderOrigin)
	if origin == "" {
		return c.Cookies(r.cookieName()) == "" || r.ValidCSRF(c)
	}

	originURL, err := url.Parse(origin)
	if err != nil || originURL.Host == "" {
		return false
	}

	if r.isHTTPS() && originURL.Scheme != "https" {
		return false // an attacker on the network can forge pages of an http origin
	}

	isPublicHost := strings.EqualFold(originURL.Host, r.publicURL.Host)
	isRequestedHost := strings.EqualFold(originURL.Host, string(c.Context().Host())) // the service may have several host names

	return isPublicHost || isRequestedHost
}

// RenderForbidden renders the page for a form that was not sent from a page of this service.
func (r *Renderer) RenderForbidden(c *fiber.Ctx) error {
	return r.Render(c, fiber.StatusForbidden, forbiddenPage, nil, nil)
}

// FormAction lets forms of the page redirect to another host. source is an expression of the policy
// form-action, such as https://example.org. An empty source allows no other host.
func (r *Renderer) FormAction(c *fiber.Ctx, source string) {
	c.Set(fiber.HeaderContentSecurityPolicy, strings.TrimSpace(contentSecurityPolicy+" "+source))
}

// ValidCSRF reports whether the form has the CSRF token of the session.
func (r *Renderer) ValidCSRF(c *fiber.Ctx) bool {
	session := c.Cookies(r.cookieName())
	return session != "" && subtle.ConstantTimeCompare([]byte(csrfToken(session)), []byte(c.FormValue("csrf"))) == 1
}

// csrfToken derives the CSRF token from the secret of the session, so that the token need not be
// stored. Other sites cannot read the token, and the token reveals nothing about the secret.
func csrfToken(session string) string {
	mac := hmac.New(sha256.New, []byte(session))
	mac.Write([]byte("form"))
	return hex.EncodeToString(mac.Sum(nil))
}
