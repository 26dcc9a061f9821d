package bootstrap_test

import (
	"context"
	"embed"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/developer"
	"github.com/locumhq/locum/adapters/gormdb"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/bootstrap"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/modules/billing"
)

// openCockroach is the storage of another team.
func openCockroach(_ context.Context, _ string, _ adapters.Deps) (adapters.Storage, error) {
	return adapters.Storage{}, errors.New("only an example")
}

// ExampleWithStorage is the main function of a program with another storage.
func ExampleWithStorage() {
	main := func() { bootstrap.Main(bootstrap.WithStorage("cockroach", openCockroach)) }
	_ = main
}

// ledger is the subscription storage of another team.
type ledger struct{ billing.Subscriptions }

// The README shows what is between the markers.

// begin module storage

func ExampleWithModuleStorage() {
	bootstrap.Main(bootstrap.WithModuleStorage("billing", "ledger", openLedger))
}

// openLedger stores subscriptions in a ledger, and the charges of billing in Postgres.
func openLedger(ctx context.Context, url string, deps adapters.Deps) (adapters.Storage, error) {
	s, err := gormdb.Open(ctx, "postgres"+strings.TrimPrefix(url, "ledger"), deps)
	if err != nil {
		return s, err
	}

	s.Billing.Subscriptions = ledger{s.Billing.Subscriptions}

	return s, nil
}

// end module storage

// gateway is the transport of another team.
type gateway struct {
	api       web.API
	admission web.Admission
}

func (g *gateway) Start(context.Context) error { return nil }

func (g *gateway) Shutdown(context.Context) error { return nil }

// begin transport

func ExampleWithTransport() {
	bootstrap.Main(bootstrap.WithTransport("gateway", openGateway))
}

// openGateway serves the developer interface over a protocol of another team.
func openGateway(_ context.Context, s adapters.Services, deps adapters.Deps) (adapters.Transport, error) {
	admission := web.Admission{Identity: s.Identity, Limiter: s.Limiter, Idempotency: s.Idempotency, Tracer: deps.Tracer}
	return &gateway{developer.API(s, deps.PublicURL), admission}, nil
}

// end transport

// migrations are embedded files.
var migrations embed.FS

// pins is the service of another team.
type pins struct{ bootstrap.ModuleDeps }

type pinPath struct {
	ID string `path:"id"`
}

func (pins) pin(context.Context, web.Call, pinPath) (web.Done, error) {
	return web.Message("Job pinned"), nil
}

func (pins) onAccountDeleted(context.Context, event.AccountDeleted) error { return nil }

// begin module

func ExampleWithModule() {
	bootstrap.Main(bootstrap.WithModule(bootstrap.Module{
		Name: "pins", Migrations: migrations,
		Routes: func(d bootstrap.ModuleDeps) []web.Route {
			return []web.Route{{Method: "PUT", Path: "/api/pins/:id", Auth: web.Required, Audience: web.Seeker, Summary: "Pin a job", Op: web.Op(pins{d}.pin)}}
		},
		Subscriptions: func(d bootstrap.ModuleDeps) []event.Subscription {
			return []event.Subscription{event.On("pins.account-deleted", pins{d}.onAccountDeleted)}
		},
	}))
}

// end module

// TestREADME_Code_IsTheExample checks that the code in the README is that of the examples, which
// is compiled, and that each example has at most 20 lines.
func TestREADME_Code_IsTheExample(t *testing.T) {
	t.Parallel()

	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)

	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)

	for name, example := range map[string]string{"module storage": "ExampleWithModuleStorage", "transport": "ExampleWithTransport", "module": "ExampleWithModule"} {
		_, code, _ := strings.Cut(string(source), "// begin "+name+"\n\n")
		code, _, _ = strings.Cut(code, "\n// end "+name)
		code = strings.Replace(code, "func "+example+"()", "func main()", 1)
		require.LessOrEqual(t, strings.Count(code, "\n"), 20, name)
		require.Contains(t, string(readme), "```go\n"+code+"```\n", name)
	}
}
