package gormdb

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
)

// TestIdentityQueries_UseIndexes checks that no query of users, sessions and organizations scans
// a table. The test calls every method, records the statements, and reads their plans at its end.
// Results and errors are ignored where a row does not exist: only the statements matter.
func TestIdentityQueries_UseIndexes(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	storage := db.Storage().Identity
	recorded := recordStatements(t, db.reader, db.writer)
	ctx := t.Context()
	id := uuid.NewString()
	now := time.Now().UTC()
	twoIDs := []string{id, uuid.NewString()}
	firstPage := page.Request{Number: 1, Size: 20}

	// Users. The second Create finds the address of the first one.
	user := identity.NewUser(uuid.NewString(), "jo@example.org", "Jo", identity.KindJobseeker, "v", now)
	require.NoError(t, storage.Users.Create(ctx, &user))

	_ = storage.Users.Create(ctx, &user)

	invited := identity.NewInvited(id, "al@example.org", "Al", now)
	require.NoError(t, storage.Users.Create(ctx, &invited))
	require.NoError(t, storage.Users.Create(ctx, &invited))

	_, _ = storage.Users.GetForUpdate(ctx, id)
	_, _ = storage.Users.GetByEmail(ctx, "al@example.org")
	_, _ = storage.Users.GetByIDs(ctx, twoIDs)
	_, _ = storage.Users.GetByIDs(ctx, twoIDs[:1])
	_, _ = storage.Users.RecordSignIn(ctx, id, "v", "v", now)
	_ = storage.Users.Update(ctx, &user)

	// Organizations and members. An Upsert creates the row, and the next one updates it.
	organization, founder := identity.NewOrganization(uuid.NewString(), uuid.NewString(), user.ID, "O", "", "", now)
	require.NoError(t, storage.Organizations.Upsert(ctx, &organization))
	require.NoError(t, storage.Organizations.Upsert(ctx, &organization))

	_, _ = storage.Organizations.GetForUpdate(ctx, id)
	_, _ = storage.Organizations.GetByIDs(ctx, twoIDs)

	member := identity.NewInvitation(uuid.NewString(), organization.ID, invited.ID, "Al", "al@example.org", identity.Viewer, now)

	require.NoError(t, storage.Members.Upsert(ctx, &founder))
	require.NoError(t, storage.Members.Upsert(ctx, &founder))
	require.NoError(t, storage.Members.Upsert(ctx, &member))

	_, _ = storage.Members.Get(ctx, organization.ID, user.ID)
	_, _ = storage.Members.GetByUser(ctx, user.ID)

	for _, filter := range []identity.MemberFilter{{}, {UserIDs: twoIDs}, {Role: identity.Admin, Status: identity.MemberActive}} {
		_, _ = storage.Members.List(ctx, organization.ID, filter, firstPage)
	}

	_, _ = storage.Members.List(ctx, organization.ID, identity.MemberFilter{}, page.Request{Number: 3, Size: 20})
	_, _ = storage.Members.List(ctx, organization.ID, identity.MemberFilter{}, page.Request{Number: 1, Size: 20, Cursor: id})

	// Sessions.
	session := identity.NewSession(uuid.NewString(), user.ID, identity.Client{}, now)
	session.CookieHash = "h"
	refreshToken, _ := session.NewRefreshToken(now)
	require.NoError(t, storage.Sessions.Create(ctx, session, refreshToken))
	require.NoError(t, storage.Sessions.Update(ctx, session, refreshToken))

	_ = storage.Sessions.EndByUsers(ctx, twoIDs, id, now)
	_, _ = storage.Sessions.GetRefreshToken(ctx, "h")

	// Tokens in e-mails, and changes of the address.
	mailToken, _ := identity.NewMailToken(user.ID, user.Email, identity.ForReset, now)
	require.NoError(t, storage.MailTokens.Create(ctx, mailToken))

	_, _ = storage.MailTokens.Get(ctx, "h", identity.ForReset)
	_, _ = storage.MailTokens.MarkUsed(ctx, id, identity.MailTokenFilter{Hash: "h"}, now)
	_, _ = storage.MailTokens.MarkUsed(ctx, id, identity.MailTokenFilter{Purpose: identity.ForInvitation, OrganizationID: id}, now)

	_ = storage.EmailChanges.Upsert(ctx, identity.EmailHistory{
		UserID:    user.ID,
		Requested: &identity.EmailChange{Email: "al@example.org", RequestedAt: now},
		Undos:     []identity.EmailUndo{{Email: "al@example.org", Key: "al@example.org", ChangedAt: now, ExpiresAt: now}},
	})
	_, _ = storage.EmailChanges.Get(ctx, user.ID)
	_, _ = storage.EmailChanges.IsReserved(ctx, "al@example.org", id, now)

	// Second factors. The second Upsert deletes a recovery code.
	factor := identity.SecondFactor{UserID: user.ID, CreatedAt: now, RecoveryCodes: twoIDs}
	require.NoError(t, storage.SecondFactors.Upsert(ctx, factor))

	factor.RecoveryCodes = twoIDs[:1]
	require.NoError(t, storage.SecondFactors.Upsert(ctx, factor))

	_, _ = storage.SecondFactors.Get(ctx, user.ID)
	_ = storage.SecondFactors.Delete(ctx, id)

	// Settings, opt-outs and the audit log.
	settings, _ := storage.EmployerSettings.Get(ctx, user.ID)
	_ = storage.EmployerSettings.Upsert(ctx, &settings)
	_ = storage.EmployerSettings.Upsert(ctx, &settings)
	_ = storage.OptOuts.Create(ctx, "m", now)
	_, _ = storage.OptOuts.Exists(ctx, "m")
	_, _ = storage.AuditLog.List(ctx, audit.Filter{OrganizationID: id, Action: audit.SignInFailed, From: now}, firstPage)
	_, _ = storage.AuditLog.List(ctx, audit.Filter{Actor: id}, firstPage)

	// A principal is read for every signed-in request.
	recorded.requireOneStatement(t, func() {
		_, err := storage.Sessions.GetPrincipal(ctx, identity.SessionKey{ID: session.ID})
		require.NoError(t, err)
	})
	recorded.requireOneStatement(t, func() {
		_, _ = storage.Sessions.GetPrincipal(ctx, identity.SessionKey{CookieHash: "h"})
	})

	// Deletions.
	_ = storage.Members.MergeInvited(ctx, invited.ID, user.ID)
	_ = storage.Members.Delete(ctx, organization.ID, twoIDs)
	_ = storage.PersonalData.DeleteByUser(ctx, id)

	inAYear := now.Add(365 * 24 * time.Hour) // everything has expired
	for kind := range identityExpiry {
		_, err := storage.Retention.DeleteBefore(ctx, kind, inAYear, 10)
		require.NoError(t, err)
	}

	_, _ = storage.Retention.DeleteBefore(ctx, audit.Entries, now, 10)

	require.GreaterOrEqual(t, len(recorded.sql), 70, "each of the calls executes a statement")

	// A constant row is no table. The total of a list is the number of rows of a subquery named counted,
	// whose size is limited.
	recorded.requireIndexes(t, db, "CONSTANT ROW", "counted")

	// The few sessions of a user may be sorted.
	*recorded = statements{}
	_, _ = storage.Sessions.List(ctx, user.ID, now, firstPage)

	recorded.requireIndexes(t, db, "CONSTANT ROW", "counted", allowSorting)
}

// TestTotals_MoreRowsThanMaxExact_AreEstimates checks that rows are counted exactly up to
// page.MaxExact. The total of a list with page.MaxExact+1 rows is page.MaxExact, marked as an estimate.
// The query counts the additional row, too, but the total must not contain it.
func TestTotals_MoreRowsThanMaxExact_AreEstimates(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	storage := db.Storage().Identity
	now := time.Now().UTC()
	user := identity.NewUser(uuid.NewString(), "jo@example.org", "Jo", identity.KindEmployer, "v", now)
	require.NoError(t, storage.Users.Create(t.Context(), &user))

	organization, _ := identity.NewOrganization(uuid.NewString(), "", "", "O", "", "", now)
	require.NoError(t, storage.Organizations.Upsert(t.Context(), &organization))

	// Each statement inserts a row for each number i from 1 to page.MaxExact+1.
	// The condition i <= ? has the value page.MaxExact.
	const numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= ?) "
	insert := func(statement string, values ...any) {
		t.Helper()
		require.NoError(t, db.writer.Exec(numbers+statement, append([]any{page.MaxExact}, values...)...).Error)
	}

	insert(`INSERT INTO sessions (id, user_id, address, user_agent, created_at, last_used_at, expires_at)
		SELECT 's' || i, ?, '', '', ?, ?, ? FROM n`, user.ID, now, now, now.Add(time.Hour))
	insert(`INSERT INTO audit_entries (id, actor, at, action, network, object, detail)
		SELECT 'a' || i, ?, ?, 'x', '', '', '' FROM n`, user.ID, now)
	insert(`INSERT INTO users (id, email, email_key, kind, status, password_hash, version, name, created_at, updated_at)
		SELECT 'u' || i, 'u' || i, 'u' || i, 'employer', 'active', 'v', 1, 'Jo', ?, ? FROM n`, now, now)
	insert(`INSERT INTO memberships (id, user_id, role, permissions, founder, status, invited_name, invited_email, version,
			organization_id, created_at, updated_at)
		SELECT 'm' || i, 'u' || i, 'viewer', '', FALSE, 'active', '', '', 1, ?, ?, ? FROM n`, organization.ID, now, now)

	firstPage := page.Request{Number: 1, Size: 1}
	members, err := storage.Members.List(t.Context(), organization.ID, identity.MemberFilter{}, firstPage)
	require.NoError(t, err)
	require.Equal(t, page.MaxExact, members.Total)
	require.True(t, members.TotalIsEstimate)

	sessions, err := storage.Sessions.List(t.Context(), user.ID, now, firstPage)
	require.NoError(t, err)
	require.Equal(t, page.MaxExact, sessions.Total)
	require.True(t, sessions.TotalIsEstimate)

	entries, err := storage.AuditLog.List(t.Context(), audit.Filter{Actor: user.ID}, firstPage)
	require.NoError(t, err)
	require.Equal(t, page.MaxExact, entries.Total)
	require.True(t, entries.TotalIsEstimate)
}
