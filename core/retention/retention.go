// Package retention is the port through which stored data expires.
package retention

import (
	"context"
	"time"
)

// Kind names a set of rows that expires together, such as "identity.sessions".
// The constants are declared by the package that owns the rows; their comments
// define which time of a row counts.
type Kind string

// Store deletes expired rows.
type Store interface {
	// DeleteBefore deletes at most n rows of the kind whose time is before the
	// given one, together with the rows that belong to them, and returns the number
	// of rows deleted. A kind that the store does not have is an error.
	DeleteBefore(ctx context.Context, kind Kind, before time.Time, n int) (int, error)
}

// DeleteAllBefore deletes all rows of the kind whose time is before the given one, at
// most n in one call of the store. A nil store has no rows.
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
