package adapters

import (
	"context"
	"net/http"
)

// Transport serves clients with Services over a protocol of its own. It is opened once,
// in processes that serve, when the storage is ready. The opener checks settings and
// builds the transport; it neither listens nor calls a service, and `locum routes` calls
// it with Services that are empty.
type Transport interface {
	// Start begins to serve and returns. Its context ends with the start: it bounds
	// Start and not the transport. An error ends the process; then Shutdown is not
	// called.
	Start(ctx context.Context) error
	// Shutdown stops accepting requests and waits for those in flight until ctx ends. It
	// is called once, before the services are closed, at the same time as the shutdown of
	// the HTTP server. Nothing of the transport may use Services after it has returned.
	Shutdown(ctx context.Context) error
}

// HTTPTransport is a Transport that the HTTP server serves below the paths in Prefixes,
// with the framing, headers, limits, log and metrics of other requests. Start is called
// before the server listens; the server itself waits for requests in flight.
//
// ServeHTTP gets a request whose RemoteAddr has the address of the client behind trusted
// proxies, which a client cannot forge. Its header X-Request-Id is the id in the log: the
// client's, if it is well formed, or a new one. Its context ends after 30 seconds. The
// body is read from the connection when the handler reads it, so that a handler can
// authenticate first; a body of over 1 MiB is an error that wraps *http.MaxBytesError.
// The response is sent when ServeHTTP returns. It cannot be streamed, and the writer must
// not be used afterwards.
//
// web.ReportFault, with the context of the request, logs and counts an error whose cause
// the response does not contain. A status 503 that is not reported is counted under the
// name of the transport.
type HTTPTransport interface {
	Transport
	http.Handler
	// Prefixes returns the paths that the transport answers, each with everything below
	// it, such as /mcp. A path that another route has is an error.
	Prefixes() []string
}

// Drainer is implemented by transports that announce the shutdown to their clients and
// load balancers. Drain is called at the beginning of the shutdown, http.drain before
// Shutdown; it does not block.
type Drainer interface {
	Drain()
}
