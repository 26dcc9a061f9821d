//go:build !failpoints

package idempotency

// failpoint does nothing: only tests are built with the tag failpoints.
func failpoint(_, _ string) {}
