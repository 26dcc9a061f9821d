package kit

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector is an OpenTelemetry collector for one test.
type Collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []Span
}

// Span is a received span. Trace, ID and Parent are hexadecimal; Parent is empty for the first
// span of a trace.
type Span struct {
	Name, Trace, ID, Parent string
	Failed                  bool
}

// NewCollector starts a collector that stops with the test.
func NewCollector(t testing.TB) *Collector {
	t.Helper()

	c := &Collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(c.receive))
	t.Cleanup(c.Close)

	return c
}

// receive handles an OTLP request over HTTP: a protobuf message, compressed or not.
func (c *Collector) receive(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}

	if r.URL.Path != "/v1/traces" {
		http.Error(w, "unexpected path", http.StatusBadRequest)
		return
	}

	raw, err := io.ReadAll(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}

	var request collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(raw, &request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.spans = append(c.spans, Span{
					Name:   s.GetName(),
					Trace:  hex.EncodeToString(s.GetTraceId()),
					ID:     hex.EncodeToString(s.GetSpanId()),
					Parent: hex.EncodeToString(s.GetParentSpanId()),
					Failed: s.GetStatus().GetCode() == trace.Status_STATUS_CODE_ERROR,
				})
			}
		}
	}
}

// Spans returns the spans received so far, by name.
func (c *Collector) Spans() map[string][]Span {
	c.mu.Lock()
	defer c.mu.Unlock()

	out := map[string][]Span{}
	for _, s := range c.spans {
		out[s.Name] = append(out[s.Name], s)
	}

	return out
}
