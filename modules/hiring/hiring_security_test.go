package hiring_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/test/kit/stores"
)

// TestDecideBatch_LongInput_IsTruncated checks that a response repeats at most 200 characters
// of an invalid decision. Responses are stored for a day under their Idempotency-Key, so that a
// client could otherwise fill the storage.
func TestDecideBatch_LongInput_IsTruncated(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	long := strings.Repeat("é", 500_000)
	_, refused, err := env.DecideBatch(t.Context(), newEmployer(), []hiring.Decision{
		{ID: long, Status: long},
		{ID: "x", Status: "y"},
	})
	require.NoError(t, err)
	require.Len(t, refused, 2)
	require.Equal(t, hiring.Decision{ID: strings.Repeat("é", 200), Status: strings.Repeat("é", 200)}, refused[0].Decision)
	require.Equal(t, hiring.Decision{ID: "x", Status: "y"}, refused[1].Decision)
}
