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
				v := sessionsView{Sessions: make([]sessionView, len(r.Items)), Pagination: paginate(r, in.Paging), Beyond: beyond(r)}
				for i, one := range r.Items {
					v.Sessions[i] = sessionView{
						ID: one.ID, CreatedAt: one.CreatedAt, LastUsedAt: one.LastUsedAt, ExpiresAt: one.UnusedUntil(),
						Network: one.Address, UserAgent: one.UserAgent, Browser: one.Browser, Current: one.ID == c.Actor.SessionID,
					}
				}
				return web.OK(v, ""), err
			})},
		{Method: http.MethodDelete, Path: "/api/auth/sessions/:id", Auth: web.Required, Tag: tag, Summary: "End one session: its tokens or its cookie stop working at once", Op: web.Op(
			func(ctx context.Context, c web.Call, in SessionPath) (web.Done, error) {
				return web.Message("Session ended"), s.EndSession(ctx, c.Actor, in.ID)
			})},
		{Method: http.MethodDelete, Path: "/api/auth/sessions", Auth: web.Required, Tag: tag, Summary: "End all sessions but the one of this request", Op: web.Op(
			func(ctx context.Context, c web.Call, _ web.Nothing) (web.Done, error) {
				return web.Message("Other sessions ended"), s.EndOtherSessions(ctx, c.Actor)
			})},
	}
}

// SessionPath identifies a session of the caller.
type SessionPath struct {
	ID string `path:"id"`
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
	Sessions   []sessionView `json:"sessions"`
	Pagination Pagination    `json:"pagination"`
	Beyond
}
