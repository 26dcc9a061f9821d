package bootstrap

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/config"
)

// TestDiskSpace_ModuleDatabase_IsIncluded checks that the metric of free disk space includes the
// folder of a database that stores a single module.
func TestDiskSpace_ModuleDatabase_IsIncluded(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	cfg := testConfig(t, func(cfg *config.Config) { cfg.Database.BillingURL = "sqlite:" + filepath.Join(dir, "billing.db") })
	require.Equal(t, dir, newDiskSpace(cfg, databasesOf(cfg, newRegistry(nil)))["database.billing_url"])
}
