package bootstrap

import (
	"context"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/files"
	"github.com/locumhq/locum/core/job"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/modules/billing"
)

// plugged are the adapters beside the store.
type plugged struct {
	limiter  limit.Limiter
	queue    job.Queue
	mail     mail.Mailer
	files    files.Store
	payments billing.Payments
}

// healthOf asks every adapter, all at once and within the context, and names
// them as the configuration does. Only the store is needed to answer: without
// its own a limiter counts in the process, jobs and letters wait in the store
// until they are taken, and without files or payments all else goes on.
func healthOf(ctx context.Context, s adapters.Storage, p plugged) map[string]adapters.Health {
	type answer struct {
		name string
		err  error
	}
	asked := map[string]func(context.Context) error{
		"database": s.Ping, "queue": pingOf(p.queue), "limiter": limiterPing(p.limiter),
		"mail": pingOf(p.mail), "files": pingOf(p.files), "payments": pingOf(p.payments),
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
	if name == "database" {
		return adapters.Health{Err: err}
	}
	return adapters.Health{Degraded: err != nil}
}

// pingOf is how an adapter is asked; one that works in the process has nobody
// to ask.
func pingOf(adapter any) func(context.Context) error {
	if p, ok := adapter.(interface {
		Ping(ctx context.Context) error
	}); ok {
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
	d, ok := l.(interface{ Degraded() bool })
	return ok && d.Degraded()
}
