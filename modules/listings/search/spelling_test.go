package search

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSpelling_Within_StopsAtTheLimit checks that a query of many misspelt words does not take long: each
// unknown word is compared with thousands of others, so that only the first ones are corrected.
func TestSpelling_Within_StopsAtTheLimit(t *testing.T) {
	t.Parallel()

	parser := *testParser(t)
	parser.Words = parser.Words.Within(t.Context())

	query := strings.Repeat("receptonist ", 3*maxCorrected)
	require.Len(t, parser.Parse(query).Corrections, maxCorrected)
}

// TestSpelling_Within_StopsWithTheContext checks that a cancelled request is not corrected further.
func TestSpelling_Within_StopsWithTheContext(t *testing.T) {
	t.Parallel()

	parser := *testParser(t)
	ctx, cancel := context.WithCancel(t.Context())
	parser.Words = parser.Words.Within(ctx)
	require.Len(t, parser.Parse("receptonist ").Corrections, 1)

	cancel()
	require.Empty(t, parser.Parse("receptonist heath visitor ").Corrections)
}
