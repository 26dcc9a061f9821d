package hiring_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// TestDismiss_ByEmployer_IsNotFinal checks that an employer can change the status after
// dismissing an application, until the applicant withdraws it.
func TestDismiss_ByEmployer_IsNotFinal(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann, employer := newSeeker(), newEmployer()
		application := env.apply(ann, env.newListing(employer))

		// The employer dismisses the application, accepts it and dismisses it again.
		require.NoError(t, env.Dismiss(t.Context(), employer, application.ID))
		require.NoError(t, env.Dismiss(t.Context(), employer, application.ID), "a second dismissal changes nothing")
		require.Equal(t, hiring.Withdrawn, env.visibleStatus(ann, application.ID), "the applicant still sees it")
		require.NoError(t, env.setStatus(employer, application.ID, "accepted"))
		require.NoError(t, env.Dismiss(t.Context(), employer, application.ID))

		// After the applicant has withdrawn it, the status is final.
		require.NoError(t, env.Withdraw(t.Context(), ann, application.ID))
		require.ErrorIs(t, env.setStatus(employer, application.ID, "accepted"), hiring.ErrInvalidStatus)
		require.Equal(
			t,
			[]string{"submitted", "pending>withdrawn", "withdrawn>accepted", "accepted>withdrawn"},
			env.recordedEvents(),
		)
	})
}

// TestApplication_OtherOrganization_NotFound checks that other applicants and organizations get
// the same error for an application as for an id that does not exist.
func TestApplication_OtherOrganization_NotFound(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann, employer := newSeeker(), newEmployer()
		application := env.apply(ann, env.newListing(employer))
		env.recordedEvents()

		// These callers get the same error for an application of others, an unknown id and a malformed one.
		stranger, rival := newSeeker(), newEmployer()
		for _, id := range []string{application.ID, stores.NewID(), "x"} {
			_, err := env.MyApplication(t.Context(), stranger, id)
			require.ErrorIs(t, err, hiring.ErrNotFound)

			_, err = env.Track(t.Context(), stranger, id, hiring.TrackInput{Status: ptr("completed")})
			require.ErrorIs(t, err, hiring.ErrNotFound)
			require.ErrorIs(t, env.Withdraw(t.Context(), stranger, id), hiring.ErrNotFound)

			_, err = env.ReceivedApplication(t.Context(), rival, id)
			require.ErrorIs(t, err, hiring.ErrNotFound)
			require.ErrorIs(t, env.setStatus(rival, id, "accepted"), hiring.ErrNotFound)
			require.ErrorIs(t, env.Dismiss(t.Context(), rival, id), hiring.ErrNotFound)
		}

		// The application is not listed for them, and has not changed.
		receivedByRival, err := env.ReceivedApplications(t.Context(), rival, firstPage)
		require.NoError(t, err)
		require.Empty(t, receivedByRival.Items)
		require.Zero(t, receivedByRival.Total)
		require.Equal(t, hiring.Pending, env.received(employer, application.ID).Status)
		require.Empty(t, env.recordedEvents())
	})
}

// TestApplication_MissingPermission_Forbidden checks the reads and writes of employers, and the
// use cases of applicants, for members with other permissions, the other side and guests.
func TestApplication_MissingPermission_Forbidden(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	viewer := newEmployer(auth.ApplicationsView)
	outsider := newEmployer(auth.JobsUpdate)
	employer := newEmployer()
	viewer.OrganizationID = employer.OrganizationID
	outsider.OrganizationID = employer.OrganizationID
	guest := auth.Actor{}
	application := env.apply(newSeeker(), env.newListing(employer))

	// The next three functions return the error of each use case.
	readAsEmployer := func(by auth.Actor) []error {
		_, listErr := env.ReceivedApplications(t.Context(), by, firstPage)
		_, getErr := env.ReceivedApplication(t.Context(), by, application.ID)
		return []error{listErr, getErr}
	}

	writeAsEmployer := func(by auth.Actor) []error {
		statusErr := env.setStatus(by, application.ID, "review")
		dismissErr := env.Dismiss(t.Context(), by, application.ID)
		_, _, batchErr := env.DecideBatch(t.Context(), by, []hiring.Decision{{ID: application.ID, Status: "review"}})

		return []error{statusErr, dismissErr, batchErr}
	}

	actAsApplicant := func(by auth.Actor) []error {
		_, applyErr := env.Apply(t.Context(), by, hiring.ApplyInput{ListingID: application.ListingID})
		_, listErr := env.MyApplications(t.Context(), by, firstPage)
		_, getErr := env.MyApplication(t.Context(), by, application.ID)
		_, trackErr := env.Track(t.Context(), by, application.ID, hiring.TrackInput{})
		withdrawErr := env.Withdraw(t.Context(), by, application.ID)

		return []error{applyErr, listErr, getErr, trackErr, withdrawErr}
	}

	requireRefused := func(by auth.Actor, errs []error) {
		t.Helper()

		for _, err := range errs {
			require.ErrorIs(t, err, kit.Refusal(by))
		}
	}

	// The viewer may only read.
	for _, err := range readAsEmployer(viewer) {
		require.NoError(t, err)
	}

	requireRefused(viewer, writeAsEmployer(viewer))

	// Others may do nothing for the employer, and only jobseekers may act as applicants.
	for _, by := range []auth.Actor{outsider, newSeeker(), guest} {
		requireRefused(by, readAsEmployer(by))
		requireRefused(by, writeAsEmployer(by))
	}

	for _, by := range []auth.Actor{employer, viewer, guest} {
		requireRefused(by, actAsApplicant(by))
	}
}

// TestSetStatus_UnknownStatus_Refused checks that an employer cannot set values of the applicant's private
// tracker (in-progress and completed), and other texts that are no status.
func TestSetStatus_UnknownStatus_Refused(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()

	application := env.apply(newSeeker(), env.newListing(employer))
	for _, bad := range []string{"", "in-progress", "completed", "PENDING", "hired"} {
		err := env.setStatus(employer, application.ID, bad)
		require.ErrorIs(t, err, hiring.ErrInvalidStatus, bad)
		require.Equal(t, "Invalid status", fault.Of(err).Message, bad)
	}
}

// TestSetStatus_EveryStatus_IsAccepted checks that an employer can set one status after the other.
func TestSetStatus_EveryStatus_IsAccepted(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()
	application := env.apply(newSeeker(), env.newListing(employer))

	for _, status := range hiring.Statuses {
		require.NoError(t, env.setStatus(employer, application.ID, string(status)), status)
	}
}

// TestBatch_EachItem_HasItsResult checks that a batch applies its decisions in order and
// refuses single ones. The response names all applied decisions, also those that changed
// nothing.
func TestBatch_EachItem_HasItsResult(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann := newSeeker()
		employer := newEmployer()
		rival := newEmployer()
		one := env.apply(ann, env.newListing(employer))
		two := env.apply(newSeeker(), env.newListing(employer))
		withdrawn := env.apply(ann, env.newListing(employer))
		foreign := env.apply(newSeeker(), env.newListing(rival))
		require.NoError(t, env.Withdraw(t.Context(), ann, withdrawn.ID))
		env.recordedEvents()

		unknownID := stores.NewID()
		updated, refused, err := env.DecideBatch(t.Context(), employer, []hiring.Decision{
			{ID: one.ID, Status: "review"},
			{ID: foreign.ID, Status: "rejected"},   // refused: of another organization
			{ID: unknownID, Status: "review"},      // refused
			{ID: two.ID, Status: "hired"},          // refused: an unknown status
			{ID: two.ID, Status: "pending"},        // changes nothing
			{ID: "x", Status: "review"},            // refused: a malformed id
			{},                                     // refused
			{ID: withdrawn.ID, Status: "accepted"}, // refused
			{ID: strings.ToUpper(one.ID), Status: "accepted"},
			{ID: one.ID, Status: "accepted"}, // changes nothing
		})
		require.NoError(t, err)
		require.Equal(t, []hiring.Decision{
			{ID: one.ID, Status: "review"},
			{ID: two.ID, Status: "pending"},
			{ID: one.ID, Status: "accepted"},
			{ID: one.ID, Status: "accepted"},
		}, updated)

		// At is the index of the refused decision in the input.
		require.Equal(t, []hiring.Refusal{
			{At: 1, Decision: hiring.Decision{ID: foreign.ID, Status: "rejected"}, Error: "Application not found"},
			{At: 2, Decision: hiring.Decision{ID: unknownID, Status: "review"}, Error: "Application not found"},
			{At: 3, Decision: hiring.Decision{ID: two.ID, Status: "hired"}, Error: "Invalid status"},
			{At: 5, Decision: hiring.Decision{ID: "x", Status: "review"}, Error: "Application not found"},
			{At: 6, Error: "Application not found"},
			{At: 7, Decision: hiring.Decision{ID: withdrawn.ID, Status: "accepted"}, Error: "Invalid status"},
		}, refused)
		require.Equal(t, "jobseeker:>pending employer:pending>review employer:review>accepted",
			formatTimeline(env.received(employer, one.ID).Timeline))
		require.Equal(t, hiring.Accepted, env.visibleStatus(ann, one.ID))
		require.Equal(t, hiring.Pending, env.received(rival, foreign.ID).Status)

		// No event for two, which was pending already, nor for the second acceptance of one.
		require.Equal(t, []string{"pending>review", "review>accepted"}, env.recordedEvents())
	})
}

// TestBatch_Empty_ChangesNothing checks that a batch without decisions is accepted.
func TestBatch_Empty_ChangesNothing(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	var noDecisions []hiring.Decision

	updated, refused, err := env.DecideBatch(t.Context(), newEmployer(), noDecisions)
	require.NoError(t, err)
	require.Empty(t, updated)
	require.Empty(t, refused)
}

// TestBatch_TooLarge_IsRefused checks that a batch can have at most 100 decisions.
func TestBatch_TooLarge_IsRefused(t *testing.T) {
	t.Parallel()

	const maxDecisions = 100

	env := newTestEnv(t, stores.SQLite)
	_, _, err := env.DecideBatch(t.Context(), newEmployer(), make([]hiring.Decision, maxDecisions+1))
	require.ErrorIs(t, err, hiring.ErrBatchTooLarge)
}

// TestBatch_Concurrent_LosesNoChanges checks that concurrent batches over the same applications
// neither deadlock nor overwrite each other: each timeline is a chain of changes.
func TestBatch_Concurrent_LosesNoChanges(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer()

		const applications, numWriters = 30, 8

		var ids []string
		for range applications {
			ids = append(ids, env.apply(newSeeker(), env.newListing(employer)).ID)
		}

		// The statuses that the writers set: all but pending, which is that of a new application.
		statuses := hiring.Statuses[1:]

		env.recordedEvents()

		var writers sync.WaitGroup
		for writer := range numWriters {
			writers.Go(func() {
				status := string(statuses[writer%len(statuses)])

				// Each writer visits all ids in an order of its own: it begins at another one, and
				// visits each seventh. The numbers 7 and 30 have no common divisor.
				var decisions []hiring.Decision
				for i := range ids {
					id := ids[(i*7+writer*5)%len(ids)]
					decisions = append(decisions, hiring.Decision{ID: id, Status: status})
				}

				_, refused, err := env.DecideBatch(t.Context(), employer, decisions)
				if err != nil || len(refused) > 0 {
					t.Error(err, refused)
				}
			})
		}

		writers.Wait()

		changes := 0
		for _, id := range ids {
			application := env.received(employer, id)

			// Each change begins with the status in which the one before has ended.
			submission, decisions := application.Timeline[0], application.Timeline[1:]

			status := submission.To
			for _, decision := range decisions {
				require.Equal(t, status, decision.From, "the timeline has no gap")

				status = decision.To
			}

			require.Equal(t, status, application.Status)

			changes += len(decisions)
		}

		require.Len(t, env.recordedEvents(), changes, "each change is recorded once")
	})
}

// TestIntroduction_UntilWithdrawal_IsShown checks that an employer sees the introduction of an applicant
// who shows one, until the application is withdrawn.
func TestIntroduction_UntilWithdrawal_IsShown(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	ann := newSeeker()
	shy := newSeeker()
	employer := newEmployer()
	env.introductions[ann.UserID] = &hiring.Introduction{Bio: "Twelve years in theatre."}
	application := env.apply(ann, env.newListing(employer))
	require.Equal(t, env.introductions[ann.UserID], env.received(employer, application.ID).Introduction)

	withoutProfile := env.apply(shy, env.newListing(employer))
	require.Nil(t, env.received(employer, withoutProfile.ID).Introduction)
	require.NoError(t, env.Withdraw(t.Context(), ann, application.ID))
	require.Nil(t, env.received(employer, application.ID).Introduction, "the introduction is hidden after a withdrawal")
}
