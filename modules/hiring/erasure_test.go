package hiring_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/test/kit/stores"
)

// handleDeletion handles the deletion of the applicant's account in this module.
func (e *testEnv) handleDeletion(who auth.Actor) {
	e.t.Helper()
	e.deletedUsers[who.UserID] = true
	require.NoError(
		e.t,
		e.OnAccountDeleted(e.t.Context(), event.AccountDeleted{UserID: who.UserID, Kind: "jobseeker", DeletedAt: e.clock.Now()}),
	)
}

// TestOnAccountDeleted_ApplicationIsAnonymized checks that employers keep the application and
// its outcome, but no name, address or text of the applicant. The handler may run twice.
func TestOnAccountDeleted_ApplicationIsAnonymized(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann, bob, st := seeker(), seeker(), employer()
		question := hiring.Question{ID: "why", Required: true}
		open, hired := env.newListing(st, question), env.newListing(st)
		application, err := env.Apply(
			t.Context(),
			ann,
			hiring.ApplyInput{
				ListingID:   open,
				CoverLetter: "I am Ann",
				Answers:     []hiring.Answer{{QuestionID: "why", Answer: "because I am Ann"}},
			},
		)
		require.NoError(t, err)
		got := env.apply(ann, hired)
		other := env.apply(bob, hired)
		require.NoError(t, env.setStatus(st, got.ID, "accepted"))
		in := interviewInput("2027-03-27T11:00:00Z")
		in.Notes = ptr("Ann was late")
		_, err = env.Schedule(t.Context(), st, application.ID, in)
		require.NoError(t, err)
		_, err = env.Contact(t.Context(), st, application.ID, hiring.ContactInput{
			Subject: "Dear Ann",
			Message: "Ann, can you come earlier?",
		})
		require.NoError(t, err)
		env.sentMails()
		env.recordedEvents()

		env.handleDeletion(ann)
		require.ElementsMatch(t, []string{"interview cancelled 1", "pending>withdrawn"}, env.recordedEvents(),
			"decided applications keep their status")
		seen := env.received(st, application.ID)
		require.Equal(t, hiring.Withdrawn, seen.Status)
		require.Equal(t, hiring.Person{Name: "Deleted user"}, seen.Applicant)
		require.Empty(t, seen.CoverLetter)
		require.Empty(t, seen.Answers)
		require.Equal(t, hiring.Cancelled, seen.Interview.Status)
		require.Empty(t, seen.Interview.Notes)
		require.Equal(t, hiring.Accepted, env.received(st, got.ID).Status)
		require.ErrorIs(t, env.setStatus(st, got.ID, "rejected"), hiring.ErrInvalidStatus,
			"an application without an applicant cannot be changed")
		require.Equal(t, "Dear all", env.received(st, other.ID).CoverLetter, "other users' applications are unchanged")
		_, err = env.Contact(t.Context(), st, application.ID, hiring.ContactInput{Subject: "Dear", Message: "nobody"})
		require.ErrorIs(t, err, hiring.ErrNotFound)
		met, err := env.Interviews(t.Context(), st, "", page.Request{Number: 1, Size: 10})
		require.NoError(t, err)
		require.Equal(t, "Deleted user", met.Items[0].Applicant.Name)

		env.handleDeletion(ann)
		require.Empty(t, env.recordedEvents(), "a repeated deletion changes nothing")
		require.Empty(t, env.sentMails(), "no message is sent")
	})
}

// TestOnAccountDeleted_ManyApplications_SeveralTransactions checks that all applications are
// withdrawn if they do not fit into one transaction (20).
func TestOnAccountDeleted_ManyApplications_SeveralTransactions(t *testing.T) {
	t.Parallel()
	env := newTestEnv(t, stores.SQLite)
	ann, st := seeker(), employer()
	for range 45 {
		env.apply(ann, env.newListing(st))
	}
	env.recordedEvents()
	env.handleDeletion(ann)
	require.Len(t, env.recordedEvents(), 45)
	left, err := env.Mine(t.Context(), ann, page.Request{Number: 1, Size: 10})
	require.NoError(t, err)
	require.Zero(t, left.Total)
}

// TestOnAccountDeleted_ExportsNamingApplicant_Deleted checks that the files of organizations to
// which the applicant has applied are deleted. Exports of jobs and of other organizations stay,
// and a queued export is written without the name.
func TestOnAccountDeleted_ExportsNamingApplicant_Deleted(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann, bob, st, elsewhere := seeker(), seeker(), employer(), employer()
		env.apply(ann, env.newListing(st))
		env.apply(bob, env.newListing(elsewhere))
		start := func(by auth.Actor, kind string) hiring.Export {
			t.Helper()
			e, err := env.StartExport(t.Context(), by, hiring.ExportInput{Kind: kind})
			require.NoError(t, err)
			return e
		}
		named := start(st, "applications")
		jobs := start(st, "jobs")
		others := start(elsewhere, "applications")
		env.sentMails()
		view, err := env.MyExport(t.Context(), st, named.ID)
		require.NoError(t, err)
		_, rows := env.downloadExport(view)
		require.Contains(t, rows[1], "Name of "+ann.UserID)
		waiting := start(st, "applications")

		env.handleDeletion(ann)
		_, err = env.MyExport(t.Context(), st, named.ID)
		require.ErrorIs(t, err, hiring.ErrExportNotFound)
		_, _, err = env.Files.Open(t.Context(), "exports/"+st.OrganizationID+"/"+named.ID+".csv")
		require.Error(t, err)
		for by, e := range map[*auth.Actor]hiring.Export{&st: jobs, &elsewhere: others} {
			v, err := env.MyExport(t.Context(), *by, e.ID)
			require.NoError(t, err)
			require.Equal(t, hiring.ExportDone, v.State)
		}
		env.sentMails()
		view, err = env.MyExport(t.Context(), st, waiting.ID)
		require.NoError(t, err)
		_, rows = env.downloadExport(view)
		require.Contains(t, rows[1], "Deleted user", "an export that starts later does not contain the user")
		require.NotContains(t, rows[1], "Name of "+ann.UserID)

		env.clock.Advance(time.Minute)
		require.NoError(
			t,
			env.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: ann.UserID, DeletedAt: env.clock.Now().Add(-2 * time.Minute)}),
		)
		_, err = env.MyExport(t.Context(), st, waiting.ID)
		require.NoError(t, err, "later exports contain no deleted users")
	})
}
