package site

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/jobseeker"
)

var (
	myProfilePage  = pages.Parse(files, "html/my-profile.html", "html/account-parts.html")
	mySettingsPage = pages.Parse(files, "html/my-settings.html", "html/settings-parts.html", "html/account-parts.html")
)

// patternValues are the types of contract and the working patterns that clinicians can prefer.
var patternValues = []string{"permanent", "temporary", "contract", "full-time", "part-time", "bank", "per-diem", "flexible"}

// myProfileView is the form of the profile.
type myProfileView struct {
	jobseeker.Account
	Form  *pages.Form
	Types []typeChoice
}

// typeChoice is the check box for a type of contract or a working pattern.
type typeChoice struct {
	pages.Choice
	IsSelected bool
}

// Text formats a number of the profile. It returns an empty text for a number that is not set.
func (myProfileView) Text(n *float64) string {
	if n == nil {
		return ""
	}

	return strconv.FormatFloat(*n, 'f', -1, 64)
}

// Radius returns the preferred distance in miles. It returns an empty text for none.
func (v myProfileView) Radius() string {
	if v.LocationRadius == 0 {
		return ""
	}

	return strconv.Itoa(v.LocationRadius)
}

// IsShown reports whether the check box "show my profile to employers" is checked. If the form was
// sent, it is checked as it was sent. Otherwise it is checked as stored.
func (v myProfileView) IsShown() bool {
	if v.Form.Values != nil {
		return v.Form.Values.Has("showProfile")
	}

	return v.ShowProfile
}

// loadProfile collects what the page shows. If the form was sent, its check boxes are checked as they were sent.
// Otherwise they are checked as stored.
func (s *Site) loadProfile(ctx context.Context, viewer *pages.Viewer, form *pages.Form) (v myProfileView, err error) {
	v.Form = form
	if v.Account, err = s.services.Seekers.MyProfile(ctx, viewer.Actor()); err != nil {
		return v, err
	}

	selected := v.EmploymentTypes
	if form.Values != nil {
		selected = form.Values["employmentTypes"]
	}

	for _, value := range patternValues {
		choice := pages.Choice{Value: value, Text: valueTexts[value]}
		v.Types = append(v.Types, typeChoice{Choice: choice, IsSelected: slices.Contains(selected, value)})
	}

	return v, nil
}

func (s *Site) myProfile(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	v, err := s.loadProfile(ctx, viewer, &pages.Form{})
	if err != nil {
		return err
	}

	return s.renderer.Render(c, fiber.StatusOK, myProfilePage, viewer, v)
}

// parseAmount returns the number in a field of the form. An empty field is 0.
func parseAmount(form pages.Form, name string) (*float64, error) {
	text := form.Value(name)
	if text == "" {
		return new(0.0), nil
	}

	n := parseNumber(text)
	if n == nil {
		return nil, fault.InvalidField(name, "must be a number, such as 36000")
	}

	return n, nil
}

// profileInput converts the form to a change of the profile. The change sets all fields of the form, so that a field that
// the user has emptied is emptied in the profile too.
func profileInput(form pages.Form) (in jobseeker.ProfileInput, err error) {
	text := func(name string) *string { return new(form.Value(name)) }
	employmentTypes := append([]string{}, form.Values["employmentTypes"]...) // not nil, which would change nothing

	in = jobseeker.ProfileInput{
		Name:              text("name"),
		Phone:             text("phone"),
		Location:          text("location"),
		Specialty:         text("specialty"),
		CurrentRole:       text("currentRole"),
		Experience:        new(jobseeker.Words(form.Value("experience"))),
		Bio:               new(strings.ReplaceAll(form.Value("bio"), "\r\n", "\n")),
		PreferredLocation: text("preferredLocation"),
		EmploymentTypes:   &employmentTypes,
		ShowProfile:       new(form.Values.Has("showProfile")),
	}
	if in.LocationRadius, err = parseAmount(form, "locationRadius"); err != nil {
		return in, err
	}

	if in.SalaryMin, err = parseAmount(form, "salaryMin"); err != nil {
		return in, err
	}

	in.SalaryMax, err = parseAmount(form, "salaryMax")

	return in, err
}

// updateProfile stores the profile in the form. It counts towards the rate limit of the API
// operation.
func (s *Site) updateProfile(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, form pages.Form) error {
	in, err := profileInput(form)
	if err != nil {
		return err
	}

	if err := s.renderer.TakeLimit(ctx, c, changeProfileOperation); err != nil {
		return err
	}

	_, err = s.services.Seekers.UpdateProfile(ctx, viewer.Actor(), in)

	return err
}

// saveProfile saves the profile. The names of fields in errors of the module begin with "profile.", and the names in the
// form do not.
func (s *Site) saveProfile(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	form := pages.FormOf(c)
	if err := s.updateProfile(ctx, c, viewer, form); err != nil {
		return s.renderProblem(c, myProfilePage, viewer, &form, trimFieldPrefix(err, "profile."),
			func() (any, error) { return s.loadProfile(ctx, viewer, &form) })
	}

	return redirect(c, "/account/profile", "profile-saved")
}

// mySettingsView is the page of settings.
type mySettingsView struct {
	jobseeker.Account
	signInSettings
}

// mySettingsPath is the path of the settings of clinicians.
const mySettingsPath = "/account/settings"

// loadSettings collects what the page shows.
func (s *Site) loadSettings(ctx context.Context, viewer *pages.Viewer, form *pages.Form) (v mySettingsView, err error) {
	if v.Account, err = s.services.Seekers.MyProfile(ctx, viewer.Actor()); err != nil {
		return v, err
	}

	v.signInSettings, err = s.loadSignInSettings(ctx, viewer, form, mySettingsPath)
	v.SignInAddress = v.Email
	v.NewAddress = v.PendingEmail

	return v, err
}

func (s *Site) mySettings(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	v, err := s.loadSettings(ctx, viewer, &pages.Form{})
	if err != nil {
		return err
	}

	return s.renderer.Render(c, fiber.StatusOK, mySettingsPage, viewer, v)
}

// saveSettings handles the forms of the page. Each form is sent to the path of its section. After a problem, the page shows
// the error about the current password in this section.
func (s *Site) saveSettings(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	form := pages.FormOf(c)

	path, notice, err := s.saveSection(ctx, c, viewer, form)
	if err != nil {
		return s.renderProblem(c, mySettingsPage, viewer, &form, err, func() (any, error) {
			form.Problem = nameConfirmation(form.Problem, c.Params("section"))
			return s.loadSettings(ctx, viewer, &form)
		})
	}

	return redirect(c, path, notice)
}

// saveSection saves the section that the path names. It returns the path of the next page, and the key of its notice.
func (s *Site) saveSection(
	ctx context.Context,
	c *fiber.Ctx,
	viewer *pages.Viewer,
	form pages.Form,
) (path, notice string, err error) {
	switch c.Params("section") {
	case "preferences":
		// Browsers do not send a check box that is not checked.
		in := jobseeker.NotifyInput{Email: new(form.Values.Has("email")), JobAlerts: new(form.Values.Has("jobAlerts"))}
		return mySettingsPath, "preferences-saved", s.services.Seekers.UpdateNotifications(ctx, viewer.Actor(), in)
	case "email":
		return mySettingsPath, "email-requested", s.changeEmail(ctx, c, viewer, form.Value("email"))
	case "password", "session", "sessions":
		notice, err = s.changeSignIn(ctx, c, viewer.Actor(), form)
		return mySettingsPath, notice, err
	case "delete":
		return "/", "account-deleted", s.deleteAccount(ctx, c, viewer, form)
	}

	return "", "", web.ErrNoRoute
}

// changeEmail sends a link to the new address. The account keeps its address until the user opens the link.
func (s *Site) changeEmail(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, email string) error {
	actor, err := s.renderer.Confirm(ctx, c, viewer)
	if err != nil {
		return err
	}

	return s.services.Identity.ChangeEmail(ctx, actor, email)
}

// deleteAccount deletes the account of the viewer.
func (s *Site) deleteAccount(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, form pages.Form) error {
	if form.Value("confirm") == "" {
		return fault.InvalidField("confirm", "must be ticked")
	}

	actor, err := s.renderer.Confirm(ctx, c, viewer)
	if err != nil {
		return err
	}

	return s.services.Identity.DeleteAccount(ctx, actor)
}

// myExport sends the profile or the applications of the viewer as a CSV file.
func (s *Site) myExport(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	var table web.CSV
	switch c.Params("kind") {
	case "profile":
		profile, err := s.services.Seekers.ExportProfile(ctx, viewer.Actor())
		if err != nil {
			return err
		}

		table = web.CSV(profile)
	case "applications":
		applications, err := s.services.Hiring.ExportOwnTable(ctx, viewer.Actor())
		if err != nil {
			return err
		}

		table = web.CSV(applications)
	default:
		return web.ErrNoRoute
	}

	return sendFile(c, web.File{Name: table.Name, MediaType: "text/csv; charset=utf-8", Size: table.Size, Body: table.Body})
}
