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

// openAt opens the storage in the file.
func openAt(t testing.TB, path string, clk clock.Clock) (adapters.BillingStorage, error) {
	deps := adapters.Deps{Clock: clk, NewID: func() string { return uuid.Must(uuid.NewV7()).String() }}
	storage, err := boltbilling.Open(t.Context(), "bolt:"+path, deps)
	return storage.Billing, err
}

// open opens a storage in a new file, which is closed after the test.
func open(t testing.TB, clk clock.Clock) adapters.BillingStorage {
	t.Helper()

	storage, err := openAt(t, filepath.Join(t.TempDir(), "billing.db"), clk)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, storage.Close()) })

	return storage
}

// TestBilling_Conformance runs the suite for the storage of billing.
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

// TestDo_AlwaysStale_IsUnavailable checks that a function that loses against a concurrent change
// is repeated, and ends with a 503 if it always loses.
func TestDo_AlwaysStale_IsUnavailable(t *testing.T) {
	t.Parallel()

	runs := 0
	err := open(t, clock.System{}).Tx.Do(t.Context(), func(context.Context) error {
		runs++
		return fmt.Errorf("update: %w", tx.ErrStale)
	})

	require.ErrorIs(t, err, fault.ErrUnavailable)
	require.Greater(t, runs, 1)
}

// TestOpen_FileInUse_Fails checks that a second process fails at its start instead of waiting
// for the lock of the file forever.
func TestOpen_FileInUse_Fails(t *testing.T) {
	t.Parallel()

	path := filepath.Join(t.TempDir(), "billing.db")
	storage, err := openAt(t, path, clock.System{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, storage.Close()) })

	_, err = openAt(t, path, clock.System{})
	require.ErrorContains(t, err, "in use by another process")
}
