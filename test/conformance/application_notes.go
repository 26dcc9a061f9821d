package conformance

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
)

// newNote returns a note about the application.
func newNote(a hiring.Application, author string, now time.Time) hiring.Note {
	return hiring.Note{
		ID:             newID(),
		ApplicationID:  a.ID,
		OrganizationID: a.OrganizationID,
		AuthorID:       author,
		Text:           "Zoë said \"100%\"\n\t\\ _ \U0001F469",
		WrittenAt:      now,
	}
}

// newRating returns a rating of the application.
func newRating(a hiring.Application, author string, stars int, now time.Time) hiring.Rating {
	return hiring.Rating{ApplicationID: a.ID, OrganizationID: a.OrganizationID, AuthorID: author, Stars: stars, RatedAt: now}
}

// ApplicationNotes checks the port hiring.Notes.
func ApplicationNotes(t *testing.T, open HiringOpener) {
	ctx := context.Background()

	t.Run("pages, newest first", func(t *testing.T) {
		s, now := openHiring(t, open)
		a, otherApplication := apply(t, s, newID(), newID(), now), apply(t, s, newID(), newID(), now)
		var want []hiring.Note
		for range 5 {
			n := newNote(a, newID(), now)
			require.NoError(t, s.Notes.Create(ctx, n))
			want = append([]hiring.Note{n}, want...)
		}
		require.NoError(t, s.Notes.Create(ctx, newNote(otherApplication, newID(), now)))
		got, err := s.Notes.List(ctx, a.OrganizationID, a.ID, page.Request{Number: 1, Size: 2})
		require.NoError(t, err)
		require.Equal(t, page.Result[hiring.Note]{Items: want[:2], Total: 5, NextCursor: want[1].ID}, got)
		got, err = s.Notes.List(ctx, a.OrganizationID, a.ID, page.After(want[1].ID, 3))
		require.NoError(t, err)
		require.Equal(t, want[2:], got.Items)
		require.Empty(t, got.NextCursor)
	})

	t.Run("long text", func(t *testing.T) {
		s, now := openHiring(t, open)
		a := apply(t, s, newID(), newID(), now)
		n := newNote(a, newID(), now)
		n.Text = strings.Repeat("\U0001F469", hiring.MaxNote)
		require.NoError(t, s.Notes.Create(ctx, n))
		got, err := s.Notes.List(ctx, a.OrganizationID, a.ID, page.After("", 1))
		require.NoError(t, err)
		require.Equal(t, []hiring.Note{n}, got.Items)
	})

	t.Run("other owner", func(t *testing.T) {
		s, now := openHiring(t, open)
		a := apply(t, s, newID(), newID(), now)
		n := newNote(a, newID(), now)
		require.NoError(t, s.Notes.Create(ctx, n))
		for _, elsewhere := range [][2]string{{newID(), a.ID}, {a.OrganizationID, newID()}} {
			got, err := s.Notes.List(ctx, elsewhere[0], elsewhere[1], page.After("", 10))
			require.NoError(t, err)
			require.Empty(t, got.Items)
			require.ErrorIs(t, s.Notes.Delete(ctx, elsewhere[0], elsewhere[1], n.AuthorID, n.ID), hiring.ErrNoteNotFound)
		}
		require.ErrorIs(t, s.Notes.Delete(ctx, a.OrganizationID, a.ID, newID(), n.ID), hiring.ErrNoteNotFound, "of another author")
		require.ErrorIs(t, s.Notes.Delete(ctx, a.OrganizationID, a.ID, n.AuthorID, newID()), hiring.ErrNoteNotFound)
		require.NoError(t, s.Notes.Delete(ctx, a.OrganizationID, a.ID, n.AuthorID, n.ID))
		require.ErrorIs(t, s.Notes.Delete(ctx, a.OrganizationID, a.ID, n.AuthorID, n.ID), hiring.ErrNoteNotFound, "deleted already")
		got, err := s.Notes.List(ctx, a.OrganizationID, a.ID, page.After("", 10))
		require.NoError(t, err)
		require.Empty(t, got.Items)
	})
}

// ApplicationRatings checks the port hiring.Ratings.
func ApplicationRatings(t *testing.T, open HiringOpener) {
	ctx := context.Background()

	t.Run("one per author", func(t *testing.T) {
		s, now := openHiring(t, open)
		a := apply(t, s, newID(), newID(), now)
		ann, bob := newRating(a, newID(), 2, now), newRating(a, newID(), 5, now.Add(time.Minute))
		require.NoError(t, s.Ratings.Upsert(ctx, ann))
		require.NoError(t, s.Ratings.Upsert(ctx, bob))
		ann.Stars, ann.RatedAt = 3, now.Add(time.Hour)
		require.NoError(t, s.Ratings.Upsert(ctx, ann))
		got, err := s.Ratings.List(ctx, a.OrganizationID, a.ID, 10)
		require.NoError(t, err)
		require.Equal(t, []hiring.Rating{ann, bob}, got, "newest first")
		got, err = s.Ratings.List(ctx, a.OrganizationID, a.ID, 1)
		require.NoError(t, err)
		require.Equal(t, []hiring.Rating{ann}, got)
	})

	t.Run("one per author, concurrently", func(t *testing.T) {
		s, now := openHiring(t, open)
		a, author := apply(t, s, newID(), newID(), now), newID()
		together(t, 8, func(i int) error { return s.Ratings.Upsert(ctx, newRating(a, author, i%5+1, now)) })
		got, err := s.Ratings.List(ctx, a.OrganizationID, a.ID, 10)
		require.NoError(t, err)
		require.Len(t, got, 1)
	})

	t.Run("summaries", func(t *testing.T) {
		s, now := openHiring(t, open)
		organization := newID()
		a, b, unrated, foreign := apply(
			t,
			s,
			organization,
			newID(),
			now,
		), apply(
			t,
			s,
			organization,
			newID(),
			now,
		), apply(
			t,
			s,
			organization,
			newID(),
			now,
		), apply(
			t,
			s,
			newID(),
			newID(),
			now,
		)
		for _, r := range []hiring.Rating{newRating(a, newID(), 4, now), newRating(a, newID(), 5, now), newRating(b, newID(), 1, now), newRating(foreign, newID(), 3, now)} {
			require.NoError(t, s.Ratings.Upsert(ctx, r))
		}
		ids := list.Map([]hiring.Application{a, b, unrated, foreign}, func(a hiring.Application) string { return a.ID })
		got, err := s.Ratings.Summarize(ctx, organization, ids)
		require.NoError(t, err)
		require.Equal(t, map[string]hiring.RatingSummary{a.ID: {Count: 2, Sum: 9}, b.ID: {Count: 1, Sum: 1}}, got)
		got, err = s.Ratings.Summarize(ctx, organization, ids[:1])
		require.NoError(t, err)
		require.Len(t, got, 1)
	})

	t.Run("other owner", func(t *testing.T) {
		s, now := openHiring(t, open)
		a := apply(t, s, newID(), newID(), now)
		r := newRating(a, newID(), 4, now)
		require.NoError(t, s.Ratings.Upsert(ctx, r))
		require.NoError(t, s.Ratings.Delete(ctx, newID(), a.ID, r.AuthorID))
		require.NoError(t, s.Ratings.Delete(ctx, a.OrganizationID, newID(), r.AuthorID))
		require.NoError(t, s.Ratings.Delete(ctx, a.OrganizationID, a.ID, newID()))
		got, err := s.Ratings.List(ctx, newID(), a.ID, 10)
		require.NoError(t, err)
		require.Empty(t, got)
		got, err = s.Ratings.List(ctx, a.OrganizationID, a.ID, 10)
		require.NoError(t, err)
		require.Equal(t, []hiring.Rating{r}, got)
		require.NoError(t, s.Ratings.Delete(ctx, a.OrganizationID, a.ID, r.AuthorID))
		got, err = s.Ratings.List(ctx, a.OrganizationID, a.ID, 10)
		require.NoError(t, err)
		require.Empty(t, got)
	})
}
