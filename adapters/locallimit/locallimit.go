// Package locallimit implements a limiter in the memory of one process, with an exact
// sliding log.
package locallimit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"

	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/limit"
)

const (
	shards = 64
	// maxKeys bounds the memory for invented keys: about 100 MB with the usual ten
	// timestamps each. A key beyond it evicts another one, whose count starts again.
	maxKeys = 500_000
)

// Limiter implements limit.Limiter.
type Limiter struct {
	clock  clock.Clock
	shards [shards]shard
}

// Keys are stored as hashes, because they may contain personal data.
type hash [16]byte

type shard struct {
	mu    sync.Mutex
	logs  map[hash]entry
	days  map[hash]day
	until int // calls until the next sweep
}

type entry struct {
	timestamps []int64 // µs, ascending
	ends       int64   // when the last of them expires
}

// New returns a limiter that uses the clock.
func New(c clock.Clock) *Limiter {
	l := &Limiter{clock: c}
	for i := range l.shards {
		l.shards[i].logs, l.shards[i].days = map[hash]entry{}, map[hash]day{}
	}
	return l
}

// Take implements limit.Limiter.
func (l *Limiter) Take(_ context.Context, rule limit.Rule, key string) (limit.Decision, error) {
	return l.decide(rule, key, true), nil
}

// Peek implements limit.Limiter.
func (l *Limiter) Peek(_ context.Context, rule limit.Rule, key string) (limit.Decision, error) {
	return l.decide(rule, key, false), nil
}

// Clear implements limit.Limiter.
func (l *Limiter) Clear(_ context.Context, rule limit.Rule, key string) error {
	h, s := l.find(rule, key)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.logs, h)
	return nil
}

func (l *Limiter) find(rule limit.Rule, key string) (hash, *shard) {
	sum := sha256.Sum256([]byte(rule.Name + "\x00" + key))
	return hash(sum[:16]), &l.shards[binary.LittleEndian.Uint32(sum[16:])%shards]
}

func (l *Limiter) decide(rule limit.Rule, key string, record bool) limit.Decision {
	if rule.Max < 1 {
		return limit.Decision{RetryAfter: rule.Per}
	}
	h, s := l.find(rule, key)
	s.mu.Lock()
	defer s.mu.Unlock()
	// The clock is read under the lock, so that the timestamps of a log are ascending.
	now := l.clock.Now().UnixMicro()
	s.sweep(now)

	per := rule.Per.Microseconds()
	e := s.log(h, now, per)
	if n := len(e.timestamps); n >= rule.Max {
		free := e.timestamps[n-rule.Max] + per
		return limit.Decision{RetryAfter: time.Duration(free-now) * time.Microsecond}
	}
	if !record {
		return limit.Decision{Allowed: true, Remaining: rule.Max - len(e.timestamps)}
	}
	e = s.record(h, e, now, per, rule.Max)
	return limit.Decision{Allowed: true, Remaining: rule.Max - len(e.timestamps)}
}

// log returns the log of a key without expired timestamps.
func (s *shard) log(h hash, now, per int64) entry {
	e := s.logs[h]
	expired := 0
	for i, m := range e.timestamps {
		if m > now {
			// The clock was set back. The timestamp counts as one of now.
			e.timestamps[i] = now
		} else if m <= now-per {
			expired = i + 1
		}
	}
	e.timestamps = e.timestamps[expired:]
	return e
}

// record adds a timestamp to a log, whose length is bounded.
func (s *shard) record(h hash, e entry, now, per int64, most int) entry {
	if len(s.logs) >= maxKeys/shards && len(e.timestamps) == 0 {
		evict(s.logs)
	}
	if n := len(e.timestamps); n == cap(e.timestamps) {
		// A log starts small, because most keys are used once.
		e.timestamps = append(make([]int64, 0, min(most, max(2, 2*n))), e.timestamps...)
	}
	e.timestamps, e.ends = append(e.timestamps, now), now+per
	s.logs[h] = e
	return e
}

// sweep deletes expired logs once per as many calls as there are keys, so that the cost
// per call does not depend on their number.
func (s *shard) sweep(now int64) {
	if s.until--; s.until > 0 {
		return
	}
	for h, e := range s.logs {
		if e.ends <= now {
			delete(s.logs, h)
		}
	}
	for h, d := range s.days {
		if d.number != now/perDay {
			delete(s.days, h)
		}
	}
	s.until = max(1024, len(s.logs)+len(s.days))
}

func evict[V any](m map[hash]V) {
	for h := range m {
		delete(m, h)
		return
	}
}

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
