package search

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSpelling_Within_StopsAtTheLimit(t *testing.T) {
	t.Parallel()
	p := *testParser(t)
	p.Words = p.Words.Within(t.Context())
	require.Len(t, p.Parse(strings.Repeat("receptonist ", 3*maxCorrected)).Corrections, maxCorrected)
}

func TestSpelling_Within_StopsWithTheContext(t *testing.T) {
	t.Parallel()
	p := *testParser(t)
	ctx, cancel := context.WithCancel(t.Context())
	p.Words = p.Words.Within(ctx)
	require.Len(t, p.Parse("receptonist ").Corrections, 1)
	cancel()
	require.Empty(t, p.Parse("receptonist heath visitor ").Corrections)
}
