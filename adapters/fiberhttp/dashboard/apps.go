package dashboard

import (
	"context"
	"errors"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/modules/integrations"
)

const appsShown = 50

// appsView is the list, with what was typed into the form below it.
type appsView struct {
	Apps    []integrations.App
	Next    string
	Given   integrations.AppInput
	Problem *pages.Problem
}

func (d *dashboard) apps(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	return d.showApps(ctx, c, who, integrations.AppInput{}, nil)
}

func (d *dashboard) showApps(ctx context.Context, c *fiber.Ctx, who *pages.Viewer, given integrations.AppInput, problem *pages.Problem) error {
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
	return d.frame.Show(c, problem.Status(), appsPage, who, v)
}

func (d *dashboard) create(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	in := integrations.AppInput{Name: c.FormValue("name"), Description: c.FormValue("description"), RedirectURIs: lines(c.FormValue("redirectUris")), Public: c.FormValue("public") != ""}
	var a integrations.App
	var secret string
	by, err := d.frame.Confirm(ctx, c, who)
	if err == nil {
		a, secret, err = d.module.CreateApp(ctx, by, in)
	}
	if problem := pages.Refused(err, "new"); problem != nil {
		return d.showApps(ctx, c, who, in, problem)
	} else if err != nil {
		return err
	}
	made(c, "/developers/apps/"+a.ID)
	return d.showApp(ctx, c, who, a.ID, appView{Secret: secret, Said: "The application is made."})
}

// The forms on the page of an application that can be refused.
const (
	keysForm     = "keys"
	planForm     = "plan"
	settingsForm = "settings"
	hooksForm    = "webhooks"
)

// appView is an application, with what is shown of it only once.
type appView struct {
	App         integrations.App
	Keys        []integrations.Key
	Hooks       []integrations.Endpoint
	Used        integrations.Used
	Chart       chart
	Plans       []integrations.Plan
	Secret, Key string
	PublicURL   string
	Said        string
	// ConfirmURL is where a payment has to be confirmed.
	ConfirmURL string
	Problem    *pages.Problem
	// Given is what was typed into the form that was refused.
	Given integrations.AppInput
	Hook  hookForm
}

func (v appView) URIs() string { return strings.Join(v.Given.RedirectURIs, "\n") }

func (d *dashboard) show(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	return d.showApp(ctx, c, who, c.Params("id"), appView{Said: said[c.Query("said")]})
}

func (d *dashboard) showApp(ctx context.Context, c *fiber.Ctx, who *pages.Viewer, appID string, v appView) (err error) {
	if v.App, err = d.module.MyApp(ctx, who.Actor(), appID); err != nil {
		return d.absent(c, who, err)
	}
	if v.Keys, err = d.module.MyKeys(ctx, who.Actor(), appID); err != nil {
		return err
	}
	if v.Hooks, err = d.module.MyWebhooks(ctx, who.Actor(), appID); err != nil {
		return err
	}
	if v.Used, err = d.module.UsageOf(ctx, who.Actor(), appID, integrations.UsageInput{}); err != nil {
		return err
	}
	if v.Problem.In(settingsForm) == nil {
		v.Given = integrations.AppInput{Name: v.App.Name, Description: v.App.Description, RedirectURIs: v.App.RedirectURIs}
	}
	v.Hook.Action = "/developers/apps/" + v.App.ID + "/webhooks"
	v.Chart, v.Plans, v.PublicURL = draw(v.Used), integrations.Plans(), d.publicURL
	return d.frame.Show(c, v.Problem.Status(), appPage, who, v)
}

func (d *dashboard) change(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	in := integrations.AppInput{Name: c.FormValue("name"), Description: c.FormValue("description"), RedirectURIs: lines(c.FormValue("redirectUris"))}
	_, err := d.module.ChangeApp(ctx, who.Actor(), c.Params("id"), integrations.AppChange{Name: &in.Name, Description: &in.Description, RedirectURIs: &in.RedirectURIs})
	return d.after(ctx, c, who, err, settingsForm, appView{Given: in})
}

// after leads back to the application, or says at the form there why it did not
// work.
func (d *dashboard) after(ctx context.Context, c *fiber.Ctx, who *pages.Viewer, err error, form string, v appView) error {
	if err == nil {
		return c.Redirect("/developers/apps/"+c.Params("id"), fiber.StatusSeeOther)
	}
	if v.Problem = pages.Refused(err, form); v.Problem == nil {
		return d.absent(c, who, err)
	}
	return d.showApp(ctx, c, who, c.Params("id"), v)
}

func (d *dashboard) rotate(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	var secret string
	by, err := d.frame.Confirm(ctx, c, who)
	if err == nil {
		secret, err = d.module.RotateSecret(ctx, by, c.Params("id"))
	}
	if err != nil {
		return d.after(ctx, c, who, err, settingsForm, appView{})
	}
	made(c, "/developers/apps/"+c.Params("id"))
	return d.showApp(ctx, c, who, c.Params("id"), appView{Secret: secret, Said: "The old secret has ended."})
}

func (d *dashboard) createKey(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	var key string
	by, err := d.frame.Confirm(ctx, c, who)
	if err == nil {
		_, key, err = d.module.CreateKey(ctx, by, c.Params("id"), integrations.KeyInput{Name: c.FormValue("name")})
	}
	if err != nil {
		return d.after(ctx, c, who, err, keysForm, appView{})
	}
	made(c, "/developers/apps/"+c.Params("id"))
	return d.showApp(ctx, c, who, c.Params("id"), appView{Key: key})
}

func (d *dashboard) deleteKey(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	err := d.module.DeleteKey(ctx, who.Actor(), c.Params("id"), c.Params("keyId"))
	if errors.Is(err, integrations.ErrKeyNotFound) {
		err = nil // it has ended, which is what was wanted
	}
	return d.after(ctx, c, who, err, keysForm, appView{})
}

func (d *dashboard) choosePlan(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	_, err := d.module.ChoosePlan(ctx, who.Actor(), c.Params("id"), c.FormValue("plan"), c.FormValue("paymentMethodId"))
	var required *billing.ActionRequiredError
	if errors.As(err, &required) {
		return d.showApp(ctx, c, who, c.Params("id"), appView{Said: billing.ErrActionRequired.Message + ". Your plan changes once you have.", ConfirmURL: required.RedirectURL})
	}
	return d.after(ctx, c, who, err, planForm, appView{})
}

func (d *dashboard) remove(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	if err := d.module.DeleteApp(ctx, who.Actor(), c.Params("id")); err != nil {
		return d.absent(c, who, err)
	}
	return c.Redirect("/developers", fiber.StatusSeeOther)
}
