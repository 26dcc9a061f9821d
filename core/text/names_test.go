package text_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/text"
)

// TestNameKeys_SimilarNames_HaveAKeyInCommon checks by which names an organization could pass for another:
// other spellings and legal forms, a letter of another alphabet (the а of Thomаs is Cyrillic), a digit
// for a letter, and one typing error. Short names must not match despite an error.
func TestNameKeys_SimilarNames_HaveAKeyInCommon(t *testing.T) {
	t.Parallel()

	similar := func(a, b string) bool {
		return slices.ContainsFunc(text.NameKeys(a), func(key string) bool { return slices.Contains(text.NameKeys(b), key) })
	}

	const name = "St Thomas' Hospital"
	for _, other := range []string{
		name,
		"st. thomas hospital",
		"Saint Thomas’ Hospitals",
		"ST THOMAS HOSPITAL NHS Foundation Trust",
		"The St Thomas Hospital Ltd",
		"St Thomаs Hospital",
		"St Thomas Hospita1",
		"St Thomas Hospitl",
		"St Thomaas Hospital",
		"St Thomaz Hospital",
		"St Thómas Hospital",
	} {
		require.True(t, similar(name, other), other)
	}

	for _, other := range []string{"St Mary's Hospital", "Thomas Care Homes", "St Thomas Veterinary Practice", "Guy's Hospital", ""} {
		require.False(t, similar(name, other), other)
	}

	require.False(t, similar("Leeds", "Leed5x"))
	require.NotEmpty(t, text.NameKeys("The Trust")) // a name of fillers alone is compared as a whole
	require.Empty(t, text.NameKeys("???"))
}
