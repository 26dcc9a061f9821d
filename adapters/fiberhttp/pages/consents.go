package pages

import (
	"context"
	"net/url"

	"github.com/gofiber/fiber/v2"

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

func (f *Renderer) consents(ctx context.Context, c *fiber.Ctx, who *Viewer) error {
	r := page.Request{Number: 1, Size: consentsShown}
	if cursor, ok := id.Canonical(c.Query("cursor")); ok {
		r.Cursor = cursor
	}
	found, err := f.module.MyConsents(ctx, who.Actor(), r)
	if err != nil {
		return err
	}
	v := consentsView{}
	for _, allowed := range found.Items {
		shown := consentView{Allowed: allowed}
		for _, scope := range allowed.Scopes {
			shown.Words = append(shown.Words, f.scopeText(scope))
		}
		v.Consents = append(v.Consents, shown)
	}
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
