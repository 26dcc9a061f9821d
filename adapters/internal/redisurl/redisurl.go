// Package redisurl parses the URLs of Redis servers, of clusters and of servers behind
// sentinels, so that a URL means the same to every adapter.
//
//	redis://[USER:PASSWORD@]HOST[:PORT][/DB]           one server; rediss:// with TLS
//	redis://a:7000,b:7000  or  redis-cluster://…       a cluster (rediss-cluster://)
//	redis-sentinel://a:26379,b:26379[/DB]?master_name=NAME
//	                                                   behind sentinels (rediss-sentinel://)
//
// Options of the query, each at most once:
//
//	prefix=NAME                     begins all keys; default locum
//	pool_size=N                     connections to a server
//	dial_timeout, read_timeout, write_timeout   durations such as 500ms
//	client_name=NAME                shown by CLIENT LIST
//	ca=FILE, skip_verify=true       certificates of rediss
//	master_name, sentinel_username, sentinel_password   of sentinels
package redisurl

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

// Options are the settings in a URL. An adapter may change them before it connects.
type Options struct {
	goredis.UniversalOptions

	// Prefix begins the names of all keys: a cluster has no numbered databases that
	// keep two services apart.
	Prefix string
}

// defaultPrefix is the prefix of keys without the option.
const defaultPrefix = "locum"

var (
	errUnreadable = errors.New("not a Redis URL; want redis://HOST:PORT/DB, and special characters in a password as %XX")
	errScheme     = errors.New(
		"not a Redis URL; want the scheme redis, rediss, redis-cluster, rediss-cluster, redis-sentinel or rediss-sentinel",
	)
)

// Parse parses a URL. Its errors contain the names of options but no other part of the URL, because text
// that cannot be parsed may be a password.
func Parse(rawURL string) (Options, error) {
	o := Options{Prefix: defaultPrefix}
	o.ContextTimeoutEnabled = true // the deadline of a context applies to each call

	// The mode is the part of the scheme after a hyphen.
	scheme, rest, _ := strings.Cut(rawURL, "://")
	scheme, mode, hasMode := strings.Cut(scheme, "-")
	isRedis := scheme == "redis" || scheme == "rediss"
	isSentinel := mode == "sentinel"

	isKnownMode := mode == "cluster" || isSentinel
	if !isRedis || hasMode && !isKnownMode {
		return o, errScheme
	}

	rest, query, _ := strings.Cut(rest, "?")
	authority, database, _ := strings.Cut(rest, "/")

	// An @ after the authority shows that the password has a slash or a question mark, which must be
	// written as %XX.
	if strings.ContainsAny(rest, " #") || strings.Contains(database+query, "@") {
		return o, errUnreadable
	}

	if err := o.setAuthority(authority, isSentinel); err != nil {
		return o, err
	}

	o.IsClusterMode = mode == "cluster" || mode == "" && len(o.Addrs) > 1
	if scheme == "rediss" {
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}

	if err := o.setDatabase(database); err != nil {
		return o, err
	}

	if err := o.setQuery(query, isSentinel); err != nil {
		return o, err
	}

	if isSentinel && o.MasterName == "" {
		return o, errors.New("redis-sentinel needs ?master_name=NAME")
	}

	return o, nil
}

// setAuthority parses USER:PASSWORD@HOST:PORT,HOST:PORT.
func (o *Options) setAuthority(authority string, isSentinel bool) (err error) {
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, password, _ := strings.Cut(authority[:at], ":")
		if o.Username, err = url.PathUnescape(user); err != nil {
			return errUnreadable
		}

		if o.Password, err = url.PathUnescape(password); err != nil {
			return errUnreadable
		}

		authority = authority[at+1:]
	}

	defaultPort := "6379"
	if isSentinel {
		defaultPort = "26379"
	}

	for _, host := range strings.Split(authority, ",") {
		u, err := url.Parse("redis://" + host)

		isHostOnly := err == nil && u.Hostname() != "" && u.Host == host
		if !isHostOnly {
			return errUnreadable
		}

		port := cmp.Or(u.Port(), defaultPort)
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return errUnreadable
		}

		o.Addrs = append(o.Addrs, net.JoinHostPort(u.Hostname(), port))
	}

	return nil
}

// setDatabase parses the number of a database, 0 by default.
func (o *Options) setDatabase(database string) error {
	if database == "" {
		return nil
	}

	n, err := strconv.ParseUint(database, 10, 31)
	switch {
	case err != nil:
		return errors.New("not a Redis URL; want the number of a database after the host, such as /0")
	case n > 0 && o.IsClusterMode:
		return errors.New("a Redis Cluster has no database but 0; separate services with ?prefix=NAME")
	}

	o.DB = int(n)

	return nil
}

// prefixes matches valid prefixes. Braces and colons would have a meaning in keys.
var prefixes = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// setQuery sets the options of the query.
func (o *Options) setQuery(query string, isSentinel bool) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errUnreadable
	}

	for name, valuesOfName := range values {
		if len(valuesOfName) > 1 {
			return fmt.Errorf("%s: want it once", name)
		}

		if err := o.setOption(name, valuesOfName[0], isSentinel); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}

	return nil
}

// setOption sets an option of the query by its name.
func (o *Options) setOption(name, value string, isSentinel bool) error {
	switch name {
	case "prefix":
		if !prefixes.MatchString(value) {
			return errors.New("want 1 to 40 letters, digits, _ and -")
		}

		o.Prefix = value
	case "client_name":
		o.ClientName = value
	case "pool_size":
		n, err := strconv.ParseUint(value, 10, 16)
		if err != nil || n == 0 {
			return errors.New("want a number of at least 1")
		}

		o.PoolSize = int(n)
	case "dial_timeout":
		return setDuration(&o.DialTimeout, value)
	case "read_timeout":
		return setDuration(&o.ReadTimeout, value)
	case "write_timeout":
		return setDuration(&o.WriteTimeout, value)
	case "ca", "skip_verify":
		return o.setTLS(name, value)
	case "master_name", "sentinel_username", "sentinel_password":
		return o.setSentinel(name, value, isSentinel)
	default:
		return errors.New("there is no such option; want prefix, pool_size, dial_timeout, read_timeout, write_timeout, " +
			"client_name, ca, skip_verify, master_name, sentinel_username or sentinel_password")
	}

	return nil
}

// setDuration parses a positive duration.
func setDuration(d *time.Duration, value string) error {
	parsed, err := time.ParseDuration(value)
	if err != nil || parsed <= 0 {
		return errors.New("want a duration such as 500ms")
	}

	*d = parsed

	return nil
}

// setTLS sets an option about certificates, which only a URL with TLS may have.
func (o *Options) setTLS(name, value string) error {
	if o.TLSConfig == nil {
		return errors.New("is for rediss, rediss-cluster and rediss-sentinel")
	}

	if name == "skip_verify" {
		skip, err := strconv.ParseBool(value)
		if err != nil {
			return errors.New("want true or false")
		}

		o.TLSConfig.InsecureSkipVerify = skip

		return nil
	}

	pem, err := os.ReadFile(value)
	if err != nil {
		return err
	}

	o.TLSConfig.RootCAs = x509.NewCertPool()
	if !o.TLSConfig.RootCAs.AppendCertsFromPEM(pem) {
		return errors.New("want a file of certificates in PEM")
	}

	return nil
}

// setSentinel sets an option about sentinels, which only a URL of sentinels may have.
func (o *Options) setSentinel(name, value string, isSentinel bool) error {
	if !isSentinel {
		return errors.New("is for redis-sentinel and rediss-sentinel")
	}

	switch name {
	case "master_name":
		o.MasterName = value
	case "sentinel_username":
		o.SentinelUsername = value
	default:
		o.SentinelPassword = value
	}

	return nil
}

// Connect returns a client, which connects when it is used.
func (o *Options) Connect() goredis.UniversalClient {
	// The library prints each failed dial; callers get the same error.
	logging.Disable()
	return goredis.NewUniversalClient(&o.UniversalOptions)
}
