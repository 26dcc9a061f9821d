package site

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
)

var employerSettingsPage = pages.Parse(files, "html/console-settings.html", "html/settings-parts.html", "html/console-parts.html")

// employerSettingsView is the page with the settings of an employer's own account.
type employerSettingsView struct {
	identity.EmployerAccount
	signInSettings
	// IsClinician is set for a clinician who has joined the organization. The address, the
	// password and the sessions of such an account are on the pages for clinicians.
	IsClinician bool
}

// employerSettingsPath is the path of the settings of employers.
const employerSettingsPath = "/employer/settings"

// loadEmployerSettings collects what the page shows.
func (s *Site) loadEmployerSettings(ctx context.Context, viewer *pages.Viewer, form *pages.Form) (v employerSettingsView, err error) {
	actor := viewer.Actor()

	v.IsClinician = actor.Seeker
	if v.EmployerAccount, err = s.services.Identity.MyEmployerAccount(ctx, actor); err != nil {
		return v, err
	}

	v.signInSettings, err = s.loadSignInSettings(ctx, viewer, form, employerSettingsPath)
	v.SignInAddress = v.Email
	v.NewAddress = v.PendingEmail

	return v, err
}

func (s *Site) employerSettings(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	v, err := s.loadEmployerSettings(ctx, viewer, &pages.Form{})
	if err != nil {
		return err
	}

	return s.renderer.Render(c, fiber.StatusOK, employerSettingsPage, viewer, v)
}

// saveEmployerSettings handles the forms of the page. Each form is sent to the path of its section.
func (s *Site) saveEmployerSettings(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	form := pages.FormOf(c)
	var path, notice string

	var err error
	switch c.Params("section") {
	case "alerts", "profile", "email":
		path = employerSettingsPath
		notice, err = s.changeEmployer(ctx, c, viewer, form)
	case "password", "session", "sessions":
		path = employerSettingsPath
		notice, err = s.changeSignIn(ctx, c, viewer.Actor(), form)
	case "delete":
		path, err = s.deleteEmployer(ctx, c, viewer, form)

		notice = "account-deleted"
		if viewer.Actor().Seeker { // a clinician leaves the organization and keeps the account
			notice = "left"
		}
	default:
		return web.ErrNoRoute
	}

	if err != nil {
		// The module calls the fields of a profile "profile.name", the form calls them "name".
		err = trimFieldPrefix(err, "profile.")

		// The function is called after renderProblem has set form.Problem, and before the page is rendered.
		return s.renderProblem(c, employerSettingsPage, viewer, &form, err, func() (any, error) {
			form.Problem = nameConfirmation(form.Problem, c.Params("section"))
			return s.loadEmployerSettings(ctx, viewer, &form)
		})
	}

	return redirect(c, path, notice)
}

// changeEmployer changes the notifications, the profile or the address of the viewer, as the section of the form says. It
// returns the key of the notice for the user. The request counts towards the rate limit of the API operation that makes the
// same change.
func (s *Site) changeEmployer(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, form pages.Form) (notice string, err error) {
	actor, operation := viewer.Actor(), changeEmployerOperation

	var in identity.EmployerInput
	switch c.Params("section") {
	case "alerts":
		// Browsers do not send a check box that is not checked.
		notice, operation = "preferences-saved", changeEmployerSettingsOperation
		in.EmailAlerts = new(form.Values.Has("emailAlerts"))
	case "profile":
		notice = "profile-saved"
		in.Profile = &identity.EmployerProfileInput{Name: new(form.Value("name")), JobTitle: new(form.Value("jobTitle"))}
	case "email":
		notice = "email-requested"

		in.Profile = &identity.EmployerProfileInput{Email: new(form.Value("email"))}
		if form.Value("email") == "" {
			return "", fault.InvalidField("email", "is required")
		}

		// A new address requires a recent sign-in, or the password in the form.
		if actor, err = s.renderer.Confirm(ctx, c, viewer); err != nil {
			return "", err
		}
	}

	if err := s.renderer.TakeLimit(ctx, c, operation); err != nil {
		return "", err
	}

	_, err = s.services.Identity.UpdateEmployer(ctx, actor, in)

	return notice, err
}

// changeSignIn changes the password of the actor or ends sessions. It returns the key of the notice for the
// user.
func (s *Site) changeSignIn(ctx context.Context, c *fiber.Ctx, actor auth.Actor, form pages.Form) (notice string, err error) {
	switch c.Params("section") {
	case "session":
		return "session-ended", s.services.Identity.EndSession(ctx, actor, form.Value("session"))
	case "sessions":
		return "sessions-ended", s.services.Identity.EndOtherSessions(ctx, actor)
	}

	// The only other section is password. Passwords are not trimmed.
	in := identity.ChangePasswordInput{
		CurrentPassword: form.Values.Get("currentPassword"),
		NewPassword:     form.Values.Get("newPassword"),
	}

	return "password-changed", s.services.Identity.ChangePassword(ctx, actor, in, s.renderer.Client(c))
}

// deleteEmployer deletes the account of the viewer or, for a clinician, the membership. It returns
// the path of the next page.
func (s *Site) deleteEmployer(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, form pages.Form) (path string, err error) {
	if form.Value("confirm") == "" {
		return "", fault.InvalidField("confirm", "must be ticked")
	}

	if err := s.renderer.TakeLimit(ctx, c, deleteEmployerOperation); err != nil {
		return "", err
	}

	actor, err := s.renderer.Confirm(ctx, c, viewer)
	if err != nil {
		return "", err
	}

	return "/", s.services.Identity.DeleteEmployerAccount(ctx, actor)
}
