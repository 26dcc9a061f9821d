package integrations_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit/stores"
)

// TestAuthenticateKey_Valid_ActsForOwner checks that a key acts for the owner of its application and can
// only read.
func TestAuthenticateKey_Valid_ActsForOwner(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		me := env.developer(t)
		app := env.createApp(t, me)
		key, stored := env.createKey(t, me, app.ID)

		caller, err := env.AuthenticateKey(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, app.ID, caller.App.ID)
		require.Equal(t, me.UserID, caller.UserID)
		require.Equal(t, stored.ID, caller.KeyID)
		require.True(t, caller.May(integrations.JobsRead))
		require.True(t, caller.May(integrations.ApplicationsRead))
		require.False(t, caller.May(integrations.ApplicationsWrite))
	})
}

// TestCreateApp_Secret_IsNotStored checks that the stored hash does not contain the secret of an
// application.
func TestCreateApp_Secret_IsNotStored(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		app, secret, err := env.CreateApp(t.Context(), env.developer(t), integrations.AppInput{Name: "Ward Finder"})
		require.NoError(t, err)
		require.NotEmpty(t, secret)
		require.NotContains(t, app.SecretHash, secret)
	})
}

// TestAuthenticateKey_DeletedOrMistyped_Unauthorized checks that a key is refused with a wrong checksum,
// with another length and after its deletion.
func TestAuthenticateKey_DeletedOrMistyped_Unauthorized(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		me := env.developer(t)
		app := env.createApp(t, me)
		key, stored := env.createKey(t, me, app.ID)

		// One character of the typo differs from the key, so that the checksum at the end of the
		// key is wrong.
		const changed = 20 // the position of this character

		typo := key[:changed] + "a" + key[changed+1:]
		if typo == key {
			typo = key[:changed] + "b" + key[changed+1:]
		}

		for _, wrong := range []string{"", "nonsense", typo, key + "x", key[:len(key)-1], strings.ToUpper(key)} {
			_, err := env.AuthenticateKey(t.Context(), wrong)
			require.ErrorIs(t, err, fault.ErrUnauthorized, wrong)
		}

		_, err := env.AuthenticateKey(t.Context(), key)
		require.NoError(t, err, "the key itself")
		require.NoError(t, env.DeleteKey(t.Context(), me, app.ID, stored.ID))

		_, err = env.AuthenticateKey(t.Context(), key)
		require.ErrorIs(t, err, fault.ErrUnauthorized, "the deleted key")
	})
}

// TestUsage_SeveralDays_CountedByDayAndKey checks that requests and errors are counted by day in UTC, and
// that the counters in memory are stored when the service stops.
func TestUsage_SeveralDays_CountedByDayAndKey(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		me := env.developer(t)
		app := env.createApp(t, me)
		key, _ := env.createKey(t, me, app.ID)

		caller, err := env.AuthenticateKey(t.Context(), key)
		require.NoError(t, err)

		// Count two requests of the first day, and one of the second day.
		const succeeded, failed = false, true // the second argument says whether the request has failed
		env.Count(caller, succeeded)
		env.Count(caller, failed)

		firstDay := env.clock.Now()
		env.clock.Advance(24 * time.Hour)
		env.Count(caller, succeeded)

		secondDay := env.clock.Now()

		// With a context that has ended, CountCalls stores the counters once and returns.
		ended, end := context.WithCancel(t.Context())
		end()
		env.CountCalls(ended, func(err error) { require.NoError(t, err) })

		const defaultDays = 30
		used, err := env.GetUsage(t.Context(), me, app.ID, integrations.UsageInput{})
		require.NoError(t, err)
		require.Len(t, used.Days, defaultDays)
		require.Equal(t, []integrations.DayUsage{
			{AppID: app.ID, Day: firstDay.Format(time.DateOnly), Requests: 2, Errors: 1},
			{AppID: app.ID, Day: secondDay.Format(time.DateOnly), Requests: 1},
		}, used.Days[defaultDays-2:], "the last two days")

		keys, err := env.MyKeys(t.Context(), me, app.ID)
		require.NoError(t, err)
		require.Equal(t, secondDay, *keys[0].LastUsedAt)
	})
}

// plan returns the plan of the application.
func (e *testEnv) plan(t *testing.T, owner auth.Actor, appID string) string {
	t.Helper()

	app, err := e.MyApp(t.Context(), owner, appID)
	require.NoError(t, err)

	return app.Plan
}

// TestPlan_Paid_IsThatOfApp checks that an application has the plan that is paid for: at once, or when an
// event reports the result of a payment that came late.
func TestPlan_Paid_IsThatOfApp(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		me := env.developer(t)
		app := env.createApp(t, me)
		_, err := env.ChoosePlan(t.Context(), me, app.ID, integrations.Professional, "pm_card_visa")
		require.NoError(t, err)
		require.Equal(t, integrations.Professional, env.plan(t, me, app.ID))

		// The payment of another plan is completed later.
		env.paid = integrations.Enterprise
		env.recordAppSubscription(t, app.ID, event.SubscriptionUpgraded, integrations.Enterprise)
		require.Equal(t, integrations.Enterprise, env.plan(t, me, app.ID))
	})
}

// TestPlan_SetByOperator_SurvivesRenewal checks that a renewal does not replace a plan that an operator has
// set.
func TestPlan_SetByOperator_SurvivesRenewal(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		me := env.developer(t)
		app := env.createApp(t, me)
		env.paid = integrations.Enterprise

		_, err := env.SetPlan(t.Context(), app.ID, integrations.Professional)
		require.NoError(t, err)
		env.recordAppSubscription(t, app.ID, event.SubscriptionRenewed, integrations.Enterprise)
		require.Equal(t, integrations.Professional, env.plan(t, me, app.ID))
	})
}

// TestPlan_SubscriptionOver_IsFree checks that an application has the free plan after the end of its
// subscription, even if an operator has set its plan. The subscription of a user with the same id as the
// application has no effect.
func TestPlan_SubscriptionOver_IsFree(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		me := env.developer(t)
		app := env.createApp(t, me)
		setPlan := func(plan string) {
			t.Helper()

			_, err := env.SetPlan(t.Context(), app.ID, plan)
			require.NoError(t, err)
			require.Equal(t, plan, env.plan(t, me, app.ID))
		}

		env.paid = integrations.Free

		setPlan(integrations.Professional)
		env.recordEvent(t, event.SubscriptionChanged{OwnerKind: "user", OwnerID: app.ID, Change: event.SubscriptionLapsed})
		require.Equal(t, integrations.Professional, env.plan(t, me, app.ID))

		for _, over := range []string{event.SubscriptionCancelled, event.SubscriptionLapsed, event.SubscriptionEnded} {
			setPlan(integrations.Professional)
			env.recordAppSubscription(t, app.ID, over, integrations.Free)
			require.Equal(t, integrations.Free, env.plan(t, me, app.ID), over)
		}

		// The operator can set a plan again.
		setPlan(integrations.Enterprise)
	})
}

// TestSetPlan_UnknownPlanOrApp_IsRefused checks that an operator can set a plan that exists, of an
// application that exists.
func TestSetPlan_UnknownPlanOrApp_IsRefused(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		app := env.createApp(t, env.developer(t))
		_, err := env.SetPlan(t.Context(), app.ID, "gold")
		require.Error(t, err)

		_, err = env.SetPlan(t.Context(), "nonsense", integrations.Free)
		require.ErrorIs(t, err, integrations.ErrAppNotFound)
	})
}

// TestOnSubscriptionChanged_UnknownApp_IsIgnored checks that an event about an application that does not
// exist causes no error, after which it would be delivered again.
func TestOnSubscriptionChanged_UnknownApp_IsIgnored(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		unknownApp := stores.NewID()
		env.recordAppSubscription(t, unknownApp, event.SubscriptionLapsed, integrations.Free)
	})
}

// TestOnAccountDeleted_Apps_AreDeletedWithEvents checks that each application of a deleted account
// is deleted, and that an event is recorded for each. Applications of other accounts stay.
func TestOnAccountDeleted_Apps_AreDeletedWithEvents(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		me, other := env.developer(t), env.developer(t)

		var mine []string
		for range 3 {
			mine = append(mine, env.createApp(t, me).ID)
		}

		env.createApp(t, other)
		env.recordEvent(t, event.AccountDeleted{UserID: me.UserID})

		apps, err := env.MyApps(t.Context(), me, firstPage)
		require.NoError(t, err)
		require.Empty(t, apps.Items)
		require.ElementsMatch(t, mine, env.deletedApps)

		apps, err = env.MyApps(t.Context(), other, firstPage)
		require.NoError(t, err)
		require.Len(t, apps.Items, 1)
	})
}
