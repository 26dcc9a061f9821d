package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/idempotency"
	"github.com/locumhq/locum/modules/integrations"
)

// Surface is one of the interfaces that the server speaks: its routes and the
// form of its errors.
type Surface struct {
	Name string
	// Prefix is where the surface answers unknown routes in its own form.
	Prefix string
	// Also are more prefixes below which the same routes are, as if Prefix were
	// written so.
	Also []string
	// Gate stands before everything below the prefixes, nil for nothing.
	Gate Gate
	// Fresh is what the successes of reads say of caches. With it they carry an
	// ETag and need not be sent again to who has them.
	Fresh  Fresh
	Routes []Route
	// Fault gives status and body of an error.
	Fault func(f *fault.Error) (status int, body any)
	// FaultBody is a value of the body's type, for the documentation.
	FaultBody any
	// Example is a fault that the operation answers with the status, for the
	// documentation, or nil for a usual one. It may be nil itself.
	Example func(r Route, status int) *fault.Error
	// Headers are what every answer of the surface carries, for the documentation.
	Headers []Header
	// Webhooks are what the service sends to who uses the surface.
	Webhooks []Webhook
	// Title and Description head the documentation. Version is the interface's own
	// (https://semver.org) and says nothing of the program's.
	Title, Description, Version string
	// Problems explains the codes of errors on pages of their own.
	Problems map[string]Problem
	// Values are what the fields of a type can be, for the documentation.
	Values map[reflect.Type][]string
}

// Problem is the explanation of the code of an error.
type Problem struct{ Title, Text string }

// Under reports whether the path is the surface's own.
func (s Surface) Under(path string) bool {
	for _, prefix := range append([]string{s.Prefix}, s.Also...) {
		prefix = strings.TrimSuffix(prefix, "/")
		if rest, below := strings.CutPrefix(path, prefix); below && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// Plain is a path below the surface as if it were below Prefix, whichever of the
// prefixes it has.
func (s Surface) Plain(path string) string {
	for _, prefix := range s.Also {
		if rest, below := strings.CutPrefix(path, prefix); below {
			return s.Prefix + rest
		}
	}
	return path
}

// Paths are all under which the route is served.
func (s Surface) Paths(r Route) []string {
	out := []string{r.Path}
	for _, prefix := range s.Also {
		out = append(out, prefix+strings.TrimPrefix(r.Path, s.Prefix))
	}
	return out
}

// Fresh is what a success says of caches; the zero value says nothing.
type Fresh struct {
	CacheControl string
	Vary         string
}

// Gate judges every request to a surface before anything else does, also those
// to paths that are none.
type Gate interface {
	// Enter says who calls and what stands on the answer, whatever that is. The
	// error, a fault, refuses.
	Enter(ctx context.Context, e Entry) (caller integrations.Caller, headers map[string]string, err error)
	// Left hears what a caller was answered. It neither waits nor fails.
	Left(caller integrations.Caller, status int)
}

// Entry is what a Gate knows of a request.
type Entry struct {
	Authorization []string // the values of the header
	APIKey        []string // of X-API-Key
	Address       string   // by which the client is counted
	// Asking is a browser's question before the request (OPTIONS), which carries
	// no credentials.
	Asking bool
}

// Placed is a body of an error that says where it happened.
type Placed interface {
	// At is the body for the path and the request. MediaType is what it is sent
	// as.
	At(path, requestID string) any
	MediaType() string
}

// Refuse is the answer to a request that failed, for the path and the id of it. A
// WWW-Authenticate that the gate or the route has set takes precedence over its own.
func (s Surface) Refuse(err error, path, requestID string) Answer {
	f := FaultOf(err)
	status, body := s.Fault(f)
	if placed, ok := body.(Placed); ok {
		body = placed.At(path, requestID)
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		status, encoded = http.StatusInternalServerError, []byte("{}")
	}
	answer := Answer{Status: status, Headers: map[string]string{"Content-Type": s.mediaType(status)}, Body: encoded}
	if status == http.StatusUnauthorized {
		answer.Headers["WWW-Authenticate"] = `Bearer realm="locum"`
	}
	if f.RetryAfter > 0 {
		answer.Headers["Retry-After"] = strconv.Itoa(int((f.RetryAfter + time.Second - 1) / time.Second))
	}
	return answer
}

// mediaType returns that of an answer with the status.
func (s Surface) mediaType(status int) string {
	if placed, ok := s.FaultBody.(Placed); ok && status >= 400 {
		return placed.MediaType()
	}
	return JSONType
}

// FaultOf returns the fault in err. A request that took too long is one that can be
// repeated.
func FaultOf(err error) *fault.Error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return fault.ErrUnavailable.WithCause(err).WithReason("request: timeout").WithRetryAfter(time.Second)
	}
	return fault.Of(err)
}

type faultReportKey struct{}

// WithFaultReport returns a context for which ReportFault calls report.
func WithFaultReport(ctx context.Context, report func(err error)) context.Context {
	return context.WithValue(ctx, faultReportKey{}, report)
}

// ReportFault passes the error of a request to the server that serves the mount. It logs
// and counts the causes that responses do not contain.
func ReportFault(ctx context.Context, err error) {
	if report, ok := ctx.Value(faultReportKey{}).(func(err error)); ok {
		report(err)
	}
}

// PanicError returns the value of a recovered panic as an error with the stack.
func PanicError(p any) error { return fmt.Errorf("panic: %v\n%s", p, debug.Stack()) }

// ErrScope is the answer to callers who may not do what they ask for.
var ErrScope = auth.ErrScope

// The faults of HTTP itself.
var (
	ErrNoRoute          = fault.New(fault.NotFound, "not_found", "Not found")
	ErrMethodNotAllowed = fault.New(fault.Invalid, "method_not_allowed", "Method not allowed")
	ErrTooLarge         = fault.New(fault.Invalid, "payload_too_large", "Request body too large")
	ErrHeadersTooLarge  = fault.New(fault.Invalid, "headers_too_large", "Request header fields too large")
	ErrRequestTimeout   = fault.New(fault.Invalid, "request_timeout", "Request timeout")
	ErrMalformed        = fault.New(fault.Invalid, "malformed_request", "Bad Request - Invalid parameters")
)

// StatusOf is the status that a fault has on every surface that does not say
// otherwise.
func StatusOf(f *fault.Error) int {
	switch f.Code {
	case ErrMethodNotAllowed.Code:
		return 405
	case ErrTooLarge.Code:
		return 413
	case ErrHeadersTooLarge.Code:
		return 431
	case ErrRequestTimeout.Code:
		return 408
	case idempotency.ErrReused.Code:
		return 422
	}
	switch f.Kind {
	case fault.Invalid:
		return 400
	case fault.Unauthenticated:
		return 401
	case fault.Forbidden:
		return 403
	case fault.NotFound:
		return 404
	case fault.Conflict:
		return 409
	case fault.TooMany:
		return 429
	case fault.Unavailable:
		return 503
	}
	return 500
}
