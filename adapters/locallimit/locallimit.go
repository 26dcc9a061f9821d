// Package locallimit is the limiter of one process: an exact log in memory.
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
	// maxKeys bounds the memory, whoever makes up keys: about 100 MB with the
	// usual ten moments each. A key beyond it pushes another one out, which at
	// worst gives that one's owner a fresh count.
	maxKeys = 500_000
)

// Limiter implements limit.Limiter.
type Limiter struct {
	clock  clock.Clock
	shards [shards]shard
}

// Keys are hashed: they may hold addresses of people.
type hash [16]byte

type shard struct {
	mu    sync.Mutex
	logs  map[hash]entry
	days  map[hash]day
	until int // calls until the next sweep
}

type entry struct {
	moments []int64 // µs, ascending
	ends    int64   // when the last of them no longer counts
}

// New makes a limiter that tells time by c.
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
	// Read under the lock, so that a log's moments come in order.
	now := l.clock.Now().UnixMicro()
	s.sweep(now)

	per := rule.Per.Microseconds()
	e := s.log(h, now, per)
	if n := len(e.moments); n >= rule.Max {
		free := e.moments[n-rule.Max] + per
		return limit.Decision{RetryAfter: time.Duration(free-now) * time.Microsecond}
	}
	if !record {
		return limit.Decision{Allowed: true, Remaining: rule.Max - len(e.moments)}
	}
	e = s.record(h, e, now, per, rule.Max)
	return limit.Decision{Allowed: true, Remaining: rule.Max - len(e.moments)}
}

// log is what still counts of a key's moments.
func (s *shard) log(h hash, now, per int64) entry {
	e := s.logs[h]
	expired := 0
	for i, m := range e.moments {
		if m > now {
			// The clock was set back. The moment still counts, from now.
			e.moments[i] = now
		} else if m <= now-per {
			expired = i + 1
		}
	}
	e.moments = e.moments[expired:]
	return e
}

// record adds a moment to a log, which never outgrows the most there may be.
func (s *shard) record(h hash, e entry, now, per int64, most int) entry {
	if len(s.logs) >= maxKeys/shards && len(e.moments) == 0 {
		evict(s.logs)
	}
	if n := len(e.moments); n == cap(e.moments) {
		// A log starts small, as most keys come once.
		e.moments = append(make([]int64, 0, min(most, max(2, 2*n))), e.moments...)
	}
	e.moments, e.ends = append(e.moments, now), now+per
	s.logs[h] = e
	return e
}

// sweep drops what has expired, once per as many calls as there are keys, so
// that a call costs the same however many there are.
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
