// Package config defines the configuration: a typed tree with defaults, which a file and
// the environment override. The source of every value is recorded, so that errors can
// name it.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"
)

// Config is the configuration. Every port to an external system has a URL, whose scheme
// selects the adapter.
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
	// DataFolder is the folder of files of adapters.
	DataFolder string `mapstructure:"data_folder"`

	sources map[string]string
}

// HTTP configures the server.
type HTTP struct {
	Addr      string `mapstructure:"addr"`
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
	// The URLs of modules that are stored in separate databases. If the URL of a module is
	// empty, the module is stored in the database of URL.
	IdentityURL     string `mapstructure:"identity_url"`
	ListingsURL     string `mapstructure:"listings_url"`
	HiringURL       string `mapstructure:"hiring_url"`
	JobseekerURL    string `mapstructure:"jobseeker_url"`
	BillingURL      string `mapstructure:"billing_url"`
	IntegrationsURL string `mapstructure:"integrations_url"`
	// MaxConnections is the maximum number of connections of a process to each database,
	// with its replicas.
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
	// Vocabulary is a file that extends or overrides the built-in vocabulary.
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
	URL  string `mapstructure:"url"`
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
	// URL is sandbox: or stripe:.
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

// MCP configures the server of the Model Context Protocol at /mcp.
type MCP struct {
	// Enabled enables it.
	Enabled bool `mapstructure:"enabled"`
}

// Webhooks configures deliveries.
type Webhooks struct {
	AllowPrivateNetworks bool `mapstructure:"allow_private_networks"`
}

// Retention is how long rows of finished work are stored.
type Retention struct {
	// Events applies to relayed events.
	Events time.Duration `mapstructure:"events"`
	// Tasks applies to completed tasks. Dead tasks are stored for 90 days longer.
	Tasks time.Duration `mapstructure:"tasks"`
}

// Tracing configures where traces are sent.
type Tracing struct {
	URL string `mapstructure:"url"`
}

// Log configures the log.
type Log struct {
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

const envPrefix = "LOCUM_"

// Load reads the file (path, else LOCUM_CONFIG, else locum.yaml in the working directory
// if it exists) and the environment, which takes precedence.
func Load(path string) (*Config, error) {
	v := viper.NewWithOptions(viper.EnvKeyReplacer(strings.NewReplacer(".", "_")))
	v.SetEnvPrefix("LOCUM")
	v.AutomaticEnv()
	c := Default()
	// Viper reads environment variables only for keys with a default or a value in the file.
	for _, l := range leaves(reflect.ValueOf(c), "") {
		v.SetDefault(l.key, l.value.Interface())
	}
	file, err := readFile(v, path)
	if err != nil {
		return nil, err
	}
	if err := rejectUnknownVariables(&c); err != nil {
		return nil, err
	}
	c.sources = map[string]string{}
	for _, l := range leaves(reflect.ValueOf(c), "") {
		switch env := envName(l.key); {
		case os.Getenv(env) != "":
			c.sources[l.key] = env
		case v.InConfig(l.key):
			c.sources[l.key] = file
		default:
			c.sources[l.key] = "default"
		}
	}
	if err := v.UnmarshalExact(&c, func(d *mapstructure.DecoderConfig) {
		d.ZeroFields = true
		d.DecodeHook = mapstructure.ComposeDecodeHookFunc(mapstructure.StringToSliceHookFunc(","), mapstructure.StringToTimeDurationHookFunc())
	}); err != nil {
		return nil, c.userMessage(err, cmp.Or(file, "the environment"))
	}
	return &c, c.validate()
}

func readFile(v *viper.Viper, path string) (string, error) {
	path = cmp.Or(path, os.Getenv("LOCUM_CONFIG"))
	named := path != ""
	if !named {
		path = "locum.yaml"
	}
	v.SetConfigFile(path)
	v.SetConfigType("yaml")
	err := v.ReadInConfig()
	if !named && errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		// The parser quotes invalid values.
		text := quotedValue.ReplaceAllString(strings.ReplaceAll(err.Error(), "\n", " "), "a value")
		return "", fmt.Errorf("%s: cannot be read as a configuration: %s", path, text)
	}
	return path, nil
}

// quotedValue matches a value in an error of the parser.
var quotedValue = regexp.MustCompile("`[^`]*`")

// rejectUnknownVariables returns an error for a misspelled LOCUM_ variable, which would
// otherwise be ignored.
func rejectUnknownVariables(c *Config) error {
	knownNames := map[string]bool{"LOCUM_CONFIG": true}
	for _, l := range leaves(reflect.ValueOf(*c), "") {
		knownNames[envName(l.key)] = true
	}
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, envPrefix) && !strings.HasPrefix(name, "LOCUM_TEST_") && !knownNames[name] {
			return fmt.Errorf("%s: no such setting; `locum config` lists them", name)
		}
	}
	return nil
}

// wrongTypeError matches the decoder's errors for values of another type.
var wrongTypeError = regexp.MustCompile(
	`'([a-z0-9_.]+)' (?:cannot parse value as '|expected type '|time: unknown |time: missing |time: invalid )([a-z0-9]+)`,
)

// userMessage returns a decoder's error in one line, with the key and the expected value.
func (c *Config) userMessage(err error, source string) error {
	text := err.Error()
	if _, keys, ok := strings.Cut(text, "invalid keys: "); ok {
		keys, _, _ = strings.Cut(keys, "\n")
		return fmt.Errorf("%s: unknown key %s; `locum config` lists the keys there are", source, keys)
	}
	if match := wrongTypeError.FindStringSubmatch(text); match != nil {
		expected := map[string]string{
			"bool":     "want true or false",
			"int":      "want a whole number",
			"int64":    "want a whole number",
			"string":   "want a text",
			"float64":  "want a number",
			"duration": "want a duration such as 5s",
			"unit":     "want a duration with its unit, such as 5s",
		}
		return c.Err(match[1], cmp.Or(expected[match[2]], "want a "+match[2]))
	}
	return fmt.Errorf("%s: %s", source, strings.ReplaceAll(strings.TrimSpace(text), "\n", " "))
}

// Err returns the error for an invalid value. It contains the key, the source of the value and
// the expected value.
func (c *Config) Err(key, expected string) error {
	return fmt.Errorf("%s (from %s): %s", key, c.Source(key), expected)
}

// Source returns the source of a key's value: default, a file's path or an environment
// variable.
func (c *Config) Source(key string) string { return cmp.Or(c.sources[key], "default") }

func (c *Config) validate() error {
	u, err := url.Parse(c.HTTP.PublicURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Path != "" && u.Path != "/" {
		return c.Err("http.public_url", "want http://HOST or https://HOST, without a user and a path")
	}
	c.HTTP.PublicURL = strings.TrimSuffix(c.HTTP.PublicURL, "/")
	if _, err := c.HTTP.Proxies(); err != nil {
		return c.Err("http.trusted_proxies", err.Error())
	}
	for _, origin := range c.HTTP.CORSOrigins {
		if !isOrigin(origin) {
			return c.Err("http.cors_origins", "want origins such as https://jobs.example.org, without a path")
		}
	}
	for _, l := range leaves(reflect.ValueOf(*c), "") {
		optional := strings.HasPrefix(l.key, "database.") && l.key != "database.url"
		if !strings.HasSuffix(l.key, "url") || l.key == "http.public_url" || optional && l.value.IsZero() {
			continue
		}
		if err := c.checkAddress(l.key, l.value.String()); err != nil {
			return err
		}
	}
	for _, rule := range []struct {
		isInvalid bool
		key, want string
	}{
		{!strings.Contains(c.HTTP.Addr, ":"), "http.addr", "want HOST:PORT or :PORT"},
		{c.HTTP.Drain < 0 || c.HTTP.Drain > 10*time.Minute, "http.drain", "want a duration from 0s to 10m, such as 5s"},
		{c.HTTP.MetricsAddr != "" && !strings.Contains(c.HTTP.MetricsAddr, ":"), "http.metrics_addr", "want HOST:PORT or :PORT"},
		{c.Limits.BodyMemory < 1, "limits.body_memory", "want a number of MiB of at least 1"},
		{!(c.Limits.SearchCPU >= 0), "limits.search_cpu", "want seconds of at least 0"}, // also for NaN
		{
			c.Limits.SearchTimeout < 10*time.Millisecond || c.Limits.SearchTimeout > time.Minute,
			"limits.search_timeout",
			"want a duration from 10ms to 1m, such as 1s",
		},
		{len(c.Auth.Keys) == 0, "auth.keys", "want at least one key file or folder"},
		// With a shorter time an event that is relayed late could be handled twice.
		{c.Retention.Events < 24*time.Hour, "retention.events", "want at least 24h"},
		{c.Retention.Tasks < 24*time.Hour, "retention.tasks", "want at least 24h"},
		{!slices.Contains([]string{"debug", "info", "warn", "error"}, c.Log.Level), "log.level", "want debug, info, warn or error"},
	} {
		if rule.isInvalid {
			return c.Err(rule.key, rule.want)
		}
	}
	if err := c.validateModeration(); err != nil {
		return err
	}
	if err := c.validateSite(); err != nil {
		return err
	}
	return c.validateDatabase()
}

// isOrigin reports whether the text is the origin of an HTTP URL: its scheme and host.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && !strings.ContainsAny(u.Host, "; ,'*") &&
		text == u.Scheme+"://"+u.Host
}

func (c *Config) validateDatabase() error {
	d := c.Database
	kind, _, _ := strings.Cut(d.URL, ":")
	for _, replica := range d.ReplicaURLs {
		if err := c.checkAddress("database.replica_urls", replica); err != nil {
			return err
		}
		if scheme, _, _ := strings.Cut(replica, ":"); scheme != kind {
			return c.Err("database.replica_urls", "want replicas of database.url, with the same scheme")
		}
	}
	switch {
	case d.MaxConnections < d.minConnections() && len(d.ReplicaURLs) > 0:
		return c.Err(
			"database.max_connections",
			fmt.Sprintf("want a number of at least %d (replicas: %d)", d.minConnections(), len(d.ReplicaURLs)),
		)
	case d.MaxConnections < d.minConnections():
		return c.Err("database.max_connections", fmt.Sprintf("want a number of at least %d", d.minConnections()))
	case d.Pooler != "" && d.Pooler != "transaction":
		return c.Err("database.pooler", "want transaction, or nothing without a pooler")
	case d.DirectURL != "" && d.Pooler == "":
		return c.Err("database.direct_url", "is for database.pooler; remove one of them or set both")
	}
	return nil
}

func (c *Config) checkAddress(key, value string) error {
	if scheme, _, ok := strings.Cut(value, ":"); !ok || scheme == "" {
		return c.Err(key, "want an address that begins with a scheme and a colon")
	}
	if wrong := checkPorts(value); wrong != "" {
		return c.Err(key, wrong)
	}
	return nil
}

// minConnections returns the smallest valid value of MaxConnections.
func (d Database) minConnections() int {
	if n := len(d.ReplicaURLs); n > 0 {
		// Three for the primary, one that measures the lag of replicas, and two for each replica.
		minimum := 3 + 1 + 2*n
		if d.DirectURL != "" {
			minimum += 2
		}
		return minimum
	}
	return 3
}

// ModuleURLs returns the URLs of separate databases by module, empty for modules without
// one.
func (d Database) ModuleURLs() map[string]string {
	return map[string]string{
		"identity": d.IdentityURL, "listings": d.ListingsURL, "hiring": d.HiringURL,
		"jobseeker": d.JobseekerURL, "billing": d.BillingURL, "integrations": d.IntegrationsURL,
	}
}

// Proxies returns the trusted networks; a single address is a network of one.
func (h HTTP) Proxies() ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, s := range h.TrustedProxies {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		if a, err := netip.ParseAddr(s); err == nil {
			out = append(out, netip.PrefixFrom(a, a.BitLen()))
			continue
		}
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, fmt.Errorf("%q is neither an address nor a network like 10.0.0.0/8", s)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

type leaf struct {
	key   string
	value reflect.Value
}

func leaves(v reflect.Value, prefix string) (out []leaf) {
	for field, value := range v.Fields() {
		name, tagged := field.Tag.Lookup("mapstructure")
		switch {
		case !tagged:
		case field.Type.Kind() == reflect.Struct:
			out = append(out, leaves(value, prefix+name+".")...)
		default:
			out = append(out, leaf{prefix + name, value})
		}
	}
	return out
}

func envName(key string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}
