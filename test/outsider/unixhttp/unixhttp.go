// Package unixhttp serves the developer API to programs on the same machine: HTTP on
// a Unix socket, with the standard library only.
package unixhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/developer"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/trace"
	"github.com/locumhq/locum/modules/integrations"
)

// Server is an adapters.Transport.
type Server struct {
	path      string // of the socket
	api       web.API
	admission web.Admission
	newID     id.Source
	log       *slog.Logger
	http      http.Server
}

// Open returns a server of the developer API on developer.sock in the data folder.
func Open(_ context.Context, s adapters.Services, d adapters.Deps) (adapters.Transport, error) {
	return New(filepath.Join(d.DataFolder, "developer.sock"), developer.API(s, d.PublicURL), s, d.Tracer, d.NewID,
		d.Log), nil
}

// New returns a server of the API on the socket.
func New(
	path string, api web.API, s adapters.Services, tracer trace.Tracer, newID id.Source, log *slog.Logger,
) *Server {
	server := &Server{
		path: path, api: api, newID: newID, log: log,
		admission: web.Admission{Identity: s.Identity, Limiter: s.Limiter, Idempotency: s.Idempotency, Tracer: tracer},
	}

	mux := http.NewServeMux()
	for _, r := range api.Routes {
		for _, pattern := range api.Paths(r) {
			mux.HandleFunc(r.Method+" "+parameter.ReplaceAllString(pattern, "{$1}"), server.handler(r))
		}
	}

	mux.HandleFunc("/", server.unknown)

	server.http = http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute}

	return server
}

// parameter matches a parameter in the path of a route, such as :id, which is {id} in a pattern of net/http.
var parameter = regexp.MustCompile(`:(\w+)`)

// Start implements adapters.Transport. The socket file of a killed process is
// replaced.
func (s *Server) Start(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}

	// Nothing accepts connections on the socket of a killed process.
	var dialer net.Dialer
	if conn, err := dialer.DialContext(ctx, "unix", s.path); err == nil {
		_ = conn.Close()
		return fmt.Errorf("another process listens on %s", s.path)
	}

	if err := os.Remove(s.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}

	var config net.ListenConfig

	listener, err := config.Listen(ctx, "unix", s.path)
	if err != nil {
		return err
	}

	go func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("socket server stopped", "error", err)
		}
	}()

	return nil
}

// Shutdown implements adapters.Transport.
func (s *Server) Shutdown(ctx context.Context) error { return s.http.Shutdown(ctx) }

// handler returns the handler of a route.
func (s *Server) handler(route web.Route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.respond(w, r, func(in web.Incoming) (web.Answer, error) {
			_, answer, err := s.admission.Execute(r.Context(), s.api, route, in)
			return answer, err
		})
	}
}

// unknown handles requests that match no route.
func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	s.respond(w, r, func(web.Incoming) (web.Answer, error) { return web.Answer{}, web.ErrNoRoute })
}

// peer is the address of all clients, which are programs on this machine.
const peer = "unix"

// respond authenticates the client, calls run and sends its answer, or the answer for an error. It logs
// unexpected errors. It passes the status to the authenticator, which counts the calls of applications.
func (s *Server) respond(w http.ResponseWriter, r *http.Request, run func(in web.Incoming) (web.Answer, error)) {
	in := s.incoming(w, r)
	caller, headers, err := s.api.Authenticator.Authenticate(
		r.Context(),
		web.AuthRequest{Authorization: r.Header.Values("Authorization"), APIKey: r.Header.Values("X-API-Key"), Address: peer},
	)
	var answer web.Answer

	in.Caller = caller
	if err == nil {
		answer, err = run(in)
	}

	// RenderError replaces the answer of an operation that failed. The headers that the operation has set
	// are sent nevertheless, and take precedence over those of the error.
	operationHeaders := answer.Headers
	if err != nil {
		if fault.KindOf(err) == fault.Internal {
			s.log.Error("request failed", "request_id", in.RequestID, "error", err)
		}

		answer = s.api.RenderError(err, in.URLPath, in.RequestID)
	}

	requestID := map[string]string{"X-Request-Id": in.RequestID}
	for _, group := range []map[string]string{answer.Headers, headers, operationHeaders, requestID} {
		for name, value := range group {
			w.Header().Set(name, value)
		}
	}

	w.WriteHeader(answer.Status)

	if answer.Stream != nil {
		_, err = io.Copy(w, answer.Stream)
		_ = answer.Stream.Close()
	} else {
		_, err = w.Write(answer.Body)
	}

	if err != nil {
		s.log.Debug("client disconnected", "request_id", in.RequestID, "error", err)
	}

	isApplication := caller.App.ID != ""
	if isApplication {
		s.api.Authenticator.Done(caller, answer.Status)
	}
}

// incoming returns the request as the input of route tables.
func (s *Server) incoming(w http.ResponseWriter, r *http.Request) web.Incoming {
	query := r.URL.Query()

	return web.Incoming{
		Request: web.Request{
			Path:   r.PathValue,
			Query:  func(name string) []string { return query[name] },
			Header: r.Header.Get,
			Cookie: func(string) string { return "" },
		},
		Headers:   r.Header.Values,
		Address:   peer,
		URL:       r.URL.RequestURI(),
		URLPath:   r.URL.Path,
		RequestID: s.newID(),
		Caller:    integrations.Caller{},
		ReadBody: func(_ string, limit int) ([]byte, error) {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(limit)))

			var large *http.MaxBytesError
			if errors.As(err, &large) {
				return nil, web.ErrTooLarge
			}

			return body, err
		},
	}
}
