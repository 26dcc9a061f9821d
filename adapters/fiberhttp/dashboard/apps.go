package dashboard

import (
	"context"
	"errors"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/modules/integrations"
)

// appsPageSize is the number of applications on a page of the list.
const appsPageSize = 50

// appsView is the data of the page with the list of applications and the form for another
// application.
type appsView struct {
	Apps    []integrations.App
	Next    string                // the path of the next page, empty on the last
	Given   integrations.AppInput // what the user has entered in a form with a problem
	Problem *pages.Problem
}

// apps handles the request for the list of applications.
func (d *dashboard) apps(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	return d.showApps(ctx, c, viewer, integrations.AppInput{}, nil)
}

// showApps renders the list of applications and the form, with its input and problem.
func (d *dashboard) showApps(
	ctx context.Context,
	c *fiber.Ctx,
	viewer *pages.Viewer,
	input integrations.AppInput,
	problem *pages.Problem,
) error {
	apps, err := d.integrations.MyApps(ctx, viewer.Actor(), pages.PageRequest(c, appsPageSize))
	if err != nil {
		return err
	}

	v := appsView{Apps: apps.Items, Given: input, Problem: problem}
	if apps.NextCursor != "" {
		v.Next = "/developers?cursor=" + apps.NextCursor
	}

	return d.renderer.Render(c, problem.Status(), appsPage, viewer, v)
}

// createApp creates an application and shows its secret once.
func (d *dashboard) createApp(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	in := integrations.AppInput{
		Name:         c.FormValue("name"),
		Description:  c.FormValue("description"),
		RedirectURIs: nonEmptyLines(c.FormValue("redirectUris")),
		Public:       c.FormValue("public") != "",
	}

	actor, err := d.renderer.Confirm(ctx, c, viewer)
	if err != nil {
		return d.showAppsProblem(ctx, c, viewer, in, err)
	}

	app, secret, err := d.integrations.CreateApp(ctx, actor, in)
	if err != nil {
		return d.showAppsProblem(ctx, c, viewer, in, err)
	}

	setContentLocation(c, "/developers/apps/"+app.ID)

	return d.showApp(ctx, c, viewer, app.ID, appView{Secret: secret, Notice: "The application is created."})
}

// showAppsProblem shows the form for another application with its problem. It returns errors
// that the user cannot correct.
func (d *dashboard) showAppsProblem(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, in integrations.AppInput, err error) error {
	problem := pages.FormProblem(err, "new")
	if problem == nil {
		return err
	}

	return d.showApps(ctx, c, viewer, in, problem)
}

// The names of the forms on the page of an application that can have problems.
const (
	keysForm     = "keys"
	planForm     = "plan"
	settingsForm = "settings"
	webhooksForm = "webhooks"
)

// appView is the data of the page of an application.
type appView struct {
	App   integrations.App
	Keys  []integrations.Key      // API keys of the application
	Hooks []integrations.Endpoint // webhooks of the application
	// Used has the number of requests of each day, from which Chart is drawn.
	Used  integrations.UsageReport
	Chart chart
	Plans []integrations.Plan // all plans, between which the developer can choose
	// Secret or Key is set only in the response to the form that has created it. The page shows it once.
	Secret, Key string
	PublicURL   string
	// Notice is a message at the top of the page.
	Notice string
	// ConfirmURL is the address of the payment provider at which the user must confirm a payment.
	ConfirmURL string
	// Problem is the problem of the form that was sent before. It is nil if there is none.
	Problem *pages.Problem
	// Given is the input of the form for the settings.
	Given integrations.AppInput
	// Hook is the form for another webhook.
	Hook webhookForm
}

// URIs returns the redirect URIs as the lines of a text area.
func (v appView) URIs() string { return strings.Join(v.Given.RedirectURIs, "\n") }

// appDetails handles the request for the page of an application.
func (d *dashboard) appDetails(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	return d.showApp(ctx, c, viewer, c.Params("id"), appView{Notice: notices[c.Query("notice")]})
}

// showApp reads the application and renders its page. v has the fields that a form has set: a notice, a
// key or secret, or a problem with the values that the user has entered.
func (d *dashboard) showApp(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, appID string, v appView) (err error) {
	if v.App, err = d.integrations.MyApp(ctx, viewer.Actor(), appID); err != nil {
		return d.renderNotFound(c, viewer, err)
	}

	if v.Keys, err = d.integrations.MyKeys(ctx, viewer.Actor(), appID); err != nil {
		return err
	}

	if v.Hooks, err = d.integrations.MyWebhooks(ctx, viewer.Actor(), appID); err != nil {
		return err
	}

	if v.Used, err = d.integrations.GetUsage(ctx, viewer.Actor(), appID, integrations.UsageInput{}); err != nil {
		return err
	}

	// A form with a problem keeps the values that the user has entered.
	if v.Problem.ForForm(settingsForm) == nil {
		v.Given = integrations.AppInput{Name: v.App.Name, Description: v.App.Description, RedirectURIs: v.App.RedirectURIs}
	}

	v.Hook.Action = "/developers/apps/" + v.App.ID + "/webhooks"
	v.Chart = newChart(v.Used)
	v.Plans = integrations.Plans()
	v.PublicURL = d.publicURL

	return d.renderer.Render(c, v.Problem.Status(), appPage, viewer, v)
}

// changeApp changes the settings of the application.
func (d *dashboard) changeApp(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	in := integrations.AppInput{
		Name:         c.FormValue("name"),
		Description:  c.FormValue("description"),
		RedirectURIs: nonEmptyLines(c.FormValue("redirectUris")),
	}
	change := integrations.AppChange{Name: &in.Name, Description: &in.Description, RedirectURIs: &in.RedirectURIs}
	_, err := d.integrations.ChangeApp(ctx, viewer.Actor(), c.Params("id"), change)

	return d.finishAppForm(ctx, c, viewer, err, settingsForm, appView{Given: in})
}

// finishAppForm answers a form on the page of an application after it was processed. If err is nil, it
// redirects to the application. Otherwise it renders the application with the problem of the form,
// which is named formName, and the values in v. It returns errors that the user cannot correct.
func (d *dashboard) finishAppForm(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, err error, formName string, v appView) error {
	if err == nil {
		return c.Redirect("/developers/apps/"+c.Params("id"), fiber.StatusSeeOther)
	}

	v.Problem = pages.FormProblem(err, formName)
	if v.Problem == nil {
		return d.renderNotFound(c, viewer, err)
	}

	return d.showApp(ctx, c, viewer, c.Params("id"), v)
}

// rotateAppSecret replaces the secret of the application and shows the new one once.
func (d *dashboard) rotateAppSecret(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	actor, err := d.renderer.Confirm(ctx, c, viewer)
	if err != nil {
		return d.finishAppForm(ctx, c, viewer, err, settingsForm, appView{})
	}

	secret, err := d.integrations.RotateSecret(ctx, actor, c.Params("id"))
	if err != nil {
		return d.finishAppForm(ctx, c, viewer, err, settingsForm, appView{})
	}

	setContentLocation(c, "/developers/apps/"+c.Params("id"))

	return d.showApp(ctx, c, viewer, c.Params("id"), appView{Secret: secret, Notice: "The old secret has ended."})
}

// createKey creates an API key and shows it once.
func (d *dashboard) createKey(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	actor, err := d.renderer.Confirm(ctx, c, viewer)
	if err != nil {
		return d.finishAppForm(ctx, c, viewer, err, keysForm, appView{})
	}

	_, key, err := d.integrations.CreateKey(ctx, actor, c.Params("id"), integrations.KeyInput{Name: c.FormValue("name")})
	if err != nil {
		return d.finishAppForm(ctx, c, viewer, err, keysForm, appView{})
	}

	setContentLocation(c, "/developers/apps/"+c.Params("id"))

	return d.showApp(ctx, c, viewer, c.Params("id"), appView{Key: key})
}

// deleteKey deletes an API key.
func (d *dashboard) deleteKey(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	err := d.integrations.DeleteKey(ctx, viewer.Actor(), c.Params("id"), c.Params("keyId"))
	if errors.Is(err, integrations.ErrKeyNotFound) {
		err = nil // already deleted
	}

	if err == nil {
		return c.Redirect("/developers/apps/"+c.Params("id")+"?notice=key-deleted", fiber.StatusSeeOther)
	}

	return d.finishAppForm(ctx, c, viewer, err, keysForm, appView{})
}

// choosePlan changes the plan. If the payment has to be confirmed, it shows a link to the page
// of the payment provider.
func (d *dashboard) choosePlan(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	_, err := d.integrations.ChoosePlan(ctx, viewer.Actor(), c.Params("id"), c.FormValue("plan"), c.FormValue("paymentMethodId"))

	var required *billing.ActionRequiredError
	if errors.As(err, &required) {
		return d.showApp(ctx, c, viewer, c.Params("id"), appView{
			Notice:     billing.ErrActionRequired.Message + ". Your plan changes once you have.",
			ConfirmURL: required.RedirectURL,
		})
	}

	return d.finishAppForm(ctx, c, viewer, err, planForm, appView{})
}

// deleteApp deletes the application with its keys, webhooks and access tokens.
func (d *dashboard) deleteApp(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	if err := d.integrations.DeleteApp(ctx, viewer.Actor(), c.Params("id")); err != nil {
		return d.renderNotFound(c, viewer, err)
	}

	return c.Redirect("/developers", fiber.StatusSeeOther)
}
