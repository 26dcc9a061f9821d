// Package fault defines the errors of the service. A module returns a fault for every
// error that a caller may see. Any other error is a defect or an outage, and its text is
// never sent to a client.
package fault

import (
	"errors"
	"time"
)

// Kind classifies a fault. Every transport has one table that maps kinds, and a few codes,
// to its own statuses.
type Kind int

// The kinds.
const (
	Internal        Kind = iota // a defect: details are only logged
	Invalid                     // the input is wrong and will stay wrong
	Unauthenticated             // no valid credential
	Forbidden                   // a valid credential without the right
	NotFound                    // does not exist, or belongs to another user
	Conflict                    // valid, but in conflict with the stored state
	TooMany                     // over a limit; see RetryAfter
	Unavailable                 // a dependency is unavailable; see RetryAfter
)

// None is the kind of a nil error.
const None Kind = -1

// Field is an error in one input field. Name is the path in the request, with dots
// between levels (salary.min, questions.0.text).
type Field struct {
	Name    string `json:"field"`
	Message string `json:"message"`
}

// Error is a fault: an error that a caller may see.
type Error struct {
	Kind Kind
	// Code is stable and machine-readable, in snake_case.
	Code string
	// Message is a sentence for users; it never contains input or secrets.
	Message string
	// Fields are the invalid fields of an Invalid fault, the first one first.
	Fields []Field
	// RetryAfter is the time until a retry may succeed, zero if it is unknown.
	RetryAfter time.Duration
	// Reason names what is unavailable and why, for logs and metrics. It is one of a few
	// constants such as "database: disk full".
	Reason string
	cause  error
}

// Error returns the fault with its cause, for a log.
func (e *Error) Error() string {
	text := e.Code + ": " + e.Message
	for _, f := range e.Fields {
		text += " [" + f.Name + " " + f.Message + "]"
	}

	if e.cause != nil {
		text += ": " + e.cause.Error()
	}

	return text
}

// Unwrap returns the cause, which is only logged.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether both faults have the same code. errors.Is therefore finds a
// package-level fault also in copies with a cause or fields.
func (e *Error) Is(target error) bool {
	other, isFault := errors.AsType[*Error](target)
	return isFault && other.Code == e.Code
}

// New returns a fault.
func New(kind Kind, code, message string) *Error {
	return &Error{Kind: kind, Code: code, Message: message}
}

// WithCause returns a copy with the underlying error.
func (e *Error) WithCause(err error) *Error {
	c := *e
	c.cause = err
	return &c
}

// WithReason returns a copy that names what is unavailable and why.
func (e *Error) WithReason(reason string) *Error {
	c := *e
	c.Reason = reason
	return &c
}

// WithFields returns a copy that names the invalid fields.
func (e *Error) WithFields(fields ...Field) *Error {
	c := *e
	c.Fields = fields
	return &c
}

// WithRetryAfter returns a copy with the time until a retry may succeed.
func (e *Error) WithRetryAfter(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// Of returns the fault in err. For an error without one it returns an Internal fault with
// err as its cause, and for nil it returns nil.
func Of(err error) *Error {
	if err == nil {
		return nil
	}

	if f, isFault := errors.AsType[*Error](err); isFault {
		return f
	}

	return ErrInternal.WithCause(err)
}

// FieldsOf returns the invalid fields of the fault in err, none for nil.
func FieldsOf(err error) []Field {
	if err == nil {
		return nil
	}

	return Of(err).Fields
}

// KindOf returns the kind of the fault in err, None for nil.
func KindOf(err error) Kind {
	if err == nil {
		return None
	}

	return Of(err).Kind
}

// IfNotFound replaces a NotFound fault: it returns replacement, which may be nil, if err has such a
// fault, and err otherwise.
func IfNotFound(err, replacement error) error {
	if KindOf(err) == NotFound {
		return replacement
	}

	return err
}

// Faults that belong to no module.
var (
	ErrInternal     = New(Internal, "internal", "Internal server error")
	ErrUnavailable  = New(Unavailable, "unavailable", "Service temporarily unavailable")
	ErrInvalid      = New(Invalid, "invalid_parameters", "Bad Request - Invalid parameters")
	ErrUnauthorized = New(Unauthenticated, "unauthorized", "Unauthorized")
	ErrForbidden    = New(Forbidden, "forbidden", "Forbidden")
	ErrRateLimit    = New(TooMany, "rate_limit_exceeded", "Rate limit exceeded")
)

// InvalidField returns an Invalid fault for one field.
func InvalidField(name, message string) *Error {
	return ErrInvalid.WithFields(Field{Name: name, Message: message})
}
