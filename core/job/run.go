package job

import (
	"context"
	"fmt"
	"time"
)

// Longest is how long one job may take.
const Longest = 20 * time.Second

// Run runs a handler as every queue does: for at most Longest, also beyond the
// end of ctx, and with a panic as an error.
func Run(ctx context.Context, do Handler, j Job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Longest)
	defer cancel()
	return do(ctx, j)
}
