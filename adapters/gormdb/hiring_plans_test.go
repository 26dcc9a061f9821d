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

// TestHiringQueries_UseIndexesAndFewStatements checks which index serves each query of the hiring module, and that
// no query scans or sorts a table, because an employer may have 100,000 applications. It also checks the number of
// statements of each method, so that no list executes one statement per row.
//
// Where a row does not exist, the results and errors of the calls are ignored: the statements are the same.
func TestHiringQueries_UseIndexesAndFewStatements(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	meter := newCostMeter(t, db)
	applicationIDs := checkApplicationCosts(t, db, meter)
	checkNoteAndRatingCosts(t, db, meter, applicationIDs)
	checkAppointmentAndMessageCosts(t, db, meter, applicationIDs[0])
	checkExportCosts(t, db, meter)
	checkListingCosts(t, db, meter, applicationIDs)

	meter.others.requireIndexes(t, db, totalOfList)
}

// cost is the number of statements that a call executes, and the index that it needs.
type cost struct {
	inserts int    // statements that GORM's Create executes
	others  int    // all other statements
	index   string // the index that one of the others must use; empty if there are only inserts
}

// costMeter counts the statements that a database receives. Inserts are only counted. The other statements are
// also recorded with their SQL, to check their plans.
type costMeter struct {
	db      *DB
	inserts int
	others  *statements
}

// newCostMeter returns a meter that counts from now on.
func newCostMeter(t *testing.T, db *DB) *costMeter {
	t.Helper()

	meter := &costMeter{db: db, others: recordStatements(t, db.reader, db.writer)}
	countInsert := func(*gorm.DB) { meter.inserts++ }

	for _, pool := range []*gorm.DB{db.reader, db.writer} {
		require.NoError(t, pool.Callback().Create().After("gorm:create").Register("test:create", countInsert))
	}

	return meter
}

// requireCost checks the number of statements that call executes, and that SQLite plans to use the index.
func (m *costMeter) requireCost(t *testing.T, want cost, call func()) {
	t.Helper()

	insertsBefore, othersBefore := m.inserts, len(m.others.sql)

	if want.index == "" {
		call()
	} else {
		m.others.requireIndex(t, m.db, want.index, call)
	}

	require.Equal(t, want.inserts, m.inserts-insertsBefore, "inserts")
	require.Equal(t, want.others, len(m.others.sql)-othersBefore, "other statements")
}

const (
	// planUser is one id for a user, an applicant and an organization, because statements and their plans do not
	// depend on whether the ids differ.
	planUser = "00000000-0000-7000-8000-000000000001"
	// planDay is the day of the visits that the test stores.
	planDay = "2026-03-01"
)

// planPages returns requests for both ways to read a list: by page number, for small lists, and after a
// cursor.
func planPages(cursor string) []page.Request {
	byNumber := page.Request{Number: 3, Size: 20}
	afterCursor := page.Request{Number: 1, Size: 20, Cursor: cursor}

	return []page.Request{byNumber, afterCursor}
}

// checkApplicationCosts creates 100 applications, checks the costs of the methods of hiring.Applications, and
// returns the ids of the applications.
func checkApplicationCosts(t *testing.T, db *DB, meter *costMeter) (ids []string) {
	t.Helper()

	storage := db.Storage().Hiring.Applications
	ctx := t.Context()
	now := time.Now().UTC()

	var applications []hiring.Application
	var changes []hiring.Change

	for i := range 100 {
		application := hiring.Application{
			ID:             uuid.Must(uuid.NewV7()).String(),
			ListingID:      uuid.NewString(),
			OrganizationID: planUser,
			ApplicantID:    planUser,
			Status:         hiring.Pending,
			AppliedAt:      now,
			ChangedAt:      now,
		}
		meter.requireCost(t, cost{inserts: 1}, func() { require.NoError(t, storage.Create(ctx, application)) })

		application.Status = hiring.Statuses[i%len(hiring.Statuses)]
		applications = append(applications, application)
		ids = append(ids, application.ID)
		changes = append(changes, hiring.Change{
			ID:            uuid.NewString(),
			ApplicationID: application.ID,
			Actor:         hiring.ByEmployer,
			ActorID:       planUser,
			To:            application.Status,
			At:            now,
		})
	}

	// All 100 applications are changed with few statements: one update for each new status, and one insert of all
	// changes.
	meter.requireCost(t, cost{others: len(hiring.Statuses), inserts: 1, index: "applications_organization"}, func() {
		require.NoError(t, storage.UpdateStatuses(ctx, planUser, applications, changes))
	})

	// One application is changed with one update, and one insert of the change.
	meter.requireCost(t, cost{others: 1, inserts: 1, index: primaryKey("applications")}, func() {
		require.NoError(t, storage.Update(ctx, planUser, applications[0], withNewID(changes[0])))
	})
	meter.requireCost(t, cost{others: 1, index: "application_changes_timeline"}, func() {
		const limit = 200

		_, _ = storage.ListChanges(ctx, planUser, ids[0], limit)
	})

	noFilter := hiring.ApplicationFilter{}
	wholePage := page.Request{Number: 1, Size: 100}

	// The lists that an employer and an applicant see. The index begins with the one whose list it is, and contains
	// the ids, by which the lists are sorted.
	for _, view := range []struct {
		visibility hiring.Visibility
		index      string
	}{
		{visibility: hiring.Visibility{OrganizationID: planUser}, index: "applications_organization"},
		{visibility: hiring.Visibility{ApplicantID: planUser}, index: "applications_applicant"},
	} {
		// A page needs two statements: one for its rows, and one for the total.
		for _, request := range planPages(ids[50]) {
			for _, filter := range []hiring.ApplicationFilter{noFilter, {Details: true}} {
				meter.requireCost(t, cost{others: 2, index: view.index}, func() {
					_, _ = storage.List(ctx, view.visibility, filter, request)
				})
			}
		}

		// The total of a first page that contains the whole list is the number of its rows.
		for _, filter := range []hiring.ApplicationFilter{noFilter, {IDs: ids}} {
			meter.requireCost(t, cost{others: 1, index: view.index}, func() {
				_, _ = storage.List(ctx, view.visibility, filter, wholePage)
			})
		}

		meter.requireCost(t, cost{others: 1, index: primaryKey("applications")}, func() {
			_, _ = storage.Get(ctx, view.visibility, ids[1])
		})
	}

	asApplicant := hiring.Visibility{ApplicantID: planUser}

	// The list has two parts: the withdrawn applications and the others. Each part needs its ids and its
	// total, and one statement reads the rows of both. Withdrawn applications have an index of their own.
	meter.requireCost(t, cost{others: 2*2 + 1, index: "applications_withdrawn"}, func() {
		f := hiring.ApplicationFilter{Withdrawn: hiring.IncludeWithdrawn}
		_, _ = storage.List(ctx, asApplicant, f, page.Request{Number: 2, Size: 20})
	})
	meter.requireCost(t, cost{others: 1, index: "applications_withdrawn"}, func() {
		f := hiring.ApplicationFilter{Withdrawn: hiring.OnlyWithdrawn}
		_, _ = storage.List(ctx, asApplicant, f, page.Request{Number: 1, Size: 1000})
	})

	// The numbers of applications in each status. The index has the statuses of each organization in order.
	for _, f := range []hiring.ApplicationFilter{
		noFilter,
		{Statuses: []hiring.Status{hiring.Accepted}, ListingIDs: []string{planUser}, AppliedFrom: now, AppliedUntil: now},
	} {
		meter.requireCost(t, cost{others: 1, index: "applications_organization_status"}, func() {
			_, _ = storage.CountByStatus(ctx, hiring.Visibility{OrganizationID: planUser}, f)
		})
	}

	return ids
}

// checkNoteAndRatingCosts checks the costs of hiring.Notes, hiring.Ratings and hiring.PersonalData.
func checkNoteAndRatingCosts(t *testing.T, db *DB, meter *costMeter, applicationIDs []string) {
	t.Helper()

	storage := db.Storage().Hiring
	ctx := t.Context()
	applicationID := applicationIDs[0]
	now := time.Now().UTC()

	note := hiring.Note{
		ID:             uuid.NewString(),
		ApplicationID:  applicationID,
		OrganizationID: planUser,
		AuthorID:       planUser,
		WrittenAt:      now,
	}
	rating := hiring.Rating{
		ApplicationID:  applicationID,
		OrganizationID: planUser,
		AuthorID:       planUser,
		Stars:          3,
		RatedAt:        now,
	}

	meter.requireCost(t, cost{inserts: 1}, func() { require.NoError(t, storage.Notes.Create(ctx, note)) })

	for _, request := range planPages(applicationIDs[50]) {
		meter.requireCost(t, cost{others: 2, index: "application_notes_application"}, func() {
			_, _ = storage.Notes.List(ctx, planUser, applicationID, request)
		})
	}

	meter.requireCost(t, cost{others: 1, index: primaryKey("application_notes")}, func() {
		require.NoError(t, storage.Notes.Delete(ctx, planUser, applicationID, planUser, note.ID))
	})

	meter.requireCost(t, cost{inserts: 1}, func() { require.NoError(t, storage.Ratings.Upsert(ctx, rating)) })
	meter.requireCost(t, cost{others: 1, index: primaryKey("application_ratings")}, func() {
		_, _ = storage.Ratings.Summarize(ctx, planUser, applicationIDs)
	})
	meter.requireCost(t, cost{others: 1, index: primaryKey("application_ratings")}, func() {
		require.NoError(t, storage.Ratings.Delete(ctx, planUser, applicationID, planUser))
	})

	// Erasing an applicant reads the ids of the withdrawn applications, clears their texts, and executes one
	// statement for each of four other tables.
	const eraseStatements = 1 + 1 + 4

	meter.requireCost(t, cost{others: eraseStatements, index: "applications_withdrawn"}, func() {
		require.NoError(t, storage.PersonalData.EraseByApplicant(ctx, planUser))
	})
}

// checkAppointmentAndMessageCosts checks the costs of hiring.Appointments and hiring.Messages.
func checkAppointmentAndMessageCosts(t *testing.T, db *DB, meter *costMeter, applicationID string) {
	t.Helper()

	storage := db.Storage().Hiring
	ctx := t.Context()
	now := time.Now().UTC()

	interview := hiring.Appointment{
		ID:             uuid.NewString(),
		ApplicationID:  applicationID,
		OrganizationID: planUser,
		Status:         hiring.Scheduled,
		Outcome:        hiring.Undecided,
		ScheduledAt:    now,
	}

	// The first Upsert executes an update that finds no row, and an insert. The second Upsert updates the
	// row.
	for _, want := range []cost{
		{others: 1, inserts: 1, index: primaryKey("interviews")},
		{others: 1, inserts: 0, index: primaryKey("interviews")},
	} {
		meter.requireCost(t, want, func() { require.NoError(t, storage.Appointments.Upsert(ctx, interview)) })
	}

	// The interviews of an organization, all or those with a status.
	for _, list := range []struct {
		filter hiring.AppointmentFilter
		index  string
	}{
		{filter: hiring.AppointmentFilter{}, index: "interviews_organization"},
		{filter: hiring.AppointmentFilter{Status: hiring.Scheduled}, index: "interviews_status"},
		{filter: hiring.AppointmentFilter{Status: hiring.Scheduled, ScheduledAfter: now}, index: "interviews_status"},
	} {
		for _, request := range planPages(uuid.NewString()) {
			meter.requireCost(t, cost{others: 2, index: list.index}, func() {
				_, _ = storage.Appointments.List(ctx, planUser, list.filter, request)
			})
		}
	}

	// The table of messages is named application_letters.
	meter.requireCost(t, cost{others: 1, index: primaryKey("application_letters")}, func() {
		_, _ = storage.Messages.Get(ctx, planUser, applicationID)
	})
	meter.requireCost(t, cost{others: 1, index: "application_letters_application"}, func() {
		const limit = 50

		_, _ = storage.Messages.List(ctx, planUser, applicationID, limit)
	})
}

// checkExportCosts checks the costs of hiring.Exports.
func checkExportCosts(t *testing.T, db *DB, meter *costMeter) {
	t.Helper()

	storage := db.Storage().Hiring.Exports
	ctx := t.Context()
	now := time.Now().UTC()
	const limit = 1
	export := hiring.Export{ID: uuid.NewString(), OrganizationID: planUser, State: hiring.ExportQueued, CreatedAt: now}

	// The number of the organization's unfinished exports is compared with the limit before the insert.
	meter.requireCost(t, cost{others: 1, inserts: 1, index: "exports_unfinished"}, func() {
		require.NoError(t, storage.Create(ctx, export, limit))
	})
	meter.requireCost(t, cost{others: 1, index: primaryKey("exports")}, func() { _, _ = storage.Get(ctx, planUser, export.ID) })
	meter.requireCost(t, cost{others: 1, index: primaryKey("exports")}, func() { require.NoError(t, storage.Update(ctx, export)) })

	// Old exports of all organizations are found by their time, and those of given organizations by the organization.
	ofOrganizations := hiring.ExportFilter{
		CreatedBefore:   now,
		OrganizationIDs: []string{planUser, uuid.NewString()},
		Kind:            "applications",
		Begun:           true,
	}

	for _, list := range []struct {
		filter hiring.ExportFilter
		index  string
	}{
		{filter: hiring.ExportFilter{CreatedBefore: now}, index: "exports_created"},
		{filter: hiring.ExportFilter{CreatedBefore: now, Unfinished: true}, index: "exports_created"},
		{filter: ofOrganizations, index: "exports_organization"},
	} {
		meter.requireCost(t, cost{others: 1, index: list.index}, func() {
			const maxExports = 100

			_, _ = storage.List(ctx, list.filter, maxExports)
		})
	}

	meter.requireCost(t, cost{others: 1, index: primaryKey("exports")}, func() {
		require.NoError(t, storage.Delete(ctx, []string{export.ID, uuid.NewString()}))
	})
}

// checkListingCosts checks the costs of what an employer's console reads of listings: their numbers, views, and
// selections of them.
func checkListingCosts(t *testing.T, db *DB, meter *costMeter, listingIDs []string) {
	t.Helper()

	storage := db.Storage().Listings
	ctx := t.Context()
	now := time.Now().UTC()
	visit := listings.Visit{Day: planDay, ListingID: planUser, Visitor: "a"}
	otherCompany := listings.Selection{NotCompany: "New"}
	afterListing := listings.Selection{NotCompany: "New", Before: &listings.Listing{ID: planUser, CreatedAt: now}}

	const limit = 100

	meter.requireCost(t, cost{others: 1, index: "listings_organization_status"}, func() {
		_, _ = storage.Listings.CountByStatus(ctx, planUser)
	})

	// A selection is read a page at a time, from the newest listing of the organization on.
	for _, selection := range []listings.Selection{otherCompany, afterListing} {
		meter.requireCost(t, cost{others: 1, index: "listings_organization"}, func() {
			_, _ = storage.Listings.ListBySelection(ctx, planUser, selection, limit)
		})
	}

	meter.requireCost(t, cost{others: 1, index: primaryKey("listing_views")}, func() {
		_, _ = storage.Views.Get(ctx, planUser, listingIDs)
	})
	meter.requireCost(t, cost{others: 1, index: primaryKey("listings")}, func() {
		_ = storage.Views.Add(ctx, []listings.Visit{visit})
	})
	meter.requireCost(t, cost{others: 1, inserts: 1, index: primaryKey("listing_visit_salts")}, func() {
		_, _ = storage.Views.GetOrCreateSalt(ctx, planDay, "x")
	})

	// One statement deletes the salts of expired days, and another one the visitors.
	meter.requireCost(t, cost{others: 2, index: primaryKey("listing_visits")}, func() {
		_, _ = expiries{db}.DeleteBefore(ctx, listings.Visits, now, limit)
	})
}

// TestHiringQueries_SortedRows_UseIndexes checks the queries that sort their rows. An index must find the rows.
// Sorting them is allowed, because the queries return the few rows of an application or of an applicant.
func TestHiringQueries_SortedRows_UseIndexes(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	storage := db.Storage().Hiring
	recorded := recordStatements(t, db.reader, db.writer)
	ctx := t.Context()
	id := uuid.NewString()
	asApplicant := hiring.Visibility{ApplicantID: id}
	firstPage := page.Request{Number: 1, Size: 1}

	ofListings := hiring.ApplicationFilter{ListingIDs: []string{id, id}, Withdrawn: hiring.IncludeWithdrawn}

	// The interview of an application.
	recorded.requireIndex(t, db, "interviews_application", func() {
		_, err := storage.Appointments.List(ctx, id, hiring.AppointmentFilter{ApplicationIDs: []string{id}}, firstPage)
		require.NoError(t, err)
	})

	// An applicant's applications to given listings. An applicant has at most one application to a listing.
	recorded.requireIndex(t, db, "applications_once", func() {
		_, err := storage.Applications.List(ctx, asApplicant, ofListings, firstPage)
		require.NoError(t, err)
	})

	// The numbers of an applicant's applications in each status.
	recorded.requireIndex(t, db, "applications_applicant", func() {
		_, err := storage.Applications.CountByStatus(ctx, asApplicant, hiring.ApplicationFilter{})
		require.NoError(t, err)
	})

	recorded.requireIndexes(t, db, allowSorting)
}

// TestExports_DeepPages_UseIndex checks that a page after a cursor begins at the cursor's position in
// the index. An export reads all pages of a list. If each page skipped the rows before it, the time of
// an export would be quadratic.
func TestExports_DeepPages_UseIndex(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	recorded := recordStatements(t, db.reader, db.writer)
	id := uuid.NewString()

	// Two lists of listings, of every status and of one.
	cursor := listingCursor{CreatedAt: time.Now().UTC(), ID: uuid.NewString()}.encode()
	for _, status := range []listings.Status{anyStatus, listings.Closed} {
		_, err := db.Storage().Listings.Listings.List(t.Context(), id, status, page.Request{Number: 1, Size: 500, Cursor: cursor})
		require.NoError(t, err)
	}

	// A list of applications, whose cursors are ids.
	ofOrganization := hiring.Visibility{OrganizationID: id}
	noFilter := hiring.ApplicationFilter{}
	_, err := applications{db}.List(t.Context(), ofOrganization, noFilter, page.Request{Number: 1, Size: 500, Cursor: id})
	require.NoError(t, err)

	// Each list executes a statement for its rows, and one for its total. In the plan of the first one, the columns of
	// the cursor are conditions of the search in the index.
	const lists = 3
	beginAtCursor := 0 // the number of statements whose search in the index begins at the cursor

	for i, sql := range recorded.sql {
		for _, step := range sqlitePlan(t, db, sql, recorded.vars[i]) {
			require.NotContains(t, step, "TEMP B-TREE", "rows are sorted: %s", sql)

			isOfListings := strings.Contains(step, "organization_id=? AND (created_at,id)<(?,?)")
			isOfApplications := strings.Contains(step, "organization_id=? AND id<?")

			if isOfListings || isOfApplications {
				beginAtCursor++
			}
		}
	}

	require.Equal(t, lists, beginAtCursor, "lists that begin at their cursors")
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
		statementsPerList int // two for each set of applications: its rows and its total
	}{
		{visibility: hiring.Visibility{OrganizationID: id}, statementsPerList: 2},
		{visibility: hiring.Visibility{ApplicantID: id}, statementsPerList: 2},
		// A user with an organization sees two sets: those of the organization and the user's own.
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
			require.NotContains(t, step, "SCAN applications", "the table is scanned: %s", sql)
		}
	}
}

// withNewID returns the change with a new id.
func withNewID(c hiring.Change) hiring.Change {
	c.ID = uuid.NewString()
	return c
}
