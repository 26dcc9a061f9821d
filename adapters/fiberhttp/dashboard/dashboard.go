// Package dashboard is the pages below /developers where developers keep their
// applications. All of it works without script.
package dashboard

import (
	"context"
	"embed"
	"errors"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

//go:embed html
var files embed.FS

var (
	appsPage   = pages.Parse(files, "html/apps.html", "html/problem.html")
	appPage    = pages.Parse(files, "html/app.html", "html/problem.html", "html/chart.html")
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
}

const appsShown = 50

// appsView is the list, with what was typed into the form below it.
type appsView struct {
	Apps    []integrations.App
	Next    string
	Given   integrations.AppInput
	Problem *fault.Error
}

func (d *dashboard) apps(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	return d.showApps(ctx, c, who, integrations.AppInput{}, nil)
}

func (d *dashboard) showApps(ctx context.Context, c *fiber.Ctx, who *pages.Viewer, given integrations.AppInput, problem *fault.Error) error {
	r := page.Request{Number: 1, Size: appsShown}
	if cursor, ok := id.Canonical(c.Query("cursor")); ok {
		r.Cursor = cursor
	}
	found, err := d.module.MyApps(ctx, who.Actor(), r)
	if err != nil {
		return err
	}
	v := appsView{Apps: found.Items, Given: given, Problem: problem}
	if found.NextCursor != "" {
		v.Next = "/developers?cursor=" + found.NextCursor
	}
	return d.frame.Show(c, statusOf(problem), appsPage, who, v)
}

func (d *dashboard) create(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	in := integrations.AppInput{Name: c.FormValue("name"), Description: c.FormValue("description"), RedirectURIs: lines(c.FormValue("redirectUris")), Public: c.FormValue("public") != ""}
	a, secret, err := d.module.CreateApp(ctx, who.Actor(), in)
	if problem := refusal(err); problem != nil {
		return d.showApps(ctx, c, who, in, problem)
	} else if err != nil {
		return err
	}
	return d.showApp(ctx, c, who, a.ID, appView{Secret: secret, Said: "The application is made."}, nil)
}

// appView is an application, with what is shown of it only once.
type appView struct {
	App         integrations.App
	Keys        []integrations.Key
	Used        integrations.Used
	Chart       chart
	Plans       []integrations.Plan
	Secret, Key string
	PublicURL   string
	Said        string
	Problem     *fault.Error
}

func (v appView) URIs() string { return strings.Join(v.App.RedirectURIs, "\n") }

func (d *dashboard) show(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	return d.showApp(ctx, c, who, c.Params("id"), appView{}, nil)
}

func (d *dashboard) showApp(ctx context.Context, c *fiber.Ctx, who *pages.Viewer, appID string, v appView, err error) error {
	v.Problem = refusal(err)
	if err != nil && v.Problem == nil {
		return d.absent(c, who, err)
	}
	if v.App, err = d.module.MyApp(ctx, who.Actor(), appID); err != nil {
		return d.absent(c, who, err)
	}
	if v.Keys, err = d.module.Keys(ctx, who.Actor(), appID); err != nil {
		return err
	}
	if v.Used, err = d.module.UsageOf(ctx, who.Actor(), appID, integrations.UsageInput{}); err != nil {
		return err
	}
	v.Chart, v.Plans, v.PublicURL = draw(v.Used), integrations.Plans(), d.publicURL
	return d.frame.Show(c, statusOf(v.Problem), appPage, who, v)
}

// absent says that there is no such thing, which is what somebody else's is.
func (d *dashboard) absent(c *fiber.Ctx, who *pages.Viewer, err error) error {
	if fault.KindOf(err) != fault.NotFound {
		return err
	}
	return d.frame.Show(c, fiber.StatusNotFound, absentPage, who, nil)
}

func (d *dashboard) change(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	name, description, uris := c.FormValue("name"), c.FormValue("description"), lines(c.FormValue("redirectUris"))
	_, err := d.module.ChangeApp(ctx, who.Actor(), c.Params("id"), integrations.AppChange{Name: &name, Description: &description, RedirectURIs: &uris})
	return d.after(ctx, c, who, err)
}

// after leads back to the application, or says there why it did not work.
func (d *dashboard) after(ctx context.Context, c *fiber.Ctx, who *pages.Viewer, err error) error {
	if err != nil {
		return d.showApp(ctx, c, who, c.Params("id"), appView{}, err)
	}
	return c.Redirect("/developers/apps/"+c.Params("id"), fiber.StatusSeeOther)
}

func (d *dashboard) rotate(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	secret, err := d.module.RotateSecret(ctx, who.Actor(), c.Params("id"))
	if err != nil {
		secret = ""
	}
	return d.showApp(ctx, c, who, c.Params("id"), appView{Secret: secret, Said: "The old secret has ended."}, err)
}

func (d *dashboard) createKey(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	_, key, err := d.module.CreateKey(ctx, who.Actor(), c.Params("id"), integrations.KeyInput{Name: c.FormValue("name")})
	if err != nil {
		key = ""
	}
	return d.showApp(ctx, c, who, c.Params("id"), appView{Key: key}, err)
}

func (d *dashboard) deleteKey(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	err := d.module.DeleteKey(ctx, who.Actor(), c.Params("id"), c.Params("keyId"))
	if errors.Is(err, integrations.ErrKeyNotFound) {
		err = nil // it has ended, which is what was wanted
	}
	return d.after(ctx, c, who, err)
}

func (d *dashboard) choosePlan(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	_, err := d.module.ChoosePlan(ctx, who.Actor(), c.Params("id"), c.FormValue("plan"), c.FormValue("paymentMethodId"))
	return d.after(ctx, c, who, err)
}

func (d *dashboard) remove(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	if err := d.module.DeleteApp(ctx, who.Actor(), c.Params("id")); err != nil {
		return d.absent(c, who, err)
	}
	return c.Redirect("/developers", fiber.StatusSeeOther)
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

// refusal is an error that who filled in a form can do something about.
func refusal(err error) *fault.Error {
	var f *fault.Error
	if errors.As(err, &f) && (f.Kind == fault.Invalid || f.Kind == fault.Conflict) {
		return f
	}
	return nil
}

func statusOf(problem *fault.Error) int {
	switch {
	case problem == nil:
		return fiber.StatusOK
	case problem.Kind == fault.Conflict:
		return fiber.StatusConflict
	}
	return fiber.StatusBadRequest
}
