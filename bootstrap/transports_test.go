package bootstrap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/test/kit"
)

// calls are the names of the functions called, in order.
type calls struct {
	mu    sync.Mutex
	names []string
}

func (c *calls) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.names = append(c.names, name)
}

func (c *calls) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.names, " ")
}

// testTransport is a transport with functions of the test; those that are nil succeed.
type testTransport struct {
	name            string
	calls           *calls
	start, shutdown func(ctx context.Context) error
}

func (t *testTransport) Start(ctx context.Context) error {
	t.calls.add("start-" + t.name)

	if t.start != nil {
		return t.start(ctx)
	}

	return nil
}

func (t *testTransport) Shutdown(ctx context.Context) error {
	t.calls.add("shutdown-" + t.name)

	if t.shutdown != nil {
		return t.shutdown(ctx)
	}

	return nil
}

// mountedTransport is a transport that the HTTP server serves below a path, with the status 418, and that can
// be unavailable.
type mountedTransport struct {
	testTransport
	path string
	err  error // the result of Ping
}

func (t *mountedTransport) Prefixes() []string { return []string{t.path} }

func (t *mountedTransport) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusTeapot)
}

func (t *mountedTransport) Ping(context.Context) error { return t.err }

func (t *mountedTransport) Drain() { t.calls.add("drain-" + t.name) }

// withTransport returns an option that adds a transport that exists already.
func withTransport(name string, t adapters.Transport) Option {
	return WithTransport(name, func(context.Context, adapters.Services, adapters.Deps) (adapters.Transport, error) { return t, nil })
}

// serveRole is the role of a server. Only servers open transports.
var serveRole = role{name: "serve", serves: true}

// TestWithTransport_FaultyTransport_ErrorNamesIt checks that the server does not start with a
// transport that cannot be opened or started, or whose path belongs to a route or to another
// transport. The keys are parts of the errors.
func TestWithTransport_FaultyTransport_ErrorNamesIt(t *testing.T) {
	t.Parallel()

	var recorded calls
	noCertificate := func(context.Context, adapters.Services, adapters.Deps) (adapters.Transport, error) {
		return nil, errors.New("no certificate")
	}

	for want, options := range map[string][]Option{
		"transport none: its opener returned nil":       {withTransport("none", nil)},
		"transport pointer: its opener returned nil":    {withTransport("pointer", (*testTransport)(nil))},
		"there is a transport adapter for mcp: already": {withTransport("mcp", &testTransport{calls: &recorded})},
		"there is a transport adapter for twice: already": {
			withTransport("twice", &testTransport{calls: &recorded}),
			withTransport("twice", &testTransport{calls: &recorded}),
		},
		"the transport adapter for missing: has no opener": {WithTransport("missing", nil)},
		`the transport has the name "a b"; want letters`:   {withTransport("a b", &testTransport{calls: &recorded})},
		"transport broken: no certificate":                 {WithTransport("broken", noCertificate)},
		"transport b: the port is taken": {withTransport("b", &testTransport{
			calls: &recorded,
			start: func(context.Context) error { return errors.New("the port is taken") },
		})},
		"transport high: the path /healthz overlaps the route":           {withTransport("high", &mountedTransport{path: "/healthz"})},
		"transport same: the path /mcp/x overlaps /mcp of transport mcp": {withTransport("same", &mountedTransport{path: "/mcp/x"})},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()

			_, err := startApp(t, testConfig(t, nil), serveRole, options...)
			require.ErrorContains(t, err, want)
		})
	}
}

// TestTransports_Lifecycle_IsThatOfTheServer checks that transports are started in the order of
// their names after the services, that a mounted one is reachable, that one that is unavailable
// only degrades readiness, and that all are drained and shut down with the server.
func TestTransports_Lifecycle_IsThatOfTheServer(t *testing.T) {
	t.Parallel()

	var recorded calls
	mounted := &mountedTransport{
		testTransport: testTransport{name: "b", calls: &recorded},
		path:          "/b",
		err:           errors.New("unavailable"),
	}

	var services adapters.Services // of the opener of the other transport
	openA := func(_ context.Context, s adapters.Services, deps adapters.Deps) (adapters.Transport, error) {
		services = s

		require.NotNil(t, deps.Tracer)

		return &testTransport{name: "a", calls: &recorded}, nil
	}
	app, err := startApp(t, testConfig(t, nil), serveRole, withTransport("b", mounted), WithTransport("a", openA))
	require.NoError(t, err)
	require.Equal(t, "start-a start-b", recorded.String())
	require.Empty(t, adapters.Missing(services))

	// The mounted transport is reachable below its path.
	for _, path := range []string{"/b", "/b/c"} {
		response, err := http.Get("http://" + app.addr.String() + path)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusTeapot, response.StatusCode, path)
	}

	// Readiness reports the unavailable transport, and the server is ready all the same.
	response, err := http.Get("http://" + app.addr.String() + "/readyz")
	require.NoError(t, err)

	var readiness struct {
		Adapters map[string]string `json:"adapters"`
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&readiness))
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, "degraded", readiness.Adapters["transport.b"])
	require.NotContains(t, readiness.Adapters, "transport.a")

	// The server stops. Transports are shut down at the same time, in any order.
	const noDelay = 0

	app.drain(noDelay)

	stop, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()

	require.NoError(t, app.Stop(stop))
	require.Regexp(t, "^start-a start-b drain-b shutdown-[ab] shutdown-[ab]$", recorded.String())
}

// TestTransports_Worker_OpensNone checks that a worker, which serves no requests, does not open
// transports.
func TestTransports_Worker_OpensNone(t *testing.T) {
	t.Parallel()

	cfg := testConfig(t, func(cfg *config.Config) { cfg.Queue.URL = kit.RedisURL(t) })
	migrate(t, cfg)

	failIfOpened := func(context.Context, adapters.Services, adapters.Deps) (adapters.Transport, error) {
		return nil, errors.New("opened")
	}
	_, err := startApp(t, cfg, role{name: "worker"}, WithTransport("a", failIfOpened))
	require.NoError(t, err)
}

// TestTransports_SecondFailsToStart_FirstIsShutDown checks that a failed start leaves no
// transport running.
func TestTransports_SecondFailsToStart_FirstIsShutDown(t *testing.T) {
	t.Parallel()

	var recorded calls
	fails := func(context.Context) error { return errors.New("no") }
	first := &testTransport{name: "a", calls: &recorded}
	second := &testTransport{name: "b", calls: &recorded, start: fails}

	_, err := startApp(t, testConfig(t, nil), serveRole, withTransport("a", first), withTransport("b", second))
	require.ErrorContains(t, err, "transport b: no")
	require.Equal(t, "start-a start-b shutdown-a", recorded.String())
}

// TestTransports_ContextIgnored_ProcessEnds checks that a transport that hangs in its opener,
// its start or its shutdown does not prevent the end of the process.
func TestTransports_ContextIgnored_ProcessEnds(t *testing.T) {
	t.Parallel()

	released := make(chan struct{})
	t.Cleanup(func() { close(released) })

	// hang sends to begun, and ignores its context until the end of the test.
	begun := make(chan struct{}, 1)
	hang := func(context.Context) error {
		begun <- struct{}{}

		<-released

		return nil
	}

	// cancelledWhenBegun returns a context that ends when hang has begun.
	cancelledWhenBegun := func() context.Context {
		ctx, cancel := context.WithCancel(t.Context())

		go func() {
			<-begun
			cancel()
		}()

		return ctx
	}

	// The start hangs.
	stuckStart := transport{"stuck", &testTransport{calls: &calls{}, start: hang}}
	err := startTransports(cancelledWhenBegun(), []transport{stuckStart})
	require.ErrorContains(t, err, "transport stuck: it was not started: context canceled")

	// The opener hangs.
	open := func(ctx context.Context, _ adapters.Services, _ adapters.Deps) (adapters.Transport, error) {
		return nil, hang(ctx)
	}
	cfg := testConfig(t, nil)
	registry := newRegistry([]Option{WithTransport("stuck", open)})
	deps := newDeps(cfg, newLogger(&bytes.Buffer{}, "error"))

	_, err = openTransports(cancelledWhenBegun(), cfg, registry, adapters.Services{}, deps)
	require.ErrorContains(t, err, "transport stuck: it was not opened: context canceled")

	// One shutdown hangs, and another one fails.
	fails := func(context.Context) error { return errors.New("still busy") }
	stuckShutdown := transport{"stuck", &testTransport{calls: &calls{}, shutdown: hang}}
	failingShutdown := transport{"bad", &testTransport{calls: &calls{}, shutdown: fails}}

	err = shutdownTransports(cancelledWhenBegun(), []transport{stuckShutdown, failingShutdown})
	require.ErrorContains(t, err, "transport stuck: it did not shut down: context canceled")
	require.ErrorContains(t, err, "transport bad: still busy")
}

// TestTransports_Routes_AreListed checks that `locum routes` lists the paths of mounted
// transports, unless they are disabled.
func TestTransports_Routes_AreListed(t *testing.T) {
	t.Parallel()

	cfg := testConfig(t, nil)
	listRoutes := func(options ...Option) string {
		var output bytes.Buffer
		deps := newDeps(cfg, newLogger(t.Output(), "error"))
		require.NoError(t, newRegistry(options).printRoutes(t.Context(), &output, cfg, deps))

		return output.String()
	}

	// An added transport and the built-in one, mcp.
	table := listRoutes(withTransport("b", &mountedTransport{path: "/b"}))
	require.Regexp(t, `(?m)^any\s+/b\s+transport b\s+anyone\s+-\s+-\s+1024 KiB$`, table)
	require.Regexp(t, `(?m)^any\s+/mcp\s+transport mcp\s`, table)
	require.Regexp(t, `(?m)^any\s+/\.well-known/oauth-protected-resource/mcp\s+transport mcp\s`, table)

	cfg.MCP.Enabled = false

	require.NotContains(t, listRoutes(), "/mcp")
}
