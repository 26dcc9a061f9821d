package redislimit

import (
	"log/slog"

	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/locumhq/locum/adapters/internal/redisurl"
	"github.com/locumhq/locum/core/limit"
)

// Open returns a limiter in the Redis of a URL, which package redisurl describes. It does
// not wait for a connection.
func Open(rawURL string, fallback limit.Limiter, log *slog.Logger, options ...Option) (*Limiter, error) {
	o, err := redisurl.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	// A call has 200 ms and a fallback: no retries, and no extra round trips when a
	// connection begins.
	o.MaxRetries, o.DialerRetries, o.DisableIdentity = -1, 1, true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return New(o.Connect(), fallback, log, append([]Option{withPrefix(o.Prefix)}, options...)...), nil
}
