// Package trace is the port through which the parts of the service say what
// they do and for how long, as spans of one trace that runs from a request
// through its events to the jobs and mails that come of it.
package trace

import "context"

// Tracer makes spans.
type Tracer interface {
	// Start begins a span below the one in ctx or, if there is none, below the
	// parent: a W3C traceparent, or empty for the beginning of a trace. The
	// function ends the span, with what went wrong. The context that it returns
	// holds the span and its traceparent (Parent).
	Start(ctx context.Context, name, parent string) (context.Context, func(err error))
}

// Off is the Tracer of a service that is not traced.
type Off struct{}

// Start implements Tracer.
func (Off) Start(ctx context.Context, _, _ string) (context.Context, func(error)) {
	return ctx, func(error) {}
}

type parentKey struct{}

// WithParent puts the traceparent (W3C Trace Context §3.2) of a span into ctx.
func WithParent(ctx context.Context, traceparent string) context.Context {
	return context.WithValue(ctx, parentKey{}, traceparent)
}

// Parent is the traceparent of the span in ctx, empty without one: what is to
// be kept with work that goes on elsewhere.
func Parent(ctx context.Context) string {
	s, _ := ctx.Value(parentKey{}).(string)
	return s
}
