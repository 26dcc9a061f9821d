package site

import (
	"cmp"
	"context"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
)

var auditPage = pages.Parse(files, "html/console-audit.html")

// auditView is a page of the organization's audit log. Next is the path of the next page, empty
// on the last one. Form has the filter.
type auditView struct {
	Entries []auditRow
	Next    string
	Form    pages.Form
}

// Actions returns the choices of the filter: all actions, or one of them.
func (auditView) Actions() []pages.Choice {
	actions := web.Each(audit.Actions(), func(a audit.Action) pages.Choice {
		return pages.Choice{Value: string(a), Text: actionText(a)}
	})

	return append([]pages.Choice{{Value: "", Text: "All"}}, actions...)
}

// auditRow is an entry of the audit log.
type auditRow struct{ identity.AuditEntry }

func newAuditRow(e identity.AuditEntry) auditRow { return auditRow{e} }

// ActionText returns the action in words.
func (r auditRow) ActionText() string { return actionText(r.Action) }

// Who returns the name of the user who performed the action, or a text in place of the name.
func (r auditRow) Who() string {
	switch r.Actor {
	case audit.Operator:
		return "An operator of this site"
	case "":
		return "Unknown"
	}

	return cmp.Or(r.ActorName, "Not in the team")
}

// actionText returns the name of an action in words: "api_key.created" becomes "API key created".
func actionText(action audit.Action) string {
	words := strings.NewReplacer(".", " ", "_", " ", "api", "API").Replace(string(action))
	return strings.ToUpper(words[:1]) + words[1:]
}

// auditLog shows the organization's audit log. The query parameter action selects entries.
func (s *Site) auditLog(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	action := c.Query("action")

	entries, err := s.services.Identity.OrganizationAudit(ctx, viewer.Actor(),
		audit.Filter{Action: audit.Action(action)}, page.After(c.Query("after"), consolePageSize))
	if err != nil {
		return err
	}

	v := auditView{Entries: web.Each(entries.Items, newAuditRow), Form: pages.Form{Values: queryValues(c)}}
	if entries.NextCursor != "" {
		v.Next = withQuery("/employer/audit", "action", action, "after", entries.NextCursor)
	}

	return s.renderer.Render(c, fiber.StatusOK, auditPage, viewer, v)
}
