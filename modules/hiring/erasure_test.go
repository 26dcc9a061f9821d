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
func (b *testEnv) handleDeletion(who auth.Actor) {
	b.t.Helper()
	b.deletedUsers[who.UserID] = true
	require.NoError(b.t, b.OnAccountDeleted(b.t.Context(), event.AccountDeleted{UserID: who.UserID, Kind: "jobseeker", DeletedAt: b.clock.Now()}))
}

func TestOnAccountDeleted_ApplicationIsAnonymized(t *testing.T) {
	onEach(t, func(t *testing.T, b *testEnv) {
		ann, bob, st := seeker(), seeker(), employer()
		question := hiring.Question{ID: "why", Required: true}
		open, hired := b.newListing(st, question), b.newListing(st)
		a, err := b.Apply(t.Context(), ann, hiring.ApplyInput{ListingID: open, CoverLetter: "I am Ann", Answers: []hiring.Answer{{QuestionID: "why", Answer: "because I am Ann"}}})
		require.NoError(t, err)
		got := b.apply(ann, hired)
		other := b.apply(bob, hired)
		require.NoError(t, b.setStatus(st, got.ID, "accepted"))
		in := interviewInput("2027-03-27T11:00:00Z")
		in.Notes = ptr("Ann was late")
		_, err = b.Schedule(t.Context(), st, a.ID, in)
		require.NoError(t, err)
		_, err = b.Contact(t.Context(), st, a.ID, hiring.ContactInput{Subject: "Dear Ann", Message: "Ann, can you come earlier?"})
		require.NoError(t, err)
		b.sentMails()
		b.recordedEvents()

		b.handleDeletion(ann)
		require.ElementsMatch(t, []string{"interview cancelled 1", "pending>withdrawn"}, b.recordedEvents(), "decided applications keep their status")
		seen := b.received(st, a.ID)
		require.Equal(t, hiring.Withdrawn, seen.Status)
		require.Equal(t, hiring.Person{Name: "Deleted user"}, seen.Applicant)
		require.Empty(t, seen.CoverLetter)
		require.Empty(t, seen.Answers)
		require.Equal(t, hiring.Cancelled, seen.Interview.Status)
		require.Empty(t, seen.Interview.Notes)
		require.Equal(t, hiring.Accepted, b.received(st, got.ID).Status)
		require.ErrorIs(t, b.setStatus(st, got.ID, "rejected"), hiring.ErrInvalidStatus, "an application without an applicant cannot be changed")
		require.Equal(t, "Dear all", b.received(st, other.ID).CoverLetter, "other users' applications are unchanged")
		_, err = b.Contact(t.Context(), st, a.ID, hiring.ContactInput{Subject: "Dear", Message: "nobody"})
		require.ErrorIs(t, err, hiring.ErrNotFound)
		met, err := b.Interviews(t.Context(), st, "", page.Request{Number: 1, Size: 10})
		require.NoError(t, err)
		require.Equal(t, "Deleted user", met.Items[0].Applicant.Name)

		b.handleDeletion(ann)
		require.Empty(t, b.recordedEvents(), "a repeated deletion changes nothing")
		require.Empty(t, b.sentMails(), "no message is sent")
	})
}

func TestOnAccountDeleted_ManyApplications_SeveralTransactions(t *testing.T) {
	t.Parallel()
	b := newTestEnv(t, stores.SQLite)
	ann, st := seeker(), employer()
	for range 45 {
		b.apply(ann, b.newListing(st))
	}
	b.recordedEvents()
	b.handleDeletion(ann)
	require.Len(t, b.recordedEvents(), 45)
	left, err := b.Mine(t.Context(), ann, page.Request{Number: 1, Size: 10})
	require.NoError(t, err)
	require.Zero(t, left.Total)
}

func TestOnAccountDeleted_ExportsNamingApplicant_Deleted(t *testing.T) {
	onEach(t, func(t *testing.T, b *testEnv) {
		ann, bob, st, elsewhere := seeker(), seeker(), employer(), employer()
		b.apply(ann, b.newListing(st))
		b.apply(bob, b.newListing(elsewhere))
		start := func(by auth.Actor, kind string) hiring.Export {
			t.Helper()
			e, err := b.StartExport(t.Context(), by, hiring.ExportInput{Kind: kind})
			require.NoError(t, err)
			return e
		}
		named, jobs, others := start(st, "applications"), start(st, "jobs"), start(elsewhere, "applications")
		b.sentMails()
		v, err := b.MyExport(t.Context(), st, named.ID)
		require.NoError(t, err)
		_, rows := b.downloadExport(v)
		require.Contains(t, rows[1], "Name of "+ann.UserID)
		waiting := start(st, "applications")

		b.handleDeletion(ann)
		_, err = b.MyExport(t.Context(), st, named.ID)
		require.ErrorIs(t, err, hiring.ErrExportNotFound)
		_, _, err = b.Files.Open(t.Context(), "exports/"+st.OrganizationID+"/"+named.ID+".csv")
		require.Error(t, err)
		for by, e := range map[*auth.Actor]hiring.Export{&st: jobs, &elsewhere: others} {
			v, err := b.MyExport(t.Context(), *by, e.ID)
			require.NoError(t, err)
			require.Equal(t, hiring.ExportDone, v.State)
		}
		b.sentMails()
		v, err = b.MyExport(t.Context(), st, waiting.ID)
		require.NoError(t, err)
		_, rows = b.downloadExport(v)
		require.Contains(t, rows[1], "Deleted user", "an export that starts later does not contain the user")
		require.NotContains(t, rows[1], "Name of "+ann.UserID)

		b.clock.Advance(time.Minute)
		require.NoError(t, b.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: ann.UserID, DeletedAt: b.clock.Now().Add(-2 * time.Minute)}))
		_, err = b.MyExport(t.Context(), st, waiting.ID)
		require.NoError(t, err, "later exports contain no deleted users")
	})
}
