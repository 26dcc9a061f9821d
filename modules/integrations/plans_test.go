package integrations_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit/stores"
)

// planChanges returns the plans of the application in the audit log, the newest first. It requires that
// the owner has chosen them.
func (e *testEnv) planChanges(t *testing.T, owner auth.Actor, appID string) (plans []string) {
	t.Helper()

	changesOfApp := audit.Filter{OrganizationID: organizationID, About: appID, Action: audit.PlanChanged}
	found, err := e.store.Identity.AuditLog.List(t.Context(), changesOfApp, page.Request{Number: 1, Size: 20})
	require.NoError(t, err)

	for _, recorded := range found.Items {
		require.Equal(t, owner.UserID, recorded.Actor)
		require.Equal(t, appID, recorded.Object)

		plans = append(plans, recorded.Detail)
	}

	return plans
}

// choosePlan chooses a plan of the application, which is paid at once.
func (e *testEnv) choosePlan(t *testing.T, owner auth.Actor, appID, plan string) {
	t.Helper()

	_, err := e.ChoosePlan(t.Context(), owner, appID, plan, "pm_card_visa")
	require.NoError(t, err)
}

// TestPlanChange_PaidLater_IsAuditedOnce checks a payment that completes after the request, as with 3-D
// Secure, so that only the event says that the plan is paid. The event may be delivered several times.
func TestPlanChange_PaidLater_IsAuditedOnce(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		me := env.developer(t)
		me.OrganizationID = organizationID
		app := env.createApp(t, me)
		env.paid = integrations.Professional

		for range 3 {
			env.recordAppSubscription(t, app.ID, event.SubscriptionStarted, integrations.Professional)
		}

		require.Equal(t, []string{integrations.Professional}, env.planChanges(t, me, app.ID))
	})
}

// TestPlanChange_PaidAtOnce_IsAuditedOnce checks a payment that completes in the request. The event about
// it may be handled after the request, or before the request ends.
func TestPlanChange_PaidAtOnce_IsAuditedOnce(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		me := env.developer(t)
		me.OrganizationID = organizationID
		app := env.createApp(t, me)

		// The event is handled after the request.
		env.choosePlan(t, me, app.ID, integrations.Enterprise)
		env.recordAppSubscription(t, app.ID, event.SubscriptionStarted, integrations.Enterprise)
		require.Equal(t, []string{integrations.Enterprise}, env.planChanges(t, me, app.ID))

		// The event is handled before the request ends.
		env.afterChoose = func() {
			env.recordAppSubscription(t, app.ID, event.SubscriptionDowngraded, integrations.Professional)
		}

		env.choosePlan(t, me, app.ID, integrations.Professional)
		require.Equal(t, []string{integrations.Professional, integrations.Enterprise}, env.planChanges(t, me, app.ID))
	})
}

// TestPlanChange_SubscriptionLapsed_IsNotAudited checks that the free plan after the end of a subscription
// is not audited as a choice of the owner.
func TestPlanChange_SubscriptionLapsed_IsNotAudited(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		me := env.developer(t)
		me.OrganizationID = organizationID
		app := env.createApp(t, me)
		env.choosePlan(t, me, app.ID, integrations.Professional)

		env.paid = integrations.Free
		env.recordAppSubscription(t, app.ID, event.SubscriptionLapsed, integrations.Free)
		require.Equal(t, []string{integrations.Professional}, env.planChanges(t, me, app.ID))
	})
}

// TestSetUpPayment_NotTheOwner_Refused checks that only the owner of an application, and no
// program, can set up its payment method.
func TestSetUpPayment_NotTheOwner_Refused(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		me := env.developer(t)
		app := env.createApp(t, me)

		guest := auth.Actor{}
		program := me // a program that acts for the owner
		program.AppID = stores.NewID()
		program.Scopes = []auth.Scope{auth.ScopeJobsRead}

		_, err := env.SetUpPayment(t.Context(), guest, app.ID)
		require.ErrorIs(t, err, fault.ErrUnauthorized)

		_, err = env.SetUpPayment(t.Context(), program, app.ID)
		require.ErrorIs(t, err, auth.ErrScope)

		_, err = env.SetUpPayment(t.Context(), env.developer(t), app.ID)
		require.ErrorIs(t, err, integrations.ErrAppNotFound, "another developer")

		_, err = env.SetUpPayment(t.Context(), me, "nonsense")
		require.ErrorIs(t, err, integrations.ErrAppNotFound)
		require.Empty(t, env.setUps)

		// The owner is not refused.
		setup, err := env.SetUpPayment(t.Context(), me, app.ID)
		require.NoError(t, err)
		require.Equal(t, "secret of "+app.ID, setup.ClientSecret)
	})
}
