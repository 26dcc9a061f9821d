// Package metrics defines the port through which adapters register metrics.
package metrics

// Registry registers metrics. The functions are called when the metrics are
// collected, from any goroutine; they return at once. A name is one of
// Prometheus, such as "acme_pool_connections"; a second metric of the same name
// is ignored and logged.
type Registry interface {
	// Gauge registers a value that rises and falls.
	Gauge(name, help string, read func() float64)
	// Counter registers a value that only rises.
	Counter(name, help string, read func() float64)
}

// Discard is a Registry that ignores all metrics.
type Discard struct{}

// Gauge implements Registry.
func (Discard) Gauge(string, string, func() float64) {}

// Counter implements Registry.
func (Discard) Counter(string, string, func() float64) {}
