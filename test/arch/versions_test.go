package arch

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// securityModules are the modules that handle what clients send, with the oldest
// version without a known vulnerability that matters here.
var securityModules = map[string]string{
	"github.com/valyala/fasthttp":   "v1.74.0", // request smuggling before
	"github.com/gofiber/fiber/v2":   "v2.52.15",
	"github.com/golang-jwt/jwt/v5":  "v5.3.0",
	"github.com/jackc/pgx/v5":       "v5.11.0",
	"github.com/ncruces/go-sqlite3": "v0.34.4",
	"github.com/redis/go-redis/v9":  "v9.23.0",
	"github.com/wneessen/go-mail":   "v0.8.0", // address injection before
	"golang.org/x/crypto":           "v0.58.0",
	"golang.org/x/net":              "v0.62.0",
	"google.golang.org/protobuf":    "v1.36.0",
}

// TestSecurityModules_BuildList_IsNotOlder checks the minimum versions of securityModules. It
// replaces a vulnerability scan where the database of vulnerabilities cannot be reached.
func TestSecurityModules_BuildList_IsNotOlder(t *testing.T) {
	t.Parallel()

	raw, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	require.NoError(t, err)

	file, err := modfile.Parse("go.mod", raw, nil)
	require.NoError(t, err)

	required := map[string]string{}
	for _, r := range file.Require {
		required[r.Mod.Path] = r.Mod.Version
	}

	for path, oldest := range securityModules {
		require.GreaterOrEqual(t, semver.Compare(required[path], oldest), 0,
			"%s %s is older than %s", path, required[path], oldest)
	}
}
