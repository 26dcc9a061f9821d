package e2e

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// operationName matches the operations in the name of a subtest: one or more methods, joined by
// "and", and a path.
var operationName = regexp.MustCompile(`((?:[A-Z]+ and )*[A-Z]{3,6}) (/\S+)`)

// testsByOperation returns the names of the subtests in this package that contain an operation,
// by operation. A name with several methods, "GET and PUT /path", counts for each.
func testsByOperation(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	out := map[string][]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return true
			}
			// Subtests are calls of t.Run, or of the function that subtests returns.
			switch by := call.Fun.(type) {
			case *ast.SelectorExpr:
				if by.Sel.Name != "Run" {
					return true
				}
			case *ast.Ident:
				if by.Name != "subtest" {
					return true
				}
			}
			if lit, ok := call.Args[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				name, err := strconv.Unquote(lit.Value)
				require.NoError(t, err)
				for _, m := range operationName.FindAllStringSubmatch(name, -1) {
					for _, method := range strings.Split(m[1], " and ") {
						row := method + " " + m[2]
						out[row] = append(out[row], name)
					}
				}
			}
			return true
		})
	}
	return out
}

// TestEveryOperation_HasATest checks that every operation has a subtest whose name contains it,
// and that ROWS.md lists them. With LOCUM_TEST_WRITE=1 it writes the file.
func TestEveryOperation_HasATest(t *testing.T) {
	t.Parallel()
	tests := testsByOperation(t)
	var list strings.Builder
	known := map[string]bool{}
	portals := len(routes())
	for _, r := range append(routes(), developerRoutes()...) {
		row := r.Method + " " + r.Path
		if len(known) == portals {
			list.WriteString("\n# The developer interface's\n\n")
		}
		known[row] = true
		if !assertNotEmpty(t, tests[row], row) {
			continue
		}
		slices.Sort(tests[row])
		fmt.Fprintf(&list, "- [x] `%s`\n", row)
		for _, name := range slices.Compact(tests[row]) {
			if name != row {
				fmt.Fprintf(&list, "  - %s\n", name)
			}
		}
	}
	for row := range tests {
		require.True(t, known[row] || !strings.Contains(row, " /api/"), "a test is named after %s, which is not an operation", row)
	}
	page := fmt.Sprintf(
		"# %d operations\n\nEach has tests that are named after it and run on every setup.\nMade by `make rows` of the tables of routes and of the names of the tests.\n\n# The portal's\n\n%s",
		len(known),
		list.String(),
	)
	if os.Getenv("LOCUM_TEST_WRITE") != "" {
		require.NoError(t, os.WriteFile("ROWS.md", []byte(page), 0o644))
	}
	written, err := os.ReadFile("ROWS.md")
	require.NoError(t, err)
	require.Equal(t, page, string(written), "run `make rows` to update test/e2e/ROWS.md")
}

// assertNotEmpty reports an operation without a test and continues, so that one run names all
// of them.
func assertNotEmpty(t *testing.T, tests []string, row string) bool {
	t.Helper()
	if len(tests) == 0 {
		t.Errorf("no test is named after %s", row)
	}
	return len(tests) > 0
}
