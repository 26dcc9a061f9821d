package integrations_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit/stores"
)

// TestAuthenticateKey_DeletedOrMistyped_Unauthorized checks that a key acts for the owner of
// its application and can only read. It is refused with a wrong checksum, with another length
// and after its deletion.
func TestAuthenticateKey_DeletedOrMistyped_Unauthorized(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		me := env.developer(t)
		app, secret, err := env.CreateApp(t.Context(), me, integrations.AppInput{Name: "Ward Finder"})
		require.NoError(t, err)
		require.NotContains(t, app.SecretHash, secret)

		created, key, err := env.CreateKey(t.Context(), me, app.ID, integrations.KeyInput{Name: "Production"})
		require.NoError(t, err)

		caller, err := env.AuthenticateKey(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, app.ID, caller.App.ID)
		require.Equal(t, me.UserID, caller.UserID)
		require.Equal(t, created.ID, caller.KeyID)
		require.True(t, caller.May(integrations.JobsRead))
		require.True(t, caller.May(integrations.ApplicationsRead))
		require.False(t, caller.May(integrations.ApplicationsWrite), "keys cannot write")

		// One character of the typo differs from the key, so that the checksum at the end of the
		// key is wrong.
		const changed = 20

		typo := key[:changed] + "a" + key[changed+1:]
		if typo == key {
			typo = key[:changed] + "b" + key[changed+1:]
		}

		for _, wrong := range []string{"", "nonsense", typo, key + "x", key[:len(key)-1], strings.ToUpper(key)} {
			_, err := env.AuthenticateKey(t.Context(), wrong)
			require.ErrorIs(t, err, fault.ErrUnauthorized, wrong)
		}

		require.NoError(t, env.DeleteKey(t.Context(), me, app.ID, created.ID))

		_, err = env.AuthenticateKey(t.Context(), key)
		require.ErrorIs(t, err, fault.ErrUnauthorized)
	})
}

// TestUsage_CountsByDayAndKey checks that requests and errors are counted by day in UTC, and
// that the counters in memory are stored when the service stops.
func TestUsage_CountsByDayAndKey(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		me := env.developer(t)
		app, _, err := env.CreateApp(t.Context(), me, integrations.AppInput{Name: "Ward Finder"})
		require.NoError(t, err)

		_, key, err := env.CreateKey(t.Context(), me, app.ID, integrations.KeyInput{Name: "Production"})
		require.NoError(t, err)

		caller, err := env.AuthenticateKey(t.Context(), key)
		require.NoError(t, err)
		const succeeded, failed = false, true
		env.Count(caller, succeeded)
		env.Count(caller, failed)

		firstDay := env.clock.Now()
		env.clock.Advance(24 * time.Hour)
		env.Count(caller, succeeded)

		// With a context that has ended, CountCalls stores the counters once and returns.
		ended, end := context.WithCancel(t.Context())
		end()
		env.CountCalls(ended, func(err error) { require.NoError(t, err) })

		used, err := env.GetUsage(t.Context(), me, app.ID, integrations.UsageInput{})
		require.NoError(t, err)
		require.Len(t, used.Days, 30, "by default, the last 30 days")
		require.Equal(t, []integrations.DayUsage{
			{AppID: app.ID, Day: firstDay.Format(time.DateOnly), Requests: 2, Errors: 1},
			{AppID: app.ID, Day: env.clock.Now().Format(time.DateOnly), Requests: 1},
		}, used.Days[28:], "the last two days")

		keys, err := env.MyKeys(t.Context(), me, app.ID)
		require.NoError(t, err)
		require.Equal(t, env.clock.Now(), *keys[0].LastUsedAt)
	})
}

// TestPlan_NotPaid_IsRevokedUnlessOperators checks which plan an application has: the one that
// is paid for, even if the result of the payment is late. A renewal does not replace a plan that
// an operator has set. The end of a subscription does: the application then has the free plan.
func TestPlan_NotPaid_IsRevokedUnlessOperators(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		me := env.developer(t)
		app, _, err := env.CreateApp(t.Context(), me, integrations.AppInput{Name: "Ward Finder"})
		require.NoError(t, err)

		plan := func() string {
			t.Helper()

			current, err := env.MyApp(t.Context(), me, app.ID)
			require.NoError(t, err)

			return current.Plan
		}

		_, err = env.ChoosePlan(t.Context(), me, app.ID, integrations.Professional, "pm_card_visa")
		require.NoError(t, err)
		require.Equal(t, integrations.Professional, plan())

		env.paid = integrations.Enterprise
		env.recordAppSubscription(t, app.ID, event.SubscriptionUpgraded, integrations.Enterprise)
		require.Equal(t, integrations.Enterprise, plan(), "the result of the payment came late")

		_, err = env.SetPlan(t.Context(), app.ID, integrations.Professional)
		require.NoError(t, err)
		env.recordAppSubscription(t, app.ID, event.SubscriptionRenewed, integrations.Enterprise)
		require.Equal(t, integrations.Professional, plan(), "a renewal keeps the plan that the operator has set")

		env.paid = integrations.Free
		env.recordEvent(t, event.SubscriptionChanged{OwnerKind: "user", OwnerID: app.ID, Change: event.SubscriptionLapsed})
		require.Equal(t, integrations.Professional, plan(), "the subscription of a user with the same id is not its own")

		for _, over := range []string{event.SubscriptionCancelled, event.SubscriptionLapsed, event.SubscriptionEnded} {
			_, err = env.SetPlan(t.Context(), app.ID, integrations.Professional)
			require.NoError(t, err)
			env.recordAppSubscription(t, app.ID, over, integrations.Free)
			require.Equal(t, integrations.Free, plan())
		}

		_, err = env.SetPlan(t.Context(), app.ID, integrations.Enterprise)
		require.NoError(t, err)
		require.Equal(t, integrations.Enterprise, plan())

		_, err = env.SetPlan(t.Context(), app.ID, "gold")
		require.Error(t, err)

		_, err = env.SetPlan(t.Context(), "nonsense", integrations.Free)
		require.ErrorIs(t, err, integrations.ErrAppNotFound)

		// An event about an application that does not exist is ignored.
		unknownApp := stores.NewID()
		env.recordAppSubscription(t, unknownApp, event.SubscriptionLapsed, integrations.Free)
	})
}

// TestOnAccountDeleted_DeletesAppsWithEvents checks that each application of a deleted account
// is deleted, and that an event is recorded for each. Applications of other accounts stay.
func TestOnAccountDeleted_DeletesAppsWithEvents(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		me, other := env.developer(t), env.developer(t)

		var mine []string
		for range 3 {
			app, _, err := env.CreateApp(t.Context(), me, integrations.AppInput{Name: "Ward Finder"})
			require.NoError(t, err)

			mine = append(mine, app.ID)
		}

		_, _, err := env.CreateApp(t.Context(), other, integrations.AppInput{Name: "Bed Finder"})
		require.NoError(t, err)
		env.recordEvent(t, event.AccountDeleted{UserID: me.UserID})

		apps, err := env.MyApps(t.Context(), me, page.Request{Number: 1, Size: 20})
		require.NoError(t, err)
		require.Empty(t, apps.Items)
		require.ElementsMatch(t, mine, env.deletedApps)

		apps, err = env.MyApps(t.Context(), other, page.Request{Number: 1, Size: 20})
		require.NoError(t, err)
		require.Len(t, apps.Items, 1)
	})
}
