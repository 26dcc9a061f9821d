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
		PublicURL:    s.options.PublicURL,
		ClientIP:     s.clientIP,
		TakeLimit:    s.takeOperationLimit,
		ScopeText:    oauth.ScopeText,
		Brand:        s.options.Brand,
		Site:         s.options.Site,
		EmbedOrigins: s.options.EmbedOrigins,
		Navs:         site.Navs(),
		Notices:      site.Notices(),
	})
	if err != nil {
		return err
	}

	s.renderer = renderer
	renderer.Add(s.app)
	s.addUnsubscribe(renderer)
	s.addProblems(renderer)

	if s.options.Site {
		site.Add(s.app, s.services, renderer, s.options.PublicURL, s.servePage)
	} else {
		// Without the site for clinicians and employers there are only the public pages of jobs.
		s.app.Get("/", func(c *fiber.Ctx) error { return c.Redirect("/docs", fiber.StatusFound) })
		site.AddJobs(s.app, s.services, renderer, s.options.PublicURL, s.servePage)
	}

	oauth.New(s.services.Integrations, renderer, s.options.PublicURL, s.limitClientFailures, s.options.Log).Add(s.app)
	dashboard.Add(s.app, s.services.Integrations, renderer, s.services.Idempotency, s.options.PublicURL)

	return guides.Add(s.app, renderer, s.options.PublicURL)
}

// countView counts a view of the page of a listing. viewer is nil for guests.
func (s *Server) countView(c *fiber.Ctx, viewer *pages.Viewer, listingID string) {
	request := s.incoming(c).Call()
	if viewer != nil {
		request.Actor = viewer.Actor()
	}

	s.services.Listings.AddVisit(request.Actor, request.IP, request.UserAgent, listingID)
}

// takeOperationLimit counts a request from the client's address towards the rate limit of an
// API operation ("METHOD /path"), so that a page has the limits of the operations it uses.
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

// limitClientFailures limits the failed authentications of an OAuth client from the address of the
// request, so that secrets cannot be guessed. hasFailed reports whether the request has a wrong
// secret. A request with the correct secret is not counted. Over the limit, both kinds of requests
// get fault.ErrRateLimit. Other clients at the same address are not affected.
func (s *Server) limitClientFailures(ctx context.Context, c *fiber.Ctx, clientID string, hasFailed bool) error {
	// Take counts the request; Peek only asks whether the limit is reached.
	decide := s.services.Limiter.Peek
	if hasFailed {
		decide = s.services.Limiter.Take
	}

	// The length in the key is bounded, because a request may contain any text as its client id.
	const maxClientID = 64
	key := web.LimitKey(s.clientIP(c)) + " " + clientID[:min(len(clientID), maxClientID)]

	decision, err := decide(ctx, clientFailures, key)

	return limitError(decision, err)
}

// takeLimit counts a request from the client's address towards the rule. A rule without Max does
// not limit.
func (s *Server) takeLimit(ctx context.Context, rule limit.Rule, c *fiber.Ctx) error {
	if rule.Max == 0 {
		return nil
	}

	decision, err := s.services.Limiter.Take(ctx, rule, web.LimitKey(s.clientIP(c)))

	return limitError(decision, err)
}

// limitError returns the error of a limiter, or fault.ErrRateLimit if its decision is not Allowed.
func limitError(decision limit.Decision, err error) error {
	if err == nil && !decision.Allowed {
		return fault.ErrRateLimit.WithRetryAfter(decision.RetryAfter)
	}

	return err
}
