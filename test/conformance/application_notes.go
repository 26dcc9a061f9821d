package conformance

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
)

// newNote returns a note about the application, with characters that need escaping in SQL and JSON.
func newNote(application hiring.Application, author string, now time.Time) hiring.Note {
	return hiring.Note{
		ID:             newID(),
		ApplicationID:  application.ID,
		OrganizationID: application.OrganizationID,
		AuthorID:       author,
		Text:           "Zoë said \"100%\"\n\t\\ _ \U0001F469",
		WrittenAt:      now,
	}
}

// newRating returns a rating of the application.
func newRating(application hiring.Application, author string, stars int, now time.Time) hiring.Rating {
	return hiring.Rating{
		ApplicationID:  application.ID,
		OrganizationID: application.OrganizationID,
		AuthorID:       author,
		Stars:          stars,
		RatedAt:        now,
	}
}

// ApplicationNotes checks the port hiring.Notes: the notes that members of an organization write about an
// application. Each note has one author.
func ApplicationNotes(t *testing.T, open HiringOpener) {
	ctx := context.Background()

	// The notes of one application are listed newest first. The id of the last note of a page is the cursor of the
	// next page.
	t.Run("pages, newest first", func(t *testing.T) {
		storage, now := openHiring(t, open)
		application := apply(t, storage, newID(), newID(), now)
		otherApplication := apply(t, storage, newID(), newID(), now)

		addNote := func(application hiring.Application) hiring.Note {
			note := newNote(application, newID(), now)
			require.NoError(t, storage.Notes.Create(ctx, note))

			return note
		}
		oldest, older := addNote(application), addNote(application)
		middle := addNote(application)
		newer, newest := addNote(application), addNote(application)
		addNote(otherApplication)

		firstPage, err := storage.Notes.List(ctx, application.OrganizationID, application.ID,
			page.Request{Number: 1, Size: 2})
		require.NoError(t, err)
		require.Equal(t,
			page.Result[hiring.Note]{Items: []hiring.Note{newest, newer}, Total: 5, NextCursor: newer.ID}, firstPage)

		lastPage, err := storage.Notes.List(ctx, application.OrganizationID, application.ID,
			page.After(firstPage.NextCursor, 3))
		require.NoError(t, err)
		require.Equal(t, []hiring.Note{middle, older, oldest}, lastPage.Items)
		require.Empty(t, lastPage.NextCursor)
	})

	// A note of the maximum length, which is in characters, is stored completely. Each character of the note has
	// four bytes. So the test also finds a database that limits the bytes of a text.
	t.Run("long text", func(t *testing.T) {
		storage, now := openHiring(t, open)
		application := apply(t, storage, newID(), newID(), now)
		note := newNote(application, newID(), now)
		note.Text = strings.Repeat("\U0001F469", hiring.MaxNote)
		require.NoError(t, storage.Notes.Create(ctx, note))

		got, err := storage.Notes.List(ctx, application.OrganizationID, application.ID, page.After("", 1))
		require.NoError(t, err)
		require.Equal(t, []hiring.Note{note}, got.Items)
	})

	// A note belongs to one application of one organization: with another id, it is neither listed nor deleted.
	// Only its author can delete it.
	t.Run("other owner", func(t *testing.T) {
		storage, now := openHiring(t, open)
		application := apply(t, storage, newID(), newID(), now)
		note := newNote(application, newID(), now)
		require.NoError(t, storage.Notes.Create(ctx, note))

		// The id of the organization or of the application is another one.
		for _, foreign := range []struct{ organizationID, applicationID string }{
			{organizationID: newID(), applicationID: application.ID},
			{organizationID: application.OrganizationID, applicationID: newID()},
		} {
			got, err := storage.Notes.List(ctx, foreign.organizationID, foreign.applicationID, page.After("", wholeList))
			require.NoError(t, err)
			require.Empty(t, got.Items)

			err = storage.Notes.Delete(ctx, foreign.organizationID, foreign.applicationID, note.AuthorID, note.ID)
			require.ErrorIs(t, err, hiring.ErrNoteNotFound)
		}

		// The note is deleted by its author only, and once.
		deleteNote := func(authorID, noteID string) error {
			return storage.Notes.Delete(ctx, application.OrganizationID, application.ID, authorID, noteID)
		}
		require.ErrorIs(t, deleteNote(newID(), note.ID), hiring.ErrNoteNotFound, "not by the author")
		require.ErrorIs(t, deleteNote(note.AuthorID, newID()), hiring.ErrNoteNotFound, "another note")
		require.NoError(t, deleteNote(note.AuthorID, note.ID))
		require.ErrorIs(t, deleteNote(note.AuthorID, note.ID), hiring.ErrNoteNotFound, "deleted already")

		got, err := storage.Notes.List(ctx, application.OrganizationID, application.ID, page.After("", wholeList))
		require.NoError(t, err)
		require.Empty(t, got.Items)
	})
}

// ApplicationRatings checks the port hiring.Ratings: the stars that members of an organization give to an
// application. An application has at most one rating by each member.
func ApplicationRatings(t *testing.T, open HiringOpener) {
	ctx := context.Background()

	// A second rating by Ann replaces her first one and its time. The list begins with the latest rating, and has
	// at most as many ratings as the caller states.
	t.Run("one per author", func(t *testing.T) {
		storage, now := openHiring(t, open)
		application := apply(t, storage, newID(), newID(), now)
		ann := newRating(application, newID(), 2, now)
		bob := newRating(application, newID(), 5, now.Add(time.Minute))

		require.NoError(t, storage.Ratings.Upsert(ctx, ann))
		require.NoError(t, storage.Ratings.Upsert(ctx, bob))

		ann.Stars, ann.RatedAt = 3, now.Add(time.Hour)
		require.NoError(t, storage.Ratings.Upsert(ctx, ann))

		got, err := storage.Ratings.List(ctx, application.OrganizationID, application.ID, wholeList)
		require.NoError(t, err)
		require.Equal(t, []hiring.Rating{ann, bob}, got, "newest first")

		got, err = storage.Ratings.List(ctx, application.OrganizationID, application.ID, 1)
		require.NoError(t, err)
		require.Equal(t, []hiring.Rating{ann}, got)
	})

	// Eight concurrent ratings by one author do not fail, and one of them remains.
	t.Run("one per author, concurrently", func(t *testing.T) {
		storage, now := openHiring(t, open)
		application, author := apply(t, storage, newID(), newID(), now), newID()
		runConcurrently(t, 8, func(i int) error {
			stars := 1 + i%5
			return storage.Ratings.Upsert(ctx, newRating(application, author, stars, now))
		})

		got, err := storage.Ratings.List(ctx, application.OrganizationID, application.ID, wholeList)
		require.NoError(t, err)
		require.Len(t, got, 1)
	})

	// A summary is the number of ratings of an application and the sum of their stars. Summarize omits
	// applications without ratings, and those of other organizations.
	t.Run("summaries", func(t *testing.T) {
		storage, now := openHiring(t, open)
		organization := newID()
		ratedTwice := apply(t, storage, organization, newID(), now)
		ratedOnce := apply(t, storage, organization, newID(), now)
		unrated := apply(t, storage, organization, newID(), now)
		foreign := apply(t, storage, newID(), newID(), now)

		for _, rating := range []hiring.Rating{
			newRating(ratedTwice, newID(), 4, now),
			newRating(ratedTwice, newID(), 5, now),
			newRating(ratedOnce, newID(), 1, now),
			newRating(foreign, newID(), 3, now),
		} {
			require.NoError(t, storage.Ratings.Upsert(ctx, rating))
		}

		all := []string{ratedTwice.ID, ratedOnce.ID, unrated.ID, foreign.ID}
		got, err := storage.Ratings.Summarize(ctx, organization, all)
		require.NoError(t, err)
		require.Equal(t, map[string]hiring.RatingSummary{
			ratedTwice.ID: {Count: 2, Sum: 4 + 5},
			ratedOnce.ID:  {Count: 1, Sum: 1},
		}, got)

		got, err = storage.Ratings.Summarize(ctx, organization, []string{ratedTwice.ID})
		require.NoError(t, err)
		require.Len(t, got, 1, "only the given applications")
	})

	// A rating is listed for its organization only. It is deleted only with the right organization, application and
	// author. The deletion of a rating that does not exist is no error.
	t.Run("other owner", func(t *testing.T) {
		storage, now := openHiring(t, open)
		application := apply(t, storage, newID(), newID(), now)
		rating := newRating(application, newID(), 4, now)
		require.NoError(t, storage.Ratings.Upsert(ctx, rating))

		// Each deletion has one wrong id.
		require.NoError(t, storage.Ratings.Delete(ctx, newID(), application.ID, rating.AuthorID))
		require.NoError(t, storage.Ratings.Delete(ctx, application.OrganizationID, newID(), rating.AuthorID))
		require.NoError(t, storage.Ratings.Delete(ctx, application.OrganizationID, application.ID, newID()))

		got, err := storage.Ratings.List(ctx, newID(), application.ID, wholeList)
		require.NoError(t, err)
		require.Empty(t, got)

		got, err = storage.Ratings.List(ctx, application.OrganizationID, application.ID, wholeList)
		require.NoError(t, err)
		require.Equal(t, []hiring.Rating{rating}, got)

		// The last deletion has the right ids.
		require.NoError(t, storage.Ratings.Delete(ctx, application.OrganizationID, application.ID, rating.AuthorID))

		got, err = storage.Ratings.List(ctx, application.OrganizationID, application.ID, wholeList)
		require.NoError(t, err)
		require.Empty(t, got)
	})
}
