// Package portal defines the API below /api/ for jobseekers, employers and guests.
package portal

import (
	"slices"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
)

// Version is the version of the API.
const Version = "1.3.0"

// API returns the portal API with all of its routes.
func API(s adapters.Services) web.API {
	return web.API{
		Name:        "portal",
		Prefix:      "/",
		Title:       "locum portal",
		Version:     Version,
		Description: "Jobs in healthcare: employers post, clinicians find them and apply, employers decide.",
		Routes: slices.Concat(
			identityRoutes(s.Identity, s.Seekers),
			sessionRoutes(s.Identity),
			secondFactorRoutes(s.Identity),
			auditRoutes(s.Identity),
			analyticsRoutes(s.Hiring),
			exportRoutes(s.Hiring),
			ownExportRoutes(s.Hiring, s.Seekers),
			accountRoutes(s.Identity),
			settingsRoutes(s.Identity, s.Seekers),
			listingRoutes(s),
			hiringRoutes(s.Hiring),
			interviewRoutes(s.Hiring),
			seekerRoutes(s.Seekers),
			searchRoutes(s.Listings, s.Seekers),
			profileRoutes(s.Identity, s.Seekers),
			bookmarkRoutes(s.Seekers),
			billingRoutes(s.Billing, s.Integrations),
			onboardingRoutes(s.Seekers),
			documentRoutes(s.Seekers),
			dashboardRoutes(s.Seekers),
			developerRoutes(s.Identity, s.Integrations),
			webhookRoutes(s.Identity, s.Integrations),
			consentRoutes(s.Integrations),
			keyRoutes(s.JWKS),
		),
		Fault:     Fault,
		FaultBody: Failure{},
		Values:    values,
	}
}

// Failure is the body of every error.
type Failure struct {
	Success bool   `json:"success"`
	Error   string `json:"error"`
	// Code names an error that the client can resolve by sending more.
	Code string `json:"code,omitempty"`
	// Details is the first invalid field, Errors are all of them.
	Details *fault.Field  `json:"details,omitempty"`
	Errors  []fault.Field `json:"errors,omitempty"`
}

// statusByCode are the conflicts that have status 400 in this API.
var statusByCode = map[string]int{
	"already_applied":    400,
	"already_saved":      400,
	"already_bookmarked": 400,
}

// codes are the faults whose code is part of the body, since the client must know what to
// send in addition.
var codes = map[string]bool{
	"reauthentication_required":     true,
	"second_factor_required":        true,
	"second_factor_invalid":         true,
	auth.ErrEnrollmentRequired.Code: true,
}

// Fault maps a fault to the status and body of the response.
func Fault(f *fault.Error) (int, any) {
	if lacksIntent(f) {
		f = errIntentRequired
	}
	status, special := statusByCode[f.Code]
	if !special {
		status = web.StatusOf(f)
	}
	body := Failure{Error: f.Message, Errors: f.Fields}
	if codes[f.Code] {
		body.Code = f.Code
	}
	if len(f.Fields) > 0 {
		body.Details = &f.Fields[0]
	}
	return status, body
}
