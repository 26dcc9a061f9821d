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

// TestIntegrationsOAuth_Queries_UseIndexes checks which index serves each query of OAuth grants, their tokens and
// the consents of users, and that no query scans a table. A grant is what a user allowed an application; tokens
// and codes belong to a grant. Every request with a token looks up the token, with one statement.
//
// One id stands for the ids of all rows.
func TestIntegrationsOAuth_Queries_UseIndexes(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	storage := db.Storage().Integrations
	recorded := recordStatements(t, db.reader, db.writer)
	ctx := t.Context()
	id := uuid.NewString()
	now := time.Now().UTC()

	const maxApps, tokenHash = 9, "h"

	require.NoError(t, storage.Apps.Create(ctx, integrations.App{ID: id, OwnerID: id, Version: 1}, maxApps))

	// A token has its hash as the primary key. It is read together with its grant and its application.
	token := integrations.Token{Hash: tokenHash, GrantID: id}
	grant := integrations.Grant{ID: id, AppID: id, UserID: id, ExpiresAt: now}
	require.NoError(t, storage.Grants.Create(ctx, token, &grant))

	recorded.requireEachIndex(t, db, []string{primaryKey("oauth_tokens"), primaryKey("oauth_grants"), primaryKey("apps")}, func() {
		recorded.requireOneStatement(t, func() { _, _ = storage.Grants.Get(ctx, integrations.Access, tokenHash) })
	})

	// In a transaction, Get locks rows and uses another statement.
	recorded.requireIndex(t, db, primaryKey("oauth_tokens"), func() {
		require.NoError(t, db.Do(ctx, func(ctx context.Context) error {
			_, _ = storage.Grants.Get(ctx, integrations.Code, tokenHash)
			return nil
		}))
	})

	// Use marks a token as used, and with it the access tokens of its grant.
	recorded.requireEachIndex(t, db, []string{primaryKey("oauth_tokens"), "oauth_tokens_grant"}, func() {
		_, _ = storage.Grants.Use(ctx, id, tokenHash, now)
	})

	recorded.requireIndex(t, db, primaryKey("oauth_grants"), func() { require.NoError(t, storage.Grants.End(ctx, id, now)) })

	t.Run("consents", func(t *testing.T) { checkConsentIndexes(t, db, recorded, id) })
	t.Run("session that gives a consent", func(t *testing.T) { checkSessionIndexes(t, db, recorded) })

	// The deletion of expired rows.
	for _, expired := range []struct {
		kind  retention.Kind
		index string
	}{
		{kind: integrations.GrantsKind, index: "oauth_grants_expires"},
		{kind: integrations.TokensKind, index: "oauth_tokens_expires"},
	} {
		recorded.requireIndex(t, db, expired.index, func() {
			const maxDeleted = 10

			_, err := storage.Retention.DeleteBefore(ctx, expired.kind, now, maxDeleted)
			require.NoError(t, err)
		})
	}

	recorded.requireIndexes(t, db, totalOfList)
}

// checkConsentIndexes checks the queries of consents. The id is that of a user and of an existing application. The
// primary key of a consent is the user and the application.
func checkConsentIndexes(t *testing.T, db *DB, recorded *statements, id string) {
	t.Helper()

	consents := db.Storage().Integrations.Consents
	ctx := t.Context()
	now := time.Now().UTC()
	require.NoError(t, consents.Upsert(ctx, integrations.Consent{UserID: id, AppID: id, GivenAt: now}))

	// The consents of one user, to all applications or to one.
	const firstPage, allApps = "", ""

	for _, cursor := range []string{firstPage, id} {
		for _, appID := range []string{allApps, id} {
			recorded.requireIndex(t, db, primaryKey("oauth_consents"), func() {
				_, err := consents.List(ctx, []string{id}, appID, page.Request{Number: 1, Size: 2, Cursor: cursor})
				require.NoError(t, err)
			})
		}
	}

	// Those of several users to one application.
	recorded.requireIndex(t, db, "oauth_consents_app", func() {
		_, err := consents.List(ctx, []string{id, uuid.NewString()}, id, page.Request{Number: 1, Size: 500})
		require.NoError(t, err)
	})

	// A deletion also deletes the user's grants of the same applications.
	for _, filter := range []integrations.ConsentFilter{{AppID: id}, {Before: now}, {}} {
		recorded.requireEachIndex(t, db, []string{primaryKey("oauth_consents"), "oauth_grants_user", "oauth_tokens_grant"}, func() {
			_, err := consents.Delete(ctx, id, filter)
			require.NoError(t, err)
		})
	}
}

// checkSessionIndexes checks the query that finds the session of a browser's cookie, when a user is asked for a
// consent.
func checkSessionIndexes(t *testing.T, db *DB, recorded *statements) {
	t.Helper()

	storage := db.Storage().Identity
	ctx := t.Context()
	now := time.Now().UTC()
	user := identity.NewUser(uuid.NewString(), "a@example.org", "A", identity.KindJobseeker, "hash", now)
	require.NoError(t, storage.Users.Create(ctx, &user))

	session := identity.NewSession(uuid.NewString(), user.ID, identity.Client{}, now)
	session.CookieHash = "h"
	require.NoError(t, storage.Sessions.Create(ctx, session))

	recorded.requireIndex(t, db, primaryKey("browser_sessions"), func() {
		_, err := storage.Sessions.GetPrincipal(ctx, identity.SessionKey{CookieHash: session.CookieHash})
		require.NoError(t, err)
	})
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

	const allApps = ""

	for _, size := range []int{10, page.MaxExact} {
		firstPage := page.Request{Number: 1, Size: size}
		consents, err := storage.Consents.List(t.Context(), []string{user}, allApps, firstPage)
		require.NoError(t, err)
		require.Equal(t, page.MaxExact, consents.Total, "consents, page size %d", size)
		require.True(t, consents.TotalIsEstimate, "consents, page size %d", size)

		apps, err := storage.Apps.List(t.Context(), integrations.AppFilter{OwnerID: user}, firstPage)
		require.NoError(t, err)
		require.Equal(t, page.MaxExact, apps.Total, "applications, page size %d", size)
		require.True(t, apps.TotalIsEstimate, "applications, page size %d", size)
	}
}
