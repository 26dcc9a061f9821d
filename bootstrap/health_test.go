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
	for _, c := range []struct {
		events int
		age    time.Duration
		want   string
	}{
		{events: 0, age: time.Hour, want: ""},
		{events: 2072, age: time.Minute, want: ""},
		{events: 2072, age: 61 * time.Second, want: "2072 events wait, the oldest for 1m1s"},
		{events: 1, age: -48 * time.Hour, want: ""},
	} {
		err := checkLag(
			t.Context(),
			&storage{
				databases: []*database{{Database: adapters.Database{Outbox: laggingOutbox{events: c.events, oldest: now.Add(-c.age)}}}},
			},
			now,
		)
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
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

	for _, by := range []time.Duration{48 * time.Hour, -96 * time.Hour} {
		clk.Advance(by)
		require.Error(t, check.Ping(t.Context()))
	}

	clk.Advance(48 * time.Hour)
	require.NoError(t, check.Ping(t.Context()))
}
