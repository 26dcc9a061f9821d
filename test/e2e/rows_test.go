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

	"github.com/locumhq/locum/adapters/web"
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

	byOperation := map[string][]string{}
	for _, file := range files {
		syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)

		ast.Inspect(syntax, func(node ast.Node) bool {
			name, found := subtestName(t, node)
			if !found {
				return true
			}

			for _, match := range operationName.FindAllStringSubmatch(name, -1) {
				methods, path := match[1], match[2]
				for _, method := range strings.Split(methods, " and ") {
					operation := method + " " + path
					byOperation[operation] = append(byOperation[operation], name)
				}
			}

			return true
		})
	}

	return byOperation
}

// subtestName returns the name of the subtest if the node runs one whose name is a literal: a
// call of t.Run, or of the function that subtests returns.
func subtestName(t *testing.T, node ast.Node) (name string, found bool) {
	t.Helper()

	call, isCall := node.(*ast.CallExpr)
	if !isCall || len(call.Args) != 2 {
		return "", false
	}

	switch function := call.Fun.(type) {
	case *ast.SelectorExpr:
		if function.Sel.Name != "Run" {
			return "", false
		}
	case *ast.Ident:
		if function.Name != "subtest" {
			return "", false
		}
	}

	literal, isLiteral := call.Args[0].(*ast.BasicLit)
	if !isLiteral || literal.Kind != token.STRING {
		return "", false
	}

	name, err := strconv.Unquote(literal.Value)
	require.NoError(t, err)

	return name, true
}

// TestEveryOperation_HasATest checks that every operation has a subtest whose name contains it,
// that no subtest is named after an operation that does not exist, and that ROWS.md lists them.
// With LOCUM_TEST_WRITE=1 it writes the file.
func TestEveryOperation_HasATest(t *testing.T) {
	t.Parallel()

	tests := testsByOperation(t)
	var list strings.Builder
	isOperation := map[string]bool{}
	writeOperations := func(routes []web.Route) {
		for _, route := range routes {
			operation := route.Method + " " + route.Path
			isOperation[operation] = true
			writeOperation(t, &list, operation, tests[operation])
		}
	}

	list.WriteString("# The portal's\n\n")
	writeOperations(routes())
	list.WriteString("\n# The developer interface's\n\n")
	writeOperations(developerRoutes())

	for operation := range tests {
		isOfAPI := strings.Contains(operation, " /api/")
		require.True(t, isOperation[operation] || !isOfAPI, "a test is named after %s, which is not an operation", operation)
	}

	page := fmt.Sprintf(
		"# %d operations\n\nEach has tests that are named after it and run on every setup.\n"+
			"Made by `make rows` of the tables of routes and of the names of the tests.\n\n%s",
		len(isOperation),
		list.String(),
	)
	if os.Getenv("LOCUM_TEST_WRITE") != "" {
		require.NoError(t, os.WriteFile("ROWS.md", []byte(page), 0o644))
	}

	written, err := os.ReadFile("ROWS.md")
	require.NoError(t, err)
	require.Equal(t, page, string(written), "run `make rows` to update test/e2e/ROWS.md")
}

// writeOperation writes the operation with the names of its subtests, without the one that is
// called like the operation itself. An operation without a subtest fails the test, which
// continues, so that one run names all of them.
func writeOperation(t *testing.T, list *strings.Builder, operation string, names []string) {
	t.Helper()

	if len(names) == 0 {
		t.Errorf("no test is named after %s", operation)
		return
	}

	fmt.Fprintf(list, "- [x] `%s`\n", operation)
	slices.Sort(names)

	for _, name := range slices.Compact(names) {
		if name != operation {
			fmt.Fprintf(list, "  - %s\n", name)
		}
	}
}
