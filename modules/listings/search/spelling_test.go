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

	p := *testParser(t)
	p.Words = p.Words.Within(t.Context())
	require.Len(t, p.Parse(strings.Repeat("receptonist ", 3*maxCorrected)).Corrections, maxCorrected)
}

// TestSpelling_Within_StopsWithTheContext checks that a cancelled request is not corrected further.
func TestSpelling_Within_StopsWithTheContext(t *testing.T) {
	t.Parallel()

	p := *testParser(t)
	ctx, cancel := context.WithCancel(t.Context())
	p.Words = p.Words.Within(ctx)
	require.Len(t, p.Parse("receptonist ").Corrections, 1)
	cancel()
	require.Empty(t, p.Parse("receptonist heath visitor ").Corrections)
}
