package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"go.uber.org/fx"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/developer"
	"github.com/locumhq/locum/adapters/fiberhttp"
	"github.com/locumhq/locum/adapters/portal"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/config"
)

// Main runs the program. A program with additional adapters is a main function that calls
// Main with options.
func Main(options ...Option) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt) }) // a second Ctrl-C ends the process at once

	err := Run(ctx, os.Args[1:], os.Stdout, os.Stderr, options...)

	stop()

	if err != nil {
		fmt.Fprintln(os.Stderr, "locum:", oneLine(err))
		os.Exit(1)
	}
}

// Run executes the program with the arguments until ctx ends. Tests use it to run the program
// in their own process. The log is written to stderr.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer, options ...Option) error {
	c := command(newRegistry(options))
	c.SetArgs(args)
	c.SetOut(stdout)
	c.SetErr(stderr)

	return c.ExecuteContext(ctx)
}

// oneLine returns the message of an error for an operator: in one line, and without secrets.
func oneLine(err error) string {
	return redactSecrets(strings.ReplaceAll(err.Error(), "\n", "; "))
}

// newGroup returns a command that requires one of its subcommands.
func newGroup(use, short string) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, RunE: func(cmd *cobra.Command, args []string) error {
		var names []string
		for _, subcommand := range cmd.Commands() {
			if subcommand.IsAvailableCommand() {
				names = append(names, subcommand.Name())
			}
		}

		want := fmt.Sprintf("want one of %s; `%s --help` tells more", strings.Join(names, ", "), cmd.CommandPath())
		if len(args) > 0 {
			want = fmt.Sprintf("there is no command %q; ", args[0]) + want
		}

		return fmt.Errorf("%s: %s", cmd.Name(), want)
	}}
}

// operator holds what all commands need. Its methods build the commands.
type operator struct {
	registry   *registry // the adapters and added modules
	configFile string    // the flag --config
}

// load reads the configuration.
func (o *operator) load() (*config.Config, error) {
	return config.Load(o.configFile)
}

// command returns the program's command with its subcommands.
func command(registered *registry) *cobra.Command {
	o := &operator{registry: registered}
	root := &cobra.Command{
		Use: "locum", Short: "A job board for healthcare", Version: version,
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.PersistentFlags().StringVar(
		&o.configFile,
		"config",
		"",
		"configuration file (default: LOCUM_CONFIG, else locum.yaml if it is there)",
	)
	root.AddCommand(
		&cobra.Command{
			Use:   "serve",
			Short: "Serve HTTP; with an embedded queue, also execute background tasks",
			Args:  cobra.NoArgs,
			RunE:  o.processCommand(role{name: "serve", serves: true}),
		},
		&cobra.Command{
			Use:   "worker",
			Short: "Execute background tasks only; any number of workers may run",
			Args:  cobra.NoArgs,
			RunE:  o.processCommand(role{name: "worker"}),
		},
		o.migrate(),
		o.tasks(),
		o.developers(),
		o.users(),
		o.admin(),
		o.search(),
		o.listings(),
		o.audit(),
		o.webhooks(),
		&cobra.Command{
			Use:   "config",
			Short: "Show the effective configuration and the source of each value",
			Args:  cobra.NoArgs,
			RunE:  o.showConfig,
		},
		o.openapi(),
		o.seed(),
		&cobra.Command{
			Use:   "routes",
			Short: "Show every route with its policy",
			Args:  cobra.NoArgs,
			RunE: o.withConfig(func(cmd *cobra.Command, _ []string, cfg *config.Config) error {
				return o.registry.printRoutes(cmd.Context(), cmd.OutOrStdout(), cfg,
					newDeps(cfg, newLogger(cmd.ErrOrStderr(), cfg.Log.Level)))
			}),
		},
	)

	return root
}

// withConfig returns a function for cobra that reads the configuration and calls run with it.
func (o *operator) withConfig(run func(cmd *cobra.Command, args []string, cfg *config.Config) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		cfg, err := o.load()
		if err != nil {
			return err
		}

		return run(cmd, args, cfg)
	}
}

// processCommand returns the function of a command that starts a process in the role and waits
// for the signal to stop.
func (o *operator) processCommand(r role) func(*cobra.Command, []string) error {
	return o.withConfig(func(cmd *cobra.Command, _ []string, cfg *config.Config) error { return o.runProcess(cmd, cfg, r) })
}

// runProcess starts a process, prints where it is reached and stops it when the context of the
// command ends.
func (o *operator) runProcess(cmd *cobra.Command, cfg *config.Config, r role) error {
	log := newLogger(cmd.ErrOrStderr(), cfg.Log.Level)
	limitMemory(log, memlimit.FromCgroup)

	startCtx, cancelStart := context.WithTimeout(cmd.Context(), startTimeout)
	defer cancelStart()

	a := newApp(startCtx, cfg, o.registry, r, log)
	if err := a.Start(startCtx); err != nil {
		// Close the adapters that were opened before the error.
		stopCtx, cancelStop := context.WithTimeout(context.Background(), stopTimeout)
		defer cancelStop()
		return errors.Join(err, a.Stop(stopCtx))
	}

	if r.serves {
		if a.works { // so that the log lines of the first tasks come before the addresses
			waitIdle(cmd.Context(), a.storage)
		}

		a.printAddresses(cmd.Context(), cmd.OutOrStdout(), cfg)
	} else {
		fmt.Fprintln(cmd.OutOrStdout(), "locum works in the background")
	}

	// Serve until the signal to stop.
	<-cmd.Context().Done()
	log.Info("stopping", "drain", cfg.HTTP.Drain.String(), "within", stopTimeout.String())
	a.drain(cfg.HTTP.Drain)

	stopCtx, cancelStop := context.WithTimeout(context.Background(), appStopTimeout)
	defer cancelStop()

	return a.Stop(stopCtx)
}

// printAddresses prints how users and developers reach a process that serves.
func (a *app) printAddresses(ctx context.Context, out io.Writer, cfg *config.Config) {
	fmt.Fprintf(out, "locum serves %s (listening on %s)\n", cfg.HTTP.PublicURL, a.addr)

	if cfg.Site.Enabled {
		fmt.Fprintf(out, "  find a job:            %[1]s/\n  post a job:            %[1]s/employer\n", cfg.HTTP.PublicURL)
	}

	fmt.Fprintf(
		out,
		"  read and try the API:  %[1]s/docs\n  build on it:           %[1]s/developers\n  call it:               curl '%[1]s/api/listings?search=nurse+near+leeds'\n",
		cfg.HTTP.PublicURL,
	)

	if folder, isLocal := strings.CutPrefix(cfg.Mail.URL, "file:"); isLocal {
		fmt.Fprintf(out, "  read its mail:         %s\n", folder)
	}

	for _, account := range demoSignIns(ctx, cfg, a.storage.Storage) {
		fmt.Fprintf(out, "  sign in to the demo:   %s\n", account)
	}
}

// memoryRatio is the part of the control group's memory limit that the Go runtime may use. The
// rest is for memory that it does not manage, such as SQLite's.
const memoryRatio = 0.9

// limitMemory sets GOMEMLIMIT from the memory limit of the control group, unless the environment
// sets it. Near the limit the garbage collector then runs more often, instead of the kernel
// killing the process.
func limitMemory(log *slog.Logger, limit memlimit.Provider) {
	_, err := memlimit.SetGoMemLimitWithOpts(memlimit.WithRatio(memoryRatio), memlimit.WithProvider(limit))
	if err != nil && !errors.Is(err, memlimit.ErrNoLimit) {
		log.Debug("no memory limit of a control group found", "error", err)
	}
}

// loadExisting loads the configuration, and returns an error if its storage does not exist.
func (o *operator) loadExisting() (*config.Config, error) {
	cfg, err := o.load()
	if err != nil {
		return nil, err
	}

	path, isSQLite := strings.CutPrefix(cfg.Database.URL, "sqlite:")
	if !isSQLite { // opening fails if the database does not exist
		return cfg, nil
	}

	// Opening a missing SQLite file would create it.
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if absolute, err := filepath.Abs(path); err == nil {
			path = absolute
		}

		return nil, cfg.Err(
			"database.url",
			"there is no database at "+path+"; run this in the folder of `locum serve`, or with its settings",
		)
	}

	return cfg, nil
}

// withStorage runs an operator's command on a storage that exists.
func (o *operator) withStorage(cmd *cobra.Command, run storageCommand) error {
	if _, err := o.loadExisting(); err != nil {
		return err
	}

	return o.withNewStorage(cmd, run)
}

// withServices runs an operator's command with the services of an existing storage. The services are
// assembled as in `locum serve`, with the clock of the role if it has one. The targets are pointers to
// services or to their dependencies, which withServices sets before it calls run.
func (o *operator) withServices(cmd *cobra.Command, r role, run func(ctx context.Context) error, targets ...any) (err error) {
	r.isCommand = true

	cfg, err := o.loadExisting()
	if err != nil {
		return err
	}

	ctx := cmd.Context()

	a := wire(ctx, cfg, o.registry, r, newLogger(cmd.ErrOrStderr(), "error"), fx.Populate(targets...))
	if err := a.Start(ctx); err != nil {
		return err
	}

	defer func() { err = errors.Join(err, a.Stop(context.WithoutCancel(ctx))) }()

	return run(ctx)
}

// storageCommand is the function of a command that uses the storage.
type storageCommand func(ctx context.Context, cfg *config.Config, store *storage) error

// withNewStorage runs an operator's command on the storage, which it creates if it does not exist.
func (o *operator) withNewStorage(cmd *cobra.Command, run storageCommand) (err error) {
	cfg, err := o.load()
	if err != nil {
		return err
	}

	store, err := openStorage(cmd.Context(), cfg, o.registry, newDeps(cfg, newLogger(cmd.ErrOrStderr(), cfg.Log.Level)))
	if err != nil {
		return err
	}

	defer func() { err = errors.Join(err, store.close()) }()

	return run(cmd.Context(), cfg, store)
}

// showConfig prints the configuration, also if it is invalid: the operator looks for the error
// in it.
func (o *operator) showConfig(cmd *cobra.Command, _ []string) error {
	cfg, err := o.load()
	if cfg == nil {
		return err
	}

	t := newTable(cmd.OutOrStdout(), "KEY", "VALUE", "SOURCE")
	for _, setting := range cfg.Settings() {
		t.add(setting.Key, setting.Value, setting.Source)
	}

	return errors.Join(err, t.Flush())
}

// table prints rows with aligned columns.
type table struct{ *tabwriter.Writer }

// newTable returns a table with the header as its first line.
func newTable(out io.Writer, header ...any) table {
	const minWidth, tabWidth, padding = 0, 0, 2 // columns are as wide as their text, with two spaces between them
	t := table{tabwriter.NewWriter(out, minWidth, tabWidth, padding, ' ', 0)}
	t.add(header...)

	return t
}

// add adds a line. The writer aligns columns that are separated by tabs.
func (t table) add(columns ...any) {
	format := strings.TrimSuffix(strings.Repeat("%v\t", len(columns)), "\t") + "\n"
	fmt.Fprintf(t, format, columns...)
}

// newAPIs returns the APIs of the service: the developer interface, for the programs of developers, and
// the portal, for jobseekers, employers and guests. The portal is last, because it covers all
// paths below /api that no other API covers. Services may be empty if the APIs are only described.
func newAPIs(s adapters.Services, publicURL string) []web.API {
	return []web.API{developer.API(s, publicURL), portal.API(s)}
}

// describe returns the APIs and the mounts (the handlers of other paths), including those of added
// modules, for commands without services.
func (r *registry) describe(publicURL string) (apis []web.API, mounts []fiberhttp.Mount, err error) {
	if r.err != nil {
		return nil, nil, r.err
	}

	apis = newAPIs(adapters.Services{}, publicURL)
	added := r.describeModules()
	err = added.addRoutes(apis)

	return apis, added.mounts(), err
}

// openapi returns the command that prints OpenAPI documents. It has one subcommand for each API.
func (o *operator) openapi() *cobra.Command {
	group := newGroup("openapi", "Print an interface's OpenAPI 3.1 document")
	for i, api := range newAPIs(adapters.Services{}, "") {
		firstLine, _, _ := strings.Cut(api.Description, "\n")
		group.AddCommand(
			&cobra.Command{
				Use:   api.Name,
				Short: firstLine,
				Args:  cobra.NoArgs,
				RunE: o.withConfig(func(cmd *cobra.Command, _ []string, cfg *config.Config) error {
					// The document has the configured URL and the routes of added modules.
					apis, _, err := o.registry.describe(cfg.HTTP.PublicURL)
					if err != nil {
						return err
					}

					document, err := web.OpenAPI(apis[i], cfg.HTTP.PublicURL)
					if err != nil {
						return err
					}

					_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", document)

					return err
				}),
			},
		)
	}

	return group
}

// printRoutes prints all routes of a process: those of the APIs, of the server itself and of the
// mounts (handlers for a path and everything below it).
func (r *registry) printRoutes(ctx context.Context, out io.Writer, cfg *config.Config, deps adapters.Deps) error {
	transports, err := openTransports(ctx, cfg, r, adapters.Services{}, deps)
	if err != nil {
		return err
	}

	apis, pages, err := r.describe("") // the routes do not depend on the public URL
	if err != nil {
		return err
	}

	mounts := slices.Concat(transportMounts(transports), pages)

	t := newTable(out, "METHOD", "PATH", "AUTH", "WHO", "PERMISSION", "LIMIT", "BODY")
	for _, api := range apis {
		for _, route := range api.Routes {
			t.addRoute(api, route)
		}
	}

	server, err := fiberhttp.New(adapters.Services{}, fiberhttp.Options{
		Metrics:      prometheus.NewRegistry(),
		APIs:         apis,
		Mounts:       mounts,
		Site:         cfg.Site.Enabled,
		EmbedOrigins: cfg.Site.EmbedOrigins,
	})
	if err != nil {
		return err
	}

	for _, route := range server.ServerRoutes() {
		t.add(route.Method, route.Path, route.Auth, "anyone", "-", "-", "-")
	}

	for _, m := range mounts {
		t.add("any", m.Prefix, m.Name, "anyone", "-", "-", formatKiB(web.DefaultBody))
	}

	return t.Flush()
}

// addRoute adds a line for each path of a route of the API.
func (t table) addRoute(api web.API, route web.Route) {
	access, permission, limit, body := fmt.Sprint(route.Auth), string(route.Permission), "-", "-"
	if route.Limit.Max > 0 {
		period := strings.TrimSuffix(strings.TrimSuffix(route.Limit.Per.String(), "0s"), "0m") // 1h in place of 1h0m0s
		limit = fmt.Sprintf("%d/%s", route.Limit.Max, period)
	}

	if route.TakesBody() {
		body = formatKiB(route.BodyLimit())
	}

	isForDevelopers := api.Authenticator != nil // such an API has other kinds of access, permissions and limits
	if isForDevelopers {
		access = "key or token"
		permission = string(route.Scope)
		limit = "by plan"
	}

	for _, path := range api.Paths(route) {
		t.add(route.Method, path, access, route.Audience, dashIfEmpty(permission), limit, body)
	}
}

// formatKiB returns a number of bytes in KiB.
func formatKiB(bytes int) string { return fmt.Sprintf("%d KiB", bytes>>10) }

// dashIfEmpty returns s, or a dash, so that no column of a line is empty.
func dashIfEmpty(s string) string {
	if s == "" {
		return "-"
	}

	return s
}
