package portal

import (
	"context"
	"net/http"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
)

// accountRoutes returns the routes with which jobseekers delete their accounts, and with which employers read and change
// their profiles, their settings and, as admins, their organization.
func accountRoutes(s *identity.Service) []web.Route {
	const seeker, employer = "Profile", "Employer account"

	return []web.Route{
		{
			Method:   http.MethodDelete,
			Path:     "/api/jobseekers/profile",
			Auth:     web.Required,
			Audience: web.Seeker,
			Errors:   []int{403, 429},
			Tag:      seeker,
			Summary:  "Erase the account and its data. To keep a copy, export it before with GET /api/jobseekers/export/profile and …/applications" + needsConfirmation,
			Op:       performConfirmed(s, s.DeleteAccount, "Account deleted successfully"),
		},

		{
			Method:   http.MethodGet,
			Path:     "/api/employers/profile",
			Auth:     web.Required,
			Audience: web.EmployerSide,
			Tag:      employer,
			Summary:  "Get the profile of the caller and of the caller's organization",
			Op:       getOwn(s.MyEmployerAccount, viewEmployerProfile),
		},
		{
			Method:   http.MethodPut,
			Path:     "/api/employers/profile",
			Auth:     web.Required,
			Audience: web.EmployerSide,
			Limit:    web.PerQuarterHour(10),
			Errors:   []int{409},
			Tag:      employer,
			Summary:  "Change the caller's own profile and, as an admin, the organization's name, industry and size. A new email address" + confirmationNeeded,
			Op: confirmedOp(s,
				func(ctx context.Context, actor auth.Actor, in EmployerProfileInput) (web.Reply[employerProfileView], error) {
					a, err := s.UpdateEmployer(ctx, actor, identity.EmployerInput{
						Profile:     in.Profile,
						CompanyName: in.CompanyName,
						Industry:    in.Industry,
						CompanySize: in.CompanySize,
					})

					return web.OK(viewEmployerProfile(a), "Profile updated successfully"), err
				}),
		},
		{
			Method:   http.MethodDelete,
			Path:     "/api/employers/profile",
			Auth:     web.Required,
			Audience: web.EmployerSide,
			Limit:    web.PerQuarterHour(10),
			Tag:      employer,
			Summary:  "Delete the employer's account. A jobseeker who joined an organization leaves it and keeps the account" + needsConfirmation,
			Op:       performConfirmed(s, s.DeleteEmployerAccount, "Account deleted successfully"),
		},

		{
			Method:   http.MethodGet,
			Path:     "/api/employers/settings",
			Auth:     web.Required,
			Audience: web.EmployerSide,
			Tag:      employer,
			Summary:  "Get the caller's settings",
			Op:       getOwn(s.MyEmployerAccount, viewEmployerSettings),
		},
		{
			Method:   http.MethodPut,
			Path:     "/api/employers/settings",
			Auth:     web.Required,
			Audience: web.EmployerSide,
			Limit:    web.PerQuarterHour(10),
			Tag:      employer,
			Summary:  "Change the caller's notifications or, as an admin, the organization's name and industry",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in EmployerSettingsInput) (web.Reply[employerSettingsView], error) {
					// The intent update-profile changes the organization, despite its name.
					change := identity.EmployerInput{CompanyName: in.CompanyName, Industry: in.Industry}
					if in.Intent == "update-notifications" {
						if in.EmailAlerts == nil {
							return web.Reply[employerSettingsView]{}, fault.InvalidField("emailAlerts", "is required")
						}

						change = identity.EmployerInput{EmailAlerts: in.EmailAlerts}
					}

					a, err := s.UpdateEmployer(ctx, c.Actor, change)

					return web.OK(viewEmployerSettings(a), "Settings updated successfully"), err
				}),
		},
		{
			Method:   http.MethodDelete,
			Path:     "/api/employers/settings",
			Auth:     web.Required,
			Audience: web.EmployerSide,
			Limit:    web.PerQuarterHour(10),
			Tag:      employer,
			Summary:  "Reset the caller's settings to the defaults",
			Op: web.Op(
				func(ctx context.Context, c web.Call, _ web.Nothing) (web.Reply[resetSettingsView], error) {
					a, err := s.ResetEmployerSettings(ctx, c.Actor)
					v := viewEmployerSettings(a)

					settings := settingsView{Notifications: v.Preferences.Notifications, Preferences: v.Preferences, Contact: v.Contact}

					return web.OK(resetSettingsView{Settings: settings}, "Settings reset to defaults"), err
				}),
		},

		{
			Method:   http.MethodGet,
			Path:     "/api/employers/organization",
			Auth:     web.Required,
			Audience: web.Employer,
			Tag:      employer,
			Summary:  "Get the caller's organization",
			Op:       getOwn(s.MyOrganization, viewOrganization),
		},
		{
			Method:     http.MethodPut,
			Path:       "/api/employers/organization",
			Auth:       web.Required,
			Audience:   web.Employer,
			Permission: auth.Manage,
			Errors:     []int{429},
			Tag:        employer,
			Summary:    "Change the organization. Listings show a new name within seconds",
			Op:         answerWith(s.UpdateOrganization, viewOrganization, "Organization updated successfully"),
		},
	}
}

// EmployerProfileInput is the input of the operation that changes an employer's profile. There is only one intent. A new
// e-mail address needs the Confirmation.
type EmployerProfileInput struct {
	Intent      string                         `json:"intent" validate:"required,oneof=update-profile"`
	Profile     *identity.EmployerProfileInput `json:"profile"`
	CompanyName *string                        `json:"companyName" validate:"omitempty,notblank,max=200"`
	Industry    *string                        `json:"industry" validate:"omitempty,max=200"`
	CompanySize *string                        `json:"companySize" validate:"omitempty,max=200"`
	Confirmation
}

// EmployerSettingsInput is the input of the operation that changes the settings of an employer. Intent selects what the
// operation does. The tag intents of a field names the intent that uses the field.
type EmployerSettingsInput struct {
	Intent string `json:"intent" validate:"required,oneof=update-profile update-notifications"`

	CompanyName *string `json:"companyName" validate:"omitempty,notblank,max=200" intents:"update-profile"`
	Industry    *string `json:"industry" validate:"omitempty,max=200" intents:"update-profile"`

	EmailAlerts *bool `json:"emailAlerts" intents:"update-notifications"`
}

// employerProfileView is the profile of an employer, with the organization of which the employer is a member.
type employerProfileView struct {
	ID    string `json:"id"`
	Email string `json:"email"`
	// PendingEmail is a new address that the user has not confirmed yet.
	PendingEmail string `json:"pendingEmail,omitempty"`
	Profile      struct {
		Name     string `json:"name"`
		JobTitle string `json:"jobTitle"`
	} `json:"profile"`
	Company struct {
		Name     string `json:"name" sample:"St Brigid’s Hospital"`
		Industry string `json:"industry"`
		Size     string `json:"size"`
	} `json:"company"`
}

func viewEmployerProfile(a identity.EmployerAccount) employerProfileView {
	v := employerProfileView{ID: a.ID, Email: a.Email, PendingEmail: a.PendingEmail}
	v.Profile.Name = a.Name
	v.Profile.JobTitle = a.Settings.JobTitle
	v.Company.Name = a.Organization.Name
	v.Company.Industry = a.Organization.Industry
	v.Company.Size = a.Organization.Size

	return v
}

// employerSettingsView has the settings of an employer.
type employerSettingsView struct {
	ID      string `json:"id"`
	Email   string `json:"email"`
	Company struct {
		Name string `json:"name" sample:"St Brigid’s Hospital"`
	} `json:"company"`
	Contact     contactView         `json:"contact"`
	Preferences employerPreferences `json:"preferences"`
}

type contactView struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	Phone string `json:"phone"`
}

type employerPreferences struct {
	Notifications employerNotifications `json:"notifications"`
}

// employerNotifications says which notifications an employer gets.
type employerNotifications struct {
	EmailAlerts bool `json:"emailAlerts"`
}

func viewEmployerSettings(a identity.EmployerAccount) employerSettingsView {
	v := employerSettingsView{ID: a.ID, Email: a.Email, Contact: contactView(a.Contact())}
	v.Company.Name = a.Organization.Name
	v.Preferences.Notifications.EmailAlerts = a.Settings.EmailAlerts

	return v
}

// resetSettingsView has the settings after a reset. Its members differ from those of employerSettingsView,
// which clients of the two operations expect.
type resetSettingsView struct {
	Settings settingsView `json:"settings"`
}

// settingsView is the content of resetSettingsView.
type settingsView struct {
	Notifications employerNotifications `json:"notifications"`
	Preferences   employerPreferences   `json:"preferences"`
	Contact       contactView           `json:"contact"`
}

// organizationView is the organization of the caller.
type organizationView struct {
	OrganizationID string      `json:"organizationId"`
	Company        companyView `json:"company"`
	// RequireSecondFactor is true if members need a second factor.
	RequireSecondFactor bool `json:"requireSecondFactor"`
}

// companyView describes an organization.
type companyView struct {
	Name        string `json:"name" sample:"St Brigid’s Hospital"`
	Description string `json:"description"`
	Website     string `json:"website"`
	Logo        string `json:"logo"`
	Industry    string `json:"industry"`
	Size        string `json:"size"`
}

func viewOrganization(o identity.Organization) organizationView {
	return organizationView{
		OrganizationID:      o.ID,
		RequireSecondFactor: o.RequireSecondFactor,
		Company: companyView{
			Name:        o.Name,
			Description: o.Description,
			Website:     o.Website,
			Logo:        o.Logo,
			Industry:    o.Industry,
			Size:        o.Size,
		},
	}
}
