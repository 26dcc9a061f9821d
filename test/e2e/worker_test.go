package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// TestWorker_BesideServer_RunsTasks checks that with an external queue the server leaves tasks
// to `locum worker`, which stops gracefully on a signal.
func TestWorker_BesideServer_RunsTasks(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	server := start(t, dir, "LOCUM_DATABASE_URL="+kit.PostgresURL(t), "LOCUM_QUEUE_URL="+kit.RedisURL(t))
	seeker := server.seeker(t)
	mails := func() int {
		names, err := filepath.Glob(filepath.Join(dir, "data", "mail", "*.eml"))
		require.NoError(t, err)
		return len(names)
	}

	require.Never(t, func() bool { return mails() > 0 }, 1500*time.Millisecond, 100*time.Millisecond, "the server executes no tasks")

	worker := exec.Command(kit.Program(t), "worker")
	worker.Dir = server.dir
	worker.Env = server.env
	worker.Stderr = server.log
	worker.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, worker.Start())
	server.waitForMail(t, seeker.email, "confirm your e-mail")
	require.NoError(t, worker.Process.Signal(os.Interrupt))
	require.NoError(t, worker.Wait(), "a worker stops gracefully on a signal")
}

// TestWorker_EmbeddedQueue_Refused checks that a worker does not start with the embedded queue,
// which other processes cannot use.
func TestWorker_EmbeddedQueue_Refused(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	cmd := exec.Command(kit.Program(t), "worker")
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir}
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "queue.url (from default)")
}
