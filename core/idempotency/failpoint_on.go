//go:build failpoints

package idempotency

import (
	"os"
	"syscall"
)

// failpoint kills the process at the point that LOCUM_TEST_FAILPOINT names, as
// POINT METHOD /path.
func failpoint(point, operation string) {
	if os.Getenv("LOCUM_TEST_FAILPOINT") == point+" "+operation {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal ends the process
	}
}
