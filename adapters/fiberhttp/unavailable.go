package fiberhttp

import (
	"cmp"
	"sync"
	"time"

	"github.com/locumhq/locum/core/fault"
)

// causeLog limits log lines to one per cause and second.
type causeLog struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// allows reports whether the cause may be logged now. The set of causes is small and
// fixed.
func (c *causeLog) allows(cause string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last, logged := c.last[cause]; logged && now.Sub(last) < time.Second {
		return false
	}
	if c.last == nil {
		c.last = map[string]time.Time{}
	}
	c.last[cause] = now
	return true
}

// reportFault logs the cause of a 500, and logs and counts that of a 503: responses do
// not contain them.
func (s *Server) reportFault(err error, requestID, method, path string) {
	switch f := faultOf(err); f.Kind {
	case fault.Internal:
		s.o.Log.Error("request failed", "request_id", requestID, "method", method, "path", path, "error", err)
	case fault.Unavailable:
		cause := cmp.Or(f.Reason, "unknown")
		s.metrics.unavailable.WithLabelValues(cause).Inc()
		if s.causes.allows(cause, time.Now()) {
			s.o.Log.Warn("service unavailable", "cause", cause, "error", f.Unwrap())
		}
	}
}
