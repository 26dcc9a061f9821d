package kit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// programDir returns the temporary folder of the programs, which is created on first use.
var programDir = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "locum-program-") })

var (
	buildProgram        = newBuild("locum", "")
	buildFailingProgram = newBuild("locum-failpoints", "failpoints")
)

// newBuild returns a function that returns the path of the program. Its first call builds the
// program with the build tags.
func newBuild(name, tags string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		dir, err := programDir()
		if err != nil {
			return "", err
		}

		path := filepath.Join(dir, name)
		build := exec.Command("go", "build", "-tags", tags, "-o", path, "github.com/locumhq/locum/bootstrap/cmd/locum")

		out, err := build.CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("building: %w: %s", err, out)
		}

		return path, nil
	})
}

// Program returns the path of the built program. The package's TestMain must call
// Main.
func Program(t testing.TB) string {
	t.Helper()

	path, err := buildProgram()
	if err != nil {
		t.Fatal(err)
	}

	return path
}

// FailingProgram returns the path of the program built with the tag failpoints, which reads two
// more environment variables: LOCUM_TEST_FAILPOINT is the name of the point at which the program
// kills itself, and LOCUM_TEST_CLOCK is a file with the offset of the program's clock.
func FailingProgram(t testing.TB) string {
	t.Helper()

	path, err := buildFailingProgram()
	if err != nil {
		t.Fatal(err)
	}

	return path
}

// Main runs a package's tests and deletes the programs that they built.
func Main(m *testing.M) {
	code := m.Run()

	if dir, err := programDir(); err == nil {
		_ = os.RemoveAll(dir)
	}

	os.Exit(code)
}
