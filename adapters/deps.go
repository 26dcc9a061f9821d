package adapters

import (
	"context"
	"io"
	"io/fs"
	"log/slog"

	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/metrics"
	"github.com/locumhq/locum/core/trace"
)

// Deps are the dependencies and settings of every adapter. All fields are set.
type Deps struct {
	Clock clock.Clock
	NewID id.Source
	Log   *slog.Logger
	// Tracer starts spans. Spans that a tracer starts while it is opened are discarded.
	Tracer trace.Tracer
	// Metrics are served at /metrics with those of the service.
	Metrics metrics.Registry
	// PublicURL is the address of the service without a trailing slash.
	PublicURL string
	// DataFolder is the folder for files that an adapter keeps between runs. It may
	// not exist yet.
	DataFolder string
	// Payments are settings for payment providers.
	Payments PaymentSettings
	// Database are settings for storage adapters.
	Database DatabaseSettings
	// Modules are the modules that a storage adapter is opened for, in lower case.
	// It is empty for other adapters.
	Modules []string
}

// PaymentSettings are settings for payment providers, which are secret except for the
// publishable key. An adapter ignores those that it does not use.
type PaymentSettings struct {
	SecretKey      string
	PublishableKey string
	// WebhookSecrets verify the webhooks of the provider. There are two during a rotation.
	WebhookSecrets []string
}

// DatabaseSettings are settings for storage adapters. An adapter ignores those that it
// does not use.
type DatabaseSettings struct {
	// MaxConnections is the maximum number of connections of the process to a database
	// server.
	MaxConnections int
	// TransactionPooler is set if the URL leads to a connection pooler, such as PgBouncer,
	// that assigns a connection for one transaction: prepared statements and session state
	// cannot be used.
	TransactionPooler bool
	// DirectURL is the URL of the database behind the pooler, empty without a pooler.
	DirectURL string
	// ReplicaURLs are read replicas of the database. An adapter without support for
	// them returns an error. Only reads that tx.AllowStale permits may use them.
	ReplicaURLs []string
	// Migrations maps added modules to their migrations, if this database stores their
	// tables. An adapter for SQL databases includes them in its Schema. Their names begin
	// with the name of the module and a slash.
	Migrations map[string]fs.FS
}

// Closer is implemented by adapters that hold connections, files or goroutines.
// Close is called once, after everything that uses the adapter has stopped.
type Closer = io.Closer

// Pinger is implemented by limiters, queues, mailers, stores of files, payment
// providers and transports that can be unavailable. Ping returns an error while the adapter cannot be
// used. It is called by /readyz, with a context of a second, and for the limiter and
// the queue at the start.
type Pinger interface {
	Ping(ctx context.Context) error
}

// Degrader is implemented by limiters that count in the process while their backend is
// unavailable. Degraded reports that state; it does not block. It is called for limiters
// only.
type Degrader interface {
	Degraded() bool
}
