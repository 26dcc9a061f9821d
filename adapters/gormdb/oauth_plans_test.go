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
	require.NoError(t, s.Users.Add(ctx, &u))
	require.NoError(t, s.Apps.Add(ctx, integrations.App{ID: id, OwnerID: id, Version: 1}))
	require.NoError(t, s.Grants.Add(ctx, integrations.Grant{ID: id, AppID: id, UserID: id, ExpiresAt: now}, integrations.Token{Hash: "h", GrantID: id}))
	_, _, _ = s.Grants.Find(ctx, integrations.Code, "h")
	_, _, _, _ = s.Grants.Access(ctx, "h")
	_, _ = s.Grants.Spend(ctx, "h", now)
	require.NoError(t, s.Grants.End(ctx, id, now))
	require.NoError(t, s.Grants.EndAccess(ctx, id, now))
	require.NoError(t, s.Consents.Give(ctx, integrations.Consent{UserID: id, AppID: id, GivenAt: now}))
	_, _ = s.Consents.Find(ctx, id, id)
	for _, cursor := range []string{"", id} {
		_, err := s.Consents.Page(ctx, id, page.Request{Number: 1, Size: 2, Cursor: cursor})
		require.NoError(t, err)
	}
	require.NoError(t, s.Browsers.Open(ctx, identity.NewSession(id, id, identity.Client{}, now), "h"))
	_, err := s.Browsers.Principal(ctx, "h")
	require.NoError(t, err)
	require.NoError(t, s.Consents.Withdraw(ctx, id, id))
	require.NoError(t, s.Consents.DeleteOf(ctx, id))
	_, err = s.Grants.Forget(ctx, now, 10)
	require.NoError(t, err)
	asked.useIndexes(t, db, "counted")
}
