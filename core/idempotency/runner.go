package idempotency

import (
	"context"
	"log/slog"
	"time"

	"github.com/locumhq/locum/core/tx"
)

// Runner carries out requests at most once. A request has a key, which the client repeats when it
// retries. Before the work, the runner claims the key: until the claim is released or its lease
// ends, a retry is not carried out.
type Runner struct {
	tx          tx.Runner
	store       Store
	log         *slog.Logger
	distributed bool // some modules are stored in other databases than the keys
}

// NewRunner returns a runner for a store and the transactions of the store's database. A
// service is distributed if some modules are stored in other databases.
func NewRunner(t tx.Runner, s Store, distributed bool, log *slog.Logger) *Runner {
	return &Runner{tx: t, store: s, log: log, distributed: distributed}
}

// Operation is the work of a request.
//
// Work that is done in one transaction with its answer is either done completely or not at all. Other
// work may be interrupted by a crash after some of its transactions. The fallback is the answer to
// retries of such interrupted work.
type Operation struct {
	// Run does the work and returns the answer.
	Run func(ctx context.Context) (Answer, error)
	// Refusal returns the answer to an error of Run. If keep is true, the answer is stored
	// and a retry gets it too. Otherwise a retry is carried out.
	Refusal func(err error) (a Answer, keep bool)
	// Remote is set for work that calls other systems between its transactions. Other work
	// runs in one transaction, which also stores the answer: after a crash either both
	// exist or neither does.
	Remote bool
	// Fallback is the answer to a retry of work that was interrupted after one of its
	// transactions was committed. Such work is never carried out again. Only remote work,
	// and the work of a distributed service, can be interrupted in this way.
	Fallback Answer
}

// recordTimeout is the timeout of the writes that follow the work. The request itself may
// already have timed out.
const recordTimeout = 2 * time.Second

// Do carries out the operation, or returns the answer of an earlier call with the same
// key. The returned answer is nil if this call has carried out the operation.
func (r *Runner) Do(ctx context.Context, request Request, o Operation) (*Answer, error) {
	// Claim the key of the request, unless an answer is stored under it.
	claim, storedAnswer, err := r.store.Begin(ctx, request)
	if err != nil || storedAnswer != nil {
		return storedAnswer, err
	}

	failpoint("begun", request.Operation)

	work := &interruptible{claim: claim, fallback: o.Fallback}

	isAnswerStored := false
	defer func() { // runs after a panic of the work, too
		if !isAnswerStored {
			r.release(ctx, work)
		}
	}()

	if o.Remote || r.distributed {
		err = r.runInterruptible(ctx, request, o, work)
	} else {
		err = r.runInTransaction(ctx, request, o, claim)
	}

	// A final refusal is an answer as well. After another error, the claim is released.
	if err != nil {
		if refusal, isFinal := o.Refusal(err); isFinal {
			isAnswerStored = true

			r.record(ctx, func(ctx context.Context) error { return r.store.Finish(ctx, claim, refusal) })
		}

		return nil, err
	}

	isAnswerStored = true

	failpoint("done", request.Operation)

	return nil, nil
}

// runInTransaction does the work and stores its answer in one transaction.
func (r *Runner) runInTransaction(ctx context.Context, request Request, o Operation, claim Claim) error {
	return r.tx.Do(ctx, func(ctx context.Context) error {
		answer, err := o.Run(ctx)
		if err != nil {
			return err
		}

		failpoint("effect", request.Operation)

		if err := r.store.Finish(ctx, claim, answer); err != nil {
			return err
		}

		failpoint("answer", request.Operation)

		return nil
	})
}

// runInterruptible does work that has transactions of its own, and stores its answer after it.
func (r *Runner) runInterruptible(ctx context.Context, request Request, o Operation, work *interruptible) error {
	answer, err := o.Run(context.WithValue(ctx, interruptibleKey{}, work))
	if err != nil {
		return err
	}

	failpoint("effect", request.Operation)
	r.record(ctx, func(ctx context.Context) error { return r.store.Finish(ctx, work.claim, answer) })

	return nil
}

// release gives up the claim, so that a retry is carried out. A retry of work that has
// committed a transaction gets the fallback.
func (r *Runner) release(ctx context.Context, work *interruptible) {
	// The fallback was stored before the first transaction, which did not commit: nothing was done.
	if work.hasFallback && !work.hasCommitted {
		noFallback := Answer{} // deletes the stored fallback
		r.record(ctx, func(ctx context.Context) error { return r.store.SetFallback(ctx, work.claim, noFallback) })
	}

	r.record(ctx, func(ctx context.Context) error { return r.store.Release(ctx, work.claim) })
}

// record writes the outcome of a request, even if the request was cancelled. If the write
// fails, the claim ends with its lease.
func (r *Runner) record(ctx context.Context, write func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()

	if err := write(ctx); err != nil {
		r.log.Warn("failed to store the outcome of an idempotent request", "error", err)
	}
}

// interruptible is the state of work that may have several transactions, between which a crash can
// interrupt it. It is in the context of the work.
type interruptible struct {
	claim        Claim
	fallback     Answer
	hasFallback  bool // the fallback was stored before the first transaction
	hasCommitted bool // a transaction was committed
}

type interruptibleKey struct{}

// Transactions returns a transaction runner that also stores the fallback of interruptible
// work. All writes of the service use it.
//
// If all modules share a database, the transaction itself stores the fallback. A distributed
// service stores the fallback before the first transaction of the work: after a crash, a
// retry may then get the fallback although nothing was committed.
func (r *Runner) Transactions(t tx.Runner) tx.Runner { return transactions{t, r} }

// transactions is the tx.Runner that Transactions returns.
type transactions struct {
	tx     tx.Runner
	runner *Runner
}

// Read implements tx.Reader.
func (t transactions) Read(ctx context.Context, fn func(context.Context) error) error {
	return tx.Read(ctx, t.tx, fn)
}

// Do implements tx.Runner. It also stores the fallback of interruptible work.
func (t transactions) Do(ctx context.Context, fn func(context.Context) error) error {
	// Work in one transaction needs no fallback and is not in the context. An inner call of Do finds
	// nil, which the outer call has set below.
	work, _ := ctx.Value(interruptibleKey{}).(*interruptible)
	if work == nil {
		return t.tx.Do(ctx, fn)
	}

	if t.runner.distributed && !work.hasFallback {
		if err := t.runner.store.SetFallback(ctx, work.claim, work.fallback); err != nil {
			return err
		}

		work.hasFallback = true
	}

	err := t.tx.Do(ctx, func(ctx context.Context) error {
		// Inner calls of Do join this transaction and must not store the fallback again.
		err := fn(context.WithValue(ctx, interruptibleKey{}, (*interruptible)(nil)))
		if err != nil || work.hasFallback {
			return err
		}

		return t.runner.store.SetFallback(ctx, work.claim, work.fallback)
	})

	work.hasCommitted = work.hasCommitted || err == nil

	return err
}
