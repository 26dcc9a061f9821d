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
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/jobseeker"
)

var (
	myProfilePage  = pages.Parse(files, "html/my-profile.html", "html/account-parts.html")
	mySettingsPage = pages.Parse(files, "html/my-settings.html", "html/account-parts.html")
)

// patternValues are the values of the preference.
var patternValues = []string{"permanent", "temporary", "contract", "full-time", "part-time", "bank", "per-diem", "flexible"}

// myProfileView is the form of the profile.
type myProfileView struct {
	jobseeker.Account
	Form  *pages.Form
	Types []typeChoice
}

// typeChoice is a check box.
type typeChoice struct {
	pages.Choice
	IsSelected bool
}

// Text returns a number of the profile, empty for none.
func (myProfileView) Text(n *float64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatFloat(*n, 'f', -1, 64)
}

// Radius returns the distance of the preferences, empty for none.
func (v myProfileView) Radius() string {
	if v.LocationRadius == 0 {
		return ""
	}
	return strconv.Itoa(v.LocationRadius)
}

// IsShown reports whether employers see the profile, as stored or as sent.
func (v myProfileView) IsShown() bool {
	if v.Form.Values != nil {
		return v.Form.Values.Has("showProfile")
	}
	return v.ShowProfile
}

func (s *Site) profileView(ctx context.Context, who *pages.Viewer, form *pages.Form) (v myProfileView, err error) {
	v.Form = form
	if v.Account, err = s.services.Seekers.MyProfile(ctx, who.Actor()); err != nil {
		return v, err
	}
	selected := v.EmploymentTypes
	if form.Values != nil {
		selected = form.Values["employmentTypes"]
	}
	for _, t := range patternValues {
		v.Types = append(v.Types, typeChoice{pages.Choice{Value: t, Text: valueTexts[t]}, slices.Contains(selected, t)})
	}
	return v, nil
}

func (s *Site) myProfile(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	v, err := s.profileView(ctx, who, &pages.Form{})
	if err != nil {
		return err
	}
	return s.renderer.Render(c, fiber.StatusOK, myProfilePage, who, v)
}

// amountOf returns the number of a field, 0 for an empty one.
func amountOf(form pages.Form, name string) (*float64, error) {
	text := form.Value(name)
	if text == "" {
		return new(0.0), nil
	}
	n := number(text)
	if n == nil {
		return nil, fault.InvalidField(name, "must be a number, such as 36000")
	}
	return n, nil
}

func profileInput(form pages.Form) (in jobseeker.ProfileInput, err error) {
	text := func(name string) *string { return new(form.Value(name)) }
	types := append([]string{}, form.Values["employmentTypes"]...)
	in = jobseeker.ProfileInput{
		Name: text("name"), Phone: text("phone"), Location: text("location"), Specialty: text("specialty"), CurrentRole: text("currentRole"),
		Experience: new(jobseeker.Words(form.Value("experience"))), Bio: new(strings.ReplaceAll(form.Value("bio"), "\r\n", "\n")),
		PreferredLocation: text("preferredLocation"), EmploymentTypes: &types, ShowProfile: new(form.Values.Has("showProfile")),
	}
	for name, field := range map[string]**float64{"locationRadius": &in.LocationRadius, "salaryMin": &in.SalaryMin, "salaryMax": &in.SalaryMax} {
		if *field, err = amountOf(form, name); err != nil {
			return in, err
		}
	}
	return in, nil
}

func (s *Site) saveProfile(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	form := pages.FormOf(c)
	in, err := profileInput(form)
	if err == nil {
		err = s.renderer.TakeLimit(ctx, c, fiber.MethodPut+" /api/jobseekers/profile")
	}
	if err == nil {
		_, err = s.services.Seekers.UpdateProfile(ctx, who.Actor(), in)
	}
	if err != nil {
		return s.problemPage(c, myProfilePage, who, &form, unprefixed(err, "profile."), func() (any, error) { return s.profileView(ctx, who, &form) })
	}
	return redirect(c, "/account/profile", "profile-saved")
}

// mySettingsView is the page of settings.
type mySettingsView struct {
	jobseeker.Account
	Form      *pages.Form
	Confirmed bool
	Sessions  []identity.Session
	Current   string // the id of this session
}

const sessionsShown = 50

func (s *Site) settingsView(ctx context.Context, who *pages.Viewer, form *pages.Form) (v mySettingsView, err error) {
	v.Form, v.Confirmed, v.Current = form, who.Confirmed(), who.Actor().SessionID
	if v.Account, err = s.services.Seekers.MyProfile(ctx, who.Actor()); err != nil {
		return v, err
	}
	sessions, err := s.services.Identity.MySessions(ctx, who.Actor(), page.Request{Number: 1, Size: sessionsShown})
	v.Sessions = sessions.Items
	return v, err
}

func (s *Site) mySettings(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	v, err := s.settingsView(ctx, who, &pages.Form{})
	if err != nil {
		return err
	}
	return s.renderer.Render(c, fiber.StatusOK, mySettingsPage, who, v)
}

// saveSettings handles the forms of the page, each with a path of its own.
func (s *Site) saveSettings(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	form, by := pages.FormOf(c), who.Actor()
	done, to := "", "/account/settings"
	var err error
	switch c.Params("section") {
	case "preferences":
		done = "preferences-saved"
		err = s.services.Seekers.Notify(ctx, by, jobseeker.NotifyInput{Email: new(form.Values.Has("email")), JobAlerts: new(form.Values.Has("jobAlerts"))})
	case "email":
		done = "email-requested"
		if by, err = s.renderer.Confirm(ctx, c, who); err == nil {
			err = s.services.Identity.ChangeEmail(ctx, by, form.Value("email"))
		}
	case "password":
		done = "password-changed"
		in := identity.ChangePasswordInput{CurrentPassword: form.Values.Get("currentPassword"), NewPassword: form.Values.Get("newPassword")}
		err = s.services.Identity.ChangePassword(ctx, by, in, s.renderer.Client(c))
	case "session":
		done = "session-ended"
		err = s.services.Identity.EndSession(ctx, by, form.Value("session"))
	case "sessions":
		done = "sessions-ended"
		err = s.services.Identity.EndOtherSessions(ctx, by)
	case "delete":
		to = "/"
		if form.Value("confirm") == "" {
			err = fault.InvalidField("confirm", "must be ticked")
		} else if by, err = s.renderer.Confirm(ctx, c, who); err == nil {
			err = s.services.Identity.DeleteAccount(ctx, by)
		}
	default:
		return web.ErrNoRoute
	}
	if err != nil {
		return s.problemPage(c, mySettingsPage, who, &form, err, func() (any, error) { return s.settingsView(ctx, who, &form) })
	}
	return redirect(c, to, done)
}

// myExport sends what is stored about the viewer as a table.
func (s *Site) myExport(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	var table web.CSV
	switch c.Params("kind") {
	case "profile":
		t, err := s.services.Seekers.ExportProfile(ctx, who.Actor())
		if err != nil {
			return err
		}
		table = web.CSV(t)
	case "applications":
		d, err := s.services.Hiring.ExportOwnTable(ctx, who.Actor())
		if err != nil {
			return err
		}
		table = web.CSV(d)
	default:
		return web.ErrNoRoute
	}
	return sendFile(c, web.File{Name: table.Name, MediaType: "text/csv; charset=utf-8", Size: table.Size, Body: table.Body})
}
