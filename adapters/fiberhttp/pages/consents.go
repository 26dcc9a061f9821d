package pages

import (
	"context"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

// consentsPageSize is the number of consents on a page.
const consentsPageSize = 50

// consentView is the consent with which the viewer has given an application of a developer access to
// the account, with the texts of its scopes.
type consentView struct {
	integrations.AppConsent
	ScopeTexts []string
}

// consentsView is the data of the page that lists the consents.
type consentsView struct {
	Consents []consentView
	Next     string // the path of the next page, empty on the last
}

// PageRequest returns the request for a page of a list with size items. The query parameter cursor is
// the id of the last item of the previous page. Without it, the request is for the first page.
func PageRequest(c *fiber.Ctx, size int) page.Request {
	cursor, _ := id.Canonical(c.Query("cursor")) // an invalid cursor is ignored: the page is the first
	return page.Request{Number: 1, Size: size, Cursor: cursor}
}

// consents shows the applications to which the viewer has given access.
func (r *Renderer) consents(ctx context.Context, c *fiber.Ctx, viewer *Viewer) error {
	consents, err := r.integrations.MyConsents(ctx, viewer.Actor(), PageRequest(c, consentsPageSize))
	if err != nil {
		return err
	}

	v := consentsView{Consents: web.Each(consents.Items, func(consent integrations.AppConsent) consentView {
		return consentView{AppConsent: consent, ScopeTexts: web.Each(consent.Scopes, r.scopeText)}
	})}
	if consents.NextCursor != "" {
		v.Next = "/developers/consents?cursor=" + url.QueryEscape(consents.NextCursor)
	}

	return r.Render(c, fiber.StatusOK, consentsPage, viewer, v)
}

// withdraw ends the access of an application. A consent that is already withdrawn is not an
// error.
func (r *Renderer) withdraw(ctx context.Context, c *fiber.Ctx, viewer *Viewer) error {
	err := r.integrations.WithdrawConsent(ctx, viewer.Actor(), c.Params("clientId"))
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return err
	}

	return c.Redirect("/developers/consents", fiber.StatusSeeOther)
}
