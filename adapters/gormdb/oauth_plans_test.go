package gormdb

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
)

// TestIntegrationsOAuth_Queries_UseIndexes checks that no query of grants, tokens and consents
// scans a table, and that a token is found with one statement. One id stands for the ids of all rows.
func TestIntegrationsOAuth_Queries_UseIndexes(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	storage := db.Storage()
	recorded := recordStatements(t, db.reader, db.writer)
	ctx := t.Context()
	id := uuid.NewString()
	now := time.Now().UTC()

	const limit = 9
	require.NoError(t, storage.Integrations.Apps.Create(ctx, integrations.App{ID: id, OwnerID: id, Version: 1}, limit))

	// Grants and tokens.
	token := integrations.Token{Hash: "h", GrantID: id}
	grant := integrations.Grant{ID: id, AppID: id, UserID: id, ExpiresAt: now}
	require.NoError(t, storage.Integrations.Grants.Create(ctx, token, &grant))

	// Every request with a token executes this statement.
	recorded.requireOneStatement(t, func() { _, _ = storage.Integrations.Grants.Get(ctx, integrations.Access, "h") })

	// In a transaction, Get locks rows and uses another statement.
	require.NoError(t, db.Do(ctx, func(ctx context.Context) error {
		_, _ = storage.Integrations.Grants.Get(ctx, integrations.Code, "h")
		return nil
	}))

	_, _ = storage.Integrations.Grants.Use(ctx, id, "h", now)
	require.NoError(t, storage.Integrations.Grants.End(ctx, id, now))

	// Consents.
	require.NoError(t, storage.Integrations.Consents.Upsert(ctx, integrations.Consent{UserID: id, AppID: id, GivenAt: now}))

	const firstPage, allApps = "", ""

	for _, cursor := range []string{firstPage, id} {
		for _, appID := range []string{allApps, id} {
			_, err := storage.Integrations.Consents.List(ctx, []string{id}, appID, page.Request{Number: 1, Size: 2, Cursor: cursor})
			require.NoError(t, err)
		}
	}

	_, err := storage.Integrations.Consents.List(ctx, []string{id, uuid.NewString()}, id, page.Request{Number: 1, Size: 500})
	require.NoError(t, err)

	// A session, which is read before a user gives a consent.
	user := identity.NewUser(id, "a@example.org", "A", identity.KindJobseeker, "hash", now)
	require.NoError(t, storage.Identity.Users.Create(ctx, &user))

	session := identity.NewSession(id, id, identity.Client{}, now)
	session.CookieHash = "h"
	require.NoError(t, storage.Identity.Sessions.Create(ctx, session))

	_, err = storage.Identity.Sessions.GetPrincipal(ctx, identity.SessionKey{CookieHash: "h"})
	require.NoError(t, err)

	// Deletions.
	for _, filter := range []integrations.ConsentFilter{{AppID: id}, {Before: now}, {}} {
		_, err := storage.Integrations.Consents.Delete(ctx, id, filter)
		require.NoError(t, err)
	}

	for _, kind := range []retention.Kind{integrations.GrantsKind, integrations.TokensKind} {
		_, err = storage.Integrations.Retention.DeleteBefore(ctx, kind, now, 10)
		require.NoError(t, err)
	}

	// The total of a list is the number of rows of a subquery named counted, whose size is limited.
	recorded.requireIndexes(t, db, "counted")
}

// TestTotals_MoreAppsThanMaxExact_AreEstimates checks that rows are counted exactly up to
// page.MaxExact. The total of a list with page.MaxExact+1 rows is page.MaxExact, marked as an estimate,
// also if the page itself has page.MaxExact rows.
func TestTotals_MoreAppsThanMaxExact_AreEstimates(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	storage := db.Storage().Integrations
	now := time.Now().UTC()
	user := uuid.NewString()

	// An application for each number i from 0 to page.MaxExact.
	require.NoError(t, db.writer.Exec(`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		INSERT INTO apps (id, owner_id, name, description, public, secret_hash, plan, redirect_uris, created_at, updated_at, version)
		SELECT printf('00000000-0000-7000-8000-%012d', i), ?, 'a', '', false, '', 'free', '[]', ?, ?, 1 FROM n`,
		page.MaxExact, user, now, now).Error)
	require.NoError(t, db.writer.Exec(`INSERT INTO oauth_consents (user_id, app_id, scopes, given_at)
		SELECT owner_id, id, '', created_at FROM apps`).Error)

	for _, size := range []int{10, page.MaxExact} {
		consents, err := storage.Consents.List(t.Context(), []string{user}, "", page.Request{Number: 1, Size: size})
		require.NoError(t, err)
		require.Equal(t, page.MaxExact, consents.Total)
		require.True(t, consents.TotalIsEstimate)

		apps, err := storage.Apps.List(t.Context(), integrations.AppFilter{OwnerID: user}, page.Request{Number: 1, Size: size})
		require.NoError(t, err)
		require.Equal(t, page.MaxExact, apps.Total)
		require.True(t, apps.TotalIsEstimate)
	}
}
