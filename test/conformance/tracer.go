package conformance

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/trace"
)

// Tracer checks the port trace.Tracer. A trace consists of spans, such as a request and a query that it makes. A span is
// identified by its traceparent (W3C Trace Context), which has four parts: version, trace id, span id and flags.
func Tracer(t *testing.T, open func(t testing.TB) trace.Tracer) {
	// clientParent is a traceparent as a client sends it.
	const clientParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

	// The indexes of the parts of a traceparent.
	const traceID, spanID = 1, 2

	start := func(t *testing.T) trace.Tracer {
		t.Helper()
		t.Parallel()
		return requirePort(t, "trace.Tracer", open(t))
	}

	// span starts and ends a span, whose parent is the span of the context or else the traceparent. It returns the
	// context of the span, and the parts of its traceparent.
	span := func(t *testing.T, tracer trace.Tracer, ctx context.Context, parent string) (context.Context, []string) {
		t.Helper()

		ctx, end := tracer.Start(ctx, "span", parent)
		end(nil)

		got := trace.Parent(ctx)
		require.Regexp(t, `^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`, got)

		return ctx, strings.Split(got, "-")
	}

	const noParent = ""

	// Spans without a parent begin different traces.
	t.Run("new trace", func(t *testing.T) {
		tracer := start(t)
		_, first := span(t, tracer, t.Context(), noParent)
		_, second := span(t, tracer, t.Context(), noParent)
		require.NotEqual(t, first[traceID], second[traceID])
	})

	// A span has the trace of its parent, and an id of its own.
	t.Run("given parent", func(t *testing.T) {
		_, got := span(t, start(t), t.Context(), clientParent)
		parent := strings.Split(clientParent, "-")
		require.Equal(t, parent[traceID], got[traceID])
		require.NotEqual(t, parent[spanID], got[spanID])
	})

	// The span of the context precedes the traceparent of the client.
	t.Run("span in the context is the parent", func(t *testing.T) {
		tracer := start(t)
		ctx, outer := span(t, tracer, t.Context(), noParent)
		_, inner := span(t, tracer, ctx, clientParent)
		require.Equal(t, outer[traceID], inner[traceID])
		require.NotEqual(t, outer[spanID], inner[spanID])
	})

	// The function span requires a valid traceparent of the new span.
	t.Run("malformed parent begins a trace", func(t *testing.T) {
		span(t, start(t), t.Context(), "what is this?")
	})

	// Twenty goroutines start spans and end them with an error. The race detector finds data that they share.
	t.Run("concurrent spans, errors", func(t *testing.T) {
		tracer := start(t)

		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				_, end := tracer.Start(t.Context(), "span", noParent)
				end(errors.New("failed"))
			})
		}

		group.Wait()
	})
}
