// Package redislimit implements a limiter that several processes share. Redis has a log of the
// timestamps of the calls of each key, and one script call makes each decision.
//
// While Redis is unavailable, a limiter in the process decides, so that requests are neither all
// permitted nor all refused. Each decision waits for Redis for at most 200 ms. After five
// failures in a row, Redis is not used for five seconds (the circuit is open). Then one decision
// tries it again.
package redislimit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/locumhq/locum/adapters/internal/redisurl"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/limit"
)

const (
	// callTimeout bounds a call to Redis.
	callTimeout = 200 * time.Millisecond
	// maxFailures is the number of failures in a row after which Redis is not called for cooldown.
	maxFailures = 5
	cooldown    = 5 * time.Second
	// logInterval is the time between two log lines about the same outage.
	logInterval = time.Minute
)

// Limiter implements limit.Limiter.
type Limiter struct {
	client      goredis.UniversalClient
	fallback    limit.Limiter
	log         *slog.Logger
	clock       clock.Clock // nil for that of Redis, which all processes share
	callTimeout time.Duration
	prefix      string // of keys

	mu       sync.Mutex
	failures int       // failed calls in a row; from maxFailures on, the circuit is open
	retryAt  time.Time // when an open circuit permits the next call
	loggedAt time.Time // of the last log line about an outage
}

// Option changes the defaults of New.
type Option func(*Limiter)

// WithClock uses c instead of the clock of Redis. The clocks of several machines differ,
// so this is for tests.
func WithClock(c clock.Clock) Option { return func(l *Limiter) { l.clock = c } }

// WithBound sets the time limit for a call to Redis.
func WithBound(d time.Duration) Option { return func(l *Limiter) { l.callTimeout = d } }

// withPrefix sets the prefix of keys.
func withPrefix(prefix string) Option { return func(l *Limiter) { l.prefix = prefix } }

// New returns a limiter that uses client and closes it. fallback decides while Redis is
// unavailable.
func New(client goredis.UniversalClient, fallback limit.Limiter, log *slog.Logger, options ...Option) *Limiter {
	l := &Limiter{client: client, fallback: fallback, log: log, callTimeout: callTimeout, prefix: "locum"}
	for _, o := range options {
		o(l)
	}

	return l
}

// Close ends the connections.
func (l *Limiter) Close() error { return l.client.Close() }

// Ping reports whether Redis responds.
func (l *Limiter) Ping(ctx context.Context) error { return l.client.Ping(ctx).Err() }

// Degraded reports whether a call to Redis has failed within the last cooldown, so that decisions are made
// without Redis. It is false if there were no calls; then only Ping reports the state of Redis.
func (l *Limiter) Degraded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failures > 0 && time.Now().Before(l.retryAt)
}

// currentTimeScript is the beginning of both scripts. It expects the local variables per, the length of the
// window in µs, and present, the current time in µs or an empty string for that of Redis.
//
// KEYS[1] is a list of timestamps in µs, the oldest first. The script removes those older than per, and
// sets now to the current time and n to the number of the remaining timestamps. The function record adds
// one. It formats numbers explicitly, because Lua would keep 14 digits, and a timestamp has 16.
const currentTimeScript = `
local now = tonumber(present)
if not now then
	local t = redis.call('TIME')
	now = t[1] * 1000000 + t[2]
end
local newest = tonumber(redis.call('LINDEX', KEYS[1], -1))
if newest and newest > now then
	-- The clock went back: a little is the difference between two clocks, more
	-- than the window makes the log worthless.
	if newest > now + per then redis.call('DEL', KEYS[1]) else now = newest end
end
while true do
	local oldest = tonumber(redis.call('LINDEX', KEYS[1], 0))
	if not oldest or oldest > now - per then break end
	redis.call('LPOP', KEYS[1])
end
local n = redis.call('LLEN', KEYS[1])
local function record()
	redis.call('RPUSH', KEYS[1], string.format('%.0f', now))
	redis.call('PEXPIRE', KEYS[1], math.ceil(per / 1000))
	n = n + 1
end
`

// takeScript decides about a call. ARGV contains the Max of the rule, its Per in µs, 1 to record the call
// if it is allowed, and the current time in µs or an empty string. The script returns {1, remaining calls}
// for an allowed call, and otherwise {0, µs until the next call is allowed}.
var takeScript = goredis.NewScript(`
local max, per, present = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[4]
` + currentTimeScript + `
if n >= max then
	return {0, tonumber(redis.call('LINDEX', KEYS[1], n - max)) + per - now}
end
if ARGV[3] == '1' then record() end
return {1, max - n}`)

// Take implements limit.Limiter.
func (l *Limiter) Take(ctx context.Context, rule limit.Rule, key string) (limit.Decision, error) {
	const record = true
	return l.decide(ctx, rule, key, record)
}

// Peek implements limit.Limiter.
func (l *Limiter) Peek(ctx context.Context, rule limit.Rule, key string) (limit.Decision, error) {
	const record = false
	return l.decide(ctx, rule, key, record)
}

// Clear implements limit.Limiter.
func (l *Limiter) Clear(ctx context.Context, rule limit.Rule, key string) error {
	err := l.withCircuit(ctx, func(ctx context.Context) error { return l.client.Del(ctx, l.redisKey(rule, key)).Err() })
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}

	// The fallback may contain timestamps too, whether or not Redis was reached.
	return l.fallback.Clear(ctx, rule, key)
}

// decide executes takeScript, or uses the fallback if Redis is unavailable. If record is set, an allowed
// call is counted.
func (l *Limiter) decide(ctx context.Context, rule limit.Rule, key string, record bool) (limit.Decision, error) {
	if rule.Max < 1 {
		return limit.Decision{RetryAfter: rule.Per}, nil
	}

	const results = 2
	keys := []string{l.redisKey(rule, key)}

	answer, err := l.run(ctx, takeScript, results, keys, rule.Max, rule.Per.Microseconds(), record)
	switch {
	case err == nil && answer[0] == 1:
		return limit.Decision{Allowed: true, Remaining: int(answer[1])}, nil
	case err == nil:
		return limit.Decision{RetryAfter: time.Duration(answer[1]) * time.Microsecond}, nil
	case ctx.Err() != nil: // the caller has left
		return limit.Decision{}, ctx.Err()
	}

	// Redis is unavailable.
	if record {
		return l.fallback.Take(ctx, rule, key)
	}

	return l.fallback.Peek(ctx, rule, key)
}

// run executes a script, which returns n numbers. It appends the last argument of every script: the
// current time in µs, or an empty string for that of Redis. The client sends true as 1 and false as 0.
func (l *Limiter) run(ctx context.Context, script *goredis.Script, n int, keys []string, args ...any) (result []int64, err error) {
	var present any = ""
	if l.clock != nil {
		present = l.clock.Now().UnixMicro()
	}

	err = l.withCircuit(ctx, func(ctx context.Context) (err error) {
		result, err = script.Run(ctx, l.client, keys, append(args, present)...).Int64Slice()
		if err == nil && len(result) != n {
			err = fmt.Errorf("unexpected response of redis: %v", result)
		}

		return err
	})

	return result, err
}

// redisKey returns the key in Redis of a key of the rule. The part in braces is a hash tag: a cluster
// stores keys with the same tag, such as both keys of a quota, on the same node.
func (l *Limiter) redisKey(rule limit.Rule, key string) string {
	sum := sha256.Sum256([]byte(key))
	return l.prefix + ":limit:{" + rule.Name + ":" + hex.EncodeToString(sum[:16]) + "}"
}

// errCircuitOpen is returned instead of calling Redis while the circuit is open.
var errCircuitOpen = errors.New("redis is not called after repeated failures")

// withCircuit makes one call with a time limit unless the circuit is open.
func (l *Limiter) withCircuit(ctx context.Context, call func(context.Context) error) error {
	if !l.allowsCall() {
		return errCircuitOpen
	}

	bounded, cancel := context.WithTimeout(ctx, l.callTimeout)
	defer cancel()

	err := call(bounded)
	if err != nil && ctx.Err() != nil {
		return err // cancelled by the caller, so it is no failure of Redis
	}

	l.recordResult(err)

	return err
}

// allowsCall reports whether Redis may be called: always, unless the circuit is open, and then
// once per cooldown.
func (l *Limiter) allowsCall() bool {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.failures < maxFailures {
		return true
	}

	now := time.Now()
	if now.Before(l.retryAt) {
		return false
	}

	// This call is the probe; other calls do not use Redis until it has returned.
	l.retryAt = now.Add(cooldown)

	return true
}

// recordResult counts consecutive failures, and logs an outage once per logInterval.
func (l *Limiter) recordResult(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	now := time.Now()

	if err == nil {
		if l.failures >= maxFailures {
			l.log.Info("limiter: redis is available again")
		}

		l.failures = 0

		return
	}

	l.failures++

	l.retryAt = now.Add(cooldown)
	if now.Sub(l.loggedAt) >= logInterval {
		l.loggedAt = now
		l.log.Warn("limiter: redis is unavailable; counting in this process only", "error", err)
	}
}

// Open returns a limiter in the Redis of a URL, which package redisurl describes. It does
// not wait for a connection.
func Open(rawURL string, fallback limit.Limiter, log *slog.Logger, options ...Option) (*Limiter, error) {
	o, err := redisurl.Parse(rawURL)
	if err != nil {
		return nil, err
	}

	// A decision has 200 ms and a fallback, so there are no retries, and no extra round trips
	// for a new connection.
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}

	return New(o.Connect(), fallback, log, append([]Option{withPrefix(o.Prefix)}, options...)...), nil
}

// quotaScript decides about a call that a quota limits. KEYS[2] contains a day, as a number since 1970, and
// the number of calls of that day. ARGV contains PerMinute, PerDay, 1 to spend a call if it is allowed, and
// the current time in µs or an empty string.
//
// The script returns five numbers: 1 if a call was spent, the calls of the minute, the µs until their
// number decreases, the calls of the day, and the µs until the next day.
var quotaScript = goredis.NewScript(`
local most, mostADay, per, aDay, present = tonumber(ARGV[1]), tonumber(ARGV[2]), 60000000, 86400000000, ARGV[4]
` + currentTimeScript + `
local today, spent = string.format('%.0f', math.floor(now / aDay)), 0
if mostADay > 0 then
	local day = redis.call('HMGET', KEYS[2], 'day', 'spent')
	if day[1] == today then spent = tonumber(day[2]) end
end
local tomorrow = aDay - now % aDay
local done = 0
if ARGV[3] == '1' and n < most and (mostADay == 0 or spent < mostADay) then
	record()
	if mostADay > 0 then
		spent = spent + 1
		redis.call('HSET', KEYS[2], 'day', today, 'spent', spent)
		redis.call('EXPIRE', KEYS[2], math.ceil(tomorrow / 1000000) + 3600)
	end
	done = 1
end
local reset = 0
local first = tonumber(redis.call('LINDEX', KEYS[1], math.max(0, n - most)))
if first then reset = first + per - now end
if spent == 0 then tomorrow = 0 end
return {done, n, reset, spent, tomorrow}`)

// Spend implements limit.Limiter.
func (l *Limiter) Spend(ctx context.Context, quota limit.Quota, key string) (limit.QuotaStatus, error) {
	const record = true
	return l.spend(ctx, quota, key, record)
}

// Status implements limit.Limiter.
func (l *Limiter) Status(ctx context.Context, quota limit.Quota, key string) (limit.QuotaStatus, error) {
	const record = false
	return l.spend(ctx, quota, key, record)
}

// spend executes quotaScript, or uses the fallback if Redis is unavailable. If record is set, an allowed
// call is spent. A negative limit is treated as 0.
func (l *Limiter) spend(ctx context.Context, quota limit.Quota, key string, record bool) (limit.QuotaStatus, error) {
	quota.PerMinute, quota.PerDay = max(0, quota.PerMinute), max(0, quota.PerDay)

	const results = 5
	minuteKey := l.redisKey(limit.Rule{Name: "quota"}, key)
	keys := []string{minuteKey, minuteKey + ":day"}

	answer, err := l.run(ctx, quotaScript, results, keys, quota.PerMinute, quota.PerDay, record)
	switch {
	case err == nil:
		return quotaStatus(quota, answer), nil
	case ctx.Err() != nil: // the caller has left
		return limit.QuotaStatus{}, ctx.Err()
	}

	// Redis is unavailable.
	if record {
		return l.fallback.Spend(ctx, quota, key)
	}

	return l.fallback.Status(ctx, quota, key)
}

// quotaStatus returns the status for the result of quotaScript.
func quotaStatus(quota limit.Quota, result []int64) (status limit.QuotaStatus) {
	wasSpent := result[0] == 1
	inMinute, minuteReset := int(result[1]), time.Duration(result[2])*time.Microsecond
	inDay, dayReset := int(result[3]), time.Duration(result[4])*time.Microsecond

	status.Minute = limit.Window{
		Limit:     quota.PerMinute,
		Remaining: max(0, quota.PerMinute-inMinute),
		Reset:     minuteReset,
	}
	if quota.PerMinute == 0 { // no call is ever allowed
		status.Minute.Reset = time.Minute
	}

	if quota.PerDay > 0 {
		status.Day = limit.Window{Limit: quota.PerDay, Remaining: max(0, quota.PerDay-inDay), Reset: dayReset}
	}

	// Evaluate needs the windows before the call. For a call that was spent, they are those after it.
	if wasSpent {
		status.Allowed = true
		return status
	}

	return status.Evaluate()
}
