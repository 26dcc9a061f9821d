// Package tx defines the port for transactions across repositories.
package tx

import (
	"context"
	"errors"
)

// ErrStale is the error of an update of a row that another transaction has changed
// since it was read. A Runner runs a transaction that fails with it again.
var ErrStale = errors.New("the row has changed since it was read")

// Runner runs transactions.
type Runner interface {
	// Do runs fn in a transaction. Repository calls with the context of fn are part of
	// it. The transaction is committed if fn returns nil and rolled back otherwise; Do
	// then returns fn's error unchanged, or fault.ErrUnavailable if the error means that
	// the database cannot be used. An error of the commit may be one that a repository
	// has deferred. A Do inside a Do joins the outer transaction.
	//
	// fn runs again, about ten times, after ErrStale or a serialization failure; Do
	// then returns fault.ErrUnavailable. It must not change anything outside the
	// transaction.
	Do(ctx context.Context, fn func(ctx context.Context) error) error
}

// Reader is implemented by a Runner with connections that do not wait for writers.
type Reader interface {
	// Read runs fn with a context for reads, which see what is committed or, if ctx has
	// a transaction, what that has written. fn must not write.
	Read(ctx context.Context, fn func(ctx context.Context) error) error
}

// Read calls r's Read or, if it is no Reader, Do.
func Read(ctx context.Context, r Runner, fn func(ctx context.Context) error) error {
	if reader, ok := r.(Reader); ok {
		return reader.Read(ctx, fn)
	}
	return r.Do(ctx, fn)
}

// DoBatches runs fn in one transaction after another until it returns an error, or has
// processed less than size items.
func DoBatches(ctx context.Context, r Runner, size int, fn func(ctx context.Context) (n int, err error)) error {
	for {
		var n int
		err := r.Do(ctx, func(ctx context.Context) (err error) {
			n, err = fn(ctx)
			return err
		})
		if err != nil || n < size {
			return err
		}
	}
}
