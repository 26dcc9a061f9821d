// Package retention is the port through which stored data expires.
package retention

import (
	"context"
	"time"
)

// Kind names a set of rows that expire by the same rule, such as "identity.sessions". The
// package that owns the rows declares the constant, and its comment defines the time from
// which the age of a row is counted.
type Kind string

// Store deletes expired rows.
type Store interface {
	// DeleteBefore deletes at most n rows of the kind whose time is earlier than before,
	// and the rows that depend on them. It returns the number of deleted rows of the kind.
	// It returns an error for a kind that the store does not know.
	DeleteBefore(ctx context.Context, kind Kind, before time.Time, n int) (int, error)
}

// DeleteAllBefore deletes all rows of the kind whose time is earlier than before, in
// batches of n. It does nothing if the store is nil.
func DeleteAllBefore(ctx context.Context, s Store, kind Kind, before time.Time, n int) error {
	if s == nil {
		return nil
	}

	for {
		deleted, err := s.DeleteBefore(ctx, kind, before, n)
		if err != nil || deleted < n {
			return err
		}
	}
}
