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

// The tests of this file add adapters as other teams do: each option registers an opener for the scheme
// of a URL, and a setting has a URL with this scheme. An opener is the function that opens the adapter.

// defaultSettings is the argument of testConfig that changes no setting.
var defaultSettings func(cfg *config.Config)

// openLocalLimiter is the opener of a limiter that works.
func openLocalLimiter(context.Context, string, adapters.Deps) (limit.Limiter, error) {
	return locallimit.New(clock.System{}), nil
}

// openNil is the opener of a limiter that returns nil without an error.
func openNil(context.Context, string, adapters.Deps) (limit.Limiter, error) { return nil, nil }

// openNilPointer is the opener of a limiter that returns a nil pointer, which is not a nil interface.
func openNilPointer(context.Context, string, adapters.Deps) (limit.Limiter, error) {
	return (*locallimit.Limiter)(nil), nil
}

// openEmptyStorage is the opener of a storage that has no ports.
func openEmptyStorage(context.Context, string, adapters.Deps) (adapters.Storage, error) {
	return adapters.Storage{}, nil
}

// openWithoutClose is the opener of a storage without the function Close, for the URLs opensqlite:PATH.
func openWithoutClose(ctx context.Context, url string, deps adapters.Deps) (adapters.Storage, error) {
	storage, err := gormdb.Open(ctx, url[len("open"):], deps)
	for _, database := range []*adapters.Database{
		&storage.Identity.Database, &storage.Listings.Database, &storage.Hiring.Database,
		&storage.Jobseeker.Database, &storage.Billing.Database, &storage.Integrations.Database,
	} {
		database.Close = nil
	}

	return storage, err
}

// TestOpen_FaultyAdapter_ErrorNamesTheSetting checks that adapters of other teams that cannot
// work, such as a nil pointer or a storage without a required port, are refused at the start,
// with an error that names the setting, where its value comes from (in these tests the default, as no
// file and no variable is read), and what is missing.
func TestOpen_FaultyAdapter_ErrorNamesTheSetting(t *testing.T) {
	t.Parallel()

	// openWithoutHiringTasks is the opener of a storage for the module hiring, which adds tasks, without their port.
	openWithoutHiringTasks := func(ctx context.Context, _ string, deps adapters.Deps) (adapters.Storage, error) {
		storage, err := gormdb.Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "hiring.db"), deps)
		storage.Hiring.Tasks = nil

		return storage, err
	}

	for name, test := range map[string]struct {
		change  func(cfg *config.Config) // of the settings, so that they use the adapter
		options []Option                 // with the faulty adapter
		want    string                   // a part of the error
	}{
		"nil adapter": {
			change:  func(cfg *config.Config) { cfg.Limiter.URL = "none:" },
			options: []Option{WithLimiter("none", openNil)},
			want:    `limiter.url (from default): the adapter for "none:" returned nil`,
		},
		"nil pointer": {
			change:  func(cfg *config.Config) { cfg.Limiter.URL = "none:" },
			options: []Option{WithLimiter("none", openNilPointer)},
			want:    `limiter.url (from default): the adapter for "none:" returned nil`,
		},
		"storage without Close": {
			change:  func(cfg *config.Config) { cfg.Database.URL = "open" + cfg.Database.URL },
			options: []Option{WithStorage("opensqlite", openWithoutClose)},
			want: `database.url (from default): the storage adapter for "opensqlite:" does not provide ` +
				`identity.Close, listings.Close, hiring.Close, jobseeker.Close, billing.Close, integrations.Close`,
		},
		"module storage without the module": {
			change:  func(cfg *config.Config) { cfg.Database.BillingURL = "ledger:x" },
			options: []Option{WithModuleStorage("billing", "ledger", openEmptyStorage)},
			want:    `database.billing_url (from default): the storage adapter for "ledger:" does not provide billing.Tx`,
		},
		"storage without tasks of a module that adds them": {
			change:  func(cfg *config.Config) { cfg.Database.HiringURL = "ledger:" },
			options: []Option{WithModuleStorage("hiring", "ledger", openWithoutHiringTasks)},
			want:    `database.hiring_url (from default): the storage adapter for "ledger:" does not provide hiring.Tasks`,
		},
		"same database by two URLs": {
			change: func(cfg *config.Config) {
				cfg.Database.URL = "postgres://a@127.0.0.1:1/locum"
				cfg.Database.BillingURL = "postgres://b@127.0.0.1:1/locum?sslmode=disable"
			},
			options: nil, // the built-in adapter; the fault is in the settings
			want:    "database.billing_url (from default): it is the database of database.url; use the same URL, or another database",
		},
		"storage of another module": {
			change:  func(cfg *config.Config) { cfg.Database.HiringURL = "ledger:x" },
			options: []Option{WithModuleStorage("billing", "ledger", gormdb.Open)},
			want:    `database.hiring_url (from default): no adapter for "ledger:"`,
		},
		"unknown module": {
			change:  defaultSettings,
			options: []Option{WithModuleStorage("payroll", "ledger", gormdb.Open)},
			want:    `there is no module "payroll"; want one of identity, listings, hiring, jobseeker, billing, integrations`,
		},
		"built-in scheme": {
			change:  defaultSettings,
			options: []Option{WithLimiter("memory", openLocalLimiter)},
			want:    "there is a limiter adapter for memory: already; bootstrap.Override replaces it",
		},
		"same scheme twice": {
			change:  defaultSettings,
			options: []Option{WithLimiter("mine", openLocalLimiter), WithLimiter("mine", openLocalLimiter)},
			want:    "there is a limiter adapter for mine: already",
		},
		"no opener": {
			change:  defaultSettings,
			options: []Option{WithLimiter("mine", nil)},
			want:    "the limiter adapter for mine: has no opener",
		},
		"not a scheme": {
			change:  defaultSettings,
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

// TestOverride_BuiltInScheme_IsReplaced checks that Override replaces a built-in adapter, here the
// limiter for memory:, and that the opener receives the URL and usable dependencies (Deps).
func TestOverride_BuiltInScheme_IsReplaced(t *testing.T) {
	t.Parallel()

	isOpened := false
	openAndCheckDeps := func(ctx context.Context, url string, deps adapters.Deps) (limit.Limiter, error) {
		isOpened = true

		require.Equal(t, "memory:", url)
		require.NotNil(t, deps.Tracer)
		require.Equal(t, "http://localhost:8080", deps.PublicURL)
		deps.Metrics.Gauge("acme_limits", "Limits.", func() float64 { return 1 }) // does not panic

		return openLocalLimiter(ctx, url, deps)
	}

	_, err := startApp(t, testConfig(t, defaultSettings), serveRole, Override(WithLimiter("memory", openAndCheckDeps)))
	require.NoError(t, err)
	require.True(t, isOpened)
}

// TestOpen_OpenerIgnoresItsContext_StartEnds checks that an opener that hangs does not prevent
// the end of the process when an operator interrupts the start.
func TestOpen_OpenerIgnoresItsContext_StartEnds(t *testing.T) {
	t.Parallel()

	// An opener that hangs until the end of the test, whatever its context says.
	begun, released := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(released) })

	hang := func(context.Context, string, adapters.Deps) (limit.Limiter, error) {
		close(begun)
		<-released

		return nil, nil
	}

	// Interrupt the start, by its context, when the opener has begun.
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()

	cfg := testConfig(t, func(cfg *config.Config) { cfg.Limiter.URL = "stuck:" })
	registered := newRegistry([]Option{WithLimiter("stuck", hang)})
	app := newApp(ctx, cfg, registered, serveRole, newLogger(t.Output(), "error"))
	require.ErrorContains(t, app.Start(ctx), "limiter.url (from default): the adapter was not opened: context canceled")

	// The process can still be stopped.
	stop, cancelStop := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancelStop()

	require.NoError(t, app.Stop(stop))
}

// TestStorage_WithoutOptionalPorts_Serves checks that a storage may omit its optional ports. The
// defaults that replace them store nothing and return nothing. Only an export, which users would miss,
// is refused.
func TestStorage_WithoutOptionalPorts_Serves(t *testing.T) {
	t.Parallel()

	// Start a server whose storage lacks four ports, and keep this storage.
	var storage adapters.Storage

	openWithoutOptionalPorts := func(ctx context.Context, url string, deps adapters.Deps) (adapters.Storage, error) {
		opened, err := gormdb.Open(ctx, url[len("small"):], deps)
		opened.Listings.Views = nil
		opened.Hiring.Exports = nil
		opened.Jobseeker.Activities = nil
		opened.Integrations.Usage = nil
		storage = opened

		return opened, err
	}

	cfg := testConfig(t, func(cfg *config.Config) { cfg.Database.URL = "small" + cfg.Database.URL })
	_, err := startApp(t, cfg, serveRole, WithStorage("smallsqlite", openWithoutOptionalPorts))
	require.NoError(t, err)
	require.Empty(t, adapters.Missing(storage), "required ports")
	require.Nil(t, storage.Hiring.Exports)

	// Each default accepts the calls of the services.
	storage.SetDefaults()

	ctx := t.Context()
	views, err := storage.Listings.Views.Get(ctx, "organization", []string{"listing"})
	require.NoError(t, err)
	require.Zero(t, views["listing"])
	require.NoError(t, storage.Listings.Views.Add(ctx, make([]listings.Visit, 1)))

	const maxUnfinished = 1

	err = storage.Hiring.Exports.Create(ctx, hiring.Export{}, maxUnfinished)
	require.ErrorContains(t, err, "This server does not store exports")

	activities, err := storage.Jobseeker.Activities.List(ctx, "user", page.Request{})
	require.NoError(t, err)
	require.Empty(t, activities.Items)

	days, err := storage.Integrations.Usage.List(ctx, "app", "2026-01-01", "2026-01-02")
	require.NoError(t, err)
	require.Empty(t, days)
}

// TestModuleStorage_WithoutTasks_EventsAreRelayed checks that an event that is recorded in a database
// without a table of tasks, here one of the module billing alone, becomes a task in the database of the
// module identity.
func TestModuleStorage_WithoutTasks_EventsAreRelayed(t *testing.T) {
	t.Parallel()

	openWithoutTasks := func(ctx context.Context, _ string, deps adapters.Deps) (adapters.Storage, error) {
		storage, err := gormdb.Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "billing.db"), deps)
		storage.Billing.Tasks = nil

		return storage, err
	}

	cfg := testConfig(t, func(cfg *config.Config) { cfg.Database.BillingURL = "ledger:" })
	app, err := startApp(t, cfg, serveRole, WithModuleStorage("billing", "ledger", openWithoutTasks))
	require.NoError(t, err)

	// Record an event, and wait until identity has a task with it that is done.
	changed := event.SubscriptionChanged{OwnerKind: "user", OwnerID: newID(), Change: event.SubscriptionStarted}
	require.NoError(t, app.storage.Billing.Tx.Do(t.Context(), func(ctx context.Context) error {
		return app.storage.Billing.Events.Record(ctx, changed)
	}))

	isOfEvent := func(record task.Record) bool { return bytes.Contains(record.Payload, []byte(changed.OwnerID)) }
	isTaskDone := func() bool {
		done, err := app.storage.Identity.Tasks.List(t.Context(), task.Filter{State: task.Done, Limit: 100})
		return err == nil && slices.ContainsFunc(done, isOfEvent)
	}
	require.Eventually(t, isTaskDone, 30*time.Second, 20*time.Millisecond)
}

// otherQueue is a queue of another team. An embedded queue exists in the process of the server only,
// while other processes can use a shared one, such as a queue in Redis.
type otherQueue struct {
	*localtasks.Queue
	isEmbedded bool
}

// Embedded reports whether the queue exists in the process of the server only.
func (q otherQueue) Embedded() bool { return q.isEmbedded }

// workerRole is the role of a process that only executes tasks.
var workerRole = role{name: "worker"}

// TestServe_QueueOfAnotherScheme_IsConsumedIfEmbedded checks that the adapter of the queue, and not its
// scheme, decides which process executes tasks: the server for an embedded queue, otherwise the worker.
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
		{name: "worker, shared", isEmbedded: false, role: workerRole, wantWorks: true},
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

	openEmbedded := func(context.Context, string, adapters.Deps) (task.Queue, error) { return localtasks.New(), nil }
	cfg := testConfig(t, func(cfg *config.Config) { cfg.Queue.URL = "inproc:" })
	_, err := startApp(t, cfg, workerRole, WithQueue("inproc", openEmbedded))
	require.ErrorContains(t, err, "queue.url (from default): `locum serve` executes the tasks of this embedded queue")
}
