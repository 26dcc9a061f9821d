//go:build unix

package searchindex

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/listings/search"
)

// killedDocs is the number of documents that each batch of a child process replaces.
const killedDocs = 200

// The environment variables that make the tests of this file child processes, which write to the named folder.
const (
	killedFolder = "LOCUM_TEST_KILLED_FOLDER"
	fullFolder   = "LOCUM_TEST_FULL_FOLDER"
)

// TestOpen_AfterKill_IsConsistent kills a process that replaces all documents of an index again and again and merges
// them to files. After each kill, the index must have all documents of one batch, and its position must be that of
// the same batch. The process is this test in a child process; an environment variable makes it run
// replaceUntilKilled.
func TestOpen_AfterKill_IsConsistent(t *testing.T) {
	if folder := os.Getenv(killedFolder); folder != "" {
		replaceUntilKilled(t, folder)
		return
	}

	folder := t.TempDir()

	const kills = 8

	position := "" // of the index after the last kill
	for range kills {
		// Start a process and kill it at a random time, usually within a checkpoint or a merge. Each process starts with
		// the index that the one before has left.
		child := exec.Command(os.Args[0], "-test.run", "^TestOpen_AfterKill_IsConsistent$")
		child.Env = append(os.Environ(), killedFolder+"="+folder)
		require.NoError(t, child.Start())
		time.Sleep(100*time.Millisecond + rand.N(200*time.Millisecond))
		require.NoError(t, child.Process.Kill())

		_ = child.Wait() // its error is that the process was killed

		index, err := Open(options(folder))
		require.NoError(t, err)

		// The position is the version of the documents, or empty if the process was killed before the first checkpoint.
		position = index.Position()

		wantDocs := killedDocs
		if position == "" {
			wantDocs = 0
		}

		require.Equal(t, wantDocs, total(t, index, search.HasKey("version:"+position)), "documents of the batch at %q", position)
		require.Equal(t, wantDocs, total(t, index, search.All()), "all documents at %q", position)
		require.NoError(t, index.Close())
	}

	require.NotEmpty(t, position, "at least one process has written a checkpoint")
}

// TestCheckpoint_DiskFull_KeepsOldState limits the size of the files that a child process can write, which
// has the effect of a full disk. While it cannot write, the index of the child process finds its documents in memory,
// and the files keep the last complete state. When it can write again, all changes are stored.
func TestCheckpoint_DiskFull_KeepsOldState(t *testing.T) {
	if folder := os.Getenv(fullFolder); folder != "" {
		fillFolder(t, folder)
		return
	}

	o := options(t.TempDir())
	child := exec.Command(os.Args[0], "-test.run", "^TestCheckpoint_DiskFull_KeepsOldState$")
	child.Env = append(os.Environ(), fullFolder+"="+o.Folder)
	output, err := child.CombinedOutput()
	require.NoError(t, err, "%s", output)

	unfinishedFiles, err := filepath.Glob(filepath.Join(o.Folder, "*"+partialSuffix))
	require.NoError(t, err)
	require.Empty(t, unfinishedFiles)

	index := open(t, o)
	require.Equal(t, "three", index.Position())
	require.Equal(t, killedDocs, total(t, index, search.HasKey("version:3")))
}

// fillFolder is the child process of TestCheckpoint_DiskFull_KeepsOldState. It stores version 1 of the documents,
// fails to store version 2, and stores version 3 when the limit is removed. put, in folder_test.go, applies the
// version of a range of documents to the index and sets its position.
func fillFolder(t *testing.T, folder string) {
	signal.Ignore(syscall.SIGXFSZ) // the signal would end the process; without it, writing fails with EFBIG

	index, err := Open(options(folder))
	require.NoError(t, err)

	checkpoint := func() error {
		index.maintaining.Lock()
		defer index.maintaining.Unlock()
		return index.checkpoint()
	}

	// Store version 1.
	put(t, index, docRange{version: 1, from: 0, to: 10}, "one")
	require.NoError(t, checkpoint())

	stored, err := os.ReadFile(filepath.Join(folder, manifestFile))
	require.NoError(t, err)

	// Limit the size of files, so that neither a checkpoint nor a merge can write version 2.
	var unlimited syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &unlimited))

	const maxFileSize = 1024 // bytes, less than the files of version 2

	limited := syscall.Rlimit{Cur: maxFileSize, Max: unlimited.Max}
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limited))

	// Fail to store version 2, by a checkpoint and by a merge. fileDocs is the number of documents from which a merge
	// writes a file.
	index.fileDocs = killedDocs
	put(t, index, docRange{version: 2, from: 0, to: killedDocs / 2}, "one")
	put(t, index, docRange{version: 2, from: killedDocs / 2, to: killedDocs}, "two")
	require.ErrorIs(t, checkpoint(), syscall.EFBIG)
	require.ErrorIs(t, index.Compact(context.Background()), syscall.EFBIG)
	require.Equal(t, killedDocs, total(t, index, search.HasKey("version:2")), "found in memory")

	storedAfterFailure, err := os.ReadFile(filepath.Join(folder, manifestFile))
	require.NoError(t, err)
	require.Equal(t, stored, storedAfterFailure, "the manifest of version 1 remains")

	// Without the limit, version 3 is stored.
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &unlimited))
	put(t, index, docRange{version: 3, from: 0, to: killedDocs}, "three")
	require.NoError(t, index.Compact(context.Background()))
	require.NoError(t, index.Close())
}

// replaceUntilKilled is the child process of TestOpen_AfterKill_IsConsistent. It continues with the version after
// the position of the index. It ends itself after 10 seconds in case that the test cannot kill it.
func replaceUntilKilled(t *testing.T, folder string) {
	o := options(folder)
	o.CheckpointInterval = time.Millisecond
	index, err := Open(o)
	require.NoError(t, err)

	version, _ := strconv.Atoi(index.Position()) // 0 for the empty position of a new index
	version++

	index.fileDocs = killedDocs // the number of documents from which a merge writes a file

	const maxLife = 10 * time.Second

	for start := time.Now(); time.Since(start) < maxLife; version++ {
		put(t, index, docRange{version: int64(version), from: 0, to: killedDocs}, strconv.Itoa(version))
		require.NoError(t, index.mergeAll(context.Background()))
	}
}
