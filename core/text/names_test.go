package text_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/text"
)

// TestNameKeys_SimilarNames_HaveAKeyInCommon checks by which names an organization could pass for another. Each name
// has a list of keys. Two names are similar if they have a key in common.
func TestNameKeys_SimilarNames_HaveAKeyInCommon(t *testing.T) {
	t.Parallel()

	areSimilar := func(a, b string) bool {
		keysOfB := text.NameKeys(b)
		return slices.ContainsFunc(text.NameKeys(a), func(key string) bool { return slices.Contains(keysOfB, key) })
	}

	const name = "St Thomas' Hospital"
	for _, other := range []string{
		name,
		// other spellings and legal forms
		"st. thomas hospital",
		"Saint Thomas’ Hospitals",
		"ST THOMAS HOSPITAL NHS Foundation Trust",
		"The St Thomas Hospital Ltd",
		"St Thómas Hospital",
		// a letter of another alphabet: the а of Thomаs is Cyrillic
		"St Thomаs Hospital",
		// a digit for a letter
		"St Thomas Hospita1",
		// one typing error
		"St Thomas Hospitl",
		"St Thomaas Hospital",
		"St Thomaz Hospital",
	} {
		require.True(t, areSimilar(name, other), other)
	}

	for _, other := range []string{"St Mary's Hospital", "Thomas Care Homes", "St Thomas Veterinary Practice", "Guy's Hospital", ""} {
		require.False(t, areSimilar(name, other), other)
	}

	require.False(t, areSimilar("Leeds", "Leed5x"), "a short name must be equal: with an error, it is another one")
	require.NotEmpty(t, text.NameKeys("The Trust"), "a name of fillers alone is compared as a whole")
	require.Empty(t, text.NameKeys("???"), "a name without letters is similar to none")
}
