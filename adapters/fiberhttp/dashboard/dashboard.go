// Package dashboard serves the pages below /developers with which developers manage their
// applications: API keys, plans and webhooks. An application is a program that uses the developer API.
// The pages work without scripts.
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
	const (
		appRoute     = "/developers/apps/:id"
		webhookRoute = appRoute + "/webhooks/:webhookId"
	)

	// The list of the user's applications, and the page of one application.
	renderer.Get(app, "/developers", d.apps)
	renderer.Post(app, "/developers/apps", d.submitOnce(d.createApp))
	renderer.Get(app, appRoute, d.appDetails)
	renderer.Post(app, appRoute, d.changeApp)
	renderer.Post(app, appRoute+"/secret", d.submitOnce(d.rotateAppSecret))
	renderer.Post(app, appRoute+"/keys", d.submitOnce(d.createKey))
	renderer.Post(app, appRoute+"/keys/:keyId/delete", d.deleteKey)
	renderer.Post(app, appRoute+"/plan", d.choosePlan)
	renderer.Post(app, appRoute+"/delete", d.deleteApp)
	renderer.Post(app, appRoute+"/webhooks", d.submitOnce(d.createWebhook))

	// A webhook of an application, and its deliveries.
	renderer.Get(app, webhookRoute, d.showWebhook)
	renderer.Post(app, webhookRoute, d.changeWebhook)
	renderer.Post(app, webhookRoute+"/status", d.setWebhookStatus)
	renderer.Post(app, webhookRoute+"/secret", d.submitOnce(d.rotateWebhookSecret))
	renderer.Post(app, webhookRoute+"/test", d.sendTestEvent)
	renderer.Post(app, webhookRoute+"/replay", d.replayFailed)
	renderer.Get(app, webhookRoute+"/deliveries/:deliveryId", d.showDelivery)
	renderer.Post(app, webhookRoute+"/deliveries/:deliveryId/replay", d.replayDelivery)
	renderer.Post(app, webhookRoute+"/delete", d.deleteWebhook)

	// The response to a form with a problem is a page at the path of the form. The form accepts only
	// POST. If the user opens that path with GET, redirect to the page that has the form.
	for path, target := range map[string]string{
		"/developers/apps":                              "/developers",
		appRoute + "/secret":                            appRoute,
		appRoute + "/keys":                              appRoute,
		appRoute + "/plan":                              appRoute,
		appRoute + "/webhooks":                          appRoute,
		webhookRoute + "/status":                        webhookRoute,
		webhookRoute + "/secret":                        webhookRoute,
		webhookRoute + "/test":                          webhookRoute,
		webhookRoute + "/replay":                        webhookRoute,
		webhookRoute + "/deliveries/:deliveryId/replay": webhookRoute + "/deliveries/:deliveryId",
	} {
		app.Get(path, renderer.Guard, func(c *fiber.Ctx) error {
			ids := strings.NewReplacer(
				":id", c.Params("id"),
				":webhookId", c.Params("webhookId"),
				":deliveryId", c.Params("deliveryId"),
			)

			return c.Redirect(ids.Replace(target), fiber.StatusSeeOther)
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
