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

// TestIdentityQueries_UseIndexes checks which index serves each query of users, organizations, sessions, tokens and
// settings, and that no query scans a table.
//
// Where a row does not exist, the results and errors of the calls are ignored: the statements are the same.
func TestIdentityQueries_UseIndexes(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	recorded := recordStatements(t, db.reader, db.writer)
	now := time.Now().UTC()

	// One user has signed up, and one is invited to the organization.
	user := identity.NewUser(uuid.NewString(), "jo@example.org", "Jo", identity.KindJobseeker, "v", now)
	invited := identity.NewInvited(uuid.NewString(), "al@example.org", "Al", now)
	organization, founder := identity.NewOrganization(uuid.NewString(), uuid.NewString(), user.ID, "O", "", "", now)

	t.Run("users", func(t *testing.T) { checkUserIndexes(t, db, recorded, &user, &invited) })
	t.Run("organizations", func(t *testing.T) { checkOrganizationIndexes(t, db, recorded, &organization, founder, invited) })
	t.Run("sessions", func(t *testing.T) { checkUserSessionIndexes(t, db, recorded, user.ID) })
	t.Run("e-mail addresses", func(t *testing.T) { checkEmailIndexes(t, db, recorded, user) })
	t.Run("settings and audit log", func(t *testing.T) { checkSettingsAndAuditIndexes(t, db, recorded, user.ID) })
	t.Run("deletions", func(t *testing.T) { checkIdentityDeletions(t, db, recorded, organization.ID, user.ID, invited.ID) })

	const minStatements = 70 // a lower bound of the statements of all calls
	require.GreaterOrEqual(t, len(recorded.sql), minStatements, "each of the calls executes a statement")
	recorded.requireIndexes(t, db, totalOfList, constantRow)

	// The sessions of a user are found by an index. They are few, so that they may be sorted.
	*recorded = statements{}
	recorded.requireIndex(t, db, "sessions_user", func() {
		_, _ = db.Storage().Identity.Sessions.List(t.Context(), user.ID, now, page.Request{Number: 1, Size: 20})
	})
	recorded.requireIndexes(t, db, totalOfList, constantRow, allowSorting)
}

// checkUserIndexes creates the users, and checks the queries of identity.Users.
func checkUserIndexes(t *testing.T, db *DB, recorded *statements, user, invited *identity.User) {
	t.Helper()

	users := db.Storage().Identity.Users
	ctx := t.Context()
	now := time.Now().UTC()
	twoIDs := []string{user.ID, uuid.NewString()}

	// The second Create of a user finds the address, which identifies a user. It fails for a user that exists,
	// and changes one that is only invited.
	require.NoError(t, users.Create(ctx, user))
	recorded.requireIndex(t, db, "users_email_key", func() { _ = users.Create(ctx, user) })
	require.NoError(t, users.Create(ctx, invited))
	recorded.requireIndex(t, db, "users_email_key", func() { require.NoError(t, users.Create(ctx, invited)) })
	recorded.requireIndex(t, db, "users_email_key", func() { _, _ = users.GetByEmail(ctx, invited.Email) })

	// By id, where one id and several ids make different statements.
	byID := primaryKey("users")
	recorded.requireIndex(t, db, byID, func() { _, _ = users.GetForUpdate(ctx, user.ID) })
	recorded.requireIndex(t, db, byID, func() { _, _ = users.GetByIDs(ctx, twoIDs) })
	recorded.requireIndex(t, db, byID, func() { _, _ = users.GetByIDs(ctx, twoIDs[:1]) })
	recorded.requireIndex(t, db, byID, func() { _ = users.Update(ctx, user) })
	recorded.requireIndex(t, db, byID, func() {
		const oldVerifier, newVerifier = "v", "v" // of the password

		_, _ = users.RecordSignIn(ctx, uuid.NewString(), oldVerifier, newVerifier, now)
	})
}

// checkOrganizationIndexes creates the organization with its founder and an invited member, and checks the queries of
// identity.Organizations and identity.Members.
func checkOrganizationIndexes(t *testing.T, db *DB, recorded *statements, organization *identity.Organization,
	founder identity.Membership, invited identity.User,
) {
	t.Helper()

	organizations, members := db.Storage().Identity.Organizations, db.Storage().Identity.Members
	ctx := t.Context()
	now := time.Now().UTC()
	twoIDs := []string{uuid.NewString(), uuid.NewString()}

	// An Upsert creates the row, and the next one updates it.
	byID := primaryKey("organizations")

	require.NoError(t, organizations.Upsert(ctx, organization))
	recorded.requireIndex(t, db, byID, func() { require.NoError(t, organizations.Upsert(ctx, organization)) })
	recorded.requireIndex(t, db, byID, func() { _, _ = organizations.GetForUpdate(ctx, twoIDs[0]) })
	recorded.requireIndex(t, db, byID, func() { _, _ = organizations.GetByIDs(ctx, twoIDs) })

	// The primary key of a member is the organization and the user.
	byOrganizationAndUser := primaryKey("memberships")
	invitation := identity.NewInvitation(
		uuid.NewString(), organization.ID, invited.ID, invited.Name, invited.Email, identity.Viewer, now)

	require.NoError(t, members.Upsert(ctx, &founder))
	recorded.requireIndex(t, db, byOrganizationAndUser, func() { require.NoError(t, members.Upsert(ctx, &founder)) })
	require.NoError(t, members.Upsert(ctx, &invitation))
	recorded.requireIndex(t, db, byOrganizationAndUser, func() { _, _ = members.Get(ctx, organization.ID, founder.UserID) })

	// A user is an active member of at most one organization. The index contains only active members.
	recorded.requireIndex(t, db, "memberships_active_user", func() { _, _ = members.GetByUser(ctx, founder.UserID) })

	// The members of an organization, sorted by id.
	firstPage := page.Request{Number: 1, Size: 20}
	byNumber := page.Request{Number: 3, Size: 20}
	afterCursor := page.Request{Number: 1, Size: 20, Cursor: uuid.NewString()}

	for _, list := range []struct {
		filter  identity.MemberFilter
		request page.Request
	}{
		{filter: identity.MemberFilter{}, request: firstPage},
		{filter: identity.MemberFilter{UserIDs: twoIDs}, request: firstPage},
		{filter: identity.MemberFilter{Role: identity.Admin, Status: identity.MemberActive}, request: firstPage},
		{filter: identity.MemberFilter{}, request: byNumber},
		{filter: identity.MemberFilter{}, request: afterCursor},
	} {
		recorded.requireIndex(t, db, "memberships_team", func() {
			_, _ = members.List(ctx, organization.ID, list.filter, list.request)
		})
	}
}

// checkUserSessionIndexes creates a session and checks the queries of identity.Sessions.
func checkUserSessionIndexes(t *testing.T, db *DB, recorded *statements, userID string) {
	t.Helper()

	sessions := db.Storage().Identity.Sessions
	ctx := t.Context()
	now := time.Now().UTC()
	session := identity.NewSession(uuid.NewString(), userID, identity.Client{}, now)
	session.CookieHash = "h"
	refreshToken, _ := session.NewRefreshToken(now)

	require.NoError(t, sessions.Create(ctx, session, refreshToken))
	recorded.requireIndex(t, db, primaryKey("sessions"), func() {
		require.NoError(t, sessions.Update(ctx, session, refreshToken))
	})
	recorded.requireIndex(t, db, primaryKey("refresh_tokens"), func() { _, _ = sessions.GetRefreshToken(ctx, "h") })

	// EndByUsers ends all sessions of the users except one.
	recorded.requireIndex(t, db, "sessions_user", func() {
		keptSessionID := uuid.NewString()
		_ = sessions.EndByUsers(ctx, []string{uuid.NewString(), uuid.NewString()}, keptSessionID, now)
	})

	// The principal (the user, the session and the organization) is read for every signed-in request, with one
	// statement. A bearer token has the id of the session, and a browser has a cookie.
	recorded.requireIndex(t, db, primaryKey("sessions"), func() {
		recorded.requireOneStatement(t, func() {
			_, err := sessions.GetPrincipal(ctx, identity.SessionKey{ID: session.ID})
			require.NoError(t, err)
		})
	})
	recorded.requireIndex(t, db, primaryKey("browser_sessions"), func() {
		recorded.requireOneStatement(t, func() {
			_, _ = sessions.GetPrincipal(ctx, identity.SessionKey{CookieHash: session.CookieHash})
		})
	})
}

// checkEmailIndexes checks the queries of the tokens in e-mails and of the changes of e-mail addresses.
func checkEmailIndexes(t *testing.T, db *DB, recorded *statements, user identity.User) {
	t.Helper()

	mailTokens, emailChanges := db.Storage().Identity.MailTokens, db.Storage().Identity.EmailChanges
	ctx := t.Context()
	id := uuid.NewString()
	now := time.Now().UTC()

	// A token is found by its hash, and the invitations of a user by the user.
	mailToken, _ := identity.NewMailToken(user.ID, user.Email, identity.ForReset, now)
	require.NoError(t, mailTokens.Create(ctx, mailToken))

	oneToken := identity.MailTokenFilter{Hash: "h"}
	invitations := identity.MailTokenFilter{Purpose: identity.ForInvitation, OrganizationID: id}

	recorded.requireIndex(t, db, primaryKey("user_tokens"), func() { _, _ = mailTokens.Get(ctx, "h", identity.ForReset) })
	recorded.requireIndex(t, db, primaryKey("user_tokens"), func() { _, _ = mailTokens.MarkUsed(ctx, id, oneToken, now) })
	recorded.requireIndex(t, db, "user_tokens_user", func() { _, _ = mailTokens.MarkUsed(ctx, id, invitations, now) })

	// A user has one requested address, and may undo changes from earlier ones. An earlier address is reserved until
	// the change can no longer be undone.
	const otherEmail = "al@example.org"

	ofUser := []string{primaryKey("email_changes"), primaryKey("email_undos")}
	recorded.requireEachIndex(t, db, ofUser, func() {
		_ = emailChanges.Upsert(ctx, identity.EmailHistory{
			UserID:    user.ID,
			Requested: &identity.EmailChange{Email: otherEmail, RequestedAt: now},
			Undos:     []identity.EmailUndo{{Email: otherEmail, Key: otherEmail, ChangedAt: now, ExpiresAt: now}},
		})
	})
	recorded.requireEachIndex(t, db, ofUser, func() { _, _ = emailChanges.Get(ctx, user.ID) })
	recorded.requireIndex(t, db, "email_undos_key", func() { _, _ = emailChanges.IsReserved(ctx, otherEmail, id, now) })
}

// checkSettingsAndAuditIndexes checks the queries of second factors, settings, opt-outs and the audit log.
func checkSettingsAndAuditIndexes(t *testing.T, db *DB, recorded *statements, userID string) {
	t.Helper()

	storage := db.Storage().Identity
	ctx := t.Context()
	now := time.Now().UTC()

	// The second Upsert deletes one of two recovery codes.
	factor := identity.SecondFactor{UserID: userID, CreatedAt: now, RecoveryCodes: []string{uuid.NewString(), uuid.NewString()}}
	require.NoError(t, storage.SecondFactors.Upsert(ctx, factor))

	factor.RecoveryCodes = factor.RecoveryCodes[:1]
	ofUser := []string{primaryKey("second_factors"), primaryKey("recovery_codes")}

	recorded.requireIndex(t, db, primaryKey("recovery_codes"), func() {
		require.NoError(t, storage.SecondFactors.Upsert(ctx, factor))
	})
	recorded.requireEachIndex(t, db, ofUser, func() { _, _ = storage.SecondFactors.Get(ctx, userID) })
	recorded.requireEachIndex(t, db, ofUser, func() { _ = storage.SecondFactors.Delete(ctx, uuid.NewString()) })

	// Settings: the first Upsert creates the row, and the second one updates it.
	var settings identity.EmployerSettings

	recorded.requireIndex(t, db, primaryKey("employer_settings"), func() {
		settings, _ = storage.EmployerSettings.Get(ctx, userID)
	})

	_ = storage.EmployerSettings.Upsert(ctx, &settings)

	recorded.requireIndex(t, db, primaryKey("employer_settings"), func() { _ = storage.EmployerSettings.Upsert(ctx, &settings) })

	// Opt-outs from invitations, by the hash of a mailbox.
	_ = storage.OptOuts.Create(ctx, "m", now)

	recorded.requireIndex(t, db, primaryKey("invitation_opt_outs"), func() { _, _ = storage.OptOuts.Exists(ctx, "m") })

	// The audit log of an organization and that of a user, newest first.
	firstPage := page.Request{Number: 1, Size: 20}
	ofOrganization := audit.Filter{OrganizationID: uuid.NewString(), Action: audit.SignInFailed, From: now}
	ofActor := audit.Filter{Actor: userID}

	recorded.requireIndex(t, db, "audit_entries_organization", func() {
		_, _ = storage.AuditLog.List(ctx, ofOrganization, firstPage)
	})
	recorded.requireIndex(t, db, "audit_entries_actor", func() { _, _ = storage.AuditLog.List(ctx, ofActor, firstPage) })
}

// checkIdentityDeletions checks the deletions of users, of members and of expired rows.
func checkIdentityDeletions(t *testing.T, db *DB, recorded *statements, organizationID, userID, invitedID string) {
	t.Helper()

	storage := db.Storage().Identity
	ctx := t.Context()
	now := time.Now().UTC()

	// The invitations of an invited user, with their tokens, are moved to an account.
	recorded.requireEachIndex(t, db, []string{"memberships_user", "user_tokens_user"}, func() {
		_ = storage.Members.MergeInvited(ctx, invitedID, userID)
	})

	// Members are deleted together with their invitations, and with users who are only invited.
	recorded.requireEachIndex(t, db, []string{primaryKey("memberships"), "user_tokens_organization", "memberships_user"}, func() {
		_ = storage.Members.Delete(ctx, organizationID, []string{uuid.NewString(), uuid.NewString()})
	})

	ofUser := []string{
		"memberships_user", "sessions_user", "user_tokens_user",
		primaryKey("email_changes"), primaryKey("email_undos"), primaryKey("employer_settings"),
		primaryKey("recovery_codes"), primaryKey("second_factors"),
	}
	recorded.requireEachIndex(t, db, ofUser, func() { _ = storage.PersonalData.DeleteByUser(ctx, uuid.NewString()) })

	const maxDeleted = 10

	inAYear := now.Add(365 * 24 * time.Hour) // when everything has expired
	for kind := range identityExpiry {
		_, err := storage.Retention.DeleteBefore(ctx, kind, inAYear, maxDeleted)
		require.NoError(t, err)
	}

	recorded.requireIndex(t, db, "audit_entries_at", func() {
		_, _ = storage.Retention.DeleteBefore(ctx, audit.Entries, now, maxDeleted)
	})
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
