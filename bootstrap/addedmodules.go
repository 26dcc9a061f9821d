package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/fiberhttp"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/files"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/metrics"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/trace"
	"github.com/locumhq/locum/core/tx"
	"github.com/locumhq/locum/migrations"
	"github.com/locumhq/locum/modules/integrations"
)

// Module adds operations, pages, background work and tables to the program. All fields but
// Name are optional. Each function is called once, after the storage is opened. `locum routes`
// and `locum openapi` also call Routes and Pages, with empty ModuleDeps.
//
// The service has two APIs: the portal, below /api, for jobseekers, employers and guests, and the
// developer interface, below /api/v1, for the programs of developers.
type Module struct {
	// Name consists of letters, digits and underscores, such as pins. Names of
	// subscriptions and kinds of tasks begin with the name and a dot.
	Name string
	// Routes returns operations of the portal or of the developer interface, by their paths. The
	// server and the documentation treat them like those of the program itself.
	Routes func(d ModuleDeps) []web.Route
	// Pages returns handlers for paths of their own.
	Pages func(d ModuleDeps) []Page
	// Subscriptions returns handlers of events. The events may be those of the module. An event
	// may be delivered more than once. The name of a subscription must not change while one of
	// its events is undelivered.
	Subscriptions func(d ModuleDeps) []event.Subscription
	// Tasks returns the handlers of tasks that the module adds.
	Tasks func(d ModuleDeps) []task.Handler
	// Periodic returns work that is executed once per period, by one of all processes.
	Periodic func(d ModuleDeps) []task.Periodic
	// Migrations contains files NNNN_name.sql for goose (a migration tool), with the column types
	// of Postgres, and NNNN_name.DIALECT.sql for dialects that need a different file. They are
	// applied to the database of the module identity, after its migrations. `locum migrate`
	// manages them.
	Migrations fs.FS
}

// ModuleDeps are the dependencies of the functions of a Module.
type ModuleDeps struct {
	Services adapters.Services
	// Tx runs transactions in the database with the tables of the module, whose
	// connection gormdb.Conn returns. Events, Tasks and Audit write in the same
	// transaction. Use tx.Read for reads alone, since SQLite has one writer at a time.
	Tx     tx.Runner
	Events event.Recorder
	Tasks  task.Adder
	Audit  audit.Recorder
	Mailer mail.Mailer
	Files  files.Store
	Clock  clock.Clock
	NewID  id.Source
	Log    *slog.Logger
	Tracer trace.Tracer
	// Metrics and PublicURL are described in adapters.Deps.
	Metrics   metrics.Registry
	PublicURL string
}

// Page is a handler for a path and everything below it, such as /pins. The rules of
// adapters.HTTPTransport for requests and responses apply.
type Page struct {
	Path    string
	Handler http.Handler
}

// WithModule adds a module to the program.
func WithModule(m Module) Option {
	return func(r *registry) {
		switch {
		case !moduleName.MatchString(m.Name):
			r.refusef("the module has the name %q; want letters, digits and underscores", m.Name)
		case slices.Contains(reservedNames, m.Name) || slices.Contains(migrations.Modules(), m.Name):
			r.refusef("a module cannot have the name %s, which locum uses", m.Name)
		case slices.ContainsFunc(r.modules, func(other Module) bool { return other.Name == m.Name }):
			r.refusef("there are two modules with the name %s", m.Name)
		case m.Migrations != nil && !hasOnlyMigrations(m.Migrations):
			r.refusef("module %s: want migrations with names NNNN_name.sql or NNNN_name.DIALECT.sql at the root of its files", m.Name)
		}

		r.modules = append(r.modules, m)
	}
}

// hasOnlyMigrations reports whether there is an SQL file at the root, and all SQL files there have
// names of migrations. A file with another name would never be applied.
func hasOnlyMigrations(files fs.FS) bool {
	names, err := fs.Glob(files, "*.sql")
	isOther := func(name string) bool { return !migrationName.MatchString(name) }

	return err == nil && len(names) > 0 && !slices.ContainsFunc(names, isOther)
}

// migrationName matches NNNN_name.sql and NNNN_name.DIALECT.sql.
var migrationName = regexp.MustCompile(`^[0-9]+_[A-Za-z0-9_-]+(\.[a-z]+)?\.sql$`)

// moduleName matches names that can be part of the name of a table.
var moduleName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

// reservedNames are names that an added module must not have, in addition to the names of the
// built-in modules. The program uses them itself, for folders of migrations or as prefixes of
// subscriptions and kinds of tasks.
var reservedNames = []string{"audit", "database", "legacy", "storage"}

// addedMigrations returns the migrations of the added modules, by the name of the module.
func (r *registry) addedMigrations() map[string]fs.FS {
	byModule := map[string]fs.FS{}
	for _, m := range r.modules {
		if m.Migrations != nil {
			byModule[m.Name] = m.Migrations
		}
	}

	return byModule
}

// checkMigrations returns an error if the database of module identity was opened by an adapter that
// does not apply the migrations of the added modules.
func (r *registry) checkMigrations(ctx context.Context, cfg *config.Config, db *database) error {
	added := r.addedMigrations()
	if len(added) == 0 {
		return nil
	}

	// An adapter that applies the migrations lists them in its status, such as pins/0001_init.sql for
	// the module pins. An adapter without a schema applies and lists none.
	var steps []adapters.SchemaStep
	if db.Schema != nil {
		var err error
		if steps, err = db.Schema.Status(ctx); err != nil {
			return err
		}
	}

	for name := range added {
		isOfModule := func(s adapters.SchemaStep) bool { return strings.HasPrefix(s.Name, name+"/") }
		if !slices.ContainsFunc(steps, isOfModule) {
			return cfg.Err(
				db.setting,
				fmt.Sprintf(
					"the storage adapter does not apply the migrations of the module %s; want one that does, such as sqlite: or postgres:",
					name,
				),
			)
		}
	}

	return nil
}

// addedModule holds what the functions of a Module have returned.
type addedModule struct {
	name          string
	routes        []web.Route
	pages         []Page
	subscriptions []event.Subscription
	tasks         []task.Handler
	periodic      []task.Periodic
}

// addedModules are the added modules in the order of their options.
type addedModules []addedModule

// newAddedModules builds the added modules. They share the transactions, events, tasks and audit
// records of identity.
func newAddedModules(
	r *registry,
	s adapters.Services,
	store *storage,
	deps adapters.Deps,
	mailer mail.Mailer,
	fileStore files.Store,
) (addedModules, error) {
	return r.callModules(ModuleDeps{
		Services:  s,
		Tx:        store.Identity.Tx,
		Events:    store.Identity.Events,
		Tasks:     store.Identity.Tasks,
		Audit:     store.Identity.Audit,
		Mailer:    mailer,
		Files:     fileStore,
		Clock:     deps.Clock,
		NewID:     deps.NewID,
		Log:       deps.Log,
		Tracer:    deps.Tracer,
		Metrics:   deps.Metrics,
		PublicURL: deps.PublicURL,
	})
}

// callModules calls the functions of the modules and checks what they return.
func (r *registry) callModules(d ModuleDeps) (modules addedModules, err error) {
	for _, m := range r.modules {
		added := addedModule{
			name:          m.Name,
			routes:        callIfSet(m.Routes, d),
			pages:         callIfSet(m.Pages, d),
			subscriptions: callIfSet(m.Subscriptions, d),
			tasks:         callIfSet(m.Tasks, d),
			periodic:      callIfSet(m.Periodic, d),
		}
		if err := added.check(); err != nil {
			return nil, fmt.Errorf("module %s: %w", m.Name, err)
		}

		modules = append(modules, added)
	}

	return modules, nil
}

// check returns an error if a name of the module's background work is invalid, if the work would
// never be executed, or if a page has no handler. addRoutes checks the routes.
func (m addedModule) check() error {
	for _, s := range m.subscriptions {
		if err := m.checkWork(s.Name, s.Queue, s.React != nil); err != nil {
			return err
		}
	}

	for _, t := range m.tasks {
		if err := m.checkWork(t.Kind, t.Queue, t.Do != nil); err != nil {
			return err
		}
	}

	for _, p := range m.periodic {
		if err := m.checkWork(p.Kind, task.Maintenance, p.Do != nil); err != nil {
			return err
		}

		if p.Every <= 0 {
			return fmt.Errorf("%s: Every must be positive", p.Kind)
		}
	}

	for _, p := range m.pages {
		if p.Handler == nil {
			return fmt.Errorf("the page %s has no Handler", p.Path)
		}
	}

	return nil
}

// checkWork checks a subscription, a kind of task or periodic work of the module: its name, its queue,
// and whether it has a function. The name must begin with the name of the module, so that two
// modules cannot have the same.
func (m addedModule) checkWork(name string, q task.QueueName, hasFunction bool) error {
	switch {
	case !strings.HasPrefix(name, m.name+"."):
		return fmt.Errorf("the name %q does not begin with %q", name, m.name+".")
	case task.Workers[q] == 0: // the runner executes only tasks of the queues in this map
		return fmt.Errorf("%s: there is no queue %q; want one of package task", name, q)
	case !hasFunction:
		return fmt.Errorf("%s has no function", name)
	}

	return nil
}

// describeModules returns the modules with their routes and pages only, for commands that describe
// the program without services.
func (r *registry) describeModules() (modules addedModules) {
	noDeps := ModuleDeps{}
	for _, m := range r.modules {
		modules = append(modules, addedModule{
			name:   m.Name,
			routes: callIfSet(m.Routes, noDeps),
			pages:  callIfSet(m.Pages, noDeps),
		})
	}

	return modules
}

// callIfSet returns the result of an optional function of a module, nil if it is not set.
func callIfSet[Part any](fn func(ModuleDeps) []Part, d ModuleDeps) []Part {
	if fn == nil {
		return nil
	}

	return fn(d)
}

// mounts returns the pages of all modules as mounts of the server. A mount is a handler for a path
// and everything below it.
func (modules addedModules) mounts() (mounts []fiberhttp.Mount) {
	for _, m := range modules {
		for _, p := range m.pages {
			mounts = append(mounts, fiberhttp.Mount{Prefix: p.Path, Name: "module " + m.name, Handler: p.Handler})
		}
	}

	return mounts
}

// addRoutes appends the routes of the modules to the APIs that their paths belong to.
func (modules addedModules) addRoutes(apis []web.API) error {
	for _, m := range modules {
		for _, route := range m.routes {
			if route.Tag == "" { // the heading under which the documentation lists the route
				route.Tag = m.name
			}

			if err := addRoute(apis, route); err != nil {
				return fmt.Errorf("module %s: %s %s: %w", m.name, route.Method, route.Path, err)
			}
		}
	}

	return nil
}

// addRoute adds the route to the API that covers its path.
func addRoute(apis []web.API, route web.Route) error {
	if !addedPath.MatchString(route.Path) {
		return errors.New("want a path like /api/pins/:id")
	}

	// An API is always found: the last one, the portal, covers every path below /api.
	at := slices.IndexFunc(apis, func(api web.API) bool { return api.Covers(route.Path) })

	api := &apis[at]
	if err := checkAddedRoute(*api, route); err != nil {
		return err
	}

	api.Routes = append(slices.Clip(api.Routes), route) // Clip, so that append copies a shared array

	return nil
}

// addedPath matches paths of literal segments and parameters. The first segment below /api must
// be literal, so that the path belongs to one API.
var addedPath = regexp.MustCompile(`^/api/[A-Za-z0-9][A-Za-z0-9_-]*(/:?[A-Za-z0-9][A-Za-z0-9_-]*)*$`)

// routeMethods are the methods that an added route may have.
var routeMethods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// checkAddedRoute returns an error for a route that the API would not serve, or would
// serve to more clients than the route declares.
//
// The developer interface has an Authenticator, which requires a key or token with the Scope of the
// route. The portal has none: its routes declare with Auth whether they require a signed-in user.
func checkAddedRoute(api web.API, route web.Route) error {
	isForDevelopers := api.Authenticator != nil
	isForGuests := !isForDevelopers && route.Auth != web.Required

	switch {
	case !slices.Contains(routeMethods, route.Method):
		return errors.New("want the method GET, POST, PUT, PATCH or DELETE")
	case route.Op.In == nil:
		return errors.New("it has no Op")
	case route.Summary == "":
		return errors.New("it has no Summary")
	case route.Status != 0 && (route.Status < 200 || route.Status > 299):
		return errors.New("its Status is not one of success")
	case isForDevelopers && (!slices.Contains(integrations.Scopes(), route.Scope) || route.Auth != web.None):
		return fmt.Errorf("a route of the developer interface has no Auth and one of the scopes %v", integrations.Scopes())
	case route.Cached && (!isForGuests || route.Method != http.MethodGet):
		return errors.New("only what guests read can be Cached")
	case !isForDevelopers && route.Scope != "":
		return errors.New("only routes of the developer interface have a Scope")
	case route.Auth != web.Required && (route.Audience != web.Anyone || route.Permission != ""):
		return errors.New("its Who and Permission need Auth: web.Required")
	}

	for _, other := range api.Routes {
		if other.Method == route.Method && overlap(other.Path, route.Path) {
			return fmt.Errorf("the path is also that of %s %s", other.Method, other.Path)
		}
	}

	return nil
}

// overlap reports whether there is a path that both patterns match. A segment that begins with a
// colon is a parameter, which matches every segment.
func overlap(a, b string) bool {
	segmentsA, segmentsB := strings.Split(a, "/"), strings.Split(b, "/")
	if len(segmentsA) != len(segmentsB) {
		return false
	}

	isParameter := func(segment string) bool { return strings.HasPrefix(segment, ":") }

	for i := range segmentsA {
		segmentA, segmentB := segmentsA[i], segmentsB[i]
		if segmentA != segmentB && !isParameter(segmentA) && !isParameter(segmentB) {
			return false
		}
	}

	return true
}
