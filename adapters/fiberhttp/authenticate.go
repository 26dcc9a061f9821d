package fiberhttp

import (
	"context"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
)

// authenticateOnce authenticates the request by the Authenticator of its API, if the API has one,
// and sets the headers that the Authenticator returns. A second call for the request does nothing.
func (s *Server) authenticateOnce(c *fiber.Ctx) error {
	api, state := s.apiOf(c.Path()), stateOf(c)
	if api.Authenticator == nil || state.isAuthenticated {
		return nil
	}

	state.isAuthenticated = true

	ctx, cancel := context.WithTimeout(context.Background(), web.DefaultTimeout)
	defer cancel()

	caller, headers, err := api.Authenticator.Authenticate(ctx, web.AuthRequest{
		Authorization: copyTexts(c.Request().Header.PeekAll(fiber.HeaderAuthorization)),
		APIKey:        copyTexts(c.Request().Header.PeekAll("X-API-Key")),
		Address:       web.LimitKey(s.clientIP(c)),
		Preflight:     c.Method() == fiber.MethodOptions,
	})
	for name, value := range headers {
		c.Set(name, value)
	}

	// The caller may be known even if there is an error, for example over its rate limit.
	if isKnown := caller.App.ID != ""; isKnown {
		state.caller = &caller
	}

	return err
}

// finishAuthenticated reports the status of the response to the Authenticator, if the request has a
// known caller.
func (s *Server) finishAuthenticated(c *fiber.Ctx) {
	if caller := stateOf(c).caller; caller != nil {
		s.apiOf(c.Path()).Authenticator.Done(*caller, c.Response().StatusCode())
	}
}

// methodsOf returns the methods that a route serves. A route for GET also serves HEAD.
func methodsOf(r web.Route) []string {
	if r.Method == fiber.MethodGet {
		return []string{fiber.MethodGet, fiber.MethodHead}
	}

	return []string{r.Method}
}

// handlePreflight answers a CORS preflight request with the methods of all routes of the API that
// have the requested path. Without such a route, the response is a 404.
func handlePreflight(c *fiber.Ctx, api web.API) error {
	var methods []string
	for _, r := range api.Routes {
		for _, path := range api.Paths(r) {
			if fiber.RoutePatternMatch(c.Path(), path) && !slices.Contains(methods, r.Method) {
				methods = append(methods, methodsOf(r)...)
			}
		}
	}

	if len(methods) == 0 {
		return fiber.ErrNotFound
	}

	allow := strings.Join(append(methods, fiber.MethodOptions), ", ")
	c.Set(fiber.HeaderAllow, allow)
	c.Set(fiber.HeaderAccessControlAllowMethods, allow)
	c.Set(fiber.HeaderAccessControlAllowHeaders, "Authorization, X-API-Key, Content-Type, Idempotency-Key, If-None-Match, X-Request-ID")
	c.Set(fiber.HeaderAccessControlMaxAge, "86400") // a day, in seconds

	return c.SendStatus(fiber.StatusNoContent)
}

// applyCachePolicy sets the cache headers of a successful response to GET or HEAD, if the API has a
// cache policy. It answers 304 if the client already has this version of the response.
func applyCachePolicy(c *fiber.Ctx, api web.API) {
	hasPolicy := api.CachePolicy.CacheControl != ""
	isRead := c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead

	if !hasPolicy || !isRead || c.Response().StatusCode() != fiber.StatusOK {
		return
	}

	c.Set(fiber.HeaderCacheControl, api.CachePolicy.CacheControl)
	c.Set(fiber.HeaderVary, api.CachePolicy.Vary)
	pages.SetETag(c)
}

// rejectOtherMethods adds routes that answer 405 for other methods of paths such as
// /api/listings/search. Without them, the router would match DELETE /api/listings/search with
// DELETE /api/listings/:id.
func (s *Server) rejectOtherMethods(api web.API) {
	methodsByPath := map[string][]string{}
	for _, r := range api.Routes {
		for _, path := range api.Paths(r) {
			methodsByPath[path] = append(methodsByPath[path], methodsOf(r)...)
		}
	}

	for path, handled := range methodsByPath {
		// Only a path without parameters that is also matched by the pattern of another route
		// needs this. For other paths, the router answers 405 itself.
		hasParameters := strings.Contains(path, ":")
		matchesOther := slices.ContainsFunc(api.Routes, func(r web.Route) bool {
			return r.Path != path && fiber.RoutePatternMatch(path, r.Path)
		})

		needsRoutes := !hasParameters && matchesOther
		if !needsRoutes {
			continue
		}

		allow := strings.Join(handled, ", ")
		for _, method := range fiber.DefaultMethods {
			if !slices.Contains(handled, method) {
				s.app.Add(method, path, func(c *fiber.Ctx) error {
					c.Set(fiber.HeaderAllow, allow)
					return fiber.ErrMethodNotAllowed
				})
			}
		}
	}
}

// mapUnknownMethods returns a handler that replaces methods that the router does not know by TRACE,
// which no route has. Requests with such methods thus get a 405 in the format of the API. Fiber
// itself would answer them with plain text.
func mapUnknownMethods(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(c *fasthttp.RequestCtx) {
		if !slices.Contains(fiber.DefaultMethods, string(c.Method())) {
			c.Request.Header.SetMethod(fiber.MethodTrace)
		}

		next(c)
	}
}
