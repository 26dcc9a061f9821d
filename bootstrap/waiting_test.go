package bootstrap

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/test/kit"
)

// TestStart_WithoutDatabase_ReportsWaitAndReason checks that a start waits for the database,
// logs what it waits for, and fails after the time limit with one line that has no password.
func TestStart_WithoutDatabase_ReportsWaitAndReason(t *testing.T) {
	t.Parallel()

	cfg := testConfig(t, func(cfg *config.Config) { cfg.Database.URL = "postgres://locum:hunter2@127.0.0.1:1/locum" })
	log := &kit.Log{}

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()

	app := newApp(ctx, cfg, newRegistry(nil), role{name: "serve", serves: true}, newLogger(log, "info"))
	err := app.Start(ctx)
	require.Regexp(t,
		`^database\.url \(from default\): no answer from 127\.0\.0\.1:1 within \d+s: failed to [^\n\t;]*refused$`,
		oneLine(err))
	require.NotContains(t, err.Error(), "hunter2")
	require.Regexp(t,
		`^\{"time":"[^"]+","level":"WARN","msg":"database is unavailable; waiting","key":"database.url","host":"127.0.0.1:1","until":"20`,
		log.String())
	require.NotContains(t, log.String(), "hunter2")

	stop, cancelStop := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancelStop()

	require.NoError(t, app.Stop(stop))
}

// TestStart_WithoutRedis_SucceedsAndWarns checks that a server starts without Redis, which is an
// optional dependency, and logs both settings that use it.
func TestStart_WithoutRedis_SucceedsAndWarns(t *testing.T) {
	t.Parallel()

	// Nothing listens on these ports.
	cfg := testConfig(t, func(cfg *config.Config) {
		cfg.Limiter.URL = "redis://locum:hunter2@127.0.0.1:1"
		cfg.Queue.URL = "redis://locum:hunter2@127.0.0.1:2"
	})
	log := &kit.Log{}

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()

	app := newApp(ctx, cfg, newRegistry(nil), role{name: "serve", serves: true}, newLogger(log, "info"))
	require.NoError(t, app.Start(ctx))

	t.Cleanup(func() {
		stop, cancelStop := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancelStop()

		require.NoError(t, app.Stop(stop))
	})

	for _, want := range []string{`"key":"limiter.url","host":"127.0.0.1:1"`, `"key":"queue.url","host":"127.0.0.1:2"`} {
		isLogged := func() bool { return strings.Contains(log.String(), want) }
		require.Eventually(t, isLogged, 10*time.Second, 20*time.Millisecond, want)
	}

	require.NotContains(t, log.String(), "hunter2")
}
