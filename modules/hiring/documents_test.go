package hiring_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/test/kit/stores"
)

// Read implements hiring.ApplicantDocuments.
func (b *testEnv) Read(_ context.Context, userID, documentID string) (hiring.ApplicantDocument, error) {
	d, exists := b.originals[userID+documentID]
	if !exists {
		return d, hiring.ErrDocumentNotFound
	}
	return d, nil
}

// addOriginal adds a document of the applicant and returns its id.
func (b *testEnv) addOriginal(by auth.Actor, text string) string {
	id := stores.NewID()
	b.originals[by.UserID+id] = hiring.ApplicantDocument{Type: "cv", Title: "My CV", FileName: "cv.txt", MediaType: "text/plain", Extension: ".txt", Body: []byte(text)}
	return id
}

func (b *testEnv) applyWith(by auth.Actor, listing string, documentIDs ...string) (hiring.Application, error) {
	return b.Apply(b.t.Context(), by, hiring.ApplyInput{ListingID: listing, DocumentIDs: documentIDs})
}

func (b *testEnv) read(e auth.Actor, applicationID, documentID string) string {
	b.t.Helper()
	d, body, err := b.OpenReceivedDocument(b.t.Context(), e, applicationID, documentID)
	require.NoError(b.t, err)
	text, err := io.ReadAll(body)
	require.NoError(b.t, errors.Join(err, body.Close()))
	require.EqualValues(b.t, len(text), d.Size)
	return string(text)
}

// countFiles returns the number of stored copies.
func (b *testEnv) countFiles() int {
	found, err := filepath.Glob(filepath.Join(b.folder, "applications", "*"))
	require.NoError(b.t, err)
	return len(found)
}

func TestApply_Documents_AreCopied(t *testing.T) {
	onEach(t, func(t *testing.T, b *testEnv) {
		e, s := employer(), seeker()
		cv, letter := b.addOriginal(s, "Six years of critical care."), b.addOriginal(s, "Dear ward")
		a, err := b.applyWith(s, b.newListing(e), cv, letter, cv)
		require.NoError(t, err)
		delete(b.originals, s.UserID+cv)
		ds, err := b.ReceivedDocuments(t.Context(), e, a.ID)
		require.NoError(t, err)
		require.Len(t, ds, 2)
		require.Equal(t, "Six years of critical care.", b.read(e, a.ID, ds[0].ID))
		require.Equal(t, "Dear ward", b.read(e, a.ID, ds[1].ID))
		require.Equal(t, ds, b.received(e, a.ID).Documents)
		mine, err := b.MyApplication(t.Context(), s, a.ID)
		require.NoError(t, err)
		require.Equal(t, ds, mine.Documents)

		for _, other := range []auth.Actor{employer(), s, employer(auth.JobsUpdate)} {
			_, err = b.ReceivedDocuments(t.Context(), other, a.ID)
			require.Error(t, err)
			_, _, err = b.OpenReceivedDocument(t.Context(), other, a.ID, ds[0].ID)
			require.Error(t, err)
		}
		for _, id := range []string{stores.NewID(), "nonsense", cv} {
			_, _, err = b.OpenReceivedDocument(t.Context(), e, a.ID, id)
			require.ErrorIs(t, err, hiring.ErrDocumentNotFound)
		}
	})
}

func TestApply_InvalidDocuments_AreRefused(t *testing.T) {
	onEach(t, func(t *testing.T, b *testEnv) {
		e, s, other := employer(), seeker(), seeker()
		listing, theirs, mine := b.newListing(e), b.addOriginal(other, "x"), b.addOriginal(s, "y")
		for _, id := range []string{theirs, stores.NewID(), "nonsense"} {
			_, err := b.applyWith(s, listing, mine, id)
			require.ErrorIs(t, err, hiring.ErrDocumentNotFound)
		}
		_, err := b.applyWith(s, listing, mine, mine, mine, mine, mine, mine)
		require.Equal(t, "documentIds", fault.Of(err).Fields[0].Name)
		_, err = b.applyWith(s, listing, mine)
		require.NoError(t, err)
		_, err = b.applyWith(s, listing, mine)
		require.ErrorIs(t, err, hiring.ErrAlreadyApplied)
	})
}

func TestWithdraw_Documents_AreRemoved(t *testing.T) {
	onEach(t, func(t *testing.T, b *testEnv) {
		e, s := employer(), seeker()
		cv := b.addOriginal(s, "y")
		withdrawn, err := b.applyWith(s, b.newListing(e), cv)
		require.NoError(t, err)
		accepted, err := b.applyWith(s, b.newListing(e), cv)
		require.NoError(t, err)
		require.NoError(t, b.setStatus(e, accepted.ID, "accepted"))
		require.Equal(t, 2, b.countFiles())
		require.NoError(t, b.Withdraw(t.Context(), s, withdrawn.ID))
		require.Empty(t, b.received(e, withdrawn.ID).Documents)
		b.work.All(t)
		require.Equal(t, 1, b.countFiles())
		require.NoError(t, b.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: s.UserID, DeletedAt: b.clock.Now()}))
		require.Empty(t, b.received(e, accepted.ID).Documents)
		b.work.All(t)
		require.Zero(t, b.countFiles())
	})
}

func TestApply_FailedCopy_IsRemoved(t *testing.T) {
	onEach(t, func(t *testing.T, b *testEnv) {
		e, s := employer(), seeker()
		_, err := b.applyWith(s, b.newListing(e), b.addOriginal(s, "y"), stores.NewID())
		require.ErrorIs(t, err, hiring.ErrDocumentNotFound)
		require.Equal(t, 1, b.countFiles())
		b.work.All(t)
		require.Zero(t, b.countFiles())

		abandoned := hiring.Document{ID: stores.NewID(), ApplicationID: stores.NewID(), OrganizationID: e.OrganizationID, ApplicantID: s.UserID, Extension: ".txt", AttachedAt: b.clock.Now()}
		require.NoError(t, b.Documents.Reserve(t.Context(), abandoned, b.clock.Now().Add(time.Hour)))
		require.NoError(t, b.Files.Put(t.Context(), "applications/"+abandoned.ID+".txt", func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err }))
		b.clock.Advance(2 * time.Hour)
		for _, p := range b.Periodic() {
			if p.Kind == "hiring.files-left" {
				require.NoError(t, p.Do(t.Context()))
			}
		}
		require.Zero(t, b.countFiles())
	})
}

func TestMailSubmitted_Preferences_AreRespected(t *testing.T) {
	onEach(t, func(t *testing.T, b *testEnv) {
		s := seeker()
		a := b.apply(s, b.newListing(employer()))
		submitted := event.ApplicationSubmitted{ApplicationID: a.ID, JobID: a.ListingID, OrganizationID: a.OrganizationID, CandidateID: s.UserID, SubmittedAt: a.AppliedAt}
		_ = b.sentMails()
		require.NoError(t, b.MailSubmitted(t.Context(), submitted))
		sent := b.sentMails()
		require.Len(t, sent, 1)
		require.Equal(t, s.UserID+"@example.org", sent[0].To.Email)
		require.Equal(t, "submitted-"+a.ID, sent[0].ID)
		b.optedOut[s.UserID] = true
		require.NoError(t, b.MailSubmitted(t.Context(), submitted))
		require.Empty(t, b.sentMails())
	})
}
