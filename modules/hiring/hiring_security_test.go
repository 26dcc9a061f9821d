package hiring_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/test/kit/stores"
)

// The text of a refusal is stored for a day under an Idempotency-Key, for any number of
// requests.
func TestDecideBatch_LongInput_IsTruncated(t *testing.T) {
	t.Parallel()
	env := newTestEnv(t, stores.SQLite)
	long := strings.Repeat("é", 500_000)
	_, refused, err := env.DecideBatch(t.Context(), employer(), []hiring.Decision{{ID: long, Status: long}, {ID: "x", Status: "y"}})
	require.NoError(t, err)
	require.Len(t, refused, 2)
	require.Equal(t, hiring.Decision{ID: strings.Repeat("é", 200), Status: strings.Repeat("é", 200)}, refused[0].Decision)
	require.Equal(t, hiring.Decision{ID: "x", Status: "y"}, refused[1].Decision)
}
