package natsqueue_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"example.org/outsider/natsqueue"
	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/gormdb"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/test/conformance"
)

// open opens a queue, which is closed after the test.
func open(t testing.TB, url string) task.Queue {
	t.Helper()

	queue, err := natsqueue.Open(t.Context(), url, adapters.Deps{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, queue.(io.Closer).Close()) })

	return queue
}

// openEmbedded opens a queue whose server runs in the process.
func openEmbedded(t testing.TB) task.Queue {
	t.Helper()
	return open(t, "embedded:"+t.TempDir())
}

// TestQueue_Conformance runs the suite for queues, with outages of the server.
func TestQueue_Conformance(t *testing.T) {
	t.Parallel()
	conformance.Queue(t, openEmbedded, openInterrupted)
}

// openInterrupted opens a queue on a server that can be stopped.
func openInterrupted(t testing.TB) (queue task.Queue, begin, end func()) {
	options := newOptions(t)
	stop := runServer(t, options)
	queue = open(t, fmt.Sprint("nats://127.0.0.1:", options.Port))

	return queue, stop, func() { t.Cleanup(runServer(t, options)) }
}

// newOptions returns the options of a server with a random port and an empty folder.
func newOptions(t testing.TB) *server.Options {
	return &server.Options{
		Host:      "127.0.0.1",
		Port:      server.RANDOM_PORT,
		JetStream: true,
		StoreDir:  t.TempDir(),
		NoSigs:    true, // the server must not handle signals of the test process
	}
}

// startServer starts a server and returns its URL.
func startServer(t testing.TB) string {
	t.Helper()

	options := newOptions(t)
	t.Cleanup(runServer(t, options))

	return fmt.Sprint("nats://127.0.0.1:", options.Port)
}

// runServer starts a server, whose port it sets in the options if it is random.
func runServer(t testing.TB, options *server.Options) (stop func()) {
	t.Helper()

	s, err := server.NewServer(options)
	require.NoError(t, err)
	s.Start()
	require.True(t, s.ReadyForConnections(30*time.Second))

	options.Port = s.Addr().(*net.TCPAddr).Port

	return func() {
		s.Shutdown()
		s.WaitForShutdown()
	}
}

// TestQueue_Work_Conformance runs the suite for queues together with a store of tasks, which any
// storage provides.
func TestQueue_Work_Conformance(t *testing.T) {
	t.Parallel()
	conformance.Work(t, func(t testing.TB) (adapters.Database, task.Queue) {
		deps := adapters.Deps{Clock: clock.System{}, NewID: newID, Log: slog.New(slog.DiscardHandler)}
		storage, err := gormdb.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "tasks.db"), deps)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, storage.Identity.Close()) })

		_, err = storage.Identity.Schema.Up(t.Context())
		require.NoError(t, err)

		return storage.Identity.Database, openEmbedded(t)
	})
}

// TestQueue_Embedded_DependsOnURL checks that only a queue in the process is reported as
// embedded, so that a worker refuses to start with it.
func TestQueue_Embedded_DependsOnURL(t *testing.T) {
	t.Parallel()
	require.True(t, openEmbedded(t).Embedded())
	require.False(t, open(t, startServer(t)).Embedded())
}

// TestQueue_Server_IsShared checks that a task that one process enqueues is executed by another
// one.
func TestQueue_Server_IsShared(t *testing.T) {
	t.Parallel()

	url := startServer(t)
	ref := task.Reference{Queue: task.Mail, Kind: "greet", ID: "a", Enqueues: 1}
	require.NoError(t, open(t, url).Enqueue(t.Context(), ref))

	ctx, cancel := context.WithCancel(t.Context())
	delivered := make(chan task.Reference, 1)

	done := make(chan error, 1)
	go func() {
		done <- open(t, url).Work(ctx, func(_ context.Context, got task.Reference) { delivered <- got })
	}()

	require.Equal(t, ref, <-delivered)
	cancel()
	require.NoError(t, <-done)
}

// TestOpen_NoServer_Fails checks that a wrong address is noticed at the start.
func TestOpen_NoServer_Fails(t *testing.T) {
	t.Parallel()

	_, err := natsqueue.Open(t.Context(), "nats://127.0.0.1:1", adapters.Deps{})
	require.Error(t, err)
}

// newID returns a UUIDv7.
func newID() string { return uuid.Must(uuid.NewV7()).String() }
