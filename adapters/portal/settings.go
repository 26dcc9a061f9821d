package portal

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/jobseeker"
)

// settingsRoutes returns the routes of settings, which serve jobseekers and employers. A jobseeker gets the settings
// of a jobseeker, even as a member of an organization. All other users get the settings of an employer. The member
// intent of the body selects what an operation changes.
func settingsRoutes(i *identity.Service, seekers *jobseeker.Service) []web.Route {
	const tag = "Settings"

	return []web.Route{
		{
			Method:  http.MethodGet,
			Path:    "/api/jobseekers/settings",
			Auth:    web.Required,
			Errors:  []int{403},
			Tag:     tag,
			Summary: "Get the caller's settings, as a jobseeker or an employer",
			Op: web.Op(
				func(ctx context.Context, c web.Call, _ web.Nothing) (web.Reply[settingsReply], error) {
					if c.Actor.Seeker {
						s, err := seekers.MySettings(ctx, c.Actor)
						return web.OK(settingsReply{settingsOf{viewSeekerSettings(s)}}, ""), err
					}

					a, err := i.MyEmployerAccount(ctx, c.Actor)

					return web.OK(settingsReply{settingsOf{viewEmployerSettings(a)}}, ""), err
				}),
		},
		{
			Method:  http.MethodPut,
			Path:    "/api/jobseekers/settings",
			Auth:    web.Required,
			Errors:  []int{403, 409, 429},
			Tag:     tag,
			Summary: "Change the caller's settings; update-privacy and update-job-preferences are for jobseekers, update-contact and update-employer-profile for employers. A new email address" + confirmationNeeded,
			Op: web.Op(
				func(ctx context.Context, c web.Call, in SettingsInput) (web.Reply[changedSettingsView], error) {
					if err := in.check(c.Actor); err != nil {
						return web.Reply[changedSettingsView]{}, err
					}

					actor, err := in.confirm(ctx, i, c)
					if err != nil {
						return web.Reply[changedSettingsView]{}, err
					}

					if in.appliesToEmployer(actor) {
						_, err = i.UpdateEmployer(ctx, actor, in.employerChange())
					} else {
						err = in.applyAsSeeker(ctx, seekers, actor)
					}

					return web.OK(changedSettingsView{in.Intent}, "Settings updated successfully"), err
				}),
		},
	}
}

// The intents of jobseekers and of employers. Two of them are intents of both.
var (
	seekerIntents   = []string{"update-profile", "update-notifications", "update-privacy", "update-job-preferences"}
	employerIntents = []string{"update-profile", "update-notifications", "update-contact", "update-employer-profile"}
)

// SettingsInput is the input of the operation that changes the settings of a jobseeker or an employer. Intent selects
// what the operation does. The tag intents of a field names the intents that use the field.
type SettingsInput struct {
	Intent string `json:"intent" validate:"required,oneof=update-profile update-notifications update-privacy update-job-preferences update-contact update-employer-profile"`

	Profile *SettingsProfile `json:"profile" intents:"update-profile update-employer-profile"`

	Email *bool `json:"email" intents:"update-notifications"`
	// EmailAlerts is another name of Email for employers.
	EmailAlerts *bool `json:"emailAlerts" intents:"update-notifications"`
	// JobAlerts is for jobseekers. A request of an employer may contain it, but it has no effect.
	JobAlerts *bool `json:"jobAlerts" intents:"update-notifications"`

	ShowProfile *bool `json:"showProfile" intents:"update-privacy"`

	PreferredLocation *string   `json:"preferredLocation" validate:"omitempty,max=200" intents:"update-job-preferences"`
	EmploymentTypes   *[]string `json:"employmentTypes" validate:"omitempty,max=8" intents:"update-job-preferences"`

	Contact *identity.ContactInput `json:"contact" intents:"update-contact"`

	// The name, the industry and the size of the organization are for admins.
	CompanyName *string `json:"companyName" validate:"omitempty,notblank,max=200" intents:"update-profile update-employer-profile"`
	Industry    *string `json:"industry" validate:"omitempty,max=200" intents:"update-profile update-employer-profile"`
	CompanySize *string `json:"companySize" validate:"omitempty,max=200" intents:"update-profile update-employer-profile"`
	Confirmation
}

// SettingsProfile is the profile of a jobseeker or an employer.
type SettingsProfile struct {
	jobseeker.ProfileInput
	JobTitle *string `json:"jobTitle" validate:"omitempty,max=200"`
}

// appliesToEmployer reports whether the intent changes the settings of an employer, not of a jobseeker. For a jobseeker
// in an organization, who is both, an intent of both changes the settings of the jobseeker.
func (in SettingsInput) appliesToEmployer(a auth.Actor) bool {
	return !a.Seeker || !slices.Contains(seekerIntents, in.Intent)
}

// check returns an error for an intent that is not available to the caller, and for an intent of an employer without the
// fields that it needs.
func (in SettingsInput) check(a auth.Actor) error {
	var allowed []string
	if a.Seeker {
		allowed = append(allowed, seekerIntents...)
	}

	// A jobseeker in an organization also has the intents of employers.
	if worksForOrganization := a.Role != auth.Jobseeker; worksForOrganization {
		allowed = append(allowed, employerIntents...)
	}

	if !slices.Contains(allowed, in.Intent) {
		slices.Sort(allowed)
		return fault.InvalidField("intent", "must be one of: "+strings.Join(slices.Compact(allowed), ", "))
	}

	if in.appliesToEmployer(a) {
		return in.checkEmployerFields()
	}

	return nil
}

// checkEmployerFields returns an error for an intent of an employer without the fields that it needs.
func (in SettingsInput) checkEmployerFields() error {
	hasNotifications := in.Email != nil || in.EmailAlerts != nil || in.JobAlerts != nil
	switch {
	case in.Intent == "update-notifications" && !hasNotifications:
		return fault.InvalidField("email", "is required")
	case in.Intent == "update-contact" && in.Contact == nil:
		return fault.InvalidField("contact", "is required")
	}

	return nil
}

// applyAsSeeker executes an intent of a jobseeker.
func (in SettingsInput) applyAsSeeker(ctx context.Context, seekers *jobseeker.Service, actor auth.Actor) error {
	var err error
	switch in.Intent {
	case "update-profile":
		if in.Profile == nil {
			return fault.InvalidField("profile", "is required")
		}

		_, err = seekers.UpdateProfile(ctx, actor, in.Profile.ProfileInput)
	case "update-notifications":
		err = seekers.UpdateNotifications(ctx, actor, jobseeker.NotifyInput{Email: in.Email, JobAlerts: in.JobAlerts})
	case "update-privacy":
		err = seekers.UpdatePrivacy(ctx, actor, in.ShowProfile)
	case "update-job-preferences":
		change := jobseeker.ProfileInput{PreferredLocation: in.PreferredLocation, EmploymentTypes: in.EmploymentTypes}
		_, err = seekers.UpdateJobPreferences(ctx, actor, change)
	}

	return err
}

// employerChange returns the change of an employer's settings that the intent stands for. Fields that stay nil are not
// changed.
func (in SettingsInput) employerChange() (change identity.EmployerInput) {
	switch in.Intent {
	case "update-profile", "update-employer-profile":
		if p := in.Profile; p != nil {
			change.Profile = &identity.EmployerProfileInput{Name: p.Name, JobTitle: p.JobTitle, Email: p.Email}
		}

		change.CompanyName = in.CompanyName
		change.Industry = in.Industry
		change.CompanySize = in.CompanySize
	case "update-notifications":
		change.EmailAlerts = cmp.Or(in.EmailAlerts, in.Email) // nil if neither was sent
	case "update-contact":
		change.Contact = in.Contact
	}

	return change
}

type changedSettingsView struct {
	Intent string `json:"intent"`
}

type settingsReply struct {
	Settings settingsOf `json:"settings"`
}

// settingsOf has a seekerSettingsView or an employerSettingsView.
type settingsOf struct{ view any }

// MarshalJSON returns the JSON of the view.
func (s settingsOf) MarshalJSON() ([]byte, error) { return json.Marshal(s.view) }

// JSONSchemaOneOf returns the possible types, for the documentation.
func (settingsOf) JSONSchemaOneOf() []any { return []any{seekerSettingsView{}, employerSettingsView{}} }

type seekerSettingsView struct {
	ID      int64  `json:"id"`
	UUID    string `json:"uuid"`
	Email   string `json:"email"`
	Profile struct {
		Name        string `json:"name"`
		Bio         string `json:"bio"`
		ShowProfile bool   `json:"showProfile"`
	} `json:"profile"`
	Preferences struct {
		Notifications struct {
			Email     bool `json:"email"`
			JobAlerts bool `json:"jobAlerts"`
		} `json:"notifications"`
		JobPreferences struct {
			PreferredLocation string   `json:"preferredLocation"`
			EmploymentTypes   []string `json:"employmentTypes"`
		} `json:"jobPreferences"`
	} `json:"preferences"`
	Bookmarks struct {
		// SavedJobs are the latest ones; GET /api/jobseekers/bookmarks lists all.
		SavedJobs     []savedJobView    `json:"savedJobs"`
		SavedSearches []savedSearchView `json:"savedSearches"`
	} `json:"bookmarks"`
}

func viewSeekerSettings(s jobseeker.Settings) (v seekerSettingsView) {
	v.ID = s.Number
	v.UUID = s.UserID
	v.Email = s.Email
	v.Profile.Name = s.Name
	v.Profile.Bio = s.Bio
	v.Profile.ShowProfile = s.ShowProfile
	v.Preferences.Notifications.Email = s.EmailNotifications
	v.Preferences.Notifications.JobAlerts = s.JobAlerts
	v.Preferences.JobPreferences.PreferredLocation = s.PreferredLocation
	v.Preferences.JobPreferences.EmploymentTypes = append([]string{}, s.EmploymentTypes...)
	v.Bookmarks.SavedJobs = web.Each(s.Saved, viewSavedJob)
	v.Bookmarks.SavedSearches = web.Each(s.Searches, viewSearch)

	return v
}
