package gormdb

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/listings"
)

func TestEveryHiringQueryFindsItsRowsByAnIndexAndBatchesAreFewStatements(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	apps := Applications{db}
	asked := recordStatements(t, db.gorm, db.writer)
	created := 0
	for _, pool := range []*gorm.DB{db.gorm, db.writer} {
		require.NoError(t, pool.Callback().Create().After("gorm:create").Register("test:create", func(*gorm.DB) { created++ }))
	}
	ctx, id, now := t.Context(), uuid.NewString(), time.Now().UTC()
	costs := func(reads, writes int, do func()) {
		t.Helper()
		before, made := len(asked.sql), created
		do()
		require.Equal(t, reads, len(asked.sql)-before, "%q", asked.sql[before:])
		require.Equal(t, writes, created-made)
	}

	var as []hiring.Application
	var changes []hiring.Change
	var ids []string
	for i := range 100 {
		a := hiring.Application{ID: uuid.Must(uuid.NewV7()).String(), ListingID: uuid.NewString(), OrganizationID: id, ApplicantID: id, Status: hiring.Pending, AppliedAt: now, ChangedAt: now}
		costs(0, 1, func() { require.NoError(t, apps.Add(ctx, a)) })
		a.Status = hiring.Statuses[i%len(hiring.Statuses)]
		as, ids = append(as, a), append(ids, a.ID)
		changes = append(changes, hiring.Change{ID: uuid.NewString(), ApplicationID: a.ID, Actor: hiring.ByEmployer, ActorID: id, To: a.Status, At: now})
	}
	costs(len(hiring.Statuses), 1, func() { require.NoError(t, apps.SaveStatuses(ctx, id, as, changes)) })
	costs(1, 0, func() { _, _ = apps.ForOrganization(ctx, id, ids) })
	costs(1, 1, func() { require.NoError(t, apps.SaveOwn(ctx, id, as[0], changeAgain(changes[0]))) })
	costs(1, 0, func() { _, _ = apps.ForApplicant(ctx, id, ids[0]) })
	costs(1, 0, func() { _, _ = apps.Timeline(ctx, id, ids[0], 200) })
	for _, r := range []page.Request{{Number: 3, Size: 20}, {Number: 1, Size: 20, Cursor: ids[50]}} {
		costs(2, 0, func() { _, _ = apps.PageForOrganization(ctx, id, r) })
		costs(2, 0, func() { _, _ = apps.PageForApplicant(ctx, id, r) })
	}

	for _, v := range []hiring.Sight{{OrganizationID: id}, {ApplicantID: id}} {
		for _, r := range []page.Request{{Number: 3, Size: 20}, {Number: 1, Size: 20, Cursor: ids[50]}} {
			costs(3, 0, func() { _, _ = apps.PageSeen(ctx, v, hiring.SeenFilter{}, r) })
		}
		costs(1, 0, func() { _, _ = apps.Seen(ctx, v, ids[1]) })
	}

	costs(1, 0, func() { _, _ = apps.Left(ctx, id, 20) })
	costs(3, 0, func() { require.NoError(t, apps.Erase(ctx, id)) })

	interviews, letters := Appointments{db}, Letters{db}
	met := hiring.Appointment{ID: uuid.NewString(), ApplicationID: ids[0], OrganizationID: id, Status: hiring.Scheduled, Outcome: hiring.Undecided, ScheduledAt: now}
	costs(0, 1, func() { require.NoError(t, interviews.Save(ctx, met)) })
	costs(1, 0, func() { _, _ = interviews.ForApplications(ctx, id, ids) })
	for _, status := range []hiring.InterviewStatus{"", hiring.Scheduled} {
		for _, r := range []page.Request{{Number: 3, Size: 20}, {Number: 1, Size: 20, Cursor: ids[50]}} {
			costs(2, 0, func() { _, _ = interviews.Page(ctx, id, status, r) })
		}
	}
	costs(1, 0, func() { _, _ = interviews.Ahead(ctx, id, now, 20) })
	costs(1, 0, func() { _, _ = interviews.Standing(ctx, id, ids) })
	costs(1, 0, func() { _, _ = letters.Find(ctx, id, ids[0]) })
	exports := Exports{db}
	costs(1, 0, func() { _, _ = exports.Unfinished(ctx, id) })
	costs(1, 0, func() { _, _ = exports.Find(ctx, id, ids[0]) })
	costs(1, 0, func() { _, _ = exports.Expired(ctx, now, 100) })
	costs(1, 0, func() { _, _ = exports.Naming(ctx, id, now, 100) })
	costs(1, 0, func() { _ = exports.GiveUp(ctx, now, now) })
	costs(1, 0, func() { _ = exports.Save(ctx, hiring.Export{ID: id, OrganizationID: id}) })
	picked := hiring.ApplicationFilter{Status: hiring.Accepted, ListingID: id, From: now, Until: now}
	costs(1, 0, func() { _, _ = apps.Count(ctx, id, picked) })
	costs(1, 0, func() { _, _ = apps.Before(ctx, id, picked, ids[0], 500) })
	costs(1, 0, func() { _, _, _ = apps.CountForApplicant(ctx, id, hiring.Pending) })
	costs(1, 0, func() { _, _ = apps.CountByStatus(ctx, id, picked) })
	costs(1, 0, func() { _, _ = apps.CountByStatus(ctx, id, hiring.ApplicationFilter{}) })
	costs(1, 0, func() { _, _ = db.Storage().Listings.Listings.CountByStatus(ctx, id) })
	views := Views{db}
	costs(1, 0, func() { _, _ = views.Get(ctx, id, ids) })
	costs(1, 0, func() { _ = views.Add(ctx, []listings.Visit{{Day: "2026-03-01", ListingID: id, Visitor: "a"}}) })
	costs(2, 0, func() { _, _ = Retention{db}.DeleteBefore(ctx, listings.Visits, now, 100) })
	costs(1, 1, func() { _, _ = views.GetOrCreateSalt(ctx, "2026-03-01", "x") })
	costs(1, 0, func() { _, _ = Organizations{db}.Admins(ctx, id, 10) })
	costs(1, 0, func() {
		_, _ = db.Storage().Listings.Listings.ListForUpdate(ctx, id, listings.Selection{NotCompany: "New"}, 100)
	})
	costs(1, 0, func() {
		_, _ = db.Storage().Listings.Listings.ListForUpdate(ctx, id, listings.Selection{NotCompany: "New", Before: &listings.Listing{ID: id, CreatedAt: now}}, 100)
	})

	asked.useIndexes(t, db, "counted", "side")
}

// An export reads all of a list, page after page: a page that had to pass by
// those before it would make a long one take forever.
func TestPagesOfExportsAreFoundByAnIndexHoweverDeepTheyAre(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	asked := recordStatements(t, db.gorm, db.writer)
	id, cursor := uuid.NewString(), writeCursor("own", ownCursor{CreatedAt: time.Now().UTC(), ID: uuid.NewString()})
	for _, status := range []listings.Status{"", listings.Closed} {
		_, err := db.Storage().Listings.Listings.List(t.Context(), id, status, page.Request{Number: 1, Size: 500, Cursor: cursor})
		require.NoError(t, err)
	}
	_, err := Applications{db}.Before(t.Context(), id, hiring.ApplicationFilter{}, id, 500)
	require.NoError(t, err)
	deep := 0
	for i, sql := range asked.sql {
		var plan []struct{ Detail string }
		require.NoError(t, db.gorm.Raw("EXPLAIN QUERY PLAN "+sql, asked.vars[i]...).Scan(&plan).Error, sql)
		for _, step := range plan {
			require.NotContains(t, step.Detail, "TEMP B-TREE", sql)
			if strings.Contains(step.Detail, "organization_id=? AND (created_at,id)<(?,?)") || strings.Contains(step.Detail, "organization_id=? AND id<?") {
				deep++
			}
		}
	}
	require.Equal(t, 3, deep)
}

func TestWhatIsSeenIsFoundByAnIndexHoweverItIsNarrowed(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	asked := recordStatements(t, db.gorm, db.writer)
	id, other, now := uuid.NewString(), uuid.NewString(), time.Now().UTC()
	for _, v := range []hiring.Sight{{OrganizationID: id}, {ApplicantID: id}, {OrganizationID: id, ApplicantID: other}} {
		for _, f := range []hiring.SeenFilter{{ListingID: other}, {ApplicantID: other}, {Statuses: hiring.Statuses[:2]}, {After: now, Before: now.Add(time.Hour)}} {
			_, err := Applications{db}.PageSeen(t.Context(), v, f, page.Request{Number: 1, Size: 20, Cursor: id})
			require.NoError(t, err)
		}
	}
	require.Len(t, asked.sql, 24)
	for i, sql := range asked.sql {
		var plan []struct{ Detail string }
		require.NoError(t, db.gorm.Raw("EXPLAIN QUERY PLAN "+sql, asked.vars[i]...).Scan(&plan).Error, sql)
		for _, step := range plan {
			require.NotContains(t, step.Detail, "SCAN applications", sql)
		}
	}
}

func changeAgain(c hiring.Change) hiring.Change {
	c.ID = uuid.NewString()
	return c
}
