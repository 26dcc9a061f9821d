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

// healthChecks maps the names of adapters in the configuration, such as "limiter", to their
// checks.
type healthChecks map[string]func(context.Context) error

// newHealthChecks returns the checks by name. The names appear in the answer of /health.
func newHealthChecks(
	store *storage,
	deps adapters.Deps,
	limiter limit.Limiter,
	queue task.Queue,
	mailer mail.Mailer,
	fileStore files.Store,
	payments billing.Payments,
	engine *listings.Engine,
) healthChecks {
	checks := healthChecks{
		"database": store.ping,
		"queue":    pingOf(queue),
		"limiter":  limiterPing(limiter),
		"mail":     pingOf(mailer),
		"files":    pingOf(fileStore),
		"payments": pingOf(payments),
		"search":   engine.Ping,
		"clock":    newClockCheck(deps.Clock).Ping,
		"events":   func(ctx context.Context) error { return checkLag(ctx, store, deps.Clock.Now()) },
	}
	if store.hasReplicas() {
		checks["replicas"] = store.checkReplicas
	}

	return checks
}

// run executes all checks, and those of transports, concurrently. It returns when all have ended, or
// when the context ends.
func (c healthChecks) run(ctx context.Context, transports []transport) map[string]adapters.Health {
	type result struct {
		name string
		err  error
	}

	checks := maps.Clone(c)
	for _, t := range transports {
		if pinger, canPing := t.Transport.(adapters.Pinger); canPing {
			checks["transport."+t.name] = pinger.Ping
		}
	}

	// Start all checks. Until a check has a result, it counts as timed out.
	results := make(chan result, len(checks))

	states := map[string]adapters.Health{}
	for name, check := range checks {
		states[name] = healthOf(name, context.DeadlineExceeded)
		go func() { results <- result{name: name, err: check(ctx)} }()
	}

	// Collect their results.
	for range checks {
		select {
		case r := <-results:
			states[r.name] = healthOf(r.name, r.err)
		case <-ctx.Done(): // an adapter may ignore the context of its check
			return states
		}
	}

	return states
}

// healthOf returns the health that follows from the result of a check. A failure of the database or of the
// search makes the process unready. After any other failure, the service is degraded: it still serves most
// requests. Without its server, a limiter counts in the process. Tasks and e-mails are kept in the database
// until they can be processed. Only requests that need files or payments fail.
func healthOf(name string, err error) adapters.Health {
	if name == "database" || name == "search" {
		return adapters.Health{Err: err}
	}

	return adapters.Health{Err: err, Degraded: err != nil}
}

// clockCheck compares the clock with the time that has passed in this process.
type clockCheck struct {
	clock clock.Clock

	mu        sync.Mutex
	from      time.Time // the time of the clock when the reference was taken
	reference time.Time // the same time with Go's monotonic reading, which is not affected when the clock is set
	wrongFrom time.Time // when a difference was detected, zero if there is none
}

const (
	// maxDrift is the largest difference that is not reported.
	maxDrift = time.Minute
	// clockAccepted is how long a clock that was set is reported. After that the new time is
	// taken as correct.
	clockAccepted = time.Hour
)

// newClockCheck returns a check whose reference is the present time.
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

	// Report the difference for a while, and then take the new time as the reference.
	if c.wrongFrom.IsZero() {
		c.wrongFrom = time.Now()
	} else if time.Since(c.wrongFrom) > clockAccepted {
		c.from = c.clock.Now()
		c.reference = time.Now()
		c.wrongFrom = time.Time{}

		return nil
	}

	return fmt.Errorf("the clock was set by %s", drift.Round(time.Second))
}

// maxLag is the age of the oldest unsent event above which the service counts as degraded.
const maxLag = time.Minute

// checkLag fails if events have waited to be sent for longer than maxLag.
func checkLag(ctx context.Context, store *storage, now time.Time) error {
	unsent, oldest, err := store.lag(ctx)
	if err != nil || unsent == 0 {
		return err
	}

	if lag := now.Sub(oldest); lag > maxLag {
		return fmt.Errorf("%d events wait, the oldest for %s", unsent, lag.Round(time.Second))
	}

	return nil
}

// pingOf returns the Ping of an adapter. An adapter that works in the process has none, and is
// always healthy.
func pingOf(adapter any) func(context.Context) error {
	if p, ok := adapter.(adapters.Pinger); ok {
		return p.Ping
	}

	return func(context.Context) error { return nil }
}

// limiterPing returns the Ping of the limiter. It also fails while the limiter is degraded.
func limiterPing(limiter limit.Limiter) func(context.Context) error {
	return func(ctx context.Context) error {
		if isDegraded(limiter) { // its server did not respond in time
			return context.DeadlineExceeded
		}

		return pingOf(limiter)(ctx)
	}
}

// isDegraded reports whether the limiter counts in the process because its server is unavailable.
func isDegraded(limiter limit.Limiter) bool {
	d, ok := limiter.(adapters.Degrader)
	return ok && d.Degraded()
}
