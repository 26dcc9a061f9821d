package portal

import (
	"context"
	"net/http"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

func consentRoutes(s *integrations.Service) []web.Route {
	const tag = "Developers"
	return []web.Route{
		{Method: http.MethodGet, Path: "/api/auth/consents", Auth: web.Required, Tag: tag, Summary: "What the caller allows third parties' applications",
			Op: list(s.MyConsents, func(r page.Result[integrations.Allowed], p web.Paging) consentsView {
				return consentsView{Consents: web.Each(r.Items, viewConsent), Paged: paged(r, p)}
			})},
		{Method: http.MethodDelete, Path: "/api/auth/consents/:clientId", Auth: web.Required, Tag: tag, Summary: "Withdraw a consent: all tokens that the application has end at once", Op: web.Op(
			func(ctx context.Context, c web.Call, in ConsentPath) (web.Done, error) {
				return web.Message("Consent withdrawn successfully"), s.WithdrawConsent(ctx, c.Actor, in.ClientID)
			})},
	}
}

// ConsentPath identifies a consent by its application.
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

func viewConsent(a integrations.Allowed) consentView {
	return consentView{ClientID: a.AppID, Name: a.Name, Description: a.Description, Scopes: a.Scopes, GivenAt: a.GivenAt}
}

type consentsView struct {
	Consents []consentView `json:"consents"`
	Paged
}
