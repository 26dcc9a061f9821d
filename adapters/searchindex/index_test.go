package searchindex_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/searchindex"
	"github.com/locumhq/locum/modules/listings/search"
	"github.com/locumhq/locum/test/conformance"
)

// TestBatch_Conformance runs the suite for everything that evaluates many queries on a few documents.
func TestBatch_Conformance(t *testing.T) {
	t.Parallel()
	conformance.SearchMatcher(t, func(t testing.TB, docs []*search.Document, normalize func(string) string) search.Matcher {
		batch, err := searchindex.NewBatch(docs, normalize)
		require.NoError(t, err)

		return batch
	})
}

// TestIndex_Conformance runs the suites for indexes in memory and in a folder. The interval of checkpoints is so
// short that many of them happen during the suites.
func TestIndex_Conformance(t *testing.T) {
	t.Parallel()

	const inFolder = true

	open := func(isInFolder bool) conformance.SearchIndexOpener {
		return func(t testing.TB, folder string, normalize func(string) string) search.Index {
			if !isInFolder {
				folder = "" // in memory
			}

			index, err := searchindex.Open(searchindex.Options{
				Folder:             folder,
				Normalize:          normalize,
				CheckpointInterval: 20 * time.Millisecond,
			})
			require.NoError(t, err)

			return index
		}
	}

	t.Run("memory", func(t *testing.T) { conformance.SearchIndex(t, open(!inFolder)) })
	t.Run("folder", func(t *testing.T) { conformance.SearchIndex(t, open(inFolder)) })

	t.Run("storage", func(t *testing.T) {
		t.Parallel()
		conformance.SearchIndexStorage(t, open(inFolder))
	})
}
