// Package portal is the interface under /api/ for the people of the job board:
// jobseekers, employers and guests.
package portal

import (
	"slices"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
)

// Version is the interface's.
const Version = "1.3.0"

// Surface is the portal with all of its routes.
func Surface(s adapters.Services) web.Surface {
	return web.Surface{
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
	// Details is the first field that is wrong and Errors every one of them.
	Details *fault.Field  `json:"details,omitempty"`
	Errors  []fault.Field `json:"errors,omitempty"`
}

// statusByCode are the conflicts that this interface answers with 400.
var statusByCode = map[string]int{
	"already_applied":    400,
	"already_saved":      400,
	"already_bookmarked": 400,
}

// codes are the faults whose code is part of the body: the status alone does not
// say what the client has to send.
var codes = map[string]bool{
	"reauthentication_required":     true,
	"second_factor_required":        true,
	"second_factor_invalid":         true,
	auth.ErrEnrollmentRequired.Code: true,
}

// Fault is the one table that turns faults into the portal's answers.
func Fault(f *fault.Error) (int, any) {
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
