package portal

import (
	"reflect"
	"slices"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/modules/listings"
)

// values are the possible values of types, the most common first.
var values = map[reflect.Type][]string{
	reflect.TypeFor[hiring.Status]():              texts(hiring.Statuses),
	reflect.TypeFor[shownStatus]():                unique(slices.Concat(texts(hiring.Statuses), texts(hiring.TrackerStatuses))),
	reflect.TypeFor[hiring.ActorKind]():           texts([]hiring.ActorKind{hiring.ByApplicant, hiring.ByEmployer}),
	reflect.TypeFor[hiring.InterviewStatus]():     texts(hiring.InterviewStatuses),
	reflect.TypeFor[hiring.Outcome]():             texts([]hiring.Outcome{hiring.Undecided, hiring.Pass, hiring.Fail}),
	reflect.TypeFor[hiring.ExportState]():         texts([]hiring.ExportState{hiring.ExportDone, hiring.ExportQueued, hiring.ExportRunning, hiring.ExportFailed}),
	reflect.TypeFor[listings.Status]():            texts([]listings.Status{listings.Active, listings.Inactive, listings.Closed, listings.Draft, listings.Archived}),
	reflect.TypeFor[jobseeker.DocumentType]():     texts([]jobseeker.DocumentType{jobseeker.CV, jobseeker.CoverLetter, jobseeker.Certification, jobseeker.OtherDocument}),
	reflect.TypeFor[jobseeker.NotificationType](): texts([]jobseeker.NotificationType{jobseeker.AboutApplication, jobseeker.AboutInterview, jobseeker.AboutMessage, jobseeker.AboutJobs, jobseeker.AboutDeadline, jobseeker.AboutBilling}),
	reflect.TypeFor[billing.Status]():             texts([]billing.Status{billing.Active, billing.PastDue}),
	reflect.TypeFor[billing.ActionType]():         texts([]billing.ActionType{billing.ConfirmPayment, billing.CollectMethod}),
	reflect.TypeFor[billing.ChargeStatus]():       texts([]billing.ChargeStatus{billing.Paid, billing.Pending, billing.Declined}),
	reflect.TypeFor[audit.Action]():               texts(audit.Actions()),
	reflect.TypeFor[identity.OrgRole]():           texts([]identity.OrgRole{identity.Recruiter, identity.Admin, identity.Viewer}),
	reflect.TypeFor[integrations.Scope]():         texts(integrations.Scopes()),
	reflect.TypeFor[identity.MemberStatus]():      texts([]identity.MemberStatus{identity.MemberActive, identity.MemberInvited}),
}

func texts[T ~string](all []T) []string {
	out := make([]string, len(all))
	for i, v := range all {
		out[i] = string(v)
	}
	return out
}

func unique(all []string) []string {
	slices.Sort(all)
	return slices.Compact(all)
}
