package search

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSpelling_Within_StopsAtTheLimit checks that a query of many misspelt words does not take long. Each
// unknown word is compared with thousands of others, so that only the first words, up to maxCorrected, are
// corrected. Within sets this limit for one request.
func TestSpelling_Within_StopsAtTheLimit(t *testing.T) {
	t.Parallel()

	parser := *testParser(t)
	parser.Words = parser.Words.Within(t.Context())

	query := strings.Repeat("receptonist ", 3*maxCorrected)
	require.Len(t, parser.Parse(query).Corrections, maxCorrected)
}

// TestSpelling_Within_StopsWithTheContext checks that words are no longer corrected after the context of
// their request was cancelled.
func TestSpelling_Within_StopsWithTheContext(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())
	parser := *testParser(t)
	parser.Words = parser.Words.Within(ctx)
	require.Len(t, parser.Parse("receptonist ").Corrections, 1)

	cancel()
	require.Empty(t, parser.Parse("receptonist heath visitor ").Corrections, "neither of the two misspelt words")
}
