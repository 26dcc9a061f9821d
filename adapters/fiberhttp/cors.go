package fiberhttp

import (
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/cors"
)

// allowOrigins returns the middleware that lets pages of other origins call the portal API.
// They send tokens and no cookies.
func (s *Server) allowOrigins() fiber.Handler {
	return cors.New(cors.Config{
		AllowOrigins:  strings.Join(s.options.CORSOrigins, ","),
		AllowMethods:  "GET,HEAD,POST,PUT,PATCH,DELETE",
		AllowHeaders:  "Authorization,Content-Type,Idempotency-Key,If-None-Match,X-API-Key,X-Request-ID",
		ExposeHeaders: "Content-Disposition,ETag,Location,Retry-After,X-Request-Id,Idempotency-Replayed",
		MaxAge:        int((24 * time.Hour).Seconds()),
		// Next reports whether the middleware is skipped: for pages, and for APIs with an
		// Authenticator, which set their CORS headers themselves.
		Next: func(c *fiber.Ctx) bool {
			api := s.apiOf(c.Path())
			isPortalAPI := api.Authenticator == nil && api.Covers(c.Path()) && strings.HasPrefix(c.Path(), "/api/")

			return !isPortalAPI
		},
	})
}
