package bootstrap

import (
	"context"
	"fmt"
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

// plugged are the adapters beside the store.
type plugged struct {
	limiter  limit.Limiter
	queue    task.Queue
	mail     mail.Mailer
	files    files.Store
	payments billing.Payments
	search   *listings.Engine
	clock    *clockCheck
	// transports are those of the process.
	transports []transport
}

// healthOf asks every adapter, all at once and within the context, and names
// them as the configuration does. Only the store and the search index are needed to answer: without
// its own a limiter counts in the process, tasks and letters wait in the store
// until they are taken, and without files or payments all else goes on.
func healthOf(ctx context.Context, s *storage, now time.Time, p plugged) map[string]adapters.Health {
	type answer struct {
		name string
		err  error
	}
	asked := map[string]func(context.Context) error{
		"database": s.ping, "queue": pingOf(p.queue), "limiter": limiterPing(p.limiter),
		"mail": pingOf(p.mail), "files": pingOf(p.files), "payments": pingOf(p.payments),
		"search": p.search.Ping, "clock": p.clock.Ping,
		"events": func(ctx context.Context) error { return checkLag(ctx, s, now) },
	}
	for _, t := range p.transports {
		if pinger, ok := t.Transport.(adapters.Pinger); ok {
			asked["transport."+t.name] = pinger.Ping
		}
	}
	if s.hasReplicas() {
		asked["replicas"] = s.checkReplicas
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
		case <-ctx.Done(): // which an adapter may not heed
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
	wrongFrom time.Time // when the difference was noticed, zero without one
}

const (
	// maxDrift is the difference from which on the clock is reported.
	maxDrift = time.Minute
	// clockAccepted is after how long a clock that stays is taken to be right.
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

// maxLag is the age of the oldest event that no relay has passed on, from which
// on the service is degraded.
const maxLag = time.Minute

func checkLag(ctx context.Context, s *storage, now time.Time) error {
	n, oldest, err := s.lag(ctx)
	if lag := now.Sub(oldest); err == nil && n > 0 && lag > maxLag {
		err = fmt.Errorf("%d events wait, the oldest for %s", n, lag.Round(time.Second))
	}
	return err
}

// pingOf is how an adapter is asked; one that works in the process has nobody
// to ask.
func pingOf(adapter any) func(context.Context) error {
	if p, ok := adapter.(adapters.Pinger); ok {
		return p.Ping
	}
	return func(context.Context) error { return nil }
}

// limiterPing also knows of calls that went wrong; and before the first call
// nothing has gone wrong yet.
func limiterPing(l limit.Limiter) func(context.Context) error {
	return func(ctx context.Context) error {
		if degraded(l) {
			return context.DeadlineExceeded
		}
		return pingOf(l)(ctx)
	}
}

// degraded reports a limiter that counts without its store.
func degraded(l limit.Limiter) bool {
	d, ok := l.(adapters.Degrader)
	return ok && d.Degraded()
}
