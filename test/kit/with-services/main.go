// Command with-services runs a command with a private Postgres and a private Redis, whose URLs
// are in the command's environment variables LOCUM_TEST_POSTGRES_URL and LOCUM_TEST_REDIS_URL.
// If LOCUM_TEST_HEAVY is set, it also starts a private MariaDB (LOCUM_TEST_MARIADB_URL):
//
//	go run ./test/kit/with-services -- go test ./...
//
// Starting each server once saves every test process from starting its own.
// A service whose URL is already in the environment is not started. with-services exits with
// the exit code of the command.
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

// run starts the services whose URLs are not in the environment, runs the command with the URLs
// of all services, and returns the exit code of the command.
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
		{name: "postgres", variable: "LOCUM_TEST_POSTGRES_URL", start: services.Postgres},
		{name: "redis", variable: "LOCUM_TEST_REDIS_URL", start: services.Redis},
		{name: "mariadb", variable: "LOCUM_TEST_MARIADB_URL", start: services.MariaDB},
	} {
		if service.name == "mariadb" && os.Getenv("LOCUM_TEST_HEAVY") == "" {
			continue // only the long tests use it
		}

		if url := os.Getenv(service.variable); url != "" {
			fmt.Fprintf(os.Stderr, "with-services: %s from the environment: %s\n", service.name, url)
			continue
		}

		server, err := service.start()
		if err != nil {
			// The tests that need the service are skipped, or fail if it is required.
			fmt.Fprintf(os.Stderr, "with-services: %s is unavailable: %v\n", service.name, err)
			continue
		}
		defer server.Stop()

		fmt.Fprintf(os.Stderr, "with-services: %s at %s (%s, pid %d)\n", service.name, server.URL, server.Where, server.PID())

		env = append(env, service.variable+"="+server.URL)
	}

	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin = os.Stdin
	cmd.Stdout = os.Stdout
	cmd.Stderr = os.Stderr

	cmd.Env = env

	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "with-services:", err)
		return 127 // as a shell returns for a command that is not found
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
			return 128 + int(status.Signal()) // as a shell does
		}
	}

	return 1
}
