package fiberhttp

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/test/conformance/transports"
)

// listeningServer is a Server with its listener. It implements adapters.Transport, which starts without
// an argument.
type listeningServer struct {
	*Server
	listener net.Listener
}

// Start implements adapters.Transport. It serves the listener in the background.
func (s *listeningServer) Start(context.Context) error {
	go func() { _ = s.Serve(s.listener) }()
	return nil
}

// TestServer_Conformance runs the suite for transports against the server. Without keep-alive,
// each request of the suite opens a connection, so that it notices when the server stops.
func TestServer_Conformance(t *testing.T) {
	t.Parallel()
	transports.Transport(t, openListeningServer)
}

// openListeningServer returns a server of the API that listens on a free port, and its client.
func openListeningServer(
	t testing.TB,
	services adapters.Services,
	api web.API,
) (adapters.Transport, transports.TransportClient) {
	t.Helper()

	server, err := New(
		services,
		Options{
			PublicURL: "http://localhost",
			Metrics:   prometheus.NewRegistry(),
			NewID:     uuid.NewString,
			Log:       slog.New(slog.DiscardHandler),
			APIs:      []web.API{api},
		},
	)
	require.NoError(t, err)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	url := "http://" + listener.Addr().String()

	return &listeningServer{Server: server, listener: listener}, transports.HTTPClient(client, url)
}
