package portal

import (
	"reflect"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSearchListingsInput_DefaultsMatchTags checks that the documented defaults of a search,
// which are tags, are those of the code: its body has pointers, to which tags do not apply.
func TestSearchListingsInput_DefaultsMatchTags(t *testing.T) {
	t.Parallel()

	// tag returns the number in a tag of a field of the body.
	tag := func(field, name string) int {
		f, ok := reflect.TypeFor[SearchListingsInput]().FieldByName(field)
		require.True(t, ok)

		n, err := strconv.Atoi(f.Tag.Get(name))
		require.NoError(t, err)

		return n
	}

	defaultPage := SearchListingsInput{}.find().Page
	require.Equal(t, tag("Page", "default"), defaultPage.Number)
	require.Equal(t, tag("Limit", "default"), defaultPage.Size)

	// clamp is the maximum, to which a larger limit is reduced.
	aboveMaximum := tag("Limit", "clamp") + 1
	largestPage := SearchListingsInput{Limit: &aboveMaximum}.find().Page
	require.Equal(t, tag("Limit", "clamp"), largestPage.Size)
}
