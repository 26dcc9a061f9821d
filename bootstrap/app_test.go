package bootstrap

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/test/kit"
)

// testConfig returns the default settings with an SQLite database and files in a new folder,
// after change, which may be nil.
func testConfig(t *testing.T, change func(cfg *config.Config)) *config.Config {
	t.Helper()

	dir := t.TempDir()
	cfg := config.Default()
	cfg.HTTP.Addr = "127.0.0.1:0"
	cfg.Database.URL = "sqlite:" + filepath.Join(dir, "locum.db")
	cfg.Search.URL = "embedded:"
	cfg.Mail.URL = "file:" + filepath.Join(dir, "mail")

	cfg.Auth.Keys = []string{filepath.Join(dir, "keys")}
	if change != nil {
		change(&cfg)
	}

	return &cfg
}

// startApp starts the process of a role, such as "serve" or "worker", and stops it after the test. It returns
// the error of the start.
func startApp(t *testing.T, cfg *config.Config, r role, options ...Option) (*app, error) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()

	started := newApp(ctx, cfg, newRegistry(options), r, newLogger(&bytes.Buffer{}, "error"))
	err := started.Start(ctx)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()

		require.NoError(t, started.Stop(ctx))
	})

	return started, err
}

// migrate applies all migrations to the database.
func migrate(t *testing.T, cfg *config.Config) {
	t.Helper()

	store, err := openStorage(t.Context(), cfg, newRegistry(nil), newDeps(cfg, newLogger(&bytes.Buffer{}, "error")))
	require.NoError(t, err)

	_, err = store.Identity.Schema.Up(t.Context())
	require.NoError(t, err)
	require.NoError(t, store.close())
}

// TestApp_EveryRoleAndAdapter_Starts checks each combination of databases, queues and roles. A
// worker cannot use an embedded queue, whose tasks exist in the process of the server only.
func TestApp_EveryRoleAndAdapter_Starts(t *testing.T) {
	t.Parallel()

	serve, worker := role{name: "serve", serves: true}, role{name: "worker"}
	for name, setAdapters := range map[string]func(t *testing.T, cfg *config.Config){
		"sqlite, memory":   func(*testing.T, *config.Config) {},
		"postgres, memory": func(t *testing.T, cfg *config.Config) { cfg.Database.URL = kit.PostgresURL(t) },
		"sqlite, redis":    func(t *testing.T, cfg *config.Config) { cfg.Limiter.URL = kit.RedisURL(t) },
		"postgres, redis": func(t *testing.T, cfg *config.Config) {
			cfg.Database.URL = kit.PostgresURL(t)
			cfg.Limiter.URL = kit.RedisURL(t)
			cfg.Queue.URL = kit.RedisURL(t)
		},
	} {
		for _, r := range []role{serve, worker} {
			t.Run(name+": "+r.name, func(t *testing.T) {
				t.Parallel()

				cfg := testConfig(t, func(cfg *config.Config) { setAdapters(t, cfg) })
				migrate(t, cfg)

				app, err := startApp(t, cfg, r)

				isQueueEmbedded := strings.HasPrefix(cfg.Queue.URL, "embedded:")
				if isQueueEmbedded && !r.serves {
					require.ErrorContains(t, err, "queue.url")
					return
				}

				// Tasks are run by workers, and by a server whose queue is embedded.
				require.NoError(t, err)
				require.Equal(t, isQueueEmbedded || !r.serves, app.works)

				if r.serves {
					isReady := func() bool {
						response, err := http.Get("http://" + app.addr.String() + "/readyz")
						if err != nil {
							return false
						}

						return response.Body.Close() == nil && response.StatusCode == http.StatusOK
					}
					require.Eventually(t, isReady, 30*time.Second, 50*time.Millisecond)
				} else {
					require.Nil(t, app.addr, "a worker opens no listener")
				}
			})
		}
	}
}

// TestApp_InvalidSetting_ErrorNamesKeyAndSource checks that the error of a start is one line
// that names the setting and what is allowed, without the noise of dependency injection.
func TestApp_InvalidSetting_ErrorNamesKeyAndSource(t *testing.T) {
	t.Parallel()

	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = taken.Close() })

	// A storage without repositories, and one that cannot be opened.
	incomplete := func(context.Context, string, adapters.Deps) (adapters.Storage, error) {
		return adapters.Storage{}, nil
	}
	broken := func(context.Context, string, adapters.Deps) (adapters.Storage, error) {
		return adapters.Storage{}, errors.New("no disk")
	}

	for name, test := range map[string]struct {
		change func(cfg *config.Config)
		says   []string // texts that the error must contain
	}{
		"an unknown database": {
			change: func(cfg *config.Config) { cfg.Database.URL = "oracle://x" },
			says:   []string{"database.url (from default)", `"oracle:"`, "sqlite:"},
		},
		"an unknown limiter": {
			change: func(cfg *config.Config) { cfg.Limiter.URL = "paper:" },
			says:   []string{"limiter.url", "memory:", "redis:"},
		},
		"an unknown queue": {
			change: func(cfg *config.Config) { cfg.Queue.URL = "rabbit:" },
			says:   []string{"queue.url", "embedded:", "redis:"},
		},
		"an unknown mailer": {
			change: func(cfg *config.Config) { cfg.Mail.URL = "pigeon:" },
			says:   []string{"mail.url", "file:"},
		},
		"an unknown file store": {
			change: func(cfg *config.Config) { cfg.Files.URL = "tape:" },
			says:   []string{"files.url", "file:"},
		},
		"an unknown payment provider": {
			change: func(cfg *config.Config) { cfg.Payments.URL = "cash:" },
			says:   []string{"payments.url (from default)", "sandbox:"},
		},
		"a folder that is a file": {
			change: func(cfg *config.Config) { cfg.Files.URL = "file:/dev/null" },
			says:   []string{"files.url"},
		},
		"credentials in a URL": {
			change: func(cfg *config.Config) { cfg.Files.URL = "s3://key:secret@bucket" },
			says:   []string{"files.url", "AWS_ACCESS_KEY_ID"},
		},
		"a mail server without a host": {
			change: func(cfg *config.Config) { cfg.Mail.URL = "smtp://" },
			says:   []string{"mail.url", "smtp://USER:PASSWORD@HOST:PORT"},
		},
		"a sender that is not an address": {
			change: func(cfg *config.Config) { cfg.Mail.From = "nobody" },
			says:   []string{"mail.from", "want an address"},
		},
		"a key file that does not exist": {
			change: func(cfg *config.Config) { cfg.Auth.Keys = []string{"/nonexistent/a.pem"} },
			says:   []string{"auth.keys"},
		},
		"an address that is taken": {
			change: func(cfg *config.Config) { cfg.HTTP.Addr = taken.Addr().String() },
			says:   []string{"http.addr", "in use"},
		},
		"an invalid Redis URL": {
			change: func(cfg *config.Config) { cfg.Limiter.URL = "redis://%zz" },
			says:   []string{"limiter.url"},
		},
		"an incomplete storage": {
			change: func(cfg *config.Config) { cfg.Database.URL = "half:" },
			says:   []string{"database.url", "does not provide identity.Tx"},
		},
		"a storage that cannot be opened": {
			change: func(cfg *config.Config) { cfg.Database.URL = "broken:" },
			says:   []string{"database.url", "no disk"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			cfg := testConfig(t, test.change)
			_, err := startApp(t, cfg, role{name: "serve", serves: true},
				WithStorage("half", incomplete), WithStorage("broken", broken))
			require.Error(t, err)

			line := oneLine(err) // what the terminal shows
			for _, text := range test.says {
				require.Contains(t, line, text)
			}

			require.NotContains(t, line, "\n")
			require.NotContains(t, err.Error(), "dig", "the error omits the trace of dependency injection")
			require.NotContains(t, err.Error(), "could not build")
		})
	}
}

// TestLog_Secrets_AreRedacted checks that tokens, keys, secrets of webhooks, JWTs and passwords
// in URLs are removed from log lines, also inside of errors.
func TestLog_Secrets_AreRedacted(t *testing.T) {
	t.Parallel()

	var output bytes.Buffer
	log := newLogger(&output, "info")

	for name, secret := range map[string]string{
		"refresh token":     "loc_rt_" + strings.Repeat("a", 43),
		"API key":           "loc_live_" + strings.Repeat("b", 38),
		"secret of webhook": "whsec_c2VjcmV0",
		"JWT":               "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIxIn0.c2ln",
		"password in URL":   "postgres://locum:hunter2@db/locum",
	} {
		output.Reset()
		log.Info("x", "value", "before "+secret+" after", "error", errors.New(secret))
		require.NotContains(t, output.String(), secret, name)
		require.NotContains(t, output.String(), "hunter2", name)
		require.Contains(t, output.String(), "[redacted]", name)
	}
}

// TestSubscriptions_EveryEvent_HasSubscriber checks that these events, most of which are
// security notices or lead to e-mails, have a subscriber, and that the names of subscriptions,
// which are in tasks, are unique.
func TestSubscriptions_EveryEvent_HasSubscriber(t *testing.T) {
	t.Parallel()

	// The handlers are not called, so that the services need no values.
	all := subscriptions(adapters.Storage{}, nil, nil, &hiring.Service{}, &jobseeker.Service{}, nil, nil, nil)

	hasSubscriber := map[string]bool{} // by the type of the event
	isKnown := map[string]bool{}       // by the name of the subscription

	for _, subscription := range all {
		require.False(t, isKnown[subscription.Name], "%s is listed twice", subscription.Name)

		hasSubscriber[subscription.Type] = true
		isKnown[subscription.Name] = true
	}

	for _, eventType := range []string{
		"user.registered", "application.submitted", "application.status_changed",
		"interview.changed", "applicant.contacted", "user.password_reset_requested",
		"user.password_changed", "session.reuse_detected", "user.programs_signed_out",
		"member.invited",
	} {
		require.True(t, hasSubscriber[eventType], eventType)
	}
}

// TestRoutes_Command_PrintsTable checks that `locum routes` prints each route once, with its
// authentication, audience, permission, rate limit and maximum body, and also the routes that
// are in no API.
func TestRoutes_Command_PrintsTable(t *testing.T) {
	t.Parallel()

	var output bytes.Buffer
	cfg := testConfig(t, nil)
	deps := newDeps(cfg, newLogger(t.Output(), "error"))
	require.NoError(t, newRegistry(nil).printRoutes(t.Context(), &output, cfg, deps))

	// A route of an API, with each of the columns.
	table := output.String()
	require.Regexp(t, `POST\s+/api/auth/register-employer\s+none\s+anyone\s+-\s+5/15m\s+16 KiB`, table)

	// Routes that are in no API have only an authentication.
	for route, auth := range map[string]string{
		"GET /healthz":             "none",
		"GET /readyz":              "none",
		"GET /metrics":             "none",
		"GET /docs":                "none",
		"GET /docs/guides/:name":   "none",
		"GET /openapi/portal.json": "none",
		"POST /oauth/token":        "client",
		"POST /oauth/revoke":       "client",
		"POST /oauth/introspect":   "client",
		"GET /.well-known/oauth-authorization-server": "none",
		"GET /oauth/authorize":                        "page session",
		"POST /oauth/authorize":                       "page session",
		"GET /developers":                             "page session",
		"POST /developers/apps/:id/webhooks":          "page session",
		"GET /developers/consents":                    "page session",
		"POST /developers/sign-in":                    "none",
	} {
		method, path, _ := strings.Cut(route, " ")
		line := `(?m)^` + method + `\s+` + regexp.QuoteMeta(path) + `\s+` + auth + `\s+anyone\s+-\s+-\s+-$`
		require.Regexp(t, line, table, route)
	}

	// Each line begins with the method and the path.
	isListed := map[string]bool{}
	for line := range strings.SplitSeq(strings.TrimSpace(table), "\n") {
		columns := strings.Fields(line)
		route := columns[0] + " " + columns[1]
		require.False(t, isListed[route], "%s is listed twice", route)

		isListed[route] = true
	}
}

// TestWorker_MetricsAddr_ServesMetrics checks that a worker, which serves no requests, serves
// its metrics and profiles at http.metrics_addr.
func TestWorker_MetricsAddr_ServesMetrics(t *testing.T) {
	t.Parallel()

	addr := kit.Address(t)
	cfg := testConfig(t, func(cfg *config.Config) {
		cfg.HTTP.MetricsAddr = addr
		cfg.Queue.URL = kit.RedisURL(t)
	})
	migrate(t, cfg)

	_, err := startApp(t, cfg, role{name: "worker"})
	require.NoError(t, err)

	for path, want := range map[string]string{"/metrics": "locum_limiter_degraded 0", "/debug/pprof/": "goroutine"} {
		response, err := http.Get("http://" + addr + path)
		require.NoError(t, err)

		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)

		_ = response.Body.Close()

		require.Contains(t, string(text), want, path)
	}
}
