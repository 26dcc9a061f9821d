package config

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Err returns the error for an invalid value. It contains the key, the source of the value and
// the expected value.
func (c *Config) Err(key, expected string) error {
	return fmt.Errorf("%s (from %s): %s", key, c.Source(key), expected)
}

// Source returns the source of a key's value: default, a file's path or an environment
// variable.
func (c *Config) Source(key string) string { return cmp.Or(c.sources[key], "default") }

// validate returns an error for the first invalid value. It also removes a slash at the end of
// http.public_url, so that paths can be appended to it.
func (c *Config) validate() error {
	if !isPublicURL(c.HTTP.PublicURL) {
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

	for _, l := range c.leaves() {
		// All settings whose names end in url select adapters, except for the service's own
		// address. Of those of the database, only database.url is required.
		isAddress := strings.HasSuffix(l.key, "url") && l.key != "http.public_url"
		isOptional := strings.HasPrefix(l.key, "database.") && l.key != "database.url"
		isOmitted := isOptional && l.value.IsZero()

		if !isAddress || isOmitted {
			continue
		}

		if err := c.checkAddress(l.key, l.value.String()); err != nil {
			return err
		}
	}

	const minRetention = 24 * time.Hour // with less, an event that is relayed late could be handled twice

	hasMetricsAddr := c.HTTP.MetricsAddr != ""
	isCPUValid := c.Limits.SearchCPU >= 0 // false for NaN, too
	levels := []string{"debug", "info", "warn", "error"}

	for _, rule := range []struct {
		isValid   bool
		key, want string
	}{
		{isValid: strings.Contains(c.HTTP.Addr, ":"), key: "http.addr", want: "want HOST:PORT or :PORT"},
		{isValid: isWithin(c.HTTP.Drain, 0, 10*time.Minute), key: "http.drain", want: "want a duration from 0s to 10m, such as 5s"},
		{
			isValid: !hasMetricsAddr || strings.Contains(c.HTTP.MetricsAddr, ":"),
			key:     "http.metrics_addr",
			want:    "want HOST:PORT or :PORT",
		},
		{isValid: c.Limits.BodyMemory >= 1, key: "limits.body_memory", want: "want a number of MiB of at least 1"},
		{isValid: isCPUValid, key: "limits.search_cpu", want: "want seconds of at least 0"},
		{
			isValid: isWithin(c.Limits.SearchTimeout, 10*time.Millisecond, time.Minute),
			key:     "limits.search_timeout",
			want:    "want a duration from 10ms to 1m, such as 1s",
		},
		{isValid: len(c.Auth.Keys) > 0, key: "auth.keys", want: "want at least one key file or folder"},
		{isValid: c.Retention.Events >= minRetention, key: "retention.events", want: "want at least 24h"},
		{isValid: c.Retention.Tasks >= minRetention, key: "retention.tasks", want: "want at least 24h"},
		{isValid: slices.Contains(levels, c.Log.Level), key: "log.level", want: "want debug, info, warn or error"},
	} {
		if !rule.isValid {
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

// isWithin reports whether the duration is at least shortest and at most longest.
func isWithin(d, shortest, longest time.Duration) bool { return d >= shortest && d <= longest }

// isPublicURL reports whether the text is an HTTP URL of a host, without a user and a path.
func isPublicURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}

	return (u.Scheme == "http" || u.Scheme == "https") && (u.Path == "" || u.Path == "/")
}

// isOrigin reports whether the text is the origin of an HTTP URL: its scheme and host.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || strings.ContainsAny(u.Host, "; ,'*") {
		return false
	}

	return (u.Scheme == "http" || u.Scheme == "https") && text == u.Scheme+"://"+u.Host
}

// validateDatabase checks the settings of the database that depend on each other.
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

	if d.MaxConnections < d.minConnections() {
		want := fmt.Sprintf("want a number of at least %d", d.minConnections())
		if len(d.ReplicaURLs) > 0 {
			want += fmt.Sprintf(" (replicas: %d)", len(d.ReplicaURLs))
		}

		return c.Err("database.max_connections", want)
	}

	switch {
	case d.Pooler != "" && d.Pooler != "transaction":
		return c.Err("database.pooler", "want transaction, or nothing without a pooler")
	case d.DirectURL != "" && d.Pooler == "":
		return c.Err("database.direct_url", "is for database.pooler; remove one of them or set both")
	}

	return nil
}

// checkAddress returns an error for a value without a scheme or with an invalid port.
func (c *Config) checkAddress(key, value string) error {
	if scheme, _, hasColon := strings.Cut(value, ":"); !hasColon || scheme == "" {
		return c.Err(key, "want an address that begins with a scheme and a colon")
	}

	if problem := checkPorts(value); problem != "" {
		return c.Err(key, problem)
	}

	return nil
}

// minConnections returns the smallest valid value of MaxConnections, with which requests, the queue of
// tasks and other background work do not wait for each other's connections.
func (d Database) minConnections() int {
	const (
		primary    = 3 // to the database of URL
		lag        = 1 // measures the lag of the replicas
		perReplica = 2
		direct     = 2 // to the database of DirectURL, without the pooler
	)

	replicas := len(d.ReplicaURLs)
	if replicas == 0 {
		return primary
	}

	minimum := primary + lag + perReplica*replicas
	if d.DirectURL != "" {
		minimum += direct
	}

	return minimum
}
