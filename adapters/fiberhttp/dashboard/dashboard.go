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
	integrations *integrations.Service
	renderer     *pages.Renderer
	idempotency  *idempotency.Runner
	publicURL    string
}

// Add serves the dashboard.
func Add(app *fiber.App, module *integrations.Service, renderer *pages.Renderer, requests *idempotency.Runner, publicURL string) {
	d := &dashboard{integrations: module, renderer: renderer, idempotency: requests, publicURL: publicURL}
	const appPath = "/developers/apps/:id"

	renderer.Get(app, "/developers", d.apps)
	renderer.Post(app, "/developers/apps", d.submitOnce(d.createApp))
	renderer.Get(app, appPath, d.appDetails)
	renderer.Post(app, appPath, d.changeApp)
	renderer.Post(app, appPath+"/secret", d.submitOnce(d.rotateAppSecret))
	renderer.Post(app, appPath+"/keys", d.submitOnce(d.createKey))
	renderer.Post(app, appPath+"/keys/:keyId/delete", d.deleteKey)
	renderer.Post(app, appPath+"/plan", d.choosePlan)
	renderer.Post(app, appPath+"/delete", d.deleteApp)
	renderer.Post(app, appPath+"/webhooks", d.submitOnce(d.createWebhook))
	const webhookPath = appPath + "/webhooks/:webhookId"
	renderer.Get(app, webhookPath, d.showWebhook)
	renderer.Post(app, webhookPath, d.changeWebhook)
	renderer.Post(app, webhookPath+"/status", d.setWebhookStatus)
	renderer.Post(app, webhookPath+"/secret", d.submitOnce(d.rotateWebhookSecret))
	renderer.Post(app, webhookPath+"/test", d.sendTestEvent)
	renderer.Post(app, webhookPath+"/replay", d.replayFailed)
	renderer.Get(app, webhookPath+"/deliveries/:deliveryId", d.showDelivery)
	renderer.Post(app, webhookPath+"/deliveries/:deliveryId/replay", d.replayDelivery)
	renderer.Post(app, webhookPath+"/delete", d.deleteWebhook)

	// A form with a problem is answered with a page at the path of the form, which accepts only
	// POST. When the user reloads it with GET, it redirects to the page that has the form.
	for path, target := range map[string]string{
		"/developers/apps":                             "",
		appPath + "/secret":                            "/apps/:id",
		appPath + "/keys":                              "/apps/:id",
		appPath + "/plan":                              "/apps/:id",
		appPath + "/webhooks":                          "/apps/:id",
		webhookPath + "/status":                        "/apps/:id/webhooks/:webhookId",
		webhookPath + "/secret":                        "/apps/:id/webhooks/:webhookId",
		webhookPath + "/test":                          "/apps/:id/webhooks/:webhookId",
		webhookPath + "/replay":                        "/apps/:id/webhooks/:webhookId",
		webhookPath + "/deliveries/:deliveryId/replay": "/apps/:id/webhooks/:webhookId/deliveries/:deliveryId",
	} {
		app.Get(path, renderer.Guard, func(c *fiber.Ctx) error {
			ids := strings.NewReplacer(
				":id", c.Params("id"),
				":webhookId", c.Params("webhookId"),
				":deliveryId", c.Params("deliveryId"),
			)

			return c.Redirect("/developers"+ids.Replace(target), fiber.StatusSeeOther)
		})
	}
}

// renderNotFound renders the page for 404 if err is a fault.NotFound, which is also the error
// for resources of other users. It returns all other errors.
func (d *dashboard) renderNotFound(c *fiber.Ctx, viewer *pages.Viewer, err error) error {
	if fault.KindOf(err) != fault.NotFound {
		return err
	}

	return d.renderer.Render(c, fiber.StatusNotFound, notFoundPage, viewer, nil)
}

// nonEmptyLines returns the trimmed lines of a text field that are not empty.
func nonEmptyLines(text string) []string {
	lines := []string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" {
			lines = append(lines, line)
		}
	}

	return lines
}

// formValues returns all values of a form field.
func formValues(c *fiber.Ctx, name string) []string {
	return web.Each(c.Request().PostArgs().PeekMulti(name), func(v []byte) string { return string(v) })
}
