package portal

import (
	"context"
	"net/http"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/modules/identity"
)

func sessionRoutes(s *identity.Service) []web.Route {
	const tag = "Authentication and user"
	return []web.Route{
		{Method: http.MethodGet, Path: "/api/auth/sessions", Auth: web.Required, Tag: tag, Summary: "List the devices and browsers where the caller is signed in", Op: web.Op(
			func(ctx context.Context, c web.Call, in PageInput) (web.Reply[sessionsView], error) {
				r, err := s.MySessions(ctx, c.Actor, in.Request())
				views := web.Each(r.Items, func(one identity.Session) sessionView {
					return sessionView{
						ID: one.ID, CreatedAt: one.CreatedAt, LastUsedAt: one.LastUsedAt, ExpiresAt: one.UnusedUntil(),
						Network: one.Address, UserAgent: one.UserAgent, Browser: one.Browser, Current: one.ID == c.Actor.SessionID,
					}
				})
				return web.OK(sessionsView{views, paged(r, in.Paging)}, ""), err
			})},
		{Method: http.MethodDelete, Path: "/api/auth/sessions/:id", Auth: web.Required, Tag: tag, Summary: "End one session: its tokens or its cookie stop working at once",
			Op: changeByID(s.EndSession, "Session ended")},
		{Method: http.MethodDelete, Path: "/api/auth/sessions", Auth: web.Required, Tag: tag, Summary: "End all sessions but the one of this request",
			Op: changeOwn(s.EndOtherSessions, "Other sessions ended")},
	}
}

type sessionView struct {
	ID         string    `json:"id"`
	CreatedAt  time.Time `json:"createdAt"`
	LastUsedAt time.Time `json:"lastUsedAt"`
	// ExpiresAt is when the session ends without further use.
	ExpiresAt time.Time `json:"expiresAt"`
	// Network is the /24 or /64 that the sign-in came from, not the host.
	Network   string `json:"network" sample:"198.51.100.0/24"`
	UserAgent string `json:"userAgent"`
	// Browser is true for a session on pages, with a cookie.
	Browser bool `json:"browser"`
	// Current is true for the session of this request.
	Current bool `json:"current"`
}

type sessionsView struct {
	Sessions []sessionView `json:"sessions"`
	Paged
}
