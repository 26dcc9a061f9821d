// Package config defines the configuration: a typed tree with defaults, which a file and
// the environment override. The source of every value is recorded, so that errors can
// name it.
package config

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// Config is the configuration. Every external system, such as the database or the mail server, has a
// URL. The scheme of the URL selects the adapter for the system.
type Config struct {
	HTTP       HTTP       `mapstructure:"http"`
	Database   Database   `mapstructure:"database"`
	Search     Search     `mapstructure:"search"`
	Queue      Queue      `mapstructure:"queue"`
	Limiter    Limiter    `mapstructure:"limiter"`
	Limits     Limits     `mapstructure:"limits"`
	Mail       Mail       `mapstructure:"mail"`
	Files      Files      `mapstructure:"files"`
	Payments   Payments   `mapstructure:"payments"`
	Auth       Auth       `mapstructure:"auth"`
	MCP        MCP        `mapstructure:"mcp"`
	Site       Site       `mapstructure:"site"`
	Moderation Moderation `mapstructure:"moderation"`
	Webhooks   Webhooks   `mapstructure:"webhooks"`
	// Retention is how long rows of finished work are stored.
	Retention Retention `mapstructure:"retention"`
	Tracing   Tracing   `mapstructure:"tracing"`
	Log       Log       `mapstructure:"log"`
	// DataFolder is the folder for files that adapters keep between runs.
	DataFolder string `mapstructure:"data_folder"`

	sources map[string]string // of each value, by key: a file, an environment variable or "default"
}

// HTTP configures the server.
type HTTP struct {
	// Addr is HOST:PORT or :PORT, on which the server listens.
	Addr string `mapstructure:"addr"`
	// PublicURL is the URL under which users reach the service, without a path.
	PublicURL string `mapstructure:"public_url"`
	// TrustedProxies are the networks whose X-Forwarded-For header is trusted.
	TrustedProxies []string `mapstructure:"trusted_proxies"`
	// CORSOrigins are the origins whose pages may call the portal API, such as
	// https://jobs.example.org.
	CORSOrigins []string `mapstructure:"cors_origins"`
	// MetricsAddr is a separate address for /metrics. If it is empty, the HTTP server serves
	// them.
	MetricsAddr string `mapstructure:"metrics_addr"`
	// Drain is how long the server continues to respond during a shutdown, after it became
	// unready. Load balancers stop sending requests in this time.
	Drain time.Duration `mapstructure:"drain"`
}

// Database configures where the modules are stored.
type Database struct {
	// URL is sqlite:PATH, postgres://… or mysql://… for MariaDB.
	URL string `mapstructure:"url"`
	// IdentityURL and the other URLs of modules are for modules that are stored in separate
	// databases. If the URL of a module is empty, the module is stored in the database of URL.
	IdentityURL     string `mapstructure:"identity_url"`
	ListingsURL     string `mapstructure:"listings_url"`
	HiringURL       string `mapstructure:"hiring_url"`
	JobseekerURL    string `mapstructure:"jobseeker_url"`
	BillingURL      string `mapstructure:"billing_url"`
	IntegrationsURL string `mapstructure:"integrations_url"`
	// MaxConnections is the maximum number of connections of a process to each database, including
	// those to its replicas.
	MaxConnections int `mapstructure:"max_connections"`
	// Pooler is "transaction" if URL leads to a pooler, such as PgBouncer, in transaction
	// mode. Otherwise it is empty.
	Pooler string `mapstructure:"pooler"`
	// DirectURL is the URL of the database behind the pooler, for migrations and
	// notifications. Without it, processes poll every second for changes of other processes.
	DirectURL string `mapstructure:"direct_url"`
	// ReplicaURLs are read replicas of URL, for reads that may be a second old.
	ReplicaURLs []string `mapstructure:"replica_urls"`
}

// Search configures the search engine.
type Search struct {
	// URL is embedded:FOLDER for an index in files of the serving process, or embedded: for
	// an index in memory, which is built at each start.
	URL string `mapstructure:"url"`
	// Vocabulary is a file that extends or overrides the built-in vocabulary: the terms that a
	// search understands.
	Vocabulary string `mapstructure:"vocabulary"`
}

// Queue configures the queue of background tasks.
type Queue struct {
	// URL is embedded: for a queue in the memory of the serving process, or redis://…, as
	// described in package redisurl.
	URL string `mapstructure:"url"`
}

// Limiter configures rate limits.
type Limiter struct {
	// URL is memory: for counts in each process, or redis://…, as for the queue.
	URL string `mapstructure:"url"`
}

// Limits bound the resources that clients can use.
type Limits struct {
	// BodyMemory is the maximum memory for the bodies of all current requests, in MiB. When
	// it is used up, requests are rejected with 503.
	BodyMemory int `mapstructure:"body_memory"`
	// SearchCPU is the number of seconds that the searches of one network (/24 or /64)
	// may take in 10 s, 0 for no limit. Further searches are rejected with 429.
	SearchCPU float64 `mapstructure:"search_cpu"`
	// SearchTimeout is the time limit for a search, including the wait for other
	// searches.
	SearchTimeout time.Duration `mapstructure:"search_timeout"`
}

// Mail configures how e-mails are sent.
type Mail struct {
	// URL is file:DIRECTORY, or smtp:// or smtps:// with user, password and host.
	URL string `mapstructure:"url"`
	// From is the sender of all e-mails, such as locum <no-reply@example.org>.
	From string `mapstructure:"from"`
	// Templates is a folder with letter.txt, letter.html or both, in place of the default
	// templates of e-mails.
	Templates string `mapstructure:"templates"`
}

// Files configures where documents are stored.
type Files struct {
	// URL is file:FOLDER, or s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION with
	// credentials from the environment.
	URL string `mapstructure:"url"`
}

// Payments configures the payment provider.
type Payments struct {
	// URL is sandbox: for payments that are only simulated, or stripe:.
	URL string `mapstructure:"url"`
	// StripeKey is the secret or restricted key of the account (sk_… or rk_…).
	StripeKey string `mapstructure:"stripe_key"`
	// PublishableKey is the public key of the account, for the client library (pk_…).
	PublishableKey string `mapstructure:"publishable_key"`
	// WebhookSecrets verify the webhooks of the provider (whsec_…). There are two during a
	// rotation. Without a secret, webhooks are rejected and results are polled.
	WebhookSecrets []string `mapstructure:"webhook_secrets"`
}

// Auth configures authentication.
type Auth struct {
	// Keys are files, or folders of files, with the keys that sign access tokens. On the
	// first start a key is created in a folder without keys.
	Keys []string `mapstructure:"keys"`
}

// MCP configures the server of the Model Context Protocol.
type MCP struct {
	// Enabled is whether the server is offered, at /mcp.
	Enabled bool `mapstructure:"enabled"`
}

// Webhooks configures deliveries.
type Webhooks struct {
	// AllowPrivateNetworks permits receivers with addresses that are not on the public internet.
	AllowPrivateNetworks bool `mapstructure:"allow_private_networks"`
}

// Retention is how long rows of finished work are stored.
type Retention struct {
	// Events applies to events for which all tasks have been created.
	Events time.Duration `mapstructure:"events"`
	// Tasks applies to completed tasks. Dead tasks are stored for 90 days longer.
	Tasks time.Duration `mapstructure:"tasks"`
}

// Tracing configures where traces are sent.
type Tracing struct {
	// URL is off:, or otlp+http:// or otlp+https:// for an OpenTelemetry collector.
	URL string `mapstructure:"url"`
}

// Log configures the log.
type Log struct {
	// Level is the lowest level that is logged: debug, info, warn or error.
	Level string `mapstructure:"level"`
}

// Default returns the configuration for one process that stores everything in one SQLite file
// and needs no other servers.
func Default() Config {
	return Config{
		HTTP: HTTP{
			Addr:           ":8080",
			PublicURL:      "http://localhost:8080",
			TrustedProxies: []string{},
			CORSOrigins:    []string{},
			Drain:          5 * time.Second,
		},
		Database:   Database{URL: "sqlite:data/locum.db", MaxConnections: 10, ReplicaURLs: []string{}},
		Search:     Search{URL: "embedded:data/search"},
		Queue:      Queue{URL: "embedded:"},
		Limiter:    Limiter{URL: "memory:"},
		Limits:     Limits{BodyMemory: 192, SearchCPU: 5, SearchTimeout: time.Second},
		Mail:       Mail{URL: "file:data/mail", From: "locum <no-reply@localhost>"},
		Files:      Files{URL: "file:data/files"},
		Payments:   Payments{URL: "sandbox:", WebhookSecrets: []string{}},
		Auth:       Auth{Keys: []string{"data/keys"}},
		MCP:        MCP{Enabled: true},
		Moderation: Moderation{NewOrganizations: PublishNew},
		Site:       Site{Enabled: true, Name: "locum", Links: []string{}, EmbedOrigins: []string{}},
		Retention:  Retention{Events: 7 * 24 * time.Hour, Tasks: 3 * 24 * time.Hour},
		Tracing:    Tracing{URL: "off:"},
		Log:        Log{Level: "info"},

		DataFolder: "data",
	}
}

// ModuleURLs returns the URLs of separate databases by module, empty for modules without
// one.
func (d Database) ModuleURLs() map[string]string {
	return map[string]string{
		"identity":     d.IdentityURL,
		"listings":     d.ListingsURL,
		"hiring":       d.HiringURL,
		"jobseeker":    d.JobseekerURL,
		"billing":      d.BillingURL,
		"integrations": d.IntegrationsURL,
	}
}

// Proxies parses TrustedProxies. A single address counts as the network with this address only.
func (h HTTP) Proxies() ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for _, text := range h.TrustedProxies {
		text = strings.TrimSpace(text)
		if text == "" { // after a trailing comma in the environment, which is no error
			continue
		}

		if address, err := netip.ParseAddr(text); err == nil {
			networks = append(networks, netip.PrefixFrom(address, address.BitLen()))
			continue
		}

		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%q is neither an address nor a network like 10.0.0.0/8", text)
		}

		networks = append(networks, network.Masked())
	}

	return networks, nil
}
