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

// options returns the options of the tests. The interval is so long that no test runs into a checkpoint
// that it does not make itself.
func options(folder string) Options {
	return Options{
		Folder:             folder,
		Normalize:          strings.ToLower,
		Analyzer:           "analyzer 1",
		CheckpointInterval: time.Hour,
	}
}

// open opens an index until the test ends.
func open(t *testing.T, options Options) *Index {
	t.Helper()

	index, err := Open(options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, index.Close()) })

	return index
}

// put creates or replaces the documents from, …, to-1 as one change of the feed, which ends at the
// position. Each document has the keys "all" and "version:N", by which the tests count the
// documents of a version.
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
	open(t, o)
}

func TestOpen_FolderIsAFile_NamesIt(t *testing.T) {
	t.Parallel()

	o := options(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, os.WriteFile(o.Folder, nil, 0o600))

	_, err := Open(o)
	require.ErrorContains(t, err, o.Folder)
}

// TestOpen_FolderCannotBeWritten_NamesIt checks that the error at the start names the folder, so that an
// operator can correct it, and does not wait for the first checkpoint. The lock remains free.
func TestOpen_FolderCannotBeWritten_NamesIt(t *testing.T) {
	t.Parallel()

	if os.Geteuid() == 0 {
		t.Skip("root can write to any folder")
	}

	o := options(t.TempDir())
	index := open(t, o)
	put(t, index, 1, 0, 10, "one")
	require.NoError(t, index.Close())
	require.NoError(t, os.Chmod(filepath.Join(o.Folder, lockFile), 0o400))
	require.NoError(t, os.Chmod(o.Folder, 0o500))

	_, err := Open(o)
	require.ErrorIs(t, err, fs.ErrPermission)
	require.ErrorContains(t, err, o.Folder)
	require.NoError(t, os.Chmod(o.Folder, 0o700))
	require.NoError(t, os.Chmod(filepath.Join(o.Folder, lockFile), 0o600))
	open(t, o)
}

// TestOpen_OtherAnalyzer_IsOutdated checks that an index with words and keys of another version is not
// searched with the queries of this one.
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

// copyFolder copies the files of a running index as a crash would leave them.
func copyFolder(t *testing.T, from string) (to string) {
	to = t.TempDir()
	require.NoError(t, os.CopyFS(to, os.DirFS(from)))
	return to
}

// TestOpen_AfterCrash_HasLastCheckpoint checks that the changes after the last checkpoint are lost as a
// whole, with their position, so that the caller applies them again, and that files of an unfinished
// checkpoint are removed.
func TestOpen_AfterCrash_HasLastCheckpoint(t *testing.T) {
	t.Parallel()

	o := options(t.TempDir())
	index := open(t, o)
	put(t, index, 1, 0, 100, "one")
	put(t, index, 2, 50, 60, "two")
	checkpoint(t, index)
	put(t, index, 3, 0, 200, "three")

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

// TestOpen_UnfinishedCheckpoint_HasOldState checks that a segment of a checkpoint that ended before the
// manifest was written is not part of the index, and that Close stores what the checkpoint did not.
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

// TestOpen_DamagedFile_IsRefused alters, cuts off and extends each file at a position in each of its
// parts. None of them may be opened: a damaged mapped file would give wrong results or end the process.
func TestOpen_DamagedFile_IsRefused(t *testing.T) {
	t.Parallel()

	o := options(t.TempDir())
	index := open(t, o)
	put(t, index, 1, 0, 300, "one")
	put(t, index, 2, 0, 10, "two")
	require.NoError(t, index.Compact(context.Background()))
	put(t, index, 3, 10, 20, "three")
	require.NoError(t, index.Close())

	// requireRefused checks that the index is not opened if the file has another content.
	requireRefused := func(name string, content []byte, damage string) {
		t.Helper()

		folder := copyFolder(t, o.Folder)
		require.NoError(t, os.Remove(filepath.Join(folder, name)))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), content, 0o600))

		for range 2 { // the second time, the lock must be free again
			opened, err := Open(options(folder))
			if err == nil {
				_ = opened.Close()
			}

			require.True(t,
				errors.Is(err, ErrDamaged) || errors.Is(err, ErrForeign) || errors.Is(err, ErrOutdated),
				"%s %s: %v", name, damage, err)
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

	// A whole image, but not that of the manifest.
	other, err := os.ReadFile(files[1])
	require.NoError(t, err)
	requireRefused(filepath.Base(files[0]), other, "replaced by another segment")

	folder := copyFolder(t, o.Folder)
	require.NoError(t, os.Remove(filepath.Join(folder, filepath.Base(files[0]))))

	_, err = Open(options(folder))
	require.ErrorIs(t, err, ErrDamaged)
}

// positions returns positions in every part of a file: of the manifest, the end of its header and the number of its
// format, and of a segment, both ends of each section, each number at the end, and the table before them.
func positions(t *testing.T, name string, content []byte) []int {
	t.Helper()

	list := []int{0, 3, len(content) / 2, len(content) - 1}
	if name == manifestFile {
		return append(list, bytes.IndexByte(content, '\n'), len("locum search index, format "))
	}

	im := &image{bytes: content}
	table, err := readTable(im)
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

	inTable := footer - 8 // the last number of the table

	return append(list, inTable)
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

// TestMerge_KeepsLaterDeletions checks that documents that are replaced or deleted between the beginning
// and the end of a merge do not return with the merged segment.
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

	// Replace five documents and delete one before the merge ends.
	put(t, index, 2, 0, 5, "three")
	require.NoError(t, index.Apply(context.Background(), []search.Change{{ID: "00150", Version: 9}}, "four"))
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

// TestApply_ManyBatches_AreMerged checks that many small batches do not remain many segments, and that
// segments whose documents are all deleted are removed, with their words.
func TestApply_ManyBatches_AreMerged(t *testing.T) {
	t.Parallel()

	index := open(t, options(t.TempDir()))
	for i := range 300 {
		put(t, index, 1, i, i+1, fmt.Sprint(i))
	}

	require.NoError(t, index.mergeAll(context.Background()))
	require.Less(t, len(index.state.Load().parts), 4*mergeCount)
	require.Equal(t, 300, total(t, index, search.HasKey("all")))

	var deletions []search.Change
	for i := range 300 {
		deletions = append(deletions, search.Change{ID: fmt.Sprintf("%05d", i), Version: 2})
	}

	require.NoError(t, index.Apply(context.Background(), deletions, "deleted"))
	require.NoError(t, index.mergeAll(context.Background()))
	require.Empty(t, index.state.Load().parts)
	require.Zero(t, index.Frequency("nurse"))
}

// TestApply_DuringLargeMerge_DoesNotWait checks that Apply limits the number of segments itself while the
// background is occupied, and that it leaves those that are being merged to the merge.
func TestApply_DuringLargeMerge_DoesNotWait(t *testing.T) {
	t.Parallel()

	index := open(t, options(t.TempDir()))
	put(t, index, 1, 0, minFileDocs, "large")

	// Occupy the background like a large merge, which holds the mutex and its segments until it ends.
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

// TestClose_DuringApply_KeepsChanges checks that each change for which Apply returned without an error is
// stored. Change i creates document i, so that the position is the number of documents.
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
	require.Equal(t, index.Position(), fmt.Sprint(total(t, index, search.HasKey("all"))))
}

// TestClose_DuringFind_WaitsForReaders checks that a mapped file remains mapped until the last reader of
// its state has finished: reading it later would end the process.
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
	require.Zero(t, st.parts[0].holders.Load())

	_, err = index.acquire()
	require.ErrorIs(t, err, search.ErrIndexClosed)
}

// TestTombstones_KeepLatest checks that the versions of the documents deleted last are known, so that an
// older change that arrives late does not create a document again, and that their number is limited.
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

	// Deleting document 10 again adds an entry, so that the oldest one, its own, is removed. Its new version stays.
	deleted.add("10", 99)
	deleted.add("new", 1)
	require.True(t, deleted.covers("10", 99))
}

// TestMerge_FolderCannotBeWritten_IsNotRetriedAtEachChange checks that a merge that fails, as with a full
// disk, is retried after a pause and not with each change: it would occupy the disk and the log.
func TestMerge_FolderCannotBeWritten_IsNotRetriedAtEachChange(t *testing.T) {
	t.Parallel()

	o := options(t.TempDir() + "/index")
	failures := &failureLog{}
	o.Log = slog.New(failures)
	index, err := Open(o)
	require.NoError(t, err)

	index.fileDocs = 1 // so that each merge writes a file

	require.NoError(t, os.RemoveAll(o.Folder))

	for i := range mergeCount {
		put(t, index, 1, i, i+1, "position")
	}

	require.Eventually(t, func() bool { return failures.count.Load() > 0 }, 30*time.Second, time.Millisecond)

	firstFailure := time.Now()

	for i := range 20 {
		put(t, index, 2, i, i+1, "position")
		time.Sleep(10 * time.Millisecond) // the background would now retry the merge if it did not pause
	}

	require.LessOrEqual(t, failures.count.Load(), 1+int64(time.Since(firstFailure)/minMergePause))
	require.Error(t, index.Close())
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
