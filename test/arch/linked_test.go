package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// program is the package of the binary.
const program = module + "/bootstrap/cmd/locum"

// notLinked has the beginnings of the paths of packages that the program must not contain: those for tests and
// builds, and libraries that were replaced because they require more than the program uses.
var notLinked = []string{
	"github.com/stretchr/testify", "github.com/golang/mock", "go.uber.org/mock", "go.uber.org/goleak", "net/http/httptest",
	"github.com/mattn/goveralls", "github.com/ory/", "github.com/chromedp/", "github.com/pb33f/", "github.com/CycloneDX/",
	"github.com/emersion/", "github.com/standard-webhooks/", "golang.org/x/mod", "github.com/sirupsen/logrus", module + "/test/",
}

// Types of gRPC are used by the exporter of traces (openTraces). No other package may link gRPC.
const (
	grpc       = "google.golang.org/grpc"
	openTraces = "go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
)

// linkedPackages returns the imports of the packages of the program, by path.
func linkedPackages(t *testing.T) map[string][]string {
	t.Helper()

	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Imports", program)
	list.Dir = filepath.Join("..", "..")
	out, err := list.Output()
	require.NoError(t, err)

	importsByPath := map[string][]string{}

	decoder := json.NewDecoder(bytes.NewReader(out)) // go list prints one object after another
	for {
		var pkg struct {
			ImportPath string
			Imports    []string
		}

		err := decoder.Decode(&pkg)
		if errors.Is(err, io.EOF) {
			return importsByPath
		}

		require.NoError(t, err)

		importsByPath[pkg.ImportPath] = pkg.Imports
	}
}

// importChain returns the shortest chain of imports from the program to a package whose path begins with the prefix,
// or nil if there is none. If except is not empty, chains through packages whose paths begin with it are ignored.
func importChain(importsByPath map[string][]string, prefix, except string) []string {
	// Breadth-first search: the queue has chains to packages whose imports were not visited yet, the shortest first.
	queue := [][]string{{program}}

	visited := map[string]bool{program: true}
	for len(queue) > 0 {
		chain := queue[0]
		queue = queue[1:]

		last := chain[len(chain)-1]
		for _, imported := range importsByPath[last] {
			isExcepted := except != "" && strings.HasPrefix(imported, except)
			if visited[imported] || isExcepted {
				continue
			}

			visited[imported] = true

			next := append(slices.Clone(chain), imported)
			if strings.HasPrefix(imported, prefix) {
				return next
			}

			queue = append(queue, next)
		}
	}

	return nil
}

// TestProgram_LinkedPackages_AreNeeded checks that the binary contains no package for tests, no
// library that was replaced, and no gRPC beyond the types that traces need. A message names the
// chain of imports.
func TestProgram_LinkedPackages_AreNeeded(t *testing.T) {
	t.Parallel()

	importsByPath := linkedPackages(t)
	const noException = ""
	require.NotNil(t, importChain(importsByPath, "gorm.io/gorm", noException), "importChain finds a package that is linked")

	for _, prefix := range notLinked {
		chain := importChain(importsByPath, prefix, noException)
		require.Nil(t, chain, "%s is linked: %s", prefix, strings.Join(chain, " imports "))
	}

	chain := importChain(importsByPath, grpc, openTraces)
	require.Nil(t, chain, "gRPC is linked: %s", strings.Join(chain, " imports "))
}
