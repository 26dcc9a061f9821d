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

// TestPlanChange_AnyDelivery_IsAuditedOnce checks that a choice of the owner is audited once,
// whether its payment is complete at once or later, and whether its event is handled before or
// after the request ends. The end of a subscription is not a choice.
func TestPlanChange_AnyDelivery_IsAuditedOnce(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		me := env.developer(t)
		me.OrganizationID = organizationID
		app, _, err := env.CreateApp(t.Context(), me, integrations.AppInput{Name: "Ward Finder"})
		require.NoError(t, err)

		changed := func(change string) {
			t.Helper()
			env.recordAppSubscription(t, app.ID, change, env.paid)
		}

		env.paid = integrations.Professional

		for range 3 { // events may be delivered several times
			changed(event.SubscriptionStarted)
		}

		require.Equal(t, []string{integrations.Professional}, env.planChanges(t, me, app.ID), "paid after 3-D Secure")

		choose := func(plan string) {
			t.Helper()

			_, err := env.ChoosePlan(t.Context(), me, app.ID, plan, "pm_card_visa")
			require.NoError(t, err)
		}

		choose(integrations.Enterprise)
		changed(event.SubscriptionUpgraded)
		require.Equal(
			t,
			[]string{integrations.Enterprise, integrations.Professional},
			env.planChanges(t, me, app.ID),
			"paid at once",
		)

		env.afterChoose = func() { changed(event.SubscriptionDowngraded) }

		choose(integrations.Professional)

		want := []string{integrations.Professional, integrations.Enterprise, integrations.Professional}
		require.Equal(t, want, env.planChanges(t, me, app.ID), "paid at once, with the event delivered before the request ends")

		env.paid = integrations.Free

		changed(event.SubscriptionLapsed)
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
