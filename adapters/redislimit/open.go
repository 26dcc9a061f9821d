package redislimit

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/locumhq/locum/core/limit"
)

// Open makes a limiter from a URL. It does not wait for Redis to be there.
//
//	redis://[user:password@]host[:port][/db]       one server; rediss:// with TLS
//	redis://a:7000,b:7000  or  redis-cluster://…   a cluster (rediss-cluster://)
//	redis-sentinel://a:26379,b:26379[/db]?master_name=NAME
//	                                               behind sentinels (rediss-sentinel://)
//
// The query takes go-redis' options (pool_size=50).
func Open(rawURL string, fallback limit.Limiter, log *slog.Logger, options ...Option) (*Limiter, error) {
	client, err := connect(rawURL)
	if err != nil {
		return nil, err
	}
	// The library prints each failed dial; they all reach us as errors too.
	logging.Disable()
	return New(client, fallback, log, options...), nil
}

// discreet keeps the words of the URL parser back, which quote the password that
// it could not read.
func discreet(err error) error {
	var unreadable *url.Error
	if errors.As(err, &unreadable) {
		return errors.New("not a Redis address that can be read; special characters in a password are written as %XX")
	}
	return err
}

func connect(rawURL string) (goredis.UniversalClient, error) {
	mode, plain, err := normalize(rawURL)
	if err != nil {
		return nil, err
	}
	// A call has 200 ms and a fallback: no retries, no waits beyond its context,
	// no extra round trips when a connection begins.
	off := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	switch mode {
	case "cluster":
		o, err := goredis.ParseClusterURL(plain)
		if err != nil {
			return nil, discreet(err)
		}
		o.ContextTimeoutEnabled, o.DialerRetries, o.DisableIdentity, o.MaintNotificationsConfig = true, 1, true, off
		return goredis.NewClusterClient(o), nil
	case "sentinel":
		o, err := goredis.ParseFailoverURL(plain)
		if err != nil {
			return nil, discreet(err)
		}
		if o.MasterName == "" {
			return nil, fmt.Errorf("redis-sentinel needs ?master_name=")
		}
		o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries, o.DisableIdentity = true, -1, 1, true
		return goredis.NewFailoverClient(o), nil
	}
	o, err := goredis.ParseURL(plain)
	if err != nil {
		return nil, discreet(err)
	}
	o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries, o.DisableIdentity, o.MaintNotificationsConfig = true, -1, 1, true, off
	return goredis.NewClient(o), nil
}

// normalize turns our URL into go-redis' form of it, which has one host and
// the others as addr parameters, and says which kind of client it is for.
func normalize(rawURL string) (mode, plain string, err error) {
	scheme, rest, ok := strings.Cut(rawURL, "://")
	if !ok {
		return "", "", fmt.Errorf("not a Redis URL: no ://")
	}
	scheme, mode, _ = strings.Cut(scheme, "-")
	if scheme != "redis" && scheme != "rediss" || mode != "" && mode != "cluster" && mode != "sentinel" {
		return "", "", fmt.Errorf("not a Redis URL: the scheme is none of redis, rediss, redis-cluster, redis-sentinel")
	}
	// By hand, because net/url refuses several hosts.
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, rest := rest[:end], rest[end:]
	user := ""
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		user, authority = authority[:i+1], authority[i+1:]
	}
	hosts := strings.Split(authority, ",")
	if mode == "" && len(hosts) > 1 {
		mode = "cluster"
	}
	port := "6379"
	if mode == "sentinel" {
		port = "26379"
	}
	for i, h := range hosts {
		if h == "" {
			return "", "", fmt.Errorf("not a Redis URL: an empty host")
		}
		if u := (&url.URL{Host: h}); u.Port() == "" {
			hosts[i] = h + ":" + port
		}
	}
	plain = scheme + "://" + user + hosts[0] + rest
	for _, h := range hosts[1:] {
		sep := "&"
		if !strings.Contains(plain, "?") {
			sep = "?"
		}
		plain += sep + "addr=" + url.QueryEscape(h)
	}
	return mode, plain, nil
}
