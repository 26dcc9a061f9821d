package bootstrap

import (
	"context"
	"slices"
	"time"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/modules/listings"
)

// subscriptions returns all subscriptions to events. Names are stored with tasks and must
// not change once they are in use.
func subscriptions(s adapters.Storage, i *identity.Service, l *listings.Service, h *hiring.Service, k *jobseeker.Service, b *billing.Service, in *integrations.Service, added addedModules) []event.Subscription {
	table := []event.Subscription{
		event.On("audit.record", func(ctx context.Context, e audit.Recorded) error { return s.Identity.Audit.Record(ctx, e.Entry) }),

		event.On("identity.verify-email", i.OnUserRegistered).In(task.Mail),
		event.On("identity.reset-password", i.OnPasswordResetRequested).In(task.Mail),
		event.On("identity.password-changed", i.OnPasswordChanged).In(task.Mail),
		event.On("identity.programs-signed-out", i.OnProgramsSignedOut).In(task.Mail),
		event.On("identity.session-reuse", i.OnSessionReuseDetected).In(task.Mail),
		event.On("identity.second-factor", i.OnSecondFactorChanged).In(task.Mail),
		event.On("identity.invite", i.OnMemberInvited).In(task.Mail),
		event.On("identity.undo-email-change", i.OnEmailChanged).In(task.Mail),
		event.On("identity.confirm-email", i.OnEmailChangeRequested).In(task.Mail),

		event.On("identity.organization-moderated", i.OnOrganizationModerated).In(task.Mail),
		event.On("identity.account-moderated", i.OnAccountModerated).In(task.Mail),

		event.On("listings.organization-moderated", l.OnOrganizationModerated),
		event.On("listings.close-organization", l.OnOrganizationClosed),
		event.On("listings.rename-organization", l.OnOrganizationRenamed),
		event.On("listings.account-deleted", l.OnAccountDeleted),

		event.OnID("hiring.application-received", h.OnApplicationSubmitted),
		event.On("hiring.mail-submitted", h.MailSubmitted).In(task.Mail),
		event.OnID("hiring.mail-status", h.MailStatusChanged).In(task.Mail),
		event.OnID("hiring.mail-interview", h.MailInterview).In(task.Mail),
		event.On("hiring.mail-contact", h.MailContact).In(task.Mail),
		event.OnID("hiring.job-moderated", h.OnJobModerated),
		event.On("hiring.mail-export", h.MailExport).In(task.Mail),
		event.On("hiring.account-deleted", h.OnAccountDeleted),
		event.On("hiring.organization-closed", h.OnOrganizationClosed),

		event.OnID("jobseeker.applied", k.OnApplicationSubmitted),
		event.OnID("jobseeker.status-changed", k.OnApplicationStatusChanged),
		event.OnID("jobseeker.interview", k.OnInterviewChanged),
		event.OnID("jobseeker.contacted", k.OnApplicantContacted),
		event.On("jobseeker.alert", k.OnJobCreated),
		event.On("jobseeker.account-deleted", k.OnAccountDeleted),
		event.OnID("jobseeker.billing", k.OnSubscriptionChanged),

		event.OnID("billing.mail-changed", b.MailSubscriptionChanged).In(task.Mail),
		event.On("billing.erase", b.OnAccountDeleted),

		event.On("billing.erase-app", b.OnAppDeleted),

		event.On("integrations.erase", in.OnAccountDeleted),
		event.On("integrations.sign-out", in.OnPasswordChanged),
		event.On("integrations.sign-out-programs", in.OnProgramsSignedOut),
		event.On("integrations.plan", in.OnSubscriptionChanged),
		event.OnEnvelope("integrations.tell-job-created", in.PublishJobCreated),
		event.OnEnvelope("integrations.tell-job-updated", in.PublishJobUpdated),
		event.OnEnvelope("integrations.tell-job-closed", in.PublishJobClosed),
		event.OnEnvelope("integrations.tell-submitted", in.PublishSubmitted),
		event.OnEnvelope("integrations.tell-status", in.PublishStatusChanged),
	}
	for _, m := range added {
		table = append(table, m.subscriptions...)
	}
	return table
}

// handlers returns the handlers of tasks that modules add.
type handlers []task.Handler

func handlersOf(i *identity.Service, h *hiring.Service, k *jobseeker.Service, in *integrations.Service, added addedModules) handlers {
	all := slices.Concat(i.Handlers(), h.Handlers(), k.Handlers(), in.Handlers())
	for _, m := range added {
		all = append(all, m.tasks...)
	}
	return all
}

// periods returns the periodic work.
type periods []task.Periodic

// closeEvery is the period in which expired listings are closed, so that subscribers are
// notified within a minute.
const closeEvery = 30 * time.Second

func periodsOf(i *identity.Service, l *listings.Service, h *hiring.Service, k *jobseeker.Service, b *billing.Service, in *integrations.Service, added addedModules) periods {
	all := slices.Concat(periods{
		{Kind: "listings.close-expired", Every: closeEvery, Do: func(ctx context.Context) error { _, err := l.CloseExpired(ctx); return err }},
		{Kind: "listings.forget", Every: time.Hour, Do: l.Forget, Timeout: 5 * time.Minute},
	}, i.Periodic(), h.Periodic(), k.Periodic(), b.Periodic(), in.Periodic())
	for _, m := range added {
		all = append(all, m.periodic...)
	}
	return all
}
