package portal

import (
	"context"
	"net/http"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
)

// sessionRoutes returns the routes with which users see where they are signed in, and end these sessions.
func sessionRoutes(s *identity.Service) []web.Route {
	const tag = "Authentication and user"

	return []web.Route{
		{
			Method:  http.MethodGet,
			Path:    "/api/auth/sessions",
			Auth:    web.Required,
			Tag:     tag,
			Summary: "List the devices and browsers where the caller is signed in",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in PageInput) (web.Reply[sessionsView], error) {
					r, err := s.MySessions(ctx, c.Actor, in.Request())
					views := web.Each(r.Items, func(session identity.Session) sessionView {
						return viewSession(session, c.Actor.SessionID)
					})

					return web.OK(sessionsView{Sessions: views, Paged: paged(r, in.Paging)}, ""), err
				}),
		},
		{
			Method:  http.MethodDelete,
			Path:    "/api/auth/sessions/:id",
			Auth:    web.Required,
			Tag:     tag,
			Summary: "End one session: its tokens or its cookie stop working at once",
			Op:      changeByID(s.EndSession, "Session ended"),
		},
		{
			Method:  http.MethodDelete,
			Path:    "/api/auth/sessions",
			Auth:    web.Required,
			Tag:     tag,
			Summary: "End all sessions except the one of this request",
			Op:      changeOwn(s.EndOtherSessions, "Other sessions ended"),
		},
	}
}

// sessionView is a device or browser on which the user is signed in.
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

// viewSession returns the view of a session. currentID is the id of the session of the request.
func viewSession(session identity.Session, currentID string) sessionView {
	return sessionView{
		ID:         session.ID,
		CreatedAt:  session.CreatedAt,
		LastUsedAt: session.LastUsedAt,
		ExpiresAt:  session.UnusedUntil(),
		Network:    session.Address, // only the network of an address is stored
		UserAgent:  session.UserAgent,
		Browser:    session.Browser,
		Current:    session.ID == currentID,
	}
}

type sessionsView struct {
	Sessions []sessionView `json:"sessions"`
	Paged
}

// consentRoutes returns the routes of consents. A consent authorizes an app, the program of a developer, to act for the
// user, within its scopes.
func consentRoutes(s *integrations.Service) []web.Route {
	const tag = "Developers"

	return []web.Route{
		{
			Method:  http.MethodGet,
			Path:    "/api/auth/consents",
			Auth:    web.Required,
			Tag:     tag,
			Summary: "List the apps that the caller has authorized",
			Op: list(s.MyConsents, func(r page.Result[integrations.AppConsent], p web.Paging) consentsView {
				return consentsView{Consents: web.Each(r.Items, viewConsent), Paged: paged(r, p)}
			}),
		},
		{
			Method:  http.MethodDelete,
			Path:    "/api/auth/consents/:clientId",
			Auth:    web.Required,
			Tag:     tag,
			Summary: "Revoke a consent. All tokens of the app end at once",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in ConsentPath) (web.Done, error) {
					return web.Message("Consent withdrawn successfully"), s.WithdrawConsent(ctx, c.Actor, in.ClientID)
				}),
		},
	}
}

// ConsentPath identifies a consent by the client id of its app.
type ConsentPath struct {
	ClientID string `path:"clientId"`
}

type consentView struct {
	ClientID    string               `json:"clientId"`
	Name        string               `json:"name"`
	Description string               `json:"description"`
	Scopes      []integrations.Scope `json:"scopes"`
	GivenAt     time.Time            `json:"givenAt"`
}

func viewConsent(a integrations.AppConsent) consentView {
	return consentView{ClientID: a.AppID, Name: a.Name, Description: a.Description, Scopes: a.Scopes, GivenAt: a.GivenAt}
}

// consentsView is a page of the consents to apps.
type consentsView struct {
	Consents []consentView `json:"consents"`
	Paged
}
