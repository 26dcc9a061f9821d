package integrations_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit/stores"
)

func TestSetUpPayment_NotTheOwner_Refused(t *testing.T) {
	onEach(t, func(t *testing.T, d *desk) {
		me := d.developer(t)
		a, _, err := d.CreateApp(t.Context(), me, integrations.AppInput{Name: "Ward Finder"})
		require.NoError(t, err)
		app := me
		app.AppID, app.Scopes = stores.NewID(), []auth.Scope{auth.ScopeJobsRead}
		for want, by := range map[error]auth.Actor{fault.ErrUnauthorized: {}, auth.ErrScope: app, integrations.ErrAppNotFound: d.developer(t)} {
			_, err := d.SetUpPayment(t.Context(), by, a.ID)
			require.ErrorIs(t, err, want)
		}
		_, err = d.SetUpPayment(t.Context(), me, "nonsense")
		require.ErrorIs(t, err, integrations.ErrAppNotFound)
		require.Empty(t, d.setUps)
		setup, err := d.SetUpPayment(t.Context(), me, a.ID)
		require.NoError(t, err)
		require.Equal(t, "secret of "+a.ID, setup.ClientSecret)
	})
}
