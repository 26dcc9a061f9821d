package bootstrap

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/gormdb"
	"github.com/locumhq/locum/adapters/locallimit"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/limit"
)

func openLocalLimiter(context.Context, string, adapters.Deps) (limit.Limiter, error) {
	return locallimit.New(clock.System{}), nil
}

func TestOpen_FaultyAdapter_ErrorNamesTheSetting(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(c *config.Config)
		options []Option
		want    string
	}{
		"nil adapter": {
			func(c *config.Config) { c.Limiter.URL = "none:" },
			[]Option{WithLimiter("none", func(context.Context, string, adapters.Deps) (limit.Limiter, error) { return nil, nil })},
			`limiter.url (from default): the adapter for "none:" returned nil`,
		},
		"nil pointer": {
			func(c *config.Config) { c.Limiter.URL = "none:" },
			[]Option{WithLimiter("none", func(context.Context, string, adapters.Deps) (limit.Limiter, error) {
				return (*locallimit.Limiter)(nil), nil
			})},
			`limiter.url (from default): the adapter for "none:" returned nil`,
		},
		"storage without Close": {
			func(c *config.Config) { c.Database.URL = "open" + c.Database.URL },
			[]Option{WithStorage("opensqlite", func(ctx context.Context, url string, d adapters.Deps) (adapters.Storage, error) {
				s, err := gormdb.Open(ctx, url[len("open"):], d)
				for _, database := range []*adapters.Database{&s.Identity.Database, &s.Listings.Database, &s.Hiring.Database, &s.Jobseeker.Database, &s.Billing.Database, &s.Integrations.Database} {
					database.Close = nil
				}
				return s, err
			})},
			`database.url (from default): the storage adapter for "opensqlite:" does not provide identity.Close, listings.Close, hiring.Close, jobseeker.Close, billing.Close, integrations.Close`,
		},
		"module storage without the module": {
			func(c *config.Config) { c.Database.BillingURL = "ledger:x" },
			[]Option{WithModuleStorage("billing", "ledger", func(context.Context, string, adapters.Deps) (adapters.Storage, error) { return adapters.Storage{}, nil })},
			`database.billing_url (from default): the storage adapter for "ledger:" does not provide billing.Tx`,
		},
		"storage of another module": {
			func(c *config.Config) { c.Database.HiringURL = "ledger:x" },
			[]Option{WithModuleStorage("billing", "ledger", gormdb.Open)},
			`database.hiring_url (from default): no adapter for "ledger:"`,
		},
		"unknown module":    {nil, []Option{WithModuleStorage("payroll", "ledger", gormdb.Open)}, `there is no module "payroll"; want one of identity, listings, hiring, jobseeker, billing, integrations`},
		"built-in scheme":   {nil, []Option{WithLimiter("memory", openLocalLimiter)}, "there is a limiter adapter for memory: already; bootstrap.Override replaces it"},
		"same scheme twice": {nil, []Option{WithLimiter("mine", openLocalLimiter), WithLimiter("mine", openLocalLimiter)}, "there is a limiter adapter for mine: already"},
		"no opener":         {nil, []Option{WithLimiter("mine", nil)}, "the limiter adapter for mine: has no opener"},
		"not a scheme":      {nil, []Option{WithLimiter("my:", openLocalLimiter)}, `the limiter adapter has the scheme "my:"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := startApp(t, settings(t, c.change), role{name: "serve", serves: true}, c.options...)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestOverride_BuiltInScheme_IsReplaced(t *testing.T) {
	t.Parallel()
	opened := false
	_, err := startApp(t, settings(t, nil), role{name: "serve", serves: true}, Override(WithLimiter("memory", func(ctx context.Context, url string, d adapters.Deps) (limit.Limiter, error) {
		opened = true
		require.Equal(t, "memory:", url)
		require.NotNil(t, d.Tracer)
		d.Metrics.Gauge("acme_limits", "Limits.", func() float64 { return 1 })
		require.Equal(t, "http://localhost:8080", d.PublicURL)
		return openLocalLimiter(ctx, url, d)
	})))
	require.NoError(t, err)
	require.True(t, opened)
}

func TestOpen_OpenerIgnoresItsContext_StartEnds(t *testing.T) {
	t.Parallel()
	c := settings(t, func(c *config.Config) { c.Limiter.URL = "stuck:" })
	released := make(chan struct{})
	t.Cleanup(func() { close(released) })
	ctx, cancel := context.WithCancel(t.Context())
	begun := make(chan struct{})
	go func() { <-begun; cancel() }()
	a := newApp(ctx, c, newRegistry([]Option{WithLimiter("stuck", func(context.Context, string, adapters.Deps) (limit.Limiter, error) {
		close(begun)
		<-released
		return nil, nil
	})}), role{name: "serve", serves: true}, newDeps(c, newLogger(t.Output(), "error")).Log)
	require.ErrorContains(t, a.Start(ctx), "limiter.url (from default): the adapter was not opened: context canceled")
	stop, cancelStop := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancelStop()
	require.NoError(t, a.Stop(stop))
}
