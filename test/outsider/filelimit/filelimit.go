// Package filelimit is a rate limiter for the processes of one machine. It counts in
// the files of a folder and needs no library.
//
// A limiter implements limit.Limiter. Keys may be personal data, so that the names of
// the files are hashes. While the folder cannot be used, every process counts on its
// own.
package filelimit

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/locallimit"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/limit"
)

const (
	// lockTimeout is the time that a call waits for other calls and processes.
	lockTimeout = 50 * time.Millisecond
	// sweepInterval is the number of changes of a shard after which its expired files
	// are deleted.
	sweepInterval = 1000
)

// Limiter implements limit.Limiter, adapters.Degrader and adapters.Pinger.
type Limiter struct {
	folder   string
	clock    clock.Clock
	timeout  time.Duration
	shards   [16]shard
	fallback *locallimit.Limiter
}

// shard has the files whose names begin with the same hexadecimal digit. They are in a folder
// with a lock for all processes.
type shard struct {
	slot     chan struct{} // has a value while a call of this process uses the files
	changes  int           // the number of changes so far
	degraded atomic.Bool   // whether the last call could not use the files, and counted in the process
}

// entry is the content of a file.
type entry struct {
	Times []int64 `json:"times"` // of the last calls, in microseconds, ascending
	Day   int64   `json:"day"`   // days since the epoch
	Spent int     `json:"spent"` // calls of the day
}

// Open opens a limiter for file:FOLDER. It is a bootstrap.LimiterOpener.
func Open(_ context.Context, url string, d adapters.Deps) (limit.Limiter, error) {
	folder := strings.TrimPrefix(url, "file:")
	if folder == "" {
		return nil, errors.New("want file:FOLDER")
	}

	limiter := New(folder, d.Clock, lockTimeout)

	return limiter, limiter.Ping(context.Background())
}

// New returns a limiter with files in the folder. A call that cannot use them within the
// timeout counts in the process.
func New(folder string, c clock.Clock, timeout time.Duration) *Limiter {
	l := &Limiter{folder: folder, clock: c, timeout: timeout, fallback: locallimit.New(c)}
	for i := range l.shards {
		l.shards[i].slot = make(chan struct{}, 1)
	}

	return l
}

// Ping implements adapters.Pinger.
func (l *Limiter) Ping(context.Context) error { return os.MkdirAll(l.folder, 0o700) }

// Degraded implements adapters.Degrader.
func (l *Limiter) Degraded() bool {
	for i := range l.shards {
		if l.shards[i].degraded.Load() {
			return true
		}
	}

	return false
}

// Take implements limit.Limiter.
func (l *Limiter) Take(ctx context.Context, rule limit.Rule, key string) (limit.Decision, error) {
	const record = true

	decision, err := l.decide(ctx, rule, key, record)
	if err != nil {
		return l.fallback.Take(ctx, rule, key)
	}

	return decision, nil
}

// Peek implements limit.Limiter.
func (l *Limiter) Peek(ctx context.Context, rule limit.Rule, key string) (limit.Decision, error) {
	const record = false

	decision, err := l.decide(ctx, rule, key, record)
	if err != nil {
		return l.fallback.Peek(ctx, rule, key)
	}

	return decision, nil
}

// Clear implements limit.Limiter.
func (l *Limiter) Clear(ctx context.Context, rule limit.Rule, key string) error {
	// An error marks the limiter as degraded. The count in the process is cleared anyway.
	_ = l.update(ctx, ruleName(rule, key), func(_ int64, e *entry) time.Duration {
		*e = entry{}
		return 0 // without a lifetime, update deletes the file
	})

	return l.fallback.Clear(ctx, rule, key)
}

// Spend implements limit.Limiter.
func (l *Limiter) Spend(ctx context.Context, q limit.Quota, key string) (limit.QuotaStatus, error) {
	const spend = true

	status, err := l.evaluate(ctx, q, key, spend)
	if err != nil {
		return l.fallback.Spend(ctx, q, key)
	}

	return status, nil
}

// Status implements limit.Limiter.
func (l *Limiter) Status(ctx context.Context, q limit.Quota, key string) (limit.QuotaStatus, error) {
	const spend = false

	status, err := l.evaluate(ctx, q, key, spend)
	if err != nil {
		return l.fallback.Status(ctx, q, key)
	}

	return status, nil
}

// ruleName returns the name of the entry that counts the calls of the key for the rule.
func ruleName(rule limit.Rule, key string) string { return "rule\x00" + rule.Name + "\x00" + key }

// decide evaluates a rule for a key. Take records the call if it is allowed; Peek does not
// record it.
func (l *Limiter) decide(ctx context.Context, rule limit.Rule, key string, record bool) (d limit.Decision, err error) {
	if rule.Max < 1 {
		return limit.Decision{RetryAfter: rule.Per}, nil
	}

	err = l.update(ctx, ruleName(rule, key), func(now int64, e *entry) time.Duration {
		lifetime := unchanged
		if e.expire(now, rule.Per) {
			lifetime = rule.Per
		}

		window := e.window(now, rule.Max, rule.Per)

		d = limit.Decision{Allowed: window.Remaining > 0, Remaining: window.Remaining}
		switch {
		case !d.Allowed:
			d.RetryAfter = window.Reset
			return lifetime
		case !record:
			return lifetime
		}

		e.Times = append(e.Times, now)
		d.Remaining--

		return rule.Per
	})

	return d, err
}

// evaluate evaluates a quota for a key. Spend counts the call if it is allowed; Status does not
// count it.
func (l *Limiter) evaluate(
	ctx context.Context, q limit.Quota, key string, spend bool,
) (s limit.QuotaStatus, err error) {
	const day = 24 * time.Hour
	err = l.update(ctx, "quota\x00"+key, func(now int64, e *entry) time.Duration {
		lifetime := unchanged
		if e.expire(now, time.Minute) {
			lifetime = day
		}

		if today := now / day.Microseconds(); e.Day != today {
			e.Day, e.Spent = today, 0
		}

		untilMidnight := time.Duration((e.Day+1)*day.Microseconds()-now) * time.Microsecond
		setWindows := func() {
			s.Minute = e.window(now, q.PerMinute, time.Minute)
			if q.PerDay > 0 {
				s.Day = limit.Window{Limit: q.PerDay, Remaining: max(0, q.PerDay-e.Spent)}
				if e.Spent > 0 {
					s.Day.Reset = untilMidnight
				}
			}
		}

		setWindows()

		s = s.Evaluate()
		if !s.Allowed || !spend {
			return lifetime
		}

		// Count the call, and return the status after it. The entry is needed until the day ends, and
		// for the minute after the call.
		e.Times = append(e.Times, now)
		e.Spent++

		setWindows()

		return untilMidnight + time.Minute
	})

	return s, err
}

// expire drops the calls that are older than the window. After the clock was set back, calls may be later than
// now; they become calls of now, and expire reports that the entry must be stored for that reason.
func (e *entry) expire(now int64, per time.Duration) (wasSetBack bool) {
	var recent []int64
	for _, call := range e.Times {
		if call > now-per.Microseconds() {
			recent = append(recent, min(call, now))
			wasSetBack = wasSetBack || call > now
		}
	}

	e.Times = recent

	return wasSetBack
}

// window returns how many of maxCalls are left, and after which time there will be one more. That is
// when the oldest of the newest maxCalls calls is as old as per.
func (e *entry) window(now int64, maxCalls int, per time.Duration) limit.Window {
	calls := len(e.Times)

	window := limit.Window{Limit: maxCalls, Remaining: max(0, maxCalls-calls)}
	if calls == 0 {
		return window
	}

	next := max(0, calls-maxCalls) // earlier calls are above a limit that was lowered
	next = min(next, calls-1)      // a limit of 0 waits for the last call
	window.Reset = time.Duration(e.Times[next]-now)*time.Microsecond + per

	return window
}
