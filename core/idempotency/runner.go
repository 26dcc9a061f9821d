package idempotency

import (
	"context"
	"log/slog"
	"time"

	"github.com/locumhq/locum/core/tx"
)

// Runner carries out requests at most once.
type Runner struct {
	Tx    tx.Runner
	Store Store
	Log   *slog.Logger
}

// Operation is the work of a request.
type Operation struct {
	// Run does the work and returns the answer.
	Run func(ctx context.Context) (Answer, error)
	// Refusal returns the answer to an error of Run. A retry gets the same answer
	// if keep is true, and is carried out again otherwise.
	Refusal func(err error) (a Answer, keep bool)
	// Fallback is nil for work that fits in one transaction, which then stores
	// the answer as well: after a crash there are both or neither. Work that
	// calls other systems between its transactions cannot be undone as a whole;
	// a retry after a crash gets Fallback as soon as one transaction was
	// committed, and is never carried out again.
	Fallback *Answer
}

// recordWithin bounds the writes after a request, whose own time may be up.
const recordWithin = 2 * time.Second

// Do carries out the operation, or returns the answer of an earlier call with the
// same key. The returned answer is nil if this call has run the operation.
func (r Runner) Do(ctx context.Context, request Request, o Operation) (*Answer, error) {
	claim, stored, err := r.Store.Begin(ctx, request)
	if err != nil || stored != nil {
		return stored, err
	}
	failpoint("begun", request.Operation)
	done := false
	defer func() {
		if !done {
			r.record(ctx, func(ctx context.Context) error { return r.Store.Release(ctx, claim) })
		}
	}()
	if o.Fallback == nil {
		err = r.Tx.Do(ctx, func(ctx context.Context) error {
			a, err := o.Run(ctx)
			if err != nil {
				return err
			}
			failpoint("effect", request.Operation)
			if err := r.Store.Finish(ctx, claim, a); err != nil {
				return err
			}
			failpoint("answer", request.Operation)
			return nil
		})
	} else {
		var a Answer
		if a, err = o.Run(context.WithValue(ctx, interruptibleKey{}, &interruptible{claim, *o.Fallback})); err == nil {
			failpoint("effect", request.Operation)
			r.record(ctx, func(ctx context.Context) error { return r.Store.Finish(ctx, claim, a) })
		}
	}
	if err == nil {
		done = true
		failpoint("done", request.Operation)
		return nil, nil
	}
	if a, keep := o.Refusal(err); keep {
		done = true
		r.record(ctx, func(ctx context.Context) error { return r.Store.Finish(ctx, claim, a) })
	}
	return nil, err
}

// record writes the outcome of a request, also after the request was cancelled.
// A write that fails leaves the claim to expire.
func (r Runner) record(ctx context.Context, write func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	if err := write(ctx); err != nil {
		r.Log.Warn("failed to store the outcome of an idempotent request", "error", err)
	}
}

// interruptible is a request whose work has several transactions.
type interruptible struct {
	claim    Claim
	fallback Answer
}

type interruptibleKey struct{}

// Transactions returns a tx.Runner that sets the fallback of an interruptible
// request in each of its transactions. All writes of the service go through it.
func Transactions(t tx.Runner, s Store) tx.Runner { return transactions{t, s} }

type transactions struct {
	tx.Runner
	store Store
}

// Do implements tx.Runner.
func (t transactions) Do(ctx context.Context, fn func(context.Context) error) error {
	i, ok := ctx.Value(interruptibleKey{}).(*interruptible)
	if !ok || i == nil {
		return t.Runner.Do(ctx, fn)
	}
	return t.Runner.Do(ctx, func(ctx context.Context) error {
		// A transaction within this one is a part of it.
		if err := fn(context.WithValue(ctx, interruptibleKey{}, (*interruptible)(nil))); err != nil {
			return err
		}
		return t.store.SetFallback(ctx, i.claim, i.fallback)
	})
}
