package bootstrap

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/files"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/modules/listings"
)

// healthChecks are the checks of adapters by the names that the configuration has for
// them.
type healthChecks map[string]func(context.Context) error

func newHealthChecks(s *storage, d adapters.Deps, l limit.Limiter, q task.Queue, m mail.Mailer, f files.Store, p billing.Payments, e *listings.Engine) healthChecks {
	all := healthChecks{
		"database": s.ping, "queue": pingOf(q), "limiter": limiterPing(l),
		"mail": pingOf(m), "files": pingOf(f), "payments": pingOf(p),
		"search": e.Ping, "clock": newClockCheck(d.Clock).Ping,
		"events": func(ctx context.Context) error { return checkLag(ctx, s, d.Clock.Now()) },
	}
	if s.hasReplicas() {
		all["replicas"] = s.checkReplicas
	}
	return all
}

// run runs all checks and those of transports concurrently, within the context. Only the
// storage and the search index are required: a limiter without its server counts in the
// process, tasks and mails wait in the database until they are processed, and without
// files or payments the rest of the service works.
func (all healthChecks) run(ctx context.Context, transports []transport) map[string]adapters.Health {
	type answer struct {
		name string
		err  error
	}
	asked := maps.Clone(all)
	for _, t := range transports {
		if pinger, ok := t.Transport.(adapters.Pinger); ok {
			asked["transport."+t.name] = pinger.Ping
		}
	}
	answers := make(chan answer, len(asked))
	states := map[string]adapters.Health{}
	for name, ask := range asked {
		states[name] = stateOf(name, context.DeadlineExceeded)
		go func() { answers <- answer{name, ask(ctx)} }()
	}
	for range asked {
		select {
		case a := <-answers:
			states[a.name] = stateOf(a.name, a.err)
		case <-ctx.Done(): // which an adapter may ignore
			return states
		}
	}
	return states
}

func stateOf(name string, err error) adapters.Health {
	if name == "database" || name == "search" {
		return adapters.Health{Err: err}
	}
	return adapters.Health{Err: err, Degraded: err != nil}
}

// clockCheck compares the clock with the time that has passed in this process.
type clockCheck struct {
	clock clock.Clock

	mu        sync.Mutex
	from      time.Time // the clock at the reference
	reference time.Time // with Go's monotonic reading
	wrongFrom time.Time // when the difference was detected, zero without one
}

const (
	// maxDrift is the least difference of the clock that is reported.
	maxDrift = time.Minute
	// clockAccepted is the time after which a clock that was set is accepted.
	clockAccepted = time.Hour
)

func newClockCheck(c clock.Clock) *clockCheck {
	return &clockCheck{clock: c, from: c.Now(), reference: time.Now()}
}

// Ping returns an error if the clock was set by more than maxDrift.
func (c *clockCheck) Ping(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	passed := time.Since(c.reference)
	drift := c.clock.Now().Sub(c.from) - passed
	if drift.Abs() <= maxDrift {
		c.wrongFrom = time.Time{}
		return nil
	}
	if c.wrongFrom.IsZero() {
		c.wrongFrom = time.Now()
	} else if time.Since(c.wrongFrom) > clockAccepted {
		c.from, c.reference, c.wrongFrom = c.clock.Now(), time.Now(), time.Time{}
		return nil
	}
	return fmt.Errorf("the clock was set by %s", drift.Round(time.Second))
}

// maxLag is the age of the oldest unsent event from which on the service is degraded.
const maxLag = time.Minute

func checkLag(ctx context.Context, s *storage, now time.Time) error {
	n, oldest, err := s.lag(ctx)
	if lag := now.Sub(oldest); err == nil && n > 0 && lag > maxLag {
		err = fmt.Errorf("%d events wait, the oldest for %s", n, lag.Round(time.Second))
	}
	return err
}

// pingOf returns the Ping of an adapter. An adapter that works in the process has none.
func pingOf(adapter any) func(context.Context) error {
	if p, ok := adapter.(adapters.Pinger); ok {
		return p.Ping
	}
	return func(context.Context) error { return nil }
}

// limiterPing also reports failed calls. Before the first call there are none.
func limiterPing(l limit.Limiter) func(context.Context) error {
	return func(ctx context.Context) error {
		if degraded(l) {
			return context.DeadlineExceeded
		}
		return pingOf(l)(ctx)
	}
}

// degraded reports a limiter that counts without its server.
func degraded(l limit.Limiter) bool {
	d, ok := l.(adapters.Degrader)
	return ok && d.Degraded()
}
