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

	require.NoError(t, s.Notifications.Add(ctx, jobseeker.Notification{ID: id, UserID: id, Cause: id, Type: jobseeker.AboutMessage, CreatedAt: now}))
	for _, r := range []page.Request{{Number: 3, Size: 20}, {Number: 1, Size: 20, Cursor: id}} {
		_, _ = s.Notifications.Page(ctx, id, r)
		_, _ = s.Activities.Page(ctx, id, r)
	}
	_ = s.Notifications.Has(ctx, id, id)
	_ = s.Notifications.SetRead(ctx, id, id, true)
	_ = s.Notifications.Delete(ctx, id, id, now)
	_, _ = s.Notifications.Forget(ctx, now, 10)
	_, _ = s.Activities.Forget(ctx, now, 10)
	_, err := s.Bookmarks.Add(ctx, jobseeker.Bookmark{ID: id, UserID: id, ListingID: id, SavedAt: now})
	require.NoError(t, err)
	for _, r := range []page.Request{{Number: 3, Size: 20}, {Number: 1, Size: 20, Cursor: id}} {
		_, _ = s.Bookmarks.Page(ctx, id, r)
	}
	_, _ = s.Bookmarks.Find(ctx, id, id)
	_, _ = s.Bookmarks.Count(ctx, id)
	_, _ = s.Bookmarks.Among(ctx, id, []string{id})
	_ = s.Bookmarks.SetNotes(ctx, id, id, "x")
	_, _ = s.Bookmarks.Untold(ctx, []string{id}, 10)
	_ = s.Bookmarks.Told(ctx, []string{id})
	_ = s.Bookmarks.Delete(ctx, id, id)
	require.NoError(t, s.Documents.Add(ctx, jobseeker.Document{ID: id, UserID: id, Type: jobseeker.CV, Content: jobseeker.Content{File: jobseeker.DocumentFile{ID: id}, Form: jobseeker.AsText}}))
	require.NoError(t, s.Documents.Save(ctx, jobseeker.Document{ID: id, UserID: id, Content: jobseeker.Content{File: jobseeker.DocumentFile{ID: id}, Form: jobseeker.AsText}}))
	for _, r := range []page.Request{{Number: 3, Size: 20}, {Number: 1, Size: 20, Cursor: id}} {
		_, _ = s.Documents.Page(ctx, id, r)
	}
	_, _ = s.Documents.Find(ctx, id, id)
	_, _ = s.Documents.Usage(ctx, id)
	_ = s.Documents.ClearDefault(ctx, id, jobseeker.CV)
	_ = s.Documents.Delete(ctx, id, id)
	require.NoError(t, s.DocumentFiles.Reserve(ctx, id, jobseeker.DocumentFile{ID: id}, now))
	_ = s.DocumentFiles.Use(ctx, id, id, now)
	_ = s.DocumentFiles.Free(ctx, id, id, now)
	_ = s.DocumentFiles.FreeAll(ctx, id, now)
	_, _ = s.DocumentFiles.Due(ctx, now, 10)
	_ = s.DocumentFiles.PutOff(ctx, []string{id}, now)
	_ = s.DocumentFiles.Remove(ctx, []string{id})
	_, _ = s.Listings.Briefs(ctx, []string{id}, now)
	_, _ = s.Listings.ClosingBetween(ctx, now, "", now, 10)
	_, _ = s.Listings.ClosingBetween(ctx, now, id, now, 10)
	_ = s.Profiles.Lock(ctx, id)
	_, _ = s.Profiles.Find(ctx, id)
	_, _ = s.Profiles.Deaf(ctx, []string{id})
	require.NoError(t, s.Profiles.Save(ctx, jobseeker.NewProfile(id)))
	_, _ = s.Profiles.Number(ctx, id)
	_, _ = s.Profiles.Number(ctx, id)
	_, _ = s.Searches.Of(ctx, id, 50)
	_ = s.Searches.Delete(ctx, id, id)
	require.NoError(t, s.Searches.Add(ctx, jobseeker.Search{ID: id, UserID: id}))
	_ = s.Searches.Delete(ctx, id, id)
	_ = s.Searches.EndAlerts(ctx, id)
	_, _ = s.Searches.After(ctx, id, 10)
	_, _ = s.Searches.Unresolved(ctx, 10)
	_ = s.Searches.SetResolved(ctx, map[string]string{id: "x"})
	_ = s.Alerts.Collect(ctx, id)
	_, _ = s.Alerts.Claim(ctx, 10, now, now)
	_ = s.Alerts.Keep(ctx, []string{id}, now)
	_ = s.Alerts.Done(ctx, []string{id})
	_, _ = s.Alerts.Due(ctx, now, 10)
	_, _ = s.Alerts.Bundle(ctx, id, id, now)
	_, _ = s.Alerts.AddMatches(ctx, []jobseeker.Match{{SearchID: id, ListingID: id, UserID: id, At: now, Email: true}})
	_, _ = s.Alerts.Bundle(ctx, id, id, now)
	_, _ = s.Alerts.Digest(ctx, id, id, 10)
	_, _ = s.Alerts.Forget(ctx, now, 10)
	_, _ = s.Listings.PublicMany(ctx, []string{id}, now)
	require.NoError(t, s.SeekerTraces.Remove(ctx, id))

	asked.useIndexes(t, db, "counted", "saved_searches USING INDEX saved_searches_unresolved")
}
