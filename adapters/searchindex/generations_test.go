package searchindex

// The tests of this file open a folder with generations of an index. A generation is an index in a numbered subfolder,
// which replaces the generation before it. A build of a generation applies all documents first and stores its position
// in the feed of changes last: a generation without a position is incomplete. The helpers options, put and total are
// in folder_test.go.

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/listings/search"
)

// noPosition is the position of an incomplete generation.
const noPosition = ""

// newGeneration stores an index with one document and this position in the next numbered subfolder. The generation is
// incomplete if its position is noPosition.
func newGeneration(t *testing.T, folder, position string) {
	t.Helper()

	index, err := OpenNext(options(folder))
	require.NoError(t, err)
	put(t, index, docRange{version: 1, from: 0, to: 1}, position)
	require.NoError(t, index.Close())
}

// openNewest opens the newest complete index of the folder until the test ends.
func openNewest(t *testing.T, folder string) *Index {
	t.Helper()

	index, err := OpenNewest(options(folder))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, index.Close()) })

	return index
}

// entriesOf returns the names of the files and folders in a folder, in alphabetical order.
func entriesOf(t *testing.T, folder string) (names []string) {
	t.Helper()

	entries, err := os.ReadDir(folder)
	require.NoError(t, err)

	for _, e := range entries {
		names = append(names, e.Name())
	}

	return names
}

// TestOpenNewest_NoFolder_CreatesTheFirst checks the first start: the folder and an empty index in its
// subfolder "1" are created.
func TestOpenNewest_NoFolder_CreatesTheFirst(t *testing.T) {
	t.Parallel()

	folder := filepath.Join(t.TempDir(), "search")
	index := openNewest(t, folder)
	require.Empty(t, index.Position())
	require.Equal(t, []string{"1"}, entriesOf(t, folder))
}

// TestOpenNewest_SeveralComplete_OpensTheNewestAndDeletesTheOthers checks the start after a build of a new
// index. A folder whose name is not a number is no index and remains.
func TestOpenNewest_SeveralComplete_OpensTheNewestAndDeletesTheOthers(t *testing.T) {
	t.Parallel()

	folder := t.TempDir()
	newGeneration(t, folder, "a")
	newGeneration(t, folder, "b")
	require.NoError(t, os.Mkdir(filepath.Join(folder, "notes"), 0o700))

	index := openNewest(t, folder)
	require.Equal(t, "b", index.Position())
	require.Equal(t, []string{"2", "notes"}, entriesOf(t, folder))
}

// TestOpenNewest_WithoutPosition_OpensTheOneBefore checks that an interrupted build does not replace the complete
// index before it.
func TestOpenNewest_WithoutPosition_OpensTheOneBefore(t *testing.T) {
	t.Parallel()

	folder := t.TempDir()
	newGeneration(t, folder, "a")
	newGeneration(t, folder, noPosition) // a build that was interrupted

	index := openNewest(t, folder)
	require.Equal(t, "a", index.Position())
	require.Equal(t, 1, total(t, index, search.All()))
	require.Equal(t, []string{"1"}, entriesOf(t, folder))
}

// TestOpenNewest_OnlyWithoutPosition_IsEmpty checks that an interrupted first build is discarded, and an
// empty index created instead.
func TestOpenNewest_OnlyWithoutPosition_IsEmpty(t *testing.T) {
	t.Parallel()

	folder := t.TempDir()
	newGeneration(t, folder, noPosition)

	index := openNewest(t, folder)
	require.Empty(t, index.Position())
	require.Zero(t, total(t, index, search.All()))
	require.Len(t, entriesOf(t, folder), 1)
}

// TestOpenNewest_ForeignFolder_IsLeftAlone checks that a numbered folder with files of another program is
// neither opened nor deleted, and that its number is not used again.
func TestOpenNewest_ForeignFolder_IsLeftAlone(t *testing.T) {
	t.Parallel()

	folder := t.TempDir()
	newGeneration(t, folder, "a")

	foreign := filepath.Join(folder, "2")
	require.NoError(t, os.Mkdir(foreign, 0o700))

	const foreignManifest = "a manifest of something else\n"
	require.NoError(t, os.WriteFile(filepath.Join(foreign, manifestFile), []byte(foreignManifest), 0o600))

	index := openNewest(t, folder)
	require.Equal(t, "a", index.Position())

	text, err := os.ReadFile(filepath.Join(foreign, manifestFile))
	require.NoError(t, err)
	require.Equal(t, foreignManifest, string(text))

	// The next generation has the number 3. Discarding it deletes its folder and leaves the others.
	next, err := OpenNext(options(folder))
	require.NoError(t, err)
	require.NoError(t, next.Discard())
	require.Equal(t, []string{"1", "2"}, entriesOf(t, folder))
}

// TestOpenNewest_OtherAnalyzer_IsDeleted checks the start after an upgrade whose analyzer produces other words and
// keys: the old index is deleted, and an empty one is created in its place. The caller of OpenNewest then builds the
// index from the database.
func TestOpenNewest_OtherAnalyzer_IsDeleted(t *testing.T) {
	t.Parallel()

	folder := t.TempDir()
	newGeneration(t, folder, "a")

	o := options(folder)
	o.Analyzer = "analyzer 2"
	index, err := OpenNewest(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, index.Close()) })
	require.Empty(t, index.Position())
	require.Equal(t, []string{"1"}, entriesOf(t, folder))
}

// TestOpenNewest_InUse_IsRefused checks that an index that another process has open is reported as locked. It must not
// be taken for damaged, since OpenNewest deletes damaged indexes.
func TestOpenNewest_InUse_IsRefused(t *testing.T) {
	t.Parallel()

	folder := t.TempDir()
	newGeneration(t, folder, "a")
	openNewest(t, folder)

	_, err := OpenNewest(options(folder))
	require.ErrorIs(t, err, ErrLocked)
}
