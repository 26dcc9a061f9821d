package fiberhttp

import (
	"cmp"
	"sync"
	"time"

	"github.com/locumhq/locum/core/fault"
)

// causeLog limits what is logged to one line per cause and second.
type causeLog struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// allows reports whether the cause may be logged now. Causes are a few constants.
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

// reportUnavailable counts and logs the cause of a 503, which its response does
// not tell.
func (s *Server) reportUnavailable(f *fault.Error) {
	cause := cmp.Or(f.Reason, "unknown")
	s.metrics.unavailable.WithLabelValues(cause).Inc()
	if s.causes.allows(cause, time.Now()) {
		s.o.Log.Warn("service unavailable", "cause", cause, "error", f.Unwrap())
	}
}
