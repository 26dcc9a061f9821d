package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/modules/hiring"
)

// newApplicationDocument returns a document of the application.
func newApplicationDocument(application hiring.Application, now time.Time) hiring.Document {
	return hiring.Document{
		ID:             newID(),
		ApplicationID:  application.ID,
		OrganizationID: application.OrganizationID,
		ApplicantID:    application.ApplicantID,
		Type:           "cv",
		Title:          "Zoë's \"100%\"",
		FileName:       "Lebenslauf für alle.pdf",
		MediaType:      "application/pdf",
		Extension:      ".pdf",
		Size:           3 << 30,
		AttachedAt:     now,
	}
}

// attachDocuments stores documents that are attached to the application.
func attachDocuments(
	t testing.TB, storage adapters.HiringStorage, application hiring.Application, n int, now time.Time,
) (out []hiring.Document) {
	t.Helper()

	for range n {
		document := newApplicationDocument(application, now)
		require.NoError(t, storage.Documents.Reserve(context.Background(), document, now.Add(time.Hour)))

		out = append(out, document)
	}

	require.NoError(t, storage.Documents.Attach(context.Background(), application.ApplicantID, application.ID, n, now))

	return out
}

// ApplicationDocuments checks the port hiring.Documents.
func ApplicationDocuments(t *testing.T, open HiringOpener) {
	suite := applicationDocumentSuite{open}
	t.Run("reserve and attach", suite.attach)
	t.Run("other owner", suite.otherOwner)
	t.Run("reservation expires", suite.expiry)
	t.Run("release", suite.release)
	t.Run("claimed once, concurrently", suite.claimedOnce)
}

// applicationDocumentSuite has the subtests of ApplicationDocuments.
type applicationDocumentSuite struct {
	open HiringOpener
}

// list returns the documents of an application that are visible to v.
func (suite applicationDocumentSuite) list(
	t *testing.T,
	storage adapters.HiringStorage,
	visibility hiring.Visibility,
	applicationID string,
) []hiring.Document {
	t.Helper()

	got, err := storage.Documents.List(context.Background(), visibility, applicationID)
	require.NoError(t, err)

	return got
}

// claim returns ID and extension of the released documents that it claims until the given time.
func (suite applicationDocumentSuite) claim(t *testing.T, storage adapters.HiringStorage, now, until time.Time) []string {
	t.Helper()

	got, err := storage.Documents.Claim(context.Background(), 10, now, until)
	require.NoError(t, err)

	return list.Map(got, func(document hiring.Document) string { return document.ID + document.Extension })
}

// attach checks that documents are visible after they were attached, which fails unless as many
// are reserved as the caller has copied.
func (suite applicationDocumentSuite) attach(t *testing.T) {
	ctx := context.Background()
	storage, now := openHiring(t, suite.open)
	application := apply(t, storage, newID(), newID(), now)
	document := newApplicationDocument(application, now)
	require.NoError(t, storage.Documents.Reserve(ctx, document, now.Add(time.Hour)))
	require.Empty(t, suite.list(t, storage, toOrganization(application.OrganizationID), application.ID),
		"not attached yet")
	require.Error(t, storage.Documents.Attach(ctx, application.ApplicantID, application.ID, 2, now),
		"only one is reserved")
	require.Empty(t, suite.list(t, storage, toOrganization(application.OrganizationID), application.ID))
	require.Error(t, storage.Documents.Attach(ctx, newID(), application.ID, 1, now), "of another applicant")
	require.NoError(t, storage.Documents.Attach(ctx, application.ApplicantID, application.ID, 1, now))
	require.Equal(t, []hiring.Document{document},
		suite.list(t, storage, toOrganization(application.OrganizationID), application.ID))
	require.Equal(t, []hiring.Document{document},
		suite.list(t, storage, ofApplicant(application.ApplicantID), application.ID))
	require.Equal(t, []hiring.Document{document},
		suite.list(t, storage, hiring.Visibility{OrganizationID: newID(), ApplicantID: application.ApplicantID},
			application.ID))
	require.Empty(t, suite.claim(t, storage, now.Add(1_000*time.Hour), now.Add(2_000*time.Hour)))
	require.Error(t, storage.Documents.Reserve(ctx, document, now.Add(time.Hour)), "the same id")
}

// otherOwner checks that documents are visible to the applicant and the organization only, and
// that Delete does not delete attached ones.
func (suite applicationDocumentSuite) otherOwner(t *testing.T) {
	ctx := context.Background()
	storage, now := openHiring(t, suite.open)
	application := apply(t, storage, newID(), newID(), now)
	documents := attachDocuments(t, storage, application, 2, now)
	require.Empty(t, suite.list(t, storage, toOrganization(newID()), application.ID))
	require.Empty(t, suite.list(t, storage, ofApplicant(newID()), application.ID))
	require.Empty(t, suite.list(t, storage, hiring.Visibility{}, application.ID))
	require.Empty(t, suite.list(t, storage, toOrganization(application.OrganizationID), newID()))

	n, err := storage.Documents.Release(ctx, newID(), application.ID, now)
	require.NoError(t, err)
	require.Zero(t, n)
	require.NoError(t, storage.Documents.Delete(ctx, []string{documents[0].ID, documents[1].ID}))
	require.Equal(t, documents, suite.list(t, storage, toOrganization(application.OrganizationID), application.ID),
		"an attached document is not deleted")
}

// expiry checks that a document that is not attached in time is released, and is claimed again
// if the caller that has claimed it does not delete it.
func (suite applicationDocumentSuite) expiry(t *testing.T) {
	ctx := context.Background()
	storage, now := openHiring(t, suite.open)
	document := newApplicationDocument(newApplication(newID(), newID(), now), now)
	end := now.Add(time.Hour)
	require.NoError(t, storage.Documents.Reserve(ctx, document, end))
	require.Empty(t, suite.claim(t, storage, end.Add(-time.Microsecond), end))
	require.Error(t, storage.Documents.Attach(ctx, document.ApplicantID, document.ApplicationID, 1, end), "expired")
	require.Equal(t, []string{document.ID + ".pdf"}, suite.claim(t, storage, end, end.Add(time.Minute)))
	require.Empty(t, suite.claim(t, storage, end, end.Add(time.Minute)), "claimed by another caller")
	require.Equal(t, []string{document.ID + ".pdf"}, suite.claim(t, storage, end.Add(time.Minute), end.Add(time.Hour)))
	require.NoError(t, storage.Documents.Delete(ctx, []string{document.ID}))
	require.NoError(t, storage.Documents.Delete(ctx, nil))
	require.Empty(t, suite.claim(t, storage, end.Add(2*time.Hour), end.Add(3*time.Hour)))
}

// release checks that a release ends the visibility at once, and that the files can be claimed
// at its time.
func (suite applicationDocumentSuite) release(t *testing.T) {
	ctx := context.Background()
	storage, now := openHiring(t, suite.open)
	first, second := apply(t, storage, newID(), newID(), now), apply(t, storage, newID(), newID(), now)
	released, kept := attachDocuments(t, storage, first, 2, now), attachDocuments(t, storage, second, 1, now)
	n, err := storage.Documents.Release(ctx, first.ApplicantID, first.ID, now.Add(time.Minute))
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Empty(t, suite.list(t, storage, toOrganization(first.OrganizationID), first.ID))
	require.Equal(t, kept, suite.list(t, storage, toOrganization(second.OrganizationID), second.ID))
	require.Empty(t, suite.claim(t, storage, now, now.Add(time.Hour)))
	require.ElementsMatch(t, []string{released[0].ID + ".pdf", released[1].ID + ".pdf"},
		suite.claim(t, storage, now.Add(time.Minute), now.Add(time.Hour)))
}

// claimedOnce checks that concurrent callers do not claim the same document. A caller may get
// less than it asks for; a last call claims the rest.
func (suite applicationDocumentSuite) claimedOnce(t *testing.T) {
	ctx := context.Background()
	storage, now := openHiring(t, suite.open)

	application := newApplication(newID(), newID(), now)
	for range 12 {
		require.NoError(t, storage.Documents.Reserve(ctx, newApplicationDocument(application, now), now))
	}

	claims := make([][]hiring.Document, 13)
	runConcurrently(t, 12, func(i int) (err error) {
		claims[i], err = storage.Documents.Claim(ctx, 2, now, now.Add(time.Hour))
		return err
	})

	claims[12], _ = storage.Documents.Claim(ctx, 100, now, now.Add(time.Hour))

	seenIDs := map[string]bool{}
	for _, claim := range claims {
		for _, document := range claim {
			require.False(t, seenIDs[document.ID])

			seenIDs[document.ID] = true
		}
	}

	require.Len(t, seenIDs, 12)
}
