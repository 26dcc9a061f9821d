package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// write returns the path of a file with the settings.
func write(t *testing.T, yaml string) string {
	t.Helper()

	path := filepath.Join(t.TempDir(), "locum.yaml")
	require.NoError(t, os.WriteFile(path, []byte(yaml), 0o600))

	return path
}

func TestLoad_NoFileAndEnvironment_ReturnsDefaults(t *testing.T) {
	t.Chdir(t.TempDir())

	c, err := Load("")
	require.NoError(t, err)
	require.Equal(t, "sqlite:data/locum.db", c.Database.URL)
	require.Equal(t, "default", c.Source("database.url"))
}

// TestLoad_Environment_OverridesFile checks the order of precedence, and that each setting knows
// its source, which error messages name.
func TestLoad_Environment_OverridesFile(t *testing.T) {
	path := write(t, "http:\n  addr: \":1\"\n  trusted_proxies: [10.0.0.0/8]\ndatabase:\n  url: sqlite:a.db\n")
	t.Setenv("LOCUM_DATABASE_URL", "sqlite:b.db")

	c, err := Load(path)
	require.NoError(t, err)
	require.Equal(t, "sqlite:b.db", c.Database.URL)
	require.Equal(t, ":1", c.HTTP.Addr)
	require.Equal(t, []string{"LOCUM_DATABASE_URL", path, "default"},
		[]string{c.Source("database.url"), c.Source("http.addr"), c.Source("mail.url")})
}

func TestLoad_ListInEnvironment_SplitsAtCommas(t *testing.T) {
	t.Setenv("LOCUM_HTTP_TRUSTED_PROXIES", "10.0.0.0/8,192.168.1.1")
	t.Setenv("LOCUM_AUTH_KEYS", "a.pem,b.pem")

	c, err := Load("")
	require.NoError(t, err)
	require.Equal(t, []string{"a.pem", "b.pem"}, c.Auth.Keys)

	proxies, err := c.HTTP.Proxies()
	require.NoError(t, err)
	require.Len(t, proxies, 2)
}

// TestLoad_InvalidValue_ErrorNamesKeyAndSource checks that the error of an invalid setting is
// one line with its key, the file or the variable that has the value, and the values that are
// allowed.
func TestLoad_InvalidValue_ErrorNamesKeyAndSource(t *testing.T) {
	for name, c := range map[string]struct{ yaml, env, value, says string }{
		"an unknown key in the file": {yaml: "database:\n  ulr: x\n", says: "unknown key"},
		"an unknown variable":        {env: "LOCUM_DATABASE_ULR", value: "x", says: "LOCUM_DATABASE_ULR: no such setting"},
		"an address without a scheme": {
			env:   "LOCUM_DATABASE_URL",
			value: "nonsense",
			says:  "database.url (from LOCUM_DATABASE_URL): want",
		},
		"a proxy that is no network": {
			env:   "LOCUM_HTTP_TRUSTED_PROXIES",
			value: "10.0.0.0/99",
			says:  "http.trusted_proxies (from LOCUM_HTTP_TRUSTED_PROXIES)",
		},
		"a public address with a path": {yaml: "http:\n  public_url: http://a/b\n", says: "http.public_url (from "},
		"a wrong type":                 {yaml: "webhooks:\n  allow_private_networks: perhaps\n", says: "allow_private_networks"},
		"no boolean in the environment": {
			env:   "LOCUM_WEBHOOKS_ALLOW_PRIVATE_NETWORKS",
			value: "perhaps",
			says:  "webhooks.allow_private_networks (from LOCUM_WEBHOOKS_ALLOW_PRIVATE_NETWORKS): want true or false",
		},
		"replicas of another database": {
			env:   "LOCUM_DATABASE_REPLICA_URLS",
			value: "postgres://a/b",
			says:  "database.replica_urls (from LOCUM_DATABASE_REPLICA_URLS)",
		},
		"few connections for replicas": {
			yaml: "database:\n  url: postgres://a/b\n  max_connections: 5\n  replica_urls: [postgres://c/b]\n",
			says: "want a number of at least 6 (replicas: 1)",
		},
		"a file that is no YAML":        {yaml: "\t: [", says: "cannot be read"},
		"a log level that is not there": {env: "LOCUM_LOG_LEVEL", value: "loud", says: "log.level"},
		"a port that there is not": {
			env:   "LOCUM_QUEUE_URL",
			value: "redis://nohost:99999",
			says:  "queue.url (from LOCUM_QUEUE_URL): want a port from 1 to 65535",
		},
		"port 0": {
			env:   "LOCUM_LIMITER_URL",
			value: "redis://u:p@nohost:0/1",
			says:  "limiter.url (from LOCUM_LIMITER_URL): want a port",
		},
		"a port among several": {
			env:   "LOCUM_QUEUE_URL",
			value: "redis-cluster://a:7000,b:70000",
			says:  "queue.url (from LOCUM_QUEUE_URL): want a port",
		},
		"a port of a database": {
			env:   "LOCUM_DATABASE_URL",
			value: "postgres://u:p@[::1]:65536/db",
			says:  "database.url (from LOCUM_DATABASE_URL): want a port",
		},
		"a port of a mail server": {
			env:   "LOCUM_MAIL_URL",
			value: "smtp://mail:x",
			says:  "mail.url (from LOCUM_MAIL_URL): want a port",
		},
		"a password with a slash": {
			env:   "LOCUM_DATABASE_URL",
			value: "postgres://u:hun/ter2@db/locum",
			says:  "special characters in a password are written as %XX",
		},
		"a duration without unit": {
			env:   "LOCUM_LIMITS_SEARCH_TIMEOUT",
			value: "5",
			says:  "limits.search_timeout (from LOCUM_LIMITS_SEARCH_TIMEOUT): want a duration",
		},
		"a retention too short": {
			env:   "LOCUM_RETENTION_TASKS",
			value: "1h",
			says:  "retention.tasks (from LOCUM_RETENTION_TASKS): want at least 24h",
		},
		"no duration": {
			env:   "LOCUM_LIMITS_SEARCH_TIMEOUT",
			value: "soon",
			says:  "limits.search_timeout (from LOCUM_LIMITS_SEARCH_TIMEOUT): want a duration",
		},
		"no number": {
			env:   "LOCUM_LIMITS_SEARCH_CPU",
			value: "much",
			says:  "limits.search_cpu (from LOCUM_LIMITS_SEARCH_CPU): want a number",
		},
		"no memory for bodies": {
			env:   "LOCUM_LIMITS_BODY_MEMORY",
			value: "0",
			says:  "limits.body_memory (from LOCUM_LIMITS_BODY_MEMORY): want a number of MiB",
		},
		"a server address without colon": {env: "LOCUM_HTTP_ADDR", value: "8080", says: "http.addr"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.env != "" {
				t.Setenv(c.env, c.value)
			}

			_, err := Load(write(t, c.yaml))
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "\n")
		})
	}

	_, err := Load("/does/not/exist.yaml")
	require.Error(t, err)
}

// TestSettings_Secrets_AreMasked checks that the list of settings, which operators copy into
// reports, contains no password and no key. "hunter2" is every secret in these tests.
func TestSettings_Secrets_AreMasked(t *testing.T) {
	t.Setenv("LOCUM_DATABASE_URL", "postgres://locum:hunter2@db/locum")
	t.Setenv("LOCUM_LIMITER_URL", "redis://:hunter2@cache:6379/0")
	t.Setenv("LOCUM_MAIL_URL", "smtps://locum:hunter2@mail.example.org")
	t.Setenv("LOCUM_PAYMENTS_STRIPE_KEY", "hunter2")
	t.Setenv("LOCUM_PAYMENTS_WEBHOOK_SECRETS", "hunter2,hunter2b")

	c, err := Load("")
	require.NoError(t, err)

	for _, s := range c.Settings() {
		require.NotContains(t, s.Value, "hunter2", s.Key)
	}
}

// TestSettings_URL_SecretsAreMasked checks that passwords are masked in valid URLs, in URLs with
// unescaped characters in the password, and in connection strings of other formats. What cannot
// be parsed is masked as a whole.
func TestSettings_URL_SecretsAreMasked(t *testing.T) {
	for value, shows := range map[string]string{
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
		for _, s := range c.Settings() {
			if s.Key == "database.url" {
				require.Equal(t, shows, s.Value)
			}
		}
	}
}

// TestSettings_ListOfURLs_SecretsAreMasked checks that each URL of a list is masked, although
// its hosts and its password may contain commas, too.
func TestSettings_ListOfURLs_SecretsAreMasked(t *testing.T) {
	for value, shows := range map[string]string{
		"postgres://u:hunter2@r/db,postgres://u:hunter2@r2/db":     "postgres://u:***@r/db,postgres://u:***@r2/db",
		"postgres://u:hunter2@a,b/db,postgres://v:12,hunter2@r/db": "postgres://u:***@a,b/db,postgres://v:***@r/db",
		"host=a password=hunter2,postgres://u:hunter2@r/db":        "***,postgres://u:***@r/db",
		"hunter2": "***",
	} {
		t.Setenv("LOCUM_DATABASE_REPLICA_URLS", value)

		c, err := Load("")
		require.ErrorContains(t, err, "database.replica_urls")
		require.NotContains(t, err.Error(), "hunter2")

		for _, s := range c.Settings() {
			if s.Key == "database.replica_urls" {
				require.Equal(t, shows, s.Value)
			}
		}
	}
}

// TestLoad_Error_ContainsNoSecret checks that no error of an invalid setting contains a secret,
// wherever it is in the value.
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

				c, err := Load("")
				if err != nil {
					require.NotContains(t, err.Error(), "hunter2")
				}

				for _, s := range c.Settings() {
					require.NotContains(t, s.Value, "hunter2", s.Key)
				}
			})
		}
	}

	for _, yaml := range []string{
		"database: postgres://u:hunter2@h/db\n",
		"database:\n  url: [\"postgres://u:hunter2@h/db\"]\n",
		"database:\n  url: {a: \"hunter2\"}\n", "hunter2\n", "payments:\n  stripe_key: [hunter2]\n",
		"database:\n  replica_urls: {a: hunter2}\n",
		"webhooks:\n  allow_private_networks: hunter2\n",
	} {
		_, err := Load(write(t, yaml))
		require.Error(t, err, yaml)
		require.NotContains(t, err.Error(), "hunter2", yaml)
	}
}

// TestHosts_URLWithSecrets_ReturnsServers checks which part of a URL logs may contain.
func TestHosts_URLWithSecrets_ReturnsServers(t *testing.T) {
	for address, hosts := range map[string]string{
		"redis://u:p@h:6379/0":                   "h:6379",
		"redis-sentinel://a:1,b:2?master_name=m": "a:1,b:2",
		"postgres://u:p@[::1]/db":                "[::1]",
		"postgres:///db?host=/run":               "",
		"sqlite:data/locum.db":                   "",
		"smtps://mail.example.org":               "mail.example.org",
	} {
		require.Equal(t, hosts, Hosts(address), address)
		require.Empty(t, checkPorts(address), address)
	}
}
