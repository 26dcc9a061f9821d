package hiring_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/test/kit/stores"
)

// colleague returns another member of the employer's organization, with the permissions.
func colleague(employer auth.Actor, permissions ...auth.Permission) auth.Actor {
	return auth.Actor{
		UserID:         stores.NewID(),
		Role:           auth.EmployerTeam,
		OrganizationID: employer.OrganizationID,
		Permissions:    permissions,
	}
}

// writeNote adds a note of the member. It requires success.
func (e *testEnv) writeNote(by auth.Actor, applicationID, text string) hiring.Note {
	e.t.Helper()

	note, err := e.WriteNote(e.t.Context(), by, applicationID, hiring.NoteInput{Note: text})
	require.NoError(e.t, err)

	return note
}

// notes returns the notes about an application, each as "AUTHOR: TEXT".
func (e *testEnv) notes(by auth.Actor, applicationID string) (formatted []string) {
	e.t.Helper()

	found, err := e.ListNotes(e.t.Context(), by, applicationID, firstPageWithoutTotal)
	require.NoError(e.t, err)

	for _, note := range found.Items {
		formatted = append(formatted, note.Author+": "+note.Text)
	}

	return formatted
}

// rate sets the rating of the member.
func (e *testEnv) rate(by auth.Actor, applicationID string, stars int) {
	e.t.Helper()
	require.NoError(e.t, e.Rate(e.t.Context(), by, applicationID, hiring.RatingInput{Rating: stars}))
}

// summary returns the summary of the ratings of an application.
func (e *testEnv) summary(by auth.Actor, applicationID string) hiring.RatingSummary {
	e.t.Helper()

	summaries, err := e.SummarizeRatings(e.t.Context(), by, []string{applicationID})
	require.NoError(e.t, err)

	return summaries[applicationID]
}

// TestNotes_OfColleagues_NewestFirst checks that members who may view applications read each other's
// notes, all at once or page by page. The note of a deleted member has no name.
func TestNotes_OfColleagues_NewestFirst(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer()
		reader := colleague(employer, auth.ApplicationsView)
		application := env.apply(newSeeker(), env.newListing(employer))
		require.Empty(t, env.notes(reader, application.ID))

		first := env.writeNote(employer, application.ID, "  Strong references \n")
		env.writeNote(reader, strings.ToUpper(application.ID), "Prefers nights")
		require.Equal(t,
			[]string{"Name of " + reader.UserID + ": Prefers nights", "Name of " + employer.UserID + ": Strong references"},
			env.notes(employer, application.ID))

		// Read the notes one by one.
		const noCursor, pageSize = "", 1

		newest, err := env.ListNotes(t.Context(), employer, application.ID, page.After(noCursor, pageSize))
		require.NoError(t, err)

		oldest, err := env.ListNotes(t.Context(), employer, application.ID, page.After(newest.NextCursor, pageSize))
		require.NoError(t, err)
		require.Equal(t, first.ID, oldest.Items[0].ID)

		_, err = env.ListNotes(t.Context(), employer, application.ID, page.After("nonsense", pageSize))
		require.Equal(t, fault.Invalid, fault.KindOf(err))

		env.deletedUsers[employer.UserID] = true
		require.Contains(t, env.notes(reader, application.ID), "Deleted user: Strong references")
	})
}

// TestDeleteNote_OfOthers_NotFound checks that members can delete only their own notes, and only together
// with the id of the application that the note is about.
func TestDeleteNote_OfOthers_NotFound(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer()
		author := colleague(employer, auth.ApplicationsView)
		application := env.apply(newSeeker(), env.newListing(employer))
		note := env.writeNote(author, application.ID, "Prefers nights")

		err := env.DeleteNote(t.Context(), employer, application.ID, note.ID)
		require.ErrorIs(t, err, hiring.ErrNoteNotFound, "of a colleague")

		for _, id := range []string{"nonsense", stores.NewID()} {
			require.ErrorIs(t, env.DeleteNote(t.Context(), employer, application.ID, id), hiring.ErrNoteNotFound, id)
		}

		other := env.apply(newSeeker(), env.newListing(employer))
		err = env.DeleteNote(t.Context(), author, other.ID, note.ID)
		require.ErrorIs(t, err, hiring.ErrNoteNotFound, "of another application")

		// The author deletes the note.
		require.NoError(t, env.DeleteNote(t.Context(), author, application.ID, note.ID))
		require.Empty(t, env.notes(employer, application.ID))
	})
}

// TestWriteNote_InvalidText_IsRefused checks that a note is valid UTF-8 without NUL, which
// Postgres cannot store, and that its size counts characters.
func TestWriteNote_InvalidText_IsRefused(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()

	application := env.apply(newSeeker(), env.newListing(employer))
	for _, text := range []string{"", " \n", strings.Repeat("é", hiring.MaxNote+1), "a\x00b", "\xff"} {
		_, err := env.WriteNote(t.Context(), employer, application.ID, hiring.NoteInput{Note: text})
		require.Equal(t, "note", fault.Of(err).Fields[0].Name, "%q", text)
	}

	env.writeNote(employer, application.ID, strings.Repeat("é", hiring.MaxNote))
}

// TestWriteNote_MoreThan500InADay_IsLimited checks that the limit is one of each member, so
// that a stolen account does not block its colleagues.
func TestWriteNote_MoreThan500InADay_IsLimited(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()

	const maxNotes = 500

	application := env.apply(newSeeker(), env.newListing(employer))
	for range maxNotes {
		env.writeNote(employer, application.ID, "Again")
	}

	_, err := env.WriteNote(t.Context(), employer, application.ID, hiring.NoteInput{Note: "Again"})
	require.ErrorIs(t, err, fault.ErrRateLimit)
	env.writeNote(colleague(employer, auth.ApplicationsView), application.ID, "Not mine")

	// A day later, the member can write again.
	env.clock.Advance(25 * time.Hour)
	env.writeNote(employer, application.ID, "The next day")
}

// TestRatings_OfColleagues_HaveAverage checks that each member has one rating of an application, which can
// be changed. The list of ratings begins with the one that was changed last.
func TestRatings_OfColleagues_HaveAverage(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer()
		ann, bob := colleague(employer, auth.ApplicationsView), colleague(employer, auth.ApplicationsView)
		application := env.apply(newSeeker(), env.newListing(employer))
		unrated := env.apply(newSeeker(), env.newListing(employer))
		require.Zero(t, env.summary(employer, application.ID).Average())

		// Three members rate the application, and the first one changes the rating from 2 to 3.
		env.rate(employer, application.ID, 2)
		env.clock.Advance(time.Minute)
		env.rate(ann, application.ID, 5)
		env.clock.Advance(time.Minute)
		env.rate(bob, application.ID, 5)
		env.clock.Advance(time.Minute)
		env.rate(employer, application.ID, 3)

		// The sum is 5 + 5 + 3, and the average 13 / 3, rounded to one decimal.
		summary := env.summary(ann, application.ID)
		require.Equal(t, hiring.RatingSummary{Count: 3, Sum: 13}, summary)
		require.InDelta(t, 4.3, summary.Average(), 1e-9)
		require.Zero(t, env.summary(ann, unrated.ID))

		ratings, err := env.ListRatings(t.Context(), ann, application.ID)
		require.NoError(t, err)
		require.Len(t, ratings, 3)
		require.Equal(t, 3, ratings[0].Stars, "the one that was changed last")
		require.Equal(t, "Name of "+employer.UserID, ratings[0].Author)
	})
}

// TestRemoveRating_OfMember_OthersStay checks that a member can remove the own rating, also twice. The
// rating of a deleted member is listed without a name.
func TestRemoveRating_OfMember_OthersStay(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer()
		ann, bob := colleague(employer, auth.ApplicationsView), colleague(employer, auth.ApplicationsView)
		application := env.apply(newSeeker(), env.newListing(employer))

		for _, member := range []auth.Actor{employer, ann, bob} {
			env.rate(member, application.ID, 5)
			env.clock.Advance(time.Minute)
		}

		require.NoError(t, env.RemoveRating(t.Context(), employer, application.ID))
		require.NoError(t, env.RemoveRating(t.Context(), employer, application.ID), "removed already")

		env.deletedUsers[ann.UserID] = true
		ratings, err := env.ListRatings(t.Context(), ann, application.ID)
		require.NoError(t, err)
		require.Len(t, ratings, 2)
		require.Equal(t, "Name of "+bob.UserID, ratings[0].Author, "the later rating")
		require.Equal(t, "Deleted user", ratings[1].Author)
	})
}

// TestRate_OutsideOfRange_IsRefused checks that a rating has one to five stars.
func TestRate_OutsideOfRange_IsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer()
		application := env.apply(newSeeker(), env.newListing(employer))

		for _, stars := range []int{-1, 0, 6} {
			err := env.Rate(t.Context(), employer, application.ID, hiring.RatingInput{Rating: stars})
			require.Equal(t, "rating", fault.Of(err).Fields[0].Name, "%d stars", stars)
		}
	})
}

// TestSummarizeRatings_NoApplications_IsEmpty checks that no application has no summary, and no error.
func TestSummarizeRatings_NoApplications_IsEmpty(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		var noApplications []string

		summaries, err := env.SummarizeRatings(t.Context(), newEmployer(), noApplications)
		require.NoError(t, err)
		require.Empty(t, summaries)
	})
}

// TestNotes_OtherActors_AreForbidden checks that notes and ratings are private to members with
// the permission. Neither the applicant nor an app of a member gets them.
func TestNotes_OtherActors_AreForbidden(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ctx := t.Context()
		employer := newEmployer()
		applicant := newSeeker()
		application := env.apply(applicant, env.newListing(employer))
		note := env.writeNote(employer, application.ID, "Private")
		env.rate(employer, application.ID, 4)

		app := employer
		app.AppID = stores.NewID()
		app.Scopes = []auth.Scope{auth.ScopeApplicationsRead, auth.ScopeApplicationsWrite}

		withoutView := colleague(employer, auth.JobsCreate, auth.JobsUpdate, auth.ApplicationsUpdate)

		for name, test := range map[string]struct {
			by   auth.Actor
			want fault.Kind // of the error of each method
		}{
			"other organization":            {by: newEmployer(), want: fault.NotFound},
			"member without permission":     {by: withoutView, want: fault.Forbidden},
			"member without any permission": {by: colleague(employer), want: fault.Forbidden},
			"applicant":                     {by: applicant, want: fault.Forbidden},
			"guest":                         {by: auth.Actor{}, want: fault.Unauthenticated},
			"app of a member":               {by: app, want: fault.Forbidden},
		} {
			by := test.by
			_, writeErr := env.WriteNote(ctx, by, application.ID, hiring.NoteInput{Note: "x"})
			_, listErr := env.ListNotes(ctx, by, application.ID, firstPageWithoutTotal)
			_, ratingsErr := env.ListRatings(ctx, by, application.ID)

			for method, err := range map[string]error{
				"WriteNote":    writeErr,
				"ListNotes":    listErr,
				"ListRatings":  ratingsErr,
				"DeleteNote":   env.DeleteNote(ctx, by, application.ID, note.ID),
				"Rate":         env.Rate(ctx, by, application.ID, hiring.RatingInput{Rating: 1}),
				"RemoveRating": env.RemoveRating(ctx, by, application.ID),
			} {
				require.Equal(t, test.want, fault.KindOf(err), "%s: %s", name, method)
			}

			// Applications of other organizations are left out of the summaries, without an error.
			summaries, err := env.SummarizeRatings(ctx, by, []string{application.ID})
			require.Empty(t, summaries, name)

			isOfOtherOrganization := test.want == fault.NotFound
			if isOfOtherOrganization {
				require.NoError(t, err, name)
			} else {
				require.Equal(t, test.want, fault.KindOf(err), name)
			}
		}

		// The note and the rating are unchanged.
		require.Len(t, env.notes(employer, application.ID), 1)
		require.Equal(t, hiring.RatingSummary{Count: 1, Sum: 4}, env.summary(employer, application.ID))
	})
}

// TestNotes_WithdrawnApplication_AreReadOnly checks that nothing can be added after a
// withdrawal, because it would not be deleted with the account of the applicant, while authors
// can still delete what they wrote.
func TestNotes_WithdrawnApplication_AreReadOnly(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer, applicant := newEmployer(), newSeeker()
		application := env.apply(applicant, env.newListing(employer))
		note := env.writeNote(employer, application.ID, "Good")
		env.rate(employer, application.ID, 4)
		require.NoError(t, env.Withdraw(t.Context(), applicant, application.ID))

		_, err := env.WriteNote(t.Context(), employer, application.ID, hiring.NoteInput{Note: "Sad"})
		require.ErrorIs(t, err, hiring.ErrWithdrawn)
		require.ErrorIs(t, env.Rate(t.Context(), employer, application.ID, hiring.RatingInput{Rating: 1}), hiring.ErrWithdrawn)
		require.Len(t, env.notes(employer, application.ID), 1)
		require.NoError(t, env.DeleteNote(t.Context(), employer, application.ID, note.ID))
		require.NoError(t, env.RemoveRating(t.Context(), employer, application.ID))
		require.Zero(t, env.summary(employer, application.ID))
	})
}

// TestOnAccountDeleted_NotesAndRatings_AreDeleted checks that the notes about a deleted
// applicant are deleted, and that the notes by a deleted member stay without a name.
func TestOnAccountDeleted_NotesAndRatings_AreDeleted(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer()
		ann := newSeeker()
		bob := newSeeker()
		listing := env.newListing(employer)

		ofAnn, ofBob := env.apply(ann, listing), env.apply(bob, listing)
		for _, application := range []hiring.Application{ofAnn, ofBob} {
			env.writeNote(employer, application.ID, "Ann was late")
			env.rate(employer, application.ID, 2)
		}

		// The applicant Ann deletes the account: only the notes about Bob's application stay.
		env.deleteAccount(ann)
		require.Empty(t, env.notes(employer, ofAnn.ID))
		require.Zero(t, env.summary(employer, ofAnn.ID))

		_, err := env.WriteNote(t.Context(), employer, ofAnn.ID, hiring.NoteInput{Note: "Ann"})
		require.ErrorIs(t, err, hiring.ErrWithdrawn)
		require.Len(t, env.notes(employer, ofBob.ID), 1)
		require.Equal(t, 1, env.summary(employer, ofBob.ID).Count)

		// The author deletes the account: the note stays without a name.
		env.deleteAccount(employer)
		require.Equal(t, []string{"Deleted user: Ann was late"}, env.notes(colleague(employer, auth.ApplicationsView), ofBob.ID))
	})
}
