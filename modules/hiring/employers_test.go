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

func TestDismiss_ByEmployer_IsNotFinal(t *testing.T) {
	onEach(t, func(t *testing.T, b *testEnv) {
		ann, st := seeker(), employer()
		a := b.apply(ann, b.newListing(st))
		require.NoError(t, b.Dismiss(b.t.Context(), st, a.ID))
		require.NoError(t, b.Dismiss(b.t.Context(), st, a.ID))
		require.Equal(t, hiring.Withdrawn, b.visibleStatus(ann, a.ID), "the applicant still sees it")
		require.NoError(t, b.setStatus(st, a.ID, "accepted"))
		require.NoError(t, b.Dismiss(b.t.Context(), st, a.ID))
		require.NoError(t, b.Withdraw(b.t.Context(), ann, a.ID), "the applicant withdraws")
		require.ErrorIs(t, b.setStatus(st, a.ID, "accepted"), hiring.ErrInvalidStatus)
		require.Equal(t, []string{"submitted", "pending>withdrawn", "withdrawn>accepted", "accepted>withdrawn"}, b.recordedEvents())
	})
}

func TestApplication_OtherOrganization_NotFound(t *testing.T) {
	onEach(t, func(t *testing.T, b *testEnv) {
		ann, st := seeker(), employer()
		a := b.apply(ann, b.newListing(st))
		b.recordedEvents()
		stranger, rival := seeker(), employer()
		for _, id := range []string{a.ID, stores.NewID(), "x"} {
			_, err := b.MyApplication(b.t.Context(), stranger, id)
			require.ErrorIs(t, err, hiring.ErrNotFound)
			_, err = b.Track(b.t.Context(), stranger, id, hiring.TrackInput{Status: ptr("completed")})
			require.ErrorIs(t, err, hiring.ErrNotFound)
			require.ErrorIs(t, b.Withdraw(b.t.Context(), stranger, id), hiring.ErrNotFound)
			_, err = b.ReceivedApplication(b.t.Context(), rival, id)
			require.ErrorIs(t, err, hiring.ErrNotFound)
			require.ErrorIs(t, b.setStatus(rival, id, "accepted"), hiring.ErrNotFound)
			require.ErrorIs(t, b.Dismiss(b.t.Context(), rival, id), hiring.ErrNotFound)
		}
		for _, e := range []auth.Actor{rival} {
			got, err := b.Received(b.t.Context(), e, firstPage)
			require.NoError(t, err)
			require.Empty(t, got.Items)
			require.Zero(t, got.Total)
		}
		require.Equal(t, hiring.Pending, b.received(st, a.ID).Status)
		require.Empty(t, b.recordedEvents())
	})
}

func TestApplication_MissingPermission_Forbidden(t *testing.T) {
	t.Parallel()
	b := newTestEnv(t, stores.SQLite)
	viewer, outsider, st := employer(auth.ApplicationsView), employer(auth.JobsUpdate), employer()
	viewer.OrganizationID, outsider.OrganizationID = st.OrganizationID, st.OrganizationID
	a := b.apply(seeker(), b.newListing(st))
	read := func(by auth.Actor) []error {
		_, err1 := b.Received(b.t.Context(), by, firstPage)
		_, err2 := b.ReceivedApplication(b.t.Context(), by, a.ID)
		return []error{err1, err2}
	}
	write := func(by auth.Actor) []error {
		_, _, err := b.DecideBatch(b.t.Context(), by, []hiring.Decision{{ID: a.ID, Status: "review"}})
		return []error{b.setStatus(by, a.ID, "review"), b.Dismiss(b.t.Context(), by, a.ID), err}
	}
	seek := func(by auth.Actor) []error {
		_, err1 := b.Apply(b.t.Context(), by, hiring.ApplyInput{ListingID: a.ListingID})
		_, err2 := b.Mine(b.t.Context(), by, firstPage)
		_, err3 := b.MyApplication(b.t.Context(), by, a.ID)
		_, err4 := b.Track(b.t.Context(), by, a.ID, hiring.TrackInput{})
		return []error{err1, err2, err3, err4, b.Withdraw(b.t.Context(), by, a.ID)}
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

func TestSetStatus_UnknownStatus_Refused(t *testing.T) {
	t.Parallel()
	b := newTestEnv(t, stores.SQLite)
	st := employer()
	a := b.apply(seeker(), b.newListing(st))
	for _, bad := range []string{"", "in-progress", "completed", "PENDING", "hired"} {
		err := b.setStatus(st, a.ID, bad)
		require.ErrorIs(t, err, hiring.ErrInvalidStatus)
		require.Equal(t, "Invalid status", fault.Of(err).Message)
	}
	for _, status := range hiring.Statuses {
		require.NoError(t, b.setStatus(st, a.ID, string(status)))
	}
}

func TestBatch_EachItem_HasItsResult(t *testing.T) {
	onEach(t, func(t *testing.T, b *testEnv) {
		ann, st, rival := seeker(), employer(), employer()
		one, two := b.apply(ann, b.newListing(st)), b.apply(seeker(), b.newListing(st))
		gone := b.apply(ann, b.newListing(st))
		foreign := b.apply(seeker(), b.newListing(rival))
		require.NoError(t, b.Withdraw(b.t.Context(), ann, gone.ID))
		b.recordedEvents()
		missing := stores.NewID()
		updated, refused, err := b.DecideBatch(b.t.Context(), st, []hiring.Decision{
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
		require.Equal(t, "jobseeker:>pending employer:pending>review employer:review>accepted", formatTimeline(b.received(st, one.ID).Timeline))
		require.Equal(t, hiring.Accepted, b.visibleStatus(ann, one.ID))
		require.Equal(t, hiring.Pending, b.received(rival, foreign.ID).Status)
		require.Equal(t, []string{"pending>review", "review>accepted"}, b.recordedEvents())

		updated, refused, err = b.DecideBatch(b.t.Context(), st, nil)
		require.NoError(t, err)
		require.Empty(t, updated)
		require.Empty(t, refused)
		_, _, err = b.DecideBatch(b.t.Context(), st, make([]hiring.Decision, 101))
		require.ErrorIs(t, err, hiring.ErrBatchTooLarge)
	})
}

func TestBatch_Concurrent_LosesNoChanges(t *testing.T) {
	onEach(t, func(t *testing.T, b *testEnv) {
		st := employer()
		var ids []string
		for range 30 {
			ids = append(ids, b.apply(seeker(), b.newListing(st)).ID)
		}
		b.recordedEvents()
		var all sync.WaitGroup
		for w := range 8 {
			all.Go(func() {
				var ds []hiring.Decision
				for i := range ids {
					// Each writer has an order and a status of its own.
					ds = append(ds, hiring.Decision{ID: ids[(i*7+w*5)%len(ids)], Status: string(hiring.Statuses[w%5+1])})
				}
				_, refused, err := b.DecideBatch(b.t.Context(), st, ds)
				if err != nil || len(refused) > 0 {
					t.Error(err, refused)
				}
			})
		}
		all.Wait()
		steps := 0
		for _, id := range ids {
			d := b.received(st, id)
			for i := 1; i < len(d.Timeline); i++ {
				require.Equal(t, d.Timeline[i-1].To, d.Timeline[i].From, "the timeline has no gap")
			}
			require.Equal(t, d.Status, d.Timeline[len(d.Timeline)-1].To)
			steps += len(d.Timeline) - 1
		}
		require.Len(t, b.recordedEvents(), steps, "each change is recorded once")
	})
}

func TestApplicantProfile_ShowsVisibleFields(t *testing.T) {
	t.Parallel()
	b := newTestEnv(t, stores.SQLite)
	ann, shy, st := seeker(), seeker(), employer()
	b.introductions[ann.UserID] = &hiring.Introduction{Bio: "Twelve years in theatre."}
	a := b.apply(ann, b.newListing(st))
	require.Equal(t, b.introductions[ann.UserID], b.received(st, a.ID).Introduction)
	require.Nil(t, b.received(st, b.apply(shy, b.newListing(st)).ID).Introduction)
	require.NoError(t, b.Withdraw(t.Context(), ann, a.ID))
	require.Nil(t, b.received(st, a.ID).Introduction, "the introduction is hidden after a withdrawal")
}
