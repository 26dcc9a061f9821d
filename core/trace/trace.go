// Package trace defines the port for distributed tracing. A trace contains the spans of a
// request and those of the events, tasks and mails that it causes.
package trace

import "context"

// Tracer creates spans.
type Tracer interface {
	// Start starts a span with the span in ctx as its parent or, if there is none, with
	// parent: a W3C traceparent, or empty for a new trace. The returned function ends the
	// span with an error, or nil. The returned context contains the span and its
	// traceparent (Parent).
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

// Parent returns the traceparent of the span in ctx, which is stored with asynchronous
// work. It is empty without a span.
func Parent(ctx context.Context) string {
	s, _ := ctx.Value(parentKey{}).(string)
	return s
}
