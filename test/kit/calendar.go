package kit

import (
	"strings"
	"testing"

	"github.com/emersion/go-ical"
	"github.com/stretchr/testify/require"
)

// Calendar stands for the calendar program of a recipient. It contains the events of all mails
// that Take has processed, by their UIDs.
type Calendar map[string]ical.Event

// Take processes the invitation of a mail by RFC 5546 §2.1.5 and §3.2. The test fails if the
// invitation is invalid, is not newer than the stored event, or cancels an unknown event.
func (c Calendar) Take(t testing.TB, m Mail) {
	t.Helper()

	parsed, err := ical.NewDecoder(strings.NewReader(m.Parts["text/calendar"])).Decode()
	require.NoError(t, err)

	method, err := parsed.Props.Text(ical.PropMethod)
	require.NoError(t, err)
	require.Contains(t, []string{"REQUEST", "CANCEL"}, method)
	require.Equal(t, m.Parts["method"], method, "the MIME part has the method of the calendar")
	require.Len(t, parsed.Events(), 1)

	event := parsed.Events()[0]
	for _, name := range []string{
		ical.PropUID, ical.PropDateTimeStamp, ical.PropDateTimeStart, ical.PropSequence,
		ical.PropOrganizer, ical.PropAttendee, ical.PropSummary,
	} {
		require.Len(t, event.Props.Values(name), 1, name)
	}

	uid := event.Props.Get(ical.PropUID).Value

	stored, isKnown := c[uid]
	if isKnown {
		require.Greater(t, sequence(t, event), sequence(t, stored), "a change increases the SEQUENCE")
	} else {
		require.Equal(t, "REQUEST", method, "the cancelled event was not scheduled before")
	}

	status, err := event.Status()
	require.NoError(t, err)
	require.Equal(t, method == "CANCEL", status == ical.EventCancelled, "the STATUS is that of the METHOD")

	c[uid] = event
}

// sequence returns the version of an event, which grows with each change.
func sequence(t testing.TB, event ical.Event) int {
	t.Helper()

	n, err := event.Props.Get(ical.PropSequence).Int()
	require.NoError(t, err)

	return n
}
