package bootstrap

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
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

// doNothing is an operation that succeeds.
func doNothing(context.Context, web.Call, web.Nothing) (web.Done, error) {
	return web.Message("ok"), nil
}

// noteCreated is an event of a module.
type noteCreated struct{ ID string }

func (noteCreated) Type() string { return "notes.noted" }

func (n noteCreated) Subject() string { return n.ID }

var noteMigrations = fstest.MapFS{"0001_notes.sql": &fstest.MapFile{Data: []byte(`-- +goose Up
CREATE TABLE notes (id UUID NOT NULL PRIMARY KEY, text TEXT NOT NULL, noted_at TIMESTAMPTZ NOT NULL);

-- +goose Down
DROP TABLE notes;
`)}}

// note is a row of a module.
type note struct {
	ID, Text string
	NotedAt  time.Time
}

// withRoute returns an option that adds a module with a route. The route gets an operation that
// succeeds, unless its Tag is "no op".
func withRoute(r web.Route) []Option {
	if r.Op.In == nil && r.Tag != "no op" {
		r.Op = web.Op(doNothing)
	}

	return []Option{WithModule(Module{Name: "notes", Routes: func(ModuleDeps) []web.Route { return []web.Route{r} }})}
}

// TestWithModule_FaultyModule_ErrorNamesIt checks that the server does not start with a module
// that breaks a rule, such as a task whose name could be that of another module, and that the
// error names the module and the rule. The keys are parts of the errors.
func TestWithModule_FaultyModule_ErrorNamesIt(t *testing.T) {
	t.Parallel()

	named := func(name string) []Option { return []Option{WithModule(Module{Name: name})} }
	subscribing := Module{Name: "notes", Subscriptions: func(ModuleDeps) []event.Subscription {
		return []event.Subscription{event.On("other.x", func(context.Context, noteCreated) error { return nil })}
	}}
	executing := Module{Name: "notes", Tasks: func(ModuleDeps) []task.Handler { return []task.Handler{{Kind: "other"}} }}
	periodic := Module{Name: "notes", Periodic: func(ModuleDeps) []task.Periodic { return []task.Periodic{{Kind: "notes"}} }}

	paged := Module{Name: "notes", Pages: func(ModuleDeps) []Page { return []Page{{Path: "/docs", Handler: http.NotFoundHandler()}} }}
	for want, options := range map[string][]Option{
		`the module has the name "a-b"; want letters`:     named("a-b"),
		`the module has the name ""`:                      named(""),
		"a module cannot have the name hiring":            named("hiring"),
		"a module cannot have the name legacy":            named("legacy"),
		"there are two modules with the name notes":       append(named("notes"), named("notes")...),
		`module notes: the name "other.x" does not begin`: {WithModule(subscribing)},
		`module notes: the name "other" does not begin`:   {WithModule(executing)},
		`module notes: the name "notes" does not begin`:   {WithModule(periodic)},
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
		"module notes: GET /api/notes: it has no Op": withRoute(web.Route{
			Method:  "GET",
			Path:    "/api/notes",
			Summary: "s",
			Tag:     "no op",
		}),
		"module notes: GET /api/notes: it has no Summary":  withRoute(web.Route{Method: "GET", Path: "/api/notes"}),
		"module notes: GET /api/listings/new: the path is": withRoute(web.Route{Method: "GET", Path: "/api/listings/new", Summary: "s"}),
		"GET /api/v1/notes: a route of the developer":      withRoute(web.Route{Method: "GET", Path: "/api/v1/notes", Summary: "s"}),
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

			_, err := startApp(t, testConfig(t, nil), role{name: "serve", serves: true}, options...)
			require.ErrorContains(t, err, want)
		})
	}
}

// TestModule_StorageIgnoresMigrations_StartFails checks that a storage of another team that does
// not apply the migrations of modules is noticed at the start, and not by the first request.
func TestModule_StorageIgnoresMigrations_StartFails(t *testing.T) {
	t.Parallel()

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
		role{name: "serve", serves: true},
		ignoring,
		WithModule(Module{Name: "notes", Migrations: noteMigrations}),
	)
	require.ErrorContains(t, err, "database.url")
	require.ErrorContains(t, err, "does not apply the migrations of the module notes")
}

// What each kind of background work of notesModule adds to done. The sum shows that each was executed once.
const (
	doneEvent    = 1
	doneTask     = 10
	donePeriodic = 100
)

// notesModule stores a note, its event and a task in one transaction. Its background work adds to done.
func notesModule(done *atomic.Int64) Module {
	return Module{
		Name: "notes", Migrations: noteMigrations,
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

					return d.Tasks.Add(ctx, task.New("notes.work", task.Events, "notes.work:"+added.ID, noteCreated{added.ID}))
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

	for name, database := range map[string]func(t testing.TB) string{
		"sqlite":   func(testing.TB) string { return "" },
		"postgres": kit.PostgresURL,
		"mariadb":  kit.MariaDBURL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var done atomic.Int64
			module := notesModule(&done)
			cfg := testConfig(t, func(cfg *config.Config) {
				if url := database(t); url != "" {
					cfg.Database.URL = url
				}
			})

			registry := newRegistry([]Option{WithModule(module)})
			store, err := openStorage(t.Context(), cfg, registry, newDeps(cfg, newLogger(io.Discard, "error")))
			require.NoError(t, err)

			applied, err := store.Identity.Schema.Up(t.Context())
			require.NoError(t, err)
			require.Contains(t, applied, "notes/0001_notes.sql")
			require.NoError(t, store.close())

			a, err := startApp(t, cfg, role{name: "serve", serves: true}, WithModule(module))
			require.NoError(t, err)

			url := "http://" + a.addr.String()
			response, err := http.Post(url+"/api/notes", "application/json", strings.NewReader("{}"))
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, http.StatusOK, response.StatusCode)

			allDone := func() bool { return done.Load() == doneEvent+doneTask+donePeriodic }
			require.Eventually(t, allDone, 20*time.Second, 10*time.Millisecond, "a reaction, a task and periodic work")

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
	for command, want := range map[string]string{"routes": "POST +/api/notes ", "openapi portal": `"/api/notes"`} {
		var out bytes.Buffer
		require.NoError(t, Run(t.Context(), strings.Fields(command), &out, io.Discard, WithModule(notesModule(&done))))
		require.Regexp(t, want, out.String())
	}
}

// TestModule_MigrationsNotAtTheRoot_StartFails checks a mistake that is easy with embed.FS: the
// files are in a folder, and none would be found at the root.
func TestModule_MigrationsNotAtTheRoot_StartFails(t *testing.T) {
	t.Parallel()

	below := fstest.MapFS{"migrations/0001_notes.sql": noteMigrations["0001_notes.sql"]}
	_, err := startApp(t, testConfig(t, nil), role{name: "serve", serves: true},
		WithModule(Module{Name: "notes", Migrations: fs.FS(below)}))
	require.ErrorContains(t, err, "module notes: want migrations with names NNNN_name.sql")
}
