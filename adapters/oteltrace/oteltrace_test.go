package oteltrace

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/trace"
	"github.com/locumhq/locum/test/conformance"
	"github.com/locumhq/locum/test/kit"
)

var _ trace.Tracer = (*Tracer)(nil)

// TestTracer_Parent_IsPropagated checks that spans of a request and of its tasks are in one
// trace, that a trace of the client is continued, and that an invalid traceparent begins a new
// one. The long ids are the example of the W3C specification.
func TestTracer_Parent_IsPropagated(t *testing.T) {
	t.Parallel()

	collector := kit.NewCollector(t)
	tracer, err := Open("otlp+"+collector.URL, slog.New(slog.DiscardHandler))
	require.NoError(t, err)

	request, end := tracer.Start(t.Context(), "request", "")
	inner, endInner := tracer.Start(request, "inner", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	require.NotEqual(t, trace.Parent(request), trace.Parent(inner))
	endInner(errors.New("a secret"))
	end(nil)

	_, endJob := tracer.Start(t.Context(), "job", trace.Parent(request))
	endJob(nil)

	_, endAsked := tracer.Start(t.Context(), "asked", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	endAsked(nil)

	_, endOdd := tracer.Start(t.Context(), "odd", "what is this?")
	endOdd(nil)
	require.NoError(t, tracer.Close())

	spans := collector.Spans()
	first := spans["request"][0]
	require.Empty(t, first.Parent)
	require.Equal(t, []string{first.Trace, first.ID},
		[]string{spans["inner"][0].Trace, spans["inner"][0].Parent},
		"the current span takes precedence over the remote parent")
	require.True(t, spans["inner"][0].Failed)
	require.Equal(t, []string{first.Trace, first.ID}, []string{spans["job"][0].Trace, spans["job"][0].Parent})
	require.Equal(t, "0af7651916cd43dd8448eb211c80319c", spans["asked"][0].Trace)
	require.Empty(t, spans["odd"][0].Parent)
}

// TestTracer_CollectorUnavailable_DoesNotBlock checks that spans are dropped, and requests are
// not delayed, if no collector accepts them. Nothing listens on port 1.
func TestTracer_CollectorUnavailable_DoesNotBlock(t *testing.T) {
	t.Parallel()

	tracer, err := Open("otlp+http://127.0.0.1:1", slog.New(slog.DiscardHandler))
	require.NoError(t, err)

	for range 10_000 {
		_, end := tracer.Start(t.Context(), "x", "")
		end(nil)
	}

	require.NoError(t, tracer.Close())
}

func TestTracer_URL_IsParsed(t *testing.T) {
	t.Parallel()

	for in, want := range map[string]string{
		"otlp+http://collector":               "http://collector:4318/v1/traces",
		"otlp+https://collector:443/x/traces": "https://collector:443/x/traces",
	} {
		got, err := collectorEndpoint(in)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}

	_, err := Open("otlp+http:", slog.New(slog.DiscardHandler))
	require.Error(t, err)
}

func TestTracer_Conformance(t *testing.T) {
	t.Parallel()
	conformance.Tracer(t, func(t testing.TB) trace.Tracer {
		tracer, err := Open("otlp+"+kit.NewCollector(t).URL, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, tracer.Close()) })

		return tracer
	})
}
