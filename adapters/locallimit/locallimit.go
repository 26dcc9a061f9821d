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
