package gormdb

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
)

func TestEverySeekersQueryFindsItsRowsByAnIndex(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	s := db.Storage()
	asked := recordStatements(t, db.gorm, db.writer)
	ctx, id, now := t.Context(), uuid.NewString(), time.Now().UTC()

	require.NoError(t, s.Jobseeker.Notifications.Add(ctx, jobseeker.Notification{ID: id, UserID: id, Cause: id, Type: jobseeker.AboutMessage, CreatedAt: now}))
	for _, r := range []page.Request{{Number: 3, Size: 20}, {Number: 1, Size: 20, Cursor: id}} {
		_, _ = s.Jobseeker.Notifications.Page(ctx, id, r)
		_, _ = s.Jobseeker.Activities.Page(ctx, id, r)
	}
	_ = s.Jobseeker.Notifications.Has(ctx, id, id)
	_ = s.Jobseeker.Notifications.SetRead(ctx, id, id, true)
	_ = s.Jobseeker.Notifications.Delete(ctx, id, id, now)
	_, _ = s.Jobseeker.Notifications.Forget(ctx, now, 10)
	_, _ = s.Jobseeker.Activities.Forget(ctx, now, 10)
	_, err := s.Jobseeker.Bookmarks.Add(ctx, jobseeker.Bookmark{ID: id, UserID: id, ListingID: id, SavedAt: now})
	require.NoError(t, err)
	for _, r := range []page.Request{{Number: 3, Size: 20}, {Number: 1, Size: 20, Cursor: id}} {
		_, _ = s.Jobseeker.Bookmarks.Page(ctx, id, r)
	}
	_, _ = s.Jobseeker.Bookmarks.Find(ctx, id, id)
	_, _ = s.Jobseeker.Bookmarks.Count(ctx, id)
	_, _ = s.Jobseeker.Bookmarks.Among(ctx, id, []string{id})
	_ = s.Jobseeker.Bookmarks.SetNotes(ctx, id, id, "x")
	_, _ = s.Jobseeker.Bookmarks.Untold(ctx, []string{id}, 10)
	_ = s.Jobseeker.Bookmarks.Told(ctx, []string{id})
	_ = s.Jobseeker.Bookmarks.Delete(ctx, id, id)
	require.NoError(t, s.Jobseeker.Documents.Add(ctx, jobseeker.Document{ID: id, UserID: id, Type: jobseeker.CV, Content: jobseeker.Content{File: jobseeker.DocumentFile{ID: id}, Form: jobseeker.AsText}}))
	require.NoError(t, s.Jobseeker.Documents.Save(ctx, jobseeker.Document{ID: id, UserID: id, Content: jobseeker.Content{File: jobseeker.DocumentFile{ID: id}, Form: jobseeker.AsText}}))
	for _, r := range []page.Request{{Number: 3, Size: 20}, {Number: 1, Size: 20, Cursor: id}} {
		_, _ = s.Jobseeker.Documents.Page(ctx, id, r)
	}
	_, _ = s.Jobseeker.Documents.Find(ctx, id, id)
	_, _ = s.Jobseeker.Documents.Usage(ctx, id)
	_ = s.Jobseeker.Documents.ClearDefault(ctx, id, jobseeker.CV)
	_ = s.Jobseeker.Documents.Delete(ctx, id, id)
	require.NoError(t, s.Jobseeker.DocumentFiles.Reserve(ctx, id, jobseeker.DocumentFile{ID: id}, now))
	_ = s.Jobseeker.DocumentFiles.Use(ctx, id, id, now)
	_ = s.Jobseeker.DocumentFiles.Free(ctx, id, id, now)
	_ = s.Jobseeker.DocumentFiles.FreeAll(ctx, id, now)
	_, _ = s.Jobseeker.DocumentFiles.Due(ctx, now, 10)
	_ = s.Jobseeker.DocumentFiles.PutOff(ctx, []string{id}, now)
	_ = s.Jobseeker.DocumentFiles.Remove(ctx, []string{id})
	_, _ = s.Listings.Public.ListBriefs(ctx, []string{id}, now)
	_, _ = s.Listings.Public.ListClosing(ctx, now, "", now, 10)
	_, _ = s.Listings.Public.ListClosing(ctx, now, id, now, 10)
	_ = s.Jobseeker.Profiles.Lock(ctx, id)
	_, _ = s.Jobseeker.Profiles.Find(ctx, id)
	_, _ = s.Jobseeker.Profiles.Deaf(ctx, []string{id})
	require.NoError(t, s.Jobseeker.Profiles.Save(ctx, jobseeker.NewProfile(id)))
	_, _ = s.Jobseeker.Profiles.Number(ctx, id)
	_, _ = s.Jobseeker.Profiles.Number(ctx, id)
	_, _ = s.Jobseeker.Searches.Of(ctx, id, 50)
	_ = s.Jobseeker.Searches.Delete(ctx, id, id)
	require.NoError(t, s.Jobseeker.Searches.Add(ctx, jobseeker.Search{ID: id, UserID: id}))
	_ = s.Jobseeker.Searches.Delete(ctx, id, id)
	_ = s.Jobseeker.Searches.EndAlerts(ctx, id)
	_, _ = s.Jobseeker.Searches.After(ctx, id, 10)
	_, _ = s.Jobseeker.Searches.Unresolved(ctx, 10)
	_ = s.Jobseeker.Searches.SetResolved(ctx, map[string]string{id: "x"})
	_ = s.Jobseeker.Alerts.Collect(ctx, id)
	_, _ = s.Jobseeker.Alerts.Claim(ctx, 10, now, now)
	_ = s.Jobseeker.Alerts.Keep(ctx, []string{id}, now)
	_ = s.Jobseeker.Alerts.Done(ctx, []string{id})
	_, _ = s.Jobseeker.Alerts.Due(ctx, now, 10)
	_, _ = s.Jobseeker.Alerts.Bundle(ctx, id, id, now)
	_, _ = s.Jobseeker.Alerts.AddMatches(ctx, []jobseeker.Match{{SearchID: id, ListingID: id, UserID: id, At: now, Email: true}})
	_, _ = s.Jobseeker.Alerts.Bundle(ctx, id, id, now)
	_, _ = s.Jobseeker.Alerts.Digest(ctx, id, id, 10)
	_, _ = s.Jobseeker.Alerts.Forget(ctx, now, 10)
	_, _ = s.Listings.Public.ListPublic(ctx, []string{id}, now, true)
	require.NoError(t, s.Jobseeker.Traces.Remove(ctx, id))

	asked.useIndexes(t, db, "counted", "saved_searches USING INDEX saved_searches_unresolved")
}
