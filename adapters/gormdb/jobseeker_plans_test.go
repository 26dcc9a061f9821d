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

// TestJobseekerQueries_UseIndexes checks that no query of clinicians' data and saved searches
// scans a table. Each method is called with the filters that change its statement. The test records the
// statements and reads their plans at its end. One id stands for the ids of all rows.
func TestJobseekerQueries_UseIndexes(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	storage := db.Storage().Jobseeker
	recorded := recordStatements(t, db.reader, db.writer)
	ctx := t.Context()
	id := uuid.NewString()
	now := time.Now().UTC()

	// Both ways to read a list: by page number and after a cursor.
	pages := []page.Request{
		{Number: 3, Size: 20},
		{Number: 1, Size: 20, Cursor: uuid.NewString()},
	}

	// Notifications.
	read := true

	require.NoError(t, storage.Notifications.Create(ctx, jobseeker.Notification{
		ID:        id,
		UserID:    id,
		Cause:     id,
		Type:      jobseeker.AboutMessage,
		CreatedAt: now,
	}))

	for _, update := range []jobseeker.NotificationUpdate{{}, {Read: &read}, {DeletedAt: &now}} {
		require.NoError(t, storage.Notifications.Update(ctx, id, id, update))
	}

	// Lists.
	for _, request := range pages {
		_, _ = storage.Notifications.List(ctx, id, request)
		_, _ = storage.Activities.List(ctx, id, request)
		_, _ = storage.Bookmarks.List(ctx, id, jobseeker.BookmarkFilter{}, request)
		_, _ = storage.Documents.List(ctx, id, jobseeker.DocumentFilter{}, request)
	}

	firstPage := page.Request{Number: 1, Size: 1}
	_, _ = storage.Bookmarks.List(ctx, id, jobseeker.BookmarkFilter{ID: id}, firstPage)
	_, _ = storage.Documents.List(ctx, id, jobseeker.DocumentFilter{ID: id}, firstPage)

	// Expired rows.
	for kind := range jobseekerExpiry {
		_, err := storage.Retention.DeleteBefore(ctx, kind, now, 10)
		require.NoError(t, err)
	}

	// Bookmarks.
	require.NoError(t, storage.Bookmarks.Upsert(ctx, jobseeker.Bookmark{ID: id, UserID: id, ListingID: id, SavedAt: now}))

	_, err := storage.Bookmarks.ClaimReminders(ctx, []string{id}, 10)
	require.NoError(t, err)
	require.NoError(t, storage.Bookmarks.Delete(ctx, id, id))

	// Documents. The second time, the document exists and gets another file.
	document := jobseeker.Document{
		ID:        id,
		UserID:    id,
		Type:      jobseeker.CV,
		IsDefault: true,
		Content:   jobseeker.Content{File: jobseeker.DocumentFile{ID: id}, Form: jobseeker.AsText},
		UpdatedAt: now,
	}
	for range 2 {
		require.NoError(t, storage.DocumentFiles.Reserve(ctx, id, document.File, now.Add(time.Hour)))
		require.NoError(t, storage.Documents.Upsert(ctx, document))

		document.File.ID = uuid.NewString()
	}

	_, err = storage.DocumentFiles.Claim(ctx, 10, now.Add(time.Hour), now.Add(2*time.Hour))
	require.NoError(t, err)
	require.NoError(t, storage.Documents.Delete(ctx, id, id, now))
	require.NoError(t, storage.DocumentFiles.Delete(ctx, []string{id}))

	// The profile, and recommended listings that the user does not want to see again.
	require.NoError(t, db.Do(ctx, func(ctx context.Context) error {
		profile, err := storage.Profiles.Get(ctx, id)
		require.NoError(t, err)
		return storage.Profiles.Update(ctx, profile)
	}))

	// A dismissal above the limit is deleted, with a limit of 0 at once.
	for _, maxDismissals := range []int{10, 0} {
		require.NoError(t, storage.Dismissals.Create(ctx, id, id, now, maxDismissals))
	}

	_, err = storage.Dismissals.ListByListings(ctx, id, []string{id})
	require.NoError(t, err)

	// Onboardings: each is created, updated, and deleted when it is empty.
	for _, visitor := range []jobseeker.Visitor{{UserID: uuid.NewString()}, {GuestKey: "a"}} {
		for version, source := range []string{"save", "apply", ""} {
			_, err := storage.Onboardings.Get(ctx, visitor)
			require.NoError(t, err)
			require.NoError(t, storage.Onboardings.Upsert(ctx, jobseeker.Onboarding{
				Visitor:   visitor,
				Source:    source,
				TouchedAt: now,
				Version:   int64(version),
			}))
		}
	}

	// Saved searches: one is created, loses its e-mail alerts, is deleted and created again.
	withAlerts := jobseeker.Search{ID: id, UserID: id, EmailAlerts: true}
	withoutAlerts := jobseeker.Search{ID: id, UserID: id}

	for _, searches := range [][]jobseeker.Search{{withAlerts}, {withoutAlerts}, nil, {withAlerts}} {
		require.NoError(t, storage.Searches.Replace(ctx, id, searches))
	}

	_, _ = storage.Searches.ListByUser(ctx, id, 50)

	_, _ = storage.Searches.List(ctx, jobseeker.SearchFilter{AfterID: id}, 10)
	_, _ = storage.Searches.List(ctx, jobseeker.SearchFilter{Unresolved: true}, 10)
	require.NoError(t, storage.Searches.UpdateResolved(ctx, map[string]string{id: "x"}))

	// Alerts. The second time, the match exists.
	require.NoError(t, storage.AlertQueue.Add(ctx, id))

	_, err = storage.AlertQueue.List(ctx, 10)
	require.NoError(t, err)
	require.NoError(t, storage.AlertQueue.Delete(ctx, []string{id}))

	for range 2 {
		_, err = storage.Matches.Create(ctx, []jobseeker.Match{{SearchID: id, ListingID: id, UserID: id, At: now, Email: true}})
		require.NoError(t, err)

		_, _, err = storage.Matches.AssignDigests(ctx, []string{id}, now, now)
		require.NoError(t, err)
	}

	_, err = storage.Matches.ListByDigest(ctx, id, id, 10)
	require.NoError(t, err)
	require.NoError(t, storage.PersonalData.DeleteByUser(ctx, id, now))

	// The total of a list is the number of rows of a subquery named counted, whose size is limited.
	// The other two scans are allowed, because both indexes contain only rows that wait to be processed.
	recorded.requireIndexes(t, db, "counted", "saved_searches USING INDEX saved_searches_unresolved",
		"alert_listings USING COVERING INDEX sqlite_autoindex_alert_listings_1")
}

// TestBookmarksOfListings_UseIndex checks that one statement finds the bookmarks of given listings by an
// index. It may sort them, because a user has at most 1,000 bookmarks.
func TestBookmarksOfListings_UseIndex(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	recorded := recordStatements(t, db.reader, db.writer)
	id := uuid.NewString()
	ofListings := jobseeker.BookmarkFilter{ListingIDs: []string{id}}

	recorded.requireOneStatement(t, func() {
		_, err := bookmarks{db}.List(t.Context(), id, ofListings, page.Request{Number: 1, Size: 1})
		require.NoError(t, err)
	})
	recorded.requireIndexes(t, db, allowSorting)
}
