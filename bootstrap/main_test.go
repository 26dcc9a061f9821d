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
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	debug.SetMemoryLimit(math.MaxInt64)
	limitMemory(slog.New(slog.DiscardHandler), func() (uint64, error) { return 0, memlimit.ErrNoLimit })
	require.EqualValues(t, math.MaxInt64, debug.SetMemoryLimit(-1))
	limitMemory(slog.New(slog.DiscardHandler), memlimit.Limit(1<<30))
	require.InDelta(t, 0.9*(1<<30), debug.SetMemoryLimit(-1), 1)
	t.Setenv("GOMEMLIMIT", "1GiB")
	limitMemory(slog.New(slog.DiscardHandler), memlimit.Limit(1<<20))
	require.InDelta(t, 0.9*(1<<30), debug.SetMemoryLimit(-1), 1, "an explicit GOMEMLIMIT wins")
}
