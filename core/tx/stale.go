package tx

import (
	"context"
	"time"
)

// asOfKey is the context key of AllowStale.
type asOfKey struct{}

// AllowStale returns a context for reads that may be stale by the given age. Such a read
// sees every transaction that was committed more than age before the call of AllowStale,
// and may miss later ones. A storage may answer it from a replica. With an age of zero, a
// client sees everything that it wrote before the call. AllowStale has no effect inside a
// transaction.
func AllowStale(ctx context.Context, age time.Duration) context.Context {
	return context.WithValue(ctx, asOfKey{}, time.Now().Add(-age))
}

// AsOf returns the time until which commits must be visible to reads with ctx, with a
// monotonic clock reading. mayBeStale is false if reads must see all commits.
func AsOf(ctx context.Context) (asOf time.Time, mayBeStale bool) {
	asOf, mayBeStale = ctx.Value(asOfKey{}).(time.Time)
	return asOf, mayBeStale
}
