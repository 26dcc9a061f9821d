package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/modules/integrations"
)

// IntegrationsOpener returns an empty storage with the current schema, whose time is that of
// the clock.
type IntegrationsOpener = func(t testing.TB, clk clock.Clock) adapters.IntegrationsStorage

// Integrations checks the storage of modules/integrations.
func Integrations(t *testing.T, open IntegrationsOpener) {
	t.Run("apps", func(t *testing.T) { Apps(t, open) })
	t.Run("keys", func(t *testing.T) { Keys(t, open) })
	t.Run("usage", func(t *testing.T) { Usage(t, open) })
	t.Run("grants", func(t *testing.T) { Grants(t, open) })
	t.Run("consents", func(t *testing.T) { Consents(t, open) })
	t.Run("webhooks", func(t *testing.T) { Webhooks(t, open) })
	t.Run("deliveries", func(t *testing.T) { Deliveries(t, open) })
	t.Run("delivery log", func(t *testing.T) { DeliveryLog(t, open) })
}

// integrationsFixture is the fixture of the suites of integrations. The embedded storage provides the ports under
// test, such as Apps and Keys.
type integrationsFixture struct {
	adapters.IntegrationsStorage
	t   *testing.T
	clk *fakeClock
	app integrations.App // the only one that is stored at first
}

// newIntegrationsFixture returns a storage with one application of a new owner. It lets the subtest run in parallel.
func newIntegrationsFixture(t *testing.T, open IntegrationsOpener) *integrationsFixture {
	t.Helper()
	t.Parallel()

	clk := newFakeClock()
	fixture := &integrationsFixture{IntegrationsStorage: open(t, clk), t: t, clk: clk}
	requirePorts(t, fixture.IntegrationsStorage)

	fixture.app = fixture.createApp(newID())

	return fixture
}

// ctx returns the context of the test.
func (f *integrationsFixture) ctx() context.Context { return f.t.Context() }

// now returns a time near that of the clock, with microseconds: the smallest unit that all databases store.
func (f *integrationsFixture) now() time.Time { return f.clk.Now().Add(unroundedDelay) }

// createApp stores an application of the owner. Its name and its addresses need escaping.
func (f *integrationsFixture) createApp(ownerID string) integrations.App {
	f.t.Helper()

	app := integrations.App{
		ID:           newID(),
		OwnerID:      ownerID,
		Name:         "Zoë's \"100%\"",
		Description:  "d",
		SecretHash:   "h",
		Plan:         integrations.Free,
		RedirectURIs: []string{"https://a.example/cb?x=1,2", "http://127.0.0.1/"},
		CreatedAt:    f.now(),
		UpdatedAt:    f.now(),
		Version:      1,
	}

	const maxApps = 100 // of an owner
	require.NoError(f.t, f.Apps.Create(f.ctx(), app, maxApps))

	return app
}

// listApps lists applications.
func (f *integrationsFixture) listApps(
	filter integrations.AppFilter, request page.Request,
) page.Result[integrations.App] {
	f.t.Helper()

	result, err := f.Apps.List(f.ctx(), filter, request)
	require.NoError(f.t, err)

	return result
}

// createKey stores an API key of the application.
func (f *integrationsFixture) createKey(app integrations.App) integrations.Key {
	f.t.Helper()

	key := integrations.Key{ID: newID(), AppID: app.ID, Name: "k", Prefix: "loc_live_abcd", Hash: newID(), CreatedAt: f.now()}
	require.NoError(f.t, f.Keys.Create(f.ctx(), app.OwnerID, key))

	return key
}

// createGrant stores an authorization of the application by the user, with its code.
func (f *integrationsFixture) createGrant(
	app integrations.App, userID string, at time.Time,
) (integrations.Grant, integrations.Token) {
	f.t.Helper()

	grant := integrations.Grant{
		ID:        newID(),
		AppID:     app.ID,
		UserID:    userID,
		Scopes:    []integrations.Scope{integrations.JobsRead, integrations.ApplicationsWrite},
		CreatedAt: at,
		ExpiresAt: at.Add(time.Hour),
	}
	code := integrations.Token{
		Hash:        newID(),
		GrantID:     grant.ID,
		Kind:        integrations.Code,
		Scopes:      grant.Scopes,
		RedirectURI: "https://a.example/cb?x=1",
		Challenge:   "c",
		IssuedAt:    at,
		ExpiresAt:   at.Add(time.Minute),
	}
	require.NoError(f.t, f.Grants.Create(f.ctx(), code, &grant))

	return grant, code
}

// createToken stores another token of an authorization, with the first of its scopes.
func (f *integrationsFixture) createToken(
	grant integrations.Grant, kind integrations.TokenKind, at time.Time,
) integrations.Token {
	f.t.Helper()

	token := integrations.Token{
		Hash:      newID(),
		GrantID:   grant.ID,
		Kind:      kind,
		Scopes:    grant.Scopes[:1],
		IssuedAt:  at,
		ExpiresAt: at.Add(time.Minute),
	}
	require.NoError(f.t, f.Grants.Create(f.ctx(), token, nil))

	return token
}

// createConsent stores a consent.
func (f *integrationsFixture) createConsent(userID, appID string, scopes ...integrations.Scope) integrations.Consent {
	f.t.Helper()

	consent := integrations.Consent{UserID: userID, AppID: appID, Scopes: scopes, GivenAt: f.now()}
	require.NoError(f.t, f.Consents.Upsert(f.ctx(), consent))

	return consent
}

// deleteBefore deletes at most limit rows of the kind whose time is before the given one, and requires their number.
func (f *integrationsFixture) deleteBefore(kind retention.Kind, before time.Time, limit, want int) {
	f.t.Helper()

	deleted, err := retentionOf(f.t, f.Retention).DeleteBefore(f.ctx(), kind, before, limit)
	require.NoError(f.t, err)
	require.Equal(f.t, want, deleted)
}
