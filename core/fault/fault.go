// Package fault is the one error vocabulary of the service. A module returns
// a fault for everything a caller may hear of; an error that is not a fault is
// a defect or an outage and never reaches a client in words.
package fault

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind says what sort of thing went wrong. Every transport maps kinds (and,
// where an interface asks for it, codes) to its own statuses in one table.
type Kind int

// The kinds, from the caller's mistakes to ours.
const (
	Internal        Kind = iota // a defect: no detail leaves the process
	Invalid                     // the input is wrong and will stay wrong
	Unauthenticated             // no valid credential
	Forbidden                   // a valid credential without the right
	NotFound                    // absent, or somebody else's
	Conflict                    // right in itself, wrong beside what is there
	TooMany                     // over a limit; see RetryAfter
	Unavailable                 // a dependency is away; see RetryAfter
)

// None is the kind of no error.
const None Kind = -1

// Field is what is wrong with one input field. Name is the path as the client
// wrote it, with dots between levels (salary.min, questions.0.text).
type Field struct {
	Name    string `json:"field"`
	Message string `json:"message"`
}

// Error is a failure that a caller may see.
type Error struct {
	Kind Kind
	// Code is stable and machine-readable, in snake_case.
	Code string
	// Message is a sentence for people; it never holds input or secrets.
	Message string
	// Fields are the offending fields of an Invalid fault, the first one first.
	Fields []Field
	// RetryAfter says when another try makes sense, zero if nobody knows.
	RetryAfter time.Duration
	// Reason names what is unavailable and why, for logs and metrics: one of a
	// few constants such as "database: disk full".
	Reason string
	cause  error
}

// Error describes the fault for a log, its cause included.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Code)
	b.WriteString(": ")
	b.WriteString(e.Message)
	for _, f := range e.Fields {
		fmt.Fprintf(&b, " [%s %s]", f.Name, f.Message)
	}
	if e.cause != nil {
		b.WriteString(": ")
		b.WriteString(e.cause.Error())
	}
	return b.String()
}

// Unwrap gives the cause, which only logs see.
func (e *Error) Unwrap() error { return e.cause }

// Is makes two faults equal by code, so that a package-level fault serves as a
// sentinel for errors.Is even after it was given a cause or fields.
func (e *Error) Is(target error) bool {
	var t *Error
	return errors.As(target, &t) && t.Code == e.Code
}

// New makes a fault.
func New(kind Kind, code, message string) *Error {
	return &Error{Kind: kind, Code: code, Message: message}
}

// WithCause returns a copy that carries the technical reason.
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

// WithFields returns a copy that names the offending fields.
func (e *Error) WithFields(fields ...Field) *Error {
	c := *e
	c.Fields = fields
	return &c
}

// WithRetryAfter returns a copy that says when to try again.
func (e *Error) WithRetryAfter(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// Of finds the fault in err; an error without one becomes an Internal fault
// that keeps err as its cause. Of(nil) is nil.
func Of(err error) *Error {
	if err == nil {
		return nil
	}
	var f *Error
	if errors.As(err, &f) {
		return f
	}
	return ErrInternal.WithCause(err)
}

// KindOf is the kind of the fault in err, None without an error.
func KindOf(err error) Kind {
	if err == nil {
		return None
	}
	return Of(err).Kind
}

// The faults that belong to no module.
var (
	ErrInternal     = New(Internal, "internal", "Internal server error")
	ErrUnavailable  = New(Unavailable, "unavailable", "Service temporarily unavailable")
	ErrInvalid      = New(Invalid, "invalid_parameters", "Bad Request - Invalid parameters")
	ErrUnauthorized = New(Unauthenticated, "unauthorized", "Unauthorized")
	ErrForbidden    = New(Forbidden, "forbidden", "Forbidden")
	ErrRateLimit    = New(TooMany, "rate_limit_exceeded", "Rate limit exceeded")
)

// InvalidField is an Invalid fault about one field.
func InvalidField(name, message string) *Error {
	return ErrInvalid.WithFields(Field{Name: name, Message: message})
}
