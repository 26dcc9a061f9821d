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
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/limit"
)

// addPages serves the pages of those who sign in with a browser, the
// authorization server, which needs them, and the guides.
func (s *Server) addPages() error {
	frame, err := pages.New(s.services.Identity, s.services.Integrations, pages.Options{PublicURL: s.o.PublicURL, ClientIP: s.clientIP, Spend: s.spend, Words: oauth.Words})
	if err != nil {
		return err
	}
	frame.Add(s.app)
	oauth.New(s.services.Integrations, frame, s.o.PublicURL, s.limitClientFailures, s.o.Log).Add(s.app)
	dashboard.Add(s.app, s.services.Integrations, frame, s.services.Idempotency, s.o.PublicURL)
	return guides.Add(s.app, frame, s.o.PublicURL)
}

// spend takes one call from what the request's address has left of the
// operation, METHOD /path: a page may do no more than its operation.
func (s *Server) spend(ctx context.Context, c *fiber.Ctx, operation string) error {
	for _, surface := range s.surfaces {
		for _, r := range surface.Routes {
			if r.Method+" "+r.Path == operation {
				r.Limit.Name = operation
				return s.take(ctx, r.Limit, c)
			}
		}
	}
	return fmt.Errorf("no operation %s to take the limit of", operation)
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
	return unless(d, err)
}

func (s *Server) take(ctx context.Context, l limit.Rule, c *fiber.Ctx) error {
	if l.Max == 0 {
		return nil
	}
	d, err := s.services.Limiter.Take(ctx, l, web.LimitKey(s.clientIP(c)))
	return unless(d, err)
}

// unless is the refusal of a limiter, if it is one.
func unless(d limit.Decision, err error) error {
	if err == nil && !d.Allowed {
		return fault.ErrRateLimit.WithRetryAfter(d.RetryAfter)
	}
	return err
}
