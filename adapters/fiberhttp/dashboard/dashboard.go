// Package dashboard is the pages below /developers where developers keep their
// applications. All of it works without script.
package dashboard

import (
	"embed"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/integrations"
)

//go:embed html
var files embed.FS

var (
	appsPage   = pages.Parse(files, "html/apps.html")
	appPage    = pages.Parse(files, "html/app.html", "html/chart.html", "html/hooks.html")
	hookPage   = pages.Parse(files, "html/hook.html", "html/hooks.html", "html/log.html")
	absentPage = pages.Parse(files, "html/absent.html")
)

// dashboard serves the pages.
type dashboard struct {
	module    *integrations.Service
	frame     *pages.Frame
	publicURL string
}

// Add serves the dashboard.
func Add(app *fiber.App, module *integrations.Service, frame *pages.Frame, publicURL string) {
	d := &dashboard{module, frame, publicURL}
	const one = "/developers/apps/:id"
	app.Get("/developers", frame.Guard, frame.SignedIn(d.apps))
	app.Post("/developers/apps", frame.Guard, frame.SignedIn(d.create))
	app.Get(one, frame.Guard, frame.SignedIn(d.show))
	app.Post(one, frame.Guard, frame.SignedIn(d.change))
	app.Post(one+"/secret", frame.Guard, frame.SignedIn(d.rotate))
	app.Post(one+"/keys", frame.Guard, frame.SignedIn(d.createKey))
	app.Post(one+"/keys/:keyId/delete", frame.Guard, frame.SignedIn(d.deleteKey))
	app.Post(one+"/plan", frame.Guard, frame.SignedIn(d.choosePlan))
	app.Post(one+"/delete", frame.Guard, frame.SignedIn(d.remove))
	app.Post(one+"/webhooks", frame.Guard, frame.SignedIn(d.createHook))
	const hook = one + "/webhooks/:webhookId"
	app.Get(hook, frame.Guard, frame.SignedIn(d.showHook))
	app.Post(hook, frame.Guard, frame.SignedIn(d.changeHook))
	app.Post(hook+"/status", frame.Guard, frame.SignedIn(d.pauseHook))
	app.Post(hook+"/secret", frame.Guard, frame.SignedIn(d.rotateHook))
	app.Post(hook+"/test", frame.Guard, frame.SignedIn(d.testHook))
	app.Post(hook+"/replay", frame.Guard, frame.SignedIn(d.replayFailed))
	app.Post(hook+"/deliveries/:deliveryId/replay", frame.Guard, frame.SignedIn(d.replayDelivery))
	app.Post(hook+"/delete", frame.Guard, frame.SignedIn(d.removeHook))
	// Where a form was answered with a page, its address is that of the form:
	// whoever opens it again comes to the page that the form is on.
	for at, to := range map[string]string{"/developers/apps": "", one + "/secret": "/apps/:id", one + "/keys": "/apps/:id", one + "/plan": "/apps/:id", one + "/webhooks": "/apps/:id",
		hook + "/status": "/apps/:id/webhooks/:webhookId", hook + "/secret": "/apps/:id/webhooks/:webhookId", hook + "/test": "/apps/:id/webhooks/:webhookId", hook + "/replay": "/apps/:id/webhooks/:webhookId"} {
		app.Get(at, frame.Guard, func(c *fiber.Ctx) error {
			return c.Redirect("/developers"+strings.NewReplacer(":id", c.Params("id"), ":webhookId", c.Params("webhookId")).Replace(to), fiber.StatusSeeOther)
		})
	}
}

// absent says that there is no such thing, which is what somebody else's is.
func (d *dashboard) absent(c *fiber.Ctx, who *pages.Viewer, err error) error {
	if fault.KindOf(err) != fault.NotFound {
		return err
	}
	return d.frame.Show(c, fiber.StatusNotFound, absentPage, who, nil)
}

// lines are what stands in a text field, one on each line.
func lines(text string) []string {
	out := []string{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// values are what was sent of a field that there may be several of.
func values(c *fiber.Ctx, name string) []string {
	out := []string{}
	for _, v := range c.Request().PostArgs().PeekMulti(name) {
		out = append(out, string(v))
	}
	return out
}
