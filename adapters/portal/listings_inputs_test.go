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

	// numberInTag returns the number in a tag of a field of the body.
	numberInTag := func(fieldName, tag string) int {
		field, exists := reflect.TypeFor[SearchListingsInput]().FieldByName(fieldName)
		require.True(t, exists, fieldName)

		number, err := strconv.Atoi(field.Tag.Get(tag))
		require.NoError(t, err, "the tag %s of %s", tag, fieldName)

		return number
	}

	emptyBody := SearchListingsInput{}
	defaultPage := emptyBody.find().Page
	require.Equal(t, numberInTag("Page", "default"), defaultPage.Number)
	require.Equal(t, numberInTag("Limit", "default"), defaultPage.Size)

	// The tag clamp has the maximum, to which a larger limit is reduced.
	maxLimit := numberInTag("Limit", "clamp")
	aboveMaximum := maxLimit + 1
	largestPage := SearchListingsInput{Limit: &aboveMaximum}.find().Page
	require.Equal(t, maxLimit, largestPage.Size)
}
