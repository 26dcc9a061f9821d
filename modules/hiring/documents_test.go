package hiring_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
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
	document, found := e.originals[userID+documentID]
	if !found {
		return document, hiring.ErrDocumentNotFound
	}

	return document, nil
}

// addOriginal adds a document to the profile of the applicant and returns its id. Applications
// get copies of it.
func (e *testEnv) addOriginal(applicant auth.Actor, text string) string {
	id := stores.NewID()
	e.originals[applicant.UserID+id] = hiring.ApplicantDocument{
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

// readDocument returns the text of a document of an application, as the employer downloads it.
func (e *testEnv) readDocument(employer auth.Actor, applicationID, documentID string) string {
	e.t.Helper()

	document, body, err := e.OpenReceivedDocument(e.t.Context(), employer, applicationID, documentID)
	require.NoError(e.t, err)

	text, err := io.ReadAll(body)
	require.NoError(e.t, errors.Join(err, body.Close()))
	require.EqualValues(e.t, len(text), document.Size)

	return string(text)
}

// countFiles returns the number of documents of applications in the file store.
func (e *testEnv) countFiles() int {
	paths, err := filepath.Glob(filepath.Join(e.filesFolder, "applications", "*"))
	require.NoError(e.t, err)
	return len(paths)
}

// TestApply_Documents_AreCopied checks that an application keeps copies of its documents, without
// duplicates, after the applicant has deleted the originals. Both sides see them.
func TestApply_Documents_AreCopied(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer, seeker := newEmployer(), newSeeker()
		cv, letter := env.addOriginal(seeker, "Six years of critical care."), env.addOriginal(seeker, "Dear ward")
		application, err := env.applyWith(seeker, env.newListing(employer), cv, letter, cv)
		require.NoError(t, err, "a document that is named twice is copied once")

		// The applicant deletes an original. The employer still reads both copies.
		delete(env.originals, seeker.UserID+cv)

		copies, err := env.ReceivedDocuments(t.Context(), employer, application.ID)
		require.NoError(t, err)
		require.Len(t, copies, 2)
		require.Equal(t, "Six years of critical care.", env.readDocument(employer, application.ID, copies[0].ID))
		require.Equal(t, "Dear ward", env.readDocument(employer, application.ID, copies[1].ID))
		require.Equal(t, copies, env.received(employer, application.ID).Documents)

		mine, err := env.MyApplication(t.Context(), seeker, application.ID)
		require.NoError(t, err)
		require.Equal(t, copies, mine.Documents)
	})
}

// TestReceivedDocuments_OtherCallerOrID_Refused checks that neither others nor the applicant can read the
// documents as the employer. Other ids are not found, not even that of the original.
func TestReceivedDocuments_OtherCallerOrID_Refused(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer, seeker := newEmployer(), newSeeker()
		original := env.addOriginal(seeker, "Six years of critical care.")
		application, err := env.applyWith(seeker, env.newListing(employer), original)
		require.NoError(t, err)

		copies, err := env.ReceivedDocuments(t.Context(), employer, application.ID)
		require.NoError(t, err)

		for _, other := range []auth.Actor{newEmployer(), seeker, newEmployer(auth.JobsUpdate)} {
			_, err = env.ReceivedDocuments(t.Context(), other, application.ID)
			require.Error(t, err)

			_, _, err = env.OpenReceivedDocument(t.Context(), other, application.ID, copies[0].ID)
			require.Error(t, err)
		}

		for _, id := range []string{stores.NewID(), "nonsense", original} {
			_, _, err = env.OpenReceivedDocument(t.Context(), employer, application.ID, id)
			require.ErrorIs(t, err, hiring.ErrDocumentNotFound, id)
		}
	})
}

// TestApply_InvalidDocuments_AreRefused checks that an applicant cannot attach the document of
// another user, more than five documents, or documents to a second application to the same
// listing.
func TestApply_InvalidDocuments_AreRefused(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer()
		seeker := newSeeker()
		other := newSeeker()
		listing := env.newListing(employer)
		ofOther := env.addOriginal(other, "x")
		own := env.addOriginal(seeker, "y")

		for _, id := range []string{ofOther, stores.NewID(), "nonsense"} {
			_, err := env.applyWith(seeker, listing, own, id)
			require.ErrorIs(t, err, hiring.ErrDocumentNotFound)
		}

		const maxDocuments = 5
		tooMany := slices.Repeat([]string{own}, maxDocuments+1)
		_, err := env.applyWith(seeker, listing, tooMany...)
		require.Equal(t, "documentIds", fault.Of(err).Fields[0].Name)

		// The second application to the listing is refused.
		_, err = env.applyWith(seeker, listing, own)
		require.NoError(t, err)

		_, err = env.applyWith(seeker, listing, own)
		require.ErrorIs(t, err, hiring.ErrAlreadyApplied)
	})
}

// TestWithdraw_Documents_AreRemoved checks that the files of an application are deleted after a
// withdrawal, and after the deletion of the account even if the application was accepted.
func TestWithdraw_Documents_AreRemoved(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer, seeker := newEmployer(), newSeeker()
		cv := env.addOriginal(seeker, "y")
		withdrawn, err := env.applyWith(seeker, env.newListing(employer), cv)
		require.NoError(t, err)

		accepted, err := env.applyWith(seeker, env.newListing(employer), cv)
		require.NoError(t, err)
		require.NoError(t, env.setStatus(employer, accepted.ID, "accepted"))
		require.Equal(t, 2, env.countFiles())

		// The withdrawal deletes the file of one application.
		require.NoError(t, env.Withdraw(t.Context(), seeker, withdrawn.ID))
		require.Empty(t, env.received(employer, withdrawn.ID).Documents)
		env.work.All(t)
		require.Equal(t, 1, env.countFiles())

		// The deletion of the account deletes the file of the other one.
		deleted := event.AccountDeleted{UserID: seeker.UserID, DeletedAt: env.clock.Now()}
		require.NoError(t, env.OnAccountDeleted(t.Context(), deleted))
		require.Empty(t, env.received(employer, accepted.ID).Documents)
		env.work.All(t)
		require.Zero(t, env.countFiles())
	})
}

// TestApply_FailedCopy_IsRemoved checks that no file remains of an application that was not
// stored: neither if a later document is refused, nor if the process ended after writing a
// file, in which case the reservation expires after an hour.
func TestApply_FailedCopy_IsRemoved(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer, seeker := newEmployer(), newSeeker()

		// The second document is unknown, so the copy of the first one is released.
		_, err := env.applyWith(seeker, env.newListing(employer), env.addOriginal(seeker, "y"), stores.NewID())
		require.ErrorIs(t, err, hiring.ErrDocumentNotFound)
		require.Equal(t, 1, env.countFiles())
		env.work.All(t)
		require.Zero(t, env.countFiles())

		// The process ends after it has reserved a document and written its file.
		abandoned := hiring.Document{
			ID:             stores.NewID(),
			ApplicationID:  stores.NewID(),
			OrganizationID: employer.OrganizationID,
			ApplicantID:    seeker.UserID,
			Extension:      ".txt",
			AttachedAt:     env.clock.Now(),
		}
		require.NoError(t, env.Documents.Reserve(t.Context(), abandoned, env.clock.Now().Add(time.Hour)))

		err = env.Files.Put(t.Context(), "applications/"+abandoned.ID+".txt", func(w io.Writer) error {
			_, err := io.WriteString(w, "x")
			return err
		})
		require.NoError(t, err)

		// After an hour, the periodic task deletes the file.
		env.clock.Advance(2 * time.Hour)

		for _, periodic := range env.Periodic() {
			if periodic.Kind == "hiring.files-left" {
				require.NoError(t, periodic.Do(t.Context()))
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
		seeker := newSeeker()
		application := env.apply(seeker, env.newListing(newEmployer()))
		submitted := event.ApplicationSubmitted{
			ApplicationID:  application.ID,
			JobID:          application.ListingID,
			OrganizationID: application.OrganizationID,
			CandidateID:    seeker.UserID,
			SubmittedAt:    application.AppliedAt,
		}

		env.sentMails() // drop the e-mails to the admins

		require.NoError(t, env.MailSubmitted(t.Context(), submitted))

		sent := env.sentMails()
		require.Len(t, sent, 1)
		require.Equal(t, seeker.UserID+"@example.org", sent[0].To.Email)
		require.Equal(t, "submitted-"+application.ID, sent[0].ID)
		require.Contains(t, sent[0].Text, "\nhttps://jobs.example.org/account/applications/"+application.ID+"\n")

		// Without a site, the e-mail has no link to a page.
		env.HasSite = false
		require.NoError(t, env.MailSubmitted(t.Context(), submitted))
		require.NotContains(t, env.sentMails()[0].Text, "/account/")

		// An applicant who has opted out gets no e-mail.
		env.optedOut[seeker.UserID] = true
		require.NoError(t, env.MailSubmitted(t.Context(), submitted))
		require.Empty(t, env.sentMails())
	})
}
