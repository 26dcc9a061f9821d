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

// An application contains copies of the applicant's documents. The storage knows each document in these states:
//   - reserved: its file is being copied. If the copying is interrupted, the reservation expires.
//   - attached: the document is part of the application, and visible.
//   - released: the document is not visible any more, and its file has to be deleted. A document whose reservation
//     has expired is released, too.
//
// A caller that wants to delete files claims released documents for a period: until the period ends, no other
// caller gets the same documents.

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
	suite := applicationDocumentSuite{open: open}
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

// visible returns the documents of an application that an organization or an applicant may see.
func (suite applicationDocumentSuite) visible(
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

// claim claims up to ten documents that are released at the time now. The claim ends at the time until. claim
// returns the names of the documents in the file storage, which are the ids with the extensions.
func (suite applicationDocumentSuite) claim(t *testing.T, storage adapters.HiringStorage, now, until time.Time) []string {
	t.Helper()

	const limit = 10 // more than the documents of a test
	documents, err := storage.Documents.Claim(context.Background(), limit, now, until)
	require.NoError(t, err)

	return list.Map(documents, func(document hiring.Document) string { return document.ID + document.Extension })
}

// attach checks that a document is visible after it was attached, and not before. The caller of Attach states how
// many documents it has copied. Attach fails if another number is reserved, because a reservation may have expired.
func (suite applicationDocumentSuite) attach(t *testing.T) {
	ctx := context.Background()
	storage, now := openHiring(t, suite.open)
	application := apply(t, storage, newID(), newID(), now)
	document := newApplicationDocument(application, now)

	// A reserved document is not visible.
	require.NoError(t, storage.Documents.Reserve(ctx, document, now.Add(time.Hour)))
	require.Empty(t, suite.visible(t, storage, toOrganization(application.OrganizationID), application.ID),
		"not attached yet")

	// Attach fails with a wrong number and with a wrong applicant.
	require.Error(t, storage.Documents.Attach(ctx, application.ApplicantID, application.ID, 2, now),
		"only one is reserved")
	require.Empty(t, suite.visible(t, storage, toOrganization(application.OrganizationID), application.ID))
	require.Error(t, storage.Documents.Attach(ctx, newID(), application.ID, 1, now), "of another applicant")
	require.NoError(t, storage.Documents.Attach(ctx, application.ApplicantID, application.ID, 1, now))

	// The organization and the applicant see the attached document. An applicant sees it even as a member of
	// another organization.
	for _, visibility := range []hiring.Visibility{
		toOrganization(application.OrganizationID),
		ofApplicant(application.ApplicantID),
		{OrganizationID: newID(), ApplicantID: application.ApplicantID},
	} {
		require.Equal(t, []hiring.Document{document}, suite.visible(t, storage, visibility, application.ID))
	}

	// An attached document does not expire: it cannot be claimed long after the end of its reservation.
	longAfter := now.Add(1_000 * time.Hour)
	require.Empty(t, suite.claim(t, storage, longAfter, longAfter.Add(time.Hour)))

	require.Error(t, storage.Documents.Reserve(ctx, document, now.Add(time.Hour)), "the id is in use")
}

// otherOwner checks that documents are visible to the applicant and to the organization of their application, and
// to no others. Another applicant cannot release them. Delete does not delete attached documents.
func (suite applicationDocumentSuite) otherOwner(t *testing.T) {
	ctx := context.Background()
	storage, now := openHiring(t, suite.open)
	application := apply(t, storage, newID(), newID(), now)
	documents := attachDocuments(t, storage, application, 2, now)

	for _, other := range []hiring.Visibility{toOrganization(newID()), ofApplicant(newID()), {}} {
		require.Empty(t, suite.visible(t, storage, other, application.ID))
	}

	require.Empty(t, suite.visible(t, storage, toOrganization(application.OrganizationID), newID()), "of another application")

	n, err := storage.Documents.Release(ctx, newID(), application.ID, now)
	require.NoError(t, err)
	require.Zero(t, n, "another applicant releases nothing")
	require.NoError(t, storage.Documents.Delete(ctx, []string{documents[0].ID, documents[1].ID}))
	require.Equal(t, documents, suite.visible(t, storage, toOrganization(application.OrganizationID), application.ID),
		"an attached document is not deleted")
}

// expiry checks that a document whose reservation has expired cannot be attached any more, but claimed for its
// deletion. If the first caller has not deleted it at the end of its claim, another caller can claim it.
func (suite applicationDocumentSuite) expiry(t *testing.T) {
	ctx := context.Background()
	storage, now := openHiring(t, suite.open)
	document := newApplicationDocument(newApplication(newID(), newID(), now), now)
	end := now.Add(time.Hour)
	require.NoError(t, storage.Documents.Reserve(ctx, document, end))

	// Until the end of the reservation, the document cannot be claimed. From then on, it cannot be attached.
	require.Empty(t, suite.claim(t, storage, end.Add(-time.Microsecond), end), "the document is still reserved")
	require.Error(t, storage.Documents.Attach(ctx, document.ApplicantID, document.ApplicationID, 1, end),
		"the reservation has expired")

	// The first caller claims the document for a minute, but does not delete it. When the minute is over, another
	// caller claims the document.
	firstClaimEnd, secondClaimEnd := end.Add(time.Minute), end.Add(time.Hour)
	require.Equal(t, []string{document.ID + ".pdf"}, suite.claim(t, storage, end, firstClaimEnd))
	require.Empty(t, suite.claim(t, storage, end, firstClaimEnd), "claimed by the first caller")
	require.Equal(t, []string{document.ID + ".pdf"}, suite.claim(t, storage, firstClaimEnd, secondClaimEnd))

	// A deleted document is not claimed again, not even after the second claim.
	require.NoError(t, storage.Documents.Delete(ctx, []string{document.ID}))
	require.NoError(t, storage.Documents.Delete(ctx, nil), "nothing to delete")

	afterClaims := secondClaimEnd.Add(time.Hour)
	require.Empty(t, suite.claim(t, storage, afterClaims, afterClaims.Add(time.Hour)))
}

// release checks that Release makes the documents of an application invisible at once. The caller of Release
// states a time, from which on the documents can be claimed.
func (suite applicationDocumentSuite) release(t *testing.T) {
	ctx := context.Background()
	storage, now := openHiring(t, suite.open)
	first := apply(t, storage, newID(), newID(), now)
	second := apply(t, storage, newID(), newID(), now)
	ofFirst := attachDocuments(t, storage, first, 2, now)
	ofSecond := attachDocuments(t, storage, second, 1, now)
	releasedAt := now.Add(time.Minute)

	n, err := storage.Documents.Release(ctx, first.ApplicantID, first.ID, releasedAt)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Empty(t, suite.visible(t, storage, toOrganization(first.OrganizationID), first.ID))
	require.Equal(t, ofSecond, suite.visible(t, storage, toOrganization(second.OrganizationID), second.ID))

	claimEnd := now.Add(time.Hour)
	require.Empty(t, suite.claim(t, storage, now, claimEnd), "before the time of the release")
	require.ElementsMatch(t, []string{ofFirst[0].ID + ".pdf", ofFirst[1].ID + ".pdf"},
		suite.claim(t, storage, releasedAt, claimEnd))
}

// claimedOnce checks that no two of twelve concurrent callers claim the same document. There are twelve documents,
// whose reservations have expired, and each caller asks for two of them. A caller may get fewer than two. So a
// last call claims the documents that remain.
func (suite applicationDocumentSuite) claimedOnce(t *testing.T) {
	ctx := context.Background()
	storage, now := openHiring(t, suite.open)
	const callers, documents = 12, 12

	application := newApplication(newID(), newID(), now)
	for range documents {
		reservedUntil := now // expires at once
		require.NoError(t, storage.Documents.Reserve(ctx, newApplicationDocument(application, now), reservedUntil))
	}

	claimEnd := now.Add(time.Hour)

	claims := make([][]hiring.Document, callers)
	runConcurrently(t, callers, func(i int) (err error) {
		claims[i], err = storage.Documents.Claim(ctx, 2, now, claimEnd)
		return err
	})

	rest, err := storage.Documents.Claim(ctx, documents, now, claimEnd)
	require.NoError(t, err)

	claimed := append(slices.Concat(claims...), rest...)
	requireEachOnce(t, documents, list.Map(claimed, func(document hiring.Document) string { return document.ID }))
}
