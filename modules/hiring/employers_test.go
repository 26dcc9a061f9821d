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

// TestSetStatus_UnknownStatus_Refused checks that an employer cannot set a value of the
// applicant's private tracker, and can set every status in any order.
func TestSetStatus_UnknownStatus_Refused(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()

	application := env.apply(newSeeker(), env.newListing(employer))
	for _, bad := range []string{"", "in-progress", "completed", "PENDING", "hired"} {
		err := env.setStatus(employer, application.ID, bad)
		require.ErrorIs(t, err, hiring.ErrInvalidStatus)
		require.Equal(t, "Invalid status", fault.Of(err).Message)
	}

	for _, status := range hiring.Statuses {
		require.NoError(t, env.setStatus(employer, application.ID, string(status)))
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
			{ID: foreign.ID, Status: "rejected"},
			{ID: unknownID, Status: "review"},
			{ID: two.ID, Status: "hired"},
			{ID: two.ID, Status: "pending"},
			{ID: "x", Status: "review"},
			{},
			{ID: withdrawn.ID, Status: "accepted"},
			{ID: strings.ToUpper(one.ID), Status: "accepted"},
			{ID: one.ID, Status: "accepted"},
		})
		require.NoError(t, err)
		require.Equal(t, []hiring.Decision{
			{ID: one.ID, Status: "review"},
			{ID: two.ID, Status: "pending"},
			{ID: one.ID, Status: "accepted"},
			{ID: one.ID, Status: "accepted"},
		}, updated)

		// Refused are an application of another organization, an unknown id, an unknown status, a
		// malformed id, an empty decision and a withdrawn application. At is the index of the refused decision in the input.
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

		// An empty batch is accepted, and one of more than 100 decisions is refused.
		updated, refused, err = env.DecideBatch(t.Context(), employer, nil)
		require.NoError(t, err)
		require.Empty(t, updated)
		require.Empty(t, refused)

		_, _, err = env.DecideBatch(t.Context(), employer, make([]hiring.Decision, 101))
		require.ErrorIs(t, err, hiring.ErrBatchTooLarge)
	})
}

// TestBatch_Concurrent_LosesNoChanges checks that concurrent batches over the same applications
// neither deadlock nor overwrite each other: each timeline is a chain of changes.
func TestBatch_Concurrent_LosesNoChanges(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer()

		var ids []string
		for range 30 {
			ids = append(ids, env.apply(newSeeker(), env.newListing(employer)).ID)
		}

		env.recordedEvents()

		var writers sync.WaitGroup
		for writer := range 8 {
			writers.Go(func() {
				// Statuses[0] is pending, the status of a new application.
				status := string(hiring.Statuses[writer%5+1])

				var decisions []hiring.Decision
				for i := range ids {
					// Each writer visits all ids in an order of its own: 7 and len(ids) have no
					// common divisor.
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

			timeline := application.Timeline
			for i := 1; i < len(timeline); i++ {
				require.Equal(t, timeline[i-1].To, timeline[i].From, "the timeline has no gap")
			}

			require.Equal(t, application.Status, timeline[len(timeline)-1].To)

			changes += len(timeline) - 1 // the first entry is the submission
		}

		require.Len(t, env.recordedEvents(), changes, "each change is recorded once")
	})
}

// TestApplicantProfile_ShowsVisibleFields checks that an employer sees the introduction of an
// applicant who shows one, until the application is withdrawn.
func TestApplicantProfile_ShowsVisibleFields(t *testing.T) {
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
