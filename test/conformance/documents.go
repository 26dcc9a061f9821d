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
// A reservation ends at the time that the caller states. From then on the file can be claimed: the caller of
// Claim deletes it, and no other caller gets it until the claim ends as well.

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
	suite := documentSuite{open}
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

// released returns the files that can be deleted at the given time. It claims them for the shortest possible time.
func (suite documentSuite) released(
	t *testing.T, storage adapters.JobseekerStorage, at time.Time,
) []jobseeker.DocumentFile {
	t.Helper()

	files, err := storage.DocumentFiles.Claim(context.Background(), 10, at, at.Add(time.Microsecond))
	require.NoError(t, err)

	return files
}

// createAndUpdate checks that a document replaces its file by another reserved one, whereupon
// the old file is released, and that an update with the same file needs no reservation.
func (suite documentSuite) createAndUpdate(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	document := suite.add(t, storage, newID(), jobseeker.CV, true, now)
	require.Equal(t, []jobseeker.Document{document}, suite.get(t, storage, document.UserID, document.ID))

	// An update with other values in all fields.
	oldFile := document.File
	document.Title = "T"
	document.FileName = ""
	document.IsDefault = false
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

	document.Title = "Same file"
	require.NoError(t, upsertDocument(storage, document))
	require.Equal(t, []jobseeker.Document{document}, suite.get(t, storage, document.UserID, document.ID))
}

// fileNotReserved checks that a document is stored only with a file that its owner has reserved,
// whose reservation has not ended, and that no other document has. Otherwise a user could read
// the file of another one.
func (suite documentSuite) fileNotReserved(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	stored := suite.add(t, storage, newID(), jobseeker.CV, false, now)

	unreserved := newDocument(stored.UserID, jobseeker.CV, false, now)
	expired := newDocument(stored.UserID, jobseeker.CV, false, now)
	require.NoError(t, storage.DocumentFiles.Reserve(context.Background(), stored.UserID, expired.File,
		expired.UpdatedAt))

	reservedByOther := newDocument(stored.UserID, jobseeker.CV, false, now)
	require.NoError(t, storage.DocumentFiles.Reserve(context.Background(), newID(), reservedByOther.File,
		now.Add(time.Hour)))

	used := newDocument(stored.UserID, jobseeker.CV, false, now)
	used.File = stored.File

	updated := stored
	updated.File = jobseeker.DocumentFile{ID: newID()}

	for _, document := range []jobseeker.Document{unreserved, expired, reservedByOther, used, updated} {
		require.Error(t, upsertDocument(storage, document))
	}

	require.Equal(t, []jobseeker.Document{stored}, suite.get(t, storage, stored.UserID, ""))
}

// otherOwner checks that a document can be neither read, replaced nor deleted with the id of
// another user.
func (suite documentSuite) otherOwner(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	document := suite.add(t, storage, newID(), jobseeker.CV, false, now)
	stolen := newDocument(newID(), jobseeker.CV, false, now)
	stolen.ID = document.ID
	require.NoError(t, storage.DocumentFiles.Reserve(context.Background(), stolen.UserID, stolen.File,
		now.Add(time.Hour)))
	require.Error(t, upsertDocument(storage, stolen))

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

// delete checks that the file of a deleted document is released at the given time.
func (suite documentSuite) delete(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	document := suite.add(t, storage, newID(), jobseeker.CV, false, now)
	releasedAt := now.Add(time.Minute)
	require.NoError(t, storage.Documents.Delete(context.Background(), document.UserID, document.ID, releasedAt))
	require.ErrorIs(t, storage.Documents.Delete(context.Background(), document.UserID, document.ID, now),
		jobseeker.ErrDocumentNotFound)
	require.Empty(t, suite.released(t, storage, now))
	require.Equal(t, []jobseeker.DocumentFile{document.File}, suite.released(t, storage, releasedAt))
}

// pages checks that pages of two contain the user's documents of all types, newest first.
func (suite documentSuite) pages(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	user := newID()

	var want []jobseeker.Document
	for _, kind := range []jobseeker.DocumentType{jobseeker.CV, jobseeker.Certification, jobseeker.CV} {
		want = append([]jobseeker.Document{suite.add(t, storage, user, kind, false, now)}, want...)
	}

	suite.add(t, storage, newID(), jobseeker.CV, false, now) // of another user

	listed := listAllPages(t, 2, func(request page.Request) (page.Result[jobseeker.Document], error) {
		return storage.Documents.List(context.Background(), user, jobseeker.DocumentFilter{}, request)
	})
	require.Equal(t, want, listed)
}

// oneDefaultOfAType checks that a new default replaces the user's previous default of the same
// type only.
func (suite documentSuite) oneDefaultOfAType(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	user := newID()
	first := suite.add(t, storage, user, jobseeker.CV, true, now)
	letter := suite.add(t, storage, user, jobseeker.CoverLetter, true, now)
	foreign := suite.add(t, storage, newID(), jobseeker.CV, true, now)
	second := suite.add(t, storage, user, jobseeker.CV, true, now)

	// requireDefaults requires that these documents are defaults, and the others are not.
	requireDefaults := func(defaults ...jobseeker.Document) {
		t.Helper()

		isDefault := map[string]bool{}
		for _, document := range defaults {
			isDefault[document.ID] = true
		}

		for _, document := range []jobseeker.Document{first, second, letter, foreign} {
			stored := suite.get(t, storage, document.UserID, document.ID)[0]
			require.Equal(t, isDefault[document.ID], stored.IsDefault)
		}
	}

	requireDefaults(second, letter, foreign)
	require.NoError(t, upsertDocument(storage, first))
	requireDefaults(first, letter, foreign)

	first.IsDefault = false
	require.NoError(t, upsertDocument(storage, first))
	requireDefaults(letter, foreign)
}

// DocumentFiles checks the port jobseeker.DocumentFiles.
func DocumentFiles(t *testing.T, open JobseekerOpener) {
	ctx := context.Background()

	// claim claims at most n files that can be deleted at the time now, until the second time.
	claim := func(
		t *testing.T, storage adapters.JobseekerStorage, n int, now, until time.Time,
	) []jobseeker.DocumentFile {
		t.Helper()

		files, err := storage.DocumentFiles.Claim(ctx, n, now, until)
		require.NoError(t, err)

		return files
	}

	// A file that no document has used can be claimed when its reservation ends, so that it can
	// be deleted. A claim hides it from other callers, but only for a minute: the caller may
	// have failed.
	t.Run("reservation expires", func(t *testing.T) {
		storage, now := openJobseeker(t, open)
		user := newID()
		file := jobseeker.DocumentFile{ID: newID(), Extension: ".pdf"}
		end := now.Add(time.Hour)
		require.NoError(t, storage.DocumentFiles.Reserve(ctx, user, file, end))
		require.Empty(t, claim(t, storage, 10, end.Add(-time.Microsecond), end), "still reserved")

		// The first claim, of a minute, ends without a deletion.
		require.Equal(t, []jobseeker.DocumentFile{file}, claim(t, storage, 10, end, end.Add(time.Minute)))
		require.Empty(t, claim(t, storage, 10, end, end.Add(time.Minute)), "claimed by another caller")
		require.Equal(t, []jobseeker.DocumentFile{file},
			claim(t, storage, 10, end.Add(time.Minute), end.Add(time.Hour)))

		// A deleted file is not claimed again.
		require.NoError(t, storage.DocumentFiles.Delete(ctx, []string{file.ID}))
		require.NoError(t, storage.DocumentFiles.Delete(ctx, nil), "nothing to delete")
		require.Empty(t, claim(t, storage, 10, end.Add(2*time.Hour), end.Add(3*time.Hour)))
	})

	// A later call can shorten a reservation. The file of a stored document can be neither claimed
	// nor deleted, even if it is reserved again.
	t.Run("reserved again", func(t *testing.T) {
		storage, now := openJobseeker(t, open)
		document := newDocument(newID(), jobseeker.CV, false, now)
		require.NoError(t, storage.DocumentFiles.Reserve(ctx, document.UserID, document.File, now.Add(time.Hour)))
		require.NoError(t, storage.DocumentFiles.Reserve(ctx, document.UserID, document.File, now))
		require.Equal(t, []jobseeker.DocumentFile{document.File}, claim(t, storage, 10, now, now.Add(time.Minute)))

		used := newDocument(document.UserID, jobseeker.CV, false, now)
		storeDocument(t, storage, used)
		require.NoError(t, storage.DocumentFiles.Reserve(ctx, used.UserID, used.File, now))
		require.NoError(t, storage.DocumentFiles.Delete(ctx, []string{used.File.ID}))
		require.NotContains(t, claim(t, storage, 10, now.Add(1_000*time.Hour), now.Add(2_000*time.Hour)), used.File,
			"the file of a document")
	})

	// The files whose reservations ended first are claimed first.
	t.Run("claimed in order of release", func(t *testing.T) {
		storage, now := openJobseeker(t, open)

		var files []jobseeker.DocumentFile
		for i := range 4 {
			files = append(files, jobseeker.DocumentFile{ID: newID()})
			endedAt := now.Add(-time.Duration(i) * time.Minute) // the last file's reservation ended first
			require.NoError(t, storage.DocumentFiles.Reserve(ctx, newID(), files[i], endedAt))
		}

		require.ElementsMatch(t, files[2:], claim(t, storage, 2, now, now.Add(time.Hour)))
		require.ElementsMatch(t, files[:2], claim(t, storage, 2, now, now.Add(time.Hour)))
	})

	// Twelve concurrent callers ask for two of twelve files each. They may get fewer, so a last claim
	// returns the rest. Each file is returned once.
	t.Run("claimed once, concurrently", func(t *testing.T) {
		storage, now := openJobseeker(t, open)
		const callers, files = 12, 12

		for range files {
			require.NoError(t, storage.DocumentFiles.Reserve(ctx, newID(), jobseeker.DocumentFile{ID: newID()}, now))
		}

		claims := make([][]jobseeker.DocumentFile, callers)
		runConcurrently(t, callers, func(i int) (err error) {
			claims[i], err = storage.DocumentFiles.Claim(ctx, 2, now, now.Add(time.Hour))
			return err
		})

		rest := claim(t, storage, 100, now, now.Add(time.Hour))
		requireEachOnce(t, files, append(slices.Concat(claims...), rest...))
	})
}
