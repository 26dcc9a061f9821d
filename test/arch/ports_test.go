package arch

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/files"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/trace"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/modules/listings/search"
)

// A port is an interface that the program needs and that an adapter implements. The ports of a storage, which is an
// adapter for a database, are the fields of structs. An adapter of another port is registered with an option.

// adapterDocs is the folder with the pages for authors of adapters.
const adapterDocs = "../outsider/docs"

// otherPorts are the ports that are not part of a storage, with the option that registers
// an adapter.
var otherPorts = []struct {
	option string
	port   reflect.Type
}{
	{"WithLimiter", reflect.TypeFor[limit.Limiter]()},
	{"WithQueue", reflect.TypeFor[task.Queue]()},
	{"WithMailer", reflect.TypeFor[mail.Mailer]()},
	{"WithFiles", reflect.TypeFor[files.Store]()},
	{"WithPayments", reflect.TypeFor[billing.Payments]()},
	{"WithPayments", reflect.TypeFor[billing.MethodCollector]()},
	{"WithPayments", reflect.TypeFor[billing.NoticeParser]()},
	{"WithSearch", reflect.TypeFor[search.Index]()},
	{"WithTracer", reflect.TypeFor[trace.Tracer]()},
	{"WithTransport", reflect.TypeFor[adapters.Transport]()},
}

// unstable has the ports that will change.
var unstable = map[string]bool{
	"integrations.Webhooks":   true,
	"integrations.Deliveries": true,
	"integrations.Grants":     true,
	"integrations.Consents":   true,
	"task.Store":              true,
}

// partlyOptional has the notes on fields that are optional for some modules only.
var partlyOptional = map[string]string{"Audit": "optional (required for identity)", "Tasks": "optional (billing, listings)"}

// suitesByPort returns the names of the suites that check each port, separated by commas. A suite checks the ports
// that its doc comment names.
func suitesByPort(t *testing.T) map[string]string {
	t.Helper()

	suites := map[string]string{}
	for _, match := range suiteComment.FindAllStringSubmatch(sourcesIn(t, "../conformance"), -1) {
		suite, comment := match[1], match[2]
		for _, port := range qualifiedName.FindAllString(comment, -1) {
			if suites[port] != "" {
				suites[port] += ", "
			}

			suites[port] += "`" + suite + "`"
		}
	}

	return suites
}

var (
	// suiteComment matches the name of a suite and the rest of its doc comment.
	suiteComment = regexp.MustCompile(`(?m)^// (\w+) checks ((?:.*\n//)*.*)\nfunc [A-Z]`)
	// qualifiedName matches the name of an exported type with its package.
	qualifiedName = regexp.MustCompile(`[a-z]+\.[A-Z]\w+`)
)

// methodsOf returns the names of the methods of a port. A port that is a function has none.
func methodsOf(port reflect.Type) (names []string) {
	if port.Kind() == reflect.Interface {
		for method := range port.Methods() {
			names = append(names, method.Name)
		}
	}

	return names
}

// writePortRows writes a table row for each port of a storage struct, whose columns are those of the header in
// generatePortsPage. It returns the number of methods of these ports.
func writePortRows(table *strings.Builder, storage reflect.Type, suites map[string]string) (methods int) {
	for field := range storage.Fields() {
		isPort := !field.Anonymous && field.Type.Kind() != reflect.Bool // else a part of the struct, or a setting
		if !isPort {
			continue
		}

		notes := "required"
		if field.Tag.Get("port") == "optional" {
			notes = cmp.Or(partlyOptional[field.Name], "optional")
		}

		port := field.Type.String()
		if unstable[port] {
			notes += ", unstable"
		}

		names := methodsOf(field.Type)
		methods += len(names)
		fmt.Fprintf(table, "| %s | `%s` | %s | %s | %s |\n", field.Name, port, strings.Join(names, ", "), notes, suites[port])
	}

	return methods
}

// generatePortsPage returns the page that lists the ports, and the number of methods of a
// storage.
func generatePortsPage(t *testing.T) (page string, methods int) {
	t.Helper()
	var tables strings.Builder
	suites := suitesByPort(t)
	writeTable := func(title string, storage reflect.Type) {
		fmt.Fprintf(&tables, "\n## %s\n\n| Field | Port | Methods | | Suite |\n|---|---|---|---|---|\n", title)

		methods += writePortRows(&tables, storage, suites)
	}

	writeTable("Database, of every module", reflect.TypeFor[adapters.Database]())

	for module := range reflect.TypeFor[adapters.Storage]().Fields() {
		writeTable("Storage of "+strings.ToLower(module.Name), module.Type)
	}

	fmt.Fprintf(&tables, "\n## Other adapters\n\n| Option | Port | Methods | Suite |\n|---|---|---|---|\n")

	for _, other := range otherPorts {
		fmt.Fprintf(&tables, "| `bootstrap.%s` | `%s` | %s | %s |\n", other.option, other.port,
			strings.Join(methodsOf(other.port), ", "), suites[other.port.String()])
	}

	page = fmt.Sprintf(`# Ports

A storage provides the ports below, %d methods in all: the database once, and a struct for
each module that it stores. `+"`adapters.Missing`"+` names the required ports that are nil. Optional
ports may be nil; the comments in `+"`adapters/storage.go`"+` explain the consequences. The contract of
a method is its doc comment, and the suites are in `+"`test/conformance`"+`. [Stability](stability.md)
explains what unstable means.

This page is generated: `+"`make ports`"+`.
%s`, methods, tables.String())

	return page, methods
}

// maxMethods is the maximum number of methods that a team has to write for a storage.
const maxMethods = 200

// TestPorts_Page_IsCurrent checks that the generated page lists the ports as they are in the
// code, and that a storage has at most maxMethods methods. With LOCUM_TEST_WRITE, as `make ports`
// sets it, it writes the page first.
func TestPorts_Page_IsCurrent(t *testing.T) {
	t.Parallel()

	path := filepath.Join(adapterDocs, "ports.md")
	want, methods := generatePortsPage(t)
	require.LessOrEqual(t, methods, maxMethods)

	if os.Getenv("LOCUM_TEST_WRITE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o600))
	}

	page, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want, string(page), "run make ports")
}

// sections has the titles that each page about ports must have.
var sections = []string{"Contract", "Lifecycle", "Errors", "While the backend is unavailable", "Conformance suite", "Example"}

// portPages returns the text of each handwritten page about ports, by the name of its file. The list of all ports
// is generated; stability.md and changes.md are not about a port.
func portPages(t *testing.T) map[string]string {
	t.Helper()

	pages := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(adapterDocs, "*.md"))
	require.NoError(t, err)

	for _, path := range paths {
		name := filepath.Base(path)
		if name == "ports.md" || name == "stability.md" || name == "changes.md" {
			continue
		}

		text, err := os.ReadFile(path)
		require.NoError(t, err)

		pages[name] = string(text)
	}

	return pages
}

// sourcesIn returns the Go files of folders as one text.
func sourcesIn(t *testing.T, roots ...string) string {
	t.Helper()

	var sources strings.Builder
	for _, root := range roots {
		require.NoError(t, filepath.Walk(root, func(path string, _ os.FileInfo, err error) error {
			if err != nil || filepath.Ext(path) != ".go" {
				return err
			}

			text, err := os.ReadFile(path)
			sources.Write(text)

			return err
		}))
	}

	return sources.String()
}

// TestPorts_EveryPort_HasAPage checks that each port is explained on a page, and that each page
// has all sections.
func TestPorts_EveryPort_HasAPage(t *testing.T) {
	t.Parallel()

	var pages strings.Builder
	for name, page := range portPages(t) {
		pages.WriteString(page)

		for _, section := range sections {
			require.Contains(t, page, "\n## "+section+"\n", name)
		}
	}

	for _, other := range otherPorts {
		require.Contains(t, pages.String(), "bootstrap."+other.option, other.port)
		require.Contains(t, pages.String(), "`"+other.port.String()+"`")
	}

	for module := range reflect.TypeFor[adapters.Storage]().Fields() {
		require.Contains(t, pages.String(), "`adapters."+module.Type.Name()+"`")
	}
}

// TestPorts_Pages_NameWhatExists checks that the suites that pages name exist, and that their
// examples are copies of code that is compiled and tested.
func TestPorts_Pages_NameWhatExists(t *testing.T) {
	t.Parallel()

	suiteName := regexp.MustCompile("`conformance\\.(\\w+)`")
	codeBlock := regexp.MustCompile("(?s)```go\n(.*?)```")
	const maxExampleLines = 15

	suites, sources := sourcesIn(t, "../conformance"), sourcesIn(t, "../outsider", "../../adapters")
	for name, page := range portPages(t) {
		for _, match := range suiteName.FindAllStringSubmatch(page, -1) {
			suite := match[1]
			require.Regexp(t, `\n(func|type) `+suite+`[(\[]`, suites, "%s names a suite", name)
		}

		examples := codeBlock.FindAllStringSubmatch(page, -1)
		require.NotEmpty(t, examples, "%s has an example", name)

		for _, match := range examples {
			example := match[1]
			isCopy := strings.Contains(sources, example) // require.Contains would print all sources
			require.True(t, isCopy, "%s has an example from test/outsider or adapters:\n%s", name, example)
			require.LessOrEqual(t, strings.Count(example, "\n"), maxExampleLines, name)
		}
	}
}
