package portal

import (
	"context"
	"net/http"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/jobseeker"
)

func profileRoutes(i *identity.Service, s *jobseeker.Service) []web.Route {
	const tag = "Profile"
	return []web.Route{
		{Method: http.MethodGet, Path: "/api/jobseekers/profile", Auth: web.Required, Audience: web.Seeker, Tag: tag, Summary: "Get the caller's profile",
			Op: getOwn(s.MyProfile, viewProfile)},
		{Method: http.MethodPut, Path: "/api/jobseekers/profile", Auth: web.Required, Audience: web.Seeker, Limit: web.PerQuarterHour(10), Errors: []int{403, 409, 429}, Tag: tag, Summary: "Change the profile; absent members stay unchanged. A new email address" + confirmationNeeded, Op: confirmedOp(i,
			func(ctx context.Context, by auth.Actor, in ProfileIntentInput) (web.Reply[changedProfileView], error) {
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
	return profileView{
		ID: a.UserID, Email: a.Email, PendingEmail: optional(a.PendingEmail), Name: a.Name, FirstName: a.First(), LastName: a.Last(), Bio: a.Bio, Phone: a.Phone, Location: a.Location,
		Specialty: a.Specialty, CurrentRole: a.CurrentRole, Experience: a.Experience,
		PreferredLocation: a.PreferredLocation, LocationRadius: optional(a.LocationRadius), EmploymentTypes: append([]string{}, a.EmploymentTypes...), SalaryMin: a.SalaryMin, SalaryMax: a.SalaryMax,
		ShowProfile: a.ShowProfile, Preferences: profilePreferencesView{JobAlerts: a.JobAlerts, EmailNotifications: a.EmailNotifications},
	}
}
