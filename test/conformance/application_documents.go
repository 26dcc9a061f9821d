package conformance

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/modules/hiring"
)

// An application takes copies of the applicant's documents along. Each is first reserved, so that it is
// deleted if the copying is interrupted, and becomes visible when it is attached to the application. A released
// document is no longer visible. A caller that wants to delete files claims them for a period: until the period
// ends, no other caller gets the same ones.

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

// attachDocuments stores n documents that are attached to the application.
func attachDocuments(
	t testing.TB, storage adapters.HiringStorage, application hiring.Application, n int, now time.Time,
) (documents []hiring.Document) {
	t.Helper()

	for range n {
		document := newApplicationDocument(application, now)
		require.NoError(t, storage.Documents.Reserve(context.Background(), document, now.Add(time.Hour)))

		documents = append(documents, document)
	}

	require.NoError(t, storage.Documents.Attach(context.Background(), application.ApplicantID, application.ID, n, now))

	return documents
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

// list returns the documents of an application that an organization or an applicant may see.
func (suite applicationDocumentSuite) list(
	t *testing.T,
	storage adapters.HiringStorage,
	visibility hiring.Visibility,
	applicationID string,
) []hiring.Document {
	t.Helper()

	documents, err := storage.Documents.List(context.Background(), visibility, applicationID)
	require.NoError(t, err)

	return documents
}

// claim claims up to ten documents that can be deleted at the time now, until the second time. It returns their
// names in the file storage, which are the ids with the extensions.
func (suite applicationDocumentSuite) claim(t *testing.T, storage adapters.HiringStorage, now, until time.Time) []string {
	t.Helper()

	documents, err := storage.Documents.Claim(context.Background(), 10, now, until)
	require.NoError(t, err)

	return list.Map(documents, func(document hiring.Document) string { return document.ID + document.Extension })
}

// attach checks that documents are visible only after they were attached. The caller of Attach states how many
// documents it has copied; it fails if another number is reserved, because a reservation may have expired.
func (suite applicationDocumentSuite) attach(t *testing.T) {
	ctx := context.Background()
	storage, now := openHiring(t, suite.open)
	application := apply(t, storage, newID(), newID(), now)
	document := newApplicationDocument(application, now)

	// A reserved document is not visible.
	require.NoError(t, storage.Documents.Reserve(ctx, document, now.Add(time.Hour)))
	require.Empty(t, suite.list(t, storage, toOrganization(application.OrganizationID), application.ID),
		"not attached yet")

	// Attach needs the right number and the right applicant.
	require.Error(t, storage.Documents.Attach(ctx, application.ApplicantID, application.ID, 2, now),
		"only one is reserved")
	require.Empty(t, suite.list(t, storage, toOrganization(application.OrganizationID), application.ID))
	require.Error(t, storage.Documents.Attach(ctx, newID(), application.ID, 1, now), "of another applicant")
	require.NoError(t, storage.Documents.Attach(ctx, application.ApplicantID, application.ID, 1, now))

	// The organization and the applicant see the attached document. An applicant sees it even as a member of
	// another organization.
	for _, visibility := range []hiring.Visibility{
		toOrganization(application.OrganizationID),
		ofApplicant(application.ApplicantID),
		{OrganizationID: newID(), ApplicantID: application.ApplicantID},
	} {
		require.Equal(t, []hiring.Document{document}, suite.list(t, storage, visibility, application.ID))
	}

	// An attached document has no reservation that could end.
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

	for _, other := range []hiring.Visibility{toOrganization(newID()), ofApplicant(newID()), {}} {
		require.Empty(t, suite.list(t, storage, other, application.ID))
	}

	require.Empty(t, suite.list(t, storage, toOrganization(application.OrganizationID), newID()), "of another application")

	n, err := storage.Documents.Release(ctx, newID(), application.ID, now)
	require.NoError(t, err)
	require.Zero(t, n, "another applicant releases nothing")
	require.NoError(t, storage.Documents.Delete(ctx, []string{documents[0].ID, documents[1].ID}))
	require.Equal(t, documents, suite.list(t, storage, toOrganization(application.OrganizationID), application.ID),
		"an attached document is not deleted")
}

// expiry checks that a document that is not attached in time can be claimed for its deletion. It can be claimed
// again if the first caller does not delete it in the time of its claim.
func (suite applicationDocumentSuite) expiry(t *testing.T) {
	ctx := context.Background()
	storage, now := openHiring(t, suite.open)
	document := newApplicationDocument(newApplication(newID(), newID(), now), now)
	end := now.Add(time.Hour)
	require.NoError(t, storage.Documents.Reserve(ctx, document, end))

	// When the reservation ends, the document can be claimed instead of attached.
	require.Empty(t, suite.claim(t, storage, end.Add(-time.Microsecond), end), "still reserved")
	require.Error(t, storage.Documents.Attach(ctx, document.ApplicantID, document.ApplicationID, 1, end), "expired")

	// The first claim, of a minute, ends without a deletion.
	require.Equal(t, []string{document.ID + ".pdf"}, suite.claim(t, storage, end, end.Add(time.Minute)))
	require.Empty(t, suite.claim(t, storage, end, end.Add(time.Minute)), "claimed by another caller")
	require.Equal(t, []string{document.ID + ".pdf"}, suite.claim(t, storage, end.Add(time.Minute), end.Add(time.Hour)))

	// A deleted document is not claimed again.
	require.NoError(t, storage.Documents.Delete(ctx, []string{document.ID}))
	require.NoError(t, storage.Documents.Delete(ctx, nil), "nothing to delete")
	require.Empty(t, suite.claim(t, storage, end.Add(2*time.Hour), end.Add(3*time.Hour)))
}

// release checks that released documents of an application are invisible at once, and that their files can be
// claimed from the time on that the caller of Release states.
func (suite applicationDocumentSuite) release(t *testing.T) {
	ctx := context.Background()
	storage, now := openHiring(t, suite.open)
	first := apply(t, storage, newID(), newID(), now)
	second := apply(t, storage, newID(), newID(), now)
	released := attachDocuments(t, storage, first, 2, now)
	kept := attachDocuments(t, storage, second, 1, now)
	releasedAt := now.Add(time.Minute)

	n, err := storage.Documents.Release(ctx, first.ApplicantID, first.ID, releasedAt)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Empty(t, suite.list(t, storage, toOrganization(first.OrganizationID), first.ID))
	require.Equal(t, kept, suite.list(t, storage, toOrganization(second.OrganizationID), second.ID))

	require.Empty(t, suite.claim(t, storage, now, now.Add(time.Hour)), "before the time of the release")
	require.ElementsMatch(t, []string{released[0].ID + ".pdf", released[1].ID + ".pdf"},
		suite.claim(t, storage, releasedAt, now.Add(time.Hour)))
}

// claimedOnce checks that twelve concurrent callers, which ask for two documents each, do not claim the same
// document of twelve. A caller may get fewer than it asks for; a last call claims the rest.
func (suite applicationDocumentSuite) claimedOnce(t *testing.T) {
	ctx := context.Background()
	storage, now := openHiring(t, suite.open)
	const callers, documents = 12, 12

	application := newApplication(newID(), newID(), now)
	for range documents {
		require.NoError(t, storage.Documents.Reserve(ctx, newApplicationDocument(application, now), now))
	}

	claims := make([][]hiring.Document, callers)
	runConcurrently(t, callers, func(i int) (err error) {
		claims[i], err = storage.Documents.Claim(ctx, 2, now, now.Add(time.Hour))
		return err
	})

	rest, err := storage.Documents.Claim(ctx, 100, now, now.Add(time.Hour))
	require.NoError(t, err)

	claimed := append(slices.Concat(claims...), rest...)
	requireEachOnce(t, documents, list.Map(claimed, func(document hiring.Document) string { return document.ID }))
}
