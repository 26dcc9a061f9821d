//go:build failpoints

package idempotency

import (
	"os"
	"syscall"
)

// failpoint kills the process if LOCUM_TEST_FAILPOINT is the point and operation, as in
// "effect POST /api/v1/jobs".
func failpoint(point, operation string) {
	if os.Getenv("LOCUM_TEST_FAILPOINT") == point+" "+operation {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // wait until the signal ends the process
	}
}
