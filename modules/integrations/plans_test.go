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

// planChanges returns the audited plans of the application, the newest first, and
// checks who has chosen them.
func (e *testEnv) planChanges(t *testing.T, owner auth.Actor, appID string) (plans []string) {
	t.Helper()

	found, err := e.store.Identity.AuditLog.List(t.Context(),
		audit.Filter{OrganizationID: organizationID, About: appID, Action: audit.PlanChanged},
		page.After("", 20))
	require.NoError(t, err)

	for _, recorded := range found.Items {
		require.Equal(t, owner.UserID, recorded.Actor)
		require.Equal(t, appID, recorded.Object)

		plans = append(plans, recorded.Detail)
	}

	return plans
}

// TestPlanChange_AnyDelivery_IsAuditedOnce checks that a plan that the owner has chosen is
// audited once. The payment may be complete at once or later, and the event about the payment
// may be handled before or after the owner's request ends, or several times. The end of a
// subscription is not audited as a choice.
func TestPlanChange_AnyDelivery_IsAuditedOnce(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		me := env.developer(t)
		me.OrganizationID = organizationID
		app, _, err := env.CreateApp(t.Context(), me, integrations.AppInput{Name: "Ward Finder"})
		require.NoError(t, err)

		// handleChange handles an event about the subscription to the plan that is paid for.
		handleChange := func(change string) {
			t.Helper()
			env.recordAppSubscription(t, app.ID, change, env.paid)
		}

		// The payment completes after the request, as with 3-D Secure: only the event says so.
		env.paid = integrations.Professional

		for range 3 { // events may be delivered several times
			handleChange(event.SubscriptionStarted)
		}

		require.Equal(t, []string{integrations.Professional}, env.planChanges(t, me, app.ID), "paid later")

		choose := func(plan string) {
			t.Helper()

			_, err := env.ChoosePlan(t.Context(), me, app.ID, plan, "pm_card_visa")
			require.NoError(t, err)
		}

		choose(integrations.Enterprise)
		handleChange(event.SubscriptionUpgraded)
		require.Equal(
			t,
			[]string{integrations.Enterprise, integrations.Professional},
			env.planChanges(t, me, app.ID),
			"paid at once",
		)

		env.afterChoose = func() { handleChange(event.SubscriptionDowngraded) }

		choose(integrations.Professional)

		want := []string{integrations.Professional, integrations.Enterprise, integrations.Professional}
		require.Equal(t, want, env.planChanges(t, me, app.ID), "paid at once, and the event is handled before the request ends")

		env.paid = integrations.Free

		handleChange(event.SubscriptionLapsed)
		require.Equal(t, want, env.planChanges(t, me, app.ID), "the owner has not chosen the plan")
	})
}

// TestSetUpPayment_NotTheOwner_Refused checks that only the owner of an application, and no
// program, can set up its payment method.
func TestSetUpPayment_NotTheOwner_Refused(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		me := env.developer(t)
		app, _, err := env.CreateApp(t.Context(), me, integrations.AppInput{Name: "Ward Finder"})
		require.NoError(t, err)

		guest := auth.Actor{}
		program := me // a program that acts for the owner
		program.AppID = stores.NewID()
		program.Scopes = []auth.Scope{auth.ScopeJobsRead}
		_, err = env.SetUpPayment(t.Context(), guest, app.ID)
		require.ErrorIs(t, err, fault.ErrUnauthorized)

		_, err = env.SetUpPayment(t.Context(), program, app.ID)
		require.ErrorIs(t, err, auth.ErrScope)

		_, err = env.SetUpPayment(t.Context(), env.developer(t), app.ID)
		require.ErrorIs(t, err, integrations.ErrAppNotFound, "another developer")

		_, err = env.SetUpPayment(t.Context(), me, "nonsense")
		require.ErrorIs(t, err, integrations.ErrAppNotFound)
		require.Empty(t, env.setUps)

		setup, err := env.SetUpPayment(t.Context(), me, app.ID)
		require.NoError(t, err)
		require.Equal(t, "secret of "+app.ID, setup.ClientSecret)
	})
}
