package idempotency

import (
	"context"
	"log/slog"
	"time"

	"github.com/locumhq/locum/core/tx"
)

// Runner carries out requests at most once.
type Runner struct {
	tx          tx.Runner
	store       Store
	log         *slog.Logger
	distributed bool
}

// NewRunner returns a runner for a store and the transactions of its database. It
// is distributed if some modules are stored in other databases.
func NewRunner(t tx.Runner, s Store, distributed bool, log *slog.Logger) *Runner {
	return &Runner{t, s, log, distributed}
}

// Operation is the work of a request.
type Operation struct {
	// Run does the work and returns the answer.
	Run func(ctx context.Context) (Answer, error)
	// Refusal returns the answer to an error of Run. A retry gets the same answer
	// if keep is true, and is carried out again otherwise.
	Refusal func(err error) (a Answer, keep bool)
	// Remote is set for work that calls other systems between its transactions.
	// Other work is one transaction, which also stores the answer: after a crash
	// there are both or neither.
	Remote bool
	// Fallback is the answer to a retry of remote work that was interrupted after
	// one of its transactions was committed; it is never carried out again. The
	// same holds for all work while modules are stored in different databases.
	Fallback Answer
}

// recordWithin is the timeout of the writes after a request, which may have timed out
// itself.
const recordWithin = 2 * time.Second

// Do carries out the operation, or returns the answer of an earlier call with the
// same key. The returned answer is nil if this call has run the operation.
func (r *Runner) Do(ctx context.Context, request Request, o Operation) (*Answer, error) {
	claim, stored, err := r.store.Begin(ctx, request)
	if err != nil || stored != nil {
		return stored, err
	}
	failpoint("begun", request.Operation)
	done := false
	defer func() {
		if !done {
			r.record(ctx, func(ctx context.Context) error { return r.store.Release(ctx, claim) })
		}
	}()
	if !o.Remote && !r.distributed {
		err = r.tx.Do(ctx, func(ctx context.Context) error {
			a, err := o.Run(ctx)
			if err != nil {
				return err
			}
			failpoint("effect", request.Operation)
			if err := r.store.Finish(ctx, claim, a); err != nil {
				return err
			}
			failpoint("answer", request.Operation)
			return nil
		})
	} else {
		var a Answer
		work := &interruptible{claim: claim, fallback: o.Fallback}
		defer func() {
			if !done && work.set && !work.committed {
				r.record(ctx, func(ctx context.Context) error { return r.store.SetFallback(ctx, claim, Answer{}) })
			}
		}()
		if a, err = o.Run(context.WithValue(ctx, interruptibleKey{}, work)); err == nil {
			failpoint("effect", request.Operation)
			r.record(ctx, func(ctx context.Context) error { return r.store.Finish(ctx, claim, a) })
		}
	}
	if err == nil {
		done = true
		failpoint("done", request.Operation)
		return nil, nil
	}
	if a, keep := o.Refusal(err); keep {
		done = true
		r.record(ctx, func(ctx context.Context) error { return r.store.Finish(ctx, claim, a) })
	}
	return nil, err
}

// record writes the outcome of a request, also after the request was cancelled.
// A write that fails leaves the claim to expire.
func (r *Runner) record(ctx context.Context, write func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	if err := write(ctx); err != nil {
		r.log.Warn("failed to store the outcome of an idempotent request", "error", err)
	}
}

// interruptible is a request whose work has several transactions.
type interruptible struct {
	claim     Claim
	fallback  Answer
	set       bool // the fallback is stored, also if nothing is committed
	committed bool // a transaction was committed
}

type interruptibleKey struct{}

// Transactions returns transactions that set the fallback of an interruptible
// request. All writes of the service are made with them. In the runner's own
// database the fallback is stored by the transaction itself. A distributed
// service stores it before its first transaction begins: after a crash a retry
// may get the fallback although nothing was committed.
func (r *Runner) Transactions(t tx.Runner) tx.Runner { return transactions{t, r} }

type transactions struct {
	tx     tx.Runner
	runner *Runner
}

// Read implements tx.Reader.
func (t transactions) Read(ctx context.Context, fn func(context.Context) error) error {
	return tx.Read(ctx, t.tx, fn)
}

// Do implements tx.Runner.
func (t transactions) Do(ctx context.Context, fn func(context.Context) error) error {
	i, ok := ctx.Value(interruptibleKey{}).(*interruptible)
	if !ok || i == nil {
		return t.tx.Do(ctx, fn)
	}
	if t.runner.distributed && !i.set {
		if err := t.runner.store.SetFallback(ctx, i.claim, i.fallback); err != nil {
			return err
		}
		i.set = true
	}
	err := t.tx.Do(ctx, func(ctx context.Context) error {
		// A transaction within this one is a part of it.
		err := fn(context.WithValue(ctx, interruptibleKey{}, (*interruptible)(nil)))
		if err != nil || i.set {
			return err
		}
		return t.runner.store.SetFallback(ctx, i.claim, i.fallback)
	})
	i.committed = i.committed || err == nil
	return err
}
