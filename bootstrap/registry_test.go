package bootstrap

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/gormdb"
	"github.com/locumhq/locum/adapters/locallimit"
	"github.com/locumhq/locum/adapters/localtasks"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/listings"
)

// openLocalLimiter is the opener of a limiter that works.
func openLocalLimiter(context.Context, string, adapters.Deps) (limit.Limiter, error) {
	return locallimit.New(clock.System{}), nil
}

// TestOpen_FaultyAdapter_ErrorNamesTheSetting checks that adapters of other teams that cannot
// work, such as a nil pointer or a storage without a required port, are refused at the start,
// with an error that names the setting and what is missing.
func TestOpen_FaultyAdapter_ErrorNamesTheSetting(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		change  func(cfg *config.Config) // nil for the default settings
		options []Option                 // with the faulty adapter
		want    string                   // a part of the error
	}{
		"nil adapter": {
			change:  func(cfg *config.Config) { cfg.Limiter.URL = "none:" },
			options: []Option{WithLimiter("none", func(context.Context, string, adapters.Deps) (limit.Limiter, error) { return nil, nil })},
			want:    `limiter.url (from default): the adapter for "none:" returned nil`,
		},
		"nil pointer": {
			change: func(cfg *config.Config) { cfg.Limiter.URL = "none:" },
			options: []Option{WithLimiter("none", func(context.Context, string, adapters.Deps) (limit.Limiter, error) {
				return (*locallimit.Limiter)(nil), nil
			})},
			want: `limiter.url (from default): the adapter for "none:" returned nil`,
		},
		"storage without Close": {
			change: func(cfg *config.Config) { cfg.Database.URL = "open" + cfg.Database.URL },
			options: []Option{WithStorage("opensqlite", func(ctx context.Context, url string, deps adapters.Deps) (adapters.Storage, error) {
				s, err := gormdb.Open(ctx, url[len("open"):], deps)
				for _, database := range []*adapters.Database{
					&s.Identity.Database, &s.Listings.Database, &s.Hiring.Database,
					&s.Jobseeker.Database, &s.Billing.Database, &s.Integrations.Database,
				} {
					database.Close = nil
				}

				return s, err
			})},
			want: `database.url (from default): the storage adapter for "opensqlite:" does not provide identity.Close, listings.Close, hiring.Close, jobseeker.Close, billing.Close, integrations.Close`,
		},
		"module storage without the module": {
			change:  func(cfg *config.Config) { cfg.Database.BillingURL = "ledger:x" },
			options: []Option{WithModuleStorage("billing", "ledger", func(context.Context, string, adapters.Deps) (adapters.Storage, error) { return adapters.Storage{}, nil })},
			want:    `database.billing_url (from default): the storage adapter for "ledger:" does not provide billing.Tx`,
		},
		"storage without tasks of a module that adds them": {
			change: func(cfg *config.Config) { cfg.Database.HiringURL = "ledger:" },
			options: []Option{WithModuleStorage("hiring", "ledger", func(ctx context.Context, _ string, deps adapters.Deps) (adapters.Storage, error) {
				s, err := gormdb.Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "hiring.db"), deps)
				s.Hiring.Tasks = nil
				return s, err
			})},
			want: `database.hiring_url (from default): the storage adapter for "ledger:" does not provide hiring.Tasks`,
		},
		"same database by two URLs": {
			change: func(cfg *config.Config) {
				cfg.Database.URL = "postgres://a@127.0.0.1:1/locum"
				cfg.Database.BillingURL = "postgres://b@127.0.0.1:1/locum?sslmode=disable"
			},
			options: nil,
			want:    "database.billing_url (from default): it is the database of database.url; use the same URL, or another database",
		},
		"storage of another module": {
			change:  func(cfg *config.Config) { cfg.Database.HiringURL = "ledger:x" },
			options: []Option{WithModuleStorage("billing", "ledger", gormdb.Open)},
			want:    `database.hiring_url (from default): no adapter for "ledger:"`,
		},
		"unknown module": {
			change:  nil,
			options: []Option{WithModuleStorage("payroll", "ledger", gormdb.Open)},
			want:    `there is no module "payroll"; want one of identity, listings, hiring, jobseeker, billing, integrations`,
		},
		"built-in scheme": {
			change:  nil,
			options: []Option{WithLimiter("memory", openLocalLimiter)},
			want:    "there is a limiter adapter for memory: already; bootstrap.Override replaces it",
		},
		"same scheme twice": {
			change:  nil,
			options: []Option{WithLimiter("mine", openLocalLimiter), WithLimiter("mine", openLocalLimiter)},
			want:    "there is a limiter adapter for mine: already",
		},
		"no opener": {
			change:  nil,
			options: []Option{WithLimiter("mine", nil)},
			want:    "the limiter adapter for mine: has no opener",
		},
		"not a scheme": {
			change:  nil,
			options: []Option{WithLimiter("my:", openLocalLimiter)},
			want:    `the limiter adapter has the scheme "my:"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := startApp(t, testConfig(t, test.change), serveRole, test.options...)
			require.ErrorContains(t, err, test.want)
		})
	}
}

// TestOverride_BuiltInScheme_IsReplaced checks that Override replaces a built-in adapter, and
// the Deps that each opener receives.
func TestOverride_BuiltInScheme_IsReplaced(t *testing.T) {
	t.Parallel()

	opened := false
	_, err := startApp(
		t,
		testConfig(t, nil),
		role{name: "serve", serves: true},
		Override(WithLimiter("memory", func(ctx context.Context, url string, deps adapters.Deps) (limit.Limiter, error) {
			opened = true

			require.Equal(t, "memory:", url)
			require.NotNil(t, deps.Tracer)
			deps.Metrics.Gauge("acme_limits", "Limits.", func() float64 { return 1 })
			require.Equal(t, "http://localhost:8080", deps.PublicURL)

			return openLocalLimiter(ctx, url, deps)
		})),
	)
	require.NoError(t, err)
	require.True(t, opened)
}

// TestOpen_OpenerIgnoresItsContext_StartEnds checks that an opener that hangs does not prevent
// the end of the process when an operator interrupts the start.
func TestOpen_OpenerIgnoresItsContext_StartEnds(t *testing.T) {
	t.Parallel()

	cfg := testConfig(t, func(cfg *config.Config) { cfg.Limiter.URL = "stuck:" })
	released := make(chan struct{})
	t.Cleanup(func() { close(released) })

	ctx, cancel := context.WithCancel(t.Context())

	begun := make(chan struct{})
	go func() { <-begun; cancel() }()

	app := newApp(ctx, cfg, newRegistry([]Option{WithLimiter("stuck", func(context.Context, string, adapters.Deps) (limit.Limiter, error) {
		close(begun)
		<-released
		return nil, nil
	})}), role{name: "serve", serves: true}, newDeps(cfg, newLogger(t.Output(), "error")).Log)
	require.ErrorContains(t, app.Start(ctx), "limiter.url (from default): the adapter was not opened: context canceled")

	stop, cancelStop := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancelStop()

	require.NoError(t, app.Stop(stop))
}

// TestStorage_WithoutOptionalPorts_Serves checks that a storage may omit its optional ports.
// Their defaults return nothing, and refuse only what users would miss, such as an export.
func TestStorage_WithoutOptionalPorts_Serves(t *testing.T) {
	t.Parallel()
	var storage adapters.Storage
	_, err := startApp(
		t,
		testConfig(t, func(cfg *config.Config) { cfg.Database.URL = "small" + cfg.Database.URL }),
		role{name: "serve", serves: true},
		WithStorage("smallsqlite", func(ctx context.Context, url string, deps adapters.Deps) (adapters.Storage, error) {
			s, err := gormdb.Open(ctx, url[len("small"):], deps)
			s.Listings.Views = nil
			s.Hiring.Exports = nil
			s.Jobseeker.Activities = nil
			s.Integrations.Usage = nil
			storage = s

			return s, err
		}),
	)
	require.NoError(t, err)
	require.Empty(t, adapters.Missing(storage))
	require.Nil(t, storage.Hiring.Exports)
	storage.SetDefaults()

	ctx := t.Context()
	views, err := storage.Listings.Views.Get(ctx, "organization", []string{"listing"})
	require.NoError(t, err)
	require.Zero(t, views["listing"])
	require.NoError(t, storage.Listings.Views.Add(ctx, make([]listings.Visit, 1)))
	require.ErrorContains(t, storage.Hiring.Exports.Create(ctx, hiring.Export{}, 1), "This server does not store exports")

	activities, err := storage.Jobseeker.Activities.List(ctx, "user", page.Request{})
	require.NoError(t, err)
	require.Empty(t, activities.Items)

	days, err := storage.Integrations.Usage.List(ctx, "app", "2026-01-01", "2026-01-02")
	require.NoError(t, err)
	require.Empty(t, days)
}

// TestModuleStorage_WithoutTasks_EventsAreRelayed checks that events of a database without a
// task queue become tasks in that of identity.
func TestModuleStorage_WithoutTasks_EventsAreRelayed(t *testing.T) {
	t.Parallel()

	cfg := testConfig(t, func(cfg *config.Config) { cfg.Database.BillingURL = "ledger:" })
	app, err := startApp(
		t,
		cfg,
		role{name: "serve", serves: true},
		WithModuleStorage("billing", "ledger", func(ctx context.Context, _ string, deps adapters.Deps) (adapters.Storage, error) {
			s, err := gormdb.Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "billing.db"), deps)
			s.Billing.Tasks = nil
			return s, err
		}),
	)
	require.NoError(t, err)

	changed := event.SubscriptionChanged{OwnerKind: "user", OwnerID: newID(), Change: event.SubscriptionStarted}
	require.NoError(t, app.storage.Billing.Tx.Do(t.Context(), func(ctx context.Context) error {
		return app.storage.Billing.Events.Record(ctx, changed)
	}))
	require.Eventually(t, func() bool {
		done, err := app.storage.Identity.Tasks.List(t.Context(), task.Filter{State: task.Done, Limit: 100})
		return err == nil &&
			slices.ContainsFunc(done, func(r task.Record) bool { return bytes.Contains(r.Payload, []byte(changed.OwnerID)) })
	}, 30*time.Second, 20*time.Millisecond)
}

// otherQueue is a queue of another team. An embedded queue exists in the process of the server only.
type otherQueue struct {
	*localtasks.Queue
	isEmbedded bool
}

func (q otherQueue) Embedded() bool { return q.isEmbedded }

// TestServe_QueueOfAnotherScheme_IsConsumedIfEmbedded checks that the adapter, and not its
// scheme, decides which process executes tasks: the server for an embedded queue, otherwise the
// worker.
func TestServe_QueueOfAnotherScheme_IsConsumedIfEmbedded(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name       string
		isEmbedded bool
		role       role
		wantWorks  bool // whether the process executes tasks
	}{
		{name: "serve, embedded", isEmbedded: true, role: serveRole, wantWorks: true},
		{name: "serve, shared", isEmbedded: false, role: serveRole, wantWorks: false},
		{name: "worker, shared", isEmbedded: false, role: role{name: "worker"}, wantWorks: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			cfg := testConfig(t, func(cfg *config.Config) { cfg.Queue.URL = "inproc:" })
			migrate(t, cfg)

			openQueue := func(context.Context, string, adapters.Deps) (task.Queue, error) {
				return otherQueue{Queue: localtasks.New(), isEmbedded: test.isEmbedded}, nil
			}
			app, err := startApp(t, cfg, test.role, WithQueue("inproc", openQueue))
			require.NoError(t, err)
			require.Equal(t, test.wantWorks, app.works)

			if !test.wantWorks {
				return
			}

			// Record an event, which becomes a task of the queue for events. The process executes the task.
			changed := event.SubscriptionChanged{OwnerKind: "user", OwnerID: newID(), Change: event.SubscriptionStarted}
			require.NoError(t, app.storage.Identity.Tx.Do(t.Context(), func(ctx context.Context) error {
				return app.storage.Identity.Events.Record(ctx, changed)
			}))

			isOfEvent := func(record task.Record) bool { return record.Queue == task.Events }
			isTaskDone := func() bool {
				done, err := app.storage.Identity.Tasks.List(t.Context(), task.Filter{State: task.Done, Limit: 100})
				return err == nil && slices.ContainsFunc(done, isOfEvent)
			}
			require.Eventually(t, isTaskDone, 30*time.Second, 20*time.Millisecond)
		})
	}
}

// TestWorker_EmbeddedQueueOfAnotherScheme_IsRefused checks that a worker, which would never get
// a task of an embedded queue, does not start.
func TestWorker_EmbeddedQueueOfAnotherScheme_IsRefused(t *testing.T) {
	t.Parallel()

	_, err := startApp(t, testConfig(t, func(s *config.Config) { s.Queue.URL = "inproc:" }), role{name: "worker"},
		WithQueue("inproc", func(context.Context, string, adapters.Deps) (task.Queue, error) { return localtasks.New(), nil }))
	require.ErrorContains(t, err, "queue.url (from default): `locum serve` executes the tasks of this embedded queue")
}
