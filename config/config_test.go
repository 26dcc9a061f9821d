package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// writeSettings writes a file with the settings and returns its path.
func writeSettings(t *testing.T, yaml string) string {
	t.Helper()

	path := filepath.Join(t.TempDir(), "locum.yaml")
	require.NoError(t, os.WriteFile(path, []byte(yaml), 0o600))

	return path
}

// noPath is the path for Load if a test has no file: Load then reads locum.yaml only if it is in the working directory.
// In the directory of these tests, there is none.
const noPath = ""

// settingValue returns the value of a setting as it is displayed to operators.
func settingValue(t *testing.T, c *Config, key string) string {
	t.Helper()

	for _, setting := range c.Settings() {
		if setting.Key == key {
			return setting.Value
		}
	}

	require.Fail(t, "no such setting", key)

	return ""
}

// TestLoad_NoFileAndEnvironment_ReturnsDefaults checks that the service starts without any configuration: with a
// database in a file, and with "default" as the source of the value.
func TestLoad_NoFileAndEnvironment_ReturnsDefaults(t *testing.T) {
	t.Chdir(t.TempDir())

	c, err := Load(noPath)
	require.NoError(t, err)
	require.Equal(t, "sqlite:data/locum.db", c.Database.URL)
	require.Equal(t, "default", c.Source("database.url"))
}

// TestLoad_Environment_OverridesFile checks that a variable of the environment takes precedence over the file. It also
// checks the source of each value, which error messages name.
func TestLoad_Environment_OverridesFile(t *testing.T) {
	// The address of the database is in both, that of the server in the file, and that of the mail server in neither.
	path := writeSettings(t, "http:\n  addr: \":1\"\n  trusted_proxies: [10.0.0.0/8]\ndatabase:\n  url: sqlite:file.db\n")
	t.Setenv("LOCUM_DATABASE_URL", "sqlite:environment.db")

	c, err := Load(path)
	require.NoError(t, err)
	require.Equal(t, "sqlite:environment.db", c.Database.URL)
	require.Equal(t, ":1", c.HTTP.Addr)
	require.Equal(t, "LOCUM_DATABASE_URL", c.Source("database.url"))
	require.Equal(t, path, c.Source("http.addr"))
	require.Equal(t, "default", c.Source("mail.url"))
}

// TestLoad_ListInEnvironment_SplitsAtCommas checks that a variable with commas is read as a list of several values.
func TestLoad_ListInEnvironment_SplitsAtCommas(t *testing.T) {
	t.Setenv("LOCUM_HTTP_TRUSTED_PROXIES", "10.0.0.0/8,192.168.1.1")
	t.Setenv("LOCUM_AUTH_KEYS", "a.pem,b.pem")

	c, err := Load(noPath)
	require.NoError(t, err)
	require.Equal(t, []string{"a.pem", "b.pem"}, c.Auth.Keys)

	proxies, err := c.HTTP.Proxies()
	require.NoError(t, err)
	require.Len(t, proxies, 2, "a network and an address")
}

// TestLoad_InvalidValue_ErrorNamesKeyAndSource checks that the error of an invalid setting is
// one line with its key, the file or the variable that has the value, and the values that are
// allowed. The invalid value is either in a file with the YAML, or in the environment variable env.
func TestLoad_InvalidValue_ErrorNamesKeyAndSource(t *testing.T) {
	for name, test := range map[string]struct{ yaml, env, value, wantError string }{
		"an unknown key in the file": {yaml: "database:\n  ulr: x\n", wantError: "unknown key"},
		"an unknown variable":        {env: "LOCUM_DATABASE_ULR", value: "x", wantError: "LOCUM_DATABASE_ULR: no such setting"},
		"an address without a scheme": {
			env:       "LOCUM_DATABASE_URL",
			value:     "nonsense",
			wantError: "database.url (from LOCUM_DATABASE_URL): want",
		},
		"a proxy that is no network": {
			env:       "LOCUM_HTTP_TRUSTED_PROXIES",
			value:     "10.0.0.0/99",
			wantError: "http.trusted_proxies (from LOCUM_HTTP_TRUSTED_PROXIES)",
		},
		"a public address with a path": {yaml: "http:\n  public_url: http://a/b\n", wantError: "http.public_url (from "},
		"a wrong type":                 {yaml: "webhooks:\n  allow_private_networks: perhaps\n", wantError: "allow_private_networks"},
		"a text instead of a boolean in the environment": {
			env:       "LOCUM_WEBHOOKS_ALLOW_PRIVATE_NETWORKS",
			value:     "perhaps",
			wantError: "webhooks.allow_private_networks (from LOCUM_WEBHOOKS_ALLOW_PRIVATE_NETWORKS): want true or false",
		},
		"replicas of another database": {
			env:       "LOCUM_DATABASE_REPLICA_URLS",
			value:     "postgres://a/b",
			wantError: "database.replica_urls (from LOCUM_DATABASE_REPLICA_URLS)",
		},
		"few connections for replicas": {
			yaml:      "database:\n  url: postgres://a/b\n  max_connections: 5\n  replica_urls: [postgres://c/b]\n",
			wantError: "want a number of at least 6 (replicas: 1)",
		},
		"a file that is no YAML": {yaml: "\t: [", wantError: "cannot be read"},
		"an unknown log level":   {env: "LOCUM_LOG_LEVEL", value: "loud", wantError: "log.level"},
		"a port above the maximum": {
			env:       "LOCUM_QUEUE_URL",
			value:     "redis://nohost:99999",
			wantError: "queue.url (from LOCUM_QUEUE_URL): want a port from 1 to 65535",
		},
		"port 0": {
			env:       "LOCUM_LIMITER_URL",
			value:     "redis://u:p@nohost:0/1",
			wantError: "limiter.url (from LOCUM_LIMITER_URL): want a port",
		},
		"an invalid port among several": {
			env:       "LOCUM_QUEUE_URL",
			value:     "redis-cluster://a:7000,b:70000",
			wantError: "queue.url (from LOCUM_QUEUE_URL): want a port",
		},
		"an invalid port of a database": {
			env:       "LOCUM_DATABASE_URL",
			value:     "postgres://u:p@[::1]:65536/db",
			wantError: "database.url (from LOCUM_DATABASE_URL): want a port",
		},
		"an invalid port of a mail server": {
			env:       "LOCUM_MAIL_URL",
			value:     "smtp://mail:x",
			wantError: "mail.url (from LOCUM_MAIL_URL): want a port",
		},
		"a password with a slash": {
			env:       "LOCUM_DATABASE_URL",
			value:     "postgres://u:hun/ter2@db/locum",
			wantError: "special characters in a password are written as %XX",
		},
		"a duration without unit": {
			env:       "LOCUM_LIMITS_SEARCH_TIMEOUT",
			value:     "5",
			wantError: "limits.search_timeout (from LOCUM_LIMITS_SEARCH_TIMEOUT): want a duration",
		},
		"a retention too short": {
			env:       "LOCUM_RETENTION_TASKS",
			value:     "1h",
			wantError: "retention.tasks (from LOCUM_RETENTION_TASKS): want at least 24h",
		},
		"a text instead of a duration": {
			env:       "LOCUM_LIMITS_SEARCH_TIMEOUT",
			value:     "soon",
			wantError: "limits.search_timeout (from LOCUM_LIMITS_SEARCH_TIMEOUT): want a duration",
		},
		"a text instead of a number": {
			env:       "LOCUM_LIMITS_SEARCH_CPU",
			value:     "much",
			wantError: "limits.search_cpu (from LOCUM_LIMITS_SEARCH_CPU): want a number",
		},
		"no memory for bodies": {
			env:       "LOCUM_LIMITS_BODY_MEMORY",
			value:     "0",
			wantError: "limits.body_memory (from LOCUM_LIMITS_BODY_MEMORY): want a number of MiB",
		},
		"a server address without colon": {env: "LOCUM_HTTP_ADDR", value: "8080", wantError: "http.addr"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.env != "" {
				t.Setenv(test.env, test.value)
			}

			_, err := Load(writeSettings(t, test.yaml))
			require.ErrorContains(t, err, test.wantError)
			require.NotContains(t, err.Error(), "\n", "the error is one line")
		})
	}

	_, err := Load("/does/not/exist.yaml")
	require.Error(t, err, "a file that is named must exist")
}

// TestSettings_Secrets_AreMasked checks that the list of settings, which operators copy into
// reports, contains no password and no key. "hunter2" is every secret in these tests.
func TestSettings_Secrets_AreMasked(t *testing.T) {
	t.Setenv("LOCUM_DATABASE_URL", "postgres://locum:hunter2@db/locum")
	t.Setenv("LOCUM_LIMITER_URL", "redis://:hunter2@cache:6379/0")
	t.Setenv("LOCUM_MAIL_URL", "smtps://locum:hunter2@mail.example.org")
	t.Setenv("LOCUM_PAYMENTS_STRIPE_KEY", "hunter2")
	t.Setenv("LOCUM_PAYMENTS_WEBHOOK_SECRETS", "hunter2,hunter2b")

	c, err := Load(noPath)
	require.NoError(t, err)

	for _, setting := range c.Settings() {
		require.NotContains(t, setting.Value, "hunter2", setting.Key)
	}
}

// TestSettings_URL_SecretsAreMasked checks that passwords are masked in valid URLs, in URLs with
// unescaped characters in the password, and in connection strings of other formats. What cannot
// be parsed is masked as a whole. Each value of database.url has the text that is displayed instead.
func TestSettings_URL_SecretsAreMasked(t *testing.T) {
	for value, wantDisplayed := range map[string]string{
		"sqlite:data/locum.db":      "sqlite:data/locum.db",
		"file:data/mail":            "file:data/mail",
		"embedded:":                 "embedded:",
		"redis://cache:6379/0":      "redis://cache:6379/0",
		"postgres://locum@db/locum": "postgres://locum@db/locum",
		"postgres://locum:hunter2@db/locum?sslmode=require": "postgres://locum:***@db/locum?sslmode=require",
		"postgres://db/locum?password=hunter2&sslmode=off":  "postgres://db/locum?password=***&sslmode=off",
		"postgres://db/locum?p%61ssword=hunter2":            "postgres://db/locum?p%61ssword=***",
		"postgres://u:hunter2@a:1,b:2/db":                   "postgres://u:***@a:1,b:2/db",
		"redis://u:12/hunter2@r":                            "redis://u:***@r",
		"redis://u:12#hunter2@r":                            "redis://u:***@r",
		"redis://u:12?hunter2@r":                            "redis://u:***@r",
		"redis://:hunter2/x@r":                              "redis:***",
		"host=h password=hunter2":                           "***",
		"postgres:host=h password=hunter2":                  "postgres:***",
		"host=h:1 password=hunter2":                         "***",
		"hunter2":                                           "***",
		"stripe:hunter2":                                    "stripe:***",
	} {
		c := Default()
		c.Database.URL = value
		require.Equal(t, wantDisplayed, settingValue(t, &c, "database.url"), value)
	}
}

// TestSettings_ListOfURLs_SecretsAreMasked checks that each URL of a list is masked, although
// its hosts and its password may contain commas, too. Load refuses replicas of a database that is not PostgreSQL,
// as the default one is, and returns the configuration together with the error.
func TestSettings_ListOfURLs_SecretsAreMasked(t *testing.T) {
	for value, wantDisplayed := range map[string]string{
		"postgres://u:hunter2@r/db,postgres://u:hunter2@r2/db":     "postgres://u:***@r/db,postgres://u:***@r2/db",
		"postgres://u:hunter2@a,b/db,postgres://v:12,hunter2@r/db": "postgres://u:***@a,b/db,postgres://v:***@r/db",
		"host=a password=hunter2,postgres://u:hunter2@r/db":        "***,postgres://u:***@r/db",
		"hunter2": "***",
	} {
		t.Setenv("LOCUM_DATABASE_REPLICA_URLS", value)

		c, err := Load(noPath)
		require.ErrorContains(t, err, "database.replica_urls", value)
		require.NotContains(t, err.Error(), "hunter2")
		require.Equal(t, wantDisplayed, settingValue(t, c, "database.replica_urls"), value)
	}
}

// TestLoad_Error_ContainsNoSecret checks that no error of an invalid setting contains a secret,
// wherever it is in the value. Some of the values are valid for some of the variables; there is no error then.
func TestLoad_Error_ContainsNoSecret(t *testing.T) {
	for _, key := range []string{
		"LOCUM_DATABASE_URL", "LOCUM_QUEUE_URL", "LOCUM_LIMITER_URL", "LOCUM_MAIL_URL",
		"LOCUM_FILES_URL", "LOCUM_PAYMENTS_URL", "LOCUM_TRACING_URL", "LOCUM_HTTP_PUBLIC_URL",
	} {
		for _, value := range []string{
			"host=h password=hunter2", "redis://u:hunter2/x@h", "postgres://u:hunter2%zz@h/db",
			"smtp://u:hunter2@h:99999", "http://u:hunter2@h",
		} {
			t.Run(key+" "+value, func(t *testing.T) {
				t.Setenv(key, value)

				c, err := Load(noPath)
				if err != nil {
					require.NotContains(t, err.Error(), "hunter2")
				}

				for _, setting := range c.Settings() {
					require.NotContains(t, setting.Value, "hunter2", setting.Key)
				}
			})
		}
	}

	// Secrets at a wrong place in a file, or instead of a value of another type.
	for _, yaml := range []string{
		"database: postgres://u:hunter2@h/db\n",
		"database:\n  url: [\"postgres://u:hunter2@h/db\"]\n",
		"database:\n  url: {a: \"hunter2\"}\n", "hunter2\n", "payments:\n  stripe_key: [hunter2]\n",
		"database:\n  replica_urls: {a: hunter2}\n",
		"webhooks:\n  allow_private_networks: hunter2\n",
	} {
		_, err := Load(writeSettings(t, yaml))
		require.Error(t, err, yaml)
		require.NotContains(t, err.Error(), "hunter2", yaml)
	}
}

// TestHosts_URLWithSecrets_ReturnsServers checks the part of a URL that logs may contain: its servers with their ports.
// The ports of all these URLs are valid.
func TestHosts_URLWithSecrets_ReturnsServers(t *testing.T) {
	for address, wantHosts := range map[string]string{
		"redis://u:p@h:6379/0":                   "h:6379",
		"redis-sentinel://a:1,b:2?master_name=m": "a:1,b:2",
		"postgres://u:p@[::1]/db":                "[::1]",
		"postgres:///db?host=/run":               "",
		"sqlite:data/locum.db":                   "",
		"smtps://mail.example.org":               "mail.example.org",
	} {
		require.Equal(t, wantHosts, Hosts(address), address)

		portError := checkPorts(address)
		require.Empty(t, portError, address)
	}
}
