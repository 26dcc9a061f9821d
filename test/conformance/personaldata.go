package conformance

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
)

// SeekerPersonalData checks the port jobseeker.PersonalData.
func SeekerPersonalData(t *testing.T, open JobseekerOpener) {
	ctx, all := context.Background(), page.Request{Number: 1, Size: 10}

	// Ann's data of every kind are deleted, also a notification that she has deleted herself,
	// and Bob's stay.
	t.Run("delete by user", func(t *testing.T) {
		storage, now := openJobseeker(t, open)
		ann := newID()
		bob := newID()
		listing := newID()

		documents := map[string]jobseeker.Document{}
		for _, user := range []string{ann, bob} {
			profile := jobseeker.NewProfile(user)
			profile.Bio = "I am " + user
			withProfile(t, storage, user,
				func(ctx context.Context) error { return storage.Profiles.Update(ctx, profile) })

			search := newSearch(user, true, now)
			storeSearches(t, storage, search)
			storeMatches(t, storage, newMatch(search, newID(), now))
			require.NoError(
				t,
				storage.Bookmarks.Upsert(ctx, jobseeker.Bookmark{
					ID:        newID(),
					UserID:    user,
					ListingID: newID(),
					Notes:     "for Ann",
					SavedAt:   now,
				}),
			)
			require.NoError(t, storage.Dismissals.Create(ctx, user, listing, now, 10))
			require.NoError(
				t,
				storage.Onboardings.Upsert(ctx, jobseeker.Onboarding{
					Visitor:   jobseeker.Visitor{UserID: user},
					Source:    "save",
					TouchedAt: now,
				}),
			)

			documents[user] = newDocument(user, jobseeker.CV, true, now)
			storeDocument(t, storage, documents[user])

			deleted := newNotification(user, newID(), now)
			require.NoError(t, storage.Notifications.Create(ctx, newNotification(user, newID(), now), deleted))
			require.NoError(t, storage.Notifications.Update(ctx, user, deleted.ID,
				jobseeker.NotificationUpdate{DeletedAt: &now}))

			if storage.Activities != nil {
				require.NoError(
					t,
					storage.Activities.Create(
						ctx,
						jobseeker.Activity{
							UserID:      user,
							EventID:     newID(),
							Type:        "search",
							Action:      "saved",
							Description: "Saved Ann's",
							At:          now,
						},
					),
				)
			}
		}

		// The event that an account was deleted may be delivered twice.
		for range 2 {
			require.NoError(t, storage.PersonalData.DeleteByUser(ctx, ann, now))
		}

		for user, kept := range map[string]int{ann: 0, bob: 1} {
			searches, err := storage.Searches.ListByUser(ctx, user, 10)
			require.NoError(t, err)
			require.Len(t, searches, kept)

			bookmarks, err := storage.Bookmarks.List(ctx, user, jobseeker.BookmarkFilter{}, all)
			require.NoError(t, err)
			require.Len(t, bookmarks.Items, kept)

			dismissals, err := storage.Dismissals.ListByListings(ctx, user, []string{listing})
			require.NoError(t, err)
			require.Len(t, dismissals, kept)

			onboarding, err := storage.Onboardings.Get(ctx, jobseeker.Visitor{UserID: user})
			require.NoError(t, err)
			require.Equal(t, kept == 1, onboarding.Version > 0)

			notifications, err := storage.Notifications.List(ctx, user, all)
			require.NoError(t, err)
			require.Len(t, notifications.Items, kept)

			stored, err := storage.Documents.List(ctx, user, jobseeker.DocumentFilter{}, all)
			require.NoError(t, err)
			require.Len(t, stored.Items, kept)

			if storage.Activities != nil {
				activities, err := storage.Activities.List(ctx, user, all)
				require.NoError(t, err)
				require.Len(t, activities.Items, kept)
			}

			profile, err := storage.Profiles.Get(ctx, user)
			require.NoError(t, err)
			require.Equal(t, kept == 1, profile.Bio != "")
		}

		// Ann's file is now to be deleted from the file store, and only Bob's search can still
		// get a digest.
		released, err := storage.DocumentFiles.Claim(ctx, 10, now, now)
		require.NoError(t, err)
		require.Equal(t, []jobseeker.DocumentFile{documents[ann].File}, released)

		digests, _ := assignDigests(t, storage, 10, now, now)
		require.Len(t, digests, 1)
		require.Equal(t, bob, digests[0].UserID)
	})
}
