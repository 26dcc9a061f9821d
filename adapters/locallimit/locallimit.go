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
	// shards is the number of shards of a Limiter.
	shards = 64
	// maxKeys bounds the memory that clients can occupy with invented keys: about 100 MB at
	// ten timestamps per key. Above it, a new key evicts another key, whose count restarts.
	maxKeys = 500_000
)

// Limiter implements limit.Limiter.
type Limiter struct {
	clock  clock.Clock
	shards [shards]shard
}

// hash identifies a rule and a key: it is the first half of the SHA-256 of both. Keys are not
// stored themselves, because they may contain personal data.
type hash [16]byte

// shard has a part of the keys. Shards have separate locks, so that requests rarely wait for
// each other.
type shard struct {
	mu              sync.Mutex
	logs            map[hash]entry
	days            map[hash]day // of quotas with a daily limit
	callsUntilSweep int          // calls until the next sweep, which deletes expired logs and days
}

// entry is the log of a key: the timestamps of its calls. All times are in µs since 1970.
type entry struct {
	timestamps []int64 // ascending
	expiresAt  int64   // when the newest timestamp expires
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
	const record = true
	return l.decide(rule, key, record), nil
}

// Peek implements limit.Limiter.
func (l *Limiter) Peek(_ context.Context, rule limit.Rule, key string) (limit.Decision, error) {
	const record = false
	return l.decide(rule, key, record), nil
}

// Clear implements limit.Limiter.
func (l *Limiter) Clear(_ context.Context, rule limit.Rule, key string) error {
	h, s := l.find(rule, key)
	s.mu.Lock()
	defer s.mu.Unlock()

	delete(s.logs, h)

	return nil
}

// find returns the hash of the key for the rule, and the shard of that hash. The shard is chosen by
// bytes of the SHA-256 that are not part of the hash.
func (l *Limiter) find(rule limit.Rule, key string) (hash, *shard) {
	sum := sha256.Sum256([]byte(rule.Name + "\x00" + key))
	shardNumber := binary.LittleEndian.Uint32(sum[16:]) % shards

	return hash(sum[:16]), &l.shards[shardNumber]
}

// decide reports whether a call is allowed. If record is set, it also counts an allowed call.
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
		// The next call is allowed when Max-1 timestamps are left in the window. Until then, the
		// oldest n-Max+1 of the n timestamps expire, the last of them at index n-Max.
		lastToExpire := e.timestamps[n-rule.Max]
		return limit.Decision{RetryAfter: time.Duration(lastToExpire+per-now) * time.Microsecond}
	}

	if !record {
		return limit.Decision{Allowed: true, Remaining: rule.Max - len(e.timestamps)}
	}

	e = s.record(h, e, now, per, rule.Max)

	return limit.Decision{Allowed: true, Remaining: rule.Max - len(e.timestamps)}
}

// log returns the log of a key without the timestamps that are older than per.
func (s *shard) log(h hash, now, per int64) entry {
	e := s.logs[h]

	expired := 0
	for i, at := range e.timestamps {
		if at > now {
			// The clock was set back: a timestamp in the future counts as the present time.
			e.timestamps[i] = now
		} else if at <= now-per {
			expired = i + 1
		}
	}

	e.timestamps = e.timestamps[expired:]

	return e
}

// record adds a timestamp to a log of at most maxLength timestamps, and stores the log.
func (s *shard) record(h hash, e entry, now, per int64, maxLength int) entry {
	isNew := len(e.timestamps) == 0
	if isNew && len(s.logs) >= maxKeys/shards {
		evict(s.logs)
	}

	if n := len(e.timestamps); n == cap(e.timestamps) {
		// A log starts small, because most keys are used once.
		e.timestamps = append(make([]int64, 0, min(maxLength, max(2, 2*n))), e.timestamps...)
	}

	e.timestamps, e.expiresAt = append(e.timestamps, now), now+per
	s.logs[h] = e

	return e
}

// sweep deletes expired logs. It runs once per n calls, where n is the number of keys, so that
// the average cost of a call does not depend on that number.
func (s *shard) sweep(now int64) {
	s.callsUntilSweep--
	if s.callsUntilSweep > 0 {
		return
	}

	for h, e := range s.logs {
		if e.expiresAt <= now {
			delete(s.logs, h)
		}
	}

	for h, d := range s.days {
		if d.number != now/perDay {
			delete(s.days, h)
		}
	}

	const minCalls = 1024
	s.callsUntilSweep = max(minCalls, len(s.logs)+len(s.days))
}

// evict removes any one key: the order of a map is random, so that no client chooses which.
func evict[V any](m map[hash]V) {
	for h := range m {
		delete(m, h)
		return
	}
}

// day counts the requests of a day. Days are stored separately from the logs, so that invented
// keys of quotas without a daily limit cannot evict them.
type day struct {
	number   int64 // since 1970
	requests int
}

const (
	perMinute = int64(time.Minute / time.Microsecond)
	perDay    = int64(24 * time.Hour / time.Microsecond)
)

// Spend implements limit.Limiter.
func (l *Limiter) Spend(_ context.Context, quota limit.Quota, key string) (limit.QuotaStatus, error) {
	const record = true
	return l.spend(quota, key, record), nil
}

// Status implements limit.Limiter.
func (l *Limiter) Status(_ context.Context, quota limit.Quota, key string) (limit.QuotaStatus, error) {
	const record = false
	return l.spend(quota, key, record), nil
}

// spend returns the status of the quota. If record is set, it also counts an allowed call in both windows.
// A refused call is counted in neither.
func (l *Limiter) spend(quota limit.Quota, key string, record bool) limit.QuotaStatus {
	h, s := l.find(limit.Rule{Name: "quota"}, key)
	s.mu.Lock()
	defer s.mu.Unlock()

	now := l.clock.Now().UnixMicro()
	s.sweep(now)

	minuteLog, ofDay := s.log(h, now, perMinute), s.days[h]
	if today := now / perDay; ofDay.number != today {
		ofDay = day{number: today}
	}

	before := quotaStatus(quota, minuteLog, ofDay, now).Evaluate()
	if !record || !before.Allowed {
		return before
	}

	minuteLog = s.record(h, minuteLog, now, perMinute, quota.PerMinute)
	if quota.PerDay > 0 {
		isNew := ofDay.requests == 0
		if isNew && len(s.days) >= maxKeys/shards {
			evict(s.days)
		}

		ofDay.requests++
		s.days[h] = ofDay
	}

	// The status is that after this call, which was allowed, even if no further call is.
	after := quotaStatus(quota, minuteLog, ofDay, now)
	after.Allowed = true

	return after
}

// quotaStatus returns what is left of both windows: of the minute, whose calls are in the log, and of the
// day.
func quotaStatus(quota limit.Quota, minuteLog entry, ofDay day, now int64) (status limit.QuotaStatus) {
	n := len(minuteLog.timestamps)
	status.Minute = limit.Window{Limit: max(0, quota.PerMinute), Remaining: max(0, quota.PerMinute-n)}

	// Remaining increases when the number of timestamps falls below PerMinute. Usually this is when
	// the oldest expires. The log has more than PerMinute timestamps if the key had a larger quota
	// before; then only the newest PerMinute of them count, of which the oldest is the next to expire.
	if oldest := max(0, n-quota.PerMinute); oldest < n {
		status.Minute.Reset = time.Duration(minuteLog.timestamps[oldest]+perMinute-now) * time.Microsecond
	}

	if quota.PerMinute < 1 { // no call is ever allowed
		status.Minute.Reset = time.Minute
	}

	if quota.PerDay > 0 {
		status.Day = limit.Window{Limit: quota.PerDay, Remaining: max(0, quota.PerDay-ofDay.requests)}
		if ofDay.requests > 0 {
			tomorrow := (ofDay.number + 1) * perDay
			status.Day.Reset = time.Duration(tomorrow-now) * time.Microsecond
		}
	}

	return status
}
