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
		ann, st := seeker(), employer()
		application := env.apply(ann, env.newListing(st))
		require.NoError(t, env.Dismiss(env.t.Context(), st, application.ID))
		require.NoError(t, env.Dismiss(env.t.Context(), st, application.ID))
		require.Equal(t, hiring.Withdrawn, env.visibleStatus(ann, application.ID), "the applicant still sees it")
		require.NoError(t, env.setStatus(st, application.ID, "accepted"))
		require.NoError(t, env.Dismiss(env.t.Context(), st, application.ID))
		require.NoError(t, env.Withdraw(env.t.Context(), ann, application.ID), "the applicant withdraws")
		require.ErrorIs(t, env.setStatus(st, application.ID, "accepted"), hiring.ErrInvalidStatus)
		require.Equal(t, []string{"submitted", "pending>withdrawn", "withdrawn>accepted", "accepted>withdrawn"}, env.recordedEvents())
	})
}

// TestApplication_OtherOrganization_NotFound checks that other applicants and organizations get
// the same error for an application as for an id that does not exist.
func TestApplication_OtherOrganization_NotFound(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann, st := seeker(), employer()
		application := env.apply(ann, env.newListing(st))
		env.recordedEvents()
		stranger, rival := seeker(), employer()
		for _, id := range []string{application.ID, stores.NewID(), "x"} {
			_, err := env.MyApplication(env.t.Context(), stranger, id)
			require.ErrorIs(t, err, hiring.ErrNotFound)
			_, err = env.Track(env.t.Context(), stranger, id, hiring.TrackInput{Status: ptr("completed")})
			require.ErrorIs(t, err, hiring.ErrNotFound)
			require.ErrorIs(t, env.Withdraw(env.t.Context(), stranger, id), hiring.ErrNotFound)
			_, err = env.ReceivedApplication(env.t.Context(), rival, id)
			require.ErrorIs(t, err, hiring.ErrNotFound)
			require.ErrorIs(t, env.setStatus(rival, id, "accepted"), hiring.ErrNotFound)
			require.ErrorIs(t, env.Dismiss(env.t.Context(), rival, id), hiring.ErrNotFound)
		}
		for _, e := range []auth.Actor{rival} {
			got, err := env.Received(env.t.Context(), e, firstPage)
			require.NoError(t, err)
			require.Empty(t, got.Items)
			require.Zero(t, got.Total)
		}
		require.Equal(t, hiring.Pending, env.received(st, application.ID).Status)
		require.Empty(t, env.recordedEvents())
	})
}

// TestApplication_MissingPermission_Forbidden checks the reads and writes of employers, and the
// use cases of applicants, for members with other permissions, the other side and guests.
func TestApplication_MissingPermission_Forbidden(t *testing.T) {
	t.Parallel()
	env := newTestEnv(t, stores.SQLite)
	viewer, outsider, st := employer(auth.ApplicationsView), employer(auth.JobsUpdate), employer()
	viewer.OrganizationID, outsider.OrganizationID = st.OrganizationID, st.OrganizationID
	application := env.apply(seeker(), env.newListing(st))
	read := func(by auth.Actor) []error {
		_, err1 := env.Received(env.t.Context(), by, firstPage)
		_, err2 := env.ReceivedApplication(env.t.Context(), by, application.ID)
		return []error{err1, err2}
	}
	write := func(by auth.Actor) []error {
		_, _, err := env.DecideBatch(env.t.Context(), by, []hiring.Decision{{ID: application.ID, Status: "review"}})
		return []error{env.setStatus(by, application.ID, "review"), env.Dismiss(env.t.Context(), by, application.ID), err}
	}
	seek := func(by auth.Actor) []error {
		_, err1 := env.Apply(env.t.Context(), by, hiring.ApplyInput{ListingID: application.ListingID})
		_, err2 := env.Mine(env.t.Context(), by, firstPage)
		_, err3 := env.MyApplication(env.t.Context(), by, application.ID)
		_, err4 := env.Track(env.t.Context(), by, application.ID, hiring.TrackInput{})
		return []error{err1, err2, err3, err4, env.Withdraw(env.t.Context(), by, application.ID)}
	}
	refused := func(by auth.Actor, errs []error) {
		t.Helper()
		for _, err := range errs {
			require.ErrorIs(t, err, kit.Refusal(by))
		}
	}
	for _, err := range read(viewer) {
		require.NoError(t, err)
	}
	refused(viewer, write(viewer))
	for _, by := range []auth.Actor{outsider, seeker(), {}} {
		refused(by, read(by))
		refused(by, write(by))
	}
	for _, by := range []auth.Actor{st, viewer, {}} {
		refused(by, seek(by))
	}
}

// TestSetStatus_UnknownStatus_Refused checks that an employer cannot set a value of the
// applicant's private tracker, and can set every status in any order.
func TestSetStatus_UnknownStatus_Refused(t *testing.T) {
	t.Parallel()
	env := newTestEnv(t, stores.SQLite)
	st := employer()
	application := env.apply(seeker(), env.newListing(st))
	for _, bad := range []string{"", "in-progress", "completed", "PENDING", "hired"} {
		err := env.setStatus(st, application.ID, bad)
		require.ErrorIs(t, err, hiring.ErrInvalidStatus)
		require.Equal(t, "Invalid status", fault.Of(err).Message)
	}
	for _, status := range hiring.Statuses {
		require.NoError(t, env.setStatus(st, application.ID, string(status)))
	}
}

// TestBatch_EachItem_HasItsResult checks that a batch applies its decisions in order and
// refuses single ones. The response names all applied decisions, also those that changed
// nothing.
func TestBatch_EachItem_HasItsResult(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann, st, rival := seeker(), employer(), employer()
		one, two := env.apply(ann, env.newListing(st)), env.apply(seeker(), env.newListing(st))
		gone := env.apply(ann, env.newListing(st))
		foreign := env.apply(seeker(), env.newListing(rival))
		require.NoError(t, env.Withdraw(env.t.Context(), ann, gone.ID))
		env.recordedEvents()
		missing := stores.NewID()
		updated, refused, err := env.DecideBatch(env.t.Context(), st, []hiring.Decision{
			{ID: one.ID, Status: "review"}, {ID: foreign.ID, Status: "rejected"}, {ID: missing, Status: "review"},
			{ID: two.ID, Status: "hired"}, {ID: two.ID, Status: "pending"}, {ID: "x", Status: "review"}, {},
			{ID: gone.ID, Status: "accepted"}, {ID: strings.ToUpper(one.ID), Status: "accepted"}, {ID: one.ID, Status: "accepted"},
		})
		require.NoError(t, err)
		require.Equal(t, []hiring.Decision{{ID: one.ID, Status: "review"}, {ID: two.ID, Status: "pending"},
			{ID: one.ID, Status: "accepted"}, {ID: one.ID, Status: "accepted"}}, updated)
		require.Equal(t, []hiring.Refusal{
			{At: 1, Decision: hiring.Decision{ID: foreign.ID, Status: "rejected"}, Error: "Application not found"},
			{At: 2, Decision: hiring.Decision{ID: missing, Status: "review"}, Error: "Application not found"},
			{At: 3, Decision: hiring.Decision{ID: two.ID, Status: "hired"}, Error: "Invalid status"},
			{At: 5, Decision: hiring.Decision{ID: "x", Status: "review"}, Error: "Application not found"},
			{At: 6, Error: "Application not found"},
			{At: 7, Decision: hiring.Decision{ID: gone.ID, Status: "accepted"}, Error: "Invalid status"},
		}, refused)
		require.Equal(t, "jobseeker:>pending employer:pending>review employer:review>accepted",
			formatTimeline(env.received(st, one.ID).Timeline))
		require.Equal(t, hiring.Accepted, env.visibleStatus(ann, one.ID))
		require.Equal(t, hiring.Pending, env.received(rival, foreign.ID).Status)
		// The second application was pending already, and the first one accepted at the last
		// decision.
		require.Equal(t, []string{"pending>review", "review>accepted"}, env.recordedEvents())

		updated, refused, err = env.DecideBatch(env.t.Context(), st, nil)
		require.NoError(t, err)
		require.Empty(t, updated)
		require.Empty(t, refused)
		_, _, err = env.DecideBatch(env.t.Context(), st, make([]hiring.Decision, 101))
		require.ErrorIs(t, err, hiring.ErrBatchTooLarge)
	})
}

// TestBatch_Concurrent_LosesNoChanges checks that concurrent batches over the same applications
// neither deadlock nor overwrite each other: each timeline is a chain of changes.
func TestBatch_Concurrent_LosesNoChanges(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		st := employer()
		var ids []string
		for range 30 {
			ids = append(ids, env.apply(seeker(), env.newListing(st)).ID)
		}
		env.recordedEvents()
		var all sync.WaitGroup
		for w := range 8 {
			all.Go(func() {
				var ds []hiring.Decision
				for i := range ids {
					// Each writer has an order and a status of its own.
					ds = append(ds, hiring.Decision{ID: ids[(i*7+w*5)%len(ids)], Status: string(hiring.Statuses[w%5+1])})
				}
				_, refused, err := env.DecideBatch(env.t.Context(), st, ds)
				if err != nil || len(refused) > 0 {
					t.Error(err, refused)
				}
			})
		}
		all.Wait()
		steps := 0
		for _, id := range ids {
			d := env.received(st, id)
			for i := 1; i < len(d.Timeline); i++ {
				require.Equal(t, d.Timeline[i-1].To, d.Timeline[i].From, "the timeline has no gap")
			}
			require.Equal(t, d.Status, d.Timeline[len(d.Timeline)-1].To)
			steps += len(d.Timeline) - 1
		}
		require.Len(t, env.recordedEvents(), steps, "each change is recorded once")
	})
}

// TestApplicantProfile_ShowsVisibleFields checks that an employer sees the introduction of an
// applicant who shows one, until the application is withdrawn.
func TestApplicantProfile_ShowsVisibleFields(t *testing.T) {
	t.Parallel()
	env := newTestEnv(t, stores.SQLite)
	ann, shy, st := seeker(), seeker(), employer()
	env.introductions[ann.UserID] = &hiring.Introduction{Bio: "Twelve years in theatre."}
	a := env.apply(ann, env.newListing(st))
	require.Equal(t, env.introductions[ann.UserID], env.received(st, a.ID).Introduction)
	require.Nil(t, env.received(st, env.apply(shy, env.newListing(st)).ID).Introduction)
	require.NoError(t, env.Withdraw(t.Context(), ann, a.ID))
	require.Nil(t, env.received(st, a.ID).Introduction, "the introduction is hidden after a withdrawal")
}
