// Package tx defines the port for transactions across repositories.
package tx

import (
	"context"
	"errors"
)

// ErrStale is returned by an update of a row that another transaction has changed since
// the row was read. A Runner repeats a transaction that fails with ErrStale.
var ErrStale = errors.New("the row has changed since it was read")

// Runner runs transactions.
type Runner interface {
	// Do runs fn in a transaction. Repository calls with the context that fn receives are
	// part of the transaction. If fn returns nil, Do commits. Otherwise Do rolls back and
	// returns the error of fn unchanged, or fault.ErrUnavailable if the error means that
	// the database cannot be used. A commit may fail with an error of an earlier
	// repository call, for example a violated constraint. A Do inside fn joins the
	// transaction.
	//
	// Do runs fn again after ErrStale or a serialization failure, and returns
	// fault.ErrUnavailable after about ten attempts. fn must therefore not change anything
	// outside the transaction.
	Do(ctx context.Context, fn func(ctx context.Context) error) error
}

// Reader is implemented by a Runner with connections that do not wait for writers.
type Reader interface {
	// Read runs fn with a context for reads. The reads see committed data and, if ctx has
	// a transaction, the uncommitted changes of that transaction. fn must not write.
	Read(ctx context.Context, fn func(ctx context.Context) error) error
}

// Read calls the Read method of r or, if r is not a Reader, its Do method.
func Read(ctx context.Context, r Runner, fn func(ctx context.Context) error) error {
	if reader, isReader := r.(Reader); isReader {
		return reader.Read(ctx, fn)
	}

	return r.Do(ctx, fn)
}

// DoBatches calls fn repeatedly, each time in a new transaction. fn returns the number of
// items that it has processed. DoBatches ends when that number is below size, or when fn
// returns an error.
func DoBatches(ctx context.Context, r Runner, size int, fn func(ctx context.Context) (n int, err error)) error {
	for {
		var processed int

		err := r.Do(ctx, func(ctx context.Context) (err error) {
			processed, err = fn(ctx)
			return err
		})
		if err != nil || processed < size {
			return err
		}
	}
}
