// Package mcp serves the Model Context Protocol (https://modelcontextprotocol.io), with
// which assistants call the operations of the developer API as tools. It is
// stateless: each request is authenticated and limited by the Authenticator of that API,
// and a tool executes a route of its table.
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
	routes   map[string]web.Route // by method and path, such as "GET /api/v1/jobs"
	protocol http.Handler         // answers at Path
	metadata http.Handler         // answers at MetadataPath
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
		// A proxy on this machine forwards the name of the service; checkOrigin is the
		// protection against DNS rebinding.
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

// exchange is a request whose client is authenticated.
type exchange struct {
	address   string
	requestID string
	header    http.Header
	caller    integrations.Caller
	// status is the HTTP status of the operation that a tool has executed.
	status atomic.Int64
}

// exchangeKey is the key of the exchange in the context of a request.
type exchangeKey struct{}

// ServeHTTP implements http.Handler.
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

// serve authenticates the caller and checks the message before the protocol sees it.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if err := s.checkOrigin(r); err != nil {
		s.writeFault(w, r, err)
		return
	}

	x, err := s.authenticate(w, r)

	// The request is counted with the status of the response, or of the operation if that is higher.
	out := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	if x.caller.App.ID != "" {
		defer func() { s.options.API.Authenticator.Done(x.caller, max(out.status, int(x.status.Load()))) }()
	}

	if err != nil {
		s.writeFault(out, r, err)
		return
	}

	body, err := io.ReadAll(io.LimitReader(r.Body, web.DefaultBody+1))
	if err == nil && len(body) > web.DefaultBody {
		err = web.ErrTooLarge
	}

	if err != nil {
		s.writeFault(out, r, err)
		return
	}

	if rejectMessage(out, body) {
		return
	}

	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.protocol.ServeHTTP(out, r)
}

// checkOrigin rejects requests of pages of other sites, which the protocol requires against
// DNS rebinding. Clients other than browsers send no Origin.
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

// authenticate authenticates and limits the client in the same way as the developer API.
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

// challenge returns the challenge with the address of the metadata (RFC 9728 §5.1),
// from which clients learn where to get a token.
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

// writeFault answers with the error in the form of the developer interface.
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

// rejectMessage answers with an error to two kinds of messages that the library would accept, and reports
// whether it did. Batches would be limited as one request; later versions of the protocol do not have them.
// Responses to subscriptions would not end.
func rejectMessage(w http.ResponseWriter, body []byte) bool {
	if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) {
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

// writeError writes a JSON-RPC error.
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

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}
