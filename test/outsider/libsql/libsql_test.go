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
	d := adapters.Deps{Clock: clk, Log: slog.New(slog.DiscardHandler), NewID: func() string { return uuid.Must(uuid.NewV7()).String() }}
	s, err := libsql.Open(t.Context(), "libsql:"+filepath.Join(t.TempDir(), "test.db"), d)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Identity.Close()) })
	_, err = s.Identity.Schema.Up(context.Background())
	require.NoError(t, err)
	return s
}

// TestStorage_Conformance runs the suite for storages: a dialect of another team must pass it
// completely.
func TestStorage_Conformance(t *testing.T) {
	t.Parallel()
	conformance.Storage(t, open)
}
