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

	tag := func(field, name string) int {
		f, ok := reflect.TypeFor[SearchListingsInput]().FieldByName(field)
		require.True(t, ok)

		n, err := strconv.Atoi(f.Tag.Get(name))
		require.NoError(t, err)

		return n
	}

	first := SearchListingsInput{}.find().Page
	require.Equal(t, tag("Page", "default"), first.Number)
	require.Equal(t, tag("Limit", "default"), first.Size)

	limit := tag("Limit", "clamp") + 1
	require.Equal(t, tag("Limit", "clamp"), SearchListingsInput{Limit: &limit}.find().Page.Size)
}
