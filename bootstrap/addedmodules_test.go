package bootstrap

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/gormdb"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit"
)

// The tests of this file add the module notes to the server, as other teams add modules of their own
// with WithModule. A module can have migrations, routes, pages, subscriptions to events, tasks and
// periodic work. All names of a module must begin with its name.

// doNothing is an operation that succeeds.
func doNothing(context.Context, web.Call, web.Nothing) (web.Done, error) {
	return web.Message("ok"), nil
}

// noteCreated is an event of the module notes.
type noteCreated struct{ ID string }

// Type returns the name of the event.
func (noteCreated) Type() string { return "notes.noted" }

// Subject returns the id of the note that the event is about.
func (n noteCreated) Subject() string { return n.ID }

// noteMigrations has the file that creates and drops the table of notes.
var noteMigrations = fstest.MapFS{"0001_notes.sql": &fstest.MapFile{Data: []byte(`-- +goose Up
CREATE TABLE notes (id UUID NOT NULL PRIMARY KEY, text TEXT NOT NULL, noted_at TIMESTAMPTZ NOT NULL);

-- +goose Down
DROP TABLE notes;
`)}}

// note is a row of the table of notes.
type note struct {
	ID, Text string
	NotedAt  time.Time
}

// withRoute returns options that add the module notes with a route, whose operation succeeds.
func withRoute(route web.Route) []Option {
	route.Op = web.Op(doNothing)
	return withRouteWithoutOp(route)
}

// withRouteWithoutOp returns options that add the module notes with the route as it is.
func withRouteWithoutOp(route web.Route) []Option {
	return []Option{WithModule(Module{Name: "notes", Routes: func(ModuleDeps) []web.Route { return []web.Route{route} }})}
}

// TestWithModule_FaultyModule_ErrorNamesIt checks that the server does not start with a module that
// breaks a rule, such as a task whose name could be that of another module, and that the error names
// the module and the rule. The table maps a part of the error to the options that add the module.
func TestWithModule_FaultyModule_ErrorNamesIt(t *testing.T) {
	t.Parallel()

	named := func(name string) []Option { return []Option{WithModule(Module{Name: name})} }

	// Modules with a name of a subscription, task or periodic work that does not begin with "notes.", and a module
	// with a page whose path belongs to the documentation of the server.
	subscribing := Module{Name: "notes", Subscriptions: func(ModuleDeps) []event.Subscription {
		return []event.Subscription{event.On("other.x", func(context.Context, noteCreated) error { return nil })}
	}}
	executing := Module{Name: "notes", Tasks: func(ModuleDeps) []task.Handler { return []task.Handler{{Kind: "other"}} }}
	periodic := Module{Name: "notes", Periodic: func(ModuleDeps) []task.Periodic { return []task.Periodic{{Kind: "notes"}} }}
	docsPage := Page{Path: "/docs", Handler: http.NotFoundHandler()}
	paged := Module{Name: "notes", Pages: func(ModuleDeps) []Page { return []Page{docsPage} }}

	for want, options := range map[string][]Option{
		// Names.
		`the module has the name "a-b"; want letters`:     named("a-b"),
		`the module has the name ""`:                      named(""),
		"a module cannot have the name hiring":            named("hiring"),
		"a module cannot have the name legacy":            named("legacy"),
		"there are two modules with the name notes":       append(named("notes"), named("notes")...),
		`module notes: the name "other.x" does not begin`: {WithModule(subscribing)},
		`module notes: the name "other" does not begin`:   {WithModule(executing)},
		`module notes: the name "notes" does not begin`:   {WithModule(periodic)},

		// Pages, tasks, periodic work and migrations.
		"module notes: the path /docs overlaps the route": {WithModule(paged)},
		"module notes: the page /notes has no Handler": {WithModule(Module{
			Name:  "notes",
			Pages: func(ModuleDeps) []Page { return []Page{{Path: "/notes"}} },
		})},
		"module notes: notes.x has no function": {WithModule(Module{
			Name:  "notes",
			Tasks: func(ModuleDeps) []task.Handler { return []task.Handler{{Kind: "notes.x", Queue: task.Mail}} },
		})},
		`module notes: notes.x: there is no queue "own"`: {WithModule(Module{
			Name: "notes",
			Tasks: func(ModuleDeps) []task.Handler {
				return []task.Handler{task.Handle("notes.x", "own", func(context.Context, noteCreated) error { return nil })}
			},
		})},
		"module notes: notes.x: Every must be positive": {WithModule(Module{
			Name: "notes",
			Periodic: func(ModuleDeps) []task.Periodic {
				return []task.Periodic{{Kind: "notes.x", Do: func(context.Context) error { return nil }}}
			},
		})},
		"module notes: want migrations with names": {WithModule(Module{
			Name:       "notes",
			Migrations: fstest.MapFS{"0001_a.sql": {}, "0002_v1.2.sql": {}},
		})},

		// Routes.
		"GET api/notes: want a path":        withRoute(web.Route{Method: "GET", Path: "api/notes", Summary: "s"}),
		"GET /api/:area/notes: want a path": withRoute(web.Route{Method: "GET", Path: "/api/:area/notes", Summary: "s"}),
		"GET /api/notes: its Status is not one of success": withRoute(web.Route{
			Method:  "GET",
			Path:    "/api/notes",
			Summary: "s",
			Status:  404,
		}),
		"GET /api/notes: only what guests read": withRoute(web.Route{
			Method:  "GET",
			Path:    "/api/notes",
			Summary: "s",
			Auth:    web.Required,
			Cached:  true,
		}),
		"GET /api/v1/notes: only what guests read": withRoute(web.Route{
			Method:  "GET",
			Path:    "/api/v1/notes",
			Summary: "s",
			Scope:   integrations.JobsRead,
			Cached:  true,
		}),
		"module notes: GET /notes: want a path":          withRoute(web.Route{Method: "GET", Path: "/notes", Summary: "s"}),
		"module notes: HEAD /api/notes: want the method": withRoute(web.Route{Method: "HEAD", Path: "/api/notes", Summary: "s"}),
		"module notes: GET /api/notes: it has no Op": withRouteWithoutOp(web.Route{
			Method:  "GET",
			Path:    "/api/notes",
			Summary: "s",
		}),
		"module notes: GET /api/notes: it has no Summary": withRoute(web.Route{Method: "GET", Path: "/api/notes"}),
		"module notes: GET /api/listings/new: the path is": withRoute(web.Route{
			Method:  "GET",
			Path:    "/api/listings/new",
			Summary: "s",
		}),
		"GET /api/v1/notes: a route of the developer": withRoute(web.Route{Method: "GET", Path: "/api/v1/notes", Summary: "s"}),
		"GET /api/notes: only routes of the developer": withRoute(web.Route{
			Method:  "GET",
			Path:    "/api/notes",
			Summary: "s",
			Scope:   integrations.JobsRead,
		}),
		"GET /api/notes: its Who and Permission need Auth": withRoute(web.Route{
			Method:   "GET",
			Path:     "/api/notes",
			Summary:  "s",
			Audience: web.Seeker,
		}),
		"GET /api/a: its Who and Permission need Auth": withRoute(web.Route{
			Method:     "GET",
			Path:       "/api/a",
			Summary:    "s",
			Auth:       web.Optional,
			Permission: auth.JobsUpdate,
		}),
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()

			_, err := startApp(t, testConfig(t, defaultSettings), serveRole, options...)
			require.ErrorContains(t, err, want)
		})
	}
}

// TestModule_StorageIgnoresMigrations_StartFails checks that the server does not start with a storage
// of another team that does not apply the migrations of modules. Otherwise the first request to the
// module would fail.
func TestModule_StorageIgnoresMigrations_StartFails(t *testing.T) {
	t.Parallel()

	// A storage for the URLs ignoring:PATH, which is the built-in one for SQLite without the migrations.
	ignoring := WithStorage("ignoring", func(ctx context.Context, url string, deps adapters.Deps) (adapters.Storage, error) {
		deps.Database.Migrations = nil
		return gormdb.Open(ctx, strings.Replace(url, "ignoring", "sqlite", 1), deps)
	})

	cfg := testConfig(t, func(cfg *config.Config) {
		cfg.Database.URL = strings.Replace(cfg.Database.URL, "sqlite", "ignoring", 1)
	})
	_, err := startApp(
		t,
		cfg,
		serveRole,
		ignoring,
		WithModule(Module{Name: "notes", Migrations: noteMigrations}),
	)
	require.ErrorContains(t, err, "database.url")
	require.ErrorContains(t, err, "does not apply the migrations of the module notes")
}

// What each kind of background work of notesModule adds to the counter done. The sum 111 shows that each
// was executed once.
const (
	doneEvent    = 1
	doneTask     = 10
	donePeriodic = 100
)

// notesModule returns the module notes. Its route stores a note, its event and a task in one
// transaction. Its background work, which adds to done, is a subscription to the event, the task, and
// periodic work.
func notesModule(done *atomic.Int64) Module {
	return Module{
		Name:       "notes",
		Migrations: noteMigrations,
		Routes: func(d ModuleDeps) []web.Route {
			add := func(ctx context.Context, _ web.Call, _ web.Nothing) (web.Done, error) {
				return web.Message("noted"), d.Tx.Do(ctx, func(ctx context.Context) error {
					conn, err := gormdb.Conn(ctx)
					if err != nil {
						return err
					}

					added := note{ID: d.NewID(), Text: "text", NotedAt: d.Clock.Now()}
					if err := conn.Create(&added).Error; err != nil {
						return err
					}

					if err := d.Events.Record(ctx, noteCreated{added.ID}); err != nil {
						return err
					}

					uniqueKey := "notes.work:" + added.ID

					return d.Tasks.Add(ctx, task.New("notes.work", task.Events, uniqueKey, noteCreated{added.ID}))
				})
			}

			return []web.Route{{Method: http.MethodPost, Path: "/api/notes", Summary: "Add a note", Op: web.Op(add)}}
		},
		Subscriptions: func(ModuleDeps) []event.Subscription {
			return []event.Subscription{
				event.On("notes.hear", func(context.Context, noteCreated) error { done.Add(doneEvent); return nil }),
			}
		},
		Tasks: func(ModuleDeps) []task.Handler {
			return []task.Handler{
				task.Handle("notes.work", task.Events, func(context.Context, noteCreated) error { done.Add(doneTask); return nil }),
			}
		},
		Periodic: func(ModuleDeps) []task.Periodic {
			return []task.Periodic{{
				Kind:  "notes.tidy",
				Every: time.Hour,
				Do:    func(context.Context) error { done.Add(donePeriodic); return nil },
			}}
		},
	}
}

// TestModule_Serves_OnEveryDatabase checks that an added module gets everything that a built-in
// one has: its migrations, a route with documentation, transactions, events, tasks and periodic
// work.
func TestModule_Serves_OnEveryDatabase(t *testing.T) {
	t.Parallel()

	const defaultURL = "" // of testConfig, which is SQLite

	for name, databaseURL := range map[string]func(t testing.TB) string{
		"sqlite":   func(testing.TB) string { return defaultURL },
		"postgres": kit.PostgresURL,
		"mariadb":  kit.MariaDBURL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var done atomic.Int64
			module := notesModule(&done)
			cfg := testConfig(t, func(cfg *config.Config) {
				if url := databaseURL(t); url != defaultURL {
					cfg.Database.URL = url
				}
			})

			// Apply the migrations, as the command "locum migrate up" does.
			registered := newRegistry([]Option{WithModule(module)})
			store, err := openStorage(t.Context(), cfg, registered, newDeps(cfg, newLogger(io.Discard, "error")))
			require.NoError(t, err)

			applied, err := store.Identity.Schema.Up(t.Context())
			require.NoError(t, err)
			require.Contains(t, applied, "notes/0001_notes.sql")
			require.NoError(t, store.close())

			// Start the server, and send a request to the route.
			app, err := startApp(t, cfg, serveRole, WithModule(module))
			require.NoError(t, err)

			url := "http://" + app.addr.String()
			response, err := http.Post(url+"/api/notes", "application/json", strings.NewReader("{}"))
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, http.StatusOK, response.StatusCode)

			// The background work is executed.
			isAllDone := func() bool { return done.Load() == doneEvent+doneTask+donePeriodic }
			require.Eventually(t, isAllDone, 20*time.Second, 10*time.Millisecond, "a reaction, a task and periodic work")

			// The documentation has the route.
			response, err = http.Get(url + "/openapi/portal.json")
			require.NoError(t, err)

			var document struct{ Paths map[string]map[string]any }
			require.NoError(t, json.NewDecoder(response.Body).Decode(&document))
			require.NoError(t, response.Body.Close())
			require.Contains(t, document.Paths["/api/notes"], "post")
		})
	}
}

// TestModule_Commands_IncludeIt checks that the commands that list routes include those of added
// modules, without a database.
func TestModule_Commands_IncludeIt(t *testing.T) {
	t.Parallel()

	var done atomic.Int64

	wantPatterns := map[string]string{"routes": "POST +/api/notes ", "openapi portal": `"/api/notes"`}
	for command, pattern := range wantPatterns {
		var stdout bytes.Buffer
		require.NoError(t, Run(t.Context(), strings.Fields(command), &stdout, io.Discard, WithModule(notesModule(&done))), command)
		require.Regexp(t, pattern, stdout.String(), command)
	}
}

// TestModule_MigrationsNotAtTheRoot_StartFails checks a mistake that is easy with embed.FS, which keeps
// the folder of the embedded files: the migrations are in a folder of the file system, while they are
// read from its root.
func TestModule_MigrationsNotAtTheRoot_StartFails(t *testing.T) {
	t.Parallel()

	inFolder := fstest.MapFS{"migrations/0001_notes.sql": noteMigrations["0001_notes.sql"]}
	module := Module{Name: "notes", Migrations: inFolder}
	_, err := startApp(t, testConfig(t, defaultSettings), serveRole, WithModule(module))
	require.ErrorContains(t, err, "module notes: want migrations with names NNNN_name.sql")
}
