package fiberhttp

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/test/conformance/transports"
)

// listeningServer is a server as a transport.
type listeningServer struct {
	*Server
	addr string
}

// Start implements adapters.Transport.
func (s *listeningServer) Start(context.Context) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.addr = l.Addr().String()
	go func() { _ = s.Serve(l) }()
	return nil
}

func TestServer_Conformance(t *testing.T) {
	t.Parallel()
	transports.Transport(t, func(t testing.TB, services adapters.Services, surface web.Surface) (adapters.Transport, transports.TransportClient) {
		server, err := New(services, Options{PublicURL: "http://localhost", Metrics: prometheus.NewRegistry(), NewID: uuid.NewString, Log: slog.New(slog.DiscardHandler), Surfaces: []web.Surface{surface}})
		require.NoError(t, err)
		s := &listeningServer{Server: server}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		return s, func(ctx context.Context, r transports.TransportRequest) (answer transports.TransportAnswer, err error) {
			request, err := http.NewRequestWithContext(ctx, r.Method, "http://"+s.addr+r.Path, strings.NewReader(r.Body))
			if err != nil {
				return answer, err
			}
			for name, value := range r.Header {
				request.Header.Set(name, value)
			}
			response, err := client.Do(request)
			if err != nil {
				return answer, err
			}
			defer func() { _ = response.Body.Close() }()
			answer.Status = response.StatusCode
			answer.Body, err = io.ReadAll(response.Body)
			return answer, err
		}
	})
}
