package searchindex

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/listings/search"
)

// The tests of this file merge segments, the immutable parts of an index. Each call of Apply adds a segment. A merge
// writes the documents of several segments to a new one, while changes continue, and then replaces the segments by it.
// A change cannot modify a segment: replaced and deleted documents are marked as dead until a merge leaves them out. The
// helpers options, open, put and total are in folder_test.go.

// TestMerge_KeepsLaterDeletions checks that documents that are replaced or deleted between the beginning and the end
// of a merge do not return with the merged segment.
func TestMerge_KeepsLaterDeletions(t *testing.T) {
	t.Parallel()

	// Store two segments of 100 documents.
	index := open(t, options(inMemory))
	put(t, index, docRange{version: 1, from: 0, to: 100}, "one")
	put(t, index, docRange{version: 1, from: 100, to: 200}, "two")

	// Begin a merge of the two segments.
	readState, err := index.acquire()
	require.NoError(t, err)

	merger := newMerger(readState.parts)
	merged, err := index.writeMerged(context.Background(), merger)
	require.NoError(t, err)

	// Replace five of the 200 documents and delete one: a change without a document is a deletion.
	put(t, index, docRange{version: 2, from: 0, to: 5}, "three")

	deletion := search.Change{ID: documentID(150), Version: 2}
	require.NoError(t, index.Apply(context.Background(), []search.Change{deletion}, "four"))

	// End the merge.
	index.replace(merger, merged)
	readState.release()
	require.Equal(t, 199, total(t, index, search.HasKey("all")))
	require.Equal(t, 5, total(t, index, search.HasKey("version:2")))

	// Another merge removes the dead documents.
	require.NoError(t, index.Compact(context.Background()))
	require.Equal(t, 199, total(t, index, search.HasKey("all")))

	parts := index.state.Load().parts
	require.Len(t, parts, 1)
	require.Zero(t, parts[0].deadCount)
}

// TestApply_ManyBatches_AreMerged checks that many small batches, each of which becomes a segment, are merged to few
// segments. When all documents of a segment are deleted, a merge removes the segment with its words.
func TestApply_ManyBatches_AreMerged(t *testing.T) {
	t.Parallel()

	const batches = 300 // of one document each

	index := open(t, options(t.TempDir()))
	for i := range batches {
		put(t, index, docRange{version: 1, from: i, to: i + 1}, fmt.Sprint(i))
	}

	// mergeCount segments of similar size are merged to one. So less than mergeCount segments of each size remain. The
	// sizes are powers of mergeCount: of 300 documents, there are three.
	require.NoError(t, index.mergeAll(context.Background()))
	require.Less(t, len(index.state.Load().parts), 4*mergeCount)
	require.Equal(t, batches, total(t, index, search.HasKey("all")))

	// Delete all documents.
	var deletions []search.Change
	for i := range batches {
		deletions = append(deletions, search.Change{ID: documentID(i), Version: 2})
	}

	require.NoError(t, index.Apply(context.Background(), deletions, "deleted"))
	require.NoError(t, index.mergeAll(context.Background()))
	require.Empty(t, index.state.Load().parts)

	const wordOfEachTitle = "nurse"

	require.Zero(t, index.Frequency(wordOfEachTitle))
}

// TestApply_DuringLargeMerge_DoesNotWait checks Apply while the goroutine that merges segments is occupied by a large
// merge. Apply itself then keeps the number of segments at maxParts or less. It does not merge the segments that the
// large merge has claimed.
func TestApply_DuringLargeMerge_DoesNotWait(t *testing.T) {
	t.Parallel()

	const changes = 5 * maxParts

	index := open(t, options(t.TempDir()))
	put(t, index, docRange{version: 1, from: 0, to: minFileDocs}, "large")

	// Do as a large merge does, which holds the mutex and claims its segments until it ends. It merges all segments.
	allParts := slices.Clone[[]*part]

	index.maintaining.Lock()
	readState, claimed, err := index.claim(allParts)
	require.NoError(t, err)

	// Replace documents one by one. Each change adds a segment.
	for i := range changes {
		put(t, index, docRange{version: 2, from: i, to: i + 1}, fmt.Sprint(i))
		require.LessOrEqual(t, len(index.state.Load().parts), maxParts, "after change %d", i)
	}

	require.Contains(t, segments(index), claimed[0].segment, "the segment of the large merge is not merged")

	// End the large merge.
	index.unclaim(claimed)
	readState.release()
	index.maintaining.Unlock()
	require.Equal(t, changes, total(t, index, search.HasKey("version:2")))
	require.Equal(t, minFileDocs, total(t, index, search.All()))
}

// segments returns the segments of the current state.
func segments(index *Index) (list []*segment) {
	for _, p := range index.state.Load().parts {
		list = append(list, p.segment)
	}

	return list
}

// TestMerge_FolderCannotBeWritten_IsNotRetriedAtEachChange checks that a merge that fails, as with a full disk, is
// retried after a pause of minMergePause. A retry with each change would occupy the disk and the log. Time is simulated
// in this test: it only passes in Sleep. Wait returns when the goroutine that merges segments has nothing to do until
// the next change or the end of its pause.
func TestMerge_FolderCannotBeWritten_IsNotRetriedAtEachChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := options(t.TempDir() + "/index")
		failures := &failureLog{}
		o.Log = slog.New(failures)
		index, err := Open(o)
		require.NoError(t, err)
		t.Cleanup(func() { _ = index.Close() }) // after a failed check, too

		// Make each merge write a file, and let it fail by deleting the folder.
		index.fileDocs = 1

		require.NoError(t, os.RemoveAll(o.Folder))

		// Start a merge in the background, by as many changes as it needs, and wait until it has failed.
		for i := range mergeCount {
			put(t, index, docRange{version: 1, from: i, to: i + 1}, "position")
		}

		synctest.Wait()
		require.EqualValues(t, 1, failures.count.Load())

		// More changes do not start the merge again.
		for i := range 20 {
			put(t, index, docRange{version: 2, from: i, to: i + 1}, "position")
			synctest.Wait()
			require.EqualValues(t, 1, failures.count.Load(), "after change %d", i)
		}

		// The end of the pause does. The time is that of synctest, which passes at once.
		time.Sleep(minMergePause)
		synctest.Wait()
		require.EqualValues(t, 2, failures.count.Load())

		require.Error(t, index.Close(), "Close cannot store the changes")
	})
}

// failureLog is a log handler that counts the records: each failed merge is one.
type failureLog struct {
	slog.Handler
	count atomic.Int64
}

// Enabled makes the log pass records of each level to Handle.
func (*failureLog) Enabled(context.Context, slog.Level) bool { return true }

// Handle counts the record.
func (l *failureLog) Handle(context.Context, slog.Record) error {
	l.count.Add(1)
	return nil
}
