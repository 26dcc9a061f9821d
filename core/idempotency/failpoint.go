//go:build !failpoints

package idempotency

// failpoint does nothing. In programs that tests build with the tag failpoints, it can kill
// the process.
func failpoint(_, _ string) {}
