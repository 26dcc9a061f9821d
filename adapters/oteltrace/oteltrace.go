// Package oteltrace sends traces to an OpenTelemetry collector (OTLP over HTTP).
package oteltrace

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	otrace "go.opentelemetry.io/otel/trace"

	"github.com/locumhq/locum/core/trace"
)

// Tracer implements trace.Tracer.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   otrace.Tracer
}

// The limits of a slow collector: spans beyond the queue are dropped, and no request
// waits for a response.
const (
	maxQueuedSpans  = 4096
	sendInterval    = time.Second
	sendTimeout     = 5 * time.Second
	shutdownTimeout = 3 * time.Second
)

// Open returns a tracer for a collector. It does not connect.
//
//	otlp+http://host[:port][/path]   the defaults are port 4318 and /v1/traces
//	otlp+https://…
func Open(rawURL string, log *slog.Logger) (*Tracer, error) {
	endpoint, err := collectorEndpoint(rawURL)
	if err != nil {
		return nil, err
	}

	exporter, err := otlptracehttp.New(
		context.Background(),
		otlptracehttp.WithEndpointURL(endpoint),
		otlptracehttp.WithTimeout(sendTimeout),
	)
	if err != nil {
		return nil, err
	}

	// The library reports errors through a global function.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Debug("failed to send traces", "error", err) }))

	provider := sdk.NewTracerProvider(
		sdk.WithBatcher(exporter, sdk.WithMaxQueueSize(maxQueuedSpans), sdk.WithBatchTimeout(sendInterval)),
		sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", "locum"))),
	)

	return &Tracer{provider: provider, tracer: provider.Tracer("github.com/locumhq/locum")}, nil
}

// collectorEndpoint returns the URL to which spans are sent, with the default port and path of
// OTLP.
func collectorEndpoint(rawURL string) (string, error) {
	u, err := url.Parse(strings.TrimPrefix(rawURL, "otlp+"))
	if err != nil || u.Hostname() == "" {
		return "", errors.New("want otlp+http://HOST:PORT or otlp+https://HOST:PORT")
	}

	if u.Port() == "" {
		u.Host += ":4318"
	}

	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}

	return u.String(), nil
}

// traceContext encodes and decodes a parent in the W3C format.
var traceContext propagation.TraceContext

const traceparentHeader = "traceparent"

// Start implements trace.Tracer.
func (t *Tracer) Start(ctx context.Context, name, parent string) (context.Context, func(error)) {
	kind := otrace.SpanKindInternal
	if parent != "" && !otrace.SpanContextFromContext(ctx).IsValid() {
		ctx = traceContext.Extract(ctx, propagation.MapCarrier{traceparentHeader: parent})
		kind = otrace.SpanKindConsumer
	}

	ctx, span := t.tracer.Start(ctx, name, otrace.WithSpanKind(kind)) //nolint:spancheck // the caller ends it
	carrier := propagation.MapCarrier{}
	traceContext.Inject(ctx, carrier)

	return trace.WithParent(ctx, carrier[traceparentHeader]), func(err error) { //nolint:spancheck // as above
		if err != nil {
			// The span gets no error text, which may contain a client's input. The log has it.
			span.SetStatus(codes.Error, "")
		}

		span.End()
	}
}

// Close sends the remaining spans, if the collector responds within the timeout.
func (t *Tracer) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()

	_ = t.provider.Shutdown(ctx) // the shutdown succeeds even if the collector is unavailable

	return nil
}
