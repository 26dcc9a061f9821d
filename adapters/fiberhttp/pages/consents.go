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

const consentsShown = 50

type consentView struct {
	integrations.Allowed
	Words []string
}

type consentsView struct {
	Consents []consentView
	Next     string
}

// PageRequest returns the page of a list for the parameter cursor, the first one without it.
func PageRequest(c *fiber.Ctx, size int) page.Request {
	cursor, _ := id.Canonical(c.Query("cursor"))
	return page.Request{Number: 1, Size: size, Cursor: cursor}
}

func (f *Renderer) consents(ctx context.Context, c *fiber.Ctx, who *Viewer) error {
	found, err := f.module.MyConsents(ctx, who.Actor(), PageRequest(c, consentsShown))
	if err != nil {
		return err
	}
	v := consentsView{Consents: web.Each(found.Items, func(a integrations.Allowed) consentView {
		return consentView{a, web.Each(a.Scopes, f.scopeText)}
	})}
	if found.NextCursor != "" {
		v.Next = "/developers/consents?cursor=" + url.QueryEscape(found.NextCursor)
	}
	return f.Render(c, fiber.StatusOK, consentsPage, who, v)
}

func (f *Renderer) withdraw(ctx context.Context, c *fiber.Ctx, who *Viewer) error {
	if err := f.module.WithdrawConsent(ctx, who.Actor(), c.Params("clientId")); err != nil && fault.KindOf(err) != fault.NotFound {
		return err
	}
	return c.Redirect("/developers/consents", fiber.StatusSeeOther)
}
