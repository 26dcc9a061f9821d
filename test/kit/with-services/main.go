// Command with-services runs a command beside a private Postgres and a private
// Redis, whose addresses the command finds in LOCUM_TEST_POSTGRES_URL and
// LOCUM_TEST_REDIS_URL, and with LOCUM_TEST_HEAVY beside a private MariaDB
// (LOCUM_TEST_MARIADB_URL):
//
//	go run ./test/kit/with-services -- go test ./...
//
// Starting each server once saves every test process from starting its own.
// It exits with the command's code.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/locumhq/locum/test/kit/services"
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: with-services [--] COMMAND [ARG]...")
		os.Exit(2)
	}
	os.Exit(run(args))
}

// run starts the services that are not given, then the command with their URLs in its
// environment, and returns its exit code.
func run(args []string) int {
	// A signal that arrives before the command runs is buffered here until it
	// can be forwarded.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)

	env := os.Environ()
	for _, service := range []struct {
		name, variable string
		start          func() (*services.Server, error)
	}{
		{"postgres", "LOCUM_TEST_POSTGRES_URL", services.Postgres},
		{"redis", "LOCUM_TEST_REDIS_URL", services.Redis},
		{"mariadb", "LOCUM_TEST_MARIADB_URL", services.MariaDB},
	} {
		if service.name == "mariadb" && os.Getenv("LOCUM_TEST_HEAVY") == "" {
			continue // only the long tests use it
		}
		if given := os.Getenv(service.variable); given != "" {
			fmt.Fprintf(os.Stderr, "with-services: %s is given: %s\n", service.name, given)
			continue
		}
		server, err := service.start()
		if err != nil {
			// The tests report a missing service, and decide whether that is an error.
			fmt.Fprintf(os.Stderr, "with-services: no %s: %v\n", service.name, err)
			continue
		}
		defer server.Stop()
		fmt.Fprintf(os.Stderr, "with-services: %s at %s (%s, pid %d)\n", service.name, server.URL, server.Where, server.PID())
		env = append(env, service.variable+"="+server.URL)
	}

	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdin, os.Stdout, os.Stderr, env
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "with-services:", err)
		return 127
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	err := cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode()
	case errors.As(err, &exit):
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return 128 + int(status.Signal())
		}
	}
	return 1
}
