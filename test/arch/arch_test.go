// Package arch keeps the rooms of the house apart: it reads the imports of
// every file and holds them against who may import whom.
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

// wide are the adapters that fill or use the wide sockets and so may know
// every module.
var wide = map[string]bool{"gormdb": true, "fiberhttp": true}

// ports are the modules whose port a narrow adapter fills.
var ports = map[string]string{"argonhash": "identity", "jwttokens": "identity", "gazetteer": "listings", "searchindex": "listings", "sandboxpay": "billing", "webhookout": "integrations"}

// notPure are parts of the standard library that the modules stay away from:
// they are somebody else's technology.
var notPure = map[string]bool{"net/http": true, "database/sql": true, "os": true}

// violation says why the file (a path inside the module, with slashes) may not
// import what it imports, or is empty.
func violation(file, imported string) string {
	if strings.HasPrefix(file, "test/") {
		return ""
	}
	test := strings.HasSuffix(file, "_test.go")
	room, name := split(file)
	inside, ours := strings.CutPrefix(imported, module+"/")
	standard := !ours && !strings.Contains(strings.SplitN(imported, "/", 2)[0], ".")
	if strings.HasPrefix(inside, "test/") {
		if test {
			return ""
		}
		return "only tests import test"
	}
	if imported == "go.uber.org/fx" || strings.HasPrefix(imported, "go.uber.org/fx/") {
		return unless(room == "bootstrap", "only bootstrap knows fx")
	}
	if strings.HasPrefix(imported, "github.com/spf13/viper") {
		return unless(room == "config", "only config knows Viper")
	}
	if test {
		return "" // tests may set up whatever they need
	}
	target, targetName := split(inside + "/x.go")
	switch room {
	case "core":
		return unless(standard || ours && target == "core", "core imports the standard library alone")
	case "modules":
		if standard {
			return unless(!notPure[imported], "modules are pure: no "+imported)
		}
		return unless(ours && (target == "core" || target == "modules" && targetName == name), "a module imports core and nothing else of the house, and no library")
	case "adapters":
		return adapter(name, inside, ours, target, targetName)
	case "config", "migrations":
		return unless(!ours, room+" imports nothing of the house")
	}
	return ""
}

func adapter(name, inside string, ours bool, target, targetName string) string {
	if !ours || target == "core" {
		return ""
	}
	if name == "" { // slots.go
		return unless(target == "modules", "the sockets name core and modules alone")
	}
	switch target {
	case "adapters":
		if inside == "adapters" {
			return unless(wide[name], "the wide sockets are for storage and transports")
		}
		return unless(targetName == name, "an adapter never imports another adapter")
	case "modules":
		return unless(wide[name] || ports[name] == targetName, "an adapter imports only the module whose port it fills")
	case "config":
		return ""
	case "migrations":
		return unless(name == "gormdb", "the schema belongs to gormdb")
	}
	return "adapters do not know " + target
}

// split names the room of a file and, in rooms of several, which one.
func split(file string) (room, name string) {
	parts := strings.Split(file, "/")
	if len(parts) < 2 {
		return "", ""
	}
	if len(parts) > 2 {
		name = parts[1]
	}
	return parts[0], name
}

func unless(fine bool, why string) string {
	if fine {
		return ""
	}
	return why
}

func TestEveryImportIsAllowedByTheHouse(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	files := 0
	require.NoError(t, filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == "data") {
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
			if why := violation(filepath.ToSlash(rel), imported); why != "" {
				t.Errorf("%s imports %s: %s", rel, imported, why)
			}
		}
		return nil
	}))
	require.Greater(t, files, 50, "the walk has lost its way")
}

func TestAPlantedViolationIsFound(t *testing.T) {
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
		{"adapters/fiberhttp/portal/x.go", module + "/adapters/gormdb"},
		{"adapters/gomail/x.go", module + "/modules/identity"},
		{"adapters/gomail/x.go", module + "/adapters"},
		{"adapters/argonhash/x.go", module + "/modules/listings"},
		{"adapters/gormdb/x.go", module + "/bootstrap"},
		{"adapters/gormdb/x.go", "github.com/spf13/viper"},
		{"adapters/gormdb/x.go", "go.uber.org/fx"},
		{"bootstrap/x.go", module + "/test/kit"},
		{"config/x.go", module + "/core/fault"},
	} {
		require.NotEmpty(t, violation(planted.file, planted.imported), "%s imports %s", planted.file, planted.imported)
	}
	for _, fine := range []struct{ file, imported string }{
		{"modules/hiring/x.go", module + "/core/fault"},
		{"modules/hiring/x.go", "net/mail"},
		{"adapters/fiberhttp/portal/x.go", module + "/adapters/fiberhttp/web"},
		{"adapters/fiberhttp/portal/x.go", module + "/adapters"},
		{"adapters/argonhash/x.go", module + "/modules/identity"},
		{"bootstrap/x.go", "go.uber.org/fx"},
	} {
		require.Empty(t, violation(fine.file, fine.imported), "%s imports %s", fine.file, fine.imported)
	}
}

func TestTheTopOfTheHouseIsWhatItShouldBe(t *testing.T) {
	t.Parallel()
	want := strings.Fields("core adapters modules bootstrap config migrations test Makefile go.mod go.sum README.md LICENSE NOTICE")
	entries, err := os.ReadDir(filepath.Join("..", ".."))
	require.NoError(t, err)
	for _, e := range entries {
		if ignored := strings.HasPrefix(e.Name(), ".") || e.Name() == "bin" || e.Name() == "data"; !ignored {
			require.Contains(t, want, e.Name(), "%s stands where only the house's rooms stand", e.Name())
		}
	}
}
