package kit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// folder returns the temporary folder of the programs, which is created on first use.
var folder = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "locum-program-") })

// built returns a function that builds the program once with the build tags.
func built(name, tags string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		dir, err := folder()
		if err != nil {
			return "", err
		}
		path := filepath.Join(dir, name)
		out, err := exec.Command("go", "build", "-tags", tags, "-o", path, "github.com/locumhq/locum/bootstrap/cmd/locum").CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("building: %w: %s", err, out)
		}
		return path, nil
	})
}

// program and failing build the programs of Program and FailingProgram.
var program, failing = built("locum", ""), built("locum-failpoints", "failpoints")

// Program returns the path of the built program. The package's TestMain must call
// Main.
func Program(t testing.TB) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// FailingProgram returns the path of the program built with the tag failpoints.
// LOCUM_TEST_FAILPOINT kills it at the point that it names, and LOCUM_TEST_CLOCK is a file with
// an offset of its clock.
func FailingProgram(t testing.TB) string {
	t.Helper()
	path, err := failing()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Main runs a package's tests and deletes the programs that they built.
func Main(m *testing.M) {
	code := m.Run()
	if dir, err := folder(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}
