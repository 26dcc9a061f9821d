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

// TestHiringQueries_UseIndexesAndFewStatements checks the number of statements of each method,
// so that no list executes one per row, and that all of them use indexes. An employer may have
// 100,000 applications.
func TestHiringQueries_UseIndexesAndFewStatements(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	storage := db.Storage().Hiring
	recorded := recordStatements(t, db.reader, db.writer)

	created := 0
	for _, pool := range []*gorm.DB{db.reader, db.writer} {
		require.NoError(t, pool.Callback().Create().After("gorm:create").Register("test:create", func(*gorm.DB) { created++ }))
	}

	ctx := t.Context()
	id := uuid.NewString()
	now := time.Now().UTC()

	// costs checks the number of statements that call executes: those that insert rows, and all
	// others.
	costs := func(otherStatements, inserts int, call func()) {
		t.Helper()

		recordedBefore := len(recorded.sql)
		createdBefore := created

		call()
		require.Equal(t, otherStatements, len(recorded.sql)-recordedBefore)
		require.Equal(t, inserts, created-createdBefore)
	}

	var applications []hiring.Application
	var changes []hiring.Change

	var ids []string
	for i := range 100 {
		application := hiring.Application{
			ID:             uuid.Must(uuid.NewV7()).String(),
			ListingID:      uuid.NewString(),
			OrganizationID: id,
			ApplicantID:    id,
			Status:         hiring.Pending,
			AppliedAt:      now,
			ChangedAt:      now,
		}
		costs(0, 1, func() { require.NoError(t, storage.Applications.Create(ctx, application)) })

		application.Status = hiring.Statuses[i%len(hiring.Statuses)]
		applications = append(applications, application)
		ids = append(ids, application.ID)
		changes = append(changes, hiring.Change{
			ID:            uuid.NewString(),
			ApplicationID: application.ID,
			Actor:         hiring.ByEmployer,
			ActorID:       id,
			To:            application.Status,
			At:            now,
		})
	}

	// 100 applications are changed with one statement per status and one insert of all changes.
	costs(len(hiring.Statuses), 1, func() { require.NoError(t, storage.Applications.UpdateStatuses(ctx, id, applications, changes)) })
	costs(1, 1, func() {
		require.NoError(t, storage.Applications.Update(ctx, id, applications[0], withNewID(changes[0])))
	})
	costs(1, 0, func() { _, _ = storage.Applications.ListChanges(ctx, id, ids[0], 200) })

	// Lists are read by page number, for small ones, and after a cursor.
	pages := []page.Request{{Number: 3, Size: 20}, {Number: 1, Size: 20, Cursor: ids[50]}}
	for _, visibility := range []hiring.Visibility{{OrganizationID: id}, {ApplicantID: id}} {
		for _, r := range pages {
			// A page needs the rows and the total.
			costs(2, 0, func() { _, _ = storage.Applications.List(ctx, visibility, hiring.ApplicationFilter{}, r) })
			costs(2, 0, func() { _, _ = storage.Applications.List(ctx, visibility, hiring.ApplicationFilter{Details: true}, r) })
		}

		costs(1, 0, func() { _, _ = storage.Applications.Get(ctx, visibility, ids[1]) })

		costs(1, 0, func() {
			// The total of a first page that is not full is the number of its rows.
			_, _ = storage.Applications.List(ctx, visibility, hiring.ApplicationFilter{IDs: ids}, page.Request{Number: 1, Size: 100})
		})

		costs(1, 0, func() {
			_, _ = storage.Applications.List(ctx, visibility, hiring.ApplicationFilter{}, page.Request{Number: 1, Size: 100})
		})
	}

	costs(5, 0, func() { // the identifiers and the total of both parts, and the rows
		f := hiring.ApplicationFilter{Withdrawn: hiring.IncludeWithdrawn}
		_, _ = storage.Applications.List(ctx, hiring.Visibility{ApplicantID: id}, f, page.Request{Number: 2, Size: 20})
	})

	costs(1, 0, func() {
		_, _ = storage.Applications.List(ctx, hiring.Visibility{ApplicantID: id},
			hiring.ApplicationFilter{Withdrawn: hiring.OnlyWithdrawn}, page.Request{Number: 1, Size: 1000})
	})

	for _, f := range []hiring.ApplicationFilter{
		{},
		{Statuses: []hiring.Status{hiring.Accepted}, ListingIDs: []string{id}, AppliedFrom: now, AppliedUntil: now},
	} {
		costs(1, 0, func() { _, _ = storage.Applications.CountByStatus(ctx, hiring.Visibility{OrganizationID: id}, f) })
	}

	note := hiring.Note{
		ID:             uuid.NewString(),
		ApplicationID:  ids[0],
		OrganizationID: id,
		AuthorID:       id,
		WrittenAt:      now,
	}
	rating := hiring.Rating{
		ApplicationID:  ids[0],
		OrganizationID: id,
		AuthorID:       id,
		Stars:          3,
		RatedAt:        now,
	}

	costs(0, 1, func() { require.NoError(t, storage.Notes.Create(ctx, note)) })

	for _, r := range pages {
		costs(2, 0, func() { _, _ = storage.Notes.List(ctx, id, ids[0], r) })
	}

	costs(1, 0, func() { require.NoError(t, storage.Notes.Delete(ctx, id, ids[0], id, note.ID)) })
	costs(0, 1, func() { require.NoError(t, storage.Ratings.Upsert(ctx, rating)) })
	costs(1, 0, func() { _, _ = storage.Ratings.Summarize(ctx, id, ids) })
	costs(1, 0, func() { require.NoError(t, storage.Ratings.Delete(ctx, id, ids[0], id)) })
	costs(6, 0, func() { require.NoError(t, storage.PersonalData.EraseByApplicant(ctx, id)) })

	interview := hiring.Appointment{
		ID:             uuid.NewString(),
		ApplicationID:  ids[0],
		OrganizationID: id,
		Status:         hiring.Scheduled,
		Outcome:        hiring.Undecided,
		ScheduledAt:    now,
	}
	costs(1, 1, func() { require.NoError(t, storage.Appointments.Upsert(ctx, interview)) })
	costs(1, 0, func() { require.NoError(t, storage.Appointments.Upsert(ctx, interview)) })

	for _, f := range []hiring.AppointmentFilter{{}, {Status: hiring.Scheduled}, {Status: hiring.Scheduled, ScheduledAfter: now}} {
		for _, r := range pages {
			costs(2, 0, func() { _, _ = storage.Appointments.List(ctx, id, f, r) })
		}
	}

	costs(1, 0, func() { _, _ = storage.Messages.Get(ctx, id, ids[0]) })
	costs(1, 0, func() { _, _ = storage.Messages.List(ctx, id, ids[0], 50) })

	export := hiring.Export{ID: id, OrganizationID: id, State: hiring.ExportQueued, CreatedAt: now}
	costs(1, 1, func() { require.NoError(t, storage.Exports.Create(ctx, export, 1)) })
	costs(1, 0, func() { _, _ = storage.Exports.Get(ctx, id, id) })
	costs(1, 0, func() { require.NoError(t, storage.Exports.Update(ctx, export)) })

	for _, f := range []hiring.ExportFilter{
		{CreatedBefore: now},
		{CreatedBefore: now, Unfinished: true},
		{CreatedBefore: now, OrganizationIDs: ids, Kind: "applications", Begun: true},
	} {
		costs(1, 0, func() { _, _ = storage.Exports.List(ctx, f, 100) })
	}

	costs(1, 0, func() { require.NoError(t, storage.Exports.Delete(ctx, ids)) })
	costs(1, 0, func() { _, _ = db.Storage().Listings.Listings.CountByStatus(ctx, id) })

	views := views{db}
	costs(1, 0, func() { _, _ = views.Get(ctx, id, ids) })
	costs(1, 0, func() { _ = views.Add(ctx, []listings.Visit{{Day: "2026-03-01", ListingID: id, Visitor: "a"}}) })
	costs(2, 0, func() { _, _ = expiries{db}.DeleteBefore(ctx, listings.Visits, now, 100) })
	costs(1, 1, func() { _, _ = views.GetOrCreateSalt(ctx, "2026-03-01", "x") })
	costs(1, 0, func() {
		_, _ = db.Storage().Listings.Listings.ListBySelection(ctx, id, listings.Selection{NotCompany: "New"}, 100)
	})

	costs(1, 0, func() {
		_, _ = db.Storage().Listings.Listings.ListBySelection(ctx, id,
			listings.Selection{NotCompany: "New", Before: &listings.Listing{ID: id, CreatedAt: now}}, 100)
	})

	// The totals count the rows of a bounded subquery named counted.
	recorded.requireIndexes(t, db, "counted")
}

// TestHiringQueries_SortedRows_UseIndexes checks the queries that sort their result. That is
// allowed, because the rows of an application or an applicant are few, as long as an index finds
// them.
func TestHiringQueries_SortedRows_UseIndexes(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	storage := db.Storage().Hiring
	recorded := recordStatements(t, db.reader, db.writer)
	ctx := t.Context()
	id := uuid.NewString()
	first := page.Request{Number: 1, Size: 1}
	_, err := storage.Appointments.List(ctx, id, hiring.AppointmentFilter{ApplicationIDs: []string{id}}, first)
	require.NoError(t, err)

	_, err = storage.Applications.List(ctx, hiring.Visibility{ApplicantID: id},
		hiring.ApplicationFilter{ListingIDs: []string{id, id}, Withdrawn: hiring.IncludeWithdrawn}, first)
	require.NoError(t, err)

	_, err = storage.Applications.CountByStatus(ctx, hiring.Visibility{ApplicantID: id}, hiring.ApplicationFilter{})
	require.NoError(t, err)
	recorded.requireIndexes(t, db, allowSorting)
}

// TestExports_DeepPages_UseIndex checks that a page after a cursor begins at its position in the
// index. An export reads all pages of a list; if each one skipped the rows before it, its time
// would be quadratic.
func TestExports_DeepPages_UseIndex(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	recorded := recordStatements(t, db.reader, db.writer)
	id := uuid.NewString()

	cursor := listingCursor{CreatedAt: time.Now().UTC(), ID: uuid.NewString()}.encode()
	for _, status := range []listings.Status{"", listings.Closed} {
		_, err := db.Storage().Listings.Listings.List(t.Context(), id, status, page.Request{Number: 1, Size: 500, Cursor: cursor})
		require.NoError(t, err)
	}

	_, err := applications{db}.List(t.Context(), hiring.Visibility{OrganizationID: id},
		hiring.ApplicationFilter{}, page.Request{Number: 1, Size: 500, Cursor: id})
	require.NoError(t, err)

	beginAtCursor := 0
	for i, sql := range recorded.sql {
		for _, step := range sqlitePlan(t, db, sql, recorded.vars[i]) {
			require.NotContains(t, step, "TEMP B-TREE", sql)

			if strings.Contains(step, "organization_id=? AND (created_at,id)<(?,?)") ||
				strings.Contains(step, "organization_id=? AND id<?") {
				beginAtCursor++
			}
		}
	}

	require.Equal(t, 3, beginAtCursor, "two lists of listings and one of applications")
}

// TestVisibleApplications_Filtered_UseIndexes checks that each combination of visibility and
// filter finds applications by an index: a developer's application may request any of them.
func TestVisibleApplications_Filtered_UseIndexes(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	recorded := recordStatements(t, db.reader, db.writer)
	id := uuid.NewString()
	otherID := uuid.NewString()
	now := time.Now().UTC()
	filters := []hiring.ApplicationFilter{
		{ListingIDs: []string{otherID}},
		{ListingIDs: []string{id, otherID}},
		{IDs: []string{id, otherID}},
		{ApplicantID: otherID},
		{Statuses: hiring.Statuses[:2]},
		{AppliedFrom: now, AppliedUntil: now.Add(time.Hour)},
	}

	wantStatements := 0
	for _, test := range []struct {
		visibility        hiring.Visibility
		statementsPerList int
	}{
		{visibility: hiring.Visibility{OrganizationID: id}, statementsPerList: 2},
		{visibility: hiring.Visibility{ApplicantID: id}, statementsPerList: 2},
		// A user with an organization also sees own applications: twice the statements.
		{visibility: hiring.Visibility{OrganizationID: id, ApplicantID: otherID}, statementsPerList: 4},
	} {
		for _, filter := range filters {
			_, err := applications{db}.List(t.Context(), test.visibility, filter, page.Request{Number: 1, Size: 20, Cursor: id})
			require.NoError(t, err)

			wantStatements += test.statementsPerList
		}
	}

	require.Len(t, recorded.sql, wantStatements)

	for i, sql := range recorded.sql {
		for _, step := range sqlitePlan(t, db, sql, recorded.vars[i]) {
			require.NotContains(t, step, "SCAN applications", sql)
		}
	}
}

// withNewID returns the change with a new id.
func withNewID(c hiring.Change) hiring.Change {
	c.ID = uuid.NewString()
	return c
}
