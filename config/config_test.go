package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func write(t *testing.T, yaml string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "locum.yaml")
	require.NoError(t, os.WriteFile(path, []byte(yaml), 0o600))
	return path
}

func TestWithoutFileAndEnvironmentTheDefaultsHold(t *testing.T) {
	t.Chdir(t.TempDir())
	c, err := Load("")
	require.NoError(t, err)
	require.Equal(t, "sqlite:data/locum.db", c.Database.URL)
	require.Equal(t, "default", c.Source("database.url"))
}

func TestTheEnvironmentWinsOverTheFileAndEachValueKnowsItsSource(t *testing.T) {
	path := write(t, "http:\n  addr: \":1\"\n  trusted_proxies: [10.0.0.0/8]\ndatabase:\n  url: sqlite:a.db\n")
	t.Setenv("LOCUM_DATABASE_URL", "sqlite:b.db")
	c, err := Load(path)
	require.NoError(t, err)
	require.Equal(t, "sqlite:b.db", c.Database.URL)
	require.Equal(t, ":1", c.HTTP.Addr)
	require.Equal(t, []string{"LOCUM_DATABASE_URL", path, "default"},
		[]string{c.Source("database.url"), c.Source("http.addr"), c.Source("mail.url")})
}

func TestAListInTheEnvironmentIsCommaSeparated(t *testing.T) {
	t.Setenv("LOCUM_HTTP_TRUSTED_PROXIES", "10.0.0.0/8,192.168.1.1")
	t.Setenv("LOCUM_AUTH_KEYS", "a.pem,b.pem")
	c, err := Load("")
	require.NoError(t, err)
	require.Equal(t, []string{"a.pem", "b.pem"}, c.Auth.Keys)
	proxies, err := c.HTTP.Proxies()
	require.NoError(t, err)
	require.Len(t, proxies, 2)
}

func TestWhatCannotWorkNamesKeySourceAndMend(t *testing.T) {
	for name, c := range map[string]struct{ yaml, env, value, says string }{
		"an unknown key in the file":     {yaml: "database:\n  ulr: x\n", says: "unknown key"},
		"an unknown variable":            {env: "LOCUM_DATABASE_ULR", value: "x", says: "LOCUM_DATABASE_ULR: no such setting"},
		"an address without a scheme":    {env: "LOCUM_DATABASE_URL", value: "nonsense", says: "database.url (from LOCUM_DATABASE_URL): want"},
		"a proxy that is no network":     {env: "LOCUM_HTTP_TRUSTED_PROXIES", value: "10.0.0.0/99", says: "http.trusted_proxies (from LOCUM_HTTP_TRUSTED_PROXIES)"},
		"a public address with a path":   {yaml: "http:\n  public_url: http://a/b\n", says: "http.public_url (from "},
		"a wrong type":                   {yaml: "webhooks:\n  allow_private_networks: perhaps\n", says: "allow_private_networks"},
		"replicas, which nothing uses":   {env: "LOCUM_DATABASE_REPLICA_URLS", value: "postgres://a/b", says: "database.replica_urls (from LOCUM_DATABASE_REPLICA_URLS)"},
		"a file that is no YAML":         {yaml: "\t: [", says: "cannot be read"},
		"a log level that is not there":  {env: "LOCUM_LOG_LEVEL", value: "loud", says: "log.level"},
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

func TestSecretsAreMaskedInTheListing(t *testing.T) {
	t.Setenv("LOCUM_DATABASE_URL", "postgres://locum:hunter2@db/locum")
	t.Setenv("LOCUM_LIMITER_URL", "redis://:hunter2@cache:6379/0")
	t.Setenv("LOCUM_MAIL_URL", "smtps://locum:hunter2@mail.example.org")
	t.Setenv("LOCUM_PAYMENTS_STRIPE_KEY", "hunter2")
	c, err := Load("")
	require.NoError(t, err)
	for _, s := range c.Settings() {
		require.NotContains(t, s.Value, "hunter2", s.Key)
	}
}
