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

// TestServer_Restarted_KeepsItsData checks the faults that tests inject: a killed server keeps
// its address and its data, a paused one does not reply, and a stopped one leaves no files.
func TestServer_Restarted_KeepsItsData(t *testing.T) {
	t.Parallel()
	server, err := Postgres()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(server.Stop)
	ctx := context.Background()
	query := func(sql string) error {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		c, err := pgx.Connect(ctx, server.URL)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close(ctx) }()
		_, err = c.Exec(ctx, sql)
		return err
	}
	require.NoError(t, query("CREATE TABLE kept (n int); CHECKPOINT"))

	server.Kill()
	require.Error(t, query("SELECT 1"), "down")
	require.NoError(t, server.Start())
	require.NoError(t, query("SELECT n FROM kept"), "restarted with the same address and data")

	server.Pause()
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	require.Error(t, query("SELECT 1"), "paused servers do not answer")
	cancel()
	server.Resume()
	ctx = context.Background()
	require.NoError(t, query("SELECT n FROM kept"))

	server.Stop()
	_, err = os.Stat(server.dir)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestPort_IsReserved checks that no other program can take the port of a server while it is
// down, although clients are refused as by an unused port.
func TestPort_IsReserved(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("ports can be reserved on Linux only")
	}
	port, letGo, err := ReservePort()
	require.NoError(t, err)
	t.Cleanup(letGo)
	for range 2 { // also after it was there
		l, err := Listen(fmt.Sprintf("127.0.0.1:%d", port))
		require.NoError(t, err)
		c, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		require.NoError(t, errors.Join(c.Close(), l.Close()))
	}
	_, err = net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	require.ErrorIs(t, err, syscall.ECONNREFUSED, "a reserved port refuses connections")
	other, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(other) })
	require.ErrorIs(t, syscall.Bind(other, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}),
		syscall.EADDRINUSE, "a reserved port cannot be bound without SO_REUSEADDR")
}

// TestFetch_NotInstalled_Downloads checks that servers that are not installed on the machine are
// downloaded. That needs a network and some seconds; LOCUM_TEST_FETCH=1 enables it.
func TestFetch_NotInstalled_Downloads(t *testing.T) {
	if os.Getenv("LOCUM_TEST_FETCH") == "" {
		t.Skip("LOCUM_TEST_FETCH is not set")
	}
	// hidden reports an installed server as missing.
	hidden := func() (string, error) { return "", errors.New("hidden") }
	cache, err := os.MkdirTemp("", "locum-test-fetch-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(cache) })
	require.NoError(t, os.Chmod(cache, 0o755)) // the server's user reads it too
	t.Setenv("XDG_CACHE_HOME", cache)
	pg, err := postgres(hidden)
	require.NoError(t, err)
	pg.Stop()
	my, err := mariaDB(func() (mariaDBFiles, error) { return mariaDBFiles{}, errors.New("hidden") })
	require.NoError(t, err)
	my.Stop()
	rd, err := redis(hidden)
	require.NoError(t, err)
	rd.Stop()
}

// TestAptCache_Output_IsParsed checks that alternatives ("|Depends: a" and the next line) are
// one entry of which one package suffices, and that the providers of a virtual package are
// skipped.
func TestAptCache_Output_IsParsed(t *testing.T) {
	t.Parallel()
	needs := dependencies("redis-server\n  PreDepends: init\n |Depends: a\n  Depends: b\n  Depends: <virtual>\n    provider\nb\n")
	require.Equal(t, [][]string{{"init"}, {"a", "b"}, {"<virtual>"}}, needs["redis-server"])
	require.Empty(t, needs["b"])
}
