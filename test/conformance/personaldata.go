package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/modules/jobseeker"
)

// SeekerPersonalData checks the port jobseeker.PersonalData. DeleteByUser deletes the rows of a user in all ports of the
// module, and releases the user's files, which are then deleted from the file store by another task.
func SeekerPersonalData(t *testing.T, open JobseekerOpener) {
	// Ann's data of every kind are deleted, and the same data of Bob stay.
	t.Run("delete by user", func(t *testing.T) {
		storage, now := openJobseeker(t, open)
		ann, bob := newID(), newID()
		dismissed := newID() // a listing that both have dismissed

		annsDocument := storePersonalData(t, storage, ann, dismissed, now)
		storePersonalData(t, storage, bob, dismissed, now)

		// The event that an account was deleted may be delivered twice.
		for range 2 {
			require.NoError(t, storage.PersonalData.DeleteByUser(context.Background(), ann, now))
		}

		requirePersonalData(t, storage, ann, dismissed, false)
		requirePersonalData(t, storage, bob, dismissed, true)

		// Ann's file, and no file of Bob, is released: a claim returns it for deletion from the file store.
		claimEnd := now // no other call claims files, so that the claim need not last
		released, err := storage.DocumentFiles.Claim(context.Background(), 10, now, claimEnd)
		require.NoError(t, err)
		require.Equal(t, []jobseeker.DocumentFile{annsDocument.File}, released)

		// Only Bob's match is still sent in a digest.
		nextDigest := now // no later digest is assigned, so that no interval is needed
		digests, _ := assignDigests(t, storage, 10, now, nextDigest)
		require.Len(t, digests, 1)
		require.Equal(t, bob, digests[0].UserID)
	})
}

// storePersonalData stores data of each kind for the user, and returns the document. Of two notifications, the user has
// deleted one, so that a list contains only the other.
func storePersonalData(
	t *testing.T, storage adapters.JobseekerStorage, user, dismissed string, now time.Time,
) jobseeker.Document {
	t.Helper()

	ctx := context.Background()
	profile := jobseeker.NewProfile(user)
	profile.Bio = "I am " + user
	withProfile(t, storage, user, func(ctx context.Context) error { return storage.Profiles.Update(ctx, profile) })

	// A saved search with e-mail alerts and a match for the next digest.
	search := newSearch(user, true, now)
	storeSearches(t, storage, search)
	storeMatches(t, storage, newMatch(search, newID(), now))

	require.NoError(t, storage.Bookmarks.Upsert(ctx, jobseeker.Bookmark{
		ID:        newID(),
		UserID:    user,
		ListingID: newID(),
		Notes:     "Close to home",
		SavedAt:   now,
	}))

	const maxDismissals = 10

	require.NoError(t, storage.Dismissals.Create(ctx, user, dismissed, now, maxDismissals))
	require.NoError(t, storage.Onboardings.Upsert(ctx, jobseeker.Onboarding{
		Visitor:   jobseeker.Visitor{UserID: user},
		Source:    "save",
		TouchedAt: now,
	}))

	document := newDocument(user, jobseeker.CV, true, now)
	storeDocument(t, storage, document)

	deletedByUser := newNotification(user, newID(), now)
	require.NoError(t, storage.Notifications.Create(ctx, newNotification(user, newID(), now), deletedByUser))
	require.NoError(t, storage.Notifications.Update(ctx, user, deletedByUser.ID,
		jobseeker.NotificationUpdate{DeletedAt: &now}))

	if storage.Activities != nil { // the port is optional
		require.NoError(t, storage.Activities.Create(ctx, jobseeker.Activity{
			UserID:      user,
			EventID:     newID(),
			Type:        "search",
			Action:      "saved",
			Description: "Saved a search",
			At:          now,
		}))
	}

	return document
}

// requirePersonalData requires that the data of storePersonalData are all listed for the user, or none of them.
func requirePersonalData(t *testing.T, storage adapters.JobseekerStorage, user, dismissed string, isStored bool) {
	t.Helper()

	ctx, wantRows := context.Background(), 0 // of each kind
	if isStored {
		wantRows = 1
	}

	profile, err := storage.Profiles.Get(ctx, user)
	require.NoError(t, err)
	require.Equal(t, isStored, profile.Bio != "", "the profile has its text")

	searches, err := storage.Searches.ListByUser(ctx, user, 10)
	require.NoError(t, err)
	require.Len(t, searches, wantRows)

	bookmarks, err := storage.Bookmarks.List(ctx, user, jobseeker.BookmarkFilter{}, firstHundred)
	require.NoError(t, err)
	require.Len(t, bookmarks.Items, wantRows)

	dismissals, err := storage.Dismissals.ListByListings(ctx, user, []string{dismissed})
	require.NoError(t, err)
	require.Len(t, dismissals, wantRows)

	onboarding, err := storage.Onboardings.Get(ctx, jobseeker.Visitor{UserID: user})
	require.NoError(t, err)
	require.Equal(t, isStored, onboarding.Version > 0, "the onboarding is stored")

	notifications, err := storage.Notifications.List(ctx, user, firstHundred)
	require.NoError(t, err)
	require.Len(t, notifications.Items, wantRows)

	documents, err := storage.Documents.List(ctx, user, jobseeker.DocumentFilter{}, firstHundred)
	require.NoError(t, err)
	require.Len(t, documents.Items, wantRows)

	if storage.Activities != nil { // the port is optional
		activities, err := storage.Activities.List(ctx, user, firstHundred)
		require.NoError(t, err)
		require.Len(t, activities.Items, wantRows)
	}
}
