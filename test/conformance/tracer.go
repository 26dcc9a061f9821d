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

// Tracer checks the port trace.Tracer.
func Tracer(t *testing.T, open func(t testing.TB) trace.Tracer) {
	// parent is a traceparent as a client sends it (W3C Trace Context): version, trace id, span
	// id, flags.
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	start := func(t *testing.T) trace.Tracer {
		t.Helper()
		t.Parallel()
		return requirePort(t, "trace.Tracer", open(t))
	}

	// span starts and ends a span and returns its traceparent.
	span := func(t *testing.T, tracer trace.Tracer, ctx context.Context, parent string) (context.Context, []string) {
		t.Helper()

		ctx, end := tracer.Start(ctx, "span", parent)
		end(nil)

		got := trace.Parent(ctx)
		require.Regexp(t, `^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`, got)

		return ctx, strings.Split(got, "-")
	}

	t.Run("new trace", func(t *testing.T) {
		tracer := start(t)
		_, first := span(t, tracer, t.Context(), "")
		_, second := span(t, tracer, t.Context(), "")
		require.NotEqual(t, first[1], second[1])
	})

	// A traceparent has four parts: the version, the trace, the span and the flags. A new span
	// has the parent's trace and its own id.
	t.Run("given parent", func(t *testing.T) {
		_, got := span(t, start(t), t.Context(), parent)
		require.Equal(t, strings.Split(parent, "-")[1], got[1])
		require.NotEqual(t, strings.Split(parent, "-")[2], got[2])
	})

	t.Run("span in the context is the parent", func(t *testing.T) {
		tracer := start(t)
		ctx, outer := span(t, tracer, t.Context(), "")
		_, inner := span(t, tracer, ctx, parent)
		require.Equal(t, outer[1], inner[1])
		require.NotEqual(t, outer[2], inner[2])
	})

	t.Run("malformed parent begins a trace", func(t *testing.T) {
		span(t, start(t), t.Context(), "what is this?")
	})

	t.Run("concurrent spans, errors", func(t *testing.T) {
		tracer := start(t)

		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				_, end := tracer.Start(t.Context(), "span", "")
				end(errors.New("failed"))
			})
		}

		group.Wait()
	})
}
