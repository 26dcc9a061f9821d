// Package portal defines the API below /api/ for jobseekers, employers and guests.
package portal

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/modules/listings"
)

// Version is the version of the API.
const Version = "1.3.0"

// API returns the portal API with all of its routes. The services are not needed to
// describe them.
func API(s adapters.Services) web.API {
	// Methods of the parts of a service cannot be named through a nil pointer to it.
	s.Hiring, s.Seekers = cmp.Or(s.Hiring, &hiring.Service{}), cmp.Or(s.Seekers, &jobseeker.Service{})

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
			reportRoutes(s.Listings),
			moderationRoutes(s.Listings),
			organizationModerationRoutes(s.Identity),
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
		Values:    valuesByType,
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

// codesInBody are the faults whose code is part of the body, since the client must know what to
// send in addition.
var codesInBody = map[string]bool{
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

	body := Failure{Error: f.Message, Errors: f.Fields}
	if codesInBody[f.Code] {
		body.Code = f.Code
	}

	if len(f.Fields) > 0 {
		body.Details = &f.Fields[0]
	}

	return cmp.Or(statusByCode[f.Code], web.StatusOf(f)), body
}

// valuesByType are the possible values of types, the most common first.
var valuesByType = map[reflect.Type][]string{
	reflect.TypeFor[hiring.Status]():          valueNames(hiring.Statuses),
	reflect.TypeFor[shownStatus]():            unique(slices.Concat(valueNames(hiring.Statuses), valueNames(hiring.TrackerStatuses))),
	reflect.TypeFor[hiring.ActorKind]():       valueNames([]hiring.ActorKind{hiring.ByApplicant, hiring.ByEmployer}),
	reflect.TypeFor[hiring.InterviewStatus](): valueNames(hiring.InterviewStatuses),
	reflect.TypeFor[hiring.Outcome]():         valueNames([]hiring.Outcome{hiring.Undecided, hiring.Pass, hiring.Fail}),
	reflect.TypeFor[hiring.ExportState](): valueNames(
		[]hiring.ExportState{hiring.ExportDone, hiring.ExportQueued, hiring.ExportRunning, hiring.ExportFailed},
	),
	reflect.TypeFor[listings.Status](): valueNames(
		[]listings.Status{listings.Active, listings.Inactive, listings.Closed, listings.Draft, listings.Archived},
	),
	reflect.TypeFor[listings.CaseState](): valueNames(
		[]listings.CaseState{listings.CaseOpen, listings.CaseKept, listings.CaseTakenDown},
	),
	reflect.TypeFor[listings.ReportReason](): valueNames(listings.ReportReasons()),
	reflect.TypeFor[jobseeker.DocumentType](): valueNames(
		[]jobseeker.DocumentType{jobseeker.CV, jobseeker.CoverLetter, jobseeker.Certification, jobseeker.OtherDocument},
	),
	reflect.TypeFor[jobseeker.NotificationType](): valueNames(
		[]jobseeker.NotificationType{
			jobseeker.AboutApplication,
			jobseeker.AboutInterview,
			jobseeker.AboutMessage,
			jobseeker.AboutJobs,
			jobseeker.AboutDeadline,
			jobseeker.AboutBilling,
		},
	),
	reflect.TypeFor[billing.Status]():        valueNames([]billing.Status{billing.Active, billing.PastDue}),
	reflect.TypeFor[billing.ActionType]():    valueNames([]billing.ActionType{billing.ConfirmPayment, billing.CollectMethod}),
	reflect.TypeFor[billing.ChargeStatus]():  valueNames([]billing.ChargeStatus{billing.Paid, billing.Pending, billing.Declined}),
	reflect.TypeFor[audit.Action]():          valueNames(audit.Actions()),
	reflect.TypeFor[identity.OrgRole]():      valueNames([]identity.OrgRole{identity.Recruiter, identity.Admin, identity.Viewer}),
	reflect.TypeFor[integrations.Scope]():    valueNames(integrations.Scopes()),
	reflect.TypeFor[identity.MemberStatus](): valueNames([]identity.MemberStatus{identity.MemberActive, identity.MemberInvited}),
}

func valueNames[T ~string](all []T) []string {
	return web.Each(all, func(v T) string { return string(v) })
}

// unique returns the values sorted, each once.
func unique(all []string) []string {
	slices.Sort(all)
	return slices.Compact(all)
}
