package hiring_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/test/kit/stores"
)

// deleteAccount deletes the user's account: People does not return the user any more, and the
// module handles the event of the deletion.
func (e *testEnv) deleteAccount(user auth.Actor) {
	e.t.Helper()

	e.deletedUsers[user.UserID] = true
	deleted := event.AccountDeleted{UserID: user.UserID, Kind: "jobseeker", DeletedAt: e.clock.Now()}
	require.NoError(e.t, e.OnAccountDeleted(e.t.Context(), deleted))
}

// TestOnAccountDeleted_PendingApplication_IsWithdrawn checks that a pending application of a deleted account
// is withdrawn and its interview cancelled. The employer keeps both, but no name, address or text of the
// applicant, and cannot write to the applicant.
func TestOnAccountDeleted_PendingApplication_IsWithdrawn(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann, employer := newSeeker(), newEmployer()
		application, err := env.Apply(t.Context(), ann, hiring.ApplyInput{
			ListingID:   env.newListing(employer, hiring.Question{ID: "why", Required: true}),
			CoverLetter: "I am Ann",
			Answers:     []hiring.Answer{{QuestionID: "why", Answer: "because I am Ann"}},
		})
		require.NoError(t, err)

		// The employer invites Ann, takes notes and writes to her.
		interview := interviewInput(march27)
		interview.Notes = ptr("Ann was late")
		_, err = env.Schedule(t.Context(), employer, application.ID, interview)
		require.NoError(t, err)

		message := hiring.ContactInput{Subject: "Dear Ann", Message: "Ann, can you come earlier?"}
		_, err = env.Contact(t.Context(), employer, application.ID, message)
		require.NoError(t, err)
		env.sentMails()
		env.recordedEvents()

		env.deleteAccount(ann)
		require.ElementsMatch(t, []string{"interview cancelled 1", "pending>withdrawn"}, env.recordedEvents())

		// The application and the interview have no data of Ann.
		received := env.received(employer, application.ID)
		require.Equal(t, hiring.Withdrawn, received.Status)
		require.Equal(t, hiring.Person{Name: "Deleted user"}, received.Applicant)
		require.Empty(t, received.CoverLetter)
		require.Empty(t, received.Answers)
		require.Equal(t, hiring.Cancelled, received.Interview.Status)
		require.Empty(t, received.Interview.Notes)

		interviews, err := env.Interviews(t.Context(), employer, anyStatus, firstPage)
		require.NoError(t, err)
		require.Equal(t, "Deleted user", interviews.Items[0].Applicant.Name)

		_, err = env.Contact(t.Context(), employer, application.ID, message)
		require.ErrorIs(t, err, hiring.ErrNotFound)
	})
}

// TestOnAccountDeleted_DecidedApplication_KeepsStatus checks that an application that the employer has
// accepted stays accepted, and that its status cannot be changed any more.
func TestOnAccountDeleted_DecidedApplication_KeepsStatus(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann, employer := newSeeker(), newEmployer()
		accepted := env.apply(ann, env.newListing(employer))
		require.NoError(t, env.setStatus(employer, accepted.ID, "accepted"))
		env.recordedEvents()

		env.deleteAccount(ann)
		require.Empty(t, env.recordedEvents())
		require.Equal(t, hiring.Accepted, env.received(employer, accepted.ID).Status)
		require.ErrorIs(t, env.setStatus(employer, accepted.ID, "rejected"), hiring.ErrInvalidStatus)
	})
}

// TestOnAccountDeleted_OtherApplicant_IsNotAffected checks that the application of another user to the same
// listing is unchanged.
func TestOnAccountDeleted_OtherApplicant_IsNotAffected(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann, bob, employer := newSeeker(), newSeeker(), newEmployer()
		listing := env.newListing(employer)
		env.apply(ann, listing)

		ofBob := env.apply(bob, listing)
		before := env.received(employer, ofBob.ID)
		env.deleteAccount(ann)
		require.Equal(t, before, env.received(employer, ofBob.ID))
	})
}

// TestOnAccountDeleted_Repeated_ChangesNothing checks that the event of a deletion may be delivered twice.
// No message is sent about it.
func TestOnAccountDeleted_Repeated_ChangesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann, employer := newSeeker(), newEmployer()
		application := env.apply(ann, env.newListing(employer))
		_, err := env.Schedule(t.Context(), employer, application.ID, interviewInput(march27))
		require.NoError(t, err)
		env.sentMails()
		env.deleteAccount(ann)
		require.NotEmpty(t, env.recordedEvents())

		env.deleteAccount(ann)
		require.Empty(t, env.recordedEvents())
		require.Empty(t, env.sentMails())
	})
}

// TestOnAccountDeleted_ManyApplications_SeveralTransactions checks that all applications are
// withdrawn if they are too many for one transaction.
func TestOnAccountDeleted_ManyApplications_SeveralTransactions(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)

	const applications = 45 // three transactions, of which one withdraws 20

	ann, employer := newSeeker(), newEmployer()
	for range applications {
		env.apply(ann, env.newListing(employer))
	}

	env.recordedEvents()
	env.deleteAccount(ann)
	require.Len(t, env.recordedEvents(), applications, "one event for each withdrawal")

	open, err := env.MyApplications(t.Context(), ann, firstPage)
	require.NoError(t, err)
	require.Zero(t, open.Total)
}

// TestOnAccountDeleted_ExportsNamingApplicant_Deleted checks that the files of organizations to
// which the applicant has applied are deleted. Exports of jobs and of other organizations stay,
// and a queued export is written without the name.
func TestOnAccountDeleted_ExportsNamingApplicant_Deleted(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann := newSeeker()
		bob := newSeeker()
		employer := newEmployer()
		rival := newEmployer()

		env.apply(ann, env.newListing(employer))
		env.apply(bob, env.newListing(rival))

		// Three exports are written. One of them names Ann.
		named := env.startExport(employer, "applications")
		jobs := env.startExport(employer, "jobs")
		ofRival := env.startExport(rival, "applications")
		env.work.All(t)

		_, rows := env.downloadExport(env.myExport(employer, named.ID))
		application := rows[1] // after the header
		require.Contains(t, application, "Name of "+ann.UserID)

		// Another one is queued when Ann deletes the account.
		queued := env.startExport(employer, "applications")
		env.deleteAccount(ann)

		// The export that names Ann is deleted with its file. The others stay.
		_, err := env.MyExport(t.Context(), employer, named.ID)
		require.ErrorIs(t, err, hiring.ErrExportNotFound)

		_, _, err = env.Files.Open(t.Context(), "exports/"+employer.OrganizationID+"/"+named.ID+".csv")
		require.Error(t, err)

		require.Equal(t, hiring.ExportDone, env.myExport(employer, jobs.ID).State)
		require.Equal(t, hiring.ExportDone, env.myExport(rival, ofRival.ID).State)

		// The queued export is written afterwards, without the name.
		env.work.All(t)

		_, rows = env.downloadExport(env.myExport(employer, queued.ID))
		application = rows[1]
		require.Contains(t, application, "Deleted user")
		require.NotContains(t, application, "Name of "+ann.UserID)

		// The event of the deletion is handled again, and does not delete the later export.
		env.clock.Advance(time.Minute)

		deletedEarlier := event.AccountDeleted{UserID: ann.UserID, DeletedAt: env.clock.Now().Add(-2 * time.Minute)}
		require.NoError(t, env.OnAccountDeleted(t.Context(), deletedEarlier))
		env.myExport(employer, queued.ID) // requires that it is found
	})
}
