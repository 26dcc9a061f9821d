package conformance

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
)

// A file is reserved before it is uploaded, so that it can be found and deleted if no document is stored for it.
// A reservation ends at the time that the caller states. From then on the file is released, which means that it can
// be claimed. The file of a document is released when the document is deleted or gets another file. The caller of
// Claim deletes the file. No other caller gets the file until the claim ends.

// The values of Document.IsDefault: whether the document is the default one of its type.
const asDefault, notDefault = true, false

// newDocument returns a document whose file is not reserved.
func newDocument(user string, kind jobseeker.DocumentType, isDefault bool, now time.Time) jobseeker.Document {
	return jobseeker.Document{
		ID:        newID(),
		UserID:    user,
		Type:      kind,
		Title:     "Zoë's \"100%\"",
		FileName:  "Lebenslauf für alle.pdf",
		IsDefault: isDefault,
		Content: jobseeker.Content{
			File:      jobseeker.DocumentFile{ID: newID(), Extension: ".pdf"},
			Size:      3 << 30,
			Form:      jobseeker.AsData,
			MediaType: "application/pdf",
		},
		UploadedAt: now,
		UpdatedAt:  now.Add(time.Second),
	}
}

// storeDocument reserves the file and stores the document.
func storeDocument(t testing.TB, storage adapters.JobseekerStorage, document jobseeker.Document) {
	t.Helper()

	reservedUntil := document.UpdatedAt.Add(time.Hour)
	withProfile(t, storage, document.UserID, func(ctx context.Context) error {
		if err := storage.DocumentFiles.Reserve(ctx, document.UserID, document.File, reservedUntil); err != nil {
			return err
		}

		return storage.Documents.Upsert(ctx, document)
	})
}

// upsertDocument stores the document in a transaction that has locked the profile of its user, and returns the
// error of the transaction.
func upsertDocument(storage adapters.JobseekerStorage, document jobseeker.Document) error {
	return tryWithProfile(storage, document.UserID,
		func(ctx context.Context) error { return storage.Documents.Upsert(ctx, document) })
}

// Documents checks the port jobseeker.Documents.
func Documents(t *testing.T, open JobseekerOpener) {
	suite := documentSuite{open: open}
	t.Run("create and update", suite.createAndUpdate)
	t.Run("file not reserved", suite.fileNotReserved)
	t.Run("other owner", suite.otherOwner)
	t.Run("delete", suite.delete)
	t.Run("pages", suite.pages)
	t.Run("one default of a type", suite.oneDefaultOfAType)
}

// documentSuite has the subtests of Documents.
type documentSuite struct {
	open JobseekerOpener
}

// add stores a document with a reserved file.
func (suite documentSuite) add(
	t *testing.T,
	storage adapters.JobseekerStorage,
	user string,
	kind jobseeker.DocumentType,
	isDefault bool,
	now time.Time,
) jobseeker.Document {
	t.Helper()

	document := newDocument(user, kind, isDefault, now)
	storeDocument(t, storage, document)

	return document
}

// get returns the user's document with the id, or all documents of the user if the id is empty.
func (suite documentSuite) get(t *testing.T, storage adapters.JobseekerStorage, user, id string) []jobseeker.Document {
	t.Helper()

	found, err := storage.Documents.List(context.Background(), user, jobseeker.DocumentFilter{ID: id}, firstHundred)
	require.NoError(t, err)
	require.Equal(t, len(found.Items), found.Total)

	return found.Items
}

// released returns the files that are released at the given time. It claims them for the shortest possible time.
func (suite documentSuite) released(
	t *testing.T, storage adapters.JobseekerStorage, at time.Time,
) []jobseeker.DocumentFile {
	t.Helper()

	files, err := storage.DocumentFiles.Claim(context.Background(), 10, at, at.Add(time.Microsecond))
	require.NoError(t, err)

	return files
}

// createAndUpdate checks that an update stores all fields. If the file is another one, the old file is released at
// the time of the update. An update with the same file needs no reservation.
func (suite documentSuite) createAndUpdate(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	document := suite.add(t, storage, newID(), jobseeker.CV, asDefault, now)
	require.Equal(t, []jobseeker.Document{document}, suite.get(t, storage, document.UserID, document.ID))

	// An update with other values in all fields.
	oldFile := document.File
	document.Title = "T"
	document.FileName = ""
	document.IsDefault = notDefault
	document.UpdatedAt = now.Add(time.Hour)
	document.Content = jobseeker.Content{
		File:      jobseeker.DocumentFile{ID: newID(), Extension: ".txt"},
		Size:      1,
		Form:      jobseeker.AsText,
		MediaType: "text/plain",
	}
	storeDocument(t, storage, document)
	require.Equal(t, []jobseeker.Document{document}, suite.get(t, storage, document.UserID, document.ID))

	// The old file is released at the time of the update.
	require.Empty(t, suite.released(t, storage, document.UpdatedAt.Add(-time.Microsecond)))
	require.Equal(t, []jobseeker.DocumentFile{oldFile}, suite.released(t, storage, document.UpdatedAt))

	// The file is the same.
	document.Title = "Same file"
	require.NoError(t, upsertDocument(storage, document))
	require.Equal(t, []jobseeker.Document{document}, suite.get(t, storage, document.UserID, document.ID))
}

// fileNotReserved checks that a document is stored only with a file that its owner has reserved, whose reservation
// has not ended, and that no other document has. Otherwise a user could read the file of another user.
func (suite documentSuite) fileNotReserved(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	stored := suite.add(t, storage, newID(), jobseeker.CV, notDefault, now)

	unreserved := newDocument(stored.UserID, jobseeker.CV, notDefault, now)
	expired := newDocument(stored.UserID, jobseeker.CV, notDefault, now)
	require.NoError(t, storage.DocumentFiles.Reserve(context.Background(), stored.UserID, expired.File,
		expired.UpdatedAt))

	reservedByOther := newDocument(stored.UserID, jobseeker.CV, notDefault, now)
	require.NoError(t, storage.DocumentFiles.Reserve(context.Background(), newID(), reservedByOther.File,
		now.Add(time.Hour)))

	usedByOther := newDocument(stored.UserID, jobseeker.CV, notDefault, now)
	usedByOther.File = stored.File

	updatedToUnreserved := stored
	updatedToUnreserved.File = jobseeker.DocumentFile{ID: newID()}

	for reason, document := range map[string]jobseeker.Document{
		"not reserved":                  unreserved,
		"reservation expired":           expired,
		"reserved by another user":      reservedByOther,
		"used by another document":      usedByOther,
		"not reserved before an update": updatedToUnreserved,
	} {
		require.Error(t, upsertDocument(storage, document), reason)
	}

	require.Equal(t, []jobseeker.Document{stored}, suite.get(t, storage, stored.UserID, ""))
}

// otherOwner checks that a document can be neither read, replaced nor deleted with the id of
// another user.
func (suite documentSuite) otherOwner(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	document := suite.add(t, storage, newID(), jobseeker.CV, notDefault, now)

	// Another user reserves a file, and then stores a document with the same id.
	stolen := newDocument(newID(), jobseeker.CV, notDefault, now)
	stolen.ID = document.ID
	require.NoError(t, storage.DocumentFiles.Reserve(context.Background(), stolen.UserID, stolen.File,
		now.Add(time.Hour)))
	require.Error(t, upsertDocument(storage, stolen))

	// The id of the user or of the document is another one.
	for _, other := range []struct{ user, id string }{
		{user: newID(), id: document.ID},
		{user: document.UserID, id: newID()},
	} {
		require.Empty(t, suite.get(t, storage, other.user, other.id))
		require.ErrorIs(t, storage.Documents.Delete(context.Background(), other.user, other.id, now),
			jobseeker.ErrDocumentNotFound)
	}

	require.Equal(t, []jobseeker.Document{document}, suite.get(t, storage, document.UserID, document.ID))
}

// delete checks that the file of a deleted document is released at the time that the caller of Delete states. A
// second deletion does not find the document.
func (suite documentSuite) delete(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	document := suite.add(t, storage, newID(), jobseeker.CV, notDefault, now)
	releasedAt := now.Add(time.Minute)

	require.NoError(t, storage.Documents.Delete(context.Background(), document.UserID, document.ID, releasedAt))
	require.ErrorIs(t, storage.Documents.Delete(context.Background(), document.UserID, document.ID, now),
		jobseeker.ErrDocumentNotFound)
	require.Empty(t, suite.released(t, storage, now))
	require.Equal(t, []jobseeker.DocumentFile{document.File}, suite.released(t, storage, releasedAt))
}

// pages checks that the pages contain the user's documents of all types, newest first.
func (suite documentSuite) pages(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	user := newID()
	oldest := suite.add(t, storage, user, jobseeker.CV, notDefault, now)
	middle := suite.add(t, storage, user, jobseeker.Certification, notDefault, now)
	newest := suite.add(t, storage, user, jobseeker.CV, notDefault, now)

	suite.add(t, storage, newID(), jobseeker.CV, notDefault, now) // of another user

	const pageSize = 2
	listed := listAllPages(t, pageSize, func(request page.Request) (page.Result[jobseeker.Document], error) {
		return storage.Documents.List(context.Background(), user, jobseeker.DocumentFilter{}, request)
	})
	require.Equal(t, []jobseeker.Document{newest, middle, oldest}, listed)
}

// oneDefaultOfAType checks that a user has at most one default of a type. A new default replaces the previous one of
// the same type. Defaults of other types and of other users stay.
func (suite documentSuite) oneDefaultOfAType(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	user := newID()
	firstCV := suite.add(t, storage, user, jobseeker.CV, asDefault, now)
	letter := suite.add(t, storage, user, jobseeker.CoverLetter, asDefault, now)
	ofOtherUser := suite.add(t, storage, newID(), jobseeker.CV, asDefault, now)
	secondCV := suite.add(t, storage, user, jobseeker.CV, asDefault, now)

	// requireDefaults requires that the given documents are defaults, and that the others are not.
	requireDefaults := func(defaults ...jobseeker.Document) {
		t.Helper()

		isDefault := map[string]bool{}
		for _, document := range defaults {
			isDefault[document.ID] = true
		}

		for _, document := range []jobseeker.Document{firstCV, secondCV, letter, ofOtherUser} {
			stored := suite.get(t, storage, document.UserID, document.ID)[0]
			require.Equal(t, isDefault[document.ID], stored.IsDefault)
		}
	}

	// The CV that is stored last is the default one.
	requireDefaults(secondCV, letter, ofOtherUser)
	require.NoError(t, upsertDocument(storage, firstCV))
	requireDefaults(firstCV, letter, ofOtherUser)

	// If it is no default any more, the user has no default CV.
	firstCV.IsDefault = notDefault
	require.NoError(t, upsertDocument(storage, firstCV))
	requireDefaults(letter, ofOtherUser)
}

// DocumentFiles checks the port jobseeker.DocumentFiles.
func DocumentFiles(t *testing.T, open JobseekerOpener) {
	ctx := context.Background()

	// claim claims at most n files that are released at the time now. The claim ends at the time until.
	claim := func(
		t *testing.T, storage adapters.JobseekerStorage, n int, now, until time.Time,
	) []jobseeker.DocumentFile {
		t.Helper()

		files, err := storage.DocumentFiles.Claim(ctx, n, now, until)
		require.NoError(t, err)

		return files
	}

	// A file that no document uses can be claimed from the end of its reservation on. Until the claim ends, no other
	// caller can claim the file. Afterwards another caller can, because the first one may have failed.
	t.Run("reservation expires", func(t *testing.T) {
		storage, now := openJobseeker(t, open)
		user := newID()
		file := jobseeker.DocumentFile{ID: newID(), Extension: ".pdf"}
		end := now.Add(time.Hour)
		require.NoError(t, storage.DocumentFiles.Reserve(ctx, user, file, end))
		require.Empty(t, claim(t, storage, 10, end.Add(-time.Microsecond), end), "the file is still reserved")

		// The first caller claims the file for a minute, but does not delete it. When the minute is over, another
		// caller claims the file.
		firstClaimEnd, secondClaimEnd := end.Add(time.Minute), end.Add(time.Hour)
		require.Equal(t, []jobseeker.DocumentFile{file}, claim(t, storage, 10, end, firstClaimEnd))
		require.Empty(t, claim(t, storage, 10, end, firstClaimEnd), "claimed by the first caller")
		require.Equal(t, []jobseeker.DocumentFile{file}, claim(t, storage, 10, firstClaimEnd, secondClaimEnd))

		// A deleted file is not claimed again, not even after the second claim.
		require.NoError(t, storage.DocumentFiles.Delete(ctx, []string{file.ID}))
		require.NoError(t, storage.DocumentFiles.Delete(ctx, nil), "nothing to delete")

		afterClaims := secondClaimEnd.Add(time.Hour)
		require.Empty(t, claim(t, storage, 10, afterClaims, afterClaims.Add(time.Hour)))
	})

	// A second reservation of a file replaces the end of the first one. The file of a stored document can be neither
	// claimed nor deleted, even if it is reserved again.
	t.Run("reserved again", func(t *testing.T) {
		storage, now := openJobseeker(t, open)
		document := newDocument(newID(), jobseeker.CV, notDefault, now)

		// The second reservation of the file ends at once.
		require.NoError(t, storage.DocumentFiles.Reserve(ctx, document.UserID, document.File, now.Add(time.Hour)))
		require.NoError(t, storage.DocumentFiles.Reserve(ctx, document.UserID, document.File, now))
		require.Equal(t, []jobseeker.DocumentFile{document.File}, claim(t, storage, 10, now, now.Add(time.Minute)))

		// The file of a document is reserved again, and then deleted by a caller of DocumentFiles.
		used := newDocument(document.UserID, jobseeker.CV, notDefault, now)
		storeDocument(t, storage, used)
		require.NoError(t, storage.DocumentFiles.Reserve(ctx, used.UserID, used.File, now))
		require.NoError(t, storage.DocumentFiles.Delete(ctx, []string{used.File.ID}))

		longAfter := now.Add(1_000 * time.Hour)
		require.NotContains(t, claim(t, storage, 10, longAfter, longAfter.Add(time.Hour)), used.File,
			"a document uses the file")
	})

	// The files whose reservations ended first are claimed first. Of four files, each call claims two.
	t.Run("claimed in order of release", func(t *testing.T) {
		storage, now := openJobseeker(t, open)
		reserve := func(endedAt time.Time) jobseeker.DocumentFile {
			file := jobseeker.DocumentFile{ID: newID()}
			require.NoError(t, storage.DocumentFiles.Reserve(ctx, newID(), file, endedAt))

			return file
		}
		fourth := reserve(now)
		third := reserve(now.Add(-time.Minute))
		second := reserve(now.Add(-2 * time.Minute))
		first := reserve(now.Add(-3 * time.Minute))

		claimEnd := now.Add(time.Hour)
		require.ElementsMatch(t, []jobseeker.DocumentFile{first, second}, claim(t, storage, 2, now, claimEnd))
		require.ElementsMatch(t, []jobseeker.DocumentFile{third, fourth}, claim(t, storage, 2, now, claimEnd))
	})

	// No two of twelve concurrent callers claim the same file. There are twelve files, and each caller asks for two
	// of them. A caller may get fewer than two. So a last call claims the files that remain.
	t.Run("claimed once, concurrently", func(t *testing.T) {
		storage, now := openJobseeker(t, open)
		const callers, files = 12, 12

		for range files {
			reservedUntil := now // ends at once
			require.NoError(t,
				storage.DocumentFiles.Reserve(ctx, newID(), jobseeker.DocumentFile{ID: newID()}, reservedUntil))
		}

		claimEnd := now.Add(time.Hour)

		claims := make([][]jobseeker.DocumentFile, callers)
		runConcurrently(t, callers, func(i int) (err error) {
			claims[i], err = storage.DocumentFiles.Claim(ctx, 2, now, claimEnd)
			return err
		})

		rest := claim(t, storage, files, now, claimEnd)
		requireEachOnce(t, files, append(slices.Concat(claims...), rest...))
	})
}
