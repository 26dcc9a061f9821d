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

// subscriptions returns all subscriptions to events. A subscription has a name and a function that
// handles the events of the type of its parameter. event.OnID also passes the id of the event, and
// event.OnEnvelope the whole event as it is stored. In chooses the queue of the tasks that handle
// the events.
//
// Names are stored with tasks and must not change once they are in use.
func subscriptions(
	storage adapters.Storage,
	identitySvc *identity.Service,
	listingsSvc *listings.Service,
	hiringSvc *hiring.Service,
	seekersSvc *jobseeker.Service,
	billingSvc *billing.Service,
	integrationsSvc *integrations.Service,
	added addedModules,
) []event.Subscription {
	all := []event.Subscription{
		// A module with another database than module identity, which has the audit log, sends its
		// entries for the log as events.
		event.On("audit.record", func(ctx context.Context, e audit.Recorded) error {
			return storage.Identity.Audit.Record(ctx, e.Entry)
		}),

		event.On("identity.verify-email", identitySvc.OnUserRegistered).In(task.Mail),
		event.On("identity.verify-email-again", identitySvc.OnVerificationRequested).In(task.Mail),
		event.On("identity.reset-password", identitySvc.OnPasswordResetRequested).In(task.Mail),
		event.On("identity.password-changed", identitySvc.OnPasswordChanged).In(task.Mail),
		event.On("identity.programs-signed-out", identitySvc.OnProgramsSignedOut).In(task.Mail),
		event.On("identity.session-reuse", identitySvc.OnSessionReuseDetected).In(task.Mail),
		event.On("identity.second-factor", identitySvc.OnSecondFactorChanged).In(task.Mail),
		event.On("identity.invite", identitySvc.OnMemberInvited).In(task.Mail),
		event.On("identity.undo-email-change", identitySvc.OnEmailChanged).In(task.Mail),
		event.On("identity.confirm-email", identitySvc.OnEmailChangeRequested).In(task.Mail),
		event.On("identity.organization-moderated", identitySvc.OnOrganizationModerated).In(task.Mail),
		event.On("identity.account-moderated", identitySvc.OnAccountModerated).In(task.Mail),

		event.On("listings.organization-moderated", listingsSvc.OnOrganizationModerated),
		event.On("listings.close-organization", listingsSvc.OnOrganizationClosed),
		event.On("listings.rename-organization", listingsSvc.OnOrganizationRenamed),
		event.On("listings.account-deleted", listingsSvc.OnAccountDeleted),

		event.OnID("hiring.application-received", hiringSvc.OnApplicationSubmitted),
		event.On("hiring.mail-submitted", hiringSvc.MailSubmitted).In(task.Mail),
		event.OnID("hiring.mail-status", hiringSvc.MailStatusChanged).In(task.Mail),
		event.OnID("hiring.application-withdrawn", hiringSvc.OnApplicationWithdrawn),
		event.OnID("hiring.mail-interview", hiringSvc.MailInterview).In(task.Mail),
		event.On("hiring.mail-contact", hiringSvc.MailContact).In(task.Mail),
		event.OnID("hiring.job-moderated", hiringSvc.OnJobModerated),
		event.On("hiring.mail-export", hiringSvc.MailExport).In(task.Mail),
		event.On("hiring.account-deleted", hiringSvc.OnAccountDeleted),
		event.On("hiring.organization-closed", hiringSvc.OnOrganizationClosed),

		event.OnID("jobseeker.applied", seekersSvc.OnApplicationSubmitted),
		event.OnID("jobseeker.status-changed", seekersSvc.OnApplicationStatusChanged),
		event.OnID("jobseeker.interview", seekersSvc.OnInterviewChanged),
		event.OnID("jobseeker.contacted", seekersSvc.OnApplicantContacted),
		event.On("jobseeker.alert", seekersSvc.OnJobCreated),
		event.On("jobseeker.account-deleted", seekersSvc.OnAccountDeleted),
		event.OnID("jobseeker.billing", seekersSvc.OnSubscriptionChanged),

		event.OnID("billing.mail-changed", billingSvc.MailSubscriptionChanged).In(task.Mail),
		event.On("billing.erase", billingSvc.OnAccountDeleted),
		event.On("billing.erase-app", billingSvc.OnAppDeleted),

		event.On("integrations.erase", integrationsSvc.OnAccountDeleted),
		event.On("integrations.sign-out", integrationsSvc.OnPasswordChanged),
		event.On("integrations.sign-out-programs", integrationsSvc.OnProgramsSignedOut),
		event.On("integrations.plan", integrationsSvc.OnSubscriptionChanged),
		event.OnEnvelope("integrations.tell-job-created", integrationsSvc.PublishJobCreated),
		event.OnEnvelope("integrations.tell-job-updated", integrationsSvc.PublishJobUpdated),
		event.OnEnvelope("integrations.tell-job-closed", integrationsSvc.PublishJobClosed),
		event.OnEnvelope("integrations.tell-submitted", integrationsSvc.PublishSubmitted),
		event.OnEnvelope("integrations.tell-status", integrationsSvc.PublishStatusChanged),
	}
	for _, m := range added {
		all = append(all, m.subscriptions...)
	}

	return all
}

// handlers are the handlers of all tasks but those that handle events.
type handlers []task.Handler

// newHandlers returns the handlers of the built-in modules and of those that were added.
func newHandlers(
	identitySvc *identity.Service,
	hiringSvc *hiring.Service,
	seekersSvc *jobseeker.Service,
	integrationsSvc *integrations.Service,
	added addedModules,
) handlers {
	all := slices.Concat(identitySvc.Handlers(), hiringSvc.Handlers(), seekersSvc.Handlers(), integrationsSvc.Handlers())
	for _, m := range added {
		all = append(all, m.tasks...)
	}

	return all
}

// periodicTasks are tasks that are executed once per period, by one of all processes.
type periodicTasks []task.Periodic

// closeInterval is how often expired listings are closed. It is short, so that subscribers to the event
// are notified within a minute.
const closeInterval = 30 * time.Second

// newPeriodicTasks returns the periodic tasks of the built-in modules and of those that were added.
func newPeriodicTasks(
	identitySvc *identity.Service,
	listingsSvc *listings.Service,
	hiringSvc *hiring.Service,
	seekersSvc *jobseeker.Service,
	billingSvc *billing.Service,
	integrationsSvc *integrations.Service,
	added addedModules,
) periodicTasks {
	closeExpired := func(ctx context.Context) error {
		_, err := listingsSvc.CloseExpired(ctx)
		return err
	}

	all := slices.Concat(
		periodicTasks{
			{Kind: "listings.close-expired", Every: closeInterval, Do: closeExpired},
			{Kind: "listings.forget", Every: time.Hour, Do: listingsSvc.Forget, Timeout: 5 * time.Minute},
		},
		identitySvc.Periodic(),
		hiringSvc.Periodic(),
		seekersSvc.Periodic(),
		billingSvc.Periodic(),
		integrationsSvc.Periodic(),
	)
	for _, m := range added {
		all = append(all, m.periodic...)
	}

	return all
}
