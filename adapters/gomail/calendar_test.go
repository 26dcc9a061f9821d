package gomail

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/emersion/go-ical"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/test/kit"
)

// TestCalendar_MovedAndCancelled_IsOneSafeEvent checks the calendar of an applicant whose interview is
// moved and cancelled. The three messages about it are one event (RFC 5545), at the right time across the
// change to daylight-saving time. Texts of users cannot add properties to the event, such as an
// attachment.
func TestCalendar_MovedAndCancelled_IsOneSafeEvent(t *testing.T) {
	t.Parallel()

	london, err := time.LoadLocation("Europe/London")
	require.NoError(t, err)

	server := kit.NewSMTP(t)
	mailer := newMailer(t, server.URL())

	// On 28 March 2027 daylight-saving time begins in London at 1 in the morning: a day later is 23 hours later.
	dayBefore := time.Date(2027, 3, 27, 10, 0, 0, 0, london)
	dayOfChange := time.Date(2027, 3, 28, 10, 0, 0, 0, london)
	require.Equal(t, 23*time.Hour, dayOfChange.Sub(dayBefore))

	// Send three messages about one interview: the invitation, the new time, and the cancellation. The texts of users
	// have line breaks with properties after them, quotation marks, and a line that is too long for a calendar.
	const interviewID = "0195a1b2-0000-7000-8000-000000000001"

	longWord := strings.Repeat("é", 200)

	versions := []mail.Invite{{Start: dayBefore}, {Start: dayOfChange}, {Start: dayOfChange, Cancelled: true}}
	for sequence, invite := range versions {
		invite.UID = interviewID
		invite.Sequence = sequence
		invite.End = invite.Start.Add(time.Hour)
		invite.Stamp = dayBefore.Add(time.Duration(sequence) * time.Minute)
		invite.Summary = "Interview; Nurse, \"Ward 3\"\r\nX-EVIL:1"
		invite.Location = "Room 4\r\nATTACH:http://evil"
		invite.Description = "Bring:\r\n- your\u2028ID\x0b\n- " + longWord
		invite.Attendee = mail.Address{Name: "Zoë \"Z\"\r\nX:1", Email: "zoe@example.org"}
		invite.Organizer = mail.Address{Name: "St. Mary's, Leeds", Email: "no-reply@jobs.example.org"}

		message := testMessage("zoe@example.org")
		message.Invite = &invite
		require.NoError(t, mailer.Send(t.Context(), message))
	}

	// Add the messages to a calendar one by one, and note the start of its event after each.
	calendar := kit.Calendar{}

	var starts []string
	for _, received := range server.Mails() {
		requireSafeCalendar(t, received.Parts["text/calendar"])
		calendar.Take(t, received)

		for _, event := range calendar {
			starts = append(starts, event.Props.Get(ical.PropDateTimeStart).Value)
		}
	}

	// The starts are in UTC: 10 o'clock in London is 10 o'clock before the change, and 9 o'clock after it.
	require.Equal(t, []string{"20270327T100000Z", "20270328T090000Z", "20270328T090000Z"}, starts)
	require.Len(t, calendar, 1, "events in the calendar")

	// Check the event after the last message.
	event := calendar[interviewID+"@jobs.example.org"]
	sequence, err := event.Props.Get(ical.PropSequence).Int()
	require.NoError(t, err)
	require.Equal(t, len(versions)-1, sequence, "the last message, counted from 0")

	status, err := event.Status()
	require.NoError(t, err)
	require.Equal(t, ical.EventCancelled, status)

	start, err := event.DateTimeStart(time.UTC)
	require.NoError(t, err)
	require.True(t, start.Equal(dayOfChange), "starts at %v", start)

	end, err := event.DateTimeEnd(time.UTC)
	require.NoError(t, err)
	require.Equal(t, time.Hour, end.Sub(start))

	// Line breaks remain in the description only. Names have neither line breaks nor quotation marks.
	description, err := event.Props.Text(ical.PropDescription)
	require.NoError(t, err)
	require.Equal(t, "Bring:\n- your ID\n- "+longWord, description)

	attendee := event.Props.Get(ical.PropAttendee)
	require.Equal(t, "mailto:zoe@example.org", attendee.Value)
	require.Equal(t, "Zoë ’Z’ X 1", attendee.Params.Get(ical.ParamCommonName))
	require.Equal(t, "St. Mary’s Leeds", event.Props.Get(ical.PropOrganizer).Params.Get(ical.ParamCommonName))
}

// requireSafeCalendar checks the lines of an iCalendar text, and that it does not have the
// properties X-EVIL and ATTACH.
func requireSafeCalendar(t *testing.T, text string) {
	t.Helper()

	// Control characters and line separators of Unicode, except LF (0a) and CR (0d).
	const otherLineBreaks = `[\x00-\x09\x0b\x0c\x0e-\x1f\x7f\x{80}-\x{9f}\x{2028}\x{2029}]`

	require.NotRegexp(t, otherLineBreaks, text, "no character that other programs take for a line break")
	require.NotRegexp(t, `[^\r]\n`, text, "each line ends with CR LF")

	const maxCalendarLine = 75 // RFC 5545 §3.1

	for line := range strings.SplitSeq(text, "\r\n") {
		require.LessOrEqual(t, len(line), maxCalendarLine, line)
		require.True(t, utf8.ValidString(line), "lines are folded between letters")
	}

	require.NotContains(t, text, "\nX-EVIL")
	require.NotContains(t, text, "\nATTACH")
}
