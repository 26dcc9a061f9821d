// Package trace defines the port for distributed tracing. A trace contains the spans of a
// request and of the events, tasks and e-mails that the request causes.
package trace

import "context"

// Tracer creates spans.
type Tracer interface {
	// Start starts a span. Its parent is the span in ctx; if ctx has none, its parent is
	// given by parent, a W3C traceparent, which is empty for a new trace. The returned
	// context contains the span and its traceparent (see Parent). The caller ends the span
	// with the returned function, and passes the error of the operation or nil.
	Start(ctx context.Context, name, parent string) (context.Context, func(err error))
}

// Off is a Tracer that records nothing.
type Off struct{}

// Start implements Tracer.
func (Off) Start(ctx context.Context, _, _ string) (context.Context, func(error)) {
	return ctx, func(error) {}
}

type parentKey struct{}

// WithParent returns a context with the traceparent (W3C Trace Context §3.2) of a span.
func WithParent(ctx context.Context, traceparent string) context.Context {
	return context.WithValue(ctx, parentKey{}, traceparent)
}

// Parent returns the traceparent of the span in ctx, or "" if ctx has no span. Callers
// store it with asynchronous work, which continues the trace.
func Parent(ctx context.Context) string {
	s, _ := ctx.Value(parentKey{}).(string)
	return s
}
