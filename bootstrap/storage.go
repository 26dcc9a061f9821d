package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/idempotency"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/migrations"
)

// storage is the open storage of all modules.
type storage struct {
	adapters.Storage
	// databases are the databases that the modules are stored in, each once. The
	// first stores identity, and the tasks of the service itself.
	databases []*database
	// requests carries out requests with an Idempotency-Key.
	requests *idempotency.Runner
}

// database is a database with the modules that it stores.
type database struct {
	adapters.Database
	setting string // the first setting that names it, such as database.url
	url     string
	modules []string
}

// portsOf returns the struct with the ports (the repositories) of a module. It is the field of
// adapters.Storage that has the name of the module: Identity for "identity". Reflection finds it by
// this name, so that no list of the modules is needed here.
func portsOf(s *adapters.Storage, module string) reflect.Value {
	return reflect.ValueOf(s).Elem().FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, module) })
}

// databaseOf returns the Database in the ports of a module, which the struct of every module embeds.
func databaseOf(ports reflect.Value) *adapters.Database {
	return ports.FieldByName("Database").Addr().Interface().(*adapters.Database)
}

// storesTasks reports whether the service of the module adds tasks in its transactions, so that its
// database must store tasks. Only the services of billing and listings add none.
func storesTasks(module string) bool { return module != "billing" && module != "listings" }

// openStorage opens every database that the settings name, each once.
func openStorage(ctx context.Context, cfg *config.Config, r *registry, deps adapters.Deps) (*storage, error) {
	all := &storage{}

	databases := databasesOf(cfg, r)
	if err := checkDistinct(cfg, databases); err != nil {
		return nil, err
	}

	for _, db := range databases {
		if err := all.openDatabase(ctx, cfg, r, db, deps); err != nil {
			return nil, errors.Join(err, all.close())
		}
	}

	isDistributed := len(databases) > 1

	all.requests = idempotency.NewRunner(all.Identity.Tx, all.Identity.Idempotency, isDistributed, deps.Log)
	for _, db := range databases {
		// Let requests with an Idempotency-Key store their answer in the transaction of the module.
		db.Tx = all.requests.Transactions(db.Tx)

		// A database without an audit log sends its entries to that of identity, as events.
		if db.Audit == nil {
			db.Audit = audit.Deferred(db.Tx, db.Events, deps.Clock, deps.NewID)
		}

		for _, module := range db.modules {
			databaseOfModule := databaseOf(portsOf(&all.Storage, module))
			databaseOfModule.Tx, databaseOfModule.Audit = db.Tx, db.Audit
		}
	}

	return all, nil
}

// databasesOf groups the modules by the database that stores them. Modules with the same URL share a
// database. A module whose URL selects an adapter for this module only (see WithModuleStorage) has a
// database of its own.
func databasesOf(cfg *config.Config, r *registry) []*database {
	var databases []*database

	sharedByURL := map[string]*database{}
	for _, module := range migrations.Modules() {
		setting, address := "database.url", cfg.Database.URL
		if moduleURL := cfg.Database.ModuleURLs()[module]; moduleURL != "" {
			setting, address = "database."+module+"_url", moduleURL
		}

		_, hasOwnAdapter := r.moduleStorage[module][schemeOf(address)]
		if db := sharedByURL[address]; db != nil && !hasOwnAdapter {
			db.modules = append(db.modules, module)
			continue
		}

		db := &database{setting: setting, url: address, modules: []string{module}}

		databases = append(databases, db)
		if !hasOwnAdapter {
			sharedByURL[address] = db
		}
	}

	return databases
}

// checkDistinct returns an error if two settings name the same database by different URLs. Such a
// database would be opened twice, and its events and tasks would be processed twice.
func checkDistinct(cfg *config.Config, databases []*database) error {
	settingByName := map[string]string{}
	for _, db := range databases {
		// The name of the database is the URL without the parameters and the user.
		name, _, _ := strings.Cut(db.url, "?")
		if u, err := url.Parse(db.url); err == nil && u.Host != "" {
			name = u.Scheme + "://" + u.Host + u.Path
		}

		if first := settingByName[name]; first != "" {
			return cfg.Err(db.setting, fmt.Sprintf("it is the database of %s; use the same URL, or another database", first))
		}

		settingByName[name] = db.setting
	}

	return nil
}

// openDatabase opens a database and stores the ports of its modules in s.
func (s *storage) openDatabase(ctx context.Context, cfg *config.Config, r *registry, db *database, deps adapters.Deps) error {
	deps.Modules = db.modules
	if db.url == cfg.Database.URL { // these settings are about database.url only
		deps.Database.TransactionPooler = cfg.Database.Pooler == "transaction"
		deps.Database.DirectURL = cfg.Database.DirectURL
		deps.Database.ReplicaURLs = cfg.Database.ReplicaURLs
	}

	if slices.Contains(db.modules, "identity") {
		deps.Database.Migrations = r.addedMigrations()
	}

	// If an adapter for the storage of one module has the scheme, it is used. It is enough to look at the first
	// module, because such a module has a database of its own (see databasesOf).
	openers, scheme := r.storage, schemeOf(db.url)
	if ofModule := r.moduleStorage[db.modules[0]]; ofModule[scheme] != nil {
		openers = ofModule
	}

	opened, err := open(ctx, opening{config: cfg, registry: r, deps: deps}, db.setting, db.url, openers)
	if err != nil {
		return err
	}

	opened.SetDefaults()

	// All modules of a database have the same Database: take that of the first one.
	db.Database = *databaseOf(portsOf(&opened, db.modules[0]))

	// Take the ports of the modules, and collect the names of those that the adapter lacks.
	var missing []string
	for _, module := range db.modules {
		ports := portsOf(&opened, module)
		for _, name := range adapters.Missing(ports.Interface()) {
			missing = append(missing, module+"."+name)
		}

		if module == "identity" && db.Audit == nil {
			missing = append(missing, "identity.Audit")
		}

		if storesTasks(module) && db.Tasks == nil {
			missing = append(missing, module+".Tasks")
		}

		portsOf(&s.Storage, module).Set(ports)
	}

	if len(missing) > 0 {
		err := cfg.Err(db.setting, fmt.Sprintf("the storage adapter for %q does not provide %s", scheme+":", strings.Join(missing, ", ")))
		if db.Close != nil {
			err = errors.Join(err, db.Close())
		}

		return err
	}

	s.databases = append(s.databases, db)

	return nil
}

// close closes all databases.
func (s *storage) close() (err error) {
	for _, db := range s.databases {
		err = errors.Join(err, db.Close())
	}

	return err
}

// tasks returns the tasks of all databases.
func (s *storage) tasks() task.Store {
	var stores []task.Store
	for _, db := range s.databases {
		if db.Tasks != nil {
			stores = append(stores, db.Tasks)
		}
	}

	return task.Join(stores...)
}

// each calls fn with every database until one fails, and adds the setting of the database to the error.
func (s *storage) each(cfg *config.Config, fn func(*database) error) error {
	for _, db := range s.databases {
		if err := fn(db); err != nil {
			return cfg.Err(db.setting, err.Error())
		}
	}

	return nil
}

// claim claims the databases that only one process may serve from, such as SQLite files. It fails
// if another process has claimed one.
func (s *storage) claim(ctx context.Context, cfg *config.Config) error {
	return s.each(cfg, func(db *database) error {
		if db.Claim == nil {
			return nil
		}

		return db.Claim(ctx)
	})
}

// check returns an error if the schema of a database is not that of this version.
func (s *storage) check(ctx context.Context, cfg *config.Config) error {
	return s.eachSchema(cfg, func(_ string, schema adapters.Schema) error { return schema.Check(ctx) })
}

// ping returns the errors of the databases that cannot be used.
func (s *storage) ping(ctx context.Context) error {
	return s.joinErrors(func(db *database) error { return db.Ping(ctx) })
}

// hasReplicas reports whether a database can report the state of its replicas.
func (s *storage) hasReplicas() bool {
	return slices.ContainsFunc(s.databases, func(db *database) bool { return db.Replicas != nil })
}

// checkReplicas returns an error if a database reports that its replicas cannot be used.
func (s *storage) checkReplicas(ctx context.Context) error {
	return s.joinErrors(func(db *database) error {
		if db.Replicas == nil {
			return nil
		}

		return db.Replicas(ctx)
	})
}

// joinErrors calls fn with every database, also after an error. It returns all errors, with the settings
// of their databases if there are several.
func (s *storage) joinErrors(fn func(*database) error) error {
	errs := make([]error, len(s.databases))
	for i, db := range s.databases {
		errs[i] = fn(db)
		if errs[i] != nil && len(s.databases) > 1 {
			errs[i] = fmt.Errorf("%s: %w", db.setting, errs[i])
		}
	}

	return errors.Join(errs...)
}

// logModules logs which modules are stored in databases of their own.
func (s *storage) logModules(log *slog.Logger) {
	for _, db := range s.databases[1:] {
		log.Info("modules use a separate database", "modules", strings.Join(db.modules, ", "), "setting", db.setting)
	}
}

// stores reports whether the database stores rows of the kind. A kind is a name such as
// "listings.visits", which begins with the name of a module. Events are stored in every database,
// tasks in those that provide them, and kinds without a module with identity.
func (db *database) stores(kind retention.Kind) bool {
	module, _, _ := strings.Cut(string(kind), ".")
	switch {
	case module == "events":
		return true
	case module == "tasks":
		return db.Tasks != nil
	case !slices.Contains(migrations.Modules(), module):
		module = "identity"
	}

	return slices.Contains(db.modules, module)
}

// lag returns the number of unsent events in the outboxes of all databases (the tables of recorded
// events), and the time of the oldest.
func (s *storage) lag(ctx context.Context) (total int, oldest time.Time, err error) {
	for _, db := range s.databases {
		unsent, oldestOfDB, err := db.Outbox.Lag(ctx)
		if err != nil {
			return total, oldest, err
		}

		total += unsent
		if unsent > 0 && (oldest.IsZero() || oldestOfDB.Before(oldest)) {
			oldest = oldestOfDB
		}
	}

	return total, oldest, nil
}
