package filelimit_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.org/outsider/filelimit"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/test/conformance"
)

// open returns a limiter with an empty folder.
func open(t testing.TB, clk clock.Clock) limit.Limiter {
	return filelimit.New(t.TempDir(), clk, time.Minute)
}

// TestLimiter_Conformance runs the suite for limiters, with outages of the folder.
func TestLimiter_Conformance(t *testing.T) {
	t.Parallel()
	conformance.Limiter(t, open, openInterrupted)
}

// openInterrupted puts a file in the place of the folder for the time of the outage.
func openInterrupted(t testing.TB) (limiter limit.Limiter, begin, end func()) {
	folder := filepath.Join(t.TempDir(), "limits")
	check := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}

	begin = func() {
		check(os.Rename(folder, folder+"-saved"))
		check(os.WriteFile(folder, nil, 0o600))
	}

	end = func() {
		check(os.Remove(folder))
		check(os.Rename(folder+"-saved", folder))
	}

	return filelimit.New(folder, clock.System{}, time.Minute), begin, end
}

// TestLimiter_SharedFolder_CountsTogether checks that two processes with the same folder share a
// limit.
func TestLimiter_SharedFolder_CountsTogether(t *testing.T) {
	t.Parallel()

	folder := t.TempDir()
	limiter1 := filelimit.New(folder, clock.System{}, time.Minute)
	limiter2 := filelimit.New(folder, clock.System{}, time.Minute)
	rule := limit.Rule{Name: "r", Max: 1, Per: time.Hour}

	decision, err := limiter1.Take(t.Context(), rule, "k")
	if err != nil || !decision.Allowed {
		t.Fatal(decision, err)
	}

	decision, err = limiter2.Take(t.Context(), rule, "k")
	if err != nil || decision.Allowed {
		t.Fatal(decision, err)
	}
}

// TestLimiter_FolderUnavailable_CountsInProcess checks that limits apply without the folder, and
// that the limiter reports itself as degraded. The path of the folder is that of a file.
func TestLimiter_FolderUnavailable_CountsInProcess(t *testing.T) {
	t.Parallel()

	folder := filepath.Join(t.TempDir(), "limits")
	if err := os.WriteFile(folder, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	limiter := filelimit.New(folder, clock.System{}, time.Minute)

	rule := limit.Rule{Name: "r", Max: 1, Per: time.Hour}
	for _, wantAllowed := range []bool{true, false} {
		decision, err := limiter.Take(t.Context(), rule, "k")
		if err != nil || decision.Allowed != wantAllowed {
			t.Fatal(decision, err)
		}
	}

	if err := limiter.Clear(t.Context(), rule, "k"); err != nil {
		t.Fatal(err)
	}

	if !limiter.Degraded() {
		t.Fatal("want a degraded limiter")
	}

	if limiter.Ping(t.Context()) == nil {
		t.Fatal("want an error of Ping")
	}
}

// TestLimiter_ShardLocked_WaitIsBounded checks that a process that holds the lock of a shard
// delays each call by at most the 50 ms of its timeout, that other shards still work, and that
// the limiter recovers.
func TestLimiter_ShardLocked_WaitIsBounded(t *testing.T) {
	t.Parallel()

	folder := t.TempDir()
	limiter := filelimit.New(folder, clock.System{}, 50*time.Millisecond)
	rule := limit.Rule{Name: "r", Max: 1_000_000, Per: time.Hour}
	take := func(key string) {
		decision, err := limiter.Take(t.Context(), rule, key)
		if err != nil || !decision.Allowed {
			t.Error(decision, err)
		}
	}

	takeOthers := func() {
		for i := range 20 { // most of these keys are in other shards than "k"
			take(fmt.Sprint("other-", i))
		}
	}

	take("k")

	locks, err := filepath.Glob(filepath.Join(folder, "*", "lock"))
	if err != nil || len(locks) != 1 {
		t.Fatal(locks, err)
	}

	lock, err := os.Open(locks[0])
	if err != nil {
		t.Fatal(err)
	}

	defer func() { _ = lock.Close() }()

	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}

	start := time.Now()

	var calls sync.WaitGroup
	for range 200 {
		calls.Go(func() { take("k") })
	}

	calls.Wait()

	if took := time.Since(start); took > 5*time.Second { // 200 calls that wait for each other take 10 s
		t.Error("calls waited for each other: ", took)
	}

	takeOthers()

	if !limiter.Degraded() {
		t.Error("want a degraded limiter while a shard is locked")
	}

	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}

	deadline := time.Now().Add(30 * time.Second)
	for limiter.Degraded() {
		if time.Now().After(deadline) {
			t.Fatal("want a limiter that has recovered")
		}

		take("k")
		takeOthers()
	}
}

// TestLimiter_Dependencies_AreFew checks that the suites need few modules, because other teams
// have to add them to their go.mod.
func TestLimiter_Dependencies_AreFew(t *testing.T) {
	t.Parallel()

	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-test", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")

	out, err := list.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	modules := map[string]bool{}
	for _, path := range strings.Fields(string(out)) {
		if path != "example.org/outsider" && path != "github.com/locumhq/locum" {
			modules[path] = true
		}
	}

	const maxModules = 3 // testify and two that it needs
	if len(modules) > maxModules {
		t.Errorf("the test needs %d modules of others: %v", len(modules), modules)
	}

	t.Log(modules)
}
