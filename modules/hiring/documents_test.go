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
func (e *testEnv) Read(_ context.Context, userID, documentID string) (hiring.ApplicantDocument, error) {
	d, exists := e.originals[userID+documentID]
	if !exists {
		return d, hiring.ErrDocumentNotFound
	}
	return d, nil
}

// addOriginal adds a document of the applicant and returns its id.
func (e *testEnv) addOriginal(by auth.Actor, text string) string {
	id := stores.NewID()
	e.originals[by.UserID+id] = hiring.ApplicantDocument{
		Type:      "cv",
		Title:     "My CV",
		FileName:  "cv.txt",
		MediaType: "text/plain",
		Extension: ".txt",
		Body:      []byte(text),
	}
	return id
}

// applyWith applies to the listing with documents.
func (e *testEnv) applyWith(by auth.Actor, listing string, documentIDs ...string) (hiring.Application, error) {
	return e.Apply(e.t.Context(), by, hiring.ApplyInput{ListingID: listing, DocumentIDs: documentIDs})
}

// read returns the text of a document of an application, as the employer downloads it.
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
func (e *testEnv) countFiles() int {
	found, err := filepath.Glob(filepath.Join(e.folder, "applications", "*"))
	require.NoError(e.t, err)
	return len(found)
}

// TestApply_Documents_AreCopied checks that an application keeps its documents after the
// applicant has deleted the originals, without duplicates, and that only the employer with the
// permission reads them.
func TestApply_Documents_AreCopied(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		e, s := employer(), seeker()
		cv, letter := env.addOriginal(s, "Six years of critical care."), env.addOriginal(s, "Dear ward")
		application, err := env.applyWith(s, env.newListing(e), cv, letter, cv) // cv twice
		require.NoError(t, err)
		delete(env.originals, s.UserID+cv)
		ds, err := env.ReceivedDocuments(t.Context(), e, application.ID)
		require.NoError(t, err)
		require.Len(t, ds, 2)
		require.Equal(t, "Six years of critical care.", env.read(e, application.ID, ds[0].ID))
		require.Equal(t, "Dear ward", env.read(e, application.ID, ds[1].ID))
		require.Equal(t, ds, env.received(e, application.ID).Documents)
		mine, err := env.MyApplication(t.Context(), s, application.ID)
		require.NoError(t, err)
		require.Equal(t, ds, mine.Documents)

		for _, other := range []auth.Actor{employer(), s, employer(auth.JobsUpdate)} {
			_, err = env.ReceivedDocuments(t.Context(), other, application.ID)
			require.Error(t, err)
			_, _, err = env.OpenReceivedDocument(t.Context(), other, application.ID, ds[0].ID)
			require.Error(t, err)
		}
		// The id cv names the original, not its copy.
		for _, id := range []string{stores.NewID(), "nonsense", cv} {
			_, _, err = env.OpenReceivedDocument(t.Context(), e, application.ID, id)
			require.ErrorIs(t, err, hiring.ErrDocumentNotFound)
		}
	})
}

// TestApply_InvalidDocuments_AreRefused checks that an applicant cannot attach the document of
// another user, more than five documents, or documents to a second application to the same
// listing.
func TestApply_InvalidDocuments_AreRefused(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		e, s, other := employer(), seeker(), seeker()
		listing, theirs, mine := env.newListing(e), env.addOriginal(other, "x"), env.addOriginal(s, "y")
		for _, id := range []string{theirs, stores.NewID(), "nonsense"} {
			_, err := env.applyWith(s, listing, mine, id)
			require.ErrorIs(t, err, hiring.ErrDocumentNotFound)
		}
		_, err := env.applyWith(s, listing, mine, mine, mine, mine, mine, mine)
		require.Equal(t, "documentIds", fault.Of(err).Fields[0].Name)
		_, err = env.applyWith(s, listing, mine)
		require.NoError(t, err)
		_, err = env.applyWith(s, listing, mine)
		require.ErrorIs(t, err, hiring.ErrAlreadyApplied)
	})
}

// TestWithdraw_Documents_AreRemoved checks that the files of an application are deleted after a
// withdrawal, and after the deletion of the account even if the application was accepted.
func TestWithdraw_Documents_AreRemoved(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		e, s := employer(), seeker()
		cv := env.addOriginal(s, "y")
		withdrawn, err := env.applyWith(s, env.newListing(e), cv)
		require.NoError(t, err)
		accepted, err := env.applyWith(s, env.newListing(e), cv)
		require.NoError(t, err)
		require.NoError(t, env.setStatus(e, accepted.ID, "accepted"))
		require.Equal(t, 2, env.countFiles())
		require.NoError(t, env.Withdraw(t.Context(), s, withdrawn.ID))
		require.Empty(t, env.received(e, withdrawn.ID).Documents)
		env.work.All(t)
		require.Equal(t, 1, env.countFiles())
		require.NoError(t, env.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: s.UserID, DeletedAt: env.clock.Now()}))
		require.Empty(t, env.received(e, accepted.ID).Documents)
		env.work.All(t)
		require.Zero(t, env.countFiles())
	})
}

// TestApply_FailedCopy_IsRemoved checks that no file remains of an application that was not
// stored: neither if a later document is refused, nor if the process ended after writing a
// file, in which case the reservation expires after an hour.
func TestApply_FailedCopy_IsRemoved(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		e, s := employer(), seeker()
		_, err := env.applyWith(s, env.newListing(e), env.addOriginal(s, "y"), stores.NewID())
		require.ErrorIs(t, err, hiring.ErrDocumentNotFound)
		require.Equal(t, 1, env.countFiles())
		env.work.All(t)
		require.Zero(t, env.countFiles())

		abandoned := hiring.Document{
			ID:             stores.NewID(),
			ApplicationID:  stores.NewID(),
			OrganizationID: e.OrganizationID,
			ApplicantID:    s.UserID,
			Extension:      ".txt",
			AttachedAt:     env.clock.Now(),
		}
		require.NoError(t, env.Documents.Reserve(t.Context(), abandoned, env.clock.Now().Add(time.Hour)))
		require.NoError(
			t,
			env.Files.Put(t.Context(), "applications/"+abandoned.ID+".txt",
				func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err }),
		)
		env.clock.Advance(2 * time.Hour)
		for _, p := range env.Periodic() {
			if p.Kind == "hiring.files-left" {
				require.NoError(t, p.Do(t.Context()))
			}
		}
		require.Zero(t, env.countFiles())
	})
}

// TestMailSubmitted_Preferences_AreRespected checks that the confirmation of an application is
// sent only to applicants who want optional e-mails, and links to the site only if there is
// one.
func TestMailSubmitted_Preferences_AreRespected(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		s := seeker()
		application := env.apply(s, env.newListing(employer()))
		submitted := event.ApplicationSubmitted{
			ApplicationID:  application.ID,
			JobID:          application.ListingID,
			OrganizationID: application.OrganizationID,
			CandidateID:    s.UserID,
			SubmittedAt:    application.AppliedAt,
		}
		_ = env.sentMails()
		require.NoError(t, env.MailSubmitted(t.Context(), submitted))
		sent := env.sentMails()
		require.Len(t, sent, 1)
		require.Equal(t, s.UserID+"@example.org", sent[0].To.Email)
		require.Equal(t, "submitted-"+application.ID, sent[0].ID)
		require.Contains(t, sent[0].Text, "\nhttps://jobs.example.org/account/applications/"+application.ID+"\n")
		env.HasSite = false
		require.NoError(t, env.MailSubmitted(t.Context(), submitted))
		require.NotContains(t, env.sentMails()[0].Text, "/account/")
		env.optedOut[s.UserID] = true
		require.NoError(t, env.MailSubmitted(t.Context(), submitted))
		require.Empty(t, env.sentMails())
	})
}
