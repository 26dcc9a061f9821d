package integrations

import (
	"context"
	"sync"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/limit"
)

const (
	// countEvery is how soon a call shows.
	countEvery = time.Second
	// mostCounted bounds what waits in memory while the store does not answer.
	mostCounted = 50_000
	usageKept   = 400 * 24 * time.Hour
	usageAtOnce = 5_000
	// usageShown is how many days are shown if nobody says which, and mostShown
	// how many at most.
	usageShown = 30
	mostShown  = 366
)

// counter collects calls, so that none of them writes.
type counter struct {
	mu   sync.Mutex
	days map[spentOn]Spent
	keys map[string]time.Time
}

type spentOn struct{ appID, day string }

func (c *counter) add(s Spent) {
	if c.days == nil {
		c.days = map[spentOn]Spent{}
	}
	on := spentOn{s.AppID, s.Day}
	if sum, there := c.days[on]; there || len(c.days) < mostCounted {
		s.Requests, s.Errors = s.Requests+sum.Requests, s.Errors+sum.Errors
		c.days[on] = s
	}
}

func (c *counter) used(keyID string, at time.Time) {
	if c.keys == nil {
		c.keys = map[string]time.Time{}
	}
	if at.After(c.keys[keyID]) && len(c.keys) < mostCounted {
		c.keys[keyID] = at
	}
}

// Count notes a call and whether it was answered with an error.
func (s *Service) Count(by Caller, failed bool) {
	now := s.Clock.Now()
	spent := Spent{AppID: by.App.ID, Day: now.UTC().Format(time.DateOnly), Requests: 1}
	if failed {
		spent.Errors = 1
	}
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	s.calls.add(spent)
	if by.KeyID != "" {
		s.calls.used(by.KeyID, now)
	}
}

// CountCalls stores what Count was told, once a second, until ctx ends, and then
// what is left within a moment. failed hears of what could not be stored, which
// is tried again.
func (s *Service) CountCalls(ctx context.Context, failed func(error)) {
	tick := time.NewTicker(countEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := s.storeCalls(ctx); err != nil && ctx.Err() == nil {
				failed(err)
			}
		case <-ctx.Done():
			ctx, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer done()
			if err := s.storeCalls(ctx); err != nil {
				failed(err)
			}
			return
		}
	}
}

func (s *Service) storeCalls(ctx context.Context) error {
	c := &s.calls
	c.mu.Lock()
	days, keys := c.days, c.keys
	c.days, c.keys = nil, nil
	c.mu.Unlock()
	if len(days) == 0 && len(keys) == 0 {
		return nil
	}
	spent := make([]Spent, 0, len(days))
	for _, d := range days {
		spent = append(spent, d)
	}
	err := s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.Usage.Add(ctx, spent); err != nil {
			return err
		}
		return s.Apps.Used(ctx, keys)
	})
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, d := range spent {
			c.add(d)
		}
		for key, at := range keys {
			c.used(key, at)
		}
	}
	return err
}

// UsageInput is which days to show, both included, in UTC.
type UsageInput struct {
	From string `query:"from" sample:"2026-11-01"`
	To   string `query:"to" sample:"2026-11-30"`
}

// Problems are what is wrong with the days, all of it.
func (in UsageInput) Problems() []fault.Field {
	var found []fault.Field
	for _, day := range []struct{ name, text string }{{"from", in.From}, {"to", in.To}} {
		if _, err := dayOf(day.text, day.name, time.Time{}); err != nil {
			found = append(found, fault.Of(err).Fields...)
		}
	}
	return found
}

// Used is how much of its plan an application has used.
type Used struct {
	Plan Plan
	// Standing is what may be called still.
	Standing limit.Standing
	// Days are all days that were asked for, also those without a call.
	Days []Spent
}

// UsageOf shows how much one of the caller's applications has called: without
// days the last 30.
func (s *Service) UsageOf(ctx context.Context, by auth.Actor, appID string, in UsageInput) (Used, error) {
	a, err := s.MyApp(ctx, by, appID)
	if err != nil {
		return Used{}, err
	}
	to, err := dayOf(in.To, "to", s.Clock.Now().UTC())
	if err != nil {
		return Used{}, err
	}
	from, err := dayOf(in.From, "from", to.AddDate(0, 0, 1-usageShown))
	switch {
	case err != nil:
		return Used{}, err
	case from.After(to):
		return Used{}, fault.InvalidField("from", "must not be after to")
	case to.Sub(from) >= mostShown*24*time.Hour:
		return Used{}, fault.InvalidField("from", "must be within a year of to")
	}
	counted, err := s.Usage.Of(ctx, a.ID, from.Format(time.DateOnly), to.Format(time.DateOnly))
	if err != nil {
		return Used{}, err
	}
	on := map[string]Spent{}
	for _, c := range counted {
		on[c.Day] = c
	}
	u := Used{Plan: a.Limits()}
	for day := from; !day.After(to); day = day.AddDate(0, 0, 1) {
		name := day.Format(time.DateOnly)
		u.Days = append(u.Days, Spent{AppID: a.ID, Day: name, Requests: on[name].Requests, Errors: on[name].Errors})
	}
	u.Standing, err = s.Limiter.Standing(ctx, u.Plan.Quota(), a.QuotaKey())
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
		return day, fault.InvalidField(field, "must be a date (2026-11-20) or a moment (2026-11-20T09:30:00Z)")
	}
	return day, nil
}

func (s *Service) forgetUsage(ctx context.Context) error {
	before := s.Clock.Now().UTC().Add(-usageKept).Format(time.DateOnly)
	for {
		n, err := s.Usage.Forget(ctx, before, usageAtOnce)
		if err != nil || n < usageAtOnce {
			return err
		}
	}
}
