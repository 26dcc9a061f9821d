package fiberhttp

import (
	"context"
	"fmt"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/dashboard"
	"github.com/locumhq/locum/adapters/fiberhttp/guides"
	"github.com/locumhq/locum/adapters/fiberhttp/oauth"
	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/fiberhttp/site"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/limit"
)

// addPages serves the pages with browser sessions, the authorization server and the
// guides.
func (s *Server) addPages() error {
	renderer, err := pages.New(s.services.Identity, s.services.Integrations, pages.Options{
		PublicURL: s.o.PublicURL, ClientIP: s.clientIP, TakeLimit: s.takeOperationLimit, ScopeText: oauth.ScopeText, Brand: s.o.Brand, Site: s.o.Site, EmbedOrigins: s.o.EmbedOrigins,
		Navs: site.Navs(), Notices: site.Notices(),
	})
	if err != nil {
		return err
	}
	s.renderer = renderer
	renderer.Add(s.app)
	s.addUnsubscribe(renderer)
	s.addProblems(renderer)
	if s.o.Site {
		site.Add(s.app, s.services, renderer, s.o.PublicURL, s.servePage)
	} else {
		s.app.Get("/", func(c *fiber.Ctx) error { return c.Redirect("/docs", fiber.StatusFound) })
		site.AddJobs(s.app, s.services, renderer, s.o.PublicURL, s.servePage)
	}
	oauth.New(s.services.Integrations, renderer, s.o.PublicURL, s.limitClientFailures, s.o.Log).Add(s.app)
	dashboard.Add(s.app, s.services.Integrations, renderer, s.services.Idempotency, s.o.PublicURL)
	return guides.Add(s.app, renderer, s.o.PublicURL)
}

// countView counts a view of the page of a listing.
func (s *Server) countView(c *fiber.Ctx, who *pages.Viewer, listingID string) {
	call := s.incoming(c).Call()
	if who != nil {
		call.Actor = who.Actor()
	}
	s.services.Listings.Seen(call.Actor, call.IP, call.UserAgent, listingID)
}

// takeOperationLimit counts a call for the limit of the operation, METHOD /path, and the
// request's address, so that pages have the limits of the operations that they use.
func (s *Server) takeOperationLimit(ctx context.Context, c *fiber.Ctx, operation string) error {
	for _, api := range s.apis {
		for _, r := range api.Routes {
			if r.Method+" "+r.Path == operation {
				r.Limit.Name = operation
				return s.takeLimit(ctx, r.Limit, c)
			}
		}
	}
	return fmt.Errorf("no operation %s", operation)
}

// clientFailures limits failed authentications of one OAuth client from one address.
var clientFailures = limit.Rule{Name: "oauth.clients", Max: 60, Per: time.Minute}

// limitClientFailures counts a failed authentication of the client from the
// request's address. Over the limit it returns fault.ErrRateLimit, also for the right
// secret, so that secrets cannot be guessed. Other clients at the address are not
// affected.
func (s *Server) limitClientFailures(ctx context.Context, c *fiber.Ctx, client string, failed bool) error {
	take := s.services.Limiter.Peek
	if failed {
		take = s.services.Limiter.Take
	}
	d, err := take(ctx, clientFailures, web.LimitKey(s.clientIP(c))+" "+client[:min(len(client), 64)])
	return limitError(d, err)
}

func (s *Server) takeLimit(ctx context.Context, l limit.Rule, c *fiber.Ctx) error {
	if l.Max == 0 {
		return nil
	}
	d, err := s.services.Limiter.Take(ctx, l, web.LimitKey(s.clientIP(c)))
	return limitError(d, err)
}

// limitError returns fault.ErrRateLimit if the decision is not Allowed.
func limitError(d limit.Decision, err error) error {
	if err == nil && !d.Allowed {
		return fault.ErrRateLimit.WithRetryAfter(d.RetryAfter)
	}
	return err
}
