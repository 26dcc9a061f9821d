package kit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "locum-program-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "locum")
	out, err := exec.Command("go", "build", "-o", path, "github.com/locumhq/locum/bootstrap/cmd/locum").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building: %w: %s", err, out)
	}
	return path, nil
})

// Program is the path of the built program. The package's TestMain calls Main.
func Program(t testing.TB) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Main runs a package's tests and removes the program that they built.
func Main(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}
