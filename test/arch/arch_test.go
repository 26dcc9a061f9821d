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

const module = "github.com/locumhq/locum"

// wide are the adapters that implement or use the structs of package adapters, and may
// import every module.
var wide = map[string]bool{"gormdb": true, "fiberhttp": true, "web": true, "portal": true, "developer": true, "mcp": true, "internal": true}

// usesWeb are the transports and route tables, which share adapters/web.
var usesWeb = map[string]bool{"fiberhttp": true, "portal": true, "developer": true, "mcp": true}

// ports are the modules whose port an adapter implements.
var ports = map[string]string{
	"argonhash":   "identity",
	"jwttokens":   "identity",
	"gazetteer":   "listings",
	"searchindex": "listings",
	"sandboxpay":  "billing",
	"stripepay":   "billing",
	"webhookout":  "integrations",
}

// notPure are packages of the standard library that modules must not import.
var notPure = map[string]bool{"net/http": true, "database/sql": true, "os": true}

// violation returns why the file (a path inside the module, with slashes) may not
// import the package, or an empty string.
func violation(file, imported string) string {
	if strings.HasPrefix(file, "test/conformance/") {
		return checkSuiteImport(file, imported)
	}
	if strings.HasPrefix(file, "test/outsider/") {
		return checkOutsiderImport(imported)
	}
	if strings.HasPrefix(file, "test/") {
		return ""
	}
	test := strings.HasSuffix(file, "_test.go")
	folder, name := split(file)
	inside, ours := strings.CutPrefix(imported, module+"/")
	standard := !ours && isStandard(imported)
	if strings.HasPrefix(inside, "test/") {
		if test {
			return ""
		}
		return "only tests import test"
	}
	if imported == "go.uber.org/fx" || strings.HasPrefix(imported, "go.uber.org/fx/") {
		return unless(folder == "bootstrap", "only bootstrap knows fx")
	}
	if strings.HasPrefix(imported, "github.com/spf13/viper") {
		return unless(folder == "config", "only config knows Viper")
	}
	if strings.HasPrefix(imported, "github.com/gofiber/") && !test {
		return unless(folder == "adapters" && name == "fiberhttp", "only fiberhttp knows Fiber")
	}
	if test {
		return "" // tests may set up whatever they need
	}
	target, targetName := split(inside + "/x.go")
	switch folder {
	case "core":
		return unless(standard || ours && target == "core", "core imports the standard library alone")
	case "modules":
		if standard {
			return unless(!notPure[imported], "modules are pure: no "+imported)
		}
		return unless(
			ours && (target == "core" || target == "modules" && targetName == name),
			"a module imports core, its own packages and the standard library only",
		)
	case "adapters":
		return adapter(name, inside, ours, target, targetName)
	case "config", "migrations":
		return unless(!ours, folder+" imports no other package of the project")
	}
	return ""
}

// checkSuiteImport returns why the suites, which other teams compile, may not import a
// package, or an empty string.
func checkSuiteImport(file, imported string) string {
	inside, ours := strings.CutPrefix(imported, module+"/")
	target, _ := split(inside + "/x.go")
	allowed := target == "core" || target == "modules" || inside == "adapters" ||
		strings.HasPrefix(file,
			"test/conformance/transports/") && (inside == "adapters/web" || inside == "test/conformance") ||
		strings.HasPrefix(file, "test/conformance/modules/") && (inside == "adapters/web" || inside == "bootstrap")
	if !ours {
		allowed = isStandard(imported) || strings.HasPrefix(imported, "github.com/stretchr/testify/")
	}
	return unless(
		allowed,
		"the suites import core, modules, the structs of adapters and testify only; those of transports and modules adapters/web too, and that of modules bootstrap",
	)
}

// checkOutsiderImport returns why the module of another team, test/outsider, may not import a
// package, or an empty string.
func checkOutsiderImport(imported string) string {
	inside, _ := strings.CutPrefix(imported, module+"/")
	return unless(
		!strings.Contains(imported, "/internal/") && !strings.HasPrefix(inside, "test/kit"),
		"another team can import neither internal packages nor those of our tests",
	)
}

// isStandard reports whether a package is in the standard library: the first part of its path
// has no dot.
func isStandard(imported string) bool {
	return !strings.Contains(strings.SplitN(imported, "/", 2)[0], ".")
}

// adapter returns why the adapter may not import a package of this module, or an empty string.
// inside is the path of the package below the module, target its top-level folder, and
// targetName the folder below that.
func adapter(name, inside string, ours bool, target, targetName string) string {
	if !ours || target == "core" {
		return ""
	}
	if name == "" { // a file of package adapters itself
		return unless(target == "modules", "the structs of adapters import core and modules only")
	}
	switch target {
	case "adapters":
		if inside == "adapters" {
			return unless(wide[name], "package adapters is for storage and transports")
		}
		if targetName == "internal" || targetName == "web" && usesWeb[name] {
			return ""
		}
		return unless(targetName == name, "an adapter never imports another adapter")
	case "modules":
		return unless(wide[name] || ports[name] == targetName,
			"an adapter imports only the module whose port it implements")
	case "config":
		return ""
	case "migrations":
		return unless(name == "gormdb", "the schema belongs to gormdb")
	}
	return "adapters do not know " + target
}

// split returns the top-level folder of a file and the name of the package in it.
func split(file string) (folder, name string) {
	parts := strings.Split(file, "/")
	if len(parts) < 2 {
		return "", ""
	}
	if len(parts) > 2 {
		name = parts[1]
	}
	return parts[0], name
}

// unless returns the reason unless the import is fine.
func unless(fine bool, reason string) string {
	if fine {
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
	require.NoError(t, filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != root &&
			(strings.HasPrefix(d.Name(),
				".") || d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == "data") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		files++
		for _, i := range parsed.Imports {
			imported, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			if reason := violation(filepath.ToSlash(rel), imported); reason != "" {
				t.Errorf("%s imports %s: %s", rel, imported, reason)
			}
		}
		return nil
	}))
	require.Greater(t, files, 50, "too few files were checked")
}

// TestViolation_PlantedImport_IsFound checks that violation refuses an import that breaks each
// of the rules, and accepts allowed ones: a rule that finds nothing would go unnoticed.
func TestViolation_PlantedImport_IsFound(t *testing.T) {
	t.Parallel()
	for _, planted := range []struct{ file, imported string }{
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
		require.NotEmpty(t, violation(planted.file, planted.imported), "%s imports %s", planted.file, planted.imported)
	}
	for _, fine := range []struct{ file, imported string }{
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
		require.Empty(t, violation(fine.file, fine.imported), "%s imports %s", fine.file, fine.imported)
	}
}

// TestTopLevel_FilesAndFolders_AreKnown checks that no file or folder is added to the root by
// mistake.
func TestTopLevel_FilesAndFolders_AreKnown(t *testing.T) {
	t.Parallel()
	want := strings.Fields("core adapters modules bootstrap config migrations test Makefile go.mod go.sum README.md LICENSE NOTICE")
	entries, err := os.ReadDir(filepath.Join("..", ".."))
	require.NoError(t, err)
	for _, e := range entries {
		if ignored := strings.HasPrefix(e.Name(), ".") || e.Name() == "bin" || e.Name() == "data"; !ignored {
			require.Contains(t, want, e.Name(), "%s is not one of the top-level files and folders", e.Name())
		}
	}
}
