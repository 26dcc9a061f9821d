package gormdb

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
)

// statements records the statements that a database receives, except for inserts.
type statements struct {
	sql  []string
	vars [][]any // the values of each statement
}

// recordStatements returns the statements that the pools receive from now on.
func recordStatements(t *testing.T, pools ...*gorm.DB) *statements {
	t.Helper()
	s := &statements{}
	keep := func(g *gorm.DB) {
		if g.DryRun { // a subquery
			return
		}
		s.sql, s.vars = append(s.sql, g.Statement.SQL.String()), append(s.vars, g.Statement.Vars)
	}
	for _, pool := range pools {
		c := pool.Callback()
		require.NoError(t, c.Query().After("gorm:query").Register("test:query", keep))
		require.NoError(t, c.Row().After("gorm:row").Register("test:row", keep))
		require.NoError(t, c.Raw().After("gorm:raw").Register("test:raw", keep))
		require.NoError(t, c.Update().After("gorm:update").Register("test:update", keep))
		require.NoError(t, c.Delete().After("gorm:delete").Register("test:delete", keep))
	}
	return s
}

// useIndexes checks the plan of every statement on SQLite: no table is scanned, and nothing is
// sorted that an index could sort. scanned are the texts of scans in the plan that are allowed,
// such as the names of subqueries with few rows. The name "sorted" allows sorting.
func (s *statements) useIndexes(t *testing.T, db *DB, scanned ...string) {
	t.Helper()
	for i, sql := range s.sql {
		var plan []struct{ Detail string }
		require.NoError(t, db.reader.Raw("EXPLAIN QUERY PLAN "+sql, s.vars[i]...).Scan(&plan).Error, sql)
		for _, step := range plan {
			what, bare := strings.CutPrefix(step.Detail, "SCAN ")
			// Json_each scans a list in a parameter.
			inner := slices.Contains(scanned, what) || strings.HasPrefix(what, "json_each ")
			require.False(t, bare && !inner, "%s\n%s", step.Detail, sql)
			if !slices.Contains(scanned, "sorted") {
				require.NotContains(t, step.Detail, "TEMP B-TREE", sql)
			}
		}
	}
}

// TestIdentityQueries_UseIndexes checks that no query of users, sessions and organizations scans
// a table. Errors of statements whose rows do not exist are ignored: their plans count.
func TestIdentityQueries_UseIndexes(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	storage := db.Storage().Identity
	asked := recordStatements(t, db.reader, db.writer)
	ctx, id, now := t.Context(), uuid.NewString(), time.Now().UTC()
	two, first := []string{id, uuid.NewString()}, page.Request{Number: 1, Size: 20}

	user := identity.NewUser(uuid.NewString(), "jo@example.org", "Jo", identity.KindJobseeker, "v", now)
	require.NoError(t, storage.Users.Create(ctx, &user))
	_ = storage.Users.Create(ctx, &user)
	invited := identity.NewInvited(id, "al@example.org", "Al", now)
	require.NoError(t, storage.Users.Create(ctx, &invited))
	require.NoError(t, storage.Users.Create(ctx, &invited))
	_, _ = storage.Users.GetForUpdate(ctx, id)
	_, _ = storage.Users.GetByEmail(ctx, "al@example.org")
	_, _ = storage.Users.GetByIDs(ctx, two)
	_, _ = storage.Users.GetByIDs(ctx, two[:1])
	_, _ = storage.Users.RecordSignIn(ctx, id, "v", "v", now)
	_ = storage.Users.Update(ctx, &user)
	organization, founder := identity.NewOrganization(uuid.NewString(), uuid.NewString(), user.ID, "O", "", "", now)
	require.NoError(t, storage.Organizations.Upsert(ctx, &organization))
	require.NoError(t, storage.Organizations.Upsert(ctx, &organization))
	_, _ = storage.Organizations.GetForUpdate(ctx, id)
	_, _ = storage.Organizations.GetByIDs(ctx, two)
	require.NoError(t, storage.Members.Upsert(ctx, &founder))
	require.NoError(t, storage.Members.Upsert(ctx, &founder))
	member := identity.NewInvitation(uuid.NewString(), organization.ID, invited.ID, "Al", "al@example.org", identity.Viewer, now)
	require.NoError(t, storage.Members.Upsert(ctx, &member))
	_, _ = storage.Members.Get(ctx, organization.ID, user.ID)
	_, _ = storage.Members.GetByUser(ctx, user.ID)
	for _, f := range []identity.MemberFilter{{}, {UserIDs: two}, {Role: identity.Admin, Status: identity.MemberActive}} {
		_, _ = storage.Members.List(ctx, organization.ID, f, first)
	}
	_, _ = storage.Members.List(ctx, organization.ID, identity.MemberFilter{}, page.Request{Number: 3, Size: 20})
	_, _ = storage.Members.List(ctx, organization.ID, identity.MemberFilter{}, page.Request{Number: 1, Size: 20, Cursor: id})
	session := identity.NewSession(uuid.NewString(), user.ID, identity.Client{}, now)
	token, _ := session.NewRefreshToken(now)
	session.CookieHash = "h"
	require.NoError(t, storage.Sessions.Create(ctx, session, token))
	require.NoError(t, storage.Sessions.Update(ctx, session, token))
	_ = storage.Sessions.EndByUsers(ctx, two, id, now)
	_, _ = storage.Sessions.GetRefreshToken(ctx, "h")
	mailed, _ := identity.NewMailToken(user.ID, user.Email, identity.ForReset, now)
	require.NoError(t, storage.MailTokens.Create(ctx, mailed))
	_, _ = storage.MailTokens.Get(ctx, "h", identity.ForReset)
	_, _ = storage.MailTokens.MarkUsed(ctx, id, identity.MailTokenFilter{Hash: "h"}, now)
	_, _ = storage.MailTokens.MarkUsed(ctx, id, identity.MailTokenFilter{Purpose: identity.ForInvitation, OrganizationID: id}, now)
	_ = storage.EmailChanges.Upsert(ctx, identity.EmailHistory{
		UserID: user.ID, Requested: &identity.EmailChange{Email: "al@example.org", RequestedAt: now},
		Undos: []identity.EmailUndo{{Email: "al@example.org", Key: "al@example.org", ChangedAt: now, ExpiresAt: now}},
	})
	_, _ = storage.EmailChanges.Get(ctx, user.ID)
	_, _ = storage.EmailChanges.IsReserved(ctx, "al@example.org", id, now)
	require.NoError(t, storage.SecondFactors.Upsert(ctx, identity.SecondFactor{UserID: user.ID, CreatedAt: now, RecoveryCodes: two}))
	require.NoError(t, storage.SecondFactors.Upsert(ctx, identity.SecondFactor{UserID: user.ID, CreatedAt: now, RecoveryCodes: two[:1]}))
	_, _ = storage.SecondFactors.Get(ctx, user.ID)
	_ = storage.SecondFactors.Delete(ctx, id)
	settings, _ := storage.EmployerSettings.Get(ctx, user.ID)
	_ = storage.EmployerSettings.Upsert(ctx, &settings)
	_ = storage.EmployerSettings.Upsert(ctx, &settings)
	_ = storage.OptOuts.Create(ctx, "m", now)
	_, _ = storage.OptOuts.Exists(ctx, "m")
	_, _ = storage.AuditLog.List(ctx, audit.Filter{OrganizationID: id, Action: audit.SignInFailed, From: now}, first)
	_, _ = storage.AuditLog.List(ctx, audit.Filter{Actor: id}, first)
	before := len(asked.sql)
	_, err := storage.Sessions.GetPrincipal(ctx, identity.SessionKey{ID: session.ID})
	require.NoError(t, err)
	require.Len(t, asked.sql, before+1, "this is read for every signed-in request")
	_, _ = storage.Sessions.GetPrincipal(ctx, identity.SessionKey{CookieHash: "h"})
	require.Len(t, asked.sql, before+2)
	_ = storage.Members.MergeInvited(ctx, invited.ID, user.ID)
	_ = storage.Members.Delete(ctx, organization.ID, two)
	_ = storage.PersonalData.DeleteByUser(ctx, id)
	for kind := range identityExpiry {
		_, err := storage.Retention.DeleteBefore(ctx, kind, now.Add(365*24*time.Hour), 10)
		require.NoError(t, err)
	}
	_, _ = storage.Retention.DeleteBefore(ctx, audit.Entries, now, 10)
	require.GreaterOrEqual(t, len(asked.sql), 70)

	asked.useIndexes(t, db, "CONSTANT ROW", "counted")
	asked.sql, asked.vars = nil, nil
	_, _ = storage.Sessions.List(ctx, user.ID, now, first)
	asked.useIndexes(t, db, "CONSTANT ROW", "counted", "sorted") // the few sessions of a user
}

// TestTotals_MoreThanMaxExact checks that the total of a longer list is page.MaxExact, marked as
// an estimate: counting stops one row later, and that row must not be in the total.
func TestTotals_MoreThanMaxExact(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	storage, now := db.Storage().Identity, time.Now().UTC()
	user := identity.NewUser(uuid.NewString(), "jo@example.org", "Jo", identity.KindEmployer, "v", now)
	require.NoError(t, storage.Users.Create(t.Context(), &user))
	organization, _ := identity.NewOrganization(uuid.NewString(), "", "", "O", "", "", now)
	require.NoError(t, storage.Organizations.Upsert(t.Context(), &organization))
	// This inserts page.MaxExact+1 rows, one for each number i.
	const number = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= ?) "
	for _, statement := range []string{
		number + "INSERT INTO sessions (id, user_id, address, user_agent, created_at, last_used_at, expires_at) SELECT 's' || i, ?, '', '', ?, ?, ? FROM n",
		number + "INSERT INTO audit_entries (id, actor, at, action, network, object, detail) SELECT 'a' || i, ?, ?, 'x', '', '', '' FROM n",
		number + "INSERT INTO users (id, email, email_key, kind, status, password_hash, version, name, created_at, updated_at) SELECT 'u' || i, 'u' || i, 'u' || i, 'employer', 'active', 'v', 1, ?, ?, ? FROM n",
		number + "INSERT INTO memberships (id, user_id, role, permissions, founder, status, invited_name, invited_email, version, organization_id, created_at, updated_at) SELECT 'm' || i, 'u' || i, 'viewer', '', FALSE, 'active', '', '', 1, ?, ?, ? FROM n",
	} {
		values := []any{page.MaxExact, user.ID, now, now, now.Add(time.Hour)}
		if strings.Contains(statement, "memberships") {
			values[1] = organization.ID
		}
		require.NoError(t, db.writer.Exec(statement, values[:strings.Count(statement, "?")]...).Error)
	}
	first := page.Request{Number: 1, Size: 1}
	members, err := storage.Members.List(t.Context(), organization.ID, identity.MemberFilter{}, first)
	require.NoError(t, err)
	require.Equal(t, page.MaxExact, members.Total)
	require.True(t, members.TotalIsEstimate)
	sessions, err := storage.Sessions.List(t.Context(), user.ID, now, first)
	require.NoError(t, err)
	require.Equal(t, page.MaxExact, sessions.Total)
	require.True(t, sessions.TotalIsEstimate)
	entries, err := storage.AuditLog.List(t.Context(), audit.Filter{Actor: user.ID}, first)
	require.NoError(t, err)
	require.Equal(t, page.MaxExact, entries.Total)
	require.True(t, entries.TotalIsEstimate)
}
