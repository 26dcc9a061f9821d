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

// TestOnAccountDeleted_ApplicationIsAnonymized checks that employers keep the application and
// its outcome, but no name, address or text of the applicant. The handler may run twice.
func TestOnAccountDeleted_ApplicationIsAnonymized(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann := newSeeker()
		bob := newSeeker()
		employer := newEmployer()
		question := hiring.Question{ID: "why", Required: true}
		listing := env.newListing(employer)

		// Ann applies twice: one application is pending and has an interview, the other is accepted.
		application, err := env.Apply(t.Context(), ann, hiring.ApplyInput{
			ListingID:   env.newListing(employer, question),
			CoverLetter: "I am Ann",
			Answers:     []hiring.Answer{{QuestionID: "why", Answer: "because I am Ann"}},
		})
		require.NoError(t, err)

		accepted := env.apply(ann, listing)
		ofBob := env.apply(bob, listing)
		require.NoError(t, env.setStatus(employer, accepted.ID, "accepted"))

		input := interviewInput(march27)
		input.Notes = ptr("Ann was late")
		_, err = env.Schedule(t.Context(), employer, application.ID, input)
		require.NoError(t, err)

		_, err = env.Contact(t.Context(), employer, application.ID, hiring.ContactInput{
			Subject: "Dear Ann",
			Message: "Ann, can you come earlier?",
		})
		require.NoError(t, err)
		env.sentMails()
		env.recordedEvents()

		// The deletion withdraws the pending application and cancels its interview.
		env.deleteAccount(ann)
		require.ElementsMatch(t, []string{"interview cancelled 1", "pending>withdrawn"}, env.recordedEvents(),
			"decided applications keep their status")

		// The employer keeps both applications without Ann's data.
		received := env.received(employer, application.ID)
		require.Equal(t, hiring.Withdrawn, received.Status)
		require.Equal(t, hiring.Person{Name: "Deleted user"}, received.Applicant)
		require.Empty(t, received.CoverLetter)
		require.Empty(t, received.Answers)
		require.Equal(t, hiring.Cancelled, received.Interview.Status)
		require.Empty(t, received.Interview.Notes)
		require.Equal(t, hiring.Accepted, env.received(employer, accepted.ID).Status)
		require.ErrorIs(t, env.setStatus(employer, accepted.ID, "rejected"), hiring.ErrInvalidStatus,
			"an application without an applicant cannot be changed")
		require.Equal(t, "Dear all", env.received(employer, ofBob.ID).CoverLetter, "Bob's application is unchanged")

		_, err = env.Contact(t.Context(), employer, application.ID, hiring.ContactInput{Subject: "Dear", Message: "nobody"})
		require.ErrorIs(t, err, hiring.ErrNotFound)

		interviews, err := env.Interviews(t.Context(), employer, anyStatus, firstPage)
		require.NoError(t, err)
		require.Equal(t, "Deleted user", interviews.Items[0].Applicant.Name)

		env.deleteAccount(ann)
		require.Empty(t, env.recordedEvents(), "a repeated deletion changes nothing")
		require.Empty(t, env.sentMails(), "no message is sent")
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
