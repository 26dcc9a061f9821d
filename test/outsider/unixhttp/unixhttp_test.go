package unixhttp_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"example.org/outsider/unixhttp"
	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/trace"
	"github.com/locumhq/locum/test/conformance/transports"
)

// socket returns the path of a socket that is short enough: the system allows about 100 bytes,
// and the folder of a test may be longer.
func socket(t testing.TB) string {
	t.Helper()

	folder, err := os.MkdirTemp("", "unixhttp")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })

	return filepath.Join(folder, "s")
}

// open returns a server on a new socket and a client of it.
func open(t testing.TB, s adapters.Services, api web.API) (adapters.Transport, transports.TransportClient) {
	path := socket(t)
	server := unixhttp.New(path, api, s, trace.Off{}, uuid.NewString, slog.New(slog.DiscardHandler))
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}

	client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}

	return server, transports.HTTPClient(client, "http://unix")
}

// TestTransport_Conformance runs the suite for transports.
func TestTransport_Conformance(t *testing.T) {
	t.Parallel()
	transports.Transport(t, open)
}

// TestStart_SocketExists_IsReplacedIfAbandoned checks that the socket of a process that was killed
// is replaced, and that the socket of a running process is an error.
func TestStart_SocketExists_IsReplacedIfAbandoned(t *testing.T) {
	t.Parallel()

	path := socket(t)
	newServer := func() *unixhttp.Server {
		return unixhttp.New(path, web.API{}, adapters.Services{}, trace.Off{}, uuid.NewString,
			slog.New(slog.DiscardHandler))
	}

	abandoned, err := net.Listen("unix", path)
	require.NoError(t, err)
	abandoned.(*net.UnixListener).SetUnlinkOnClose(false) // the file remains, as after a kill
	require.NoError(t, abandoned.Close())

	first := newServer()
	require.NoError(t, first.Start(t.Context()), "a socket without a listener is replaced")
	require.ErrorContains(t, newServer().Start(t.Context()), "another process listens on "+path)
	require.NoError(t, first.Shutdown(t.Context()))
}
