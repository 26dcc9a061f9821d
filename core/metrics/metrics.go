// Package metrics defines the port through which adapters register metrics.
package metrics

// Registry registers metrics. A name follows the rules of Prometheus, such as
// "acme_pool_connections"; a second metric with the same name is ignored and logged. The
// functions read are called at each collection, from any goroutine, and must not block.
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
