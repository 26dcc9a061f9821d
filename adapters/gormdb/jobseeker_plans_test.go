package gormdb

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
)

// TestJobseekerQueries_UseIndexes checks which index serves each query of clinicians' data and of their saved
// searches, and that no query scans a table. Each method is called with the filters that change its statement.
//
// recordStatements records all statements from then on. In the subtests, requireIndex checks the index of the
// statements of one call. At the end, requireIndexes checks all recorded statements.
//
// One id stands for the ids of all rows. Where a row does not exist, the results and errors of the calls are
// ignored: the statements are the same.
func TestJobseekerQueries_UseIndexes(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	recorded := recordStatements(t, db.reader, db.writer)
	id := uuid.NewString()

	t.Run("lists", func(t *testing.T) { checkJobseekerLists(t, db, recorded, id) })
	t.Run("notifications and bookmarks", func(t *testing.T) { checkNotificationAndBookmarkIndexes(t, db, recorded, id) })
	t.Run("documents", func(t *testing.T) { checkDocumentIndexes(t, db, recorded, id) })
	t.Run("profile and onboarding", func(t *testing.T) { checkProfileAndOnboardingIndexes(t, db, recorded, id) })
	t.Run("saved searches and alerts", func(t *testing.T) { checkSearchAndAlertIndexes(t, db, recorded, id) })
	t.Run("deletions", func(t *testing.T) { checkJobseekerDeletions(t, db, recorded, id) })

	// No statement scans a table, with these exceptions: the count of a list, which is bounded, and two indexes that
	// contain only rows that wait to be processed, all of which are wanted.
	allowedScans := []string{
		totalOfList,
		"saved_searches USING INDEX saved_searches_unresolved",
		"alert_listings USING COVERING INDEX sqlite_autoindex_alert_listings_1",
	}
	recorded.requireIndexes(t, db, allowedScans...)
}

// checkJobseekerLists checks the lists of a user's rows, newest first. The index of each begins with the user's id
// and continues with the row's id, by which the list is sorted.
func checkJobseekerLists(t *testing.T, db *DB, recorded *statements, userID string) {
	t.Helper()

	storage := db.Storage().Jobseeker
	ctx := t.Context()

	// A page is requested by its number, or by the cursor of the page before it.
	byNumber := page.Request{Number: 3, Size: 20}
	afterCursor := page.Request{Number: 1, Size: 20, Cursor: uuid.NewString()}

	for _, request := range []page.Request{byNumber, afterCursor} {
		recorded.requireIndex(t, db, "notifications_user", func() {
			_, _ = storage.Notifications.List(ctx, userID, request)
		})
		recorded.requireIndex(t, db, primaryKey("activities"), func() {
			_, _ = storage.Activities.List(ctx, userID, request)
		})
		recorded.requireIndex(t, db, "bookmarks_user", func() {
			_, _ = storage.Bookmarks.List(ctx, userID, jobseeker.BookmarkFilter{}, request)
		})
		recorded.requireIndex(t, db, "documents_user", func() {
			_, _ = storage.Documents.List(ctx, userID, jobseeker.DocumentFilter{}, request)
		})
	}

	// A list of one row, by its id.
	id := uuid.NewString()
	onlyOne := page.Request{Number: 1, Size: 1}
	recorded.requireIndex(t, db, primaryKey("bookmarks"), func() {
		_, _ = storage.Bookmarks.List(ctx, userID, jobseeker.BookmarkFilter{ID: id}, onlyOne)
	})
	recorded.requireIndex(t, db, primaryKey("documents"), func() {
		_, _ = storage.Documents.List(ctx, userID, jobseeker.DocumentFilter{ID: id}, onlyOne)
	})
}

// checkNotificationAndBookmarkIndexes checks the changes of notifications and bookmarks.
func checkNotificationAndBookmarkIndexes(t *testing.T, db *DB, recorded *statements, id string) {
	t.Helper()

	storage := db.Storage().Jobseeker
	ctx := t.Context()
	now := time.Now().UTC()
	isRead := true

	require.NoError(t, storage.Notifications.Create(ctx, jobseeker.Notification{
		ID:        id,
		UserID:    id,
		Cause:     id,
		Type:      jobseeker.AboutMessage,
		CreatedAt: now,
	}))

	// No change, a notification that is read, and one that is deleted.
	for _, update := range []jobseeker.NotificationUpdate{{}, {Read: &isRead}, {DeletedAt: &now}} {
		recorded.requireIndex(t, db, primaryKey("notifications"), func() {
			require.NoError(t, storage.Notifications.Update(ctx, id, id, update))
		})
	}

	bookmark := jobseeker.Bookmark{ID: id, UserID: id, ListingID: id, SavedAt: now}
	require.NoError(t, storage.Bookmarks.Upsert(ctx, bookmark))

	// Reminders of a listing's deadline. The index contains only bookmarks without a reminder so far.
	recorded.requireIndex(t, db, "bookmarks_untold", func() {
		const limit = 10

		_, err := storage.Bookmarks.ClaimReminders(ctx, []string{id}, limit)
		require.NoError(t, err)
	})
	recorded.requireIndex(t, db, primaryKey("bookmarks"), func() { require.NoError(t, storage.Bookmarks.Delete(ctx, id, id)) })
}

// checkDocumentIndexes checks the changes of documents and of the files that contain them.
func checkDocumentIndexes(t *testing.T, db *DB, recorded *statements, id string) {
	t.Helper()

	storage := db.Storage().Jobseeker
	ctx := t.Context()
	now := time.Now().UTC()
	inAnHour := now.Add(time.Hour)

	document := jobseeker.Document{
		ID:        id,
		UserID:    id,
		Type:      jobseeker.CV,
		IsDefault: true,
		Content:   jobseeker.Content{File: jobseeker.DocumentFile{ID: id}, Form: jobseeker.AsText},
		UpdatedAt: now,
	}

	// The first Upsert creates the document, and the second one replaces its file. Each also finds the user's
	// default document of the type, which is no longer the default.
	for range 2 {
		require.NoError(t, storage.DocumentFiles.Reserve(ctx, id, document.File, inAnHour))
		recorded.requireEachIndex(t, db, []string{primaryKey("documents"), "documents_default"}, func() {
			require.NoError(t, storage.Documents.Upsert(ctx, document))
		})

		document.File.ID = uuid.NewString()
	}

	// Files that no document uses, and that a background task deletes. The index contains only such files.
	recorded.requireIndex(t, db, "document_files_free", func() {
		const limit = 10

		claimedUntil := now.Add(2 * time.Hour)
		_, err := storage.DocumentFiles.Claim(ctx, limit, inAnHour, claimedUntil)
		require.NoError(t, err)
	})

	// Deletions by id. The file of a deleted document is only marked as unused.
	recorded.requireEachIndex(t, db, []string{primaryKey("documents"), primaryKey("document_files")}, func() {
		require.NoError(t, storage.Documents.Delete(ctx, id, id, now))
	})
	recorded.requireIndex(t, db, primaryKey("document_files"), func() {
		require.NoError(t, storage.DocumentFiles.Delete(ctx, []string{id}))
	})
}

// checkProfileAndOnboardingIndexes checks the queries of profiles, of dismissals (recommended listings that a user
// does not want to see again) and of onboardings.
func checkProfileAndOnboardingIndexes(t *testing.T, db *DB, recorded *statements, id string) {
	t.Helper()

	storage := db.Storage().Jobseeker
	ctx := t.Context()
	now := time.Now().UTC()

	// The table of profiles is named seekers.
	recorded.requireIndex(t, db, primaryKey("seekers"), func() {
		require.NoError(t, db.Do(ctx, func(ctx context.Context) error {
			profile, err := storage.Profiles.Get(ctx, id)
			require.NoError(t, err)
			return storage.Profiles.Update(ctx, profile)
		}))
	})

	// Each new dismissal deletes those above the limit, the earliest first. With a limit of 0, it is deleted at once.
	for _, maxDismissals := range []int{10, 0} {
		recorded.requireIndex(t, db, "dismissals_latest", func() {
			require.NoError(t, storage.Dismissals.Create(ctx, id, id, now, maxDismissals))
		})
	}

	recorded.requireIndex(t, db, primaryKey("dismissals"), func() {
		_, err := storage.Dismissals.ListByListings(ctx, id, []string{id})
		require.NoError(t, err)
	})

	// The onboarding of a user, and that of a guest. Each is created, updated, and deleted when it is empty.
	for _, visitor := range []jobseeker.Visitor{{UserID: uuid.NewString()}, {GuestKey: "a"}} {
		const noSource = "" // which makes the onboarding empty

		for version, source := range []string{"save", "apply", noSource} {
			onboarding := jobseeker.Onboarding{Visitor: visitor, Source: source, TouchedAt: now, Version: int64(version)}

			recorded.requireIndex(t, db, primaryKey("onboardings"), func() {
				_, err := storage.Onboardings.Get(ctx, visitor)
				require.NoError(t, err)
				require.NoError(t, storage.Onboardings.Upsert(ctx, onboarding))
			})
		}
	}
}

// checkSearchAndAlertIndexes checks the queries of saved searches, of the new listings that wait to be matched with
// them (the alert queue), and of the matches that wait to be sent in a digest.
func checkSearchAndAlertIndexes(t *testing.T, db *DB, recorded *statements, id string) {
	t.Helper()

	storage := db.Storage().Jobseeker
	ctx := t.Context()
	now := time.Now().UTC()

	const limit = 10

	// Replace the user's list of searches several times: a search is created, loses its e-mail alerts, is deleted and
	// created again.
	withAlerts := jobseeker.Search{ID: id, UserID: id, EmailAlerts: true}
	withoutAlerts := jobseeker.Search{ID: id, UserID: id}

	var noSearches []jobseeker.Search

	for _, searches := range [][]jobseeker.Search{{withAlerts}, {withoutAlerts}, noSearches, {withAlerts}} {
		recorded.requireIndex(t, db, "saved_searches_user", func() { require.NoError(t, storage.Searches.Replace(ctx, id, searches)) })
	}

	recorded.requireIndex(t, db, "saved_searches_user", func() { _, _ = storage.Searches.ListByUser(ctx, id, limit) })

	// All searches, a page at a time.
	recorded.requireIndex(t, db, primaryKey("saved_searches"), func() {
		_, _ = storage.Searches.List(ctx, jobseeker.SearchFilter{AfterID: id}, limit)
	})

	// The searches whose text must still be translated into a query. The index contains only these.
	recorded.requireIndex(t, db, "saved_searches_unresolved", func() {
		_, _ = storage.Searches.List(ctx, jobseeker.SearchFilter{Unresolved: true}, limit)
	})
	recorded.requireIndex(t, db, primaryKey("saved_searches"), func() {
		queriesByID := map[string]string{id: "x"} // the text of a query; any other one would do
		require.NoError(t, storage.Searches.UpdateResolved(ctx, queriesByID))
	})

	// The alert queue, which is read completely.
	require.NoError(t, storage.AlertQueue.Add(ctx, id))
	recorded.requireIndex(t, db, primaryKey("alert_listings"), func() {
		_, err := storage.AlertQueue.List(ctx, limit)
		require.NoError(t, err)
	})
	recorded.requireIndex(t, db, primaryKey("alert_listings"), func() {
		require.NoError(t, storage.AlertQueue.Delete(ctx, []string{id}))
	})

	// Matches. The second time, the match exists. The users whose digest is due are found by an index that contains
	// only users with a digest.
	match := jobseeker.Match{SearchID: id, ListingID: id, UserID: id, At: now, Email: true}
	for range 2 {
		_, err := storage.Matches.Create(ctx, []jobseeker.Match{match})
		require.NoError(t, err)

		recorded.requireIndex(t, db, "seekers_digest", func() {
			digestIDs, nextDigest := []string{id}, now
			_, _, err = storage.Matches.AssignDigests(ctx, digestIDs, now, nextDigest)
			require.NoError(t, err)
		})
	}

	recorded.requireIndex(t, db, "search_matches_digest", func() {
		_, err := storage.Matches.ListByDigest(ctx, id, id, limit)
		require.NoError(t, err)
	})
}

// checkJobseekerDeletions checks the deletions of expired rows and of a user's data.
func checkJobseekerDeletions(t *testing.T, db *DB, recorded *statements, userID string) {
	t.Helper()

	storage := db.Storage().Jobseeker
	ctx := t.Context()
	now := time.Now().UTC()

	// Expired rows of each kind. These statements are only recorded here: TestJobseekerQueries_UseIndexes checks at its
	// end that none of them scans a table.
	for kind := range jobseekerExpiry {
		const maxDeleted = 10

		_, err := storage.Retention.DeleteBefore(ctx, kind, now, maxDeleted)
		require.NoError(t, err, kind)
	}

	// All data of a user.
	ofUser := []string{
		"saved_searches_user", "document_files_user", "notifications_user", "bookmarks_user", "dismissals_latest", "documents_user",
		primaryKey("search_matches"), primaryKey("onboardings"), primaryKey("activities"), primaryKey("seekers"),
	}
	recorded.requireEachIndex(t, db, ofUser, func() {
		require.NoError(t, storage.PersonalData.DeleteByUser(ctx, userID, now))
	})
}

// TestBookmarksOfListings_UseIndex checks that one statement finds the bookmarks of given listings by an
// index. It may sort them, because a user has at most 1,000 bookmarks.
func TestBookmarksOfListings_UseIndex(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	recorded := recordStatements(t, db.reader, db.writer)
	id := uuid.NewString()
	ofListings := jobseeker.BookmarkFilter{ListingIDs: []string{id}}
	listBookmarks := func() {
		_, err := bookmarks{db}.List(t.Context(), id, ofListings, page.Request{Number: 1, Size: 1})
		require.NoError(t, err)
	}

	recorded.requireIndex(t, db, "bookmarks_listing", func() { recorded.requireOneStatement(t, listBookmarks) })
	recorded.requireIndexes(t, db, allowSorting)
}
