package web

import (
	"reflect"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/idempotency"
)

// Surface is one of the interfaces that the server speaks: its routes and the
// form of its errors.
type Surface struct {
	Name string
	// Prefix is where the surface answers unknown routes in its own form.
	Prefix string
	Routes []Route
	// Fault gives status and body of an error.
	Fault func(f *fault.Error) (status int, body any)
	// FaultBody is a value of the body's type, for the documentation.
	FaultBody any
	// Title and Description head the documentation.
	Title, Description string
	// Values are what the fields of a type can be, for the documentation.
	Values map[reflect.Type][]string
}

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
