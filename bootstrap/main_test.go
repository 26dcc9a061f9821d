package bootstrap

import (
	"log/slog"
	"math"
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/stretchr/testify/require"
)

// TestLimitMemory_ControlGroupLimit_BoundsRuntime checks that the memory limit of the Go runtime
// is 90 % of that of the container, so that the garbage collector runs before the kernel kills
// the process.
func TestLimitMemory_ControlGroupLimit_BoundsRuntime(t *testing.T) {
	const readLimit = -1 // the argument with which SetMemoryLimit changes nothing and returns the limit

	before := debug.SetMemoryLimit(readLimit)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })

	const gibibyte, mebibyte = 1 << 30, 1 << 20
	const ninetyPercent, oneByte = 0.9 * gibibyte, 1

	log := slog.New(slog.DiscardHandler)

	// Outside of a container, nothing changes.
	debug.SetMemoryLimit(math.MaxInt64)
	limitMemory(log, func() (uint64, error) { return 0, memlimit.ErrNoLimit })
	require.EqualValues(t, math.MaxInt64, debug.SetMemoryLimit(readLimit))

	// In a container of 1 GiB.
	limitMemory(log, memlimit.Limit(gibibyte))
	require.InDelta(t, ninetyPercent, debug.SetMemoryLimit(readLimit), oneByte)

	// With GOMEMLIMIT, the limit of the container, 1 MiB, is ignored.
	t.Setenv("GOMEMLIMIT", "1GiB")
	limitMemory(log, memlimit.Limit(mebibyte))
	require.InDelta(t, ninetyPercent, debug.SetMemoryLimit(readLimit), oneByte, "an explicit GOMEMLIMIT wins")
}
