package integrations

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/list"
)

const (
	// flushEvery is how often counters are stored.
	flushEvery = time.Second
	// maxCounters bounds the counters in memory while the database is unavailable.
	maxCounters    = 50_000
	usageRetention = 400 * 24 * time.Hour
	// defaultDays and maxDays are how many days UsageOf returns.
	defaultDays = 30
	maxDays     = 366
)

// counter aggregates requests in memory, so that a request writes nothing.
type counter struct {
	mu   sync.Mutex
	days map[appDay]DayUsage
	keys map[string]time.Time
}

type appDay struct{ appID, day string }

func newCounter() *counter {
	return &counter{days: map[appDay]DayUsage{}, keys: map[string]time.Time{}}
}

func (c *counter) add(s DayUsage) {
	on := appDay{s.AppID, s.Day}
	if sum, ok := c.days[on]; ok || len(c.days) < maxCounters {
		s.Requests, s.Errors = s.Requests+sum.Requests, s.Errors+sum.Errors
		c.days[on] = s
	}
}

func (c *counter) used(keyID string, at time.Time) {
	if at.After(c.keys[keyID]) && len(c.keys) < maxCounters {
		c.keys[keyID] = at
	}
}

// Count counts a request and whether its response was an error.
func (s *Service) Count(by Caller, failed bool) {
	now := s.Clock.Now()
	usage := DayUsage{AppID: by.App.ID, Day: now.UTC().Format(time.DateOnly), Requests: 1}
	if failed {
		usage.Errors = 1
	}
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	s.calls.add(usage)
	if by.KeyID != "" {
		s.calls.used(by.KeyID, now)
	}
}

// CountCalls stores the counters each second until ctx ends, and then the rest within
// 2 s. It calls failed with errors; counters that were not stored are kept.
func (s *Service) CountCalls(ctx context.Context, failed func(error)) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := s.flushUsage(ctx); err != nil && ctx.Err() == nil {
				failed(err)
			}
		case <-ctx.Done():
			ctx, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer done()
			if err := s.flushUsage(ctx); err != nil {
				failed(err)
			}
			return
		}
	}
}

func (s *Service) flushUsage(ctx context.Context) error {
	c, empty := s.calls, newCounter()
	c.mu.Lock()
	days, keys := c.days, c.keys
	c.days, c.keys = empty.days, empty.keys
	c.mu.Unlock()
	if len(days) == 0 && len(keys) == 0 {
		return nil
	}
	rows := slices.Collect(maps.Values(days))
	err := s.Tx.Do(ctx, func(ctx context.Context) error {
		return s.Usage.Add(ctx, rows, keys)
	})
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, d := range rows {
			c.add(d)
		}
		for key, at := range keys {
			c.used(key, at)
		}
	}
	return err
}

// UsageInput selects days, both included, in UTC.
type UsageInput struct {
	From string `query:"from" sample:"2026-11-01"`
	To   string `query:"to" sample:"2026-11-30"`
}

// Problems returns all problems of the days.
func (in UsageInput) Problems() []fault.Field {
	_, from := dayOf(in.From, "from", time.Time{})
	_, to := dayOf(in.To, "to", time.Time{})
	return slices.Concat(fault.FieldsOf(from), fault.FieldsOf(to))
}

// Used is the usage of an application and its plan.
type Used struct {
	Plan Plan
	// Quota is the remaining quota.
	Quota limit.QuotaStatus
	// Days are all days of the input, also those without requests.
	Days []DayUsage
}

// UsageOf returns the usage of one of the caller's applications, by default of the
// last 30 days.
func (s *Service) UsageOf(ctx context.Context, by auth.Actor, appID string, in UsageInput) (Used, error) {
	a, err := s.MyApp(ctx, by, appID)
	if err != nil {
		return Used{}, err
	}
	to, err := dayOf(in.To, "to", s.Clock.Now().UTC())
	if err != nil {
		return Used{}, err
	}
	from, err := dayOf(in.From, "from", to.AddDate(0, 0, 1-defaultDays))
	switch {
	case err != nil:
		return Used{}, err
	case from.After(to):
		return Used{}, fault.InvalidField("from", "must not be after to")
	case to.Sub(from) >= maxDays*24*time.Hour:
		return Used{}, fault.InvalidField("from", "must be within a year of to")
	}
	counted, err := s.Usage.List(ctx, a.ID, from.Format(time.DateOnly), to.Format(time.DateOnly))
	if err != nil {
		return Used{}, err
	}
	on := list.ToMap(counted, func(d DayUsage) (string, DayUsage) { return d.Day, d })
	u := Used{Plan: a.Limits()}
	for day := from; !day.After(to); day = day.AddDate(0, 0, 1) {
		name := day.Format(time.DateOnly)
		u.Days = append(u.Days, DayUsage{AppID: a.ID, Day: name, Requests: on[name].Requests, Errors: on[name].Errors})
	}
	u.Quota, err = s.Limiter.Status(ctx, u.Plan.Quota, a.QuotaKey())
	return u, err
}

func dayOf(text, field string, otherwise time.Time) (time.Time, error) {
	if text == "" {
		return time.Date(otherwise.Year(), otherwise.Month(), otherwise.Day(), 0, 0, 0, 0, time.UTC), nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if moment, bad := time.Parse(time.RFC3339, text); err != nil && bad == nil {
		return dayOf("", field, moment.UTC())
	}
	if err != nil {
		return day, fault.InvalidField(field, "must be a date (2026-11-20) or a date-time (2026-11-20T09:30:00Z)")
	}
	return day, nil
}
