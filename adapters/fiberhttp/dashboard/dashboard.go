// Package dashboard serves the pages below /developers with which developers manage their
// applications. They work without scripts.
package dashboard

import (
	"embed"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/idempotency"
	"github.com/locumhq/locum/modules/integrations"
)

//go:embed html
var files embed.FS

var (
	appsPage     = pages.Parse(files, "html/apps.html")
	appPage      = pages.Parse(files, "html/app.html", "html/chart.html", "html/hooks.html")
	webhookPage  = pages.Parse(files, "html/hook.html", "html/hooks.html", "html/log.html")
	deliveryPage = pages.Parse(files, "html/delivery.html", "html/log.html")
	notFoundPage = pages.Parse(files, "html/not-found.html")
)

// dashboard serves the pages.
type dashboard struct {
	module    *integrations.Service
	renderer  *pages.Renderer
	requests  *idempotency.Runner
	publicURL string
}

// Add serves the dashboard.
func Add(app *fiber.App, module *integrations.Service, renderer *pages.Renderer, requests *idempotency.Runner, publicURL string) {
	d := &dashboard{module, renderer, requests, publicURL}
	const one = "/developers/apps/:id"
	renderer.Get(app, "/developers", d.apps)
	renderer.Post(app, "/developers/apps", d.submitOnce(d.create))
	renderer.Get(app, one, d.show)
	renderer.Post(app, one, d.change)
	renderer.Post(app, one+"/secret", d.submitOnce(d.rotate))
	renderer.Post(app, one+"/keys", d.submitOnce(d.createKey))
	renderer.Post(app, one+"/keys/:keyId/delete", d.deleteKey)
	renderer.Post(app, one+"/plan", d.choosePlan)
	renderer.Post(app, one+"/delete", d.remove)
	renderer.Post(app, one+"/webhooks", d.submitOnce(d.createWebhook))
	const hook = one + "/webhooks/:webhookId"
	renderer.Get(app, hook, d.showWebhook)
	renderer.Post(app, hook, d.changeWebhook)
	renderer.Post(app, hook+"/status", d.setWebhookStatus)
	renderer.Post(app, hook+"/secret", d.submitOnce(d.rotateWebhookSecret))
	renderer.Post(app, hook+"/test", d.sendTestEvent)
	renderer.Post(app, hook+"/replay", d.replayFailed)
	renderer.Get(app, hook+"/deliveries/:deliveryId", d.showDelivery)
	renderer.Post(app, hook+"/deliveries/:deliveryId/replay", d.replayDelivery)
	renderer.Post(app, hook+"/delete", d.deleteWebhook)
	// A response to a form may be a page at the address of the form. GET redirects from there
	// to the page with the form.
	for at, to := range map[string]string{"/developers/apps": "", one + "/secret": "/apps/:id", one + "/keys": "/apps/:id", one + "/plan": "/apps/:id", one + "/webhooks": "/apps/:id",
		hook + "/status": "/apps/:id/webhooks/:webhookId", hook + "/secret": "/apps/:id/webhooks/:webhookId", hook + "/test": "/apps/:id/webhooks/:webhookId", hook + "/replay": "/apps/:id/webhooks/:webhookId",
		hook + "/deliveries/:deliveryId/replay": "/apps/:id/webhooks/:webhookId/deliveries/:deliveryId"} {
		app.Get(at, renderer.Guard, func(c *fiber.Ctx) error {
			return c.Redirect("/developers"+strings.NewReplacer(":id", c.Params("id"), ":webhookId", c.Params("webhookId"), ":deliveryId", c.Params("deliveryId")).Replace(to), fiber.StatusSeeOther)
		})
	}
}

// renderNotFound renders a 404 if the error is fault.NotFound, also for resources of other
// users. It returns other errors.
func (d *dashboard) renderNotFound(c *fiber.Ctx, viewer *pages.Viewer, err error) error {
	if fault.KindOf(err) != fault.NotFound {
		return err
	}
	return d.renderer.Render(c, fiber.StatusNotFound, notFoundPage, viewer, nil)
}

// lines returns the trimmed lines of a text field that are not empty.
func lines(text string) []string {
	out := []string{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// values returns all values of a form field.
func values(c *fiber.Ctx, name string) []string {
	return web.Each(c.Request().PostArgs().PeekMulti(name), func(v []byte) string { return string(v) })
}
