package searchindex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/listings/search"
)

// options returns the options of the tests for an index in the folder, or in memory if the folder is empty. A
// checkpoint stores the changes since the one before in files. The interval of checkpoints is so long that a test
// has only those that it makes itself.
func options(folder string) Options {
	return Options{
		Folder:             folder,
		Normalize:          strings.ToLower,
		Analyzer:           "analyzer 1",
		CheckpointInterval: time.Hour,
	}
}

// open opens an index and closes it when the test ends. A test may also close it earlier.
func open(t *testing.T, options Options) *Index {
	t.Helper()

	index, err := Open(options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, index.Close()) })

	return index
}

// put creates or replaces the documents with the numbers from, …, to-1 in one call of Apply. The position is the
// place in the feed of changes from which a caller continues after a restart; the index stores it with the documents.
// Each document has the keys "all" and "version:N", by which the tests count the documents of a version.
func put(t *testing.T, index *Index, version int64, from, to int, position string) {
	t.Helper()

	var changes []search.Change
	for i := from; i < to; i++ {
		changes = append(changes, search.Change{
			ID:      fmt.Sprintf("%05d", i),
			Version: version,
			Document: &search.Document{
				PostedAt:     time.Unix(int64(i), 0),
				Deadline:     time.Unix(1_000_000, 0),
				Keys:         []string{"all", fmt.Sprint("version:", version)},
				Title:        []string{"Senior", "nurse"},
				Body:         []string{"ward", fmt.Sprint(i % 100)},
				SortTitle:    fmt.Sprint(i % 10),
				SortLocation: "Leeds",
				Pay:          &search.PayRange{Min: int64(i), Max: int64(i), Currency: "GBP"},
				Point:        &search.Point{Lat: float64(i % 50)},
			},
		})
	}

	require.NoError(t, index.Apply(context.Background(), changes, position))
}

// total returns the number of documents that match the expression.
func total(t *testing.T, index *Index, expression search.Expr) int {
	t.Helper()

	beforeAllDeadlines := time.Unix(0, 0)
	found, err := index.Find(context.Background(), search.Query{Now: beforeAllDeadlines, Must: []search.Expr{expression}})
	require.NoError(t, err)

	return found.Total
}

// TestOpen_FolderInUse_IsRefused checks that two processes cannot write to one folder, and that the lock
// is free after Close.
func TestOpen_FolderInUse_IsRefused(t *testing.T) {
	t.Parallel()

	o := options(t.TempDir())
	index := open(t, o)
	_, err := Open(o)
	require.ErrorIs(t, err, ErrLocked)
	require.ErrorContains(t, err, o.Folder)
	require.NoError(t, index.Close())
	open(t, o) // fails the test if the folder is still locked
}

// TestOpen_FolderIsAFile_NamesIt checks that the error for a path that is a file and not a folder contains the path.
func TestOpen_FolderIsAFile_NamesIt(t *testing.T) {
	t.Parallel()

	o := options(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, os.WriteFile(o.Folder, nil, 0o600))

	_, err := Open(o)
	require.ErrorContains(t, err, o.Folder)
}

// TestOpen_FolderCannotBeWritten_NamesIt checks that Open itself fails, and not only the first checkpoint. The error
// names the folder, so that an operator can correct its permissions. A failed Open leaves the lock of the folder free.
func TestOpen_FolderCannotBeWritten_NamesIt(t *testing.T) {
	t.Parallel()

	if os.Geteuid() == 0 {
		t.Skip("root can write to any folder")
	}

	o := options(t.TempDir())
	index := open(t, o)
	put(t, index, 1, 0, 10, "one")
	require.NoError(t, index.Close())

	// Make the folder and its lock file read-only.
	require.NoError(t, os.Chmod(filepath.Join(o.Folder, lockFile), 0o400))
	require.NoError(t, os.Chmod(o.Folder, 0o500))

	_, err := Open(o)
	require.ErrorIs(t, err, fs.ErrPermission)
	require.ErrorContains(t, err, o.Folder)

	// With the permissions restored, the folder can be opened.
	require.NoError(t, os.Chmod(o.Folder, 0o700))
	require.NoError(t, os.Chmod(filepath.Join(o.Folder, lockFile), 0o600))
	open(t, o)
}

// TestOpen_OtherAnalyzer_IsOutdated checks that an index is not opened if another version of the analyzer has produced
// its words and keys: the queries of the present version would not match them.
func TestOpen_OtherAnalyzer_IsOutdated(t *testing.T) {
	t.Parallel()

	o := options(t.TempDir())
	index := open(t, o)
	put(t, index, 1, 0, 10, "one")
	require.NoError(t, index.Close())

	o.Analyzer = "analyzer 2"
	_, err := Open(o)
	require.ErrorIs(t, err, ErrOutdated)
}

// copyFolder copies the files of an open index to another folder, in the state in which a crash at this time would
// leave them.
func copyFolder(t *testing.T, from string) (to string) {
	to = t.TempDir()
	require.NoError(t, os.CopyFS(to, os.DirFS(from)))
	return to
}

// TestOpen_AfterCrash_HasLastCheckpoint checks what an index contains after a crash. The changes after the last
// checkpoint are lost as a whole, and so is their position: the caller applies them again. Open removes the files of
// an unfinished checkpoint.
func TestOpen_AfterCrash_HasLastCheckpoint(t *testing.T) {
	t.Parallel()

	o := options(t.TempDir())
	index := open(t, o)
	put(t, index, 1, 0, 100, "one")
	put(t, index, 2, 50, 60, "two")
	checkpoint(t, index)
	put(t, index, 3, 0, 200, "three") // is lost

	crashed := copyFolder(t, o.Folder)

	// A crash may also leave a file that was being written, and one that the manifest does not name yet.
	partial := filepath.Join(crashed, "00000099"+segmentSuffix+partialSuffix)
	unnamed := filepath.Join(crashed, "00000098"+segmentSuffix)

	require.NoError(t, os.WriteFile(partial, []byte("locum"), 0o600))
	require.NoError(t, os.WriteFile(unnamed, []byte("locum"), 0o600))

	reopened := open(t, options(crashed))
	require.Equal(t, "two", reopened.Position())
	require.Equal(t, 100, total(t, reopened, search.HasKey("all")))
	require.Equal(t, 10, total(t, reopened, search.HasKey("version:2")))
	require.NoFileExists(t, unnamed)
	require.NoFileExists(t, partial)

	// The caller applies the lost changes again.
	put(t, reopened, 3, 0, 200, "three")
	require.Equal(t, 200, total(t, reopened, search.HasKey("version:3")))
}

// checkpoint writes a checkpoint of the index.
func checkpoint(t *testing.T, index *Index) {
	t.Helper()
	index.maintaining.Lock()
	defer index.maintaining.Unlock()

	require.NoError(t, index.checkpoint())
}

// TestOpen_UnfinishedCheckpoint_HasOldState checks a checkpoint that was interrupted between its two steps: it writes
// the files of new segments, and then the manifest that names them. A segment that the manifest does not name is not
// part of the index. At the end, the test checks that Close stores the changes since the last checkpoint.
func TestOpen_UnfinishedCheckpoint_HasOldState(t *testing.T) {
	t.Parallel()

	o := options(t.TempDir())
	index := open(t, o)
	put(t, index, 1, 0, 100, "one")
	checkpoint(t, index)
	put(t, index, 2, 0, 10, "two")
	put(t, index, 2, 10, 20, "two")

	st, err := index.acquire()
	require.NoError(t, err)

	defer st.release()

	// Add each segment that is in memory only to a copy of the folder, without a manifest that names it.
	for _, p := range st.parts {
		isInMemory := p.image.file == ""
		if isInMemory {
			unfinished := copyFolder(t, o.Folder)
			require.NoError(t, os.WriteFile(filepath.Join(unfinished, "00000009"+segmentSuffix), p.image.bytes, 0o600))

			reopened := open(t, options(unfinished))
			require.Equal(t, "one", reopened.Position())
			require.Equal(t, 100, total(t, reopened, search.HasKey("version:1")))
		}
	}

	// Close stores the changes that no checkpoint has stored.
	require.NoError(t, index.Close())

	reopened := open(t, o)
	require.Equal(t, "two", reopened.Position())
	require.Equal(t, 20, total(t, reopened, search.HasKey("version:2")))
	require.Equal(t, 80, total(t, reopened, search.HasKey("version:1")))
}

// TestOpen_DamagedFile_IsRefused alters, cuts off and extends each file of an index, at a position in each part of the
// file. An index with such a file may not be opened. Its files are mapped into memory, where a damaged one would give
// wrong results or end the process.
func TestOpen_DamagedFile_IsRefused(t *testing.T) {
	t.Parallel()

	o := options(t.TempDir())
	index := open(t, o)
	// Store two segments: Compact merges the first documents into one, and Close adds another.
	put(t, index, 1, 0, 300, "one")
	put(t, index, 2, 0, 10, "two")
	require.NoError(t, index.Compact(context.Background()))
	put(t, index, 3, 10, 20, "three")
	require.NoError(t, index.Close())

	// requireRefused checks that a copy of the index is not opened if the file of this name has the other content.
	requireRefused := func(name string, content []byte, damage string) {
		t.Helper()

		folder := copyFolder(t, o.Folder)
		require.NoError(t, os.Remove(filepath.Join(folder, name)))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), content, 0o600))

		for range 2 { // the second time, the first failure must have released the lock
			opened, err := Open(options(folder))
			if err == nil {
				_ = opened.Close()
			}

			isRefused := errors.Is(err, ErrDamaged) || errors.Is(err, ErrForeign) || errors.Is(err, ErrOutdated)
			require.True(t, isRefused, "%s %s: %v", name, damage, err)
		}
	}

	files, err := filepath.Glob(filepath.Join(o.Folder, "*"+segmentSuffix))
	require.NoError(t, err)
	require.Len(t, files, 2)

	for _, file := range append(files, filepath.Join(o.Folder, manifestFile)) {
		good, err := os.ReadFile(file)
		require.NoError(t, err)

		name := filepath.Base(file)
		for _, position := range positions(t, name, good) {
			altered := slices.Clone(good)
			altered[position] ^= 0x10 // one bit
			requireRefused(name, altered, fmt.Sprint("altered at ", position))
			requireRefused(name, good[:position], fmt.Sprint("cut off at ", position))
		}

		extended := append(slices.Clone(good), make([]byte, 8)...)
		requireRefused(name, extended, "extended")
	}

	// An intact segment, but not the one that the manifest describes.
	other, err := os.ReadFile(files[1])
	require.NoError(t, err)
	requireRefused(filepath.Base(files[0]), other, "replaced by another segment")

	// A folder without one of its segments.
	folder := copyFolder(t, o.Folder)
	require.NoError(t, os.Remove(filepath.Join(folder, filepath.Base(files[0]))))

	_, err = Open(options(folder))
	require.ErrorIs(t, err, ErrDamaged)
}

// positions returns positions in every part of a file, at which a test damages it. In the manifest, these are the
// number of its format and the end of the header. A segment consists of sections, a table of their offsets, and a
// footer of numbers: the positions are both ends of each section, the last number of the table, and each number of
// the footer.
func positions(t *testing.T, name string, content []byte) []int {
	t.Helper()

	const inSignature = 3 // within the text that begins each file

	list := []int{0, inSignature, len(content) / 2, len(content) - 1}

	if name == manifestFile {
		endOfHeader := bytes.IndexByte(content, '\n')
		formatNumber := len("locum search index, format ")

		return append(list, endOfHeader, formatNumber)
	}

	table, err := readTable(&image{bytes: content})
	require.NoError(t, err)

	for _, section := range table {
		if section.Length > 0 {
			list = append(list, int(section.Offset), int(section.Offset+section.Length-1))
		}
	}

	const numberSize = 4

	footer := len(content) - footerSize
	for at := footer; at < len(content); at += numberSize {
		list = append(list, at)
	}

	const tableNumberSize = 8

	lastInTable := footer - tableNumberSize

	return append(list, lastInTable)
}

// TestOpen_UnknownManifest_IsOutdatedOrForeign checks the difference between an index of another version, which may
// be deleted and built again, and a file of another program, which may not.
func TestOpen_UnknownManifest_IsOutdatedOrForeign(t *testing.T) {
	t.Parallel()

	folder := t.TempDir()
	manifest := filepath.Join(folder, manifestFile)
	require.NoError(t, os.WriteFile(manifest, []byte("locum search index, format 99, checksum 00000000\n{}"), 0o600))

	_, err := Open(options(folder))
	require.ErrorIs(t, err, ErrOutdated)
	require.NoError(t, os.WriteFile(manifest, []byte("something else"), 0o600))

	_, err = Open(options(folder))
	require.ErrorIs(t, err, ErrForeign)
}

// TestMerge_KeepsLaterDeletions checks that documents that are replaced or deleted between the beginning and the end
// of a merge do not return with the merged segment. A merge writes the documents of several segments to one, while
// changes continue, and then replaces the segments by it.
func TestMerge_KeepsLaterDeletions(t *testing.T) {
	t.Parallel()

	index := open(t, options(""))
	put(t, index, 1, 0, 100, "one")
	put(t, index, 1, 100, 200, "two")

	st, err := index.acquire()
	require.NoError(t, err)

	// Begin a merge.
	merger := newMerger(st.parts)
	merged, err := index.writeMerged(context.Background(), merger)
	require.NoError(t, err)

	// Replace five of the 200 documents and delete one: a change without a document is a deletion.
	put(t, index, 2, 0, 5, "three")

	deletion := search.Change{ID: "00150", Version: 9}
	require.NoError(t, index.Apply(context.Background(), []search.Change{deletion}, "four"))

	// End the merge.
	index.replace(merger, merged)
	st.release()
	require.Equal(t, 199, total(t, index, search.HasKey("all")))
	require.Equal(t, 5, total(t, index, search.HasKey("version:2")))

	// Another merge removes the deleted documents.
	require.NoError(t, index.Compact(context.Background()))
	require.Equal(t, 199, total(t, index, search.HasKey("all")))
	require.Len(t, index.state.Load().parts, 1)
	require.Zero(t, index.state.Load().parts[0].deadCount)
}

// TestApply_ManyBatches_AreMerged checks that many small batches, each of which becomes a segment, are merged to few
// segments. When all documents of a segment are deleted, a merge removes the segment with its words.
func TestApply_ManyBatches_AreMerged(t *testing.T) {
	t.Parallel()

	index := open(t, options(t.TempDir()))
	for i := range 300 {
		put(t, index, 1, i, i+1, fmt.Sprint(i))
	}

	require.NoError(t, index.mergeAll(context.Background()))
	require.Less(t, len(index.state.Load().parts), 4*mergeCount) // mergeCount segments of similar size are merged to one
	require.Equal(t, 300, total(t, index, search.HasKey("all")))

	var deletions []search.Change
	for i := range 300 {
		deletions = append(deletions, search.Change{ID: fmt.Sprintf("%05d", i), Version: 2})
	}

	require.NoError(t, index.Apply(context.Background(), deletions, "deleted"))
	require.NoError(t, index.mergeAll(context.Background()))
	require.Empty(t, index.state.Load().parts)
	require.Zero(t, index.Frequency("nurse"), "a word of each title")
}

// TestApply_DuringLargeMerge_DoesNotWait checks Apply while the goroutine that merges segments is occupied by a large
// merge. Apply itself then keeps the number of segments at maxParts or less. It does not merge the segments that the
// large merge has claimed.
func TestApply_DuringLargeMerge_DoesNotWait(t *testing.T) {
	t.Parallel()

	index := open(t, options(t.TempDir()))
	put(t, index, 1, 0, minFileDocs, "large")

	// Do as a large merge does, which holds the mutex and claims its segments until it ends.
	index.maintaining.Lock()
	st, large, err := index.claim(slices.Clone[[]*part])
	require.NoError(t, err)

	for i := range 5 * maxParts {
		put(t, index, 2, i, i+1, fmt.Sprint(i))
		require.LessOrEqual(t, len(index.state.Load().parts), maxParts)
	}

	require.Contains(t, segments(index), large[0].segment)

	// End the merge.
	index.unclaim(large)
	st.release()
	index.maintaining.Unlock()
	require.Equal(t, 5*maxParts, total(t, index, search.HasKey("version:2")))
	require.Equal(t, minFileDocs, total(t, index, search.All()))
}

// segments returns the segments of the current state.
func segments(index *Index) (list []*segment) {
	for _, p := range index.state.Load().parts {
		list = append(list, p.segment)
	}

	return list
}

// TestClose_DuringApply_KeepsChanges checks that each change for which Apply returned without an error is stored,
// even if Close is called at the same time. Change i creates document i and has the position i, so that the position
// is the number of documents.
func TestClose_DuringApply_KeepsChanges(t *testing.T) {
	t.Parallel()

	o := options(t.TempDir())
	index := open(t, o)
	var writers sync.WaitGroup
	appliedMany := make(chan struct{})
	writers.Go(func() {
		for i := 1; ; i++ {
			if i == 100 {
				close(appliedMany)
			}

			change := search.Change{ID: fmt.Sprint(i), Version: 1, Document: &search.Document{Keys: []string{"all"}}}

			err := index.Apply(context.Background(), []search.Change{change}, fmt.Sprint(i))
			if err != nil {
				assert.ErrorIs(t, err, search.ErrIndexClosed)
				return
			}
		}
	})

	<-appliedMany
	require.NoError(t, index.Close())
	writers.Wait()

	index = open(t, o)
	storedDocs := total(t, index, search.HasKey("all"))
	require.Equal(t, index.Position(), fmt.Sprint(storedDocs))
}

// TestClose_DuringFind_WaitsForReaders checks that a mapped file remains mapped until the last reader of its state has
// finished. Reading a file that is no longer mapped would end the process. The test acquires the state as Find does.
func TestClose_DuringFind_WaitsForReaders(t *testing.T) {
	t.Parallel()

	o := options(t.TempDir())
	index := open(t, o)
	put(t, index, 1, 0, 100, "one")
	require.NoError(t, index.Close())

	index = open(t, o)
	st, err := index.acquire()
	require.NoError(t, err)
	require.NoError(t, index.Close())
	require.Equal(t, "00099", st.parts[0].ids.at(0), "the file is still mapped")
	st.release()
	require.Zero(t, st.parts[0].holders.Load(), "the last reader has released the file")

	_, err = index.acquire()
	require.ErrorIs(t, err, search.ErrIndexClosed)
}

// TestTombstones_KeepLatest checks that an index knows the versions of the documents that were deleted last: an older
// change that arrives late does not create a document again. covers reports whether a change is that old. The number
// of tombstones is limited to maxTombstones.
func TestTombstones_KeepLatest(t *testing.T) {
	t.Parallel()

	// Delete ten documents more than the maximum, each with its number as the version.
	var deleted tombstones
	for i := range maxTombstones + 10 {
		deleted.add(fmt.Sprint(i), int64(i))
	}

	require.False(t, deleted.covers("9", 9), "one of the ten oldest deletions, which are forgotten")
	require.True(t, deleted.covers("10", 10))
	require.False(t, deleted.covers("10", 11), "a later version")
	require.Len(t, deleted.list(), maxTombstones)

	// Document 10 has now the oldest tombstone. Deleting it again and deleting another document add two tombstones, so
	// that the two oldest ones are removed. The new tombstone of document 10 must remain.
	deleted.add("10", 99)
	deleted.add("new", 1)
	require.True(t, deleted.covers("10", 99))
}

// TestMerge_FolderCannotBeWritten_IsNotRetriedAtEachChange checks that a merge that fails, as with a full disk, is
// retried after a pause of at least minMergePause. A retry with each change would occupy the disk and the log.
func TestMerge_FolderCannotBeWritten_IsNotRetriedAtEachChange(t *testing.T) {
	t.Parallel()

	o := options(t.TempDir() + "/index")
	failures := &failureLog{}
	o.Log = slog.New(failures)
	index, err := Open(o)
	require.NoError(t, err)

	// Make each merge write a file, and let it fail by deleting the folder.
	index.fileDocs = 1

	require.NoError(t, os.RemoveAll(o.Folder))

	// Start a merge in the background, by as many changes as it needs, and wait until it has failed.
	for i := range mergeCount {
		put(t, index, 1, i, i+1, "position")
	}

	require.Eventually(t, func() bool { return failures.count.Load() > 0 }, 30*time.Second, time.Millisecond)

	firstFailure := time.Now()

	// Make more changes, with time for a retry after each.
	for i := range 20 {
		put(t, index, 2, i, i+1, "position")
		time.Sleep(10 * time.Millisecond)
	}

	maxRetries := int64(time.Since(firstFailure) / minMergePause)
	require.LessOrEqual(t, failures.count.Load(), 1+maxRetries)
	require.Error(t, index.Close(), "Close cannot store the changes")
}

// failureLog is a log handler that counts the records: each failed merge is one.
type failureLog struct {
	slog.Handler
	count atomic.Int64
}

func (*failureLog) Enabled(context.Context, slog.Level) bool { return true }

func (l *failureLog) Handle(context.Context, slog.Record) error {
	l.count.Add(1)
	return nil
}
