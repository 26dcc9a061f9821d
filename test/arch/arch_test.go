// Package arch checks the imports of every file against the import rules, the pages for
// authors of adapters against the ports, and the language of comments, messages and pages.
package arch

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// module is the path of the Go module.
const module = "github.com/locumhq/locum"

// usesAllModules are the adapters that implement or use the structs of package adapters, and may
// import every module.
var usesAllModules = map[string]bool{
	"gormdb":    true,
	"fiberhttp": true,
	"web":       true,
	"portal":    true,
	"developer": true,
	"mcp":       true,
	"internal":  true,
}

// usesWeb are the transports and route tables, which share adapters/web.
var usesWeb = map[string]bool{"fiberhttp": true, "portal": true, "developer": true, "mcp": true}

// moduleByAdapter has the module whose port an adapter implements.
var moduleByAdapter = map[string]string{
	"argonhash":   "identity",
	"jwttokens":   "identity",
	"gazetteer":   "listings",
	"searchindex": "listings",
	"sandboxpay":  "billing",
	"stripepay":   "billing",
	"webhookout":  "integrations",
}

// forbiddenInModules are packages of the standard library that modules must not import.
var forbiddenInModules = map[string]bool{"net/http": true, "database/sql": true, "os": true}

// findViolation returns why the file (a path inside the module, with slashes) may not
// import the package, or an empty string.
func findViolation(file, imported string) string {
	if strings.HasPrefix(file, "test/conformance/") {
		return checkSuiteImport(file, imported)
	}

	if strings.HasPrefix(file, "test/outsider/") {
		return checkOutsiderImport(imported)
	}

	if strings.HasPrefix(file, "test/") {
		return ""
	}

	isTest := strings.HasSuffix(file, "_test.go")
	folder, name := splitPath(file)
	inside, isOurs := strings.CutPrefix(imported, module+"/")
	isStd := !isOurs && isStandard(imported)

	if strings.HasPrefix(inside, "test/") {
		return reasonUnless(isTest, "only tests import test")
	}

	if imported == "go.uber.org/fx" || strings.HasPrefix(imported, "go.uber.org/fx/") {
		return reasonUnless(folder == "bootstrap", "only bootstrap imports fx")
	}

	if strings.HasPrefix(imported, "github.com/spf13/viper") {
		return reasonUnless(folder == "config", "only config imports Viper")
	}

	if strings.HasPrefix(imported, "github.com/gofiber/") && !isTest {
		return reasonUnless(folder == "adapters" && name == "fiberhttp", "only fiberhttp imports Fiber")
	}

	if isTest {
		return "" // tests may import whatever they need
	}

	target, targetName := splitPath(inside + "/x.go")
	switch folder {
	case "core":
		return reasonUnless(isStd || isOurs && target == "core", "core imports only the standard library and itself")
	case "modules":
		if isStd {
			return reasonUnless(!forbiddenInModules[imported], "modules must not import "+imported)
		}

		return reasonUnless(
			isOurs && (target == "core" || target == "modules" && targetName == name),
			"a module imports core, its own packages and the standard library only",
		)
	case "adapters":
		return checkAdapterImport(name, inside, isOurs)
	case "config", "migrations":
		return reasonUnless(!isOurs, folder+" imports no other package of the project")
	}

	return ""
}

// checkSuiteImport returns why the suites, which other teams compile, may not import a
// package, or an empty string.
func checkSuiteImport(file, imported string) string {
	inside, isOurs := strings.CutPrefix(imported, module+"/")
	if !isOurs {
		isAllowed := isStandard(imported) || strings.HasPrefix(imported, "github.com/stretchr/testify/")
		return reasonUnless(isAllowed, "a suite imports no other library than testify")
	}

	target, _ := splitPath(inside + "/x.go")
	if target == "core" || target == "modules" || inside == "adapters" {
		return ""
	}

	switch {
	case strings.HasPrefix(file, "test/conformance/transports/"):
		return reasonUnless(inside == "adapters/web" || inside == "test/conformance",
			"the suite of transports imports core, modules, adapters, adapters/web and test/conformance only")
	case strings.HasPrefix(file, "test/conformance/modules/"):
		return reasonUnless(inside == "adapters/web" || inside == "bootstrap",
			"the suite of modules imports core, modules, adapters, adapters/web and bootstrap only")
	}

	return "a suite imports core, modules and the structs of adapters only"
}

// checkOutsiderImport returns why the module of another team, test/outsider, may not import a
// package, or an empty string.
func checkOutsiderImport(imported string) string {
	inside, _ := strings.CutPrefix(imported, module+"/")

	return reasonUnless(
		!strings.Contains(imported, "/internal/") && !strings.HasPrefix(inside, "test/kit"),
		"another team can import neither internal packages nor those of our tests",
	)
}

// isStandard reports whether a package is in the standard library: the first part of its path
// has no dot.
func isStandard(imported string) bool {
	return !strings.Contains(strings.SplitN(imported, "/", 2)[0], ".")
}

// checkAdapterImport returns why an adapter may not import a package, or an empty string. name is
// the folder of the adapter, empty for package adapters itself, and inside the path of the
// package below the module, if the package is ours.
func checkAdapterImport(name, inside string, isOurs bool) string {
	target, targetName := splitPath(inside + "/x.go")
	if !isOurs || target == "core" {
		return ""
	}

	if name == "" {
		return reasonUnless(target == "modules", "package adapters imports core and modules only")
	}

	switch target {
	case "adapters":
		if inside == "adapters" {
			return reasonUnless(usesAllModules[name], "package adapters is for storage and transports")
		}

		if targetName == "internal" || targetName == "web" && usesWeb[name] {
			return ""
		}

		return reasonUnless(targetName == name, "an adapter imports no other adapter")
	case "modules":
		return reasonUnless(usesAllModules[name] || moduleByAdapter[name] == targetName,
			"an adapter imports only the module whose port it implements")
	case "config":
		return ""
	case "migrations":
		return reasonUnless(name == "gormdb", "only gormdb imports migrations")
	}

	return "adapters do not import " + target
}

// splitPath returns the top-level folder of a file and the name of the folder in it, empty if the
// file is in the top-level folder itself.
func splitPath(file string) (folder, name string) {
	parts := strings.Split(file, "/")
	if len(parts) < 2 {
		return "", ""
	}

	if len(parts) > 2 {
		name = parts[1]
	}

	return parts[0], name
}

// reasonUnless returns an empty string if the import is allowed, and the reason otherwise.
func reasonUnless(isAllowed bool, reason string) string {
	if isAllowed {
		return ""
	}

	return reason
}

// TestImports_FollowTheRules checks the imports of every Go file of the repository, so that
// modules stay independent of frameworks, databases and each other.
func TestImports_FollowTheRules(t *testing.T) {
	t.Parallel()

	root := filepath.Join("..", "..")
	files := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		if entry.IsDir() && path != root && isSkipped(entry.Name()) {
			return filepath.SkipDir
		}

		if entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}

		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}

		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}

		files++

		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}

			if reason := findViolation(filepath.ToSlash(relative), imported); reason != "" {
				t.Errorf("%s imports %s: %s", relative, imported, reason)
			}
		}

		return nil
	}))
	require.Greater(t, files, 50, "the walk misses files of the repository")
}

// isSkipped reports whether a folder with the name has no Go files of the project.
func isSkipped(folder string) bool {
	return strings.HasPrefix(folder, ".") || folder == "testdata" || folder == "node_modules" || folder == "data"
}

// TestFindViolation_EachRule_IsEnforced checks imports that break each of the rules, because a
// rule that finds nothing would go unnoticed, and imports that are allowed.
func TestFindViolation_EachRule_IsEnforced(t *testing.T) {
	t.Parallel()

	for _, forbidden := range []struct{ file, imported string }{
		{"core/fault/x.go", "github.com/google/uuid"},
		{"core/fault/x.go", module + "/modules/identity"},
		{"modules/hiring/x.go", module + "/modules/listings"},
		{"modules/hiring/x.go", module + "/adapters"},
		{"modules/hiring/x.go", "database/sql"},
		{"modules/hiring/x.go", "net/http"},
		{"modules/hiring/x.go", "gorm.io/gorm"},
		{"modules/hiring/x_test.go", "go.uber.org/fx"},
		{"adapters/slots.go", module + "/adapters/gormdb"},
		{"adapters/gormdb/x.go", module + "/adapters/fiberhttp"},
		{"adapters/portal/x.go", module + "/adapters/gormdb"},
		{"adapters/portal/x.go", "github.com/gofiber/fiber/v2"},
		{"adapters/fiberhttp/x.go", module + "/adapters/portal"},
		{"adapters/gormdb/x.go", module + "/adapters/web"},
		{"adapters/mcp/x.go", module + "/adapters/developer"},
		{"adapters/gomail/x.go", module + "/modules/identity"},
		{"adapters/gomail/x.go", module + "/adapters"},
		{"adapters/internal/redisurl/x.go", module + "/adapters/redislimit"},
		{"adapters/argonhash/x.go", module + "/modules/listings"},
		{"adapters/gormdb/x.go", module + "/bootstrap"},
		{"adapters/gormdb/x.go", "github.com/spf13/viper"},
		{"adapters/gormdb/x.go", "go.uber.org/fx"},
		{"bootstrap/x.go", module + "/test/kit"},
		{"config/x.go", module + "/core/fault"},
		{"test/conformance/x.go", module + "/test/kit"},
		{"test/conformance/x.go", module + "/adapters/gormdb"},
		{"test/conformance/x.go", module + "/adapters/web"},
		{"test/conformance/transports/x.go", module + "/bootstrap"},
		{"test/conformance/x_test.go", "gorm.io/gorm"},
		{"test/outsider/boltdb/x.go", module + "/adapters/internal/x"},
		{"test/outsider/boltdb/x_test.go", module + "/test/kit"},
	} {
		require.NotEmpty(t, findViolation(forbidden.file, forbidden.imported),
			"%s imports %s", forbidden.file, forbidden.imported)
	}

	for _, allowed := range []struct{ file, imported string }{
		{"modules/hiring/x.go", module + "/core/fault"},
		{"modules/hiring/x.go", "net/mail"},
		{"adapters/portal/x.go", module + "/adapters/web"},
		{"adapters/portal/x.go", module + "/adapters"},
		{"adapters/argonhash/x.go", module + "/modules/identity"},
		{"adapters/redislimit/x.go", module + "/adapters/internal/redisurl"},
		{"bootstrap/x.go", "go.uber.org/fx"},
		{"test/conformance/x.go", module + "/adapters"},
		{"test/conformance/transports/x.go", module + "/adapters/web"},
		{"test/conformance/modules/x.go", module + "/bootstrap"},
		{"test/conformance/x.go", "github.com/stretchr/testify/require"},
		{"test/outsider/boltdb/x_test.go", module + "/test/conformance"},
	} {
		require.Empty(t, findViolation(allowed.file, allowed.imported),
			"%s imports %s", allowed.file, allowed.imported)
	}
}

// TestTopLevel_FilesAndFolders_AreKnown checks that no file or folder is added to the root by
// mistake.
func TestTopLevel_FilesAndFolders_AreKnown(t *testing.T) {
	t.Parallel()

	known := []string{
		"core", "adapters", "modules", "bootstrap", "config", "migrations", "test",
		"Makefile", "go.mod", "go.sum", "README.md", "LICENSE", "NOTICE",
	}
	entries, err := os.ReadDir(filepath.Join("..", ".."))
	require.NoError(t, err)

	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") || name == "bin" || name == "data" {
			continue // not part of the repository, or settings of tools
		}

		require.Contains(t, known, name, "%s is not one of the top-level files and folders", name)
	}
}
