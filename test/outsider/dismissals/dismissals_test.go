package dismissals_test

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"example.org/outsider/dismissals"
	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/test/conformance"
)

// open opens a storage in a new file and applies its migrations.
func open(t testing.TB, clk clock.Clock) adapters.JobseekerStorage {
	t.Helper()

	deps := adapters.Deps{
		Clock:   clk,
		NewID:   func() string { return uuid.Must(uuid.NewV7()).String() },
		Log:     slog.New(slog.DiscardHandler),
		Modules: []string{"jobseeker"},
	}
	storage, err := dismissals.Open(t.Context(), "own+sqlite:"+filepath.Join(t.TempDir(), "jobseeker.db"), deps)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, storage.Jobseeker.Close()) })

	_, err = storage.Jobseeker.Schema.Up(t.Context())
	require.NoError(t, err)

	return storage.Jobseeker
}

func TestDismissals_Conformance(t *testing.T) {
	t.Parallel()
	conformance.Dismissals(t, open)
}

// TestPersonalData_Conformance runs the suite for the deletion of accounts, which must include
// the dismissals of this storage.
func TestPersonalData_Conformance(t *testing.T) {
	t.Parallel()
	conformance.SeekerPersonalData(t, open)
}

// TestSchema_Conformance runs the suite for migrations.
func TestSchema_Conformance(t *testing.T) {
	t.Parallel()
	conformance.Schema(t, func(t testing.TB, clk clock.Clock) adapters.Database { return open(t, clk).Database })
}
