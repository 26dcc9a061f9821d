package tx

import (
	"context"
	"time"
)

// asOfKey is the context key of AllowStale.
type asOfKey struct{}

// AllowStale returns a context for reads that may be outdated: they contain all that
// was committed earlier than age before this call, and may lack what was committed
// since. A storage may answer them from a replica. It has no effect inside
// transactions. With an age of zero a client reads all that it has written before.
func AllowStale(ctx context.Context, age time.Duration) context.Context {
	return context.WithValue(ctx, asOfKey{}, time.Now().Add(-age))
}

// AsOf returns the time up to which reads with ctx must be current, and false if they
// must not be outdated. The time has a monotonic clock reading.
func AsOf(ctx context.Context) (time.Time, bool) {
	t, ok := ctx.Value(asOfKey{}).(time.Time)
	return t, ok
}
