// Package stores opens the databases that tests run against, with the schema
// in place and nothing in it.
package stores

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/gormdb"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/test/kit"
)

// NewID makes a UUIDv7.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// SQLite opens a database in a file of the test's own.
func SQLite(t testing.TB, clk clock.Clock) adapters.Storage {
	t.Helper()
	return open(t, "sqlite:"+t.TempDir()+"/test.db", clk)
}

// Postgres opens a database of the test's own, or skips where there is none.
func Postgres(t testing.TB, clk clock.Clock) adapters.Storage {
	t.Helper()
	return open(t, kit.PostgresURL(t), clk)
}

// Each runs the test on every database.
func Each(t *testing.T, test func(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); test(t, SQLite) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); test(t, Postgres) })
}

func open(t testing.TB, url string, clk clock.Clock) adapters.Storage {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := gormdb.Open(ctx, url, adapters.Deps{Clock: clk, NewID: NewID, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	_, err = s.Schema.Up(ctx)
	require.NoError(t, err)
	return s
}
