package searchindex

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTombstones_KeepLatest checks that an index knows the versions of the documents that were deleted last: a change
// that arrives late does not create a document again if its version is not higher. covers reports whether the version of
// a change is covered by a deletion in this way. The index keeps at most maxTombstones deletions.
func TestTombstones_KeepLatest(t *testing.T) {
	t.Parallel()

	// Delete ten documents more than the maximum: the documents 0, 1, 2, …, each at the version of its number.
	const forgotten = 10

	var deleted tombstones
	for i := range maxTombstones + forgotten {
		deleted.add(fmt.Sprint(i), int64(i))
	}

	require.False(t, deleted.covers("9", 9), "one of the ten oldest deletions, which are forgotten")
	require.True(t, deleted.covers("10", 10), "the oldest deletion that is kept")
	require.False(t, deleted.covers("10", 11), "a later version")
	require.Len(t, deleted.list(), maxTombstones)

	// Document 10 has now the oldest tombstone. Deleting it again and deleting another document add two tombstones, so
	// that the two oldest ones are removed. The new tombstone of document 10 must remain.
	deleted.add("10", 99)
	deleted.add("new", 1)
	require.True(t, deleted.covers("10", 99))
}
