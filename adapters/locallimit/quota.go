package locallimit

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/limit"
)

// day is the number of calls of a day. Days are stored apart from the logs, so that
// invented keys of quotas without a daily limit do not evict them.
type day struct {
	number int64 // since 1970
	spent  int
}

const (
	perMinute = int64(time.Minute / time.Microsecond)
	perDay    = int64(24 * time.Hour / time.Microsecond)
)

// Spend implements limit.Limiter.
func (l *Limiter) Spend(_ context.Context, quota limit.Quota, key string) (limit.QuotaStatus, error) {
	return l.spend(quota, key, true), nil
}

// Status implements limit.Limiter.
func (l *Limiter) Status(_ context.Context, quota limit.Quota, key string) (limit.QuotaStatus, error) {
	return l.spend(quota, key, false), nil
}

func (l *Limiter) spend(quota limit.Quota, key string, record bool) limit.QuotaStatus {
	h, s := l.find(limit.Rule{Name: "quota"}, key)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := l.clock.Now().UnixMicro()
	s.sweep(now)

	e, d := s.log(h, now, perMinute), s.days[h]
	if today := now / perDay; d.number != today {
		d = day{number: today}
	}
	before := quotaStatus(quota, e, d, now).Evaluate()
	if !record || !before.Allowed {
		return before
	}
	e = s.record(h, e, now, perMinute, quota.PerMinute)
	if quota.PerDay > 0 {
		if len(s.days) >= maxKeys/shards && d.spent == 0 {
			evict(s.days)
		}
		d.spent++
		s.days[h] = d
	}
	after := quotaStatus(quota, e, d, now)
	after.Allowed = true
	return after
}

func quotaStatus(quota limit.Quota, e entry, d day, now int64) (s limit.QuotaStatus) {
	n := len(e.timestamps)
	s.Minute = limit.Window{Limit: max(0, quota.PerMinute), Remaining: max(0, quota.PerMinute-n)}
	// Remaining increases when the oldest timestamp expires, or, if there are more than
	// PerMinute, the oldest of those that fill the quota.
	if first := max(0, n-quota.PerMinute); first < n {
		s.Minute.Reset = time.Duration(e.timestamps[first]+perMinute-now) * time.Microsecond
	}
	if quota.PerMinute < 1 {
		s.Minute.Reset = time.Minute
	}
	if quota.PerDay > 0 {
		s.Day = limit.Window{Limit: quota.PerDay, Remaining: max(0, quota.PerDay-d.spent)}
		if d.spent > 0 {
			s.Day.Reset = time.Duration((d.number+1)*perDay-now) * time.Microsecond
		}
	}
	return s
}
