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
	// flushEvery is the interval at which counters are stored.
	flushEvery = time.Second
	// lastFlushTimeout is the timeout for storing the counters when the process ends.
	lastFlushTimeout = 2 * time.Second
	// maxCounters is the maximum number of counters in memory. It is reached only while the
	// database is unavailable.
	maxCounters = 50_000
	// usageRetention is the time after which counters are deleted: a little more than a year.
	usageRetention = 400 * 24 * time.Hour
	// defaultDays is the number of days that GetUsage returns unless the caller selects others.
	defaultDays = 30
	// maxDays is the maximum number of days that a caller can select.
	maxDays = 366
)

// usageCounter counts requests in memory, so that a request does not write to the database.
type usageCounter struct {
	mu          sync.Mutex
	days        map[appDay]DayUsage
	keyLastUsed map[string]time.Time // by key id
}

// appDay is an application and a day (2006-01-02, in UTC).
type appDay struct{ appID, day string }

// newUsageCounter returns a counter without requests.
func newUsageCounter() *usageCounter {
	return &usageCounter{days: map[appDay]DayUsage{}, keyLastUsed: map[string]time.Time{}}
}

// add adds requests to the counters of their day. It drops them if maxCounters is reached. The
// caller holds the lock.
func (c *usageCounter) add(added DayUsage) {
	day := appDay{appID: added.AppID, day: added.Day}

	sum, exists := c.days[day]
	if !exists && len(c.days) >= maxCounters {
		return
	}

	c.days[day] = DayUsage{
		AppID:    added.AppID,
		Day:      added.Day,
		Requests: sum.Requests + added.Requests,
		Errors:   sum.Errors + added.Errors,
	}
}

// noteKeyUse updates the time at which a key was last used. It does nothing if a later time is known, or if
// the key is new and maxCounters is reached. The caller holds the lock.
func (c *usageCounter) noteKeyUse(keyID string, at time.Time) {
	lastUsed, isKnown := c.keyLastUsed[keyID]
	if at.After(lastUsed) && (isKnown || len(c.keyLastUsed) < maxCounters) {
		c.keyLastUsed[keyID] = at
	}
}

// Count counts a request of the caller. isError is true if the response had an error status.
func (s *Service) Count(by Caller, isError bool) {
	now := s.Clock.Now()

	usage := DayUsage{AppID: by.App.ID, Day: now.UTC().Format(time.DateOnly), Requests: 1}
	if isError {
		usage.Errors = 1
	}

	s.usageCounts.mu.Lock()
	defer s.usageCounts.mu.Unlock()

	s.usageCounts.add(usage)

	if by.KeyID != "" {
		s.usageCounts.noteKeyUse(by.KeyID, now)
	}
}

// CountCalls moves the counters from memory to the database each second until ctx is done. Then it does
// so once more, with a timeout of 2 s, so that the counts of the last second are not lost. It calls
// onError with each error. Counters that could not be stored remain in memory for the next time.
func (s *Service) CountCalls(ctx context.Context, onError func(error)) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()

	for {
		select {
		case <-tick.C:
			// An error because ctx has ended is not reported: the counters are stored below.
			if err := s.flushUsage(ctx); err != nil && ctx.Err() == nil {
				onError(err)
			}
		case <-ctx.Done():
			// The last write needs a context that has not ended.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlushTimeout)
			defer cancel()

			if err := s.flushUsage(ctx); err != nil {
				onError(err)
			}

			return
		}
	}
}

// flushUsage moves the counters from memory to the database. If the database refuses them, it adds them
// to the counters in memory, which may have counted other requests meanwhile.
func (s *Service) flushUsage(ctx context.Context) error {
	// Replace the counters by empty ones. The lock is not held while the database writes, so that
	// requests can be counted meanwhile.
	c, empty := s.usageCounts, newUsageCounter()
	c.mu.Lock()
	days, keyLastUsed := c.days, c.keyLastUsed
	c.days, c.keyLastUsed = empty.days, empty.keyLastUsed
	c.mu.Unlock()

	if len(days) == 0 && len(keyLastUsed) == 0 {
		return nil
	}

	rows := slices.Collect(maps.Values(days))

	err := s.Tx.Do(ctx, func(ctx context.Context) error {
		return s.Usage.Add(ctx, rows, keyLastUsed)
	})
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()

		for _, d := range rows {
			c.add(d)
		}

		for keyID, at := range keyLastUsed {
			c.noteKeyUse(keyID, at)
		}
	}

	return err
}

// UsageInput selects the days from From to To, both included, in UTC.
type UsageInput struct {
	From string `query:"from" sample:"2026-11-01"`
	To   string `query:"to" sample:"2026-11-30"`
}

// Problems returns all problems of the form of the days.
func (in UsageInput) Problems() []fault.Field {
	var anyDay time.Time // an empty day is valid, so that its default does not matter here
	_, fromErr := parseDay(in.From, "from", anyDay)
	_, toErr := parseDay(in.To, "to", anyDay)

	return slices.Concat(fault.FieldsOf(fromErr), fault.FieldsOf(toErr))
}

// UsageReport is the usage of an application, with its plan and remaining quota.
type UsageReport struct {
	Plan  Plan
	Quota limit.QuotaStatus
	// Days has an entry for each day of the input, including days without requests.
	Days []DayUsage
}

// GetUsage returns the usage of one of the caller's applications, by default for the last 30
// days.
func (s *Service) GetUsage(ctx context.Context, by auth.Actor, appID string, in UsageInput) (UsageReport, error) {
	app, err := s.MyApp(ctx, by, appID)
	if err != nil {
		return UsageReport{}, err
	}

	to, err := parseDay(in.To, "to", s.Clock.Now().UTC())
	if err != nil {
		return UsageReport{}, err
	}

	firstByDefault := to.AddDate(0, 0, 1-defaultDays) // defaultDays days, including the last one
	from, err := parseDay(in.From, "from", firstByDefault)

	switch {
	case err != nil:
		return UsageReport{}, err
	case from.After(to):
		return UsageReport{}, fault.InvalidField("from", "must not be after to")
	case to.Sub(from) >= maxDays*24*time.Hour:
		return UsageReport{}, fault.InvalidField("from", "must be within a year of to")
	}

	usage, err := s.Usage.List(ctx, app.ID, from.Format(time.DateOnly), to.Format(time.DateOnly))
	if err != nil {
		return UsageReport{}, err
	}

	usageByDay := list.ToMap(usage, func(d DayUsage) (string, DayUsage) { return d.Day, d })

	report := UsageReport{Plan: app.Limits()}
	for date := from; !date.After(to); date = date.AddDate(0, 0, 1) {
		day := date.Format(time.DateOnly)
		report.Days = append(
			report.Days,
			DayUsage{AppID: app.ID, Day: day, Requests: usageByDay[day].Requests, Errors: usageByDay[day].Errors},
		)
	}

	report.Quota, err = s.Limiter.Status(ctx, report.Plan.Quota, app.QuotaKey())

	return report, err
}

// parseDay returns the day of a date or date-time, as the time at which it begins in UTC. For an empty
// text it returns the day of byDefault. Faults name the given field.
func parseDay(text, field string, byDefault time.Time) (time.Time, error) {
	if text == "" {
		return startOfDay(byDefault), nil
	}

	if timestamp, err := time.Parse(time.RFC3339, text); err == nil {
		return startOfDay(timestamp.UTC()), nil
	}

	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return day, fault.InvalidField(field, "must be a date (2026-11-20) or a date-time (2026-11-20T09:30:00Z)")
	}

	return day, nil
}

// startOfDay returns midnight, in UTC, of the date of t.
func startOfDay(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}
