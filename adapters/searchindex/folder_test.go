package searchindex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/listings/search"
)

// inMemory is the folder of an index without files.
const inMemory = ""

// options returns the options of the tests for an index in the folder, or inMemory. A checkpoint stores the changes
// since the one before in files. The interval of checkpoints is so long that a test has only those that it makes itself.
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

// docRange is one version of the documents with the numbers from, …, to-1.
type docRange struct {
	version  int64
	from, to int
}

// documentID returns the id of the document with the number.
func documentID(number int) string { return fmt.Sprintf("%05d", number) }

// put creates or replaces the documents in one call of Apply. The position is the place in the feed of changes from
// which a caller continues after a restart; the index stores it with the documents. Each document has the keys "all" and
// "version:N", by which the tests count the documents of a version.
func put(t *testing.T, index *Index, docs docRange, position string) {
	t.Helper()

	var changes []search.Change
	for i := docs.from; i < docs.to; i++ {
		changes = append(changes, search.Change{
			ID:      documentID(i),
			Version: docs.version,
			Document: &search.Document{
				PostedAt:     time.Unix(int64(i), 0),
				Deadline:     time.Unix(1_000_000, 0), // after the times at which the tests search
				Keys:         []string{"all", fmt.Sprint("version:", docs.version)},
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
	put(t, index, docRange{version: 1, from: 0, to: 10}, "one")
	require.NoError(t, index.Close())

	const (
		readOnlyFile, writableFile     = 0o400, 0o600
		readOnlyFolder, writableFolder = 0o500, 0o700
	)

	lock := filepath.Join(o.Folder, lockFile)
	require.NoError(t, os.Chmod(lock, readOnlyFile))
	require.NoError(t, os.Chmod(o.Folder, readOnlyFolder))

	_, err := Open(o)
	require.ErrorIs(t, err, fs.ErrPermission)
	require.ErrorContains(t, err, o.Folder)

	// With the permissions restored, the folder can be opened.
	require.NoError(t, os.Chmod(o.Folder, writableFolder))
	require.NoError(t, os.Chmod(lock, writableFile))
	open(t, o)
}

// TestOpen_OtherAnalyzer_IsOutdated checks that an index is not opened if another version of the analyzer has produced
// its words and keys: the queries of the present version would not match them.
func TestOpen_OtherAnalyzer_IsOutdated(t *testing.T) {
	t.Parallel()

	o := options(t.TempDir())
	index := open(t, o)
	put(t, index, docRange{version: 1, from: 0, to: 10}, "one")
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
	put(t, index, docRange{version: 1, from: 0, to: 100}, "one")
	put(t, index, docRange{version: 2, from: 50, to: 60}, "two")
	checkpoint(t, index)
	put(t, index, docRange{version: 3, from: 0, to: 200}, "three") // is lost

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
	put(t, reopened, docRange{version: 3, from: 0, to: 200}, "three")
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
	put(t, index, docRange{version: 1, from: 0, to: 100}, "one")
	checkpoint(t, index)
	put(t, index, docRange{version: 2, from: 0, to: 10}, "two")
	put(t, index, docRange{version: 2, from: 10, to: 20}, "two")

	readState, err := index.acquire()
	require.NoError(t, err)

	defer readState.release()

	// Add each segment that is in memory only to a copy of the folder, without a manifest that names it.
	for _, p := range readState.parts {
		isInMemory := p.image.file == ""
		if isInMemory {
			unfinished := copyFolder(t, o.Folder)

			const unusedName = "00000009" + segmentSuffix

			require.NoError(t, os.WriteFile(filepath.Join(unfinished, unusedName), p.image.bytes, 0o600))

			reopened := open(t, options(unfinished))
			require.Equal(t, "one", reopened.Position(), "the position of the checkpoint")
			require.Equal(t, 100, total(t, reopened, search.HasKey("version:1")), "the documents of the checkpoint")
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
	put(t, index, docRange{version: 1, from: 0, to: 300}, "one")
	put(t, index, docRange{version: 2, from: 0, to: 10}, "two")
	require.NoError(t, index.Compact(context.Background()))
	put(t, index, docRange{version: 3, from: 10, to: 20}, "three")
	require.NoError(t, index.Close())

	// requireRefused checks that a copy of the index is not opened if the file of this name has the other content.
	// The description of the damage is for the message of a failure.
	requireRefused := func(name string, content []byte, damage string) {
		t.Helper()

		folder := copyFolder(t, o.Folder)
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
		intact, err := os.ReadFile(file)
		require.NoError(t, err)

		const oneBit = 0x10 // any of the eight bits of a byte

		name := filepath.Base(file)
		for _, position := range damagePositions(t, name, intact) {
			altered := slices.Clone(intact)
			altered[position] ^= oneBit
			requireRefused(name, altered, fmt.Sprint("altered at ", position))
			requireRefused(name, intact[:position], fmt.Sprint("cut off at ", position))
		}

		eightZeros := make([]byte, 8)
		requireRefused(name, slices.Concat(intact, eightZeros), "extended")
	}

	// Replace a segment by the other one, which is intact, but not the one that the manifest describes.
	firstSegment := filepath.Base(files[0])
	otherContent, err := os.ReadFile(files[1])
	require.NoError(t, err)
	requireRefused(firstSegment, otherContent, "replaced by another segment")

	// Remove a segment.
	folder := copyFolder(t, o.Folder)
	require.NoError(t, os.Remove(filepath.Join(folder, firstSegment)))

	_, err = Open(options(folder))
	require.ErrorIs(t, err, ErrDamaged)
}

// damagePositions returns positions in every part of a file, at which a test damages it. In the manifest, these are the
// number of its format and the end of the header. A segment consists of sections, a table of their offsets, and a
// footer of numbers: the positions are both ends of each section, the last number of the table, and each number of
// the footer.
func damagePositions(t *testing.T, name string, content []byte) []int {
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

	const ofAnotherVersion = "locum search index, format 99, checksum 00000000\n{}"

	require.NoError(t, os.WriteFile(manifest, []byte(ofAnotherVersion), 0o600))

	_, err := Open(options(folder))
	require.ErrorIs(t, err, ErrOutdated)

	const ofAnotherProgram = "something else"

	require.NoError(t, os.WriteFile(manifest, []byte(ofAnotherProgram), 0o600))

	_, err = Open(options(folder))
	require.ErrorIs(t, err, ErrForeign)
}

// TestClose_DuringApply_KeepsChanges checks that each change for which Apply returned without an error is stored,
// even if Close is called at the same time. Change i creates document i and has the position i, so that the position
// is the number of documents.
func TestClose_DuringApply_KeepsChanges(t *testing.T) {
	t.Parallel()

	o := options(t.TempDir())
	index := open(t, o)

	// Apply changes until the index is closed.
	const manyChanges = 100

	var writer sync.WaitGroup
	appliedMany := make(chan struct{})
	writer.Go(func() {
		for i := 1; ; i++ {
			if i == manyChanges {
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

	// Close the index meanwhile.
	<-appliedMany
	require.NoError(t, index.Close())
	writer.Wait()

	// The documents and the position are those of the same change.
	reopened := open(t, o)
	storedDocs := total(t, reopened, search.HasKey("all"))
	require.Equal(t, fmt.Sprint(storedDocs), reopened.Position())
}

// TestClose_DuringFind_WaitsForReaders checks that a mapped file remains mapped until the last reader of its state has
// finished. Reading a file that is no longer mapped would end the process. The test acquires the state as Find does.
func TestClose_DuringFind_WaitsForReaders(t *testing.T) {
	t.Parallel()

	// Store an index with one segment. Opening it again maps the file of the segment.
	o := options(t.TempDir())
	index := open(t, o)
	put(t, index, docRange{version: 1, from: 0, to: 100}, "one")
	require.NoError(t, index.Close())

	index = open(t, o)
	readState, err := index.acquire()
	require.NoError(t, err)

	onlyPart := readState.parts[0]

	// Close the index while the state is read.
	require.NoError(t, index.Close())

	newestID := onlyPart.ids.at(0) // documents are stored from the newest, the one with the highest number, to the oldest
	require.Equal(t, documentID(99), newestID, "the file is still mapped")

	readState.release()
	require.Zero(t, onlyPart.holders.Load(), "the last reader has released the file")

	_, err = index.acquire()
	require.ErrorIs(t, err, search.ErrIndexClosed)
}
