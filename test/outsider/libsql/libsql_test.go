package libsql_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"example.org/outsider/libsql"
	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/test/conformance"
)

// open opens a storage in a new file and applies its migrations.
func open(t testing.TB, clk clock.Clock) adapters.Storage {
	t.Helper()

	deps := adapters.Deps{Clock: clk, Log: slog.New(slog.DiscardHandler), NewID: func() string { return uuid.Must(uuid.NewV7()).String() }}
	storage, err := libsql.Open(t.Context(), "libsql:"+filepath.Join(t.TempDir(), "test.db"), deps)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, storage.Identity.Close()) })

	_, err = storage.Identity.Schema.Up(context.Background())
	require.NoError(t, err)

	return storage
}

// TestStorage_Conformance runs the suite for storages: a dialect of another team must pass it
// completely.
func TestStorage_Conformance(t *testing.T) {
	t.Parallel()
	conformance.Storage(t, open)
}
