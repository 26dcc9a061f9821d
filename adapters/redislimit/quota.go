package redislimit

import (
	"context"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/locumhq/locum/core/limit"
)

// KEYS[2] contains the day since 1970 and the number of calls of that day. ARGV:
// PerMinute, PerDay, whether to spend, and the present in µs or an empty string. The
// script returns whether a call was spent, and for the minute and the day the number of
// calls and the µs until it decreases.
var quotaScript = goredis.NewScript(`
local most, mostADay, per, aDay, present = tonumber(ARGV[1]), tonumber(ARGV[2]), 60000000, 86400000000, ARGV[4]
` + current + `
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
	return l.spend(ctx, quota, key, 1)
}

// Status implements limit.Limiter.
func (l *Limiter) Status(ctx context.Context, quota limit.Quota, key string) (limit.QuotaStatus, error) {
	return l.spend(ctx, quota, key, 0)
}

func (l *Limiter) spend(ctx context.Context, quota limit.Quota, key string, spend int) (limit.QuotaStatus, error) {
	quota.PerMinute, quota.PerDay = max(0, quota.PerMinute), max(0, quota.PerDay)
	name := l.redisKey(limit.Rule{Name: "quota"}, key)
	answer, err := l.run(ctx, quotaScript, 5, []string{name, name + ":day"}, quota.PerMinute, quota.PerDay, spend)
	switch {
	case err == nil:
		return quotaStatus(quota, answer), nil
	case ctx.Err() != nil:
		return limit.QuotaStatus{}, ctx.Err()
	}
	if spend == 0 {
		return l.fallback.Status(ctx, quota, key)
	}
	return l.fallback.Spend(ctx, quota, key)
}

func quotaStatus(quota limit.Quota, answer []int64) (s limit.QuotaStatus) {
	n, spent := int(answer[1]), int(answer[3])
	s.Minute = limit.Window{Limit: quota.PerMinute, Remaining: max(0, quota.PerMinute-n), Reset: time.Duration(answer[2]) * time.Microsecond}
	if quota.PerMinute == 0 {
		s.Minute.Reset = time.Minute
	}
	if quota.PerDay > 0 {
		s.Day = limit.Window{Limit: quota.PerDay, Remaining: max(0, quota.PerDay-spent), Reset: time.Duration(answer[4]) * time.Microsecond}
	}
	if answer[0] == 1 {
		s.Allowed = true
		return s
	}
	return s.Evaluate()
}
