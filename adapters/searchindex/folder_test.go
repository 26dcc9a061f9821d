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
		Folder: folder, Normalize: strings.ToLower, Analyzer: "analyzer 1", CheckpointInterval: time.Hour,
	}
}

// open opens an index until the test ends.
func open(t *testing.T, o Options) *Index {
	x, err := Open(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.Close()) })
	return x
}

// put creates or replaces the documents from, …, to-1. Each of them has the keys "all" and
// "version:N", by which the tests count the documents of a version.
func put(t *testing.T, index *Index, version int64, from, to int, position string) {
	var changes []search.Change
	for i := from; i < to; i++ {
		changes = append(changes, search.Change{
			ID:      fmt.Sprintf("%05d", i),
			Version: version,
			Document: &search.Document{
				PostedAt: time.Unix(int64(i), 0),
				Deadline: time.Unix(1_000_000, 0),
				Keys:     []string{"all", fmt.Sprint("version:", version)},
				Title: []string{
					"Senior",
					"nurse",
				},
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
func total(t *testing.T, x *Index, e search.Expr) int {
	r, err := x.Find(context.Background(), search.Query{Now: time.Unix(0, 0), Must: []search.Expr{e}})
	require.NoError(t, err)
	return r.Total
}

// TestOpen_FolderInUse_IsRefused checks that two processes cannot write to one folder, and that the lock
// is free after Close.
func TestOpen_FolderInUse_IsRefused(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	x := open(t, o)
	_, err := Open(o)
	require.ErrorIs(t, err, ErrLocked)
	require.ErrorContains(t, err, o.Folder)
	require.NoError(t, x.Close())
	open(t, o)
}

// TestOpen_FolderCannotBeWritten_NamesIt checks that the error at the start names the folder, so that an
// operator can correct it, and does not wait for the first checkpoint. The lock remains free.
func TestOpen_FolderCannotBeWritten_NamesIt(t *testing.T) {
	t.Parallel()
	o := options(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, os.WriteFile(o.Folder, nil, 0o600))
	_, err := Open(o)
	require.ErrorContains(t, err, o.Folder)
	if os.Geteuid() == 0 {
		return // root can write to any folder
	}
	o = options(t.TempDir())
	x := open(t, o)
	put(t, x, 1, 0, 10, "one")
	require.NoError(t, x.Close())
	require.NoError(t, os.Chmod(filepath.Join(o.Folder, lockFile), 0o400))
	require.NoError(t, os.Chmod(o.Folder, 0o500))
	_, err = Open(o)
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
	x := open(t, o)
	put(t, x, 1, 0, 10, "one")
	require.NoError(t, x.Close())

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
	index.maintaining.Lock()
	require.NoError(t, index.checkpoint())
	index.maintaining.Unlock()
	put(t, index, 3, 0, 200, "three")

	crashed := copyFolder(t, o.Folder)
	// A file that was being written, and one that was not named yet.
	require.NoError(t, os.WriteFile(filepath.Join(crashed, "00000099.segment"+partialSuffix), []byte("locum"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(crashed, "00000098.segment"), []byte("locum"), 0o600))
	y := open(t, options(crashed))
	require.Equal(t, "two", y.Position())
	require.Equal(t, 100, total(t, y, search.HasKey("all")))
	require.Equal(t, 10, total(t, y, search.HasKey("version:2")))
	require.NoFileExists(t, filepath.Join(crashed, "00000098.segment"))
	require.NoFileExists(t, filepath.Join(crashed, "00000099.segment"+partialSuffix))
	put(t, y, 3, 0, 200, "three")
	require.Equal(t, 200, total(t, y, search.HasKey("version:3")))
}

// TestOpen_UnfinishedCheckpoint_HasOldState stops a checkpoint before the manifest
// is written.
func TestOpen_UnfinishedCheckpoint_HasOldState(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	index := open(t, o)
	put(t, index, 1, 0, 100, "one")
	index.maintaining.Lock()
	require.NoError(t, index.checkpoint())
	index.maintaining.Unlock()
	put(t, index, 2, 0, 10, "two")
	put(t, index, 2, 10, 20, "two")

	st, err := index.acquire()
	require.NoError(t, err)
	defer st.release()
	for _, p := range st.parts {
		if p.image.file == "" {
			before := copyFolder(t, o.Folder)
			require.NoError(t, os.WriteFile(filepath.Join(before, "00000009.segment"), p.image.bytes, 0o600))
			y := open(t, options(before))
			require.Equal(t, "one", y.Position())
			require.Equal(t, 100, total(t, y, search.HasKey("version:1")))
		}
	}
	require.NoError(t, index.Close())
	y := open(t, o)
	require.Equal(t, "two", y.Position())
	require.Equal(t, 20, total(t, y, search.HasKey("version:2")))
	require.Equal(t, 80, total(t, y, search.HasKey("version:1")))
}

// TestOpen_DamagedFile_IsRefused alters, cuts off and extends each file at a position in each of its
// parts. None of them may be opened: a damaged mapped file would give wrong results or end the process.
func TestOpen_DamagedFile_IsRefused(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	x := open(t, o)
	put(t, x, 1, 0, 300, "one")
	put(t, x, 2, 0, 10, "two")
	require.NoError(t, x.Compact(context.Background()))
	put(t, x, 3, 10, 20, "three")
	require.NoError(t, x.Close())

	refused := func(t *testing.T, name string, content []byte, condition string, args ...any) {
		folder := copyFolder(t, o.Folder)
		require.NoError(t, os.Remove(filepath.Join(folder, name)))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), content, 0o600))
		for range 2 { // the lock is free again
			y, err := Open(options(folder))
			if err == nil {
				_ = y.Close()
			}
			require.True(t,
				errors.Is(err, ErrDamaged) || errors.Is(err, ErrForeign) || errors.Is(err, ErrOutdated),
				"%s: %v", fmt.Sprintf(condition, args...), err)
		}
	}
	files, err := filepath.Glob(filepath.Join(o.Folder, "*"+segmentSuffix))
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, file := range append(files, filepath.Join(o.Folder, manifestFile)) {
		good, err := os.ReadFile(file)
		require.NoError(t, err)
		name := filepath.Base(file)
		for _, at := range positions(t, name, good) {
			bad := append([]byte(nil), good...)
			bad[at] ^= 0x10 // one bit
			refused(t, name, bad, "%s altered at %d", name, at)
			refused(t, name, good[:at], "%s cut off at %d", name, at)
		}
		refused(t, name, append(append([]byte(nil), good...), make([]byte, 8)...), "%s extended", name)
	}
	// A whole image, but not that of the manifest.
	other, err := os.ReadFile(files[1])
	require.NoError(t, err)
	refused(t, filepath.Base(files[0]), other, "images exchanged")
	folder := copyFolder(t, o.Folder)
	require.NoError(t, os.Remove(filepath.Join(folder, filepath.Base(files[0]))))
	_, err = Open(options(folder))
	require.ErrorIs(t, err, ErrDamaged)
}

// positions returns a position in every part of a file.
func positions(t *testing.T, name string, content []byte) []int {
	list := []int{0, 3, len(content) / 2, len(content) - 1}
	if name == manifestFile {
		return append(list, bytes.IndexByte(content, '\n'), len("locum search index, format "))
	}
	im := &image{bytes: content}
	table, err := readTable(im)
	require.NoError(t, err)
	for _, e := range table {
		if e.Length > 0 {
			list = append(list, int(e.Offset), int(e.Offset+e.Length-1))
		}
	}
	for at := len(content) - footerSize; at < len(content); at += 4 {
		list = append(list, at)
	}
	return append(list, len(content)-footerSize-8) // in the table
}

// TestOpen_UnknownFormat_IsOutdated checks the difference between an index of another version, which may
// be deleted and built again, and a file of another program, which may not.
func TestOpen_UnknownFormat_IsOutdated(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(
		t,
		os.WriteFile(filepath.Join(folder, manifestFile), []byte("locum search index, format 99, checksum 00000000\n{}"), 0o600),
	)
	_, err := Open(options(folder))
	require.ErrorIs(t, err, ErrOutdated)
	require.NoError(t, os.WriteFile(filepath.Join(folder, manifestFile), []byte("something else"), 0o600))
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
	m := newMerger(st.parts)
	result, err := index.writeMerged(context.Background(), m)
	require.NoError(t, err)
	put(t, index, 2, 0, 5, "three")
	require.NoError(t, index.Apply(context.Background(), []search.Change{{ID: "00150", Version: 9}}, "four"))
	index.replace(m, result)
	st.release()
	require.Equal(t, 199, total(t, index, search.HasKey("all")))
	require.Equal(t, 5, total(t, index, search.HasKey("version:2")))
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
	var all []search.Change
	for i := range 300 {
		all = append(all, search.Change{ID: fmt.Sprintf("%05d", i), Version: 2})
	}
	require.NoError(t, index.Apply(context.Background(), all, "deleted"))
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
	index.maintaining.Lock() // as a large merge does
	st, large, err := index.claim(slices.Clone[[]*part])
	require.NoError(t, err)
	for i := range 5 * maxParts {
		put(t, index, 2, i, i+1, fmt.Sprint(i))
		require.LessOrEqual(t, len(index.state.Load().parts), maxParts)
	}
	require.Contains(t, segments(index), large[0].segment)
	index.unclaim(large)
	st.release()
	index.maintaining.Unlock()
	require.Equal(t, 5*maxParts, total(t, index, search.HasKey("version:2")))
	require.Equal(t, minFileDocs, total(t, index, search.All()))
}

// segments returns the segments of the current state.
func segments(x *Index) (list []*segment) {
	for _, p := range x.state.Load().parts {
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
	applied := make(chan struct{})
	writers.Go(func() {
		for i := 1; ; i++ {
			if i == 100 {
				close(applied)
			}
			err := index.Apply(
				context.Background(),
				[]search.Change{{ID: fmt.Sprint(i), Version: 1, Document: &search.Document{Keys: []string{"all"}}}},
				fmt.Sprint(i),
			)
			if err != nil {
				assert.ErrorIs(t, err, search.ErrIndexClosed)
				return
			}
		}
	})
	<-applied
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
	require.Equal(t, "00099", st.parts[0].ids.at(0)) // still mapped
	st.release()
	require.Zero(t, st.parts[0].holders.Load())
	_, err = index.acquire()
	require.ErrorIs(t, err, search.ErrIndexClosed)
}

// TestTombstones_KeepLatest checks that the versions of the documents deleted last are known, so that an
// older change that arrives late does not create a document again, and that their number is limited.
func TestTombstones_KeepLatest(t *testing.T) {
	t.Parallel()
	var list tombstones
	for i := range maxTombstones + 10 {
		list.add(fmt.Sprint(i), int64(i))
	}
	require.False(t, list.covers("9", 9))
	require.True(t, list.covers("10", 10))
	require.False(t, list.covers("10", 11))
	require.Len(t, list.list(), maxTombstones)

	list.add("10", 99) // the first entry of "10" is void
	list.add("new", 1)
	require.True(t, list.covers("10", 99))
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
	index.fileDocs = 1
	require.NoError(t, os.RemoveAll(o.Folder))
	for i := range mergeCount {
		put(t, index, 1, i, i+1, "position")
	}
	require.Eventually(t, func() bool { return failures.count.Load() > 0 }, 30*time.Second, time.Millisecond)
	first := time.Now()
	for i := range 20 {
		put(t, index, 2, i, i+1, "position")
		time.Sleep(10 * time.Millisecond) // for maintain to take notice
	}
	require.LessOrEqual(t, failures.count.Load(), 1+int64(time.Since(first)/minMergePause))
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
