package text_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/text"
)

func TestNameKeys_SimilarNames_HaveAKeyInCommon(t *testing.T) {
	t.Parallel()
	similar := func(a, b string) bool {
		return slices.ContainsFunc(text.NameKeys(a), func(key string) bool { return slices.Contains(text.NameKeys(b), key) })
	}
	const name = "St Thomas' Hospital"
	for _, other := range []string{
		name, "st. thomas hospital", "Saint Thomas’ Hospitals", "ST THOMAS HOSPITAL NHS Foundation Trust", "The St Thomas Hospital Ltd", "St Thomаs Hospital", "St Thomas Hospita1",
		"St Thomas Hospitl", "St Thomaas Hospital", "St Thomaz Hospital", "St Thómas Hospital",
	} {
		require.True(t, similar(name, other), other)
	}
	for _, other := range []string{"St Mary's Hospital", "Thomas Care Homes", "St Thomas Veterinary Practice", "Guy's Hospital", ""} {
		require.False(t, similar(name, other), other)
	}
	require.False(t, similar("Leeds", "Leed5x"))
	require.NotEmpty(t, text.NameKeys("The Trust"))
	require.Empty(t, text.NameKeys("???"))
}
