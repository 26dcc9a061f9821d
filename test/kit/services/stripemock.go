package services

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// stripeMockVersion is the version of Stripe's mock server that is built if none is installed.
const stripeMockVersion = "v0.203.0"

// StripeMock starts Stripe's mock server. The server checks requests against the published OpenAPI
// description of Stripe's API and responds with examples. It stores nothing.
func StripeMock() (*Server, error) {
	bin, err := exec.LookPath("stripe-mock")
	if err != nil {
		bin, err = buildGoProgram("github.com/stripe/stripe-mock", stripeMockVersion)
		if err != nil {
			return nil, fmt.Errorf("stripe-mock: %w", err)
		}
	}

	dir, err := dataDir("stripe-mock", nil)
	if err != nil {
		return nil, err
	}

	port, release, err := ReservePort()
	if err != nil {
		return nil, err
	}

	address := fmt.Sprintf("127.0.0.1:%d", port)
	server := &Server{
		URL:     "http://" + address,
		Where:   bin,
		name:    "stripe-mock",
		dir:     dir,
		argv:    []string{bin, "-http-addr", address},
		quit:    syscall.SIGTERM,
		release: release,
	}
	server.ping = func() error {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return err
		}

		return conn.Close()
	}

	return server, server.Start()
}

// buildGoProgram returns the path of a Go program. The first call builds the program from the
// source of its module; later calls return the same file. Several processes may call buildGoProgram
// at the same time.
func buildGoProgram(module, version string) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}

	name := filepath.Base(module)
	root := filepath.Join(cache, name+"-"+version+"-"+runtime.GOARCH)

	unlock, err := lockFile(root + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()

	bin := filepath.Join(root, name)
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}

	install := exec.Command("go", "install", module+"@"+version)
	install.Dir = cache // a folder outside of any module, whose go.mod would affect the build
	install.Env = append(os.Environ(), "GOBIN="+root, "GOFLAGS=", "CGO_ENABLED=0")

	if output, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w: %s", module, err, strings.TrimSpace(string(output)))
	}

	return bin, nil
}
