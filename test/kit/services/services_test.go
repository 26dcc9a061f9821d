package services

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// TestServer_Lifecycle checks the faults that tests inject: a killed server keeps its address
// and its data, a paused one does not respond, and a stopped one leaves no files.
func TestServer_Lifecycle(t *testing.T) {
	t.Parallel()

	server, err := Postgres()
	if err != nil {
		t.Skip(err)
	}

	t.Cleanup(server.Stop)

	query := func(timeout time.Duration, sql string) error {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()

		conn, err := pgx.Connect(ctx, server.URL)
		if err != nil {
			return err
		}

		defer func() { _ = conn.Close(ctx) }()

		_, err = conn.Exec(ctx, sql)

		return err
	}

	const timeout = 30 * time.Second // a running server responds much faster

	// The checkpoint writes the table to the data directory, so that it survives a SIGKILL.
	require.NoError(t, query(timeout, "CREATE TABLE kept (n int); CHECKPOINT"))

	// A killed server has the same address and data when it is started again.
	server.Kill()
	require.Error(t, query(timeout, "SELECT 1"), "the server is killed")
	require.NoError(t, server.Start())
	require.NoError(t, query(timeout, "SELECT n FROM kept"), "restarted with the same address and data")

	// A paused server does not respond until it is resumed.
	server.Pause()
	require.Error(t, query(300*time.Millisecond, "SELECT 1"), "the server is paused")
	server.Resume()
	require.NoError(t, query(timeout, "SELECT n FROM kept"), "the server is resumed")

	// A stopped server leaves no files.
	server.Stop()

	_, err = os.Stat(server.dir)
	require.ErrorIs(t, err, os.ErrNotExist, "the server is stopped")
}

// TestReservePort_ServerDown_PortStaysReserved checks that no other program can take the port of
// a server while the server is down, and that clients are refused as by an unused port.
func TestReservePort_ServerDown_PortStaysReserved(t *testing.T) {
	t.Parallel()

	if runtime.GOOS != "linux" {
		t.Skip("ports can be reserved on Linux only")
	}

	port, release, err := ReservePort()
	require.NoError(t, err)
	t.Cleanup(release)

	address := fmt.Sprintf("127.0.0.1:%d", port)
	for range 2 { // the second time as a restarted server
		listener, err := Listen(address)
		require.NoError(t, err)

		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		require.NoError(t, errors.Join(conn.Close(), listener.Close()))
	}

	_, err = net.Dial("tcp", address)
	require.ErrorIs(t, err, syscall.ECONNREFUSED, "a reserved port refuses connections")

	otherSocket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(otherSocket) })

	err = syscall.Bind(otherSocket, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	require.ErrorIs(t, err, syscall.EADDRINUSE, "a reserved port cannot be bound without SO_REUSEADDR")
}

// TestFetchPackages_NotInstalled_Downloads checks that servers that are not installed on the machine
// are downloaded and start. That needs a network and some seconds; LOCUM_TEST_FETCH=1 enables it.
func TestFetchPackages_NotInstalled_Downloads(t *testing.T) {
	if os.Getenv("LOCUM_TEST_FETCH") == "" {
		t.Skip("LOCUM_TEST_FETCH is not set")
	}

	cache, err := os.MkdirTemp("", "locum-test-fetch-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(cache) })
	require.NoError(t, os.Chmod(cache, 0o755)) // the unprivileged user of the servers reads it too
	t.Setenv("XDG_CACHE_HOME", cache)

	notInstalled := func() (string, error) { return "", errors.New("not installed") }

	postgresServer, err := postgres(notInstalled)
	require.NoError(t, err)
	postgresServer.Stop()

	mariaDBServer, err := mariaDB(func() (mariaDBFiles, error) { return mariaDBFiles{}, errors.New("not installed") })
	require.NoError(t, err)
	mariaDBServer.Stop()

	redisServer, err := redis(notInstalled)
	require.NoError(t, err)
	redisServer.Stop()
}

// TestParseDependencies checks that alternatives ("|Depends: a" and the next line) are one
// dependency, and that providers of a virtual package are skipped.
func TestParseDependencies(t *testing.T) {
	t.Parallel()

	dependenciesOf := parseDependencies(`redis-server
  PreDepends: init
 |Depends: a
  Depends: b
  Depends: <virtual>
    provider
b
`)
	require.Equal(t, [][]string{{"init"}, {"a", "b"}, {"<virtual>"}}, dependenciesOf["redis-server"])
	require.Empty(t, dependenciesOf["b"])
}
