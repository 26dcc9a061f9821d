// Package portal defines the portal API, the API below /api/ for the clients of jobseekers, employers, moderators and
// guests. Each file has the routes of one subject, the inputs of their operations, and the views: the types that
// represent values of the services in responses.
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

// API returns the portal API with all of its routes. To generate the documentation, the services may be nil.
func API(s adapters.Services) web.API {
	// These two services consist of embedded parts. A method value such as s.Hiring.Analytics needs a part, which a nil
	// pointer does not have.
	s.Hiring = cmp.Or(s.Hiring, &hiring.Service{})
	s.Seekers = cmp.Or(s.Seekers, &jobseeker.Service{})

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

// codesInBody are the codes of errors that the body contains. The client can resolve these errors by sending more, and
// the code says what.
var codesInBody = map[string]bool{
	"reauthentication_required":     true,
	"second_factor_required":        true,
	"second_factor_invalid":         true,
	auth.ErrEnrollmentRequired.Code: true,
}

// Fault returns the status and the body of the response to an error.
func Fault(f *fault.Error) (status int, body any) {
	if lacksIntent(f) {
		f = errIntentRequired
	}

	failure := Failure{Error: f.Message, Errors: f.Fields}
	if codesInBody[f.Code] {
		failure.Code = f.Code
	}

	if len(f.Fields) > 0 {
		failure.Details = &f.Fields[0]
	}

	return cmp.Or(statusByCode[f.Code], web.StatusOf(f)), failure
}

// valuesByType are the possible values of types, for the documentation. Examples have the first value.
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

// valueNames returns the values as texts.
func valueNames[T ~string](values []T) []string {
	return web.Each(values, func(value T) string { return string(value) })
}

// unique returns the values sorted, each once. It changes the list.
func unique(values []string) []string {
	slices.Sort(values)
	return slices.Compact(values)
}
