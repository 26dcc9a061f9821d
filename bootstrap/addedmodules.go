package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/fiberhttp"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/files"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/tx"
)

// Module adds operations, pages, background work and tables to the program. Each of its
// functions is called once, when the storage is open; `locum routes` and `locum openapi`
// call Routes and Pages with ModuleDeps that are empty. All but the name are optional.
type Module struct {
	// Name consists of letters, digits and underscores, such as pins. Names of
	// subscriptions and kinds of tasks begin with the name and a dot.
	Name string
	// Routes returns operations of the portal, with paths below /api, or of the developer
	// interface, below /api/v1. The server and the documentation treat them like those of
	// locum.
	Routes func(d ModuleDeps) []web.Route
	// Pages returns handlers for paths of their own.
	Pages func(d ModuleDeps) []Page
	// Subscriptions returns reactions to events, those of the module among them. An event
	// may be delivered more than once. Names must not change while events are undelivered.
	Subscriptions func(d ModuleDeps) []event.Subscription
	// Tasks returns the handlers of tasks that the module adds.
	Tasks func(d ModuleDeps) []task.Handler
	// Periodic returns work that one of all processes executes once per period.
	Periodic func(d ModuleDeps) []task.Periodic
	// Migrations contains files NNNN_name.sql for goose, with the types of Postgres, and
	// NNNN_name.DIALECT.sql for dialects that need another one. They are applied to the
	// database of the module identity after its own, and `locum migrate` manages them.
	Migrations fs.FS
}

// ModuleDeps are what the functions of a Module may use.
type ModuleDeps struct {
	adapters.Deps
	Services adapters.Services
	// Tx runs transactions in the database with the tables of the module, whose connection
	// gormdb.Conn returns. Events, Tasks and Audit write in the same transaction.
	Tx     tx.Runner
	Events event.Recorder
	Tasks  task.Adder
	Audit  audit.Recorder
	Mailer mail.Mailer
	Files  files.Store
}

// Page is a handler for a path and everything below it, such as /pins. What
// adapters.HTTPTransport says of requests and responses applies.
type Page struct {
	Path    string
	Handler http.Handler
}

// WithModule adds a module to the program.
func WithModule(m Module) Option {
	return func(r *registry) {
		switch {
		case !moduleName.MatchString(m.Name):
			r.err = errors.Join(r.err, fmt.Errorf("the module has the name %q; want letters, digits and underscores", m.Name))
		case slices.Contains(reservedNames, m.Name) || slices.Contains(moduleNames(), m.Name):
			r.err = errors.Join(r.err, fmt.Errorf("a module cannot have the name %s, which locum uses", m.Name))
		case slices.ContainsFunc(r.modules, func(other Module) bool { return other.Name == m.Name }):
			r.err = errors.Join(r.err, fmt.Errorf("there are two modules with the name %s", m.Name))
		case m.Migrations != nil && !hasMigrations(m.Migrations):
			r.err = errors.Join(r.err, fmt.Errorf("module %s: its migrations have no file NNNN_name.sql at their root", m.Name))
		}
		r.modules = append(r.modules, m)
	}
}

func hasMigrations(files fs.FS) bool {
	names, err := fs.Glob(files, "[0-9]*_*.sql")
	return err == nil && len(names) > 0
}

// moduleName is a name that can be part of that of a table.
var moduleName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

// reservedNames are the names of folders of migrations, and the first parts of names of
// subscriptions and kinds of tasks, beside those of the modules.
var reservedNames = []string{"audit", "database", "legacy", "storage"}

// migrations returns the migrations of the added modules by name.
func (r *registry) migrations() map[string]fs.FS {
	all := map[string]fs.FS{}
	for _, m := range r.modules {
		if m.Migrations != nil {
			all[m.Name] = m.Migrations
		}
	}
	return all
}

// checkMigrations returns an error if the database was opened by an adapter that does not
// apply the migrations of the added modules.
func (r *registry) checkMigrations(ctx context.Context, c *config.Config, db *database) error {
	added := r.migrations()
	if len(added) == 0 {
		return nil
	}
	var steps []adapters.SchemaStep
	if db.Schema != nil {
		var err error
		if steps, err = db.Schema.Status(ctx); err != nil {
			return err
		}
	}
	for name := range added {
		if !slices.ContainsFunc(steps, func(s adapters.SchemaStep) bool { return strings.HasPrefix(s.Name, name+"/") }) {
			return c.Err(db.setting, fmt.Sprintf("the storage adapter does not apply the migrations of the module %s; want one that does, such as sqlite: or postgres:", name))
		}
	}
	return nil
}

// addedModule is what the functions of a Module have returned.
type addedModule struct {
	name          string
	routes        []web.Route
	pages         []Page
	subscriptions []event.Subscription
	tasks         []task.Handler
	periodic      []task.Periodic
}

// addedModules are the modules in the order of their options.
type addedModules []addedModule

func newAddedModules(r *registry, s adapters.Services, st *storage, d adapters.Deps, m mail.Mailer, f files.Store) (addedModules, error) {
	return r.addedModules(ModuleDeps{
		Deps: d, Services: s, Tx: st.Identity.Tx, Events: st.Identity.Events, Tasks: st.Identity.Tasks, Audit: st.Identity.Audit, Mailer: m, Files: f,
	})
}

// addedModules calls the functions of the modules.
func (r *registry) addedModules(d ModuleDeps) (all addedModules, err error) {
	for _, m := range r.modules {
		a := describeModule(m, d)
		a.subscriptions, a.tasks, a.periodic = partsOf(m.Subscriptions, d), partsOf(m.Tasks, d), partsOf(m.Periodic, d)
		var names []string
		for _, s := range a.subscriptions {
			names = append(names, s.Name)
		}
		for _, t := range a.tasks {
			names = append(names, t.Kind)
		}
		for _, p := range a.periodic {
			names = append(names, p.Kind)
		}
		for _, name := range names {
			if !strings.HasPrefix(name, m.Name+".") {
				return nil, fmt.Errorf("module %s: the name %q does not begin with %q", m.Name, name, m.Name+".")
			}
		}
		all = append(all, a)
	}
	return all, nil
}

// describedModules returns the modules with their routes and pages alone.
func (r *registry) describedModules() (all addedModules) {
	for _, m := range r.modules {
		all = append(all, describeModule(m, ModuleDeps{}))
	}
	return all
}

func describeModule(m Module, d ModuleDeps) addedModule {
	return addedModule{name: m.Name, routes: partsOf(m.Routes, d), pages: partsOf(m.Pages, d)}
}

// partsOf returns what a function of a module returns, or nothing if it is nil.
func partsOf[Part any](fn func(ModuleDeps) []Part, d ModuleDeps) []Part {
	if fn == nil {
		return nil
	}
	return fn(d)
}

func (all addedModules) mounts() (mounts []fiberhttp.Mount) {
	for _, m := range all {
		for _, p := range m.pages {
			mounts = append(mounts, fiberhttp.Mount{Prefix: p.Path, Name: "module " + m.name, Handler: p.Handler})
		}
	}
	return mounts
}

// addTo appends the routes of the modules to the surfaces that their paths belong to.
func (all addedModules) addTo(surfaces []web.Surface) error {
	for _, m := range all {
		for _, route := range m.routes {
			if route.Tag == "" {
				route.Tag = m.name
			}
			at := slices.IndexFunc(surfaces, func(s web.Surface) bool { return s.Under(route.Path) })
			if err := checkAddedRoute(surfaces[at], route); err != nil {
				return fmt.Errorf("module %s: %s %s: %w", m.name, route.Method, route.Path, err)
			}
			surfaces[at].Routes = append(slices.Clip(surfaces[at].Routes), route)
		}
	}
	return nil
}

// addedPath is a path of literal segments and parameters.
var addedPath = regexp.MustCompile(`^/api(/:?[A-Za-z0-9][A-Za-z0-9_-]*)+$`)

// checkAddedRoute returns an error for a route that the surface would not serve, or that
// would serve more clients than it says.
func checkAddedRoute(s web.Surface, r web.Route) error {
	switch {
	case !slices.Contains([]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, r.Method):
		return errors.New("want the method GET, POST, PUT, PATCH or DELETE")
	case !addedPath.MatchString(r.Path):
		return errors.New("want a path like /api/pins/:id")
	case r.Op.In == nil:
		return errors.New("it has no Op")
	case r.Summary == "":
		return errors.New("it has no Summary")
	case s.Gate != nil && (r.Scope == "" || r.Auth != web.None):
		return errors.New("a route of the developer interface has a Scope and no Auth")
	case s.Gate == nil && r.Scope != "":
		return errors.New("only routes of the developer interface have a Scope")
	case r.Auth != web.Required && (r.Who != web.Anyone || r.Permission != ""):
		return errors.New("its Who and Permission need Auth: web.Required")
	}
	for _, other := range s.Routes {
		if other.Method == r.Method && overlap(other.Path, r.Path) {
			return fmt.Errorf("the path is also that of %s %s", other.Method, other.Path)
		}
	}
	return nil
}

// overlap reports whether there is a path that both patterns match.
func overlap(a, b string) bool {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	if len(as) != len(bs) {
		return false
	}
	for i := range as {
		if as[i] != bs[i] && !strings.HasPrefix(as[i], ":") && !strings.HasPrefix(bs[i], ":") {
			return false
		}
	}
	return true
}
