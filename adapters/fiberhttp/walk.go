package fiberhttp

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/web"
	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/csvfile"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/integrations"
)

// handler is the walk of every request of the table: limit by address,
// authenticate, authorize, bind, run, answer.
func (s *Server) handler(surface web.Surface, r web.Route) fiber.Handler {
	timeout := r.Timeout
	if timeout == 0 {
		timeout = web.DefaultTimeout
	}
	status := r.Status
	if status == 0 {
		status = fiber.StatusOK
	}
	return func(c *fiber.Ctx) error {
		err := s.cached(c, r, func() error { return s.walk(c, surface, r, status, timeout) })
		if err == nil {
			fresh(c, surface)
		}
		if err == nil && r.Seen != nil && c.Method() == fiber.MethodGet {
			actor, _ := c.Locals(actorKey).(auth.Actor)
			call := s.callOf(c)
			call.Actor = actor
			r.Seen(call, func(name string) string { return c.Params(name) })
		}
		return err
	}
}

// walk is what a request goes through when its answer is not known already.
func (s *Server) walk(c *fiber.Ctx, surface web.Surface, r web.Route, status int, timeout time.Duration) (err error) {
	admission, cancelAdmission := context.WithTimeout(context.Background(), timeout)
	defer cancelAdmission()
	admission, end := s.o.Trace.Start(admission, r.Method+" "+r.Path, c.Get("traceparent"))
	defer func() { end(err) }()
	call := s.callOf(c)
	admission = audit.WithAddress(admission, call.IP)
	c.SetUserContext(admission)
	if err := s.take(admission, r.Limit, c); err != nil {
		return err
	}
	if r.Auth != web.None {
		actor, err := s.authenticate(admission, c, r)
		if err != nil {
			return err
		}
		call.Actor = actor
		c.Locals(actorKey, actor)
	}
	if r.Scope != "" && !call.Caller.May(r.Scope) {
		c.Set(fiber.HeaderWWWAuthenticate, `Bearer realm="locum", error="insufficient_scope", scope="`+string(r.Scope)+`"`)
		return web.ErrScope
	}
	if err := s.readBody(c, cmp.Or(call.Caller.UserID, call.Actor.UserID, call.IP), r.BodyLimit()); err != nil {
		return err
	}
	// The time of the operation begins after that of the body.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(admission), timeout)
	defer cancel()
	c.SetUserContext(ctx)
	if c.Get(fiber.HeaderContentEncoding) != "" {
		return fault.InvalidField("Content-Encoding", "is not supported; send the body as it is")
	}
	body := c.Request().Body()
	if r.Method == fiber.MethodGet {
		body = nil
	}
	err = s.once(ctx, c, surface, r, ownerOf(call), func(ctx context.Context) error {
		out, err := r.Op.Handle(ctx, call, &web.Request{
			Path:   func(name string) string { return c.Params(name) },
			Query:  func(name string) []string { return queryValues(c, name) },
			Header: func(name string) string { return c.Get(name) },
			Cookie: func(name string) string { return c.Cookies(name) },
			Body:   body,
		})
		if err != nil {
			return err
		}
		if h, ok := out.(interface{ Headers() map[string]string }); ok {
			for name, value := range h.Headers() {
				c.Set(name, value)
			}
		}
		if either, ok := out.(interface{ Answer() any }); ok {
			out = either.Answer()
		}
		if table, ok := out.(web.CSV); ok {
			c.Status(status).Set(fiber.HeaderContentType, csvfile.MediaType)
			c.Set(fiber.HeaderContentDisposition, `attachment; filename="`+table.Name+`"`)
			return c.SendStream(paced{table.Body, c.Context().Conn()}, int(table.Size))
		}
		if file, ok := out.(web.File); ok {
			c.Status(status).Set(fiber.HeaderContentType, file.MediaType)
			c.Set(fiber.HeaderContentDisposition, file.Disposition())
			c.Set(fiber.HeaderContentSecurityPolicy, "sandbox; default-src 'none'")
			return c.SendStream(paced{file.Body, c.Context().Conn()}, int(file.Size))
		}
		return sendJSON(c, status, out)
	})
	if err == nil && r.Located { // Body would read a download into memory
		locate(c, r, c.Response().Body())
	}
	return err
}

// callOf is what is known of a request before its caller is.
func (s *Server) callOf(c *fiber.Ctx) web.Call {
	call := web.Call{IP: s.clientIP(c), UserAgent: clip(c.Get(fiber.HeaderUserAgent), 512), Device: c.Cookies(web.DeviceCookieName), RequestID: c.GetRespHeader(fiber.HeaderXRequestID), URL: c.OriginalURL()}
	call.Caller, _ = c.Locals(callerKey).(integrations.Caller)
	return call
}

const actorKey = "locum.actor"

func (s *Server) authenticate(ctx context.Context, c *fiber.Ctx, r web.Route) (auth.Actor, error) {
	header := c.Get(fiber.HeaderAuthorization)
	if header == "" {
		if r.Auth == web.Optional {
			return auth.Actor{}, nil
		}
		return auth.Actor{}, fault.ErrUnauthorized
	}
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return auth.Actor{}, fault.ErrUnauthorized
	}
	actor, err := s.services.Identity.Authenticate(ctx, strings.TrimSpace(token))
	if err != nil {
		return auth.Actor{}, err
	}
	switch {
	case actor.EnrollmentRequired && (r.Who == web.Employer || r.Who == web.EmployerSide):
		return auth.Actor{}, auth.ErrEnrollmentRequired
	case r.Who == web.Seeker && !actor.Seeker,
		r.Who == web.Employer && actor.OrganizationID == "",
		r.Who == web.EmployerSide && actor.Role == auth.Jobseeker,
		r.Permission != "" && !actor.May(r.Permission):
		return auth.Actor{}, fault.ErrForbidden
	}
	return actor, nil
}

func queryValues(c *fiber.Ctx, name string) []string {
	raw := c.Context().QueryArgs().PeekMulti(name)
	out := make([]string, len(raw))
	for i, v := range raw {
		out[i] = string(v)
	}
	return out
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
