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

// statements keeps what the database is asked.
type statements struct {
	sql  []string
	vars [][]any
}

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

// useIndexes holds every statement to its plan on SQLite: no table is walked, and
// nothing is sorted that an index could have. What may be walked are the results
// of inner queries, by their names.
func (s *statements) useIndexes(t *testing.T, db *DB, walked ...string) {
	t.Helper()
	for i, sql := range s.sql {
		var plan []struct{ Detail string }
		require.NoError(t, db.gorm.Raw("EXPLAIN QUERY PLAN "+sql, s.vars[i]...).Scan(&plan).Error, sql)
		for _, step := range plan {
			what, bare := strings.CutPrefix(step.Detail, "SCAN ")
			inner := slices.Contains(walked, what) || strings.HasPrefix(what, "json_each ")
			require.False(t, bare && !inner, "%s\n%s", step.Detail, sql)
			if !slices.Contains(walked, "sorted") {
				require.NotContains(t, step.Detail, "TEMP B-TREE", sql)
			}
		}
	}
}

func TestEveryIdentityQueryFindsItsRowsByAnIndex(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	s := db.Storage()
	asked := recordStatements(t, db.gorm, db.writer)
	ctx, id, now := t.Context(), uuid.NewString(), time.Now().UTC()

	u := identity.NewUser(uuid.NewString(), "jo@example.org", "Jo", identity.KindJobseeker, "v", now)
	require.NoError(t, s.Identity.Users.Add(ctx, &u))
	_, _ = s.Identity.Users.Invite(ctx, u)
	_, _ = s.Identity.Users.Find(ctx, id)
	_, _ = s.Identity.Users.FindByEmail(ctx, "al@example.org")
	_, _ = s.Identity.Users.People(ctx, []string{id, u.ID})
	_, _ = s.Identity.Users.SignIn(ctx, id, "v", "v", now)
	_ = s.Identity.Users.Save(ctx, &u)
	_, _ = s.Identity.Organizations.Find(ctx, id)
	_ = s.Identity.Organizations.Lock(ctx, id)
	_, _ = s.Identity.Organizations.Member(ctx, id, id)
	_, _ = s.Identity.Organizations.MembershipOf(ctx, id)
	_, _ = s.Identity.Organizations.Members(ctx, id, []string{id, u.ID})
	_, _ = s.Identity.SecondFactors.Get(ctx, id)
	_, _ = s.Identity.SecondFactors.AdvanceStep(ctx, id, 1)
	_, _ = s.Identity.SecondFactors.UseRecoveryCode(ctx, id, "h")
	_, _ = s.Identity.SecondFactors.CountRecoveryCodes(ctx, id)
	_ = s.Identity.SecondFactors.Delete(ctx, id)
	_, _ = s.Identity.AuditLog.List(ctx, audit.Filter{OrganizationID: id, Action: audit.SignInFailed, From: now}, page.Request{Number: 1, Size: 20})
	_, _ = s.Identity.AuditLog.List(ctx, audit.Filter{Actor: id}, page.Request{Number: 1, Size: 20})
	_, _ = s.Identity.Retention.DeleteBefore(ctx, audit.Entries, now, 10)
	_ = s.Identity.Organizations.SaveMember(ctx, &identity.Membership{OrganizationID: id, UserID: id})
	_ = s.Identity.Organizations.RemoveMember(ctx, id, id)
	_, _ = s.Identity.Organizations.HasOtherAdmin(ctx, id, id)
	_, _ = s.Identity.Organizations.Team(ctx, id, page.Request{Number: 3, Size: 20})
	_, _ = s.Identity.Organizations.Team(ctx, id, page.Request{Number: 1, Size: 20, Cursor: id})
	_, _ = s.Identity.Sessions.Use(ctx, id, now)
	_ = s.Identity.Sessions.End(ctx, id, id, now)
	_ = s.Identity.Sessions.EndAll(ctx, id, id, now)
	_, _ = s.Identity.Sessions.FindRefresh(ctx, "h")
	_, _ = s.Identity.Sessions.SpendRefresh(ctx, "h", now)
	_, _ = s.Identity.Sessions.Forget(ctx, now, 10)
	_, _ = s.Identity.MailTokens.Forget(ctx, now, 10)
	_, _ = s.Identity.MailTokens.Find(ctx, "h", identity.ForReset)
	_, _ = s.Identity.MailTokens.Spend(ctx, id, "h", now)
	_ = s.Identity.MailTokens.SpendAll(ctx, id, identity.ForInvitation, id, now)
	_ = s.Identity.MailTokens.Remove(ctx, id)
	_ = s.Identity.Sessions.Remove(ctx, id)
	_ = s.Identity.Users.Absorb(ctx, id, u.ID)
	_ = s.Identity.Organizations.RemoveMemberships(ctx, id)
	_ = s.Identity.Organizations.Dissolve(ctx, id, now)
	_, _ = s.Identity.Organizations.ForgetInvitations(ctx, now, 10)
	_ = s.Identity.Organizations.Save(ctx, &identity.Organization{ID: id})
	_ = s.Identity.EmailChanges.Put(ctx, identity.EmailChange{UserID: u.ID, Email: "al@example.org", RequestedAt: now})
	_, _ = s.Identity.EmailChanges.Find(ctx, id)
	_, _ = s.Identity.EmailChanges.Forget(ctx, now, 10)
	_ = s.Identity.EmailChanges.Remove(ctx, id)
	_ = s.Identity.EmailUndos.Create(ctx, identity.EmailUndo{UserID: u.ID, Email: "al@example.org", Key: "al@example.org", ChangedAt: now, ExpiresAt: now})
	_, _ = s.Identity.EmailUndos.Get(ctx, u.ID, now)
	_, _ = s.Identity.EmailUndos.Find(ctx, u.ID, "al@example.org", now)
	_, _ = s.Identity.EmailUndos.Reserved(ctx, "al@example.org", id, now)
	_ = s.Identity.EmailUndos.DeleteSince(ctx, u.ID, now)
	_, _ = s.Identity.EmailUndos.DeleteBefore(ctx, now, 10)
	_ = s.Identity.Organizations.DismissMember(ctx, id, id, now)
	settings, _ := s.Identity.EmployerSettings.Find(ctx, u.ID)
	_ = s.Identity.EmployerSettings.Save(ctx, &settings)
	_ = s.Identity.EmployerSettings.Save(ctx, &settings)
	_ = s.Identity.EmployerSettings.Remove(ctx, id)
	before := len(asked.sql)
	_, _ = s.Identity.Sessions.Principal(ctx, id)
	require.Len(t, asked.sql, before+1, "every signed-in request pays for this one")
	require.GreaterOrEqual(t, len(asked.sql), 25)

	asked.useIndexes(t, db, "CONSTANT ROW", "counted")
}
