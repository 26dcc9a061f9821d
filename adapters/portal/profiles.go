package portal

import (
	"context"
	"net/http"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/jobseeker"
)

func profileRoutes(i *identity.Service, s *jobseeker.Service) []web.Route {
	const tag = "Profile"
	return []web.Route{
		{Method: http.MethodGet, Path: "/api/jobseekers/profile", Auth: web.Required, Audience: web.Seeker, Tag: tag, Summary: "What the caller says of themselves and prefers", Op: web.Op(
			func(ctx context.Context, c web.Call, _ web.Nothing) (web.Reply[profileView], error) {
				a, err := s.MyProfile(ctx, c.Actor)
				return web.OK(viewProfile(a), ""), err
			})},
		{Method: http.MethodPut, Path: "/api/jobseekers/profile", Auth: web.Required, Audience: web.Seeker, Limit: web.PerQuarterHour(10), Errors: []int{403, 409, 429}, Tag: tag, Summary: "Change the profile; what is left out stays. Another e-mail address" + confirmationNeeded, Op: web.Op(
			func(ctx context.Context, c web.Call, in ProfileIntentInput) (web.Reply[changedProfileView], error) {
				if in.Profile == nil {
					return web.Reply[changedProfileView]{}, fault.InvalidField("profile", "is required")
				}
				by, err := in.confirm(ctx, i, c)
				if err != nil {
					return web.Reply[changedProfileView]{}, err
				}
				a, err := s.UpdateProfile(ctx, by, *in.Profile)
				return web.OK(changedProfileView{Intent: in.Intent, Profile: viewProfile(a)}, "Profile updated successfully"), err
			})},
	}
}

// ProfileIntentInput changes a profile.
type ProfileIntentInput struct {
	Intent  string                  `json:"intent" validate:"required,oneof=update-profile"`
	Profile *jobseeker.ProfileInput `json:"profile" validate:"required"`
	Confirmation
}

// Refuse rejects an input without an intent.
func (in ProfileIntentInput) Refuse(wrong func(path string) bool) error {
	return requireIntent(in.Intent, wrong)
}

type profileView struct {
	ID    string `json:"id"`
	Email string `json:"email"`
	// PendingEmail is null if no address has to be confirmed.
	PendingEmail *string `json:"pendingEmail"`

	Name      string `json:"name"`
	FirstName string `json:"firstName"`
	LastName  string `json:"lastName"`
	Bio       string `json:"bio"`
	Phone     string `json:"phone"`
	Location  string `json:"location"`

	Specialty   string `json:"specialty"`
	CurrentRole string `json:"currentRole"`
	Experience  string `json:"experience"`

	PreferredLocation string   `json:"preferredLocation"`
	LocationRadius    *int     `json:"locationRadius"` // miles
	EmploymentTypes   []string `json:"employmentTypes"`
	SalaryMin         *float64 `json:"salaryMin"`
	SalaryMax         *float64 `json:"salaryMax"`

	ShowProfile bool                   `json:"showProfile"`
	Preferences profilePreferencesView `json:"preferences"`
}

type profilePreferencesView struct {
	JobAlerts          bool `json:"jobAlerts"`
	EmailNotifications bool `json:"emailNotifications"`
}

type changedProfileView struct {
	Intent  string      `json:"intent"`
	Profile profileView `json:"profile"`
}

func viewProfile(a jobseeker.Account) profileView {
	v := profileView{
		ID: a.UserID, Email: a.Email, Name: a.Name, FirstName: a.First(), LastName: a.Last(), Bio: a.Bio, Phone: a.Phone, Location: a.Location,
		Specialty: a.Specialty, CurrentRole: a.CurrentRole, Experience: a.Experience,
		PreferredLocation: a.PreferredLocation, EmploymentTypes: a.EmploymentTypes, SalaryMin: a.SalaryMin, SalaryMax: a.SalaryMax,
		ShowProfile: a.ShowProfile, Preferences: profilePreferencesView{JobAlerts: a.JobAlerts, EmailNotifications: a.EmailNotifications},
	}
	if v.EmploymentTypes == nil {
		v.EmploymentTypes = []string{}
	}
	if a.PendingEmail != "" {
		v.PendingEmail = &a.PendingEmail
	}
	if a.LocationRadius > 0 {
		v.LocationRadius = &a.LocationRadius
	}
	return v
}
