// Package mcp serves the Model Context Protocol (https://modelcontextprotocol.io), with
// which assistants (programs with a language model) call the operations of the developer API as tools.
// The server has no sessions: the Authenticator of that API authenticates and limits each request, and
// each tool executes a route of that API.
package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/locumhq/locum/adapters/web"
	coreauth "github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/integrations"
)

const (
	// Path is the path of the server.
	Path = "/mcp"
	// MetadataPath is the metadata of the protected resource (RFC 9728 §3.1).
	MetadataPath = "/.well-known/oauth-protected-resource" + Path
)

// Options configure the server.
type Options struct {
	// API is the developer API, with an Authenticator.
	API       web.API
	Admission web.Admission
	Hiring    *hiring.Service
	// Vault encrypts confirmation codes.
	Vault coreauth.Vault
	// PublicURL is the address of the service without a trailing slash.
	PublicURL string
}

// Server is an adapters.HTTPTransport.
type Server struct {
	options  Options
	routes   map[string]web.Route // routes of the API by method and path, such as "GET /api/v1/jobs"
	protocol http.Handler         // handler of the library for Path
	metadata http.Handler         // handler of the library for MetadataPath
}

// New returns the server. It fails if the API has no route for a tool.
func New(o Options) (*Server, error) {
	s := &Server{options: o, routes: map[string]web.Route{}}
	for _, r := range o.API.Routes {
		s.routes[r.Method+" "+r.Path] = r
	}

	server := mcp.NewServer(
		&mcp.Implementation{Name: "locum", Title: "locum, jobs in healthcare", Version: o.API.Version, WebsiteURL: o.PublicURL},
		&mcp.ServerOptions{
			Instructions: instructions,
			// The list of tools never changes.
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		},
	)
	if err := s.addTools(server); err != nil {
		return nil, err
	}

	s.protocol = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless:                    true,
		JSONResponse:                 true,
		PropagateRequestCancellation: true,
		// This protection would reject the requests of a proxy on this machine, whose Host is the name of
		// the service. checkOrigin protects against DNS rebinding instead.
		DisableLocalhostProtection: true,
	})
	s.metadata = auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource:               o.PublicURL + Path,
		AuthorizationServers:   []string{o.PublicURL},
		ScopesSupported:        supportedScopes(),
		BearerMethodsSupported: []string{"header"},
		ResourceName:           "locum MCP server",
		ResourceDocumentation:  o.PublicURL + "/docs/guides/mcp",
	})

	return s, nil
}

// supportedScopes returns the names of all scopes.
func supportedScopes() []string {
	return web.Each(integrations.Scopes(), func(s integrations.Scope) string { return string(s) })
}

// Prefixes implements adapters.HTTPTransport.
func (s *Server) Prefixes() []string { return []string{Path, MetadataPath} }

// Start implements adapters.Transport.
func (s *Server) Start(context.Context) error { return nil }

// Shutdown implements adapters.Transport.
func (s *Server) Shutdown(context.Context) error { return nil }

// exchange is an HTTP request to the server with its authenticated client.
type exchange struct {
	address   string // of the client
	requestID string
	header    http.Header
	caller    integrations.Caller
	// status is the HTTP status that the operation of a tool would have in the developer API. It is 0 if no
	// tool was called. The library calls tools in other goroutines.
	status atomic.Int64
}

// exchangeKey is the key of the exchange in the context of a request.
type exchangeKey struct{}

// ServeHTTP serves the protocol and the metadata. Any other path below them is a 404.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case MetadataPath:
		w.Header().Set("Cache-Control", "public, max-age=3600")
		s.metadata.ServeHTTP(w, r)
	case Path:
		s.serve(w, r)
	default:
		s.writeFault(w, r, web.ErrNoRoute)
	}
}

// serve authenticates the client and checks the message before it passes the request to the library.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if err := s.checkOrigin(r); err != nil {
		s.writeFault(w, r, err)
		return
	}

	x, err := s.authenticate(w, r)

	response := &statusWriter{ResponseWriter: w, status: http.StatusOK}

	// Count the request of a known application. A failure of a tool is a response with the status 200, in
	// which the status of the operation is the higher one.
	if isKnown := x.caller.App.ID != ""; isKnown {
		defer func() {
			status := max(response.status, int(x.status.Load()))
			s.options.API.Authenticator.Done(x.caller, status)
		}()
	}

	if err != nil {
		s.writeFault(response, r, err)
		return
	}

	// Read one byte more than is permitted, to notice a body that is too large.
	body, err := io.ReadAll(io.LimitReader(r.Body, web.DefaultBody+1))
	if err == nil && len(body) > web.DefaultBody {
		err = web.ErrTooLarge
	}

	if err != nil {
		s.writeFault(response, r, err)
		return
	}

	if isRejected := rejectMessage(response, body); isRejected {
		return
	}

	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.protocol.ServeHTTP(response, r)
}

// checkOrigin returns an error for a request that a page of another site has sent. The protocol requires this
// check as a protection against DNS rebinding. Clients other than browsers send no Origin.
func (s *Server) checkOrigin(r *http.Request) error {
	for _, origin := range r.Header.Values("Origin") {
		if !strings.EqualFold(origin, s.options.PublicURL) {
			return fault.New(
				fault.Forbidden,
				fault.ErrForbidden.Code,
				"Requests of pages of other sites are not allowed; Origin must be "+s.options.PublicURL+" or missing",
			)
		}
	}

	return nil
}

// authenticate authenticates and limits the client in the same way as the developer API. It sets the headers of
// the response. It always returns an exchange, whose caller may be known even if there is an error.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request) (*exchange, error) {
	x := &exchange{address: clientAddress(r), requestID: r.Header.Get("X-Request-Id"), header: r.Header}

	ctx, cancel := context.WithTimeout(r.Context(), web.DefaultTimeout)
	defer cancel()

	caller, headers, err := s.options.API.Authenticator.Authenticate(ctx, web.AuthRequest{
		Authorization: r.Header.Values("Authorization"),
		APIKey:        r.Header.Values("X-API-Key"),
		Address:       web.LimitKey(x.address),
	})
	for name, value := range headers {
		if !strings.HasPrefix(name, "Access-Control-") { // other origins may not use MCP
			w.Header().Set(name, value)
		}
	}

	if fault.KindOf(err) == fault.Unauthenticated {
		w.Header().Set("WWW-Authenticate", s.challenge(headers["WWW-Authenticate"]))
	}

	x.caller = caller

	return x, err
}

// challenge returns the header WWW-Authenticate with the address of the metadata (RFC 9728 §5.1). The
// metadata contain the address at which clients can get a token. original is the header of the developer
// API, whose error code is kept.
func (s *Server) challenge(original string) string {
	scopes := strings.Join(supportedScopes(), " ")

	challenge := `Bearer resource_metadata="` + s.options.PublicURL + MetadataPath + `", scope="` + scopes + `"`
	if strings.Contains(original, `error="invalid_token"`) {
		challenge += `, error="invalid_token"`
	}

	return challenge
}

// clientAddress returns the address of the client without its port.
func clientAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}

	return host
}

// writeFault writes a response with the error in the format of the developer API, and reports the error to the
// HTTP server.
func (s *Server) writeFault(w http.ResponseWriter, r *http.Request, err error) {
	web.ReportFault(r.Context(), err)

	answer := s.options.API.RenderError(err, r.URL.Path, r.Header.Get("X-Request-Id"))
	for name, value := range answer.Headers {
		// The challenge of authenticate has more details than that of the answer.
		hasChallenge := name == "WWW-Authenticate" && w.Header().Get(name) != ""
		if !hasChallenge {
			w.Header().Set(name, value)
		}
	}

	w.WriteHeader(answer.Status)

	_, _ = w.Write(answer.Body) // fails only if the client has disconnected
}

// Error codes of JSON-RPC 2.0 (§5.1).
const (
	invalidRequest = -32600
	methodNotFound = -32601
)

// rejectMessage answers two kinds of messages with an error, and reports whether the message is of such a kind.
// The library would accept both:
//
//   - A batch has several calls, but would count as one request. Later versions of the protocol have no batches.
//   - The response to a subscription would not end.
func rejectMessage(w http.ResponseWriter, body []byte) (isRejected bool) {
	isBatch := bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("["))
	if isBatch {
		writeError(w, http.StatusBadRequest, nil, invalidRequest, "batches are not supported; send one message in each request")
		return true
	}

	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(body, &message) == nil && message.Method == "subscriptions/listen" {
		writeError(w, http.StatusNotFound, message.ID, methodNotFound,
			"subscriptions are not supported; nothing changes that they would report")
		return true
	}

	return false
}

// writeError writes a JSON-RPC error. id is that of the message to which it responds, nil if there is none.
func writeError(w http.ResponseWriter, status int, id json.RawMessage, code int, message string) {
	if id == nil {
		id = json.RawMessage("null")
	}

	w.Header().Set("Content-Type", web.JSONType)
	w.WriteHeader(status)

	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, message)
}

// statusWriter records the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader records and writes the status.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}
