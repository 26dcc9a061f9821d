package web

import (
	"cmp"
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

// API is an HTTP API: its routes and the format of its errors. An error for clients is a fault, which
// has a kind, a code and a message (package fault). In the comments of fields, "documentation" means the
// OpenAPI document.
type API struct {
	// Name is a short name in URLs, such as the URL of the OpenAPI document.
	Name string
	// Prefix is the path below which unknown routes get errors in the format of the API.
	Prefix string
	// Aliases are further prefixes below which the same routes are served.
	Aliases []string
	// Authenticator authenticates the requests below the prefixes. Nil means none.
	Authenticator Authenticator
	// CachePolicy sets the cache headers of successful GET responses. If it is set, the responses also
	// have an ETag, and conditional requests get 304.
	CachePolicy CachePolicy
	Routes      []Route
	// Fault returns the status and the body of the response to an error.
	Fault func(f *fault.Error) (status int, body any)
	// FaultBody is a value of the type of the body that Fault returns, for the documentation.
	FaultBody any
	// Example returns an example of an error of the route with the status, for the
	// documentation. A nil result stands for a default example. Example itself may be nil.
	Example func(r Route, status int) *fault.Error
	// Headers are the headers of all responses, for the documentation.
	Headers []Header
	// Webhooks are the webhooks that clients of the API can receive.
	Webhooks []Webhook
	// Title and Description are shown in the documentation. Version is the version of the
	// API (https://semver.org), which is independent of the version of the program.
	Title, Description, Version string
	// Problems maps error codes to the pages that explain them.
	Problems map[string]Problem
	// Values maps types to their possible values, for the documentation.
	Values map[reflect.Type][]string
}

// Problem explains an error code.
type Problem struct{ Title, Text string }

// Covers reports whether the path is at or below one of the prefixes.
func (a API) Covers(path string) bool {
	for _, prefix := range append([]string{a.Prefix}, a.Aliases...) {
		remainder, hasPrefix := strings.CutPrefix(path, strings.TrimSuffix(prefix, "/"))
		if hasPrefix && (remainder == "" || remainder[0] == '/') {
			return true
		}
	}

	return false
}

// CanonicalPath returns, for a path below one of the Aliases, the path below Prefix that leads to the
// same route. It returns any other path unchanged.
func (a API) CanonicalPath(path string) string {
	for _, alias := range a.Aliases {
		if remainder, isBelow := strings.CutPrefix(path, alias); isBelow {
			return a.Prefix + remainder
		}
	}

	return path
}

// Paths returns all paths of the route: below Prefix and below each alias.
func (a API) Paths(r Route) []string {
	paths := []string{r.Path}
	for _, alias := range a.Aliases {
		paths = append(paths, alias+strings.TrimPrefix(r.Path, a.Prefix))
	}

	return paths
}

// CachePolicy has the values of the cache headers of a successful GET response. The zero value sets none.
type CachePolicy struct {
	CacheControl string
	Vary         string
}

// Authenticator authenticates every request to an API before it is routed, and counts it towards
// the limits of the client. That includes requests for unknown paths.
type Authenticator interface {
	// Authenticate returns the caller, and the headers of the response, whether it is an error or
	// not. Its error is a fault. The caller may be known even if there is an error.
	Authenticate(ctx context.Context, request AuthRequest) (caller integrations.Caller, headers map[string]string, err error)
	// Done is called with the status of the response to the caller. It must not block.
	Done(caller integrations.Caller, status int)
}

// AuthRequest is the part of a request that an Authenticator reads.
type AuthRequest struct {
	Authorization []string // values of the header Authorization
	APIKey        []string // values of the header X-API-Key
	Address       string   // address of the client, see LimitKey
	// Preflight is true for a CORS preflight request (OPTIONS), which has no
	// credentials.
	Preflight bool
}

// ErrorBody is the body of an error that contains the path and the id of the request.
type ErrorBody interface {
	// ForRequest returns the body for the request with the path and id.
	ForRequest(path, requestID string) any
	// MediaType returns the media type of the body.
	MediaType() string
}

// RenderError returns the response to a request that failed with err. path and requestID are the path
// and the id of the request. If the response has a header WWW-Authenticate already, the caller must
// keep that one, which is more specific.
func (a API) RenderError(err error, path, requestID string) Answer {
	f := FaultOf(err)

	status, body := a.Fault(f)
	if errorBody, ok := body.(ErrorBody); ok {
		body = errorBody.ForRequest(path, requestID)
	}

	encoded, err := json.Marshal(body)
	if err != nil {
		status, encoded = http.StatusInternalServerError, []byte("{}")
	}

	answer := Answer{Status: status, Headers: map[string]string{"Content-Type": a.mediaType(status)}, Body: encoded}
	if status == http.StatusUnauthorized {
		answer.Headers["WWW-Authenticate"] = `Bearer realm="locum"`
	}

	if f.RetryAfter > 0 {
		seconds := (f.RetryAfter + time.Second - 1) / time.Second // rounded up
		answer.Headers["Retry-After"] = strconv.Itoa(int(seconds))
	}

	return answer
}

// mediaType returns the media type of a response with the status, which differs for errors if their
// body is an ErrorBody.
func (a API) mediaType(status int) string {
	errorBody, ok := a.FaultBody.(ErrorBody)
	if ok && status >= http.StatusBadRequest {
		return errorBody.MediaType()
	}

	return JSONType
}

// FaultOf returns the fault in err, or an internal error if err contains none. For a timeout or a
// cancellation it returns fault.ErrUnavailable, so that clients retry.
func FaultOf(err error) *fault.Error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return fault.ErrUnavailable.WithCause(err).WithReason("request: timeout").WithRetryAfter(time.Second)
	}

	return fault.Of(err)
}

// faultReportKey is the key of the function that WithFaultReport stores in a context.
type faultReportKey struct{}

// WithFaultReport returns a context in which ReportFault calls the function report. The HTTP server
// passes such contexts to handlers that render errors themselves, such as the handler of MCP.
func WithFaultReport(ctx context.Context, report func(err error)) context.Context {
	return context.WithValue(ctx, faultReportKey{}, report)
}

// ReportFault reports the error of a request to the server, which logs and counts its cause. The
// response must not contain the cause. Without WithFaultReport, ReportFault does nothing.
func ReportFault(ctx context.Context, err error) {
	if report, ok := ctx.Value(faultReportKey{}).(func(err error)); ok {
		report(err)
	}
}

// PanicError returns the value of a recovered panic as an error with the stack.
func PanicError(recovered any) error { return fmt.Errorf("panic: %v\n%s", recovered, debug.Stack()) }

// ErrScope is the error for callers without the scope of a route.
var ErrScope = auth.ErrScope

// The faults of HTTP requests.
var (
	ErrNoRoute          = fault.New(fault.NotFound, "not_found", "Not found")
	ErrMethodNotAllowed = fault.New(fault.Invalid, "method_not_allowed", "Method not allowed")
	ErrTooLarge         = fault.New(fault.Invalid, "payload_too_large", "Request body too large")
	ErrHeadersTooLarge  = fault.New(fault.Invalid, "headers_too_large", "Request header fields too large")
	ErrRequestTimeout   = fault.New(fault.Invalid, "request_timeout", "Request timeout")
	ErrMalformed        = fault.New(fault.Invalid, "malformed_request", "Bad Request - Invalid parameters")
)

// The statuses of faults. statusByCode takes precedence over statusByKind.
var (
	statusByCode = map[string]int{
		ErrMethodNotAllowed.Code:   http.StatusMethodNotAllowed,
		ErrTooLarge.Code:           http.StatusRequestEntityTooLarge,
		ErrHeadersTooLarge.Code:    http.StatusRequestHeaderFieldsTooLarge,
		ErrRequestTimeout.Code:     http.StatusRequestTimeout,
		idempotency.ErrReused.Code: http.StatusUnprocessableEntity,
	}
	statusByKind = map[fault.Kind]int{
		fault.Invalid:         http.StatusBadRequest,
		fault.Unauthenticated: http.StatusUnauthorized,
		fault.Forbidden:       http.StatusForbidden,
		fault.NotFound:        http.StatusNotFound,
		fault.Conflict:        http.StatusConflict,
		fault.TooMany:         http.StatusTooManyRequests,
		fault.Unavailable:     http.StatusServiceUnavailable,
	}
)

// StatusOf returns the default status of a fault.
func StatusOf(f *fault.Error) int {
	return cmp.Or(statusByCode[f.Code], statusByKind[f.Kind], http.StatusInternalServerError)
}

// Each returns the results of fn for the items. The result is never nil, so that it is
// encoded as [] rather than null.
func Each[T, V any](items []T, fn func(T) V) []V {
	results := make([]V, len(items))
	for i, item := range items {
		results[i] = fn(item)
	}

	return results
}
