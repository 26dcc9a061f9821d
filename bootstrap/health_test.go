package bootstrap

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/test/kit"
)

// laggingOutbox is an outbox with unsent events.
type laggingOutbox struct {
	event.Outbox
	events int
	oldest time.Time
}

func (l laggingOutbox) Lag(context.Context) (int, time.Time, error) { return l.events, l.oldest, nil }

// TestCheckLag_EventsWaitForAMinute_IsDegraded checks that readiness reports unsent events only
// if the oldest has waited for more than a minute. Their number does not matter, and an event of
// the future, after the clock was set back, does not wait.
func TestCheckLag_EventsWaitForAMinute_IsDegraded(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 3, 17, 10, 30, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		events    int
		oldestAge time.Duration
		wantErr   string // empty if nothing is reported
	}{
		"no event":            {events: 0, oldestAge: time.Hour, wantErr: ""},
		"a minute":            {events: 2072, oldestAge: time.Minute, wantErr: ""},
		"more than a minute":  {events: 2072, oldestAge: 61 * time.Second, wantErr: "2072 events wait, the oldest for 1m1s"},
		"event of the future": {events: 1, oldestAge: -48 * time.Hour, wantErr: ""},
	} {
		outbox := laggingOutbox{events: test.events, oldest: now.Add(-test.oldestAge)}
		lagging := &storage{databases: []*database{{Database: adapters.Database{Outbox: outbox}}}}

		err := checkLag(t.Context(), lagging, now)
		if test.wantErr == "" {
			require.NoError(t, err, name)
		} else {
			require.EqualError(t, err, test.wantErr, name)
		}
	}
}

// TestClockCheck_ClockIsSet_IsReported checks that the difference to the monotonic clock since
// the start is reported, in both directions, until the clock is correct again.
func TestClockCheck_ClockIsSet_IsReported(t *testing.T) {
	t.Parallel()

	clk := kit.NewClock()
	check := newClockCheck(clk)
	require.NoError(t, check.Ping(t.Context()))

	const twoDays = 48 * time.Hour

	clk.Advance(twoDays)
	require.Error(t, check.Ping(t.Context()), "two days ahead")
	clk.Advance(-2 * twoDays)
	require.Error(t, check.Ping(t.Context()), "two days behind")
	clk.Advance(twoDays)
	require.NoError(t, check.Ping(t.Context()), "correct again")
}
