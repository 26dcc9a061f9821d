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

// adapterDocs is the folder with the pages for authors of adapters.
const adapterDocs = "../outsider/docs"

// otherPorts are the ports that are not part of a storage, by the option that registers
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

// unstable are the ports that will change.
var unstable = map[string]bool{
	"integrations.Webhooks":   true,
	"integrations.Deliveries": true,
	"integrations.Grants":     true,
	"integrations.Consents":   true,
	"task.Store":              true,
}

// partlyOptional are the notes on fields that are optional for some modules only.
var partlyOptional = map[string]string{"Audit": "optional (required for identity)", "Tasks": "optional (billing, listings)"}

// suitesByPort returns the suites that check a port, as the doc comments say.
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

// methodsOf returns the methods of a port, or an empty slice for a function.
func methodsOf(port reflect.Type) (names []string) {
	if port.Kind() == reflect.Interface {
		for m := range port.Methods() {
			names = append(names, m.Name)
		}
	}

	return names
}

// writePortRows writes a table row for each port of a storage struct and returns the number of
// methods.
func writePortRows(b *strings.Builder, ports reflect.Type, suites map[string]string) (methods int) {
	for i := range ports.NumField() {
		f := ports.Field(i)
		if f.Anonymous || f.Type.Kind() == reflect.Bool {
			continue
		}

		notes := "required"
		if f.Tag.Get("port") == "optional" {
			notes = cmp.Or(partlyOptional[f.Name], "optional")
		}

		if unstable[f.Type.String()] {
			notes += ", unstable"
		}

		names := methodsOf(f.Type)
		methods += len(names)
		fmt.Fprintf(b, "| %s | `%s` | %s | %s | %s |\n", f.Name, f.Type, strings.Join(names, ", "), notes,
			suites[f.Type.String()])
	}

	return methods
}

// generatePortsPage returns the page that lists the ports, and the number of methods of a
// storage.
func generatePortsPage(t *testing.T) (page string, methods int) {
	t.Helper()
	var tables strings.Builder
	suites := suitesByPort(t)
	header := func(title string) {
		fmt.Fprintf(&tables, "\n## %s\n\n| Field | Port | Methods | | Suite |\n|---|---|---|---|---|\n", title)
	}
	header("Database, of every module")

	methods = writePortRows(&tables, reflect.TypeFor[adapters.Database](), suites)
	for module := range reflect.TypeFor[adapters.Storage]().Fields() {
		header("Storage of " + strings.ToLower(module.Name))

		methods += writePortRows(&tables, module.Type, suites)
	}

	fmt.Fprintf(&tables, "\n## Other adapters\n\n| Option | Port | Methods | Suite |\n|---|---|---|---|\n")

	for _, p := range otherPorts {
		fmt.Fprintf(&tables, "| `bootstrap.%s` | `%s` | %s | %s |\n", p.option, p.port,
			strings.Join(methodsOf(p.port), ", "), suites[p.port.String()])
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

// sections are the titles of the sections of each page about a port.
var sections = []string{"Contract", "Lifecycle", "Errors", "While the backend is unavailable", "Conformance suite", "Example"}

// adopterPages returns the pages about ports by their names.
func adopterPages(t *testing.T) map[string]string {
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

	var all strings.Builder
	for _, root := range roots {
		require.NoError(t, filepath.Walk(root, func(path string, _ os.FileInfo, err error) error {
			if err != nil || filepath.Ext(path) != ".go" {
				return err
			}

			text, err := os.ReadFile(path)
			all.Write(text)

			return err
		}))
	}

	return all.String()
}

// TestPorts_EveryPort_HasAPage checks that each port is explained on a page, and that each page
// has all sections.
func TestPorts_EveryPort_HasAPage(t *testing.T) {
	t.Parallel()

	var all strings.Builder
	for name, page := range adopterPages(t) {
		all.WriteString(page)

		for _, section := range sections {
			require.Contains(t, page, "\n## "+section+"\n", name)
		}
	}

	for _, p := range otherPorts {
		require.Contains(t, all.String(), "bootstrap."+p.option, p.port)
		require.Contains(t, all.String(), "`"+p.port.String()+"`")
	}

	for m := range reflect.TypeFor[adapters.Storage]().Fields() {
		require.Contains(t, all.String(), "`adapters."+m.Type.Name()+"`")
	}
}

// TestPorts_Pages_NameWhatExists checks that the suites that pages name exist, and that their
// examples are copies of code that is compiled and tested.
func TestPorts_Pages_NameWhatExists(t *testing.T) {
	t.Parallel()

	suites, examples := sourcesIn(t, "../conformance"), sourcesIn(t, "../outsider", "../../adapters")
	for name, page := range adopterPages(t) {
		for _, suite := range regexp.MustCompile("`conformance\\.(\\w+)`").FindAllStringSubmatch(page, -1) {
			require.Regexp(t, `\n(func|type) `+suite[1]+`[(\[]`, suites, "%s names a suite", name)
		}

		code := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(page, -1)
		require.NotEmpty(t, code, "%s has an example", name)

		for _, block := range code {
			isCopy := strings.Contains(examples, block[1]) // require.Contains would print all sources
			require.True(t, isCopy, "%s has an example from test/outsider or adapters:\n%s", name, block[1])
			require.LessOrEqual(t, strings.Count(block[1], "\n"), 15, name)
		}
	}
}
