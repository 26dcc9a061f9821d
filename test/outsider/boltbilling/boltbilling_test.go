package boltbilling_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"example.org/outsider/boltbilling"
	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/tx"
	"github.com/locumhq/locum/test/conformance"
)

func openAt(t testing.TB, path string, clk clock.Clock) (adapters.BillingStorage, error) {
	d := adapters.Deps{Clock: clk, NewID: func() string { return uuid.Must(uuid.NewV7()).String() }}
	s, err := boltbilling.Open(t.Context(), "bolt:"+path, d)
	return s.Billing, err
}

func open(t testing.TB, clk clock.Clock) adapters.BillingStorage {
	t.Helper()
	s, err := openAt(t, filepath.Join(t.TempDir(), "billing.db"), clk)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestBilling_Conformance(t *testing.T) {
	t.Parallel()
	conformance.Billing(t, open)
}

func TestDatabase_Conformance(t *testing.T) {
	t.Parallel()
	conformance.Database(t, func(t testing.TB, clk clock.Clock) adapters.Database { return open(t, clk).Database })
}

func TestStorage_RequiredPorts_AreProvided(t *testing.T) {
	t.Parallel()
	require.Empty(t, adapters.Missing(open(t, clock.System{})))
}

func TestDo_AlwaysStale_IsUnavailable(t *testing.T) {
	t.Parallel()
	runs := 0
	err := open(t, clock.System{}).Tx.Do(t.Context(), func(context.Context) error { runs++; return fmt.Errorf("update: %w", tx.ErrStale) })
	require.ErrorIs(t, err, fault.ErrUnavailable)
	require.Greater(t, runs, 1)
}

func TestOpen_FileInUse_Fails(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "billing.db")
	s, err := openAt(t, path, clock.System{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	_, err = openAt(t, path, clock.System{})
	require.ErrorContains(t, err, "in use by another process")
}
