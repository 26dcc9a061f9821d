package gormdb

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
)

func TestEveryOAuthQueryFindsItsRowsByAnIndex(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	s := db.Storage()
	asked := recordStatements(t, db.gorm, db.writer)
	ctx, id, now := t.Context(), uuid.NewString(), time.Now().UTC()
	u := identity.NewUser(id, "a@example.org", "A", identity.KindJobseeker, "hash", now)
	require.NoError(t, s.Identity.Users.Create(ctx, &u))
	require.NoError(t, s.Integrations.Apps.Add(ctx, integrations.App{ID: id, OwnerID: id, Version: 1}))
	require.NoError(t, s.Integrations.Grants.Add(ctx, integrations.Grant{ID: id, AppID: id, UserID: id, ExpiresAt: now}, integrations.Token{Hash: "h", GrantID: id}))
	_, _, _ = s.Integrations.Grants.Find(ctx, integrations.Code, "h")
	_, _, _, _ = s.Integrations.Grants.Access(ctx, "h")
	_, _ = s.Integrations.Grants.Spend(ctx, "h", now)
	require.NoError(t, s.Integrations.Grants.End(ctx, id, now))
	require.NoError(t, s.Integrations.Grants.EndAccess(ctx, id, now))
	require.NoError(t, s.Integrations.Consents.Give(ctx, integrations.Consent{UserID: id, AppID: id, GivenAt: now}))
	_, _ = s.Integrations.Consents.Find(ctx, id, id)
	for _, cursor := range []string{"", id} {
		_, err := s.Integrations.Consents.Page(ctx, id, page.Request{Number: 1, Size: 2, Cursor: cursor})
		require.NoError(t, err)
	}
	session := identity.NewSession(id, id, identity.Client{}, now)
	session.CookieHash = "h"
	require.NoError(t, s.Identity.Sessions.Create(ctx, session))
	_, err := s.Identity.Sessions.GetPrincipal(ctx, identity.SessionKey{CookieHash: "h"})
	require.NoError(t, err)
	require.NoError(t, s.Integrations.Consents.Withdraw(ctx, id, id))
	require.NoError(t, s.Integrations.Consents.DeleteOf(ctx, id))
	_, err = s.Integrations.Grants.Forget(ctx, now, 10)
	require.NoError(t, err)
	asked.useIndexes(t, db, "counted")
}
