package bootstrap

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/config"
)

func TestDiskSpace_ModuleDatabase_IsIncluded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := testConfig(t, func(c *config.Config) { c.Database.BillingURL = "sqlite:" + filepath.Join(dir, "billing.db") })
	require.Equal(t, dir, newDiskSpace(c, databasesOf(c, newRegistry(nil)))["database.billing_url"])
}
